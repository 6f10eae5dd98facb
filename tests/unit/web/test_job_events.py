"""The time line of a job."""

from typing import Any

import pytest

from engine.state_records import EventType, JobEvent
from tests.support.job_records import JOB_ID
from web.job_events import describe_event, event_lines
from web.terminal import Style

_AT = "2025-10-17T09:00:00.000Z"


def _event(type_: EventType, timestamp: str = _AT, **context: Any) -> JobEvent:
    return JobEvent(job_id=JOB_ID, sequence=1, type=type_, timestamp=timestamp, context=context)


def test_a_line_has_the_time_and_the_time_since_the_beginning() -> None:
    events = [
        _event(EventType.CREATED, "2025-10-17T23:59:58.000Z", origin="watch"),
        _event(EventType.STARTED, "2025-10-17T23:59:59.500Z", attempt=1, files_done=0),
        _event(EventType.COMPLETED, "2025-10-18T00:01:03.000Z", files_done=7, files_total=7),
    ]
    assert list(event_lines(events, Style())) == [
        "2025-10-17, UTC",
        "23:59:58       +0.0 ms  created           by the watcher",
        "23:59:59        +1.5 s  started           attempt 1",
        "2025-10-18, UTC",
        "00:01:03   +1 min 05 s  completed         7/7 files",
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            _event(EventType.PROGRESS, phase="parsing", files_processed=102, files_total=3000),
            "indexing, 102/3,000 files",
        ),
        (
            _event(EventType.PROGRESS, phase="embedding", chunks_done=5, chunks_total=90),
            "embedding, 5/90 chunks",
        ),
        (_event(EventType.PROGRESS, phase="later", files_processed=1), "later, 1 file"),
        (
            _event(EventType.CHECKPOINT, kind="file_list", files=3000, bytes=14_100_000),
            "file list, 3,000 files to read, 14.1 MB",
        ),
        (
            _event(EventType.CHECKPOINT, kind="position", files_done=510, files_total=3000),
            "position, 510/3,000 files",
        ),
        (_event(EventType.PAUSED, reason="disk full: x"), "disk full: x"),
        (_event(EventType.RESUMED, waited_ms=2500), "after waiting 2.5 s"),
        (
            _event(EventType.RESUMED, attempt=2, files_done=40),
            "attempt 2, 40 files, its process had ended",
        ),
        (_event(EventType.CANCEL_REQUESTED), ""),
        (_event(EventType.CANCEL_REQUESTED, reason="wrong folder"), "wrong folder"),
        (_event(EventType.CANCELLED, files_done=1, files_total=None), "1 file"),
        (_event(EventType.FAILED, error={"message": "\x1b[2J"}), "\\x1b[2J"),
        (_event(EventType.FAILED, error=None), ""),
    ],
)
def test_what_an_event_says(event: JobEvent, said: str) -> None:
    assert describe_event(event) == said


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            _event(EventType.PROGRESS, phase="history", files_processed=200),
            "reading the history, 200 commits",
        ),
        (
            _event(EventType.CHECKPOINT, kind="file_list", files=0, bytes=0, files_done=300),
            "commit list, 300 commits",
        ),
        (_event(EventType.COMPLETED, files_done=300, files_total=300), "300/300 commits"),
    ],
)
def test_a_job_of_the_history_counts_commits(event: JobEvent, said: str) -> None:
    assert describe_event(event, "commit") == said


def test_every_type_is_told() -> None:
    for kind in EventType:
        [_, line] = event_lines([_event(kind)], Style(color=True))
        assert kind.value.replace("_", " ") in line
