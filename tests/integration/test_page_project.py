"""A project's page: its figures, what is not indexed and why, and what can be done with it."""

from pathlib import Path

import httpx
import pytest

from tests.support.jobs import until
from tests.support.pages import OWN_FORM, Page, project_ids
from tests.support.trees import write_tree


def test_figures_and_facts(pages_client: httpx.Client, pages_home: Path, sample_id: str) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}"))
    for wanted in (str(pages_home / "sample"), "files 36", "coverage 100 %", sample_id, "python"):
        assert wanted in page.text
    assert page.all("input", type="search")[0]["value"] == "project:sample "
    part = Page.of(pages_client.get(f"/p/{sample_id}", headers={"HX-Request": "true"}))
    assert part.elements[0][1]["id"] == "project"
    assert f"/p/{sample_id}" in Page.of(pages_client.get("/")).links


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


@pytest.mark.parametrize("project_id", ["0" * 64, "x", "..", "%2ftmp"])
def test_a_project_that_is_not_there(pages_client: httpx.Client, project_id: str) -> None:
    answer = pages_client.get(f"/p/{project_id}/", headers={"Accept": "text/html"})
    assert answer.status_code in (200, 404)
    assert ("Projects" if answer.status_code == 200 else "Not Found") in Page.of(answer).text


def test_it_is_indexed_again_and_forgotten_by_its_name(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "short lived", {"a.py": "x = 1\n"})
    answer = pages_client.post("/api/v1/projects", json={"path": str(tree)})
    assert answer.json()["status"] == "completed"
    here = f"/p/{project_ids(pages_client)['short lived']}"
    place = pages_client.post(f"{here}/index", data={"force": "yes"}, headers=OWN_FORM)
    assert place.status_code == 303
    job = place.headers["location"]
    until(lambda: "completed" in Page.of(pages_client.get(job)).text)
    assert "1 new or changed" in Page.of(pages_client.get(job)).text  # it was read anew

    for typed in ("", "short", "SHORT LIVED"):
        refused = pages_client.post(f"{here}/forget", data={"name": typed}, headers=OWN_FORM)
        assert refused.status_code == 400
        assert Page.of(refused).all("p", role="alert", class_="problem")
    assert pages_client.post(f"{here}/forget", data={"name": "short lived"}).status_code == 403
    form = {"name": "short lived"}
    forgotten = pages_client.post(f"{here}/forget", data=form, headers=OWN_FORM)
    assert (forgotten.status_code, forgotten.headers["location"]) == (303, "/")
    assert "short lived" not in project_ids(pages_client)
    assert (tree / "a.py").exists()
