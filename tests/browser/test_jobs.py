"""Jobs in a browser: one is stopped and asked for again, and the server goes away meanwhile."""

from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.browser import start_indexing, visiting
from tests.support.command import Command
from tests.support.pages import index_folder, site
from tests.support.server import serving
from tests.support.trees import write_tree


def test_a_job_is_stopped_and_asked_for_again(browser: Browser, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "stopped", {"a.py": "x = 1\n", "hang.py": "y = 1\n"})
    hangs = {"CAIRN_FAULT": "hang:parse:hang.py", "CAIRN_PARSE_TIMEOUT": "600000"}
    with site(tmp_path, **hangs) as server, visiting(browser, server.url) as page:
        page.goto("/")
        page.get_by_label("Path of the folder").fill(str(tree))
        page.get_by_role("button", name="Index", exact=True).click()
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#job .chip.cancelled")).to_have_text("cancelled")
        (tree / "hang.py").unlink()
        page.get_by_role("button", name="Retry").click()
        expect(page.locator("#job .chip.completed")).to_be_visible()
        page.get_by_role("link", name="Jobs").first.click()
        page.locator(".states").get_by_text("cancelled").click()
        expect(page.locator(".job-row")).to_have_count(1)


def test_eight_tabs_share_a_stream(page: Page, home: Path) -> None:
    tabs = [page, *(page.context.new_page() for _ in range(7))]
    with page.expect_response("**/api/v1/events"):
        page.goto("/jobs")
    for tab in tabs[1:]:
        tab.goto("/jobs")  # a browser has six connections to a server
    write_tree(home / "shared", {"a.py": "x = 1\n"})
    start_indexing(page, home / "shared")
    for tab in (tabs[0], tabs[-1]):
        expect(tab.locator(".job-row", has_text="shared").first).to_be_visible()
    tabs[0].close()
    write_tree(home / "later", {"a.py": "x = 1\n"})
    start_indexing(tabs[1], home / "later")
    expect(tabs[-1].locator(".job-row", has_text="later").first).to_be_visible()


def test_jobs_are_printed_without_the_frame_of_the_page(page: Page) -> None:
    page.goto("/jobs")
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    for hidden in (".top", "footer"):
        expect(page.locator(hidden)).to_be_hidden()


def test_filters_are_those_of_the_list_when_one_comes_back(page: Page) -> None:
    page.goto("/jobs?days=7")
    created = page.get_by_label("Created")
    created.select_option("today")
    page.wait_for_url("**days=1**")
    page.go_back()
    page.wait_for_url("**/jobs?days=7")
    expect(created).to_have_value("7")


def test_a_job_that_is_gone_is_said_so(page: Page) -> None:
    page.goto("/jobs/00000000-0000-0000-0000-000000000000")
    expect(page.locator("main")).to_contain_text("No job has the id")


def test_a_server_that_goes_is_said_so_and_its_page_lives_on_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    write_tree(tmp_path / "later", {"a.py": "x = 1\n"})
    settings = {"CAIRN_WORKERS": "1", "HOME": str(tmp_path)}
    command = Command(home=tmp_path / "data", folder=tmp_path, variables=settings)
    with ExitStack() as open_:
        with serving(command, "--no-watch") as server:
            page = open_.enter_context(visiting(browser, server.url, may_complain=True))
            with page.expect_response("**/api/v1/events"):
                page.goto("/jobs")
            expect(page.locator("#gone")).to_be_hidden()
            server.stop()
            expect(page.locator("#gone")).to_be_visible()
        with serving(command, "--no-watch", port=server.port) as server:
            expect(page.locator("#gone")).to_be_hidden()
            start_indexing(page, tmp_path / "later")
            expect(page.locator(".job-row", has_text="later")).to_be_visible()


def test_what_was_typed_while_the_server_was_gone_is_searched_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    tree = write_tree(tmp_path / "app", {"a.py": "def early():\n    pass\n", "b.py": "late = 1\n"})
    settings = {"CAIRN_WORKERS": "1", "HOME": str(tmp_path)}
    command = Command(home=tmp_path / "data", folder=tmp_path, variables=settings)
    with ExitStack() as open_:
        with serving(command, "--no-watch") as server:
            with server.client() as client:
                index_folder(client, tree)
            page = open_.enter_context(visiting(browser, server.url, may_complain=True))
            page.goto("/search?q=early&mode=keyword")
            expect(page.locator(".group > summary strong")).to_have_text("a.py")
            server.stop()
            page.get_by_label("Search all code").fill("late")
            expect(page.locator("#gone")).to_be_visible()
        with serving(command, "--no-watch", port=server.port) as server:
            expect(page.locator(".group > summary strong")).to_have_text("b.py")
            expect(page.locator("#gone")).to_be_hidden()


def test_what_was_unfolded_and_focused_stays_while_a_job_goes_on(page: Page, home: Path) -> None:
    many = {f"m{n}.py": f"def f{n}():\n    return {n}\n" * 40 for n in range(400)}
    write_tree(home / "steady", many)
    page.goto("/")
    page.get_by_label("Path of the folder").fill(str(home / "steady"))
    page.get_by_role("button", name="Index", exact=True).click()
    page.locator("#events-all").focus()
    expect(page.locator("#job .chip.completed")).to_be_visible()
    expect(page.locator("#events-all")).to_be_focused()
    expect(page.locator(".timeline")).to_contain_text("indexing")
    page.locator("#events-changes").click()
    expect(page.locator(".log .type.progress")).to_have_count(0)


def test_today_takes_the_place_of_the_days_that_were_set(page: Page) -> None:
    page.goto("/jobs?first=2020-01-01&last=2020-01-02")
    page.get_by_label("Created").select_option("today")
    page.wait_for_url("**days=1**")
    expect(page.get_by_label("Created")).to_have_value("1")
    expect(page.get_by_label("from")).to_have_value("")


def test_the_title_of_a_job_follows_its_state(page: Page, home: Path) -> None:
    write_tree(home / "titled", {f"m{n}.py": "x = 1\n" * 400 for n in range(200)})
    page.goto("/")
    page.get_by_label("Path of the folder").fill(str(home / "titled"))
    page.get_by_role("button", name="Index", exact=True).click()
    expect(page.locator("#job .chip.completed")).to_be_visible()
    expect(page).to_have_title("Completed: titled · CodeCairn")
