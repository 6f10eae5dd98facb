"""Status in a browser: what changes comes by itself, and a damaged index is mended from home."""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from engine.roots import project_id_of
from tests.support.browser import start_indexing, visiting, wait_until
from tests.support.command import Command
from tests.support.damage import break_file
from tests.support.embedders import Fakes
from tests.support.holding import held
from tests.support.jobs import catalog_in, until
from tests.support.pages import site
from tests.support.patience import patience
from tests.support.server import Server, serving
from tests.support.trees import write_tree


def test_status_follows_what_happens(page: Page, home: Path) -> None:
    with page.expect_response("**/api/v1/events"):
        page.goto("/")
        page.get_by_role("link", name="Status").click()
    expect(page.get_by_role("heading", name="Status", exact=True)).to_be_visible()
    before = page.locator("#status .figures dd").nth(4).inner_text()
    write_tree(home / "counted", {"a.py": "x = 1\n"})
    start_indexing(page, home / "counted")
    completed = page.locator("#status .figures dd").nth(4)
    wait_until(page, lambda: int(completed.inner_text()) > int(before))  # others may end too
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


def test_changes_that_wait_come_and_go_by_themselves(browser: Browser, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"a.py": "x = 1\n"})
    command = Command(
        home=tmp_path / "data",
        folder=tmp_path,
        variables={"CAIRN_BUSY_TIMEOUT": "200", "CAIRN_MODEL": "none", "CAIRN_WORKERS": "1"},
    )
    assert command("index", str(tree)).code == 0
    file = command.home / f"{project_id_of(str(tree))}.db"
    here = f"/api/v1/projects/{project_id_of(str(tree))}"
    with (
        serving(command) as server,
        server.client() as client,
        visiting(browser, server.url) as page,
    ):
        # It is "up to date" before its first comparison, whose job must not meet the lock.
        until(lambda: (client.get(here).json()["watch"] or {}).get("last_reconcile_at") is not None)
        page.goto("/")
        card = page.locator(".card .freshness")
        expect(card).to_contain_text("Up to date, watching")
        with held("database", file):
            for number in range(30):
                (tree / f"b{number}.py").write_text("y = 1\n")
            expect(card).to_contain_text("Blocked")
            expect(card).to_contain_text("30 changes pending: the index is locked")
            expect(card.locator(".dot.good")).to_have_count(0)
            page.goto("/status")
            expect(page.locator(".status-head")).to_contain_text("needs attention")
            expect(page.locator(".troubles")).to_contain_text("app is blocked: 30 changes")
        # After ever longer pauses it is tried again.
        expect(page.locator(".status-head")).to_contain_text("healthy", timeout=patience(90_000))
        expect(page.locator(".watchers")).to_contain_text("watching by file events")
        page.goto("/")
        expect(card).to_contain_text("Up to date, watching")


def test_all_is_there_without_a_script(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/status")
        expect(page.locator(".settings")).to_contain_text("busy_timeout")
        page.locator("#unwatched summary").click()
        page.locator("#unwatched").get_by_role("link", name="sample").click()
        expect(page.get_by_role("heading", name="sample", exact=True)).to_be_visible()
