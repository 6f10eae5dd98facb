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
    page.keyboard.press("End")
    page.keyboard.type("open session")
    page.keyboard.press("Enter")
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_it_is_forgotten_only_by_its_name(page: Page, home: Path) -> None:
    write_tree(home / "unwanted", {"a.py": "x = 1\n"})
    page.request.post("/api/v1/projects", data={"path": str(home / "unwanted")})
    page.goto("/")
    page.get_by_role("link", name="unwanted", exact=True).click()
    page.get_by_label("to delete its index").fill("wanted")
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("alert")).to_contain_text("wanted 'unwanted'")
    page.get_by_label("to delete its index").fill("unwanted")
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    expect(page.locator(".card", has_text="unwanted")).to_have_count(0)
