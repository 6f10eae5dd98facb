"""Reading code by definitions and references: by mouse, by keyboard, without scripts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import hold, intercept, visiting, wait_until
from tests.support.pages import index_folder, indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree

ROUTER = "app/http/router.py"
SESSION = "app/session.py"


def _address(server: Server, path: str) -> str:
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}/f/{path}"


def _back(page: Page, address: str) -> None:
    page.go_back(wait_until="commit")
    page.wait_for_url(address)


def test_from_a_search_to_a_definition_its_callers_its_test_and_back(
    page: Page, server: Server
) -> None:
    page.goto("/search?q=test_open_session&mode=keyword")
    page.locator("[data-hit] [data-open]").first.click()
    page.wait_for_url("**/f/tests/test_session.py**")
    page.locator("#L5 code a", has_text="open_session").click()
    panel = page.locator("#names")
    expect(panel.locator("[data-definition]")).to_have_count(1)
    expect(panel).to_contain_text("SessionStore.open_session")
    expect(page).to_have_url(re.compile(r"[?&]name=5:\d+#L5$"))
    panel.locator("[data-definition]").click()
    page.wait_for_url("**/f/app/session.py?lines=9-11#L9")
    page.locator("#L9 code a").click()
    expect(panel.locator(".chip", has_text="here")).to_be_visible()
    panel.get_by_role("link", name="Symbol page").click()
    page.wait_for_url("**/symbol/app/session.py?name=SessionStore.open_session&line=9")
    callers = page.locator("section", has=page.get_by_role("heading", name="Callers"))
    callers.get_by_role("link", name="test_open_session_gives_a_token").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("test_open_session_gives_a_token")
    _back(page, "**/symbol/app/session.py?**")
    _back(page, "**/f/app/session.py?**name=9:9#L9")
    expect(panel).to_be_visible()  # the address has the name
    _back(page, "**/f/app/session.py?lines=9-11#L9")
    expect(panel).to_be_hidden()
    _back(page, "**/f/tests/test_session.py?**name=5:*")
    expect(panel).to_be_visible()


def test_the_same_by_keys(page: Page, server: Server) -> None:
    page.goto(_address(server, "tests/test_session.py"))
    page.locator("#L1 code a").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#L4 code a:focus")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#L5 code a:focus")).to_have_text("open_session")
    page.keyboard.press("r")
    panel = page.locator("#names")
    expect(panel.locator("[data-use]:focus")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(panel.locator("[data-use]:focus")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("#L5 code a:focus")).to_have_text("open_session")
    page.keyboard.press("Enter")
    expect(panel.locator("[data-definition]")).to_be_visible()
    page.keyboard.press("d")  # the only certain definition
    page.wait_for_url("**/f/app/session.py?lines=9-11#L9")
    page.go_back()
    expect(panel.locator("[data-definition]")).to_be_visible()


def test_symbols_of_the_file_are_still_reached(page: Page, server: Server) -> None:
    page.goto(f"{_address(server, SESSION)}?name=9:9#L9")
    page.keyboard.press("s")
    expect(page.locator("#names")).to_be_hidden()
    expect(page.locator(".outline a:focus")).to_contain_text("open_session")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("SessionStore.open_session")


def test_code_is_one_stop_of_the_tab_key(page: Page, server: Server) -> None:
    page.goto(_address(server, SESSION))
    page.locator("#L6 code a").first.focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".file-side a:focus, .file-side input:focus")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator("#L6 code a:focus")).to_have_count(1)


def test_a_modifier_goes_straight_to_the_definition(page: Page, server: Server) -> None:
    page.goto(_address(server, ROUTER))
    page.locator("#L3 code a", has_text="SessionStore").click(modifiers=["ControlOrMeta"])
    page.wait_for_url("**/f/app/session.py?lines=6-15#L6")


def test_d_takes_the_name_of_the_line_that_was_selected_last(page: Page, server: Server) -> None:
    page.goto(_address(server, "tests/test_session.py"))
    told = page.locator("#names h2")
    page.locator("#L5 code a", has_text="open_session").click()
    expect(told).to_contain_text("open_session")
    page.locator('.file-code .n[data-n="4"]').click()  # the panel of the other name is open
    page.keyboard.press("r")
    expect(told).to_contain_text("test_open_session_gives_a_token")
    page.keyboard.press("Escape")
    page.locator("#L5 code a", has_text="open_session").click()
    expect(told).to_contain_text("open_session")
    page.locator("[data-close-name]").click()
    page.locator("#L4 code a").first.focus()
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("#L4$"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("r")  # of the name that was clicked, whose line is selected again
    expect(told).to_contain_text("open_session")
    page.keyboard.press("Escape")
    page.locator('.file-code .n[data-n="5"]').click()
    page.keyboard.press("Shift+ArrowUp")  # a range: its first line
    expect(page).to_have_url(re.compile("#L5-L4$"))
    page.locator('.file-code .n[data-n="1"]').click()
    page.keyboard.press("d")
    page.wait_for_url("**/f/app/session.py?**")


def test_d_without_a_name_says_what_to_do(page: Page, server: Server) -> None:
    page.goto(_address(server, ROUTER))
    page.keyboard.press("d")
    expect(page.locator("#told")).to_contain_text("Click a name")


def test_keys_work_at_once_on_the_definition_that_a_search_led_to(
    page: Page, server: Server
) -> None:
    with server.client() as client:
        project_id = project_ids(client)["sample"]
    page.goto(f"/p/{project_id}/symbols?name=SessionStore&kind=class")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/f/app/session.py?**#L6")
    page.keyboard.press("r")
    expect(page.locator("#names [data-use]:focus")).to_be_visible()
    expect(page.locator("#names")).to_contain_text("SessionStore")
    page.keyboard.press("Escape")
    expect(page.locator("#L6 code a:focus")).to_have_text("SessionStore")


def test_roles_narrow_the_references_and_other_places_are_marked(
    page: Page, server: Server
) -> None:
    page.goto(_address(server, SESSION))
    page.locator("#L6 code a").first.click()
    panel = page.locator("#names")
    expect(page.locator("#L6 code a[aria-current]")).to_have_count(1)
    expect(page.locator(".file-code a.same")).to_have_count(2)
    uses = panel.locator("[data-use]")
    whole = uses.count()
    panel.locator("[data-role]", has_text="call").click()
    expect(page).to_have_url(re.compile(r"uses=call"))
    expect(uses).not_to_have_count(whole)
    panel.locator("[data-use][href='#L20']").click()
    expect(page.locator("#L20.picked")).to_be_visible()
    expect(panel).to_be_visible()  # a place in the same file leaves it open
    panel.get_by_role("link", name="Close").click()
    expect(panel).to_be_hidden()
    expect(page).not_to_have_url(re.compile(r"name="))
    expect(page.locator("a.same, .file-code a[aria-current]")).to_have_count(0)


def test_going_back_shows_the_role_that_the_references_were_narrowed_to(
    page: Page, server: Server
) -> None:
    page.goto(_address(server, SESSION))
    panel = page.locator("#names")
    uses = panel.locator("[data-use]")
    page.locator("#L6 code a").first.click()
    expect(uses.first).to_be_visible()
    whole = uses.count()
    panel.locator("[data-role]", has_text="call").click()
    expect(panel.locator("[data-role][aria-current]")).to_contain_text("call")
    narrowed = uses.count()
    assert narrowed < whole
    page.locator("#L9 code a").first.click()
    expect(panel.locator("h2")).to_have_text("open_session")
    _back(page, "**uses=call**#L6")
    expect(panel.locator("h2")).to_have_text("SessionStore")
    expect(panel.locator("[data-role][aria-current]")).to_contain_text("call")
    expect(uses).to_have_count(narrowed)


def test_a_place_without_a_name_says_so(page: Page, server: Server) -> None:
    page.goto(f"{_address(server, SESSION)}?name=1:5#L1")
    expect(page.locator("#names")).to_contain_text("There is no name in code at this place")
    page.keyboard.press("Escape")
    expect(page.locator("#names")).to_be_hidden()


def test_a_file_that_vanished_from_the_index_is_told_in_the_panel(
    page: Page, server: Server
) -> None:
    page.goto(_address(server, SESSION))
    page.evaluate("history.replaceState(null, '', location.pathname.replace('session', 'gone'))")
    page.locator("#L6 code a").first.click()
    expect(page.locator("#names")).to_contain_text("app/gone.py is no longer in the index")


def test_what_arrives_in_the_panel_is_announced(page: Page, server: Server) -> None:
    page.goto(_address(server, SESSION))
    told = page.get_by_role("status").locator("visible=true")
    page.locator("#L6 code a").first.press("Enter")
    expect(
        told.filter(has_text=re.compile(r"SessionStore: 1 definition, \d+ references"))
    ).to_have_count(1)
    page.locator("#L9 code a").first.press("Enter")
    expect(
        told.filter(has_text=re.compile(r"open_session: 1 definition, \d+ reference"))
    ).to_have_count(1)
    expect(told.filter(has_text="SessionStore")).to_have_count(0)


def test_an_answer_that_never_comes_leaves_no_empty_panel(browser: Browser, server: Server) -> None:
    size = {"width": 1440, "height": 900}
    with visiting(browser, server.url, may_complain=True, viewport=size) as page:
        page.goto(_address(server, SESSION))
        intercept(page, "**/f/app/session.py?*name=*", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.locator("#L6 code a").first.click()
        expect(page.locator("#names")).to_be_hidden()


def test_after_going_back_all_scripts_still_work(page: Page, server: Server) -> None:
    page.goto(_address(server, SESSION))
    panel = page.locator("#names")
    shown = page.locator("#names-body").element_handle()
    page.locator("#L6 code a").first.click()
    expect(panel.locator("h2")).to_have_text("SessionStore")
    page.locator("#L9 code a").first.click()
    expect(panel.locator("h2")).to_have_text("open_session")
    _back(page, "**name=6:*#L6")
    expect(panel.locator("h2")).to_have_text("SessionStore")
    _back(page, _address(server, SESSION))
    expect(panel).to_be_hidden()
    page.locator("#L9 code a").first.click()
    expect(panel.locator("h2")).to_have_text("open_session")
    expect(page.locator("#L9 code a:focus")).to_have_count(1)
    _back(page, _address(server, SESSION))
    expect(panel).to_be_hidden()
    expect(page.locator("#L9 code a:focus")).to_have_count(1)
    page.go_forward(wait_until="commit")
    expect(panel.locator("h2")).to_have_text("open_session")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    assert shown is not None
    assert shown.evaluate("body => body.isConnected")


def test_the_last_of_three_names_is_shown_whatever_takes_long(page: Page, server: Server) -> None:
    page.goto(_address(server, SESSION))
    held = hold(page, "**name=6:*")
    page.locator("#L6 code a").first.click()
    wait_until(page, lambda: bool(held))
    page.locator("#L9 code a").first.click()
    page.locator("#L13 code a").first.click()
    panel = page.locator("#names")
    expect(panel.locator("h2")).to_have_text("close_session")
    expect(page).to_have_url(re.compile(r"name=13:\d+#L13$"))
    expect(panel).not_to_have_class(re.compile("waiting"))


def test_an_answer_that_is_an_error_is_told_and_leaves_no_empty_panel(
    browser: Browser, server: Server
) -> None:
    size = {"width": 1440, "height": 900}
    with visiting(browser, server.url, may_complain=True, viewport=size) as page:
        page.goto(_address(server, SESSION))
        intercept(page, "**name=6:*", lambda route: route.fulfill(status=503, body="busy"))
        page.locator("#L6 code a").first.click()
        expect(page.locator("#told")).to_have_text("The server could not answer")
        expect(page.locator("#names")).to_be_hidden()
        page.unroute("**name=6:*")
        page.locator("#L6 code a").first.click()
        expect(page.locator("#names h2")).to_have_text("SessionStore")


def test_links_of_a_preview_are_links_also_in_code(page: Page, server: Server, home: Path) -> None:
    files = {
        "README.md": "# Top\n\nSee <code><a href='session.py'>session.py</a></code>.\n",
        "session.py": "def first():\n    return 1\n",
    }
    with (
        server.client() as client,
        indexed(client, write_tree(home / "previewed", files)) as project_id,
    ):
        page.goto(f"/p/{project_id}/f/README.md")
        page.locator(".rendered code a").click()
        page.wait_for_url("**/f/session.py")
        page.goto(f"/p/{project_id}/f/README.md?view=preview&name=1:3")
        page.get_by_role("link", name="Close").click()
        expect(page.locator("#names")).to_be_hidden()
        expect(page.get_by_role("heading", name="Top")).to_be_visible()


@pytest.mark.parametrize("width", [320, 1440])
def test_without_scripts_names_are_links(browser: Browser, server: Server, width: int) -> None:
    viewport = {"width": width, "height": 700}
    with visiting(browser, server.url, java_script_enabled=False, viewport=viewport) as page:
        page.goto(_address(server, "tests/test_session.py"))
        page.locator("#L5 code a", has_text="open_session").click()
        panel = page.locator("#names")
        expect(panel.locator("[data-definition]")).to_be_in_viewport()
        expect(page.locator("#L5")).to_be_in_viewport()
        expect(page.locator("#L5 code a[aria-current]")).to_have_text("open_session")
        panel.locator("[data-role]", has_text="in tests").click()
        expect(panel.locator("[data-role][aria-current]")).to_contain_text("in tests")
        panel.get_by_role("link", name="Symbol page").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("SessionStore.open_session")
        symbol = page.url
        page.get_by_role("link", name="Show the tests").click()
        expect(page.locator("#tests-list")).to_contain_text("test_open_session_gives_a_token")
        page.go_back()
        page.wait_for_url(symbol)
        page.go_back()
        page.wait_for_url("**/f/tests/test_session.py**")
        panel.get_by_role("link", name="Close").click()
        expect(panel).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_name_of_a_file_that_changed_is_told_so_until_the_page_is_loaded_again(
    page: Page, server: Server, home: Path
) -> None:
    text = "def first():\n    return 1\n\n\ndef second():\n    return first()\n"
    tree = write_tree(home / "moving", {"calls.py": text})
    with server.client() as client, indexed(client, tree) as project_id:
        page.goto(f"/p/{project_id}/f/calls.py")
        page.locator("#L5 code a").click()
        panel = page.locator("#names")
        expect(panel.locator("h2")).to_have_text("second")
        write_tree(tree, {"calls.py": f"import os\n\n\n\n\n{text}"})
        index_folder(client, tree)
        page.locator("#L6 code a").click()
        expect(panel).to_contain_text("The file has changed since this name was shown")
        expect(panel.locator("h2")).to_have_text("Changed")
        panel.get_by_role("link", name="Reload the file at line 6").click()
        expect(page.locator("#L10 code a")).to_have_text("second")
        expect(page).to_have_url(re.compile(r"calls\.py#L6$"))
        page.locator("#L11 code a").click()
        expect(panel.locator("h2")).to_have_text("first")


def test_a_name_is_opened_where_the_address_told_of_a_change(page: Page, server: Server) -> None:
    page.goto(f"{_address(server, SESSION)}?of=000000000000&name=9:9#L9")
    panel = page.locator("#names")
    expect(panel.locator("h2")).to_have_text("Changed")
    expect(page.locator("code a[aria-current]")).to_have_count(0)  # another name may stand there
    page.locator("#L9 code a").click()
    expect(panel.locator("h2")).to_have_text("open_session")
    expect(page.locator("#L9 code a[aria-current]")).to_have_count(1)
