"""A project in a browser: searched, looked into, and forgotten only when its name is typed."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.support.trees import write_tree


def test_it_is_searched_and_its_skips_are_listed(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    page.get_by_role("link", name="ignored").click()
    expect(page.locator(".skips")).to_contain_text(".gitignore:1: build/")
    page.keyboard.press("/")
    page.keyboard.type("open session")
    page.keyboard.press("Enter")
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_folders_are_looked_into_by_keyboard(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    page.locator("#folders .treemap a[href*='folder=parts']").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".steps strong")).to_have_text("parts")
    page.locator(".treemap a[href$='/f/parts/part_1.py']").click()
    expect(page.get_by_role("heading", name="part_1.py")).to_be_visible()


def test_folders_are_a_table_where_there_is_no_room(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    expect(page.locator(".treemap")).to_be_hidden()
    page.get_by_role("table").get_by_role("link", name="app/").click()
    expect(page.locator(".steps strong")).to_have_text("app")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_it_is_forgotten_only_by_its_name(page: Page, home: Path) -> None:
    write_tree(home / "unwanted", {"a.py": "x = 1\n"})
    page.request.post("/api/v1/projects", data={"path": str(home / "unwanted")})
    page.goto("/")
    page.get_by_role("link", name="unwanted", exact=True).click()
    page.get_by_label("to delete its index").fill("wanted")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert")).to_contain_text("type 'unwanted' to confirm")
    page.get_by_label("to delete its index").fill("unwanted")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    expect(page.locator(".card", has_text="unwanted")).to_have_count(0)
