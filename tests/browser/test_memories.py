"""Memories in a browser: written, found, chosen by a tag, deleted; and one that is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed
from tests.support.server import Server
from tests.support.trees import write_tree


@pytest.fixture
def here(server: Server, home: Path) -> Iterator[str]:
    """The page of the memories of a project that has none."""
    tree = write_tree(home / "noted", {"a.py": "def first():\n    return 1\n"})
    with server.client() as client, indexed(client, tree) as project_id:
        yield f"/p/{project_id}/memories"


def _write(page: Page, summary: str, text: str, tags: str) -> None:
    page.locator("summary", has_text="Write a memory").click()
    page.get_by_label("Summary").fill(summary)
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Tags", exact=True).fill(tags)
    page.get_by_role("button", name="Save").click()


def _delete_the_only_one(page: Page) -> None:
    button = page.get_by_role("button", name="Delete permanently")
    expect(button).to_be_hidden()  # the first step asks
    page.locator(".confirm summary").click()
    button.click()
    expect(page.get_by_text("The memory was deleted")).to_be_visible()
    expect(page.get_by_role("heading", name="No memories yet")).to_be_visible()


def test_one_is_written_found_and_deleted(page: Page, here: str) -> None:
    page.goto(here)
    _write(page, "Sessions expire", "after an hour\n  of rest", "decision, sessions")
    expect(page.get_by_text("The memory was saved.")).to_be_visible()
    expect(page.locator(".memory:target")).to_contain_text("Sessions expire")
    _write(page, "Paint the shed", "", "idea")
    expect(page.locator(".memory")).to_have_count(2)
    page.goto(here)
    page.get_by_label("Search memories").press_sequentially("when do sessions expire", delay=10)
    expect(page.locator("#summary")).to_contain_text("best first")
    expect(page.locator(".memory").first).to_contain_text("Sessions expire")
    page.wait_for_url(f"**{here}?q=when+do+sessions+expire")
    page.goto(here)
    page.locator(".memories > .tag-choices").get_by_role("link", name="idea").click()
    expect(page.locator(".memory")).to_have_count(1)
    expect(page.locator(".memory")).to_contain_text("Paint the shed")
    page.locator(".confirm summary").click()
    page.get_by_role("button", name="Delete permanently").click()
    _delete_the_only_one(page)


def test_one_is_refused_and_what_was_typed_stays(page: Page, here: str) -> None:
    page.goto(here)
    page.locator("summary", has_text="Write a memory").click()
    page.get_by_role("button", name="Save").click()  # the browser asks for a summary
    assert page.evaluate("document.activeElement.name") == "summary"
    page.get_by_label("Summary").fill("Sessions expire")
    page.get_by_label("Text", exact=True).fill("\n after an hour")
    page.get_by_label("Tags", exact=True).fill("indexed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("choose another tag", ignore_case=True)
    expect(page.get_by_label("Summary")).to_have_value("Sessions expire")
    expect(page.get_by_label("Text", exact=True)).to_have_value("\n after an hour")
    expect(page.get_by_label("Tags", exact=True)).to_have_value("indexed")
    page.get_by_label("Tags", exact=True).fill("decision")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".memory")).to_have_count(1)


def test_without_a_script(browser: Browser, server: Server, here: str) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto(here.removesuffix("/memories"))
        page.get_by_role("link", name="Memories", exact=True).click()
        _write(page, "Sessions expire", "after an hour", "decision")
        page.get_by_label("Search memories").fill("sessions")
        page.get_by_role("button", name="Search").click()
        page.locator(".memories > .tag-choices").get_by_role("link", name="decision").click()
        expect(page.locator(".memory")).to_have_count(1)
        _delete_the_only_one(page)


def test_by_keys_alone(page: Page, here: str) -> None:
    page.goto(here)
    page.locator("summary", has_text="Write a memory").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Written by keys")
    page.keyboard.press("Enter")
    expect(page.locator(".memory")).to_contain_text("Written by keys")
    page.wait_for_load_state()
    page.keyboard.press("/")
    expect(page.get_by_label("Search memories")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator(".confirm summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The memory was deleted")).to_be_visible()


def test_older_ones_are_gone_on_with_by_keys(page: Page, here: str) -> None:
    for number in range(21):
        body = {"summary": f"Decision {number}", "description": ""}
        answer = page.request.post(f"/api/v1/projects/{here.removeprefix('/p/')}", data=body)
        assert answer.ok
    page.goto(here)
    page.get_by_role("link", name="Older memories").press("Enter")
    expect(page.locator(".memory h2 a:focus")).to_have_text("Decision 0")
