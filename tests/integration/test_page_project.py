"""A project's page: its figures, its folders, what is not indexed and why, and what can be done."""

from pathlib import Path

import httpx
import pytest

from tests.support.jobs import until
from tests.support.pages import OWN_FORM, Page, index_folder, indexed, project_ids
from tests.support.trees import write_tree


def test_figures_and_facts(pages_client: httpx.Client, pages_home: Path, sample_id: str) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}"))
    for wanted in (str(pages_home / "sample"), "files 36", "coverage 100%", sample_id, "python"):
        assert wanted in page.text
    assert page.all("input", type="hidden", name="project")[0]["value"] == sample_id
    part = Page.of(pages_client.get(f"/p/{sample_id}", headers={"HX-Request": "true"}))
    assert part.elements[0][1]["id"] == "project"
    assert part.all("div", id="project-jobs", hx_swap_oob="true")  # the only place of its jobs
    assert f"/p/{sample_id}" in Page.of(pages_client.get("/")).links


def test_its_file_and_model_are_told(
    pages_client: httpx.Client, pages_home: Path, sample_id: str
) -> None:
    text = Page.of(pages_client.get(f"/p/{sample_id}")).text
    for wanted in (f"{pages_home}/data/{sample_id}.db", "Schema version", "192 dimensions"):
        assert wanted in text


def test_folders_are_drawn_and_listed_and_looked_into(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}"))
    for wanted in ("parts/, 892 bytes, 24 files", "odd/, ", "app/, "):
        assert wanted in page.text
    into = [link for link in page.links if "?folder=parts" in link]
    assert into == [f"/p/{sample_id}?folder=parts#folders"] * 2  # drawn, and in the table
    inside = Page.of(pages_client.get(into[0].partition("#")[0]))
    assert f"/p/{sample_id}/f/parts/part_1.py" in inside.links
    assert f"/search?q=path%3A%2Fparts%2F+&project={sample_id}" in inside.links
    assert inside.all("strong", aria_current="true")
    assert f"/p/{sample_id}#folders" in inside.links  # back to the root


