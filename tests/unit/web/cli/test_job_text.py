"""One job in full: what is said in each state, and what to do next."""

from datetime import UTC, datetime

import pytest

from engine.state_records import STOPPED_WITH_WATCHER, Job, JobOrigin, JobState
from tests.support.job_records import JOB_ID, job
from web.cli.job_text import View, job_line, job_text, next_step
from web.terminal import Style

NOW = datetime(2025, 10, 17, 9, 0, 4, tzinfo=UTC)
PIPE = View(style=Style(), width=None, now=NOW)


def test_a_running_job() -> None:
    wishes = {"include_patterns": ["*.go", "docs/"], "force": True, "max_file_size": None}
    assert job_text(job(parameters=wishes, attempt=2, log="/logs/a.log"), PIPE).splitlines() == [
        f"job       {JOB_ID}",
        "project   /src/app",
        "state     running, attempt 2: continued after its process had ended",
        "progress  parsing 250/1,000 files (25%), 125 files/s, 6 s left",
        "file      src/app.py",
        "created   2025-10-17 09:00:00Z, 4 s ago by a request, 8.0 s expected",
        "options   include *.go docs/, force",
        "started   2025-10-17 09:00:01Z, 3 s ago, 2.0 s so far",
        "heartbeat 2025-10-17 09:00:03Z, 1 s ago",
        "done      2,000 symbols, 900 chunks, 900 vectors;"
        " the 250 of 1,000 files done so far can be searched",
        "log       /logs/a.log",
        "next      cairn jobs show 876992c0 --follow, or cairn jobs cancel 876992c0",
    ]


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        (
            job(JobState.PENDING, origin=JobOrigin.WATCH),
            ["state     pending, 3rd in the queue", "by the watcher, 8.0 s expected"],
        ),
        (
            job(JobState.BLOCKED),
            ["waiting   embedding model unavailable: no answer from 127.0.0.1:8080"],
        ),
        (
            job(JobState.COMPLETED),
            [
                "ended     2025-10-17 09:00:09Z, 0 s ago, took 8.0 s",
                "done      990 new or changed, 3 removed, 12 skipped, 10 failed;"
                " 8,000 symbols, 3,600 chunks, 3,600 vectors",
            ],
        ),
        (job(JobState.FAILED), ["error     disk full: no room for 12 MB", "hint      make room"]),
    ],
)
def test_each_state_says_what_matters(shown: Job, lines: list[str]) -> None:
    text = job_text(shown, PIPE)
    for line in lines:
        assert line in text


@pytest.mark.parametrize(
    ("shown", "step"),
    [
        (job(JobState.PENDING), "cairn jobs show 876992c0 --follow"),
        (job(cancel_requested=True), "it is stopping"),
        (job(JobState.BLOCKED), "it continues by itself"),
        (job(JobState.COMPLETED, path="/src/my app"), "--project '/src/my app'"),
        (job(JobState.FAILED), "cairn jobs retry 876992c0"),
        (job(JobState.CANCELLED), "cairn jobs retry 876992c0"),
        (
            job(JobState.CANCELLED, waiting="gave way to newer changes"),
            "nothing: it continues by itself",
        ),
        (
            job(JobState.CANCELLED, path="/src/my app", waiting=STOPPED_WITH_WATCHER),
            "cairn watch '/src/my app', or cairn index '/src/my app', indexes what is left",
        ),
    ],
)
def test_the_next_step(shown: Job, step: str) -> None:
    assert step in next_step(shown)


def test_a_line_of_a_project() -> None:
    assert job_line(job(JobState.PENDING), PIPE) == (
        "pending    876992c0  waiting: 3rd in the queue"
    )
    assert job_line(job(JobState.FAILED), PIPE) == (
        "failed     876992c0  1 s ago: disk full: no room for 12 MB"
    )


def test_a_repository_cannot_command_the_terminal() -> None:
    hostile = {"error": "x", "message": "\x1b[2J", "details": {"hint": "\x1b[2J"}}
    bad = job(
        JobState.FAILED, path="\x1b[2J", parameters={"only": ["\x1b[2J"]}, error=hostile, log="\x9b"
    )
    assert "\x1b" not in job_text(bad, PIPE) + job_line(bad, PIPE)
    assert "\x1b" not in job_text(job(current_file="\x1b[2J", waiting="\x1b[2J"), PIPE)
    assert "\x1b" not in next_step(job(JobState.COMPLETED, path="\x1b[2J"))
