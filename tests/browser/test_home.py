"""Home in a browser: a folder is picked and its progress seen, the theme, a narrow window."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.server import Server
from tests.support.trees import write_tree

#: Everything that people come to, and whether something stands out to the right.
PLACES = ("/", "/search?q=session", "/jobs", "/folders", "/nowhere", "/search?q=foo:bar")


def test_a_folder_is_picked_and_its_progress_comes_by_itself(page: Page, home: Path) -> None:
    many = {f"m{n}.py": f"def f{n}():\n    return {n}\n" * 30 for n in range(150)}
    write_tree(home / "picked", many)
    page.goto("/")
    page.get_by_role("link", name="Browse…").click()
    page.get_by_role("link", name="picked").click()
    page.get_by_role("button", name="Index this folder").click()
    expect(page.get_by_role("heading", name="Index picked")).to_be_visible()
    expect(page.locator("#job .chip.completed")).to_be_visible()  # without a reload
    page.goto("/")
    expect(page.locator(".card", has_text="picked")).to_contain_text("150")


def test_a_project_that_appears_is_shown_without_a_reload(page: Page, home: Path) -> None:
    write_tree(home / "appears", {"a.py": "x = 1\n"})
    with page.expect_response("**/api/v1/events"):
        page.goto("/")
    page.request.post("/api/v1/projects", data={"path": str(home / "appears")})
    expect(page.locator(".card", has_text="appears")).to_be_visible()


def test_a_bad_path_is_explained(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Path of the folder").fill("/nowhere/at/all")
    page.get_by_role("button", name="Index", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("path does not exist")
    expect(page.get_by_label("Path of the folder")).to_have_value("/nowhere/at/all")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_switch(
    browser: Browser, server: Server, scheme: str
) -> None:
    with visiting(browser, server.url, color_scheme=scheme) as page:
        page.goto("/jobs")
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Switch between dark and light").click()
        after = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert before != after
        page.reload()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
        assert page.url.endswith("/jobs")


def test_nothing_stands_out_of_a_narrow_window(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, viewport={"width": 320, "height": 640}) as page:
        for place in PLACES:
            page.goto(place)
            assert page.evaluate("document.documentElement.scrollWidth") == 320, place


def test_all_is_there_without_a_script(browser: Browser, server: Server, home: Path) -> None:
    write_tree(home / "scriptless", {"a.py": "def found_without_a_script():\n    return 1\n"})
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/")
        page.get_by_label("Path of the folder").fill("~/scriptless")
        page.get_by_role("button", name="Index", exact=True).click()
        expect(page.get_by_role("heading", name="Index scriptless")).to_be_visible()
        page.get_by_label("Search all code").fill("open session")
        page.keyboard.press("Enter")
        page.locator(".facets a", has_text="app/").click()
        assert "path%3Aapp" in page.url
        page.locator("article a[data-open]").first.click()
        expect(page.locator(".line.picked").first).to_be_in_viewport()
        page.get_by_role("button", name="Switch between dark and light").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert "/f/app/" in page.url
