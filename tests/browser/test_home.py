"""Home in a browser: a folder is picked and its progress seen, the theme, a narrow window."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.browser import intercept, start_indexing, visiting, wait_until
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.pages import project_ids, removing_new_projects, site
from tests.support.server import Server
from tests.support.trees import write_tree
from web.pages.rendering import THEME_COOKIE

#: Everything that people come to, and whether something stands out to the right.
PLACES = (
    "/",
    "/search?q=session",
    "/jobs",
    "/status",
    "/folders",
    "/nowhere",
    "/search?q=case:bar",
    "/p/{project}",
    "/p/{project}/symbols",
    "/p/{project}/symbols?name=nothing&kind=class",
    "/p/{project}/memories",
)


@pytest.fixture(autouse=True)
def no_new_projects(server: Server) -> Iterator[None]:
    """Those that a test makes are not there for others."""
    with server.client() as client, removing_new_projects(client):
        yield


def test_a_folder_is_picked_and_its_progress_comes_by_itself(page: Page, home: Path) -> None:
    many = {f"m{n}.py": f"def f{n}():\n    return {n}\n" * 30 for n in range(150)}
    write_tree(home / "picked", many)
    page.goto("/")
    page.get_by_role("link", name="Browse…").click()
    page.get_by_role("link", name="picked").click()
    page.get_by_role("button", name="Index this folder").click()
    expect(page.get_by_role("heading", name="Index picked")).to_be_visible()
    expect(page.locator("#job .chip.completed")).to_be_visible()  # without a reload
    page.goto("/")
    expect(page.locator(".card", has_text="picked")).to_contain_text("150")


def test_a_folder_is_picked_by_keys_alone(page: Page, home: Path) -> None:
    write_tree(home / "by-keys" / "inner", {"a.py": "x = 1\n"})
    page.goto("/")
    page.get_by_role("link", name="Browse…").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".picker li a").first).to_be_focused()
    page.get_by_role("link", name="by-keys").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="inner")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Index this folder")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Index inner")).to_be_visible()
    expect(page.locator("#job .chip.completed")).to_be_visible()
    page.locator("#open-project").click()
    page.get_by_label("Type inner to delete its index and its memories").fill("inner")
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()


def test_a_project_that_appears_is_shown_without_a_reload(page: Page, home: Path) -> None:
    write_tree(home / "appears", {"a.py": "x = 1\n"})
    with page.expect_response("**/api/v1/events"):
        page.goto("/")
    start_indexing(page, home / "appears")
    expect(page.locator(".card", has_text="appears")).to_be_visible()


def test_a_bad_path_is_explained(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Path of the folder").fill("/nowhere/at/all")
    page.get_by_role("button", name="Index", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Path does not exist")
    expect(page.get_by_label("Path of the folder")).to_have_value("/nowhere/at/all")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_switch(
    browser: Browser, server: Server, scheme: str
) -> None:
    with visiting(browser, server.url, color_scheme=scheme) as page:
        page.goto("/jobs")
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Switch between dark and light").click()
        after = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert before != after
        # Chromium keeps a cookie some moments after a script has set it.
        until(lambda: any(each.get("name") == THEME_COOKIE for each in page.context.cookies()))
        page.reload()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
        assert page.url.endswith("/jobs")


def test_nothing_stands_out_of_a_narrow_window(browser: Browser, server: Server) -> None:
    with server.client() as client:
        project = project_ids(client)["sample"]
    with visiting(browser, server.url, viewport={"width": 320, "height": 640}) as page:
        for place in PLACES:
            page.goto(place.format(project=project))
            assert page.evaluate("document.documentElement.scrollWidth") == 320, place
        page.set_viewport_size({"width": 305, "height": 640})  # beside a scrollbar
        page.goto(f"/p/{project}")
        for part in (".top nav", ".tabs ul"):
            heights = page.locator(f"{part} a").evaluate_all("all => all.map(e => e.offsetHeight)")
            assert len(set(heights)) <= 2, part
            assert max(heights) < 40, part
        assert page.locator(".top nav").evaluate("e => e.offsetHeight") < 64


def test_all_is_there_without_a_script(browser: Browser, server: Server, home: Path) -> None:
    write_tree(home / "scriptless", {"a.py": "def found_without_a_script():\n    return 1\n"})
    with visiting(browser, server.url, java_script_enabled=False) as page:
        page.goto("/")
        page.get_by_label("Path of the folder").fill("~/scriptless")
        page.get_by_role("button", name="Index", exact=True).click()
        expect(page.get_by_role("heading", name="Index scriptless")).to_be_visible()
        page.get_by_label("Search all code").fill("open session")
        page.keyboard.press("Enter")
        page.locator(".facets a", has_text="app/").click()
        page.wait_for_url("**path%3Aapp**")
        page.locator("article a[data-open]").first.click()
        expect(page.locator(".line.picked").first).to_be_in_viewport()
        page.get_by_role("button", name="Switch between dark and light").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page).to_have_url(re.compile("/f/app/"))


@contextmanager
def _six_projects(browser: Browser, folder: Path) -> Iterator[tuple[Server, Page]]:
    """Serve so many projects that they can be narrowed; at home, which hears of changes."""
    with catalog_in(folder / "data", opens=Fakes()) as catalog:
        for name in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta"):
            catalog.create(str(write_tree(folder / name, {"a.py": "x = 1\n"}))).index()
    with site(folder) as server, visiting(browser, server.url) as page:
        with page.expect_response("**/api/v1/events"):
            page.goto("/")
        yield server, page


def test_what_was_asked_before_narrowing_comes_too_late(browser: Browser, tmp_path: Path) -> None:
    with _six_projects(browser, tmp_path) as (server, page):
        held: list[Route] = []
        waits = True

        def hold_first(route: Route) -> None:
            held.append(route) if waits else route.continue_()

        intercept(page, f"{server.url}/", hold_first)
        write_tree(tmp_path / "upsilon", {"a.py": "x = 1\n"})
        start_indexing(page, tmp_path / "upsilon")
        wait_until(page, lambda: bool(held))  # for the new project, or an event before it
        page.get_by_label("Filter the projects").press_sequentially("epsil")
        expect(page.locator(".card")).to_have_count(1)
        waits = False
        with page.expect_response("**/?name=epsil*"):  # asked again, for what is shown now
            for route in held:
                route.continue_()
        page.unroute_all(behavior="ignoreErrors")
        expect(page.locator(".card")).to_have_count(1)


def test_an_answer_whose_text_comes_after_narrowing_is_too_late(
    browser: Browser, tmp_path: Path
) -> None:
    with _six_projects(browser, tmp_path) as (_, page):
        # As over a slow connection: the headers of the answer are there, its text is not.
        page.evaluate("""() => {
          const read = Response.prototype.text;
          window.release = null;
          Response.prototype.text = function () {
            if (new URL(this.url).search || window.release) return read.call(this);
            document.documentElement.dataset.held = "";
            return new Promise((go) => { window.release = () => go(read.call(this)); });
          };
        }""")
        write_tree(tmp_path / "upsilon", {"a.py": "x = 1\n"})
        start_indexing(page, tmp_path / "upsilon")
        expect(page.locator("html")).to_have_attribute("data-held", "")
        page.get_by_label("Filter the projects").press_sequentially("epsil")
        expect(page.locator(".card")).to_have_count(1)
        with page.expect_response("**/?name=epsil*"):  # asked again, for what is shown now
            page.evaluate("window.release()")
        expect(page.locator(".card")).to_have_count(1)


def test_many_projects_are_narrowed_while_one_types(browser: Browser, tmp_path: Path) -> None:
    with _six_projects(browser, tmp_path) as (_, page):
        expect(page.locator(".card")).to_have_count(6)
        box = page.get_by_label("Filter the projects")
        box.press_sequentially("epsil")
        expect(page.locator(".card")).to_have_count(1)
        expect(box).to_be_focused()
        everything = page.get_by_role("link", name="All projects 6")
        expect(everything).to_have_attribute("href", "/?name=epsil")
        write_tree(tmp_path / "upsilon", {"a.py": "x = 1\n"})
        start_indexing(page, tmp_path / "upsilon")
        expect(page.locator(".card")).to_have_count(1)  # not of those that are asked for
        box.fill("silon")
        expect(page.locator(".card")).to_have_count(2)
        page.get_by_label("Order of the projects").select_option("size")
        page.wait_for_url("**/?name=silon&sort=size")  # the address comes with the answer
        expect(page.locator(".card")).to_have_count(2)
        page.reload()
        expect(page.locator(".card")).to_have_count(2)
        box.fill("nothing like it")
        expect(page.locator("#projects")).to_contain_text("No project has")
        page.goto("/")
        page.set_viewport_size({"width": 1440, "height": 500})
        folder = page.get_by_label("Path of the folder")
        folder.fill("/nope/x")
        folder.press("Enter")
        expect(page.locator("#path-error")).to_be_in_viewport()
        expect(folder).to_be_focused()
        expect(folder).to_have_value("/nope/x")
        for width in (320, 360):
            page.set_viewport_size({"width": width, "height": 640})
            page.goto("/")
            assert page.evaluate("document.documentElement.scrollWidth") == width


_HOLDS_STREAMS = """
Object.defineProperty(navigator, "locks", { value: undefined });
window.streams = [];
const Source = window.EventSource;
window.EventSource = function (address) {
  const stream = new Source(address);
  window.streams.push(stream);
  return stream;
};
Object.assign(window.EventSource, { CLOSED: 2 });
window.becomes = (hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
  return window.streams.filter((each) => each.readyState !== 2).length;
};
"""


def test_hidden_tabs_hold_no_connection_where_tabs_cannot_share_one(page: Page) -> None:
    page.add_init_script(_HOLDS_STREAMS)
    page.goto("/jobs")
    page.wait_for_load_state()
    assert page.evaluate("streams.length") == 1
    assert page.evaluate("becomes(true)") == 0
    assert page.evaluate("becomes(false)") == 1
    assert page.evaluate("becomes(true)") == 0
