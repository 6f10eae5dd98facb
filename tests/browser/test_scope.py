"""The search box on the pages of a project is limited to it by a chip, which can be removed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree

_PAGES = ("", "/tree", "/symbols", "/memories", "/map", "/doctor", "/f/app/session.py")


@pytest.fixture(scope="module", autouse=True)
def other(server: Server, home: Path) -> Iterator[str]:
    """A second project, which has the same words."""
    tree = write_tree(home / "other", {"else.py": "def open_session_elsewhere():\n    return 1\n"})
    with server.client() as client, indexed(client, tree) as project_id:
        yield project_id


def _sample(server: Server) -> str:
    with server.client() as client:
        return project_ids(client)["sample"]


@pytest.mark.parametrize("below", _PAGES)
def test_a_slash_and_words_search_the_project_of_the_page(
    page: Page, server: Server, below: str
) -> None:
    page.goto(f"/p/{_sample(server)}{below}")
    if below in ("/symbols", "/memories"):  # a slash goes to their own boxes
        page.get_by_label("Search sample").focus()
    else:
        page.keyboard.press("/")
    page.keyboard.type("open session")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/search\?(?=.*q=open\+session)(?=.*project=[0-9a-f]{64})"))
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(page.locator(".scope-name")).to_have_text("sample")
    expect(page.get_by_label("Search sample")).to_have_value("open session")
    expect(page.locator(".group-path", has_text="else.py")).to_have_count(0)


@pytest.mark.parametrize("way", ["Backspace", "Alt+w", "click"])
def test_the_chip_goes_by_key_and_by_mouse(page: Page, server: Server, way: str) -> None:
    page.goto(f"/search?q=open_session_elsewhere&mode=keyword&project={_sample(server)}")
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(page.locator(".group-path", has_text="else.py")).to_have_count(0)
    box = page.get_by_label("Search sample")
    box.press("Home")
    if way == "click":
        page.locator(".scope-chip [data-widen]").click()
    else:
        page.keyboard.press(way)
    expect(page.locator(".scope-chip")).to_have_count(0)
    expect(page.locator(".group-path", has_text="else.py").first).to_be_visible()
    expect(page.get_by_label("Search all code")).to_be_focused()
    expect(page).not_to_have_url(re.compile("project="))


@pytest.mark.parametrize("way", ["Backspace", "Alt+w", "click"])
def test_without_the_chip_passages_of_all_projects_are_loaded(
    page: Page, server: Server, way: str
) -> None:
    page.goto(f"/research?q=open_session&project={_sample(server)}")
    expect(page.locator("[data-hit]").first).to_be_visible()
    box = page.get_by_label("Search sample")
    box.fill("open_session_elsewhere")
    box.press("Home")
    if way == "click":
        page.locator(".scope-chip [data-widen]").click()
    else:
        page.keyboard.press(way)
    expect(page.locator("[data-hit][data-place^='else.py']").first).to_be_visible()
    expect(page.get_by_label("Search all code")).to_have_value("open_session_elsewhere")
    expect(page.locator(".scope-chip, .tabs")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("project="))
    page.go_back()
    expect(page.locator(".scope-name")).to_have_text("sample")
    expect(page.locator("[data-hit][data-place^='else.py']")).to_have_count(0)


def test_backspace_within_the_text_only_erases(page: Page, server: Server) -> None:
    page.goto(f"/p/{_sample(server)}")
    page.keyboard.press("/")
    page.keyboard.type("ab")
    page.keyboard.press("Backspace")
    expect(page.get_by_label("Search sample")).to_have_value("a")
    expect(page.locator(".scope-chip")).to_be_visible()


def test_backspace_held_erases_the_text_and_leaves_the_project(page: Page, server: Server) -> None:
    page.goto(f"/p/{_sample(server)}")
    page.keyboard.press("/")
    page.keyboard.type("ab")
    for _ in range(5):
        page.keyboard.down("Backspace")
    page.keyboard.up("Backspace")
    expect(page.get_by_label("Search sample")).to_have_value("")
    expect(page.locator(".scope-chip")).to_be_visible()
    page.keyboard.press("Backspace")
    expect(page.locator(".scope-chip")).to_have_count(0)


def test_more_results_filters_and_files_stay_in_the_project(page: Page, server: Server) -> None:
    page.goto(f"/search?q=numbered&project={_sample(server)}")
    page.get_by_role("link", name="More results").click()
    expect(page.locator("[data-hit]").nth(22)).to_be_attached()
    page.locator(".facets a", has_text="parts/").first.click()
    page.wait_for_url(re.compile("path%3A"))
    expect(page.locator(".scope-name")).to_have_text("sample")
    page.locator("[data-open]").first.click()
    page.wait_for_url("**/f/**")
    page.get_by_role("link", name="← Results").click()
    page.wait_for_url(re.compile("project="))


def test_an_unknown_project_is_a_problem_that_widening_solves(page: Page) -> None:
    page.goto(f"/search?q=open+session&project={'0' * 64}")
    expect(page.get_by_role("alert").first).to_contain_text("No project")
    page.locator("#problem [data-widen]").click()
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_without_scripts_the_project_is_kept_and_all_are_a_link(
    browser: Browser, server: Server
) -> None:
    viewport = {"width": 1440, "height": 900}
    with visiting(browser, server.url, java_script_enabled=False, viewport=viewport) as page:
        page.goto(f"/p/{_sample(server)}/f/app/session.py")
        page.get_by_label("Search sample").fill("open_session_elsewhere")
        page.keyboard.press("Enter")
        expect(page.locator(".group-path", has_text="else.py")).to_have_count(0)
        page.get_by_role("link", name="Search all projects").first.click()
        expect(page.locator(".group-path", has_text="else.py")).to_be_visible()


def test_suggestions_come_on_every_page_and_of_the_project_only(page: Page, server: Server) -> None:
    for address, label in (
        ("/", "Search all code"),
        ("/jobs", "Search all code"),
        (f"/p/{_sample(server)}", "Search sample"),
        (f"/p/{_sample(server)}/symbols", "Search sample"),
        (f"/p/{_sample(server)}/f/app/session.py", "Search sample"),
    ):
        page.goto(address)
        page.get_by_label(label).press_sequentially("open_ses", delay=20)
        listed = page.get_by_role("listbox", name="Suggestions")
        expect(listed.get_by_role("option").first).to_be_visible()
        found = 0 if label == "Search sample" else 1
        expect(listed.get_by_text("open_session_elsewhere")).to_have_count(found)
