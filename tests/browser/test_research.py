"""The research page in a browser: from a search, by keys, copied, printed, without scripts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_accessibility import AXE
from tests.support.browser import visiting
from tests.support.server import Server

_RUN = """() => axe.run(document, {rules: {"target-size": {enabled: true}}})
    .then(found => found.violations)"""
_ADDRESS = "/research?q=open+session"


def test_a_search_leads_to_the_passages_and_they_to_their_lines(page: Page) -> None:
    page.goto("/search?q=open+session")
    page.get_by_role("link", name="Best passages by role").click()
    expect(page.get_by_role("heading", name="Definitions")).to_be_visible()
    page.wait_for_load_state()  # keys work when the scripts have run
    page.keyboard.press("j")
    first = page.locator("[data-hit]").first
    expect(first).to_be_focused()
    place = first.get_attribute("data-place") or ""
    page.keyboard.press("c")
    expect(page.locator("#told")).to_have_text(f"{place} copied")
    page.keyboard.press("o")
    page.wait_for_url(re.compile(rf"/f/{re.escape(place.partition(':')[0])}\?lines="))
    page.go_back()
    expect(page.get_by_role("heading", name="Definitions")).to_be_visible()


def test_the_passages_are_copied_within_the_budget_of_the_address(page: Page) -> None:
    page.goto(_ADDRESS)
    page.get_by_label("Budget").select_option("1000")
    expect(page).to_have_url(re.compile("max_tokens=1000"))
    page.get_by_role("button", name="Copy for an agent").click()
    expect(page.locator("#told")).to_have_text("Passages copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("# open session\n")
    assert "def open_session" in copied
    assert len(copied.encode()) <= 3500
    page.reload()
    expect(page.get_by_label("Budget")).to_have_value("1000")


def test_a_question_is_asked_by_keys_alone(page: Page) -> None:
    page.goto("/research")
    expect(page.get_by_label("Search all code")).to_be_focused()
    page.keyboard.type("lang:python")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="needs words")).to_be_visible()
    page.get_by_label("Search all code").fill("open session")
    page.keyboard.press("Enter")
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_it_works_without_scripts(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto(_ADDRESS)
        page.get_by_label("Budget").select_option("2000")
        page.get_by_role("button", name="Research", exact=True).click()
        expect(page).to_have_url(re.compile("max_tokens=2000"))
        expect(page.locator("article").first).to_be_visible()
        address = page.get_by_role("link", name="As Markdown").get_attribute("href") or ""
        text = page.request.get(address).text()
        assert text.startswith("# open session\n")


def test_it_is_printed_without_controls(page: Page) -> None:
    page.goto(_ADDRESS)
    page.emulate_media(media="print")
    expect(page.locator("article .code").first).to_be_visible()
    for hidden in (".top", "#research", ".research-acts", ".roles", "footer"):
        expect(page.locator(hidden).first).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_has_no_barrier(browser: Browser, server: Server, theme: str, width: int) -> None:
    if not AXE.exists():
        pytest.skip("NO AXE-CORE: npm ci --prefix tests/browser")
    script = Path(AXE).read_text("utf-8")
    viewport = {"width": width, "height": 900}
    with visiting(
        browser, server.url, bypass_csp=True, color_scheme=theme, viewport=viewport
    ) as page:
        for address in (_ADDRESS, "/research", "/research?q=lang:go", "/research?q=%22zz+qq+yy%22"):
            page.goto(address)
            page.evaluate(script)
            found = page.evaluate(_RUN)
            problems = [(each["id"], each["nodes"][0]["html"]) for each in found]
            assert problems == [], (address, problems)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