def test_folders_come_by_themselves_once_something_is_indexed(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = pages_home / "filling"
    tree.mkdir()
    with indexed(pages_client, tree) as project_id:
        here = f"/p/{project_id}"
        [empty] = Page.of(pages_client.get(here)).all("section", id_="folders")
        assert empty["data-live"] == "folders"
        write_tree(tree, {"a.py": "x = 1\n"})
        index_folder(pages_client, tree)
        part = Page.of(pages_client.get(empty["hx-get"], headers={"HX-Request": "true"}))
        assert "data-live" not in part.elements[0][1]
        assert f"{here}/f/a.py" in part.links
        assert "a.py 6 bytes, the only indexed file" in part.text
        assert not part.all("svg", class_="treemap")
        assert pages_client.get(empty["hx-get"]).headers["location"] == f"{here}#folders"


def test_what_is_left_out_is_counted_in_its_folder(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}"))
    assert "build/ 0 bytes 0 1" in page.text


@pytest.mark.parametrize(
    ("folder", "status"), [("nowhere", 200), ("..", 400), ("/etc", 400), ("parts%00", 400)]
)
def test_a_folder_that_is_none(
    pages_client: httpx.Client, sample_id: str, folder: str, status: int
) -> None:
    address = f"/p/{sample_id}?folder={folder}"
    answer = pages_client.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert ("Nothing in this folder is indexed" in Page.of(answer).text) == (status == 200)


def test_what_is_not_indexed_is_listed_by_reason(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}"))
    reasons = [link for link in page.links if "?skips=" in link]
    assert {link.partition("=")[2] for link in reasons} >= {"ignored#skips", "lock_file#skips"}
    listed = Page.of(pages_client.get(f"/p/{sample_id}?skips=ignored"))
    assert "build/ .gitignore:1: build/" in listed.text


@pytest.mark.parametrize("query", ["skips=guess", "skips=ignored&cursor=%21"])
def test_a_reason_that_is_none_is_refused(
    pages_client: httpx.Client, sample_id: str, query: str
) -> None:
    answer = pages_client.get(f"/p/{sample_id}?{query}", headers={"Accept": "text/html"})
    assert answer.status_code == 400
    assert Page.of(answer).all("h1")


@pytest.mark.parametrize("name", ["%E2%82%AC", "a%0d%0aSet-Cookie:%20a=b", "%00", "a%20b%22"])
def test_whatever_an_address_names_can_be_led_on(pages_client: httpx.Client, name: str) -> None:
    for below in ("folders", "lines/a.py?hit=1-2"):
        answer = pages_client.get(f"/p/{name}/{below}")
        assert answer.status_code == 303
        assert answer.headers["location"].lower().startswith(f"/p/{name}".lower())
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("project_id", ["0" * 64, "x", "..", "%2ftmp"])
def test_a_project_that_is_not_there(pages_client: httpx.Client, project_id: str) -> None:
    answer = pages_client.get(f"/p/{project_id}/", headers={"Accept": "text/html"})
    assert answer.status_code in (200, 404)
    assert ("Projects" if answer.status_code == 200 else "Not Found") in Page.of(answer).text


def test_the_page_of_an_error_leads_to_the_project_if_there_is_one(
    pages_client: httpx.Client, sample_id: str
) -> None:
    for project_id in (sample_id, "0" * 64):
        for below in ("nowhere", "f/nothing.py"):
            address = f"/p/{project_id}/{below}"
            answer = pages_client.get(address, headers={"Accept": "text/html"})
            assert answer.status_code == 404
            is_offered = f"/p/{project_id}" in Page.of(answer).links
            assert is_offered == (project_id == sample_id)


def test_it_is_indexed_again_and_forgotten_by_its_name(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "short lived", {"a.py": "x = 1\n"})
    index_folder(pages_client, tree)
    here = f"/p/{project_ids(pages_client)['short lived']}"
    place = pages_client.post(f"{here}/index", data={"force": "yes"}, headers=OWN_FORM)
    assert place.status_code == 303
    job = place.headers["location"]
    until(lambda: "completed" in Page.of(pages_client.get(job)).text)
    assert "1 new or changed" in Page.of(pages_client.get(job)).text  # it was read anew

    for typed in ("", "short", "SHORT LIVED"):
        refused = pages_client.post(f"{here}/forget", data={"name": typed}, headers=OWN_FORM)
        assert refused.status_code == 400
        page = Page.of(refused)
        [told] = page.all("p", role="alert", class_="problem")
        [box] = page.all("input", name="name")
        assert "Type short lived to delete its index and its memories" in page.text
        assert box["aria-describedby"] == told["id"]
        assert "autofocus" in box
    assert pages_client.post(f"{here}/forget", data={"name": "short lived"}).status_code == 403
    form = {"name": "short lived"}
    forgotten = pages_client.post(f"{here}/forget", data=form, headers=OWN_FORM)
    told_at = forgotten.headers["location"]
    assert (forgotten.status_code, told_at) == (303, f"/?forgotten={here.removeprefix('/p/')}")
    assert "short lived" not in project_ids(pages_client)
    assert (tree / "a.py").exists()
    home = Page.of(pages_client.get(told_at))
    assert home.all("p", role="status", class_="done")
    assert home.text.startswith("short lived was removed · CodeCairn")  # what is read out first
    removed = "short lived was removed: its index and its memories are deleted. The folder"
    assert f"{removed} {tree} was not touched." in home.text
    for forged in ("", "a" * 64, "<b>x</b>"):
        assert not Page.of(pages_client.get("/", params={"forgotten": forged})).all(
            "p", class_="done"
        )
    with indexed(pages_client, tree):
        assert not Page.of(pages_client.get(told_at)).all("p", class_="done")
