"""Contexts in a browser: made by keys alone, searched by their chip, and without scripts."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_accessibility import AXE, WINDOWS, check_page
from tests.support.browser import visiting, visiting_themed
from tests.support.pages import indexed
from tests.support.server import Server
from tests.support.trees import write_tree


@pytest.fixture(scope="module", autouse=True)
def others(server: Server, home: Path) -> Iterator[None]:
    """Two more projects, which have the same words."""
    with server.client() as client, ExitStack() as stack:
        for name in ("api", "site"):
            tree = write_tree(
                home / name, {f"{name}.py": "def open_session_too():\n    return 1\n"}
            )
            stack.enter_context(indexed(client, tree))
        yield


@pytest.fixture(autouse=True)
def no_contexts(server: Server) -> Iterator[None]:
    """What a test leaves is removed."""
    yield
    with server.client() as client:
        for each in client.get("/api/v1/contexts").json()["contexts"]:
            client.delete(f"/api/v1/contexts/{each['name']}")


def _make(server: Server, name: str, *projects: str) -> None:
    with server.client() as client:
        new = {"name": name, "projects": projects}
        assert client.post("/api/v1/contexts", json=new).status_code == 201


def test_the_button_of_the_form_stays_in_its_place(page: Page) -> None:
    page.goto("/")
    button = page.get_by_text("New context…")
    before = button.bounding_box()
    button.click()
    expect(page.get_by_label("Name", exact=True)).to_be_visible()
    assert button.bounding_box() == before


def test_a_context_is_made_and_searched_by_keys_alone(page: Page) -> None:
    page.goto("/")
    page.get_by_text("New context…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("work")
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="api")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(2)
    expect(page.get_by_role("link", name="work 2")).to_have_attribute("aria-current", "true")
    expect(page.get_by_label("Search work")).to_be_focused()
    page.keyboard.type("open session")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Search all code")).to_have_value("open session context:work")
    expect(page.locator(".group-path", has_text="session.py").first).to_be_visible()
    expect(page.locator(".group-path", has_text="site.py")).to_have_count(0)


def test_the_name_is_suggested_and_a_wrong_one_explained(page: Page, server: Server) -> None:
    _make(server, "work", "api", "site")
    page.goto("/search")
    page.get_by_label("Search all code").press_sequentially("open context:w", delay=20)
    option = page.get_by_role("option", name="work")
    expect(option).to_contain_text("2 projects")
    option.click()
    expect(page.get_by_label("Search all code")).to_have_value("open context:work ")
    expect(page.locator(".group-path", has_text="api.py").first).to_be_visible()
    page.goto("/search?q=open+context:wrok")
    expect(page.get_by_role("alert").filter(has_text="No context is named")).to_contain_text(
        "did you mean 'work'"
    )


def test_a_context_is_edited_and_the_box_left_wide_by_its_cross(page: Page, server: Server) -> None:
    _make(server, "work", "api")
    page.goto("/?context=work")
    expect(page.locator(".scope-name")).to_have_text("work")
    page.get_by_label("Search all projects").click()
    expect(page.locator("[data-scope]")).to_have_count(0)
    page.get_by_text("Edit work…").click()
    page.get_by_role("checkbox", name="site").check()
    page.get_by_label("Name", exact=True).fill("day job")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#context-error")).to_contain_text("No context can be named")
    expect(page.get_by_role("checkbox", name="site")).to_be_checked()
    page.get_by_label("Name", exact=True).fill("day-job")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="day-job 2")).to_be_visible()
    page.get_by_text("Edit day-job…").click()
    page.get_by_role("button", name="Remove this context").click()
    expect(page.locator(".card")).to_have_count(3)
    expect(page.get_by_role("link", name="day-job 2")).to_have_count(0)


def test_it_works_without_scripts(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/")
        page.get_by_text("New context…").click()
        page.get_by_label("Name", exact=True).fill("plain")
        page.get_by_role("checkbox", name="site").check()
        page.get_by_role("button", name="Create").click()
        expect(page.locator(".card")).to_have_count(1)
        page.get_by_role("searchbox").first.fill("open")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".group-path", has_text="site.py").first).to_be_visible()
        expect(page.locator(".group-path", has_text="api.py")).to_have_count(0)


@pytest.mark.parametrize(("theme", "width"), WINDOWS)
def test_it_has_no_barrier(browser: Browser, server: Server, theme: str, width: int) -> None:
    if not AXE.exists():
        pytest.skip("NO AXE-CORE: npm ci --prefix tests/browser")
    _make(server, "work", "api", "site")
    with visiting_themed(browser, server.url, theme, width) as page:
        for address in ("/", "/?context=work", "/?context=wrok"):
            page.goto(address)
            if page.locator("#context summary").count():
                page.locator("#context summary").click()
            page.evaluate(AXE.read_text("utf-8"))
            check_page(page, address)
