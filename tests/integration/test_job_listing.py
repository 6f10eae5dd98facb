"""Jobs of all projects by page and filter, whatever their times are."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import InvalidInputError
from engine.jobs.ledger import Ledger
from engine.state_records import Job, JobFilter, JobKind, JobOrigin, JobState
from engine.store import jobs
from tests.support.jobs import catalog_in
from tests.support.ledger import ERROR, RESULT, START_MS, FakeClock, ledger_in

PROJECTS = 3
JOBS = 7
STATES = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def home(tmp_path: Path, clock: FakeClock) -> Path:
    """A data directory whose projects each have seven jobs, most of them of equal times."""
    for number in range(PROJECTS):
        with ledger_in(tmp_path, clock, f"{number:x}" * 64) as ledger:
            for each in range(JOBS):
                clock.now_ms = START_MS + (each // 5) * 1000
                origin = JobOrigin.WATCH if each == 6 else JobOrigin.REQUEST
                row = ledger.enqueue({"n": each}, origin=origin).row
                state = STATES[each % 3]
                if state is JobState.CANCELLED:
                    ledger.request_cancel(row.uuid)
                    continue
                taken = ledger.claim(row, "runner")
                assert taken
                if state is JobState.COMPLETED:
                    ledger.complete(taken, RESULT, {})
                else:
                    ledger.fail(taken, ERROR, {})
    return tmp_path


@pytest.fixture
def catalog(home: Path) -> Iterator[Catalog]:
    with catalog_in(home) as catalog:
        yield catalog


def pages(catalog: Catalog, limit: int, **wanted: object) -> list[Job]:
    found: list[Job] = []
    cursor: str | None = None
    for _ in count():
        page = catalog.jobs.list(JobFilter(limit=limit, cursor=cursor, **wanted))  # type: ignore[arg-type]
        assert len(page.jobs) <= limit
        found += page.jobs
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(found)
            break
        assert len(page.jobs) == limit
    return found


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 20, 21, 22, 1000])
def test_pages_of_any_size_give_each_job_once_in_one_order(limit: int, catalog: Catalog) -> None:
    whole = catalog.jobs.list(JobFilter(limit=1000)).jobs
    assert len({job.job_id for job in whole}) == PROJECTS * JOBS
    created = [job.created_at for job in whole]
    assert created == sorted(created, reverse=True)
    assert len(set(created)) == 2
    assert pages(catalog, limit) == list(whole)


@pytest.mark.parametrize("limit", [1, 3])
def test_filters_hold_on_every_page(limit: int, catalog: Catalog) -> None:
    failed = pages(catalog, limit, status=JobState.FAILED)
    assert [job.status for job in failed] == [JobState.FAILED] * (2 * PROJECTS)
    assert len(pages(catalog, limit, origin=JobOrigin.WATCH)) == PROJECTS
    early = pages(catalog, limit, created_before="2023-11-14T22:13:21Z")
    assert len(early) == 5 * PROJECTS
    late = pages(catalog, limit, created_after="2023-11-14T22:13:20.500+00:00")
    assert len(late) == 2 * PROJECTS
    assert len(pages(catalog, limit, created_after="2023-11-14T22:13:20")) == 2 * PROJECTS  # UTC
    assert pages(catalog, limit, created_after="9999-12-31") == []


def test_jobs_that_come_meanwhile_repeat_none_and_hide_none(
    home: Path, catalog: Catalog, clock: FakeClock
) -> None:
    before = catalog.jobs.list(JobFilter(limit=1000)).jobs
    page = catalog.jobs.list(JobFilter(limit=10))
    with ledger_in(home, clock, "0" * 64) as ledger:
        clock.now_ms += 5000
        row = ledger.enqueue({}).row
        ledger.request_cancel(row.uuid)
    rest = catalog.jobs.list(JobFilter(limit=1000, cursor=page.next_cursor))
    assert (*page.jobs, *rest.jobs) == before
    assert catalog.jobs.list().jobs[0].job_id == row.uuid


def test_jobs_that_wait_are_numbered_over_all_projects(home: Path, catalog: Catalog) -> None:
    clock = FakeClock()
    with ExitStack() as opened:
        ids = []
        for number in (2, 0, 1):
            ledger = opened.enter_context(ledger_in(home, clock, f"{number:x}" * 64))
            clock.now_ms += 1
            ids.append(ledger.enqueue({}).row.uuid)
        waiting = catalog.jobs.list(JobFilter(status=JobState.PENDING)).jobs
        assert {job.job_id: job.position for job in waiting} == {
            each: place for place, each in enumerate(ids, 1)
        }


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "?",
        "é",
        "AAAA",
        "////",
        encoded("soon/x"),
        encoded("/"),
        encoded(f"{1 << 63}/x"),
        encoded("9" * 5000 + "/x"),
        base64.urlsafe_b64encode(b"\xff\xfe/x").decode(),
        "A" * 100_001,
    ],
)
def test_a_cursor_that_cannot_be_read_is_an_error_of_the_caller(
    cursor: str, catalog: Catalog
) -> None:
    with pytest.raises(InvalidInputError) as error:
        catalog.jobs.list(JobFilter(cursor=cursor))
    assert error.value.details["field"] == "cursor"


def test_a_cursor_of_what_is_gone_goes_on_after_its_place(catalog: Catalog) -> None:
    assert catalog.jobs.list(JobFilter(cursor=encoded("0/x"))).jobs == ()
    late = encoded(f"{START_MS + 500}/any")
    assert len(catalog.jobs.list(JobFilter(cursor=late)).jobs) == 5 * PROJECTS


@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(created_after="soon"),
        JobFilter(created_before=""),
        JobFilter(created_before="2023-13-01"),
        JobFilter(limit=0),
        JobFilter(limit=1001),
        JobFilter(limit=-1),
    ],
)
def test_a_filter_that_cannot_be_read_is_an_error_of_the_caller(
    wanted: JobFilter, catalog: Catalog
) -> None:
    with pytest.raises(InvalidInputError):
        catalog.jobs.list(wanted)


def test_a_damaged_project_is_told_of_and_hides_no_other(home: Path, catalog: Catalog) -> None:
    (home / f"{'f' * 64}.db").write_bytes(b"damaged" * 2000)
    page = catalog.jobs.list(JobFilter(limit=1000))
    assert len(page.jobs) == PROJECTS * JOBS
    [error] = page.errors
    assert error.startswith(f"project {'f' * 12}: the index ")


def test_a_job_that_cannot_be_read_is_told_of_and_hides_no_other(
    home: Path, clock: FakeClock
) -> None:
    with ledger_in(home, clock, "1" * 64) as ledger:
        damaged = damage_newest(ledger)
    with catalog_in(home) as catalog:
        whole = catalog.jobs.list(JobFilter(limit=1000))
        assert len(whole.jobs) == PROJECTS * JOBS - 1
        assert damaged not in {job.job_id for job in whole.jobs}
        [error] = whole.errors
        assert error.startswith("/tree: the index is damaged")
        assert pages_of_damaged(catalog, 1) == list(whole.jobs)
        assert len(catalog.activity.poll()) == PROJECTS


def damage_newest(ledger: Ledger) -> str:
    """Damage what the newest job of a project stores; give its id."""
    with ledger.store.write(bookkeeping=True) as handle:
        [row] = jobs.search_jobs(handle, jobs.JobSearch(), 1)
        jobs.update_job(handle, row.id, {"counts": "{oops"})
    return row.uuid


def pages_of_damaged(catalog: Catalog, limit: int) -> list[Job]:
    found: list[Job] = []
    page = catalog.jobs.list(JobFilter(limit=limit))
    while page.next_cursor:
        found += page.jobs
        page = catalog.jobs.list(JobFilter(limit=limit, cursor=page.next_cursor))
    return found + list(page.jobs)


def test_no_jobs_at_all(tmp_path: Path) -> None:
    with catalog_in(tmp_path / "nothing yet") as catalog:
        page = catalog.jobs.list()
        assert (page.jobs, page.total, page.next_cursor, page.errors) == ((), 0, None, ())


def test_a_history_is_last_in_the_queue_whenever_it_was_submitted(tmp_path: Path) -> None:
    clock = FakeClock()
    for number, kind in enumerate((JobKind.HISTORY, JobKind.INDEX, JobKind.INDEX)):
        with ledger_in(tmp_path, clock, f"{number:x}" * 64) as ledger:
            ledger.enqueue({}, kind=kind)
        clock.now_ms += 1000
    with catalog_in(tmp_path) as catalog:
        found = catalog.jobs.list().jobs
    assert [(job.kind, job.position) for job in reversed(found)] == [
        (JobKind.HISTORY, 3),
        (JobKind.INDEX, 1),
        (JobKind.INDEX, 2),
    ]
