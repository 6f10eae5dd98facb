"""The doctor in a browser: a check, what was found with the button that helps, and an export."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support import damage
from tests.support.browser import visiting
from tests.support.pages import indexed
from tests.support.server import Server
from tests.support.trees import write_tree


@contextmanager
def _patient(server: Server, home: Path, name: str) -> Iterator[str]:
    tree = write_tree(home / name, {f"m{n}.py": f"def part_{n}(): pass\n" for n in range(5)})
    with server.client() as client, indexed(client, tree) as project_id:
        yield project_id


def test_it_is_checked_mended_and_given_away(page: Page, server: Server, home: Path) -> None:
    with _patient(server, home, "checked") as project_id:
        damage.run(home / f"data/{project_id}.db", "DELETE FROM chunk_terms WHERE rowid < 3")
        page.goto(f"/p/{project_id}")
        doctor = page.locator("#doctor")
        doctor.scroll_into_view_if_needed()
        expect(page.locator("[data-map]")).to_be_attached()  # above the buttons, and comes late
        page.get_by_role("button", name="Check", exact=True).click()
        expect(doctor).to_contain_text("Found 2 chunks that cannot be found by their words")
        doctor.get_by_role("button", name="Repair").click()
        expect(doctor).to_contain_text("repaired")
        expect(doctor.locator(".chip.completed")).to_have_count(2)
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        assert download.value.suggested_filename.startswith("checked-")
        assert Path(download.value.path()).read_bytes().startswith(b"SQLite format 3")


def test_the_focus_goes_to_what_came_instead_of_the_button(
    page: Page, server: Server, home: Path
) -> None:
    with _patient(server, home, "focused") as project_id:
        page.goto(f"/p/{project_id}/doctor")
        for button, outcome in (("Check", "sound"), ("Compact", "compacted")):
            page.get_by_role("button", name=button, exact=True).focus()
            page.keyboard.press("Enter")
            expect(page.locator("#treatment .chip.completed").first).to_have_text(outcome)
            expect(page.locator("#treatment")).to_be_focused()
        with open(home / f"data/locks/{project_id}.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            page.get_by_role("button", name="Compact").focus()
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_be_focused()


def test_what_cannot_be_done_is_said_on_the_page_also_without_scripts(
    browser: Browser, server: Server, home: Path
) -> None:
    with (
        _patient(server, home, "busy") as project_id,
        visiting(browser, server.url, java_script_enabled=False) as page,
        open(home / f"data/locks/{project_id}.lock", "ab") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        page.goto(f"/p/{project_id}")
        page.get_by_role("button", name="Compact").click()
        expect(page.get_by_role("alert")).to_contain_text("being indexed")
        page.get_by_role("navigation", name="Project").get_by_role("link", name="busy").click()
        expect(page.get_by_role("heading", name="busy", exact=True)).to_be_visible()
