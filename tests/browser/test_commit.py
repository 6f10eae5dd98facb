"""Commits in a browser: found, opened by keyboard, and followed to their files."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_accessibility import AXE, check_page
from tests.support.browser import (
    hold,
    intercept,
    need_chromium,
    visiting,
    visiting_themed,
    wait_until,
)
from tests.support.command import Command
from tests.support.git_history import index_with_history, sample_history
from tests.support.pages import project_ids
from tests.support.server import Server, serving


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a project with a history."""
    need_chromium()
    folder = tmp_path_factory.mktemp("history")
    git = sample_history(folder / "tree", folder)
    numbers = "".join(f"VALUE_{number} = {number}\n" for number in range(220))
    git.commit("Number the values", {"a_long.py": numbers, "z_short.py": "LAST_VALUE = 150\n"})
    index_with_history(folder / "home", git)
    command = Command(home=folder / "home", folder=Path(git.root))
    with serving(command, "--no-watch") as server:
        yield server


@pytest.mark.parametrize("scripts", [True, False])
def test_a_commit_is_found_opened_and_leads_to_its_files(
    browser: Browser, history: Server, scripts: bool
) -> None:
    with visiting(browser, history.url, java_script_enabled=scripts) as page:
        page.goto("/search?q=type:commit+exponential+retries")
        first = page.locator("[data-hit] [data-open]").first
        expect(first).to_have_text("Make retries exponential")
        if scripts:
            page.keyboard.press("j")
            page.keyboard.press("o")
        else:
            first.click()
        expect(page).to_have_url(re.compile(r"/commit/[0-9a-f]{12}$"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Make retries exponential")
        page.get_by_role("link", name="history of src/retry.py").click()
        expect(page.locator("[data-hit]")).to_have_count(3)


def test_modes_for_code_are_offered_for_code_alone(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url) as page:
        page.goto("/search?q=type:commit+retries")
        modes = page.locator(".mode-switch label:not(.case)")
        shown = modes.locator("visible=true")
        expect(shown).to_have_text(["Hybrid", "Meaning", "Keyword"])
        page.get_by_label("Search all code").fill("AnswerCache")
        expect(shown).to_have_text(["Hybrid", "Meaning", "Keyword", "Symbol", "Regex"])
        page.goto("/search?q=type:commit+retries&mode=regex")
        expect(shown).to_have_text(["Hybrid", "Meaning", "Keyword", "Regex"])


def test_the_tab_of_what_is_searched_for_is_current(browser: Browser, history: Server) -> None:
    with history.client() as client:
        [project] = project_ids(client).values()
    with visiting(browser, history.url) as page:
        page.goto(f"/search?q=retries&project={project}")
        current = page.locator(".tabs [aria-current=page]")
        expect(current).to_have_text("Search")
        page.get_by_label("Search tree").fill("type:commit retries")
        expect(current).to_have_text("Commits")
        page.get_by_label("Search tree").fill("retries")
        expect(current).to_have_text("Search")


def test_results_without_a_preview_leave_it_open_for_others(
    browser: Browser, history: Server
) -> None:
    with visiting(browser, history.url, viewport={"width": 1440, "height": 900}) as page:
        page.goto("/search?q=type:commit+retries")
        expect(page.locator("[data-hit]").first).to_be_visible()
        page.keyboard.press("p")
        expect(page.locator("body")).to_have_class(re.compile("with-preview"))


def test_a_file_leads_to_its_history(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url) as page:
        page.goto("/search?q=AnswerCache")
        page.locator("[data-hit] [data-open]").first.click()
        page.get_by_role("link", name="History", exact=True).click()
        expect(page.locator("[data-hit]")).to_have_count(1)
        named = page.get_by_role("article", name="2020-09-18 Add a cache of answers")
        expect(named).to_be_visible()


def test_selected_lines_lead_to_their_history(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url) as page:
        page.goto("/search?q=wait_before")
        page.locator("[data-hit] [data-open]").first.click()
        page.locator('.file-code .n[data-n="10"]').click()
        link = page.get_by_role("link", name="Line history")
        expect(link).to_have_attribute("href", re.compile("%3A10-10"))  # the scripts have loaded
        link.click()
        expect(page.locator("[data-hit]")).to_have_count(1)
        expect(page.get_by_role("article", name="2020-09-14 Begin")).to_be_visible()


@contextmanager
def _results(browser: Browser, history: Server, theme: str, width: int) -> Iterator[Page]:
    """Open the results of a question where axe-core can run."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/browser")
    with visiting_themed(browser, history.url, theme, width) as page:
        page.goto("/search?q=wait_before")
        yield page


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_last_changes_are_no_barrier(
    browser: Browser, history: Server, theme: str, width: int
) -> None:
    with _results(browser, history, theme, width) as page:
        page.evaluate(AXE.read_text("utf-8"))
        expect(page.get_by_title("Last change of the file: ").first).to_be_visible()
        check_page(page, "results")
        page.locator("[data-hit] [data-open]").first.click()
        expect(page.get_by_text("last changed")).to_be_visible()
        page.wait_for_load_state()  # with its style sheets
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "file")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_a_commit_leads_to_its_changed_lines(
    browser: Browser, history: Server, theme: str, width: int
) -> None:
    with _results(browser, history, theme, width) as page:
        page.goto("/search?q=type:commit+exponential+retries")
        page.locator("[data-hit] [data-open]").first.click()
        lines = page.locator(".diff .added, .diff .removed")
        expect(lines).to_have_count(2)
        expect(lines.last).to_contain_text("delay = base * 2 ** attempt")
        page.goto("/search?q=type:commit+number+values")
        page.locator("[data-hit] [data-open]").first.click()
        line = page.locator(".diff .added").last
        expect(line).to_contain_text("LAST_VALUE = 150")
        expect(line).not_to_be_in_viewport()
        page.get_by_title("Changed lines of this file").nth(1).click()
        expect(line).to_be_in_viewport()
        page.wait_for_load_state()  # with its style sheets
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "commit")


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_who_changed_the_lines_is_shown_by_a_key(
    browser: Browser, history: Server, theme: str, width: int
) -> None:
    with _results(browser, history, theme, width) as page:
        page.locator("[data-hit] [data-open]").first.click()
        page.wait_for_url("**/f/**")
        page.locator('.file-code .n[data-n="6"]').click()
        page.keyboard.press("b")
        page.wait_for_url("**blame=1**#L6")
        expect(page.locator(".run")).to_have_count(3)
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")
        run, line = page.locator(".run").nth(1).bounding_box(), page.locator("#L6").bounding_box()
        assert run is not None
        assert line is not None
        assert (run["y"], run["height"]) == (line["y"], line["height"])
        assert line["height"] <= 20
        assert page.locator(".file-code").evaluate("code => code.scrollLeft") == 0
        expect(page.locator(".blame-author", has_text="Ada Example")).to_be_visible()
        expect(page.locator(".authors")).to_be_visible()
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "blame")
        page.locator(".run a").nth(1).click()
        expect(page.get_by_role("heading", name="Make retries exponential")).to_be_visible()
        page.go_back()
        page.wait_for_url("**blame=1**")
        expect(page.locator(".run")).to_have_count(3)  # until then the key does nothing
        page.keyboard.press("b")
        expect(page.locator(".run")).to_have_count(0)
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")


def test_the_page_stays_while_the_history_is_read(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url, may_complain=True) as page:
        page.goto("/search?q=wait_before")
        page.locator("[data-hit] [data-open]").first.click()
        page.wait_for_url("**/f/**")
        held = hold(page, "**blame=1**")
        page.evaluate("window.isSame = true")
        page.locator('.file-code .n[data-n="6"]').click()
        state = page.locator("#blame-state")
        page.keyboard.press("b")
        expect(state).to_have_text("reading the history…")
        page.keyboard.press("b")
        wait_until(page, lambda: bool(held))
        held.pop().fulfill(status=503, body="busy")
        assert not held
        expect(state).to_have_text("The history could not be read: try again.")
        page.unroute("**blame=1**")
        page.keyboard.press("b")
        expect(page.locator(".run")).to_have_count(3)
        expect(state).to_be_hidden()
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")
        assert page.evaluate("window.isSame")
        assert page.url.endswith("blame=1#L6")
        page.emulate_media(media="print")
        expect(page.locator(".blame").first).to_be_hidden()
        page.emulate_media(media="screen")
        shown = page.locator(".file-code").text_content()
        page.reload()
        expect(page.locator(".run")).to_have_count(3)
        assert page.locator(".file-code").text_content() == shown
        page.keyboard.press("b")
        expect(page.locator(".run")).to_have_count(0)


def test_blame_leaves_what_was_chosen_while_it_was_read(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url, viewport={"width": 1440, "height": 900}) as page:
        page.goto("/search?q=wait_before&mode=symbol")
        page.locator("[data-hit] [data-open]").first.click()
        page.wait_for_url("**/f/**")
        held = hold(page, "**blame=1")
        page.keyboard.press("b")
        wait_until(page, lambda: bool(held))
        page.locator("code a", has_text="wait_before").first.click()
        expect(page.locator("#names h2")).to_have_text("wait_before")
        page.locator('.file-code .n[data-n="6"]').click()
        held.pop().continue_()
        expect(page.locator(".run")).to_have_count(3)
        expect(page).to_have_url(re.compile(r"name=\d+:\d+&blame=1#L6$"))
        page.unroute("**blame=1")
        page.reload()
        expect(page.locator("#names h2")).to_have_text("wait_before")
        expect(page.locator(".run")).to_have_count(3)
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")


def test_blame_arrives_after_the_page_that_its_address_opens(
    browser: Browser, history: Server
) -> None:
    held: list[Route] = []

    def hold_fragments(route: Route) -> None:
        held.append(route) if "hx-request" in route.request.headers else route.continue_()

    with visiting(browser, history.url, may_complain=True) as page:
        address = _blame_of(page, "VALUE_9")
        intercept(page, "**blame=1**", hold_fragments)
        page.goto(f"{address}#L6")
        state = page.locator("#blame-state")
        expect(state).to_have_text("reading the history…")
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")
        expect(page.locator(".run")).to_have_count(0)
        wait_until(page, lambda: bool(held))
        held.pop().fulfill(status=503, body="busy")
        expect(state).to_have_text("The history could not be read: try again.")
        page.unroute("**blame=1**")
        page.keyboard.press("b")
        expect(page.locator(".run")).to_have_count(2)  # one in each block of lines
        expect(state).to_be_hidden()
        expect(page.locator(".line.picked")).to_have_attribute("id", "L6")
        page.keyboard.press("b")
        expect(page.locator(".run")).to_have_count(0)
        page.goto(_blame_of(page, "LAST_VALUE"))
        expect(page.locator(".run")).to_have_count(1)
        expect(page.locator("[data-blame]")).to_have_attribute("aria-current", "true")


def test_names_beside_blame_are_gone_through_by_keys(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url) as page:
        page.goto(_blame_of(page, "VALUE_9"))
        expect(page.locator(".blame")).to_have_count(2)  # one for each block of lines
        page.locator("#L200 code a").first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#L201 code a").first).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(page.locator("#L200 code a").first).to_be_focused()


def test_without_scripts_a_link_waits_for_blame(browser: Browser, history: Server) -> None:
    with visiting(browser, history.url, java_script_enabled=False) as page:
        page.goto(_blame_of(page, "AnswerCache"))
        expect(page.locator(".file-code .line").first).to_be_visible()
        page.get_by_role("link", name="Show the last commit of each line").click()
        expect(page.locator(".run").first).to_be_visible()


def _blame_of(page: Page, name: str) -> str:
    """Return the address of the page with blame of the file that defines a name."""
    page.goto(f"/search?q={name}&mode=symbol")
    address = page.locator("[data-hit] [data-open]").first.get_attribute("href")
    assert address
    return re.sub(r"[?#].*", "", address) + "?blame=1"


def test_blame_of_another_content_is_not_put_beside_the_code(
    browser: Browser, history: Server
) -> None:
    with visiting(browser, history.url) as page:
        page.goto("/search?q=wait_before&mode=symbol")
        page.locator("[data-hit] [data-open]").first.click()
        page.wait_for_url("**/f/**")
        page.evaluate("document.querySelector('.file-code').dataset.version = '0123456789ab'")
        page.keyboard.press("b")
        state = page.locator("#blame-state")
        expect(state).to_have_text("The file has changed: load the page again.")
        expect(page.locator(".run")).to_have_count(0)
