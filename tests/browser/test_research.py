"""The research page in a browser: from a search, by keys, copied, printed, without scripts."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import project_ids
from tests.support.server import Server

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


def test_a_passage_leads_back_to_the_project(page: Page, server: Server) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    page.goto(f"{_ADDRESS}&project={project}")
    page.locator("[data-hit] [data-open]").first.click()
    back = page.get_by_role("link", name="← Results")
    expect(back).to_have_attribute("href", re.compile(f"project={project}"))


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


def test_a_question_that_is_refused_keeps_the_name_of_its_project(
    page: Page, server: Server
) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    page.goto(f"/research?q=lang:go&project={project}")
    expect(page.get_by_role("alert").filter(has_text="needs words")).to_be_visible()
    expect(page.locator(".scope-name")).to_have_text("sample")


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
