"""A folder in a browser: walked down and up again, and what is not in the index."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree


def _address(server: Server, path: str = "") -> str:
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}/tree{path}"


def test_folders_are_walked_down_and_up(page: Page, server: Server) -> None:
    page.goto(_address(server))
    page.get_by_role("link", name="app", exact=True).click()
    page.get_by_role("link", name="http", exact=True).click()
    page.get_by_role("link", name="router.py").click()
    expect(page.locator(".file-code")).to_contain_text("class Router")
    page.locator(".crumbs").get_by_role("link", name="app", exact=True).click()
    expect(page.get_by_role("row", name="session.py")).to_contain_text("python")
    page.get_by_role("link", name="Parent folder").click()
    expect(page.get_by_role("row", name="build")).to_contain_text("ignored")


def test_a_folder_is_searched_and_has_a_history(page: Page, server: Server, home: Path) -> None:
    paths = ("app/x.py", "app/http/y.py", "lib/app/x.py")
    tree = write_tree(home / "nested", {path: f"x = '{path}'\n" for path in paths})
    with server.client() as client, indexed(client, tree) as project:
        page.goto(f"/p/{project}/tree/app")
        page.get_by_role("link", name="Search this folder").click()
        box = page.get_by_label("Search nested")
        expect(box).to_have_value("path:/app/")
        places = page.locator("[data-hit]")
        expect(places).to_have_count(2)
        found = places.evaluate_all("hits => hits.map(hit => hit.dataset.place)")
        assert all(place.startswith("app/") for place in found), found
        box.fill("path:app/")
        expect(places).to_have_count(3)  # the folder at any depth
        page.go_back()
        page.get_by_role("link", name="History").click()
        expect(page).to_have_url(re.compile(r"type%3Acommit.*path%3A%2Fapp%2F"))


def test_a_folder_that_is_not_there_is_an_error_with_a_way_on(page: Page, server: Server) -> None:
    page.goto(_address(server, "/nothing"))
    expect(page.get_by_role("heading", name="Not Found")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Folder nothing is not in the index")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_window_shows_it_without_sideways_scroll(
    browser: Browser, server: Server, theme: str
) -> None:
    viewport = {"width": 320, "height": 700}
    with visiting(browser, server.url, color_scheme=theme, viewport=viewport) as page:
        page.goto(_address(server, "/odd"))
        expect(page.get_by_role("link", name="break.py")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 320
