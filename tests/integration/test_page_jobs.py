"""Jobs: the list with its filters, one of them with its log, cancel and retry by forms."""

from pathlib import Path

import httpx
import pytest

from tests.support.jobs import until
from tests.support.pages import OWN_FORM, Page, project_ids
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


@pytest.fixture
def job_id(pages_client: httpx.Client, sample_id: str) -> str:
    found = pages_client.get("/api/v1/jobs", params={"target": sample_id}).json()["jobs"]
    return str(found[-1]["job_id"])


def test_jobs_are_listed_and_filtered(
    pages_client: httpx.Client, pages_home: Path, job_id: str
) -> None:
    page = Page.of(pages_client.get("/jobs"))
    assert f"/jobs/{job_id}" in page.links
    assert "36 new or changed" in page.text
    asked = {"status": "completed", "project": str(pages_home / "sample"), "days": "1"}
    narrowed = Page.of(pages_client.get("/jobs", params=asked))
    assert f"/jobs/{job_id}" in narrowed.links
    assert "selected" in narrowed.all("option", value=str(pages_home / "sample"))[0]
    empty = Page.of(pages_client.get("/jobs?status=blocked"))
    assert "No job is like that" in empty.text
    part = Page.of(pages_client.get("/jobs", headers=HTMX))
    assert part.elements[0][1]["id"] == "job-list"


@pytest.mark.parametrize("query", ["status=lost", "days=99", "cursor=%21", "project=/nowhere"])
def test_a_filter_that_no_page_made_is_refused(pages_client: httpx.Client, query: str) -> None:
    answer = pages_client.get(f"/jobs?{query}", headers={"Accept": "text/html"})
    assert answer.status_code in (400, 404)
    assert Page.of(answer).all("h1")


def test_a_job_shows_what_it_did_and_its_log(pages_client: httpx.Client, job_id: str) -> None:
    page = Page.of(pages_client.get(f"/jobs/{job_id}"))
    for wanted in ("Index sample", "completed", "36 new or changed", "created", "started", job_id):
        assert wanted in page.text
    assert not page.all("form", action=f"/jobs/{job_id}/cancel")
    assert not page.all("form", action=f"/jobs/{job_id}/retry")
    states = Page.of(pages_client.get(f"/jobs/{job_id}?events=changes"))
    assert not states.all("span", class_="type checkpoint")
    assert states.all("span", class_="type completed")
    part = Page.of(pages_client.get(f"/jobs/{job_id}", headers=HTMX))
    assert part.elements[0][1] | {"data-live-job": job_id} == part.elements[0][1]


def test_a_job_is_cancelled_and_asked_for_again(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    many = {f"m{n}.py": f"def f{n}():\n    return {n}\n" * 40 for n in range(400)}
    write_tree(pages_home / "many", many)
    place = pages_client.post("/", data={"path": "~/many"}, headers=OWN_FORM).headers["location"]
    running = Page.of(pages_client.get(place))
    assert running.all("progress")
    assert running.all("form", action=f"{place}/cancel", method="post")
    answer = pages_client.post(f"{place}/cancel", headers=OWN_FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, place)
    until(lambda: "cancelled" in Page.of(pages_client.get(place)).text)
    assert pages_client.post(f"{place}/cancel", headers=OWN_FORM).status_code == 409
    assert "many" in Page.of(pages_client.get("/jobs?status=cancelled")).text
    ended = Page.of(pages_client.get(place))
    assert ended.all("form", action=f"{place}/retry", method="post")
    again = pages_client.post(f"{place}/retry", headers=OWN_FORM).headers["location"]
    assert again != place
    until(lambda: "completed" in Page.of(pages_client.get(again)).text)
    refused = pages_client.post(f"{again}/retry", headers=OWN_FORM)
    assert refused.status_code == 409
    assert "only failed and cancelled jobs" in Page.of(refused).text
    pages_client.delete(f"/api/v1/projects/{project_ids(pages_client)['many']}")


def test_another_page_cannot_cancel(pages_client: httpx.Client, job_id: str) -> None:
    for headers in (
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    ):
        for act in ("cancel", "retry"):
            answer = pages_client.post(f"/jobs/{job_id}/{act}", headers=headers)
            assert answer.status_code == 403


def test_a_job_that_is_not_there_is_said_so(pages_client: httpx.Client) -> None:
    for unknown in ("0" * 8 + "-0000-0000-0000-" + "0" * 12, "x", "%00", "<b>"):
        answer = pages_client.get(f"/jobs/{unknown}", headers={"Accept": "text/html"})
        assert answer.status_code == 404
        assert Page.of(answer).all("h1")
