"""axe-core finds nothing on any page, in both themes and four widths of the window."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting_themed
from tests.support.pages import project_ids
from tests.support.server import Server

AXE = Path(__file__).resolve().parent / "node_modules/axe-core/axe.min.js"
_RUN = """part => axe.run(part, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: {"target-size": {enabled: true}},
}).then(found => found.violations)"""
#: Each theme and each width; together they are all that the long test adds.
WINDOWS = [("light", 1440), ("dark", 1024), ("light", 390), ("dark", 320)]
_OTHER_WINDOWS = [("dark", 1440), ("light", 1024), ("dark", 390), ("light", 320)]


PAGES = (
    "/search?q=open+session",
    "/p/{project}/f/app/session.py?lines=3-5",
    "/jobs/{job}",
    "/p/{project}",
    "/p/{project}/map",
    "/p/{project}?skips=ignored",
    "/p/{project}/doctor",
    "/",
    "/p/{project}/symbols?name=ses&kind=class",
    "/p/{project}/symbols?name=nothing&kind=class",
    "/p/{project}/memories",
    "/status",
    "/search?q=case:bar",
    "/search?q=nothing+lang:rust",
    "/p/{project}/related/app/session.py",
    "/jobs",
    "/folders",
    "/nowhere",
    "/p/{project}?folder=parts",
    "/p/{project}/f/app/session.py?q=open_session&mode=keyword&at=0123456789",
    "/p/{project}/f/poetry.lock",
    "/p/{project}/tree",
    "/find?q=session",
    "/p/{project}/tree?after=9000",
    "/p/{project}/f/app/missing.py",
    "/search",
    "/search?q=def+%5Cw%2Bsession&mode=regex",
    "/search?q=session+type:commit",
    "/research",
    "/research?q=open+session",
    "/research?q=lang:go",
    "/research?q=lang:go&project={project}",
    "/search?q=case:bar&project={project}",
    "/research?q=%22zz+qq+yy%22",
    "/settings",
    "/connect",
)


@pytest.fixture(scope="module", autouse=True)
def need_axe() -> None:
    """Skip these tests, and say so, where axe-core is not installed."""
    if not AXE.exists():
        pytest.skip("NO AXE-CORE: pages are not tested for barriers; npm ci --prefix tests/browser")


def _check(browser: Browser, server: Server, theme: str, width: int) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
        job = client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]
    with visiting_themed(browser, server.url, theme, width) as page:
        for address in PAGES:
            page.goto(address.format(project=project, job=job))
            page.evaluate(AXE.read_text("utf-8"))
            check_page(page, address)


def check_page(page: Page, what: str) -> None:
    """Look for barriers, targets that are too small included, and for what stands out."""
    page.evaluate("scrollTo(0, 0)")  # what a bar covers in part is no small target
    expect(page.locator(".htmx-request")).to_have_count(0)  # replaced results are pale
    found = page.evaluate(_RUN, "html")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], what
    overhang = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overhang <= 0, what


@pytest.mark.parametrize(("theme", "width"), WINDOWS)
def test_no_page_has_a_barrier(browser: Browser, server: Server, theme: str, width: int) -> None:
    _check(browser, server, theme, width)


@pytest.mark.parametrize(
    ("theme", "width"), [("light", 320), pytest.param("dark", 1440, marks=pytest.mark.soak)]
)
def test_the_finder_has_no_barrier(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    with visiting_themed(browser, server.url, theme, width) as page:
        with server.client() as client:
            project = project_ids(client)["sample"]
        for address in ("/jobs", f"/p/{project}"):
            page.goto(address)
            page.evaluate(AXE.read_text("utf-8"))
            page.keyboard.press("t")
            for typed, number in (("part", 24), ("zzzz", 0)):
                page.keyboard.type(typed)
                expect(page.locator("#found [role=option]")).to_have_count(number)
                check_page(page, f"finder on {address}, {typed}")


@pytest.mark.parametrize(("theme", "width"), [("light", 320), ("dark", 1440)])
def test_the_question_about_a_folder_has_no_barrier(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    with visiting_themed(browser, server.url, theme, width) as page:
        page.goto("/")
        page.get_by_label("Path of the folder").fill("/etc")
        page.get_by_role("button", name="Index", exact=True).click()
        page.get_by_role("button", name="Index anyway").wait_for()
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "question")


@pytest.mark.parametrize(("theme", "width"), WINDOWS)
def test_the_palette_has_no_barrier(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    recent = [{"name": "open session", "q": "open session", "mode": "keyword"}]
    with visiting_themed(browser, server.url, theme, width) as page:
        page.goto("/jobs")
        page.evaluate("kept => localStorage.setItem('cairn.recent', kept)", json.dumps(recent))
        page.evaluate(AXE.read_text("utf-8"))
        page.keyboard.press("Control+k")
        page.locator("#palette [role=option]").first.wait_for()
        for typed in ("", "session", "zz qq"):
            page.keyboard.type(typed)
            expect(page.locator("#palette-found")).to_have_attribute("data-of", typed)
            expect(page.locator("#palette [aria-selected=true]")).to_have_count(1)  # of this list
            check_page(page, f"palette, {typed}")
            page.keyboard.press("Control+a")


@pytest.mark.parametrize(("theme", "width"), [("dark", 1440), ("light", 320)])
def test_what_opens_on_the_search_page_has_no_barrier(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    with visiting_themed(browser, server.url, theme, width) as page:

        def check(what: str) -> None:
            page.evaluate(AXE.read_text("utf-8"))
            check_page(page, what)

        page.goto("/search?q=open+session")
        if width > 1200:
            page.locator("#preview-body .line").first.wait_for()
        page.locator(".around.below").first.click()
        page.locator(".around.less").first.wait_for()
        check("preview and more lines")
        page.get_by_role("button", name="Save this search").click()
        check("saving")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#told")).to_contain_text("Saved as")
        page.goto("/search")
        page.get_by_role("heading", name="Saved searches").wait_for()
        check("kept searches")
        page.get_by_label("Search all code").press_sequentially("sess", delay=20)
        page.get_by_role("listbox").wait_for()
        page.keyboard.press("ArrowDown")
        check("suggestions")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1440])
def test_names_and_symbols_have_no_barrier(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    with server.client() as client:
        here = f"/p/{project_ids(client)['sample']}"
    with visiting_themed(browser, server.url, theme, width) as page:
        page.goto(f"{here}/f/app/session.py")
        page.locator("#L9 code a").click()
        page.locator("[data-definition]").wait_for()
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "panel")
        for address in (
            "f/app/session.py?name=1:1&q=session&mode=keyword",
            "symbol/app/session.py?name=SessionStore.open_session&line=9&tests=yes",
            "symbol/app/session.py?name=SessionStore&line=6",
            "symbol/app/session.py?name=Nothing",
        ):
            page.goto(f"{here}/{address}")
            page.evaluate(AXE.read_text("utf-8"))
            check_page(page, address)


def test_what_is_chosen_is_told_in_forced_colours(page: Page, server: Server) -> None:
    with server.client() as client:
        here = f"/p/{project_ids(client)['sample']}"
    page.emulate_media(forced_colors="active")
    for address, chosen, other in (
        ("/search?q=session", ".mode-switch :checked + span", ".mode-switch :not(:checked) + span"),
        ("/search?q=session+lang:python", ".facets .active", ".facets a:not(.active)"),
        ("/jobs?status=failed", ".states [aria-current]", ".states a:not([aria-current])"),
        (f"{here}/tree", ".tabs [aria-current]", ".tabs li a:not([aria-current])"),
        (f"{here}/f/app/session.py?lines=3-5", ".line.picked .n", ".line:not(.picked) .n"),
    ):
        page.goto(address)
        colours = [
            page.locator(each).first.evaluate(
                "each => [getComputedStyle(each).backgroundColor, getComputedStyle(each).color]"
            )
            for each in (chosen, other)
        ]
        for each, plain in zip(*colours, strict=True):
            assert each != plain, (address, colours)


@pytest.mark.soak
@pytest.mark.parametrize(("theme", "width"), _OTHER_WINDOWS)
def test_no_page_has_a_barrier_in_other_windows(
    browser: Browser, server: Server, theme: str, width: int
) -> None:
    _check(browser, server, theme, width)
