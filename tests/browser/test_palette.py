"""Ctrl-K on every page: a place is chosen and opened by keys; nothing, or no server, is told."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.browser import hold, intercept, visiting, wait_until
from tests.support.pages import indexed, project_ids, site
from tests.support.server import Server
from tests.support.trees import write_tree

BOX = "Go to a project, file, symbol, action or search"


def _typed(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name=BOX)).to_be_focused()
    page.keyboard.type(text)
    expect(page.locator("#palette-found")).to_have_attribute("data-of", text)
    expect(page.locator("#palette [aria-selected=true]")).to_have_count(1)  # all is listed


def test_a_symbol_is_found_and_opened_by_keys_alone(page: Page, server: Server) -> None:
    page.goto("/jobs")
    _typed(page, "open_sess")
    expect(page.locator("#palette [aria-selected=true]")).to_contain_text("open_session")
    page.keyboard.press("Enter")
    page.wait_for_url("**/f/app/session.py?lines=*")


def test_arrows_home_and_end_choose(page: Page, server: Server) -> None:
    page.goto("/status")
    _typed(page, "session")
    box = page.get_by_role("combobox", name=BOX)
    options = page.locator("#palette [role=option]")
    number = options.count()
    assert number > 3
    for key, at in (
        ("ArrowDown", 1),
        ("ArrowDown", 2),
        ("ArrowUp", 1),
        ("End", number - 1),
        ("ArrowDown", 0),
        ("ArrowUp", number - 1),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        expect(options.nth(at)).to_have_attribute("aria-selected", "true")
        expect(page.locator("#palette [aria-selected=true]")).to_have_count(1)
        assert box.get_attribute("aria-activedescendant") == options.nth(at).get_attribute("id")
    expect(page.locator("#palette").get_by_role("group", name="Symbols")).to_be_visible()


def test_escape_returns_the_focus(page: Page, server: Server) -> None:
    page.goto("/search?q=open+session")
    page.locator("#q").focus()
    for key in ("Escape", "Control+k"):
        page.keyboard.press("Control+k")
        expect(page.locator("#palette")).to_be_visible()
        page.keyboard.type("x")
        page.keyboard.press(key)
        expect(page.locator("#palette")).to_be_hidden()
        expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("open session")
    page.keyboard.press("?")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()


def test_ctrl_enter_opens_a_tab(page: Page, server: Server) -> None:
    page.goto("/jobs")
    _typed(page, "router.py")
    with page.context.expect_page() as opened:
        page.keyboard.press("Control+Enter")
    opened.value.wait_for_url("**/f/app/http/router.py")
    expect(page.locator("#palette")).to_be_hidden()
    assert page.url.endswith("/jobs")


def test_enter_waits_for_what_was_typed_last(page: Page, server: Server) -> None:
    page.goto("/jobs")
    page.keyboard.press("Control+k")
    page.keyboard.type("sample")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/p/[0-9a-f]{64}$"))


@pytest.mark.parametrize(
    ("key", "dialog", "asked"),
    [("Control+k", "#palette", "**/palette?*"), ("t", "#finder", "**/find?*")],
)
@pytest.mark.parametrize("is_answered", [False, True])
def test_enter_opens_what_arrow_keys_chose_while_newer_text_is_looked_up(
    page: Page, server: Server, key: str, dialog: str, asked: str, is_answered: bool
) -> None:
    page.goto("/jobs")
    page.keyboard.press(key)
    expect(page.locator(f"{dialog} [role=combobox]")).to_be_focused()
    page.keyboard.type("part")
    listed = page.locator(f"{dialog} [data-of]")
    expect(listed).to_have_attribute("data-of", "part")
    chosen = page.locator(f"{dialog} [aria-selected=true]")
    expect(chosen).to_have_count(1)
    held = hold(page, asked)
    page.keyboard.type("_")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    address = chosen.get_attribute("href") or ""
    assert address
    wait_until(page, lambda: bool(held))
    if is_answered:
        held[-1].continue_()
        expect(listed).to_have_attribute("data-of", "part_")
        expect(chosen).to_have_attribute("href", address)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


def test_arrow_keys_after_enter_leave_the_choice_open(page: Page, server: Server) -> None:
    page.goto("/jobs")
    _typed(page, "part")
    held = hold(page, "**/palette?*")
    page.keyboard.type("_")
    page.keyboard.press("Enter")  # waits for the list
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#palette [aria-selected=true]")
    address = chosen.get_attribute("href") or ""
    wait_until(page, lambda: bool(held))
    held[-1].continue_()
    expect(page.locator("#palette-found")).to_have_attribute("data-of", "part_")
    expect(chosen).to_have_attribute("href", address)
    page.wait_for_timeout(100)
    assert page.url.endswith("/jobs")


def test_actions_act(page: Page, server: Server) -> None:
    page.goto("/jobs")
    _typed(page, "dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    _typed(page, "shortcuts")
    page.keyboard.press("Enter")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    _typed(page, "find a file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Find a file by its path")).to_be_focused()
    page.keyboard.press("Escape")
    _typed(page, "index a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#path")
    expect(page.get_by_label("Path of the folder")).to_be_focused()


def test_a_project_is_indexed_again(page: Page, server: Server, home: Path) -> None:
    tree = write_tree(home / "renewed", {"one.py": "x = 1\n"})
    with server.client() as client, indexed(client, tree) as project:
        page.goto("/jobs")
        _typed(page, "reindex renewed")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/jobs/{project[:8]}-*")
        expect(page.locator(".chip.completed").first).to_be_visible()
        jobs = client.get("/api/v1/jobs", params={"target": str(tree)}).json()["jobs"]
        assert len(jobs) == 2


def test_recent_searches_are_offered_and_cleared(page: Page, server: Server) -> None:
    page.goto("/search?q=open+session&mode=keyword")
    page.locator("[data-open]").first.click()
    page.wait_for_url("**/f/**")
    page.go_back()
    page.wait_for_url("**/search?**")
    page.goto("/jobs")
    page.keyboard.press("Control+k")
    recent = page.locator("#palette").get_by_role("group", name="Recent searches")
    expect(recent.get_by_role("option").first).to_have_text("open sessionkeyword")
    page.keyboard.type("sess op")
    expect(page.locator("#palette-found")).to_have_attribute("data-of", "sess op")
    expect(recent.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    expect(page.locator("#palette-found")).to_have_attribute("data-of", "")
    chosen = recent.get_by_role("option", selected=True)
    expect(chosen).to_have_text("open sessionkeyword")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=open+session&mode=keyword")
    page.goto("/search")
    region = page.get_by_role("region", name="Recent searches")
    expect(region).to_be_visible()
    page.keyboard.press("Control+k")
    expect(recent.get_by_role("option").nth(1)).to_have_text("Clear recent searches")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(region).to_be_hidden()
    expect(page.locator("#told")).to_have_text("Recent searches cleared")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette [role=option]").first).to_be_visible()
    expect(recent).to_have_count(0)


def test_what_fits_nothing_is_searched(page: Page, server: Server) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    page.goto(f"/p/{project}")
    _typed(page, "<b>zz qq")
    expect(page.locator("#palette")).to_contain_text("No project, action, symbol or file matches")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/search?q=%3Cb%3Ezz+qq&project={project}")


def test_the_button_opens_it(page: Page, server: Server) -> None:
    page.goto("/")
    page.get_by_role("link", name="Go to").click()
    expect(page.get_by_role("dialog", name="Go to anything")).to_be_visible()
    page.mouse.click(5, 880)  # beside the dialog
    expect(page.locator("#palette")).to_be_hidden()


@pytest.mark.parametrize("answer", [503, 0])
def test_a_failing_server_is_told_and_asked_again(
    browser: Browser, server: Server, answer: int
) -> None:
    is_failing = True
    failed = 0

    def fail(route: Route) -> None:
        nonlocal failed
        if not is_failing:
            route.continue_()
            return
        failed += 1
        if answer:
            route.fulfill(status=answer, body="no")
        else:
            route.abort()

    with visiting(browser, server.url, may_complain=True) as page:
        intercept(page, "**/palette?*", fail)
        page.goto("/jobs")
        page.keyboard.press("Control+k")
        problem = page.locator("#palette [data-picker-problem]")
        said = "The server could not answer" if answer else "Server unreachable"
        expect(problem).to_contain_text(said)
        page.keyboard.press("Enter")  # it waits for a list, and not for that of a longer text
        wait_until(page, lambda: failed == 2)
        is_failing = False
        page.keyboard.type("setrouter")
        expect(page.locator("#palette-found")).to_have_attribute("data-of", "setrouter")
        expect(page.locator("#palette [role=option]").first).to_be_visible()
        expect(problem).to_be_hidden()
        page.keyboard.press("Escape")
        is_failing = True
        page.keyboard.press("Control+k")
        expect(problem).to_contain_text(said)
        is_failing = False
        page.keyboard.press("Enter")  # asks again, and opens what is found
        page.wait_for_url("**/search?q=setrouter")


def test_without_scripts_it_is_a_link_to_the_search(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/jobs")
        page.get_by_role("link", name="Go to").click()
        page.wait_for_url("**/search")
        page.get_by_label("Search all code").fill("open session")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("app/session.py").first).to_be_visible()


def test_on_a_narrow_window_nothing_is_wider(browser: Browser, server: Server) -> None:
    for width in (390, 320):
        viewport = {"width": width, "height": 800}
        with visiting(browser, server.url, viewport=viewport) as page:
            page.goto("/jobs")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.get_by_role("link", name="Go to").click()
            page.keyboard.type("session")
            expect(page.locator("#palette-found")).to_have_attribute("data-of", "session")
            box = page.locator("#palette").bounding_box()
            assert box
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            listed = page.locator("#palette-found-list")
            assert listed.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_a_new_server_offers_the_first_step(browser: Browser, tmp_path: Path) -> None:
    with site(tmp_path) as server, visiting(browser, server.url) as page:
        page.goto("/")
        expect(page.get_by_label("Path of the folder")).to_be_focused()  # nothing to search
        page.goto("/jobs")
        page.keyboard.press("Control+k")
        expect(page.locator("#palette")).to_contain_text("Nothing is indexed yet")
        page.keyboard.type("index")
        expect(page.locator("#palette-found")).to_have_attribute("data-of", "index")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Path of the folder")).to_be_focused()
