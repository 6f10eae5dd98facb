"""A file in a browser: lines are picked, copied, linked; symbols lead to them; and what is not."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree


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
    expect(page).to_have_url(re.compile("#L61-L64$"))
    expect(page.locator(".line.picked")).to_have_count(4)
    page.get_by_role("button", name="Copy path:line").click()
    expect(page.locator("#told")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == "app/long.py:61-64"
    page.locator(".outline a", has_text="numbered_7").click()
    expect(page.locator(".line.picked")).to_have_count(1)
    expect(page.locator(".line.picked")).to_contain_text("numbered_7")


def test_lines_are_picked_by_keys(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/long.py#L60"))
    page.keyboard.press("l")  # of what is in sight the selected line comes first
    expect(page.locator("#L60 .n")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#L61 .n")).to_be_focused()
    expect(page).to_have_url(re.compile("#L61$"))
    for _ in range(2):
        page.keyboard.press("Shift+ArrowUp")
    expect(page.locator("#L59 .n")).to_be_focused()
    expect(page.locator(".line.picked")).to_have_count(3)
    for _ in range(3):
        page.keyboard.press("Shift+ArrowDown")
    expect(page.locator(".line.picked")).to_have_count(2)  # from where it began
    page.get_by_role("button", name="Copy path:line").press("Enter")
    expect(page.locator("#told")).to_have_text("Location copied")
    assert page.evaluate("navigator.clipboard.readText()") == "app/long.py:61-62"
    page.locator("#L1 code a").first.focus()
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("#L1$"))
    page.keyboard.press("ArrowUp")  # there is none above
    expect(page.locator("#L1 .n")).to_be_focused()
    page.locator("#L20 code a").first.focus()
    page.keyboard.press("Shift+L")
    expect(page).to_have_url(re.compile("#L1-L20$"))
    expect(page.locator(".line.picked")).to_have_count(20)


def test_a_key_picks_the_first_line_in_sight(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/long.py"))
    page.keyboard.press("l")
    expect(page.locator("#L1 .n")).to_be_focused()
    expect(page.locator("#L1")).to_have_class("line picked")
    page.locator("#L90").scroll_into_view_if_needed()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("l")
    expect(page.locator(".line.picked")).to_have_count(1)
    expect(page.locator(".line.picked")).to_be_in_viewport()
    expect(page.locator("#L1")).not_to_be_in_viewport()


def test_lines_of_an_address_without_a_fragment_are_scrolled_to(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/long.py?lines=60-62"))
    expect(page.locator(".line.picked")).to_have_count(3)
    expect(page.locator("#L60")).to_be_in_viewport()


def test_a_chosen_line_takes_the_place_of_the_lines_of_the_address(
    page: Page, server: Server
) -> None:
    page.goto(_address(server, "app/long.py?q=numbered&lines=60-62#L60"))
    expect(page.locator(".line.picked")).to_have_count(3)
    page.locator(".outline a", has_text="numbered_0").click()
    expect(page).to_have_url(re.compile(r"long\.py\?q=numbered#L1$"))
    expect(page.locator(".line.picked")).to_have_attribute("id", "L1")
    page.go_back()
    expect(page).to_have_url(re.compile(r"lines=60-62#L60$"))
    expect(page.locator(".line.picked")).to_have_count(3)
    page.locator("#L61 .n").click()
    expect(page).to_have_url(re.compile(r"long\.py\?q=numbered#L61$"))
    page.reload()
    expect(page.locator(".line.picked")).to_have_attribute("id", "L61")


def test_preview_and_source_keep_the_query_and_the_lines(
    page: Page, server: Server, home: Path
) -> None:
    text = "# Top\n\nA word.\n\nAnother one.\n\n## End\n\nThe last word.\n"
    with (
        server.client() as client,
        indexed(client, write_tree(home / "viewed", {"a.md": text})) as project_id,
    ):
        page.goto(f"/p/{project_id}/f/a.md?q=word&mode=keyword&lines=3-5#L3")
        page.get_by_role("link", name="Preview", exact=True).click()
        page.wait_for_url("**q=word&mode=keyword&lines=3-5&view=preview")
        expect(page.get_by_role("link", name="← Results")).to_be_visible()
        page.get_by_role("link", name="Source", exact=True).click()
        page.wait_for_url("**q=word&mode=keyword&lines=3-5&view=source")
        expect(page.locator(".line.picked")).to_have_count(3)
        page.get_by_role("link", name="Preview", exact=True).click()
        page.wait_for_url("**view=preview")
        page.keyboard.press("n")  # places are in the source
        page.wait_for_url(re.compile(r"q=word&mode=keyword&view=source#L\d$"))
        expect(page.locator(".line.picked mark")).to_have_text("word")


def test_code_like_it_comes_when_it_is_scrolled_to(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py"))
    page.get_by_role("heading", name="Related code").scroll_into_view_if_needed()
    expect(page.locator(".related-list")).to_be_visible()


def test_matches_are_gone_through_by_keys_and_back_leads_to_the_results(
    page: Page, server: Server
) -> None:
    page.goto("/search?q=MAX_SESSIONS%7Copen_session%7Cdefault_store&mode=regex")
    results = page.url
    page.locator("[data-open]").first.click()
    page.wait_for_url("**/f/**")  # before its scripts are there, no key does anything
    at = page.locator("#match-at")
    first = at.text_content()
    stops = page.locator("[data-stops]").get_attribute("data-stops") or ""
    lines = stops.split()
    assert len(lines) >= 3
    for _ in lines:
        page.keyboard.press("n")
        line = lines[int(at.text_content() or 0) - 1]
        expect(page).to_have_url(re.compile(f"#L{line}$"))
        expect(page.locator(".line.picked")).to_be_in_viewport()
        expect(page.locator(".line.picked mark").first).to_be_visible()
    expect(at).to_have_text(first or "")  # all the way round
    page.keyboard.press("p")
    expect(at).not_to_have_text(first or "")
    page.get_by_role("link", name="Next place").click()
    expect(at).to_have_text(first or "")
    page.go_back()
    page.wait_for_url(results)


def test_tab_goes_on_from_the_place_that_a_key_led_to(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py?q=default_store&mode=symbol"))
    page.keyboard.press("n")
    expect(page.locator("#L18 .n")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#L18 code a").first).to_be_focused()
    button = page.get_by_role("link", name="Next place")
    button.press("Enter")  # which can be pressed again
    expect(button).to_be_focused()


def test_y_makes_the_address_permanent(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py#L9"))
    page.keyboard.press("y")
    expect(page.locator("#told")).to_have_text("Permalink copied")
    address = page.url
    assert page.evaluate("navigator.clipboard.readText()") == address
    assert "?at=" in address
    assert address.endswith("#L9")
    page.goto(address)
    expect(page.locator("#other-version")).to_have_count(0)
    page.goto(address.replace("?at=", "?at=0123456789")[:-20] + "#L9")
    expect(page.locator("#other-version")).to_contain_text("The index keeps one version")
    page.keyboard.press("y")
    expect(page.locator("#other-version")).to_have_count(0)


def test_without_a_clipboard_the_address_bar_has_the_permalink(page: Page, server: Server) -> None:
    # As over HTTP from another machine.
    page.add_init_script("delete Navigator.prototype.clipboard")
    page.goto(_address(server, "app/session.py#L9"))
    page.get_by_role("link", name="Permalink").click()
    said = page.locator("#told")
    expect(said).to_contain_text("Copying needs HTTPS")
    expect(said).to_contain_text("The address bar has the permalink now")
    expect(page).to_have_url(re.compile(r"\?at=[0-9a-f]{64}#L9$"))
    page.get_by_role("button", name="Copy path:line").click()
    expect(said).to_have_text("Copying needs HTTPS, or the address localhost")


def test_the_editor_opens_the_line_that_is_picked(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py"))
    link = page.get_by_role("link", name="Open in VS Code")
    assert (link.get_attribute("href") or "").endswith("/sample/app/session.py:1")
    page.locator("#L7 .n").click()
    assert (link.get_attribute("href") or "").endswith("/sample/app/session.py:7")


def test_the_tree_unfolds_and_leads_on_by_keys(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py"))
    tree = page.locator(".file-tree")
    expect(tree.locator("[aria-current]")).to_have_text("session.py")
    tree.locator("summary", has_text="parts").focus()
    page.keyboard.press("Enter")
    expect(tree.get_by_role("link", name="part_7.py")).to_be_visible()
    page.keyboard.press("Alt+ArrowDown")
    expect(tree.locator("summary", has_text="parts")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(tree.get_by_role("link", name="part_0.py")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/parts/part_0.py")


def test_symbols_are_jumped_to_by_keys(page: Page, server: Server) -> None:
    page.goto(_address(server, "app/session.py#L10"))
    page.keyboard.press("s")
    expect(page.locator(".outline a:focus")).to_contain_text("open_session")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".line.picked")).to_contain_text("close_session")


def test_a_file_that_changed_is_indexed_again_from_its_page(
    page: Page, server: Server, home: Path
) -> None:
    tree = write_tree(home / "changing", {"a.py": "old = 1\n"})
    with server.client() as client, indexed(client, tree) as project_id:
        write_tree(tree, {"a.py": "newer = 22\n"})
        page.goto(f"/p/{project_id}/f/a.py?q=newer&mode=keyword#L1")
        expect(page.locator(".banner")).to_contain_text("changed since it was indexed")
        address = page.url
        with page.expect_navigation():
            page.get_by_role("button", name="Index this file again").click()
        if "/jobs/" in page.url:  # on a busy machine it takes long
            page.get_by_role("link", name="Open a.py").click()
        else:
            expect(page).to_have_url(address)
        expect(page.locator(".file-code")).to_contain_text("newer = 22")
        expect(page.locator(".banner")).to_have_count(0)


def test_a_file_that_is_not_indexed_is_a_page_with_a_reason(page: Page, server: Server) -> None:
    page.goto(_address(server, "poetry.lock"))
    expect(page.locator("main")).to_contain_text("lock files are made by tools")
    page.get_by_role("link", name="Open the folder").click()
    expect(page.locator(".refused", has_text="poetry.lock")).to_be_visible()
    page.goto(_address(server, "nothing/here.py"))
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.locator("main")).to_contain_text("is not in the index")


def test_without_scripts_matches_folders_and_lines_are_links(
    browser: Browser, server: Server
) -> None:
    viewport = {"width": 320, "height": 700}
    with visiting(browser, server.url, java_script_enabled=False, viewport=viewport) as page:
        page.goto(_address(server, "app/session.py?q=session&mode=keyword"))
        first = page.locator("#match-at").text_content()
        page.get_by_role("link", name="Next place").click()
        expect(page.locator("#match-at")).not_to_have_text(first or "")
        page.locator("label[for=show-tree]").click()
        page.locator(".file-tree summary", has_text="parts").click()
        page.get_by_role("link", name="Open the folder").locator("visible=true").click()
        page.get_by_role("link", name="part_7.py").click()
        expect(page.locator(".file-code")).to_contain_text("numbered_part_7")
