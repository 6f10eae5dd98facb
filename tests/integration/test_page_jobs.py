"""Jobs: the list with its filters, one of them with its log, cancel and retry by forms."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from engine.store.jobs import append_event
from tests.support.embedders import Fakes
from tests.support.jobs import catalog_in, until
from tests.support.pages import OWN_FORM, Page, site
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


@pytest.fixture
def job_id(pages_client: httpx.Client, sample_id: str) -> str:
    found = pages_client.get("/api/v1/jobs", params={"target": sample_id}).json()["jobs"]
    return str(found[-1]["job_id"])


def _logged(page: Page) -> list[dict[str, str]]:
    """Return the times of events, not those that are told as ages."""
    return [each for each in page.all("time") if "data-since" not in each]


def test_jobs_are_listed_and_filtered(
    pages_client: httpx.Client, pages_home: Path, job_id: str
) -> None:
    page = Page.of(pages_client.get("/jobs"))
    assert f"/jobs/{job_id}" in page.links
    assert "36 new or changed" in page.text
    asked = {"status": "completed", "project": str(pages_home / "sample"), "days": "7"}
    narrowed = Page.of(pages_client.get("/jobs", params=asked))
    assert f"/jobs/{job_id}" in narrowed.links
    assert "selected" in narrowed.all("option", value=str(pages_home / "sample"))[0]
    empty = Page.of(pages_client.get("/jobs?status=blocked"))
    assert "No matching jobs" in empty.text
    part = Page.of(pages_client.get("/jobs", headers=HTMX))
    assert part.elements[0][1]["id"] == "job-list"


@pytest.mark.parametrize(
    "query",
    [
        "status=lost",
        "days=99",
        "cursor=%21",
        "project=/nowhere",
        "first=now",
        "first=0001-01-01",  # with no time before it
        "last=2026-13-01",
        "last=9999-12-31",  # with no day after it
    ],
)
def test_a_filter_that_no_page_made_is_refused(pages_client: httpx.Client, query: str) -> None:
    answer = pages_client.get(f"/jobs?{query}", headers={"Accept": "text/html"})
    assert answer.status_code in (400, 404)
    assert Page.of(answer).all("h1")


@pytest.mark.parametrize("before", ["0", "-1", "9" * 25, "x"])
def test_a_place_in_a_log_that_no_page_made_is_refused(
    pages_client: httpx.Client, job_id: str, before: str
) -> None:
    answer = pages_client.get(f"/jobs/{job_id}?before={before}", headers={"Accept": "text/html"})
    assert answer.status_code == 400
    assert Page.of(answer).all("h1")


def test_jobs_are_filtered_by_the_days_on_which_they_were_asked_for(
    pages_client: httpx.Client, job_id: str
) -> None:
    job = pages_client.get(f"/api/v1/jobs/{job_id}").json()
    asked_at = datetime.fromisoformat(job["created_at"]).astimezone()
    today, before, after = (f"{asked_at + timedelta(days=days):%Y-%m-%d}" for days in (0, -1, 1))
    for query, is_listed in (
        (f"first={before}&last={after}", True),
        (f"first={before}", True),
        (f"last={before}", False),
        (f"first={after}", False),
        ("days=7", True),
        (f"days=1&last={before}", False),
    ):
        page = Page.of(pages_client.get(f"/jobs?{query}"))
        assert (f"/jobs/{job_id}" in page.links) == is_listed, query
        assert ("No matching jobs" in page.text) != is_listed
    kept = Page.of(pages_client.get(f"/jobs?first={before}&last={today}"))
    assert kept.all("input", type="date", name="first")[0]["value"] == before
    assert f"/jobs?status=failed&first={before}&last={today}" in kept.links
    both = Page.of(pages_client.get(f"/jobs?days=1&first={before}&last={today}"))
    assert not both.all("option", value="1", selected="")  # it has no effect
    assert f"/jobs?status=failed&first={before}&last={today}" in both.links


def test_days_in_the_wrong_order_are_said(pages_client: httpx.Client, job_id: str) -> None:
    page = Page.of(pages_client.get("/jobs?first=2026-11-28&last=2026-11-01"))
    assert "The last day is before the first." in page.text
    assert "No matching jobs" not in page.text
    page = Page.of(pages_client.get("/jobs?first=1999-11-01&last=1999-11-01"))
    assert "No matching jobs." in page.text


def test_a_server_without_jobs_says_what_would_be_here(tmp_path: Path) -> None:
    with site(tmp_path) as server, server.client() as client:
        page = Page.of(client.get("/jobs"))
        assert "There are no jobs yet" in page.text
        assert "/#index" in page.links
        assert "No matching jobs." in Page.of(client.get("/jobs?status=failed")).text


def test_a_long_log_is_shown_from_its_end_and_by_kind(tmp_path: Path) -> None:
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        index = catalog.create(str(write_tree(tmp_path / "app", {"a.py": "x = 1\n"})))
        index.index()
        ledger = index.for_jobs().ledger
        row = ledger.claim(ledger.enqueue({}).row, "runner")
        assert row
        with ledger.store.write() as handle:
            for number in range(450):
                context = {"phase": "parsing", "files_processed": 100 * number, "chunks": number}
                at_ms = row.created_at_ms + 100 * number
                append_event(handle, row.id, "progress", at_ms=at_ms, context=context)
        error = {"file": "<b>.py", "error": "<i>cannot</i> be read"}
        files = ("files_indexed", "files_removed", "files_unchanged", "files_skipped")
        counts = (*files, "symbols_extracted")
        result: dict[str, object] = dict.fromkeys((*counts, "chunks", "embeddings_generated"), 1)
        result |= {"files_failed": 2, "errors": [error, {**error, "file": "c.py"}]}
        ledger.complete(row, result, {})
    with site(tmp_path) as server, server.client() as client:
        place = f"/jobs/{row.uuid}"
        page = Page.of(client.get(place))
        assert (len(_logged(page)), "all 453" in page.text) == (200, True)
        assert "1 new or changed, 1 removed, 1 unchanged, 1 skipped" in page.text
        earlier = next(link for link in page.links if "before=" in link)
        second = Page.of(client.get(earlier))
        assert len(_logged(second)) == 200
        assert not {each["datetime"] for each in _logged(page)[:-1]} & {
            each["datetime"] for each in _logged(second)
        }
        assert place in second.links
        assert not second.all("article", data_live="job", hx_swap="outerMorph")
        changes = Page.of(client.get(f"{place}?events=changes"))
        assert len(_logged(changes)) == 3
        assert len(_logged(Page.of(client.get(f"{place}?events=lost")))) == 200
        assert client.get(f"{place}?before=x", headers={"Accept": "text/html"}).status_code == 400
    assert "<i>cannot</i> be read 2 files" in page.text
    assert f"/p/{ledger.project_id}/f/%3Cb%3E.py" in page.links
    charts = page.all("svg", role="img")
    assert [chart["aria-label"].split(" over time: ")[0] for chart in charts] == [
        "Files per second",
        "Chunks per second",
    ]
    on_average = re.search(
        r"(\S+) files per second on average over 4\d\.\d s", charts[0]["aria-label"]
    )
    assert on_average
    assert 990 < int(on_average[1].replace(",", "")) < 1010
    assert f"{on_average[1]} on average" in page.text


def test_a_job_over_one_file_leads_to_that_file(pages_client: httpx.Client, sample_id: str) -> None:
    address = f"/p/{sample_id}/f/app/session.py"
    assert pages_client.post(address, headers=OWN_FORM).status_code == 303
    [latest] = pages_client.get("/api/v1/jobs", params={"limit": 1}).json()["jobs"]
    page = Page.of(pages_client.get(f"/jobs/{latest['job_id']}"))
    [file] = page.all("a", id="open-file")
    assert file["href"] == address


def test_the_file_of_a_job_is_found_however_it_was_named(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"in/a.py": "x = 1\n"})
    named = {f"{tree}/in/a.py": True, "./in/a.py": True, str(tree): False, "/etc/hosts": False}
    ids = []
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        index = catalog.create(str(tree))
        index.index()
        ledger = index.for_jobs().ledger
        for name in named:
            row = ledger.claim(ledger.enqueue({"only": [name]}).row, "runner")
            assert row
            ledger.complete(row, {}, {})
            ids.append(row.uuid)
    with site(tmp_path) as server, server.client() as client:
        for job_id, leads_to_file in zip(ids, named.values(), strict=True):
            page = Page.of(client.get(f"/jobs/{job_id}"))
            files = [each["href"] for each in page.all("a", id="open-file")]
            assert files == [f"/p/{index.project_id}/f/in/a.py"] * leads_to_file
            assert bool(page.all("a", id="open-project")) is not leads_to_file


def test_a_job_shows_what_it_did_and_its_log(pages_client: httpx.Client, job_id: str) -> None:
    page = Page.of(pages_client.get(f"/jobs/{job_id}"))
    for wanted in ("Index sample", "completed", "36 new or changed", "created", "started", job_id):
        assert wanted in page.text
    assert not page.all("form", action=f"/jobs/{job_id}/cancel")
    [project] = page.all("a", id="open-project")
    assert pages_client.get(project["href"]).status_code == 200
    assert not page.all("form", action=f"/jobs/{job_id}/retry")
    states = Page.of(pages_client.get(f"/jobs/{job_id}?events=changes"))
    assert not states.all("span", class_="type checkpoint")
    assert states.all("span", class_="type completed")
    part = Page.of(pages_client.get(f"/jobs/{job_id}", headers=HTMX))
    assert part.text.startswith("Completed: sample · CodeCairn")  # the title of the page
    assert part.all("article", id="job", data_live_job=job_id)


def test_a_job_is_cancelled_and_asked_for_again(tmp_path: Path) -> None:
    many = {f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(100)}
    tree = write_tree(tmp_path / "many", {**many, "slow.py": "slow = 1\n"})
    hangs = {"CAIRN_FAULT": "hang:parse:slow.py", "CAIRN_PARSE_TIMEOUT": "600000"}
    with site(tmp_path, **hangs) as server, server.client() as client:
        place = client.post("/", data={"path": "~/many"}, headers=OWN_FORM).headers["location"]
        until(lambda: bool(Page.of(client.get(place)).all("progress")))
        running = Page.of(client.get(place))
        assert running.all("form", action=f"{place}/cancel", method="post")

        def is_listed() -> bool:
            rows = Page.of(client.get("/jobs?status=running"))
            return bool(rows.all("form", action=f"{place}/cancel"))

        until(is_listed)
        asked = {"back": "/jobs?status=running"}
        answer = client.post(f"{place}/cancel", data=asked, headers=OWN_FORM)
        assert (answer.status_code, answer.headers["location"]) == (303, asked["back"])
        until(lambda: client.get(f"/api/v1{place}").json()["status"] == "cancelled")
        assert client.post(f"{place}/cancel", headers=OWN_FORM).status_code == 409
        assert "many" in Page.of(client.get("/jobs?status=cancelled")).text
        ended = Page.of(client.get(place))
        assert "of 101 files done and kept" in ended.text or "before it read any" in ended.text
        assert not ended.all("a", id="open-project")
        assert ended.all("form", action=f"{place}/retry", method="post")
        (tree / "slow.py").unlink()
        again = client.post(f"{place}/retry", headers=OWN_FORM).headers["location"]
        assert again != place
        until(lambda: "completed" in Page.of(client.get(again)).text)
        done = client.get("/jobs?status=cancelled")
        outcomes = ("stopped after", "cancelled before it started")
        assert any(each in Page.of(done).text for each in outcomes)
        refused = client.post(f"{again}/retry", headers=OWN_FORM)
        assert refused.status_code == 409
        assert "only failed and cancelled jobs" in Page.of(refused).text


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
        assert "/api/" not in Page.of(answer).text
    answer = pages_client.get(f"/jobs/{'f' * 32}", headers={"Accept": "text/html"})
    assert "The page Jobs lists those that are there; ended jobs are kept for some days." in (
        Page.of(answer).text
    )
