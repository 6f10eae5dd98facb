"""A project in a browser: searched, looked into, and forgotten only when its name is typed."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.support.pages import index_folder
from tests.support.server import Server
from tests.support.trees import write_tree


def test_it_is_searched_and_its_skips_are_listed(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    page.get_by_role("link", name="ignored").click()
    expect(page.locator(".skips")).to_contain_text(".gitignore:1: build/")
    page.wait_for_load_state()
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
    page.wait_for_load_state()  # with its style sheets
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_tab_of_the_page_is_shown_in_a_narrow_window(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    for name in ("Health", "Files"):
        page.get_by_label("Project").get_by_role("link", name=name).click()
        current = page.locator(".tabs [aria-current]")
        expect(current).to_have_text(name)
        expect(current).to_be_in_viewport(ratio=1)


def test_it_is_forgotten_only_by_its_name(page: Page, server: Server, home: Path) -> None:
    tree = write_tree(home / "unwanted", {"a.py": "x = 1\n"})
    with server.client() as client:
        index_folder(client, tree)
    page.goto("/")
    page.get_by_role("link", name="unwanted", exact=True).click()
    page.get_by_label("to delete its index and its memories").fill("wanted")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert")).to_contain_text("Type 'unwanted' to confirm")
    page.get_by_label("to delete its index and its memories").fill("unwanted")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    expect(page.locator(".card", has_text="unwanted")).to_have_count(0)


def test_what_a_reader_wants_comes_first_and_every_page_has_the_tabs(
    page: Page, server: Server, home: Path
) -> None:
    files = {"README.md": "# Wanted\n\nSay *hello*.\n", "src/a.py": "x = 1\n"}
    tree = write_tree(home / "wanted", files)
    with server.client() as client:
        here = f"/p/{index_folder(client, tree)}"
    page.goto(here)
    expect(page.locator(".readme em")).to_have_text("hello")
    expect(page.locator(".entries")).to_contain_text("src")
    expect(page.locator(".recent a").first).to_be_visible()
    tops = [
        page.locator(selector).evaluate("(part) => part.getBoundingClientRect().top")
        for selector in (".entries", ".readme", "#folders", "#doctor", "#index-title")
    ]
    assert tops == sorted(tops)
    tabs = page.get_by_role("navigation", name="Project", exact=True)
    titles = ["Files", "Search", "Symbols", "Commits", "Map", "Memories", "Health"]
    for title in titles:
        tabs.get_by_role("link", name=title, exact=True).click()
        expect(tabs.locator("[aria-current]")).to_have_text(title)
        expect(tabs.locator("li")).to_have_text(titles)
    page.goto(f"{here}/f/src/a.py")
    expect(tabs.locator("[aria-current]")).to_have_text("Files")
    page.request.delete(f"/api/v1{here.replace('/p/', '/projects/')}")


def test_the_focus_stays_when_figures_are_fetched_again(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="sample", exact=True).click()
    page.wait_for_url("**/p/*")
    page.wait_for_load_state()  # its scripts have run
    link = page.locator("#project .figures a")
    link.focus()
    page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("htmx:after:swap", () => done(), { once: true });
          htmx.trigger("#project", "live");
        })"""
    )
    expect(link).to_be_focused()
