"""A file in a browser: lines are picked, copied, linked; symbols lead to them; and what is not."""

from playwright.sync_api import Page, expect

from tests.support.pages import project_ids
from tests.support.server import Server


def _address(server: Server, path: str) -> str:
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}/f/{path}"


def test_lines_are_picked_by_address_and_by_hand(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/long.py#L60-L62"))
    expect(page.locator(".line.picked")).to_have_count(3)
    expect(page.locator("#L60")).to_be_in_viewport()
    page.locator("#L61 .n").click()
    expect(page.locator(".line.picked")).to_have_count(1)
    page.locator("#L64 .n").click(modifiers=["Shift"])
    assert page.url.endswith("#L61-L64")
    expect(page.locator(".line.picked")).to_have_count(4)
    page.get_by_role("button", name="Copy path:line").click()
    expect(page.locator("#told")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "app/long.py:61-64"
    page.locator(".outline a", has_text="numbered_7").click()
    expect(page.locator(".line.picked")).to_have_count(1)
    expect(page.locator(".line.picked")).to_contain_text("numbered_7")


def test_code_like_it_comes_when_it_is_scrolled_to(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py"))
    page.get_by_role("heading", name="Code like this").scroll_into_view_if_needed()
    expect(page.locator(".related-list")).to_be_visible()


def test_a_file_that_is_not_indexed_is_a_page_with_a_reason(page: Page, server: Server) -> None:
    page.goto(_address(server, "nothing/here.py"))
    expect(page.get_by_role("heading", name="Not Found")).to_be_visible()
    expect(page.locator("main")).to_contain_text("is not in the index")
