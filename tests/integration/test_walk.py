"""The program as its users meet it: real processes, from the first index to a page in a browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import browsing, visiting
from tests.support.command import Command
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def command(tmp_path: Path, tree: Path) -> Command:
    """The command in a project that ``cairn index`` has indexed."""
    write_tree(tree, SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree, variables={"CAIRN_WORKERS": "1"})
    ended = command("index", "--json")
    assert ended.code == 0, ended
    assert ended.json()["files_indexed"] == len(SAMPLE)
    return command


def test_what_is_indexed_is_found_on_the_command_line_and_over_http(command: Command) -> None:
    ended = command("search", "open session", "--json")
    assert ended.code == 0, ended
    found = [(hit["path"], hit["line_start"]) for hit in ended.json()["hits"]]
    assert found[0][0] == "app/session.py"
    with serving(command) as server, server.client() as client:
        answer = client.get("/api/v1/search", params={"query": "open session"})
        assert answer.status_code == 200
        assert [(hit["path"], hit["line_start"]) for hit in answer.json()["hits"]] == found
        assert server.stop() == 0


def test_a_person_searches_opens_a_file_and_comes_back(command: Command) -> None:
    with browsing() as browser, serving(command) as server, visiting(browser, server.url) as page:
        page.goto("/")
        box = page.get_by_label("Search all code")
        box.fill("open session")
        box.press("Enter")
        page.wait_for_url("**/search?q=open+session*")
        page.locator("[data-open]").first.click()
        page.wait_for_url("**/f/app/session.py*")
        expect(page.locator(".line", has_text="def open_session")).to_be_visible()
        page.go_back()
        expect(page.locator("[data-hit]").first).to_be_visible()
