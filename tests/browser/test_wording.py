"""What pages say in plain words: how many results are shown, and that the server is unreachable."""

import re

from playwright.sync_api import Browser, expect

from tests.support.browser import visiting
from tests.support.server import Server


def test_the_page_tells_how_many_results_it_shows(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url) as page:
        page.goto("/search?q=kind:function+path:parts/")
        expect(page.locator("#summary")).to_contain_text("Showing 20 of 24 results")
        page.goto("/search?q=open_session&mode=symbol")
        expect(page.locator("#summary")).to_contain_text(re.compile(r"^\s*\d+ results?\b"))
        expect(page.locator("#gone")).to_have_text("Server unreachable. Reconnecting…")
        page.goto("/search?q=nothing+lang:rust")
        expect(page.get_by_role("heading", name="Try this")).to_be_visible()
