"""The page of a symbol in a browser: its graph, its tests, and where its links lead."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import hold, intercept, visiting, wait_until
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
    page.get_by_role("heading", name="Tests that reach it").scroll_into_view_if_needed()
    expect(page.locator("[hx-get*='tests=']")).to_have_count(0)  # what comes moves the rest
    page.locator("[data-use]").first.click()
    page.wait_for_url("**/f/**#L*")
    page.go_back()
    page.wait_for_url("**#references")
    page.locator(".symbol-source code a", has_text="SessionStore").first.click()
    page.wait_for_url("**/f/app/session.py?of=*&name=6:7#L6")
    expect(page.locator("#names [data-definition]")).to_be_visible()


def test_a_link_that_is_pressed_while_the_tests_come_is_followed(
    page: Page, server: Server
) -> None:
    held = hold(page, "**tests=**")
    page.goto(_symbol(server, "app/session.py", "SessionStore"))
    page.get_by_role("heading", name="Tests that reach it").scroll_into_view_if_needed()
    wait_until(page, lambda: bool(held))
    page.set_viewport_size({"width": 1440, "height": 300})
    use = page.locator("[data-use]").first
    use.evaluate("link => link.scrollIntoView({ block: 'end' })")
    use.hover()
    page.mouse.down()
    expect(use).to_be_focused()
    held[0].continue_()
    expect(page.locator("[hx-get*='tests=']")).to_have_count(0)
    page.mouse.up()
    page.wait_for_url("**/f/**#L*")


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of a name that stands in many places."""
    folder = tmp_path_factory.mktemp("common")
    calls = {f"m{n}.py": f"from a import often\n\n\ndef f{n}():\n    often()\n" for n in range(420)}
    often = "def often():\n" + "    pass\n" * 40
    tree = write_tree(folder / "common", {"a.py": often, **calls})
    with site(folder, tree) as server:
        with server.client() as client:
            project = project_ids(client)["common"]
        yield f"{server.url}/p/{project}/symbol/a.py?name=often&line=1"


def test_what_is_around_a_common_name_comes_by_itself(browser: Browser, common: str) -> None:
    with visiting(browser, common) as page:
        page.goto(f"{common}#references")
        expect(page.locator("#references")).to_contain_text("841")
        expect(page.locator("#references")).to_be_in_viewport()
        expect(page).to_have_url(re.compile(r"around=yes#references$"))  # for the way back
        page.keyboard.press("r")
        expect(page.locator(":focus")).to_have_attribute("data-use", "")


def test_what_comes_late_leaves_the_focus_and_says_that_it_came(
    browser: Browser, common: str
) -> None:
    with visiting(browser, common) as page:
        late = hold(page, "**/*around=yes*")
        page.goto(common)
        state = page.get_by_role("status").filter(has_text="callers")
        expect(state).to_have_text("Loading callers, callees and references…")
        expect(state).to_be_visible()
        page.get_by_role("link", name="Show callers, callees and references").focus()
        wait_until(page, lambda: bool(late))
        late[0].continue_()
        expect(page.locator("#callers")).to_be_focused()
        expect(state).to_have_text("Callers, callees and references loaded")
        page.keyboard.press("Tab")
        expect(page.locator("section[aria-labelledby=callers] :focus")).to_have_count(1)


def test_what_comes_late_leaves_the_place_to_which_one_has_scrolled(
    browser: Browser, common: str
) -> None:
    with visiting(browser, common, viewport={"width": 800, "height": 400}) as page:
        late = hold(page, "**/*around=yes*")
        page.goto(f"{common}#references")
        wait_until(page, lambda: bool(late))
        page.evaluate("scrollTo(0, 90)")
        late[0].continue_()
        state = page.get_by_role("status").filter(has_text="loaded")
        expect(state).to_have_count(1)
        assert page.evaluate("scrollY") == 90


def test_what_comes_before_the_script_of_the_page_is_not_missed(
    browser: Browser, common: str
) -> None:
    with visiting(browser, common) as page:
        scripts = hold(page, "**/symbol.js*")
        page.goto(common, wait_until="commit")
        wait_until(page, lambda: bool(scripts))
        page.wait_for_timeout(1000)  # long enough for the rest of the page, were it to come first
        scripts[0].continue_()
        state = page.get_by_role("status").filter(has_text="callers")
        expect(state).to_have_text("Callers, callees and references loaded")
        expect(page).to_have_url(re.compile("around=yes$"))


def test_what_does_not_come_is_said_so(browser: Browser, common: str) -> None:
    with visiting(browser, common) as page:
        intercept(page, "**/*around=yes*", lambda route: route.fulfill(status=404, body=""))
        page.goto(common)
        state = page.get_by_role("status").filter(has_text="callers")
        expect(state).to_have_text("Loading callers, callees and references failed")
        expect(page.get_by_role("link", name="Show callers")).to_be_visible()


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
    page.wait_for_load_state()
    page.keyboard.press("d")
    page.wait_for_url("**/f/app/session.py?lines=*")


def test_without_keys_of_letters_arrows_go_through_references(page: Page, server: Server) -> None:
    page.goto("/")
    page.evaluate("localStorage.setItem('cairn.letters', 'off')")
    page.goto(_symbol(server, "app/session.py", "SessionStore"))
    uses = page.locator(".symbol-uses [data-use]")
    uses.first.focus()
    page.keyboard.press("j")
    expect(uses.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(uses.first).not_to_be_focused()
    expect(page.locator(".symbol-uses :focus")).to_have_count(1)


def test_a_symbol_that_is_gone_is_a_page_with_ways_on(page: Page, server: Server) -> None:
    page.goto(_symbol(server, "app/session.py", "SessionStore.renamed"))
    expect(page.get_by_role("heading", name="Symbol not found")).to_be_visible()
    page.get_by_role("link", name="Search the symbols").click()
    expect(page.locator("main")).to_contain_text("No matching symbols")
