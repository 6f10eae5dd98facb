"""The map of meaning in a browser: it comes when it is near, and is walked by keyboard."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import hold, intercept, visiting, wait_until
from tests.support.pages import project_ids
from tests.support.server import Server


def _project(server: Server) -> str:
    with server.client() as client:
        return f"/p/{project_ids(client)['sample']}"


def test_it_comes_when_it_is_near_and_a_dot_leads_to_its_file(page: Page, server: Server) -> None:
    page.goto(_project(server))
    page.locator("#map").scroll_into_view_if_needed()
    dots = page.locator("[data-map] a")
    expect(page.locator("[data-map] a[tabindex='0']")).to_have_count(1)
    long = dots.filter(has=page.locator("title", has_text="app/long.py"))
    long.locator("circle").hover(force=True)
    long.focus()
    expect(page.locator("[data-map-told]")).to_have_text("app/long.py")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}{_project(server)}/f/app/long.py")


def test_arrow_keys_go_from_dot_to_dot(page: Page, server: Server) -> None:
    page.goto(f"{_project(server)}/map")
    expect(page.locator("[data-map] a[tabindex='0']")).to_have_count(1)
    page.locator("[data-map] a[tabindex='0']").focus()
    told = page.locator("[data-map-told]")
    first = told.text_content()
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(f"Control+{key}")
    assert told.text_content() == first  # those are keys of the browser
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    seen = {first, told.text_content()}
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    seen.add(told.text_content())
    assert len(seen) > 1
    expect(page.locator("[data-map] a[tabindex='0']")).to_have_count(1)
    expect(page.locator("[data-map] a:focus")).to_have_count(1)


def test_the_name_of_a_dot_is_in_sight_wherever_the_dot_is(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(f"{_project(server)}/map")
    expect(page.locator("[data-map] a[tabindex='0']")).to_have_count(1)
    dots = page.locator("[data-map] a")
    heights = dots.locator("circle").evaluate_all("dots => dots.map(each => each.cy.baseVal.value)")
    told = page.locator("[data-map-told]")
    for at in (heights.index(max(heights)), heights.index(min(heights))):
        dots.nth(at).focus()
        expect(told).to_have_text(dots.nth(at).locator("title").text_content() or "")
        expect(dots.nth(at)).to_be_in_viewport(ratio=1)
        expect(told).to_be_in_viewport(ratio=1)


def test_without_scripts_it_is_a_page_of_its_own(browser: Browser, server: Server) -> None:
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto(_project(server))
        page.get_by_role("link", name="Show the map").click()
        expect(page.get_by_role("heading", name="Map of meaning")).to_be_visible()
        page.locator("[data-map] a").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".file-code")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_moves_when_it_comes(browser: Browser, server: Server, width: int) -> None:
    with visiting(browser, server.url, viewport={"width": width, "height": 900}) as page:
        asked = hold(page, "**/map")
        page.goto(_project(server))
        part = page.locator("#map")
        part.scroll_into_view_if_needed()
        wait_until(page, lambda: bool(asked))
        before = part.evaluate("part => part.offsetHeight")
        asked[0].continue_()
        expect(page.locator("[data-map] a[tabindex='0']")).to_have_count(1)
        assert abs(part.evaluate("part => part.offsetHeight") - before) < 4


def test_when_the_map_cannot_come_the_link_stays(page: Page, server: Server) -> None:
    intercept(page, "**/map", lambda route: route.fulfill(status=429, body="away"))
    page.goto(_project(server))
    page.locator("#map").scroll_into_view_if_needed()
    expect(page.get_by_role("link", name="Show the map")).to_be_visible()
