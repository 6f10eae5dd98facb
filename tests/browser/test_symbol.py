"""The page of a symbol in a browser: its graph, its tests, and where its links lead."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import project_ids, site
from tests.support.server import Server
from tests.support.trees import write_tree


def _symbol(server: Server, path: str, name: str) -> str:
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}/symbol/{path}?name={name}&line=1"


def test_the_graph_leads_to_a_caller_by_mouse_and_by_keys(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore"))
    node = page.locator("a.node-caller", has_text="default_store")
    node.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("default_store")
    page.locator("a.node-callee").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SessionStore")


def test_tests_come_when_they_are_scrolled_to(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore.open_session"))
    page.get_by_role("heading", name="Tests that reach it").scroll_into_view_if_needed()
    expect(page.locator("#tests-list")).to_contain_text("test_open_session_gives_a_token")


def test_references_and_source_lead_to_the_file(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore"))
    page.locator(".roles a", has_text="import").click()
    expect(page).to_have_url(re.compile(r"uses=import#references$"))
    page.locator("[data-use]").first.click()
    page.wait_for_url("**/f/**#L*")
    page.go_back()
    page.wait_for_url("**#references")
    page.locator(".symbol-source code a", has_text="SessionStore").first.click()
    page.wait_for_url("**/f/app/session.py?name=6:7#L6")
    expect(page.locator("#names [data-definition]")).to_be_visible()


def test_what_is_around_a_common_name_comes_by_itself(browser: Browser, tmp_path: Path) -> None:
    calls = {f"m{n}.py": f"from a import often\n\n\ndef f{n}():\n    often()\n" for n in range(420)}
    tree = write_tree(tmp_path / "common", {"a.py": "def often():\n    pass\n", **calls})
    with site(tmp_path, tree) as server, visiting(browser, server.url) as page:
        with server.client() as client:
            address = f"/p/{project_ids(client)['common']}/symbol/a.py?name=often&line=1"
        page.goto(f"{address}#references")
        expect(page.locator("#references")).to_contain_text("841")
        expect(page.locator("#references")).to_be_in_viewport()
        expect(page).to_have_url(re.compile(r"around=yes#references$"))  # for the way back
        page.keyboard.press("r")
        expect(page.locator(":focus")).to_have_attribute("data-use", "")


def test_keys_lead_to_references_and_to_the_definition(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore"))
    page.keyboard.press("r")
    focused = page.locator(":focus")
    expect(focused).to_have_attribute("data-use", "")
    expect(focused).to_be_in_viewport()
    assert focused.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
    first = focused.get_attribute("href")
    page.keyboard.press("j")
    assert focused.get_attribute("href") != first
    page.keyboard.press("ArrowUp")
    assert focused.get_attribute("href") == first
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("on the page of a symbol")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("[data-focus-key]")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#callers ~ .calls .call-place a").first.focus()
    page.keyboard.press("d")
    expect(page.get_by_role("heading", level=1)).to_have_text("default_store")
    page.keyboard.press("d")
    page.wait_for_url("**/f/app/session.py?lines=*")


def test_a_symbol_that_is_gone_is_a_page_with_ways_on(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore.renamed"))
    expect(page.get_by_role("heading", name="Symbol not found")).to_be_visible()
    page.get_by_role("link", name="Search the symbols").click()
    expect(page.locator("main")).to_contain_text("No matching symbols")
