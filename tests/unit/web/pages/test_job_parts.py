"""Texts from repositories are escaped wherever a job is shown."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.state_records import EventType, Job, JobEvent, JobPage, JobState
from tests.support.job_records import job
from tests.support.pages import Page
from web.job_events import describe_event
from web.pages.jobs import Cause, EventFilter, JobListParams, JobPageParams, LogEntry
from web.pages.rendering import PageRequest, Pages

_PAGE_REQUEST = PageRequest(theme="", here="/jobs", is_fragment=True)
_PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</code></pre><svg/onload=alert(1)//",
    "javascript:alert(1)",
    "{{7*7}}\u202e\x1b[31m",
)


def _parts(told: Job, payload: str) -> Iterator[str]:
    """Yield each part of a page that shows a job, as HTML."""
    event = JobEvent(
        job_id=told.job_id,
        sequence=1,
        type=EventType.PAUSED,
        timestamp=told.created_at,
        context={"reason": payload},
    )
    one = {
        "job": told,
        "view": JobPageParams(job_id=told.job_id),
        "kinds": [EventFilter(name="", title="all", number=1)],
        "entries": [LogEntry(event=event, since="1 s", words=describe_event(event))],
        "earlier": 7,
        "timeline": {"segments": (), "charts": ()},
        "causes": [Cause(error=payload, files=(f"{payload}/x.py",))],
        "can_cancel": True,
        "can_retry": False,
    }
    params = JobListParams(status="", project=payload, days="", first="", last="", cursor=None)
    found = JobPage(jobs=(told,), total=1, next_cursor=payload, errors=(payload,))
    pages = Pages()
    for template, facts in (
        ("parts/job.html", one),
        ("parts/job_list.html", {"params": params, "found": found}),
        ("parts/job_progress.html", {"job": told}),
    ):
        yield pages.html(template, _PAGE_REQUEST, facts).decode()


@pytest.mark.parametrize("payload", _PAYLOADS)
@pytest.mark.parametrize("status", list(JobState))
def test_no_text_of_a_job_is_markup(payload: str, status: JobState) -> None:
    error = {"error": "x", "message": payload, "details": {"hint": payload}}
    hostile = replace(
        job(status),
        path=f"/home/{payload}",
        current_file=f"src/{payload}.py",
        waiting=payload,
        error=error if status is JobState.FAILED else None,
    )
    for text in _parts(hostile, payload):
        page = Page(text)
        page.check()
        assert not page.all("script")
        assert "\x1b" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize("status", [JobState.BLOCKED, JobState.FAILED])
def test_a_page_names_no_file_of_the_index(status: JobState) -> None:
    message = "database busy: the index is locked"
    details = {"file": f"/home/me/cairn/{'0a' * 32}.db"}
    error = {"error": "unavailable", "message": message, "details": details}
    is_failed = status is JobState.FAILED
    told = job(status, waiting=None if is_failed else message, error=error if is_failed else None)
    for text in _parts(told, ""):
        assert message in text.replace("Database busy", "database busy")  # as a sentence
        assert "0a0a" not in text


def test_a_failed_job_without_details_is_shown() -> None:
    told = job(JobState.FAILED, error={"error": "unavailable", "message": "it has failed"})
    assert all("it has failed" in text.lower() for text in _parts(told, ""))
