"""The system's Chromium, driven by tests; they are skipped, and say so, where there is none."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from tests.support.patience import patience

# The shell draws the same pages in half the processor time of a whole browser.
_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
_WAIT_MS = patience(15_000)  # for a page, and for a job that it starts
#: Answers that a page knows how to show, and time-outs of parts that ask again by themselves, as
#: on a busy machine.
_EXPECTED = re.compile(
    r"status of 4|htmx:error: timeout {elt: \w+"
    r"#(?:projects?|status|folders|job|job-list|agents|treatment)\b"
)
#: Requests of a page are waited for as long as the tests wait.
_PATIENCE = f"""
document.addEventListener("DOMContentLoaded", () => {{
  if (window.htmx) htmx.config.defaultTimeout = {_WAIT_MS:.0f};
}});
"""
expect.set_options(timeout=_WAIT_MS)


def need_chromium() -> str:
    """Give where the browser is; skip the test when the system has none."""
    found = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if found is None:
        pytest.skip("NO BROWSER: the pages are not tested in one; apt-get install chromium")
    return found


@contextmanager
def browsing(*arguments: str) -> Iterator[Browser]:
    """Start the browser, and end it; nothing else of the thread may run an event loop meanwhile."""
    found = need_chromium()
    options = [*arguments, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=options)
        try:
            yield browser
        finally:
            browser.close()


def start_indexing(page: Page, tree: Path) -> None:
    """Have a folder indexed, as another client does; the job goes on."""
    asked = {"path": str(tree), "wait": False}
    assert page.request.post("/api/v1/projects", data=asked, timeout=_WAIT_MS).ok


@contextmanager
def visiting(
    browser: Browser, url: str, *, may_complain: bool = False, **options: Any
) -> Iterator[Page]:
    """Open a tab; whatever the browser complains of fails the test, such as a policy's breach.

    Args:
        browser: The browser.
        url: What addresses are relative to.
        may_complain: Whether complaints are expected, as of requests that a test makes fail.
        options: Of the browser's context.
    """
    context = browser.new_context(base_url=url, **options)
    context.set_default_timeout(_WAIT_MS)
    context.add_init_script(_PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: (
            complaints.append(said.text)
            if said.type == "error" and not _EXPECTED.search(said.text)
            else None
        ),
    )
    try:
        yield page
        assert may_complain or not complaints, complaints
    finally:
        context.close()


@contextmanager
def visiting_themed(browser: Browser, url: str, theme: str, width: int) -> Iterator[Page]:
    """Open a tab of a theme and a width in pixels, in which axe-core can be loaded."""
    size = {"width": width, "height": 900}
    with visiting(browser, url, bypass_csp=True, color_scheme=theme, viewport=size) as page:
        yield page


def wait_until(page: Page, is_so: Callable[[], bool]) -> None:
    """Wait until something is so that the page does not tell."""
    for _ in range(int(patience(200))):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never became so")


def intercept(
    page: Page,
    addresses: str | re.Pattern[str],
    answer: Callable[[Route], object],
    *,
    times: int = 0,
) -> None:
    """Have the requests of a page answered by the test.

    `Page.route` returns some moments before Chromium has told an open page where its requests go
    now, so on a busy machine the next one may still go to the server. Therefore a request of no
    consequence is made until it is intercepted.

    Args:
        page: The page.
        addresses: Which requests, as for `Page.route`.
        answer: What is done with each.
        times: How many are intercepted; 0: all.
    """
    page.route(addresses, answer, times=times or None)
    if page.url == "about:blank":
        return  # a page that is opened later knows it from the start
    probe = "/is-intercepted"
    page.route(f"**{probe}", lambda route: route.fulfill(body="yes"))
    asking = f"() => fetch('{probe}').then((answer) => answer.text())"
    wait_until(page, lambda: bool(page.evaluate(asking) == "yes"))
    page.unroute(f"**{probe}")


def hold(page: Page, addresses: str | re.Pattern[str]) -> list[Route]:
    """Hold requests of a page until the test answers them.

    Args:
        page: The page.
        addresses: Which requests, as for `Page.route`.

    Returns:
        The requests, the oldest first; later ones are added as they come.
    """
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    intercept(page, addresses, keep)
    return held
