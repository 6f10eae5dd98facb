"""Status in a browser: what changes comes by itself, and a damaged index is mended from home."""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browser import start_indexing, visiting
from tests.support.damage import break_file
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in
from tests.support.pages import site
from tests.support.server import Server
from tests.support.trees import write_tree


def test_status_follows_what_happens(page: Page, home: Path) -> None:
    with page.expect_response("**/api/v1/events"):
        page.goto("/")
        page.get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Status", exact=True)).to_be_visible()
    before = page.locator("#status .figures dd").nth(4).inner_text()
    write_tree(home / "counted", {"a.py": "x = 1\n"})
    start_indexing(page, home / "counted")
    expect(page.locator("#status .figures dd").nth(4)).to_have_text(str(int(before) + 1))
    page.get_by_text("not watched").click()
    expect(page.locator("#unwatched")).to_contain_text("counted")
    write_tree(home / "again", {"a.py": "x = 1\n"})
    start_indexing(page, home / "again")
    expect(page.locator("#unwatched")).to_contain_text("again")
    expect(page.locator("#unwatched").get_by_role("link", name="again")).to_be_visible()


def test_a_damaged_index_is_told_and_mended(browser: Browser, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"a.py": "def found_again():\n    return 1\n"})
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        file = tmp_path / "data" / f"{catalog.open(str(tree)).project_id}.db"
    break_file(file)
    with site(tmp_path) as server, visiting(browser, server.url) as page:
        page.goto("/status")
        expect(page.locator(".status-head")).to_contain_text("needs attention")
        expect(page.locator(".troubles")).to_contain_text("An index is damaged")
        page.get_by_role("link", name="Show the projects").click()
        page.get_by_role("button", name="Repair it: app").click()
        expect(page.locator("#job .chip.completed")).to_be_visible()
        page.goto("/search?q=found_again")
        expect(page.locator("#results")).to_contain_text("found_again")


def test_all_is_there_without_a_script(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/status")
        expect(page.locator(".settings")).to_contain_text("busy_timeout")
        page.locator("#unwatched summary").click()
        page.locator("#unwatched").get_by_role("link", name="sample").click()
        expect(page.get_by_role("heading", name="sample", exact=True)).to_be_visible()
