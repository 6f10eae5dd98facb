"""Numbers in words."""

from dataclasses import replace
from typing import Any

import pytest

from engine.index_records import Phase
from engine.state_records import JobState
from tests.support.job_records import job
from web.wording import (
    age,
    count,
    duration,
    go_duration,
    kept_text,
    on_page,
    ordinal,
    percent,
    progress_of,
    quantity,
    sentence,
    share_of,
    shortened,
    signature_of,
    size,
    summary_of,
    time_left_of,
)


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (1200, "file", "1,200 files"),
        (2, "entry", "2 entries"),
    ],
)
def test_count(number: int, noun: str, said: str) -> None:
    assert count(number, noun) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0.04, "0.0 ms"),
        (3.21, "3.2 ms"),
        (9.96, "10 ms"),
        (850.4, "850 ms"),
        (999.7, "1.0 s"),
        (4100, "4.1 s"),
        (59_970, "1 min 00 s"),
        (125_000, "2 min 05 s"),
        (3_725_000, "1 h 02 min"),
    ],
)
def test_duration(milliseconds: float, said: str) -> None:
    assert duration(milliseconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.1, "100ms"), (2.5, "2.5s"), (60, "1m0s"), (300, "5m0s"), (3725, "1h2m5s")],
)
def test_a_duration_as_go_programs_write_it(seconds: float, said: str) -> None:
    assert go_duration(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (1_440_000, "1.4 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_size(number: int, said: str) -> None:
    assert size(number) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0%"),
        (0.0001, "0.1%"),
        (0.004, "0.4%"),
        (0.0096, "1%"),
        (0.5, "50%"),
        (0.99, "99%"),
        (0.996, "99.6%"),
        (0.9999, "99.9%"),
        (1, "100%"),
    ],
)
def test_percent_says_all_or_nothing_only_when_it_is(share: float, said: str) -> None:
    assert percent(share) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (-5, "0 s"),
        (999, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_600_000, "1 h"),
        (200_000_000, "2 d"),
        (60 * 86_400_000, "60 d"),
        (61 * 86_400_000, "2 mo"),
        (730 * 86_400_000, "23 mo"),
        (731 * 86_400_000, "2 y"),
        (4592 * 86_400_000, "12 y"),
    ],
)
def test_age(milliseconds: float, said: str) -> None:
    assert age(milliseconds) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd"), (113, "113th")],
)
def test_ordinal(number: int, said: str) -> None:
    assert ordinal(number) == said


@pytest.mark.parametrize(
    ("number", "unit", "said"),
    [
        (0, "bytes", "0 bytes"),
        (1000, "bytes", "1,000 bytes"),
        (1 << 20, "bytes", "1 MiB"),
        (5_000_000, "bytes", "4.8 MiB"),
        (1 << 30, "bytes", "1 GiB"),
        (500, "ms", "500 ms"),
        (1500, "ms", "1.5 s"),
        (86_400, "s", "1 d"),
        (5400, "s", "1.5 h"),
        (14, "days", "14 days"),
        (1, "processes", "1 process"),
    ],
)
def test_quantity(number: int, unit: str, said: str) -> None:
    assert quantity(number, unit) == said


def test_a_list_at_the_end_of_a_sentence_is_cut_when_it_is_long() -> None:
    names = [f"name{number}" for number in range(100)]
    cut = "known: name0, name1, name2, name3, name4, name5, name6, name7 and 92 more"
    assert shortened(f"known: {', '.join(names)}") == cut
    short = f"known: {', '.join(names[:9])}"
    assert shortened(short) == short


@pytest.mark.parametrize(
    ("changes", "share", "said"),
    [
        # The largest files come first: few files, many bytes.
        (
            {"bytes_done": 6_100_000, "bytes_total": 10_000_000},
            0.61,
            "250/1,000 files, 61% of 10.0 MB",
        ),
        ({"bytes_total": None}, 0.25, "250/1,000 files (25%)"),
        ({"bytes_total": 0}, 0.25, "250/1,000 files (25%)"),  # all are empty
        (
            {"phase": Phase.EMBEDDING, "done": 9, "total": 10, "bytes_done": 5, "bytes_total": 5},
            0.9,
            "9/10 chunks (90%)",
        ),
        ({"phase": Phase.SCANNING, "total": None}, None, ""),
    ],
)
def test_progress_counts_bytes_while_files_are_read(
    changes: dict[str, Any], share: float | None, said: str
) -> None:
    shown = job(**changes)
    assert share_of(shown) == share
    assert progress_of(shown) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (0, ""), (0.3, "1 s left"), (6.2, "6 s left"), (75.4, "1 min 15 s left")],
)
def test_the_time_left_is_in_whole_seconds(seconds: float | None, said: str) -> None:
    assert time_left_of(job(eta_seconds=seconds)) == said


def test_a_blocked_job_has_no_time_left() -> None:
    assert time_left_of(job(eta_seconds=6.0)) == "6 s left"
    assert time_left_of(job(JobState.BLOCKED, eta_seconds=6.0)) == ""


def test_a_job_that_is_cancelled_in_the_queue_did_not_start() -> None:
    assert summary_of(job(JobState.CANCELLED, started_at=None)) == "cancelled before it started"
    assert summary_of(job(JobState.CANCELLED)).startswith("stopped after ")


def test_what_answers_beside_a_rebuild() -> None:
    rebuild: dict[str, Any] = {"parameters": {"force_clean": True}}
    assert kept_text(job(**rebuild)) == "the old index answers until it has ended"
    stopped = job(JobState.CANCELLED, **rebuild)
    assert kept_text(stopped) == "the old index is as it was"
    assert summary_of(stopped).endswith(", the old index is as it was")
    assert kept_text(job(JobState.FAILED, attempt=2, **rebuild)) == (
        "the old index is as it was, unless the new one had replaced it before"
    )
    assert kept_text(job()) == "the 250 of 1,000 files done so far can be searched"
    none = replace(job(), files_done=0, files_total=None)
    assert kept_text(none) == "no files done so far; what was indexed before can be searched"


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("def f( self, *names: str, ) -> None", "def f(self, *names: str) -> None"),
        ("func f( a []int, b map[ string ]int, )", "func f(a []int, b map[string]int)"),
        ("int main( void )", "int main(void)"),
        ("def f(self, *, key: int = (1,))", "def f(self, *, key: int = (1,))"),
        ("fn f( ) -> ()", "fn f() -> ()"),
    ],
)
def test_signature(signature: str, said: str) -> None:
    assert signature_of(signature) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "run cairn index to create them",
            "choose “Index again” on the project's page to create them",
        ),
        (
            "the last run did not finish; cairn index completes it",
            "the last run did not finish; “Index again” on the project's page completes it",
        ),
        ("index it: cairn index /home/me/app", "index it: cairn index /home/me/app"),
        ("run cairn index as the owner", "run cairn index as the owner"),
    ],
)
def test_a_page_names_its_button_instead_of_the_command(text: str, said: str) -> None:
    assert on_page(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the folder is gone", "The folder is gone"),
        ("'type:' is", "'type:' is"),
        ("build/out.py is not in the index", "build/out.py is not in the index"),
        ("model_threads is 0", "model_threads is 0"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_but_not_in_what_it_quotes(text: str, said: str) -> None:
    assert sentence(text) == said
