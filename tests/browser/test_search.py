"""Search in a browser: as one types, by keys alone, and when the query is bad."""

import re
from functools import partial
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect

from tests.support.browser import hold, intercept, wait_until


def test_results_come_while_one_types_and_the_address_follows(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    box.press_sequentially("open session", delay=20)
    expect(page.locator("#summary")).to_contain_text("result")
    expect(page.locator("[data-hit]").first).to_be_visible()
    page.wait_for_url(re.compile(r"q=open(\+|%20)session&mode=hybrid$"))
    page.get_by_role("radio", name="Regex").check()
    page.wait_for_url(re.compile(r"q=open(\+|%20)session&mode=regex$"))
    expect(page).to_have_title("open session · Search · CodeCairn")
    page.reload()
    expect(box).to_have_value("open session")
    expect(page.get_by_role("radio", name="Regex")).to_be_checked()


def test_going_back_to_another_query_of_the_page_shows_its_results(page: Page) -> None:
    intercept(page, re.compile("rest="), lambda route: None)  # nothing is put into the first page
    page.goto("/search?q=Router")
    page.locator(".skip").press("Enter")
    page.wait_for_url("**#main")
    box = page.get_by_label("Search all code")
    box.fill("open session")
    page.wait_for_url("**q=open+session&mode=hybrid")
    page.go_back(wait_until="commit")
    expect(box).to_have_value("Router")
    expect(page.locator("[data-hit]").first).to_contain_text("Router")
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()


def test_back_over_a_fragment_keeps_the_page_without_the_navigation_api(page: Page) -> None:
    page.add_init_script("Object.defineProperty(window, 'navigation', { value: undefined })")
    page.goto("/jobs")
    page.evaluate("window.isKept = true")
    page.locator(".skip").press("Enter")
    page.wait_for_url("**#main")
    page.go_back(wait_until="commit")
    page.wait_for_timeout(300)  # in which it would be loaded again
    assert page.evaluate("window.isKept")


def test_back_shows_the_mode_of_the_results(page: Page) -> None:
    intercept(page, re.compile("mode=regex"), lambda route: None)
    page.goto("/search?q=session")
    page.get_by_role("radio", name="Regex").check()
    page.locator("[data-open]").first.click()
    page.wait_for_url("**/f/**")
    page.go_back()
    expect(page.get_by_role("radio", name="Hybrid")).to_be_checked()


def test_a_search_by_enter_is_kept_as_it_was(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    box.fill("session")
    box.press("Enter")
    box.press_sequentially(" sto")
    page.wait_for_url(re.compile(r"q=session\+sto&"))
    page.wait_for_timeout(1200)  # the text at the time of Enter counts, not one of later
    kept = page.evaluate("Object.values(localStorage).join()")
    assert '"session"' in kept
    assert "session sto" not in kept


def _recent(page: Page) -> str:
    return str(page.evaluate("localStorage.getItem('cairn.recent')"))


def test_a_search_by_enter_is_kept_also_if_newer_text_replaces_it(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    box.fill("session")
    searches.expect("session")
    box.press("Enter")
    wait_until(page, lambda: len(searches.asked) == 2)
    box.press_sequentially(" sto")
    page.clock.run_for(1100)
    searches.expect("session", "session", "session sto")
    searches.answer()
    searches.go_on()
    expect(page).to_have_url(re.compile(r"q=session\+sto&"))
    assert '"session"' in _recent(page)
    assert "session sto" not in _recent(page)


def test_a_refused_search_by_enter_is_not_kept(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    box.fill("session lang:nothing")
    box.press("Enter")
    expect(page.locator("#problem")).to_be_visible()
    expect(page.locator("#search.htmx-request")).to_have_count(0)  # it is the answer to Enter
    box.fill("session")
    expect(page.locator("[data-hit]").first).to_be_visible()
    expect(page).to_have_url(re.compile("q=session&"))
    assert "lang:nothing" not in _recent(page)


def test_what_was_put_into_the_page_works_at_once(page: Page) -> None:
    page.goto("/search?q=session")
    link = page.locator(".around.below").first
    link.wait_for()
    page.evaluate(
        """() => {
          const { port1, port2 } = new MessageChannel();
          const hit = document.querySelector(".hit:has(.around.below)");
          port2.onmessage = () => hit.querySelector(".around:is(.less, .below)").click();
          const observer = new MutationObserver(() => {
            observer.disconnect();
            port1.postMessage("");
          });
          observer.observe(hit, { childList: true });
        }"""
    )
    link.click()
    page.wait_for_timeout(300)  # in which the address of a plain link would be gone to
    expect(page).to_have_url(re.compile("/search"))


def test_keys_show_the_preview_of_the_hit_with_the_focus_wherever_the_pointer_rests(
    page: Page,
) -> None:
    page.goto("/search?q=session")
    pane = page.locator("#preview-body")
    page.locator("[data-hit]").nth(2).hover()
    expect(pane).to_have_attribute("data-shown", re.compile("preview"))
    for _ in range(8):
        page.keyboard.press("j")
        page.wait_for_timeout(250)  # longer than a pointer has to rest on a hit
        wanted = page.locator("[data-hit]:focus").get_attribute("data-preview") or ""
        expect(pane).to_have_attribute("data-shown", wanted)


def test_a_preview_that_failed_is_asked_for_again(page: Page) -> None:
    page.goto("/search?q=session")
    shown = page.locator("#preview-body .preview-head a")
    expect(shown).to_be_visible()
    hits = page.locator("[data-hit]")
    file = (hits.first.get_attribute("data-place") or "").partition(":")[0]
    other = page.locator(f"[data-hit]:not([data-place^='{file}:'])").first
    with page.expect_response(lambda answer: answer.status == 429):
        intercept(page, "**/preview**", lambda route: route.fulfill(status=429, body=""), times=1)
        other.focus()
    page.get_by_label("Search all code").focus()
    expect(page.locator("#preview-body[data-shown]")).to_have_count(0)  # it may be asked for again
    other.focus()
    place = (other.get_attribute("data-place") or "").partition(":")[0]
    expect(shown).to_have_text(place)


class SlowSearches:
    """The searches of a page, each of which is answered only when a test says so."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.clock.install(time="2026-01-01T10:00:00")
        page.clock.pause_at("2026-01-01T11:00:00")  # the page does not lose its patience
        self._held: list[Route] = []
        self.asked: list[str] = []
        intercept(page, re.compile(r"/search\?(?!.*rest=)"), self._hold)

    def _hold(self, route: Route) -> None:
        self.asked.append(parse_qs(urlsplit(route.request.url).query).get("q", [""])[0])
        self._held.append(route)

    def expect(self, *texts: str) -> None:
        """Wait until the last search is for the last of all these."""
        wait_until(self._page, lambda: self.asked[-1:] == list(texts[-1:]))
        assert self.asked == list(texts)

    def answer(self, status: int = 0) -> None:
        """Answer the last search."""
        if status:
            self._held[-1].fulfill(status=status)
        else:
            self._held[-1].continue_()

    def go_on(self) -> None:
        """Let the time of the page pass again."""
        self._page.clock.resume()


def test_a_search_begins_at_once_and_newer_text_waits_for_its_answer(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    box.press_sequentially("Router")
    searches.expect("R")  # at most one is under way
    searches.answer()
    searches.expect("R", "Router")  # what lies between is not searched
    expect(page.locator("[data-hit]").first).to_be_visible()  # each answer is shown
    box.fill("SessionStore")
    box.fill("default_store")
    assert searches.asked == ["R", "Router"]
    searches.answer()
    searches.expect("R", "Router", "default_store")
    searches.answer()
    searches.go_on()
    expect(page.locator("[data-hit]").first).to_contain_text("default_store")
    expect(page).to_have_url(re.compile("q=default_store&"))
    assert searches.asked == ["R", "Router", "default_store"]


def test_newer_text_is_searched_also_if_the_search_under_way_is_never_answered(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    box.fill("SessionStore")
    box.fill("Router")
    page.clock.run_for(900)
    searches.expect("SessionStore")
    page.clock.run_for(200)
    searches.expect("SessionStore", "Router")
    page.clock.run_for(1100)
    box.fill("default_store")
    searches.expect("SessionStore", "Router", "default_store")
    searches.answer()
    expect(page.locator("[data-hit]").first).to_contain_text("default_store")


def test_text_that_comes_back_to_what_is_searched_is_not_searched_again(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    for text in ("Router", "Route", "Router"):
        box.fill(text)
    searches.expect("Router")
    searches.answer()
    searches.go_on()
    expect(page).to_have_url(re.compile("q=Router&"))
    assert searches.asked == ["Router"]


def test_enter_does_not_wait_for_the_search_under_way(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    box.fill("SessionStore")
    box.fill("Router")
    searches.expect("SessionStore")
    with page.expect_event("requestfailed", lambda each: "q=SessionStore&" in each.url):
        box.press("Enter")  # the older one is given up
    searches.expect("SessionStore", "Router")
    searches.answer()
    expect(page.locator("[data-hit]").first).to_contain_text("Router")


def test_the_last_text_is_searched_also_after_one_that_failed(page: Page) -> None:
    page.goto("/search?q=session")
    box = page.get_by_label("Search all code")
    searches = SlowSearches(page)
    for text, status in (("Rou", 429), ("Router case:n", 0), ("Router lang:", 0)):
        box.fill(text)
        if not text.endswith(":"):
            wait_until(page, partial(_is_last, searches.asked, text))
            box.fill("Router")
            searches.answer(status)
        else:
            box.fill("Router path:app/")
        expected = "Router path:app/" if text.endswith(":") else "Router"
        wait_until(page, partial(_is_last, searches.asked, expected))
        searches.answer()
        expect(page.locator("[data-hit]").first).to_contain_text("Router")
        expect(page.locator("#problem")).to_be_hidden()
        expect(page.locator("#search-failed")).to_be_hidden()


def _is_last(asked: list[str], text: str) -> bool:
    return asked[-1:] == [text]


def test_half_typed_words_leave_the_address_the_alert_and_the_preview_alone(page: Page) -> None:
    page.clock.install(time="2026-01-01T10:00:00")
    page.goto("/search?q=session")
    page.clock.run_for(1000)
    announced = page.locator("#announced")
    pane = page.locator("#preview-body")
    expect(pane).to_have_attribute("data-shown", re.compile("preview"))
    before = pane.get_attribute("data-shown") or ""
    expect(page.locator(".htmx-request")).to_have_count(0)  # a request would time out
    page.clock.pause_at("2026-01-01T11:00:00")
    box = page.get_by_label("Search all code")
    box.fill("Router case:bar")
    page.wait_for_function("() => document.querySelector('#problem').textContent.trim() !== ''")
    page.clock.run_for(100)
    expect(page.locator("#problem")).to_be_hidden()
    box.fill("Router")
    page.wait_for_function("() => document.querySelector('.hit').textContent.includes('Router')")
    page.clock.run_for(250)
    assert "q=session" in page.url
    assert pane.get_attribute("data-shown") == before
    expect(announced).to_have_text("")
    page.clock.run_for(100)
    expect(page).to_have_url(re.compile("q=Router&"))
    expect(announced).to_contain_text("result")
    expect(pane).not_to_have_attribute("data-shown", before)
    box.fill("Router case:bar")
    page.wait_for_function("() => document.querySelector('#problem').textContent.trim() !== ''")
    page.clock.run_for(400)
    expect(page.locator("#problem")).to_be_visible()


def _preview_fourth(page: Page) -> str:
    """Hover over the fourth hit once the first is previewed; return its preview's address."""
    pane = page.locator("#preview-body")
    expect(pane).to_have_attribute("data-shown", re.compile("preview"))
    hit = page.locator("[data-hit]").nth(3)
    hit.hover()
    shown = hit.get_attribute("data-preview") or ""
    expect(pane).to_have_attribute("data-shown", shown)
    expect(pane).not_to_have_class(re.compile("htmx-request"))  # it is there, not only asked for
    return shown


def test_leaving_the_box_leaves_the_preview_alone(page: Page) -> None:
    page.goto("/search")
    box = page.get_by_label("Search all code")
    box.press_sequentially("session", delay=20)
    page.wait_for_url(re.compile("q=session&mode=hybrid$"))
    expect(page.get_by_role("listbox")).to_be_visible()
    box.press("Escape")  # closes the suggestions
    pane = page.locator("#preview-body")
    shown = _preview_fourth(page)
    link = pane.get_by_role("link").first
    link.hover()
    expect(box).to_be_focused()
    page.mouse.down()
    expect(box).not_to_be_focused()
    expect(pane).to_have_attribute("data-shown", shown)
    page.mouse.up()
    page.wait_for_url("**/f/**")


def test_an_invalid_query_leaves_the_preview_alone(page: Page) -> None:
    page.goto("/search?q=session")
    shown = _preview_fourth(page)
    page.get_by_label("Search all code").fill("session case:bar")
    expect(page.locator("#problem")).to_be_visible()  # the pause is over
    expect(page.locator(".hit.previewed")).to_have_attribute("data-preview", shown)


def test_leaving_the_box_announces_nothing_if_nothing_was_searched(page: Page) -> None:
    page.goto("/search?q=session")
    box = page.get_by_label("Search all code")
    box.focus()
    box.press("Tab")
    expect(box).not_to_be_focused()
    assert page.locator("#announced").text_content() == ""


def test_back_leads_to_the_last_results_also_at_once_after_typing(page: Page) -> None:
    page.goto("/search?q=session")
    box = page.get_by_label("Search all code")
    box.fill("Router")
    expect(page.locator("[data-hit]").first).to_contain_text("Router")
    page.locator("[data-hit] [data-open]").first.click()
    page.wait_for_url("**/f/**")
    page.go_back()
    expect(page).to_have_url(re.compile("q=Router&"))
    expect(box).to_have_value("Router")
    page.go_back()
    assert page.url == "about:blank"  # typing makes no entries of the history


def test_a_bad_query_is_explained_and_the_last_results_stay(page: Page) -> None:
    page.goto("/search?q=open+session")
    hits = page.locator("[data-hit]").count()
    assert hits
    box = page.get_by_label("Search all code")
    box.fill("open case:bar")
    expect(page.get_by_role("alert")).to_contain_text(
        "Case is 'bar', expected yes, no or auto, at character 11"
    )
    assert page.locator("[data-hit]").count() == hits
    expect(page.get_by_text("The previous results are shown below")).to_be_visible()
    box.fill("open session")
    expect(page.locator("#problem")).to_be_hidden()


def test_a_bad_first_query_speaks_of_no_results(page: Page) -> None:
    page.goto("/search")
    page.get_by_label("Search all code").fill("open case:bar")
    expect(page.get_by_role("alert")).to_contain_text("Case is 'bar'")
    expect(page.get_by_text("The previous results are shown below")).to_be_hidden()


def test_by_keys_alone(page: Page) -> None:
    page.goto("/jobs")
    page.keyboard.press("/")
    page.keyboard.type("open session")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=open+session")
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.dataset.place")
    page.keyboard.press("j")
    second = page.evaluate("document.activeElement.dataset.place")
    assert first
    assert second != first
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.dataset.place") == first
    page.keyboard.press("c")
    expect(page.locator("#told")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == first
    page.keyboard.press("m")
    expect(page.locator("#told")).to_contain_text("Results copied")
    assert "**File**" in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("x")
    expect(page.locator("details.group").first).not_to_have_attribute("open", "")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/f/**")
    page.go_back()
    page.wait_for_url("**/search?q=open+session")
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert page.get_by_label("Search all code").input_value() == ""
    page.keyboard.press("Escape")
    page.clock.install(time="2026-01-01T10:00:00")
    page.clock.pause_at("2026-01-01T11:00:00")  # the second key comes in time
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(lambda url: url.endswith("/"))


def test_a_file_is_folded_and_unfolded_by_the_same_key(page: Page) -> None:
    page.goto("/search?q=session&mode=keyword")
    groups = page.locator("details.group")
    assert groups.count() > 2
    page.evaluate("document.querySelectorAll('details.group')[1].querySelector('.hit').focus()")
    second = groups.nth(1)
    page.keyboard.press("x")
    expect(second).not_to_have_attribute("open", "")
    expect(second.locator("summary").first).to_be_focused()
    page.keyboard.press("x")
    expect(second).to_have_attribute("open", "")
    expect(second.locator(".hit").first).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("j")
    expect(groups.nth(2).locator(".hit").first).to_be_focused()
    second.locator("summary").first.focus()
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.group')") is not None
    assert groups.nth(0).locator(".hit:focus").count() == 1
    expect(groups.nth(0)).to_have_attribute("open", "")


def test_all_is_copied_as_markdown_also_when_there_are_more_results(page: Page) -> None:
    page.goto("/search?q=numbered&mode=keyword")
    more = page.get_by_role("link", name="More results")
    expect(more).to_be_visible()
    page.keyboard.press("m")
    expect(page.locator("#told")).to_contain_text("Results copied")
    assert "**File**" in page.evaluate("navigator.clipboard.readText()")
    more.click()
    expect(page.locator("[data-hit]").nth(20)).to_be_attached()
    expect(page.locator("[data-markdown]")).to_have_count(1)


def test_the_sign_to_remove_a_filter_stays_whole_beside_long_names(page: Page) -> None:
    page.goto("/search?q=session+lang:python")
    value = page.locator(".facets li a.active").first
    name, number = value.locator("span").first, value.locator(".number")
    name.evaluate("name => { name.textContent = 'owner+repository'.repeat(3); }")
    number.evaluate("number => { number.textContent = '68'; }")
    lines = """each => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return range.getClientRects().length;
    }"""
    assert name.evaluate(lines) > 1
    assert number.evaluate(lines) == 1


def test_more_results_are_put_below(page: Page) -> None:
    page.goto("/search?q=numbered&mode=keyword")
    before = page.locator("[data-hit]").count()
    page.get_by_role("link", name="More results").click()
    expect(page.locator("[data-hit]").nth(before)).to_be_attached()


def test_the_rest_of_the_results_follows_when_one_pauses(page: Page) -> None:
    page.goto("/search?q=def&mode=regex")
    whole = page.locator("[data-hit]").count()
    page.goto("/search?mode=regex")
    held = hold(page, re.compile("rest="))
    with page.expect_response(lambda answer: "rest=" in answer.url) as rest:
        page.get_by_label("Search all code").fill("def")
        expect(page.locator(".to-come")).to_have_text(re.compile("more file"))
        shown = page.locator("[data-hit]").count()
        wait_until(page, lambda: len(held) == 1)
        held[0].continue_()
    assert rest.value.ok
    expect(page.locator(".to-come")).to_have_count(0)
    assert 8 <= shown < page.locator("[data-hit]").count() == whole
    assert "rest=" not in page.url


def test_the_rest_of_the_results_follows_also_after_a_search_that_shows_nothing(page: Page) -> None:
    page.goto("/search?mode=regex")
    page.clock.install(time="2026-01-01T10:00:00")
    page.clock.pause_at("2026-01-01T11:00:00")
    held = hold(page, re.compile("rest="))
    box = page.get_by_label("Search all code")
    box.fill("def")
    expect(page.locator(".to-come")).to_have_text(re.compile("more file"))
    page.clock.run_for(700)
    wait_until(page, lambda: len(held) == 1)
    shown = page.locator("[data-hit]").count()
    with page.expect_event("requestfailed", lambda each: "rest=" in each.url):
        box.fill("def case:bar")  # the query error aborts it
    page.wait_for_function("() => document.querySelector('#problem').textContent.trim() !== ''")
    page.clock.run_for(700)
    wait_until(page, lambda: len(held) == 2)
    held[1].continue_()
    expect(page.locator(".to-come")).to_have_count(0)
    assert page.locator("[data-hit]").count() > shown


def test_results_whose_rest_does_not_come_lead_to_all_of_them(page: Page) -> None:
    intercept(page, re.compile("rest="), lambda route: route.fulfill(status=429))
    page.goto("/search?mode=regex")
    page.get_by_label("Search all code").press_sequentially("def", delay=20)
    expect(page).to_have_url(re.compile("q=def&"))  # no answer replaces the link any more
    page.locator("#preview-body .line").first.wait_for()
    page.get_by_role("link", name="more file").click()
    expect(page.locator("[data-hit]").nth(8)).to_be_attached()
    expect(page.locator(".to-come")).to_have_count(0)


def test_printed_results_are_the_code_without_the_controls(page: Page) -> None:
    page.goto("/search?q=open+session")
    controls = (page.get_by_role("radio", name="Regex"), page.locator(".top"), page.locator(".why"))
    for each in controls:
        expect(each.first).to_be_visible()
    page.emulate_media(media="print")
    for each in controls:
        expect(each.first).to_be_hidden()
    expect(page.locator("[data-hit] .line").first).to_be_visible()
