"""axe-core finds nothing on any page, in both themes, in a wide window and in a narrow one."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browser import visiting
from tests.support.pages import project_ids
from tests.support.server import Server

AXE = Path(__file__).resolve().parent / "node_modules/axe-core/axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
_RUN = "rules => axe.run(document, {runOnly: rules}).then(found => found.violations)"


PAGES = (
    "/search?q=open+session",
    "/p/{project}/f/app/session.py?lines=3-5",
    "/jobs/{job}",
    "/p/{project}?skips=ignored",
    "/",
    "/search?q=foo:bar",
    "/search?q=nothing+lang:rust",
    "/p/{project}/related/app/session.py",
    "/jobs",
    "/folders",
    "/nowhere",
)


def _check(
    browser: Browser, server: Server, theme: str, width: int, pages: tuple[str, ...]
) -> None:
    if not AXE.exists():
        pytest.skip("NO AXE-CORE: pages are not tested for barriers; npm ci --prefix tests/browser")
    with server.client() as client:
        project = project_ids(client)["sample"]
        job = client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]
    viewport = {"width": width, "height": 900}
    with visiting(
        browser, server.url, bypass_csp=True, color_scheme=theme, viewport=viewport
    ) as page:
        for address in pages:
            page.goto(address.format(project=project, job=job))
            page.evaluate(AXE.read_text("utf-8"))
            found = page.evaluate(_RUN, _RULES)
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], address


@pytest.mark.parametrize(
    ("theme", "width", "pages"), [("light", 1440, PAGES[:3]), ("dark", 320, PAGES[3:5])]
)
def test_no_page_has_a_barrier(
    browser: Browser, server: Server, theme: str, width: int, pages: tuple[str, ...]
) -> None:
    _check(browser, server, theme, width, pages)


@pytest.mark.soak
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1440])
def test_no_page_has_a_barrier_anywhere(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    _check(browser, server, theme, width, PAGES)
