"""The key t: a file is found by a few letters, chosen and opened; and nothing is found."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree


def test_a_file_is_found_and_opened_by_keys_alone(page: Page, server: Server) -> None:
    page.goto("/jobs")
    page.keyboard.press("t")
    box = page.get_by_role("combobox", name="Find a file by its path")
    expect(box).to_be_focused()
    expect(page.locator("#found [role=option]").first).to_be_visible()
    page.keyboard.type("part")
    expect(page.locator("#found")).to_have_attribute("data-of", "part")
    expect(page.locator("#found [role=option]")).to_have_count(24)
    expect(box).to_have_attribute("aria-expanded", "true")
    chosen = page.locator("[aria-selected=true]")
    expect(chosen).to_have_count(1)
    first = chosen.text_content()
    page.keyboard.press("ArrowDown")
    expect(chosen).not_to_have_text(first or "")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_have_text(first or "")
    page.keyboard.press("ArrowUp")  # round to the last one
    name = chosen.locator(".found-path").text_content() or ""
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{name}")


def test_enter_waits_for_what_was_typed_last(page: Page, server: Server) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    page.goto(f"/p/{project}")
    page.keyboard.press("t")
    expect(page.locator("#found [role=option]").first).to_be_visible()
    page.keyboard.type("router.py:4")
    page.keyboard.press("Enter")
    page.wait_for_url("**/app/http/router.py#L4")


def test_keys_of_a_single_letter_can_be_turned_off(page: Page) -> None:
    page.goto("/jobs")
    page.keyboard.press("?")
    switch = page.get_by_label("Keys of a single letter or sign")
    expect(switch).to_be_checked()
    switch.uncheck()
    page.keyboard.press("Escape")
    for key in ("t", "?", "g", "h"):
        page.keyboard.press(key)
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.goto("/search?q=session")  # it is kept
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(page.locator(".preview-switch")).to_have_attribute("title", re.compile(r"[^)]$"))
    page.keyboard.press("j")
    expect(page.locator("[data-hit]:focus")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys and query syntax").click()
    expect(switch).not_to_be_checked()
    note = page.get_by_text("They are off, so they are not listed. Check the box to turn them on.")
    expect(note).to_be_visible()
    switch.check()
    expect(note).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.locator("#finder")).to_be_visible()


@pytest.mark.parametrize("are_on", [True, False])
def test_keys_are_shown_that_work(page: Page, server: Server, are_on: bool) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    page.goto("/")
    page.evaluate("on => localStorage.setItem('cairn.letters', on ? 'on' : 'off')", are_on)
    hints = page.locator("kbd:visible", has_text=re.compile(r"^[a-z?/]$"))
    others = page.locator("kbd:visible", has_text=re.compile(r"^[^a-z?/]|.."))

    def check() -> None:
        expect(others.first).to_be_visible()
        assert bool(hints.count()) == are_on, hints.all_inner_texts()

    page.goto("/")
    check()
    page.get_by_role("button", name="Keys and query syntax").click()
    check()
    listed = page.locator("#keys")
    expect(listed.get_by_text("go to a project, file, symbol, action or search")).to_be_visible()
    expect(listed.get_by_text("copy path:line")).to_be_visible(visible=are_on)
    page.goto("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("jobs")
    expect(page.locator("#palette [role=option]", has_text="Jobs").first).to_be_visible()
    check()
    page.goto(f"/p/{project}/f/app/session.py?q=session&mode=keyword&name=9:9")
    expect(page.locator("#names h3").first).to_be_visible()
    check()
    for name, key in (("Permalink", "y"), ("Blame", "b")):
        title = page.get_by_role("link", name=name, exact=True).get_attribute("title")
        assert title
        assert title.endswith(f" ({key})") == are_on, title
    page.goto(f"/p/{project}/symbol/app/session.py?name=SessionStore.open_session&line=9")
    check()


def test_the_finder_looks_in_the_project_of_the_search(page: Page, server: Server) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    box = page.get_by_role("combobox", name="Find a file by its path")
    for address in (f"/search?q=session&project={project}", f"/research?project={project}"):
        page.goto(address)
        page.get_by_role("link", name="Find a file").click()
        expect(box).to_have_attribute("placeholder", "Go to a file of this project")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Search all projects").first.click()
        expect(page.locator("[data-scope]")).to_have_count(0)
        page.get_by_role("link", name="Find a file").click()
        expect(box).to_have_attribute("placeholder", "Go to a file of any project")


def test_escape_leaves_and_typing_in_a_box_opens_nothing(page: Page, server: Server) -> None:
    page.goto("/search?q=open+session")
    page.keyboard.press("/")
    page.keyboard.type("t")
    expect(page.locator("#finder")).to_be_hidden()
    page.get_by_role("link", name="Find a file").click()
    expect(page.locator("#finder")).to_be_visible()
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    expect(page.locator("#finder")).to_be_hidden()
    assert "/search" in page.url


def test_what_fits_nothing_says_so(page: Page, server: Server) -> None:
    page.goto("/jobs")
    page.keyboard.press("t")
    page.keyboard.type("<img src=x onerror=alert(1)>")
    expect(page.locator("#found")).to_contain_text("No indexed file matches")
    expect(page.locator("#found [role=option]")).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#finder")).to_be_visible()


def test_what_this_project_lacks_is_looked_for_in_all(
    page: Page, server: Server, home: Path
) -> None:
    tree = write_tree(home / "elsewhere", {"else/where_it_is.py": "x = 1\n"})
    with server.client() as client, indexed(client, tree):
        page.goto(f"/p/{project_ids(client)['sample']}")
        page.keyboard.press("t")
        page.keyboard.type("where_it")
        expect(page.locator("#found")).to_have_attribute("data-of", "where_it")
        expect(page.locator("#found")).to_contain_text("No indexed file of this project matches")
        page.keyboard.press("Enter")
        expect(page.locator("#found [role=option]")).to_have_count(1)
        box = page.get_by_role("combobox", name="Find a file by its path")
        expect(box).to_be_focused()
        expect(box).to_have_attribute("placeholder", "Go to a file of any project")
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        expect(box).to_have_attribute("placeholder", "Go to a file of this project")
        page.keyboard.type("where_it_is")  # not what the box still had, which is asked for too
        expect(page.locator("#found")).to_have_attribute("data-of", "where_it_is")
        page.locator("#found").get_by_role("link", name="Search all projects").click()
        expect(page.locator("#found [role=option]")).to_have_count(1)
        page.keyboard.press("Enter")
        page.wait_for_url("**/else/where_it_is.py")


def test_without_scripts_it_is_a_page(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/jobs")
        page.get_by_role("link", name="Find a file").click()
        page.get_by_label("Letters of the path").fill("rout")
        page.get_by_role("button", name="Find").click()
        page.get_by_role("link", name="app/http/router.py").click()
        expect(page).to_have_url(re.compile("/app/http/router.py$"))
