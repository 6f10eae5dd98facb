"""A folder in a browser: walked down and up again, and what is not in the index."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import project_ids
from tests.support.server import Server


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


def test_a_folder_is_searched_and_has_a_history(page: Page, server: Server) -> None:
    page.goto(_address(server, "/app"))
    page.get_by_role("link", name="Search this folder").click()
    expect(page.get_by_label("Search sample")).to_have_value("path:app/")
    places = page.locator("[data-hit]")
    expect(places.first).to_be_visible()
    found = places.evaluate_all("hits => hits.map(hit => hit.dataset.place)")
    assert all(place.startswith("app/") for place in found), found
    page.go_back()
    page.get_by_role("link", name="History").click()
    expect(page).to_have_url(re.compile(r"type%3Acommit.*path%3Aapp%2F"))


def test_a_folder_that_is_not_there_is_an_error_with_a_way_on(page: Page, server: Server) -> None:
    page.goto(_address(server, "/nothing"))
    expect(page.get_by_role("heading", name="Not Found")).to_be_visible()
    expect(page.locator("main")).to_contain_text("folder nothing is not in the index")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_narrow_window_shows_it_without_sideways_scroll(
    browser: Browser, server: Server, theme: str
) -> None:
    viewport = {"width": 320, "height": 700}
    with visiting(browser, server.url, color_scheme=theme, viewport=viewport) as page:
        page.goto(_address(server, "/odd"))
        expect(page.get_by_role("link", name="break.py")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 320
