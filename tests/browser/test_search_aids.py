"""What helps one to search: suggestions, the preview, lines around hits, kept searches."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Response, Route, expect

from tests.support.browser import hold, intercept, visiting, wait_until
from tests.support.server import Server


def _type(page: Page, text: str) -> None:
    """Type into the box, and wait for the suggestions of all of it, not of a part."""

    def is_last(answer: Response) -> bool:
        address = urlsplit(answer.url)
        return address.path == "/search/suggest" and parse_qs(address.query).get("q") == [text]

    with page.expect_response(is_last):
        page.get_by_label("Search all code").press_sequentially(text, delay=20)
    expect(page.locator("#suggestions.htmx-request")).to_have_count(0)  # it is on the page


def _hold_suggestions(page: Page) -> list[Route]:
    """Leave the requests for suggestions unanswered; the last one is that for the newest text."""
    return hold(page, "**/search/suggest?*")


def _answer(page: Page, held: list[Route], text: str) -> None:
    """Answer the request for the suggestions of a text, and wait until they are on the page."""

    def is_asked() -> bool:
        return bool(held) and parse_qs(urlsplit(held[-1].request.url).query).get("q") == [text]

    wait_until(page, is_asked)
    shown = page.locator("#suggestions [role=option]").first.element_handle()
    held[-1].continue_()
    page.wait_for_function("(option) => !option.isConnected", arg=shown)


def test_a_suggestion_is_taken_by_keys_alone(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    expect(box).to_have_role("combobox")
    _type(page, "session lang:py")
    listed = page.get_by_role("listbox")
    expect(listed).to_be_visible()
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(box).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "none")
    page.keyboard.press("Enter")
    expect(box).to_have_value("session lang:python ")
    expect(listed).to_be_hidden()
    expect(box).to_be_focused()
    expect(page.locator("[data-hit]").first).to_be_visible()
    assert page.locator(".language").all_text_contents().count("python") > 0


def test_a_filter_that_is_being_typed_is_no_problem(page: Page) -> None:
    page.goto("/search?q=session")
    box = page.get_by_label("Search all code")
    box.press("End")
    with page.expect_response(lambda answer: answer.url.endswith("kind%3A")):
        box.press_sequentially(" kind:", delay=20)
    page.wait_for_timeout(600)  # longer than one waits for who types
    expect(page.get_by_role("listbox")).to_be_visible()
    expect(page.locator("#problem")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("[data-hit]").first).to_be_visible()


def test_a_value_that_is_being_typed_changes_nothing_until_it_is_one(page: Page) -> None:
    page.goto("/search?q=session")
    box = page.get_by_label("Search all code")
    before = page.locator("[data-hit]").all_text_contents()
    box.press("End")
    for typed in (" lang:p", " kind:fu", " project:sa"):
        box.fill("session")
        page.wait_for_timeout(300)
        expect(page.locator("#problem")).to_be_hidden()
        with page.expect_response(lambda answer: "/search?" in answer.url and "%3A" in answer.url):
            box.fill(f"session{typed}")
        page.wait_for_timeout(600)  # longer than one waits for who types
        expect(page.locator("#problem")).to_be_hidden()
        expect(page.locator(".to-come")).to_have_count(0)  # the rest of the results is there
        assert page.locator("[data-hit]").all_text_contents() == before, typed
    box.fill("session project:zz")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("No project matches")
    box.fill("session lang:p")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("unknown lang", ignore_case=True)
    expect(page.locator("#problem")).to_contain_text("more")
    with page.expect_response(lambda answer: answer.url.endswith("lang%3Aqq&mode=hybrid")):
        box.fill("session lang:qq")
    expect(page.locator("#problem")).to_contain_text("qq")


def test_escape_closes_the_list_then_clears_and_enter_searches(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    _type(page, "open_s")
    listed = page.get_by_role("listbox")
    expect(listed).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    expect(box).to_have_value("open_s")
    expect(box).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(listed).to_be_visible()
    page.keyboard.press("ArrowUp")  # back in the box
    page.keyboard.press("Enter")
    expect(listed).to_be_hidden()
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(box).to_have_value("open_s")
    page.keyboard.press("Escape")
    expect(box).to_have_value("")


def test_down_goes_from_the_box_to_the_first_result(page: Page) -> None:
    page.goto("/search?q=session")
    page.get_by_label("Search all code").press("ArrowDown")
    expect(page.locator("[data-hit]").first).to_be_focused()


def test_a_symbol_is_gone_to_from_the_list(page: Page) -> None:
    page.goto("/search")
    _type(page, "open_sess")
    page.get_by_role("option").first.click()
    page.wait_for_url("**/f/app/session.py?lines=*")


def test_a_suggestion_stays_chosen_when_a_newer_list_arrives(page: Page) -> None:
    page.goto("/search")
    _type(page, "numbered")
    held = _hold_suggestions(page)
    page.keyboard.type("_")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#suggestions [aria-selected=true]")
    address = chosen.get_attribute("data-go") or ""
    assert address
    _answer(page, held, "numbered_")
    expect(chosen).to_have_attribute("data-go", address)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


def test_a_suggestion_is_not_chosen_any_more_when_the_text_changes(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    _type(page, "numbered")
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "suggestion-1")
    held = _hold_suggestions(page)
    page.keyboard.type("_")
    chosen = page.locator("#suggestions [aria-selected=true]")
    expect(chosen).to_have_count(0)
    _answer(page, held, "numbered_")
    expect(page.get_by_role("listbox")).to_be_visible()
    expect(chosen).to_have_count(0)


def test_a_list_that_was_opened_again_stays_open_when_a_newer_one_arrives(page: Page) -> None:
    page.goto("/search")
    _type(page, "numbered")
    held = _hold_suggestions(page)
    page.keyboard.type("_")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#suggestions [aria-selected=true]")
    address = chosen.get_attribute("data-go") or ""
    _answer(page, held, "numbered_")
    expect(page.get_by_role("listbox")).to_be_visible()
    expect(chosen).to_have_attribute("data-go", address)


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("ython -", "session lang:python -"),  # the suggestion would drop the minus
        ("y", "session lang:python "),
    ],
)
@pytest.mark.parametrize("by", ["keys", "mouse"])
def test_a_suggestion_for_an_older_text_drops_nothing_that_was_typed_since(
    page: Page, typed: str, becomes: str, by: str
) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    _type(page, "session lang:p")
    _hold_suggestions(page)
    page.keyboard.type(typed)
    option = page.locator('#suggestions [data-query="session lang:python "]')
    if by == "keys":
        page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
    else:
        option.click()
    expect(box).to_have_value(becomes)
    expect(box).to_be_focused()


def test_a_click_counts_also_if_the_list_is_replaced_during_it(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    for text, more in (("session lang:p", "y"), ("numbered", "_")):
        box.fill("")
        page.unroute("**/search/suggest?*")
        _type(page, text)
        held = _hold_suggestions(page)
        page.keyboard.type(more)
        option = page.locator("#suggestions [role=option]").first
        address = option.get_attribute("data-go")
        option.hover()
        page.mouse.down()
        _answer(page, held, f"{text}{more}")
        page.mouse.up()
        if address:
            page.wait_for_url(f"**{address}")
        else:
            expect(box).to_have_value("session lang:python ")


def test_the_preview_follows_the_results_and_stays_closed(page: Page) -> None:
    page.goto("/search?q=numbered")
    pane = page.get_by_role("complementary", name="Preview")
    shown = pane.locator(".preview-head a")
    first = page.locator("[data-hit]").first.get_attribute("data-place") or ""
    expect(shown).to_have_text(first.partition(":")[0])
    for _ in range(3):
        page.keyboard.press("j")
    place = page.evaluate("document.activeElement.dataset.place").partition(":")[0]
    assert place != first.partition(":")[0]
    expect(shown).to_have_text(place)
    expect(pane.locator(".line.picked").first).to_be_in_viewport()
    page.locator("[data-hit]").first.hover()
    expect(shown).to_have_text(first.partition(":")[0])
    pane.get_by_role("button", name="Close the preview").click()
    expect(pane).to_be_hidden()
    # Chromium keeps a cookie some moments after a script has set it.
    cookies = page.context.cookies
    wait_until(page, lambda: any(each.get("value") == "closed" for each in cookies()))
    page.reload()
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(pane).to_be_hidden()
    page.keyboard.press("p")
    expect(shown).to_have_text(first.partition(":")[0])


def test_only_the_last_preview_that_was_asked_for_comes(page: Page) -> None:
    page.goto("/search?q=numbered")
    expect(page.locator("#preview-body .line").first).to_be_visible()
    held = hold(page, "**/preview/**")
    page.keyboard.press("j")
    page.keyboard.press("j")
    wait_until(page, lambda: bool(held))
    first = held[-1].request.url
    page.keyboard.press("j")
    page.keyboard.press("j")
    place = page.evaluate("document.activeElement.dataset.place").partition(":")[0]
    assert place not in first
    wait_until(page, lambda: any(place in each.request.url for each in held))
    head = page.locator(".preview-head a")
    for each in sorted(held, key=lambda each: place in each.request.url, reverse=True):
        each.continue_()  # the others would come after it, had they not been given up
        page.wait_for_timeout(200)
        expect(head).to_have_text(place)


def test_a_narrow_window_asks_for_no_preview(browser: Browser, server: Server) -> None:
    for width in (320, 1100):
        viewport = {"width": width, "height": 900}
        with visiting(browser, server.url, viewport=viewport) as page:
            asked: list[str] = []

            def look(request: Request, asked: list[str] = asked) -> None:
                asked.append(request.url)

            page.on("request", look)
            page.goto("/search?q=numbered")
            page.keyboard.press("j")
            page.keyboard.press("j")
            page.keyboard.press("p")  # it stays open for a wide window
            expect(page.locator("#preview")).to_be_hidden()
            expect(page.locator("body")).to_have_class(re.compile("with-preview"))
            assert not [url for url in asked if "/preview/" in url]
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width


def test_more_lines_come_and_go_and_the_focus_stays(page: Page) -> None:
    page.goto("/search?q=numbered_3+path:app/long.py")
    hit = page.locator("[data-hit]").first
    expect(hit.locator(".line")).to_have_count(4)
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(hit.locator(".around.less")).to_be_visible()
    more = hit.locator(".line").count()
    assert more > 4
    above = hit.locator(".around.above")
    above.focus()
    page.keyboard.press("Enter")
    expect(hit.locator(".line")).not_to_have_count(more)
    assert hit.locator(".line").count() > more
    assert page.evaluate("document.activeElement.closest('.excerpt') !== null")
    left = hit.locator(".around:focus")
    below = hit.locator(".around.below")
    hit.locator(".around.less").press("Enter")
    expect(hit.locator(".line")).to_have_count(4)
    expect(left).to_have_count(1)
    below.focus()
    while below.count():
        shown = hit.locator(".line").count()
        page.keyboard.press("Enter")
        expect(hit.locator(".line")).not_to_have_count(shown)
    expect(left).to_have_count(1)  # also after the last line has come


def test_searches_are_kept_named_and_deleted(page: Page) -> None:
    page.goto("/search")
    expect(page.get_by_role("heading", name="Recent searches")).to_be_hidden()
    page.goto("/search?q=open+session&mode=keyword")
    page.get_by_role("button", name="Save this search").click()
    page.get_by_label("Name").fill("how sessions open")
    page.keyboard.press("Enter")
    expect(page.locator("#told")).to_contain_text("Saved as how sessions open")
    page.goto("/search?q=Router")
    expect(page.locator("[data-hit]").first).to_be_visible()
    page.goto("/search")
    recent = page.get_by_role("region", name="Recent searches")
    expect(recent.get_by_role("link")).to_have_text(["Router ", "open session keyword"])
    saved = page.get_by_role("region", name="Saved searches")
    saved.get_by_role("link", name="how sessions open").click()
    page.wait_for_url("**/search?q=open+session&mode=keyword")
    page.goto("/search")
    saved.get_by_role("button", name="Delete how sessions open").press("Enter")
    expect(saved).to_be_hidden()
    expect(page.get_by_label("Search all code")).to_be_focused()
    recent.get_by_role("button", name="Clear").press("Enter")
    expect(recent).to_be_hidden()
    expect(page.get_by_label("Search all code")).to_be_focused()
    page.reload()
    expect(recent).to_be_hidden()


def test_searches_that_differ_in_case_alone_are_told_apart(page: Page) -> None:
    for case in ("", "&case=yes"):
        page.goto(f"/search?q=Router{case}")
        expect(page.locator("[data-hit]").first).to_be_visible()
    page.goto("/search")
    recent = page.get_by_role("region", name="Recent searches")
    expect(recent.get_by_role("link")).to_have_text(["Router match case", "Router "])


def test_a_question_with_a_problem_is_not_kept(page: Page) -> None:
    page.goto("/search?q=open+session")
    page.get_by_label("Search all code").fill("open case:bar")
    expect(page.get_by_role("alert")).to_contain_text("Case is")
    opened = page.locator("[data-hit] [data-open]").first
    opened.evaluate("(link) => link.addEventListener('click', (event) => event.preventDefault())")
    opened.click()
    page.goto("/search")
    recent = page.get_by_role("region", name="Recent searches")
    expect(recent.get_by_role("link")).to_have_text(["open session "])


def test_a_server_that_fails_leaves_the_results_and_offers_another_try(
    browser: Browser, server: Server
) -> None:
    with visiting(browser, server.url, viewport={"width": 1440, "height": 900}) as page:
        page.goto("/search?q=open+session")
        hits = page.locator("[data-hit]").count()
        intercept(page, "**/search?*", lambda route: route.fulfill(status=499, body="gone"))
        page.get_by_label("Search all code").fill("Router")
        expect(page.locator("#search-failed")).to_be_visible()
        assert page.locator("[data-hit]").count() == hits
        page.unroute("**/search?*")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#search-failed")).to_be_hidden()
        expect(page.locator("[data-hit]").first).to_contain_text("Router")


def test_a_query_too_long_for_an_address_is_told_so(page: Page) -> None:
    page.goto("/search?q=open+session")
    hits = page.locator("[data-hit]").count()
    box = page.get_by_label("Search all code")
    box.fill("界 " * 700)
    expect(page.get_by_role("alert")).to_contain_text("The query is too long")
    expect(page.locator("#search-failed")).to_be_hidden()
    assert page.locator("[data-hit]").count() == hits
    box.fill("Router")
    expect(page.locator("[data-hit]").first).to_contain_text("Router")
    expect(page.get_by_text("The query is too long")).to_be_hidden()


def test_without_scripts_all_is_links(browser: Browser, server: Server) -> None:
    with visiting(
        browser, server.url, viewport={"width": 1440, "height": 900}, java_script_enabled=False
    ) as page:
        page.goto("/search")
        page.get_by_label("Search all code").fill("numbered_3 path:app/long.py")
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.locator("[data-hit]").first).to_be_visible()
        expect(page.locator("#preview")).to_be_hidden()
        expect(page.get_by_role("button", name="Save this search")).to_be_hidden()
        page.locator(".around.below").first.click()
        page.wait_for_url("**/f/app/long.py?lines=*")
