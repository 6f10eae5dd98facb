"""Connect an agent: an entry is copied, and the agent appears without a reload."""

import threading

import anyio
import pytest
from mcp import Client
from mcp.types import Implementation
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_accessibility import AXE, WINDOWS, check_page
from tests.support.browser import visiting, visiting_themed
from tests.support.server import Server


def _connect(url: str) -> None:
    async def talk() -> None:
        info = Implementation(name="test-agent", version="3")
        async with Client(f"{url}/mcp", client_info=info) as agent:
            await agent.list_tools()
            await agent.call_tool("search_code", {"query": "open session"})

    thread = threading.Thread(target=anyio.run, args=(talk,))
    thread.start()
    thread.join()


def test_an_entry_is_copied_and_the_agent_appears(page: Page, server: Server) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="Connect an agent").click()
    page.wait_for_url("**/connect")
    page.wait_for_load_state()
    page.get_by_role("heading", name="Windsurf").click()
    page.get_by_role("button", name="Copy: Windsurf, HTTP").press("Enter")
    expect(page.locator("#told")).to_have_text("Text copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f'"serverUrl": "{server.url}/mcp"' in copied
    _connect(server.url)
    expect(page.locator("#agents")).to_contain_text("test-agent 3")
    expect(page.locator(".calls")).to_contain_text("search_code")
    expect(page.get_by_role("button", name="Copy: Windsurf, HTTP")).to_be_visible()  # still open


def test_without_scripts_the_entries_can_be_read(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/connect")
        page.get_by_role("heading", name="Codex CLI").click()
        expect(page.get_by_text("[mcp_servers.codecairn]").first).to_be_visible()
        expect(page.locator("[data-copy]").first).to_be_hidden()


@pytest.mark.skipif(not AXE.exists(), reason="NO AXE-CORE: npm ci --prefix tests/browser")
@pytest.mark.parametrize(("theme", "width"), WINDOWS)
def test_it_has_no_barrier(browser: Browser, server: Server, theme: str, width: int) -> None:
    _connect(server.url)
    with visiting_themed(browser, server.url, theme, width) as page:
        page.goto("/connect")
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "connect")
