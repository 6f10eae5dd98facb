"""Symbols in a browser: found as one types, gone through by keys, and what cannot be asked."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree


@pytest.fixture
def here(server: Server) -> str:
    """The page of the symbols of the project."""
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}/symbols"


def test_they_come_while_one_types_and_the_address_follows(page: Page, here: str) -> None:
    page.goto(here)
    box = page.get_by_label("Name of a symbol")
    expect(box).to_be_focused()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.install(time="2026-01-01T10:00:00")
    page.clock.pause_at("2026-01-01T11:00:00")
    for part in ("sess", "ion"):
        box.press_sequentially(part)
        page.clock.run_for(100)
    page.clock.run_for(200)
    page.clock.resume()
    expect(page.locator("#summary")).to_contain_text("5 symbols match")
    expect(page.locator("[data-hit]")).to_have_count(5)
    assert len([url for url in asked if "/symbols?" in url]) == 1  # it waits for a pause
    page.wait_for_url(f"**{here}?name=session")
    page.get_by_label("In files whose path contains this").fill("router")
    expect(page.get_by_role("heading", name="No matching symbols")).to_be_visible()
    page.wait_for_url(f"**{here}?name=session&path=router")
    page.get_by_label("In files whose path contains this").fill("")
    page.get_by_role("link", name=re.compile("^method")).click()
    expect(page.locator("[data-hit]")).to_have_count(2)
    page.reload()
    expect(box).to_have_value("session")
    box.fill("open")  # the kind stays
    expect(page.locator("[data-hit]")).to_have_count(1)
    page.wait_for_url(f"**{here}?name=open&kind=method")


def test_by_keys_alone(page: Page, here: str) -> None:
    page.goto(f"{here}?name=session&kind=method")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.place") == "app/session.py:13"
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.place") == "app/session.py:9"
    page.keyboard.press("k")
    page.keyboard.press("c")
    expect(page.locator("#told")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == "app/session.py:13"
    page.keyboard.press("o")
    page.wait_for_url("**/f/app/session.py?lines=13-15#L13")
    expect(page.locator(".line.picked").first).to_be_in_viewport()
    page.go_back()
    page.wait_for_url("**/symbols?**")
    page.locator("html.scripted").wait_for()
    expect(page.locator("[data-hit]").first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Name of a symbol")).to_be_focused()


def test_what_cannot_be_asked_is_explained_and_the_list_stays(page: Page, here: str) -> None:
    page.goto(here)
    page.evaluate("document.querySelector('#name').maxLength = 9999")
    shown = page.locator("[data-hit]").count()
    page.get_by_label("Name of a symbol").fill("a" * 1001)
    expect(page.get_by_role("alert")).to_contain_text("at most 1000 are allowed")
    assert page.locator("[data-hit]").count() == shown > 0
    page.get_by_label("Name of a symbol").fill("session")
    expect(page.locator("#problem")).to_be_hidden()
    page.goto(f"{here}?kind=nothing")
    expect(page.get_by_role("alert")).to_contain_text("Unknown kind 'nothing'")
    page.get_by_role("link", name="All symbols").click()
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_without_a_script(browser: Browser, server: Server, here: str) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto(here.removesuffix("/symbols"))
        page.get_by_role("link", name="Symbols", exact=True).click()
        page.get_by_label("Name of a symbol").fill("open")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name=re.compile("^method")).click()
        page.get_by_role("link", name="SessionStore.open_session").click()
        expect(page.locator(".line.picked").first).to_contain_text("def open_session")


def test_more_symbols_are_gone_through_by_keys(page: Page, server: Server, home: Path) -> None:
    body = "".join(f"def numbered_{n}():\n    return {n}\n" for n in range(101))
    tree = write_tree(home / "many", {"a.py": body})
    with server.client() as client, indexed(client, tree) as project_id:
        page.goto(f"/p/{project_id}/symbols")
        page.get_by_role("link", name="More symbols").press("Enter")
        expect(page.locator("[data-hit]").nth(100)).to_be_focused()
