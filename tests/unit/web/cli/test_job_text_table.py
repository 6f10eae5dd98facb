"""Jobs as a table: what a line says, and how it fits."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine.index_records import Phase
from engine.state_records import Job, JobPage, JobState
from tests.support.job_records import job
from web.cli.job_text import View, bar_of, jobs_text
from web.terminal import Style, width_of

NOW = datetime(2025, 10, 17, 9, 5, tzinfo=UTC)
PIPE = View(style=Style(), width=None, now=NOW)


def _page(*jobs: Job, total: int | None = None, cursor: str | None = None) -> JobPage:
    return JobPage(jobs=jobs, total=total or len(jobs), next_cursor=cursor)


def _shown(*jobs: Job, view: View = PIPE) -> list[str]:
    return jobs_text(
        _page(*jobs), view, is_filtered=False, has_watchers=True, retention_days=7
    ).splitlines()


def test_a_pipe_gets_a_plain_table() -> None:
    pending = job(JobState.PENDING, job_id="72a5ad47-a4bc-841d-80f1-c5e000000001")
    table = """\
ID        STATE      PROJECT   PROGRESS                       RATE         TIME        AGE
876992c0  running    /src/app  parsing 250/1,000 files (25%)  125 files/s  6 s left    5 min
00000001  pending    /src/app  3rd in the queue                            ~8.0 s      5 min
876992c0  blocked    /src/app  parsing 250/1,000 files (25%)               for 2 s     5 min
          embedding model unavailable: no answer from 127.0.0.1:8080
876992c0  completed  /src/app  990 new or changed                          took 8.0 s  5 min
4 jobs, 3 active"""
    jobs = [job(), pending, job(JobState.BLOCKED), job(JobState.COMPLETED)]
    assert _shown(*jobs) == table.splitlines()


@pytest.mark.parametrize(
    ("shown", "parts"),
    [
        (job(JobState.FAILED), ["failed", "250 of 1,000 files kept", "took 2.0 s"]),
        (job(JobState.CANCELLED), ["cancelled", "250 of 1,000 files kept"]),
        (job(JobState.CANCELLED, started_at=None), ["cancelled", "never started"]),
        (job(cancel_requested=True), ["stopping", "parsing"]),
        (job(phase=None), ["running", "starting"]),
        (job(phase=Phase.SCANNING), ["running", "scanning  "]),
        (
            job(phase=Phase.EMBEDDING, done=9, total=10, rate=3.5),
            ["embedding 9/10 chunks (90%)", "3.5 chunks/s"],
        ),
    ],
)
def test_a_line_says_how_a_job_stands(shown: Job, parts: list[str]) -> None:
    line = _shown(shown)[1]
    for part in parts:
        assert part in line


def test_a_second_line_says_what_is_wrong() -> None:
    assert _shown(job(JobState.FAILED))[2] == " " * 10 + "disk full: no room for 12 MB"
    assert "active for a long time: cairn jobs events 876992c0" in _shown(job(flagged=True))[2]


@pytest.mark.parametrize("width", [20, 40, 50, 60, 70, 80, 100, 120, 200])
def test_a_table_fits_its_terminal(width: int) -> None:
    view = replace(PIPE, width=width)
    path = "/home/someone/projects/深い場所/" + "very-long-name/" * 5 + "app"
    lines = _shown(job(path=path), job(JobState.FAILED, path=path), view=view)[:-1]
    assert max(map(width_of, lines)) <= width
    if width >= 50:
        assert "/app  " in lines[1]
        assert "parsing" in lines[1]
        assert "25%" in lines[1]


def test_a_wide_terminal_gets_bars_and_a_narrow_one_what_matters_most() -> None:
    assert "██░░░░░░░░ parsing" in _shown(job(), view=replace(PIPE, width=120))[1]
    narrow = _shown(job(), view=replace(PIPE, width=66))
    assert "parsing 250/1,000 files (25%)" in narrow[1]
    assert "RATE" not in narrow[0]


def test_colours_do_not_move_columns() -> None:
    plain = replace(PIPE, width=120)
    jobs = [job(), job(JobState.PENDING), job(JobState.FAILED), job(JobState.COMPLETED)]
    colored = _shown(*jobs, view=replace(plain, style=Style(color=True)))
    bare = [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in colored]
    assert bare == _shown(*jobs, view=plain)
    assert "\x1b[31mfailed" in "\n".join(colored)


def test_a_repository_cannot_command_the_terminal() -> None:
    bad = job(JobState.BLOCKED, path="/src/\x1b[2Japp", waiting="gone\n\x1b[2J")
    text = "\n".join(_shown(bad))
    assert "\x1b" not in text
    assert "/src/\\x1b[2Japp" in text
    assert "gone\\n" in text


def test_more_is_said_with_how_to_see_it() -> None:
    page = _page(job(), total=70, cursor="abc=")
    last = jobs_text(
        page, PIPE, is_filtered=False, has_watchers=True, retention_days=7
    ).splitlines()[-1]
    assert last == "1 of 70 jobs, 1 active; more: --cursor abc="


def test_a_list_without_the_watchers_jobs_says_so() -> None:
    text = jobs_text(_page(job()), PIPE, is_filtered=False, has_watchers=False, retention_days=7)
    assert text.splitlines()[-1] == "1 requested job, 1 active; with the watcher's: --all"


def test_nothing_says_what_to_do() -> None:
    nothing = jobs_text(_page(), PIPE, is_filtered=False, has_watchers=True, retention_days=14)
    assert nothing.startswith("No jobs in the last 14 days.\n")
    assert "cairn index PATH" in jobs_text(
        _page(), PIPE, is_filtered=False, has_watchers=True, retention_days=7
    )
    assert "--all" in jobs_text(
        _page(), PIPE, is_filtered=True, has_watchers=True, retention_days=7
    )
    broken = JobPage(jobs=(), total=0, next_cursor=None, errors=("a.db is no index",))
    noted = jobs_text(broken, PIPE, is_filtered=False, has_watchers=True, retention_days=7)
    assert noted.startswith("note: a.db is no index\n")


def test_a_bar_is_full_at_the_end_only() -> None:
    assert bar_of(0.0) == "░" * 10
    assert bar_of(0.999) == "█" * 9 + "░"
    assert bar_of(1.0) == "█" * 10
    assert bar_of(None) == ""
