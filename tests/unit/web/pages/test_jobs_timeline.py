"""The timeline of a job: phases and throughput from its events, and no chart from too few."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.state_records import EventType, JobEvent, JobState
from tests.support.job_records import job
from web.pages.jobs import Timeline, timeline_of

_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _event(seconds: float, type_: EventType, **context: object) -> JobEvent:
    moment = _START + timedelta(seconds=seconds)
    return JobEvent(
        job_id="j", sequence=1, type=type_, timestamp=moment.isoformat(), context=context
    )


def _progress(seconds: float, files: int, chunks: int | None = None) -> JobEvent:
    told = {"phase": "parsing", "files_processed": files}
    return _event(
        seconds, EventType.PROGRESS, **told, **({} if chunks is None else {"chunks": chunks})
    )


def _timeline(*events: JobEvent, status: JobState = JobState.COMPLETED) -> Timeline:
    return timeline_of(replace(job(status)), events)


def test_phases_have_their_times_and_a_wait_is_one() -> None:
    timeline = _timeline(
        _event(-1, EventType.CREATED),
        _event(0, EventType.STARTED, attempt=1, phase=None),
        _event(2, EventType.CHECKPOINT, kind="file_list", phase="scanning"),
        _progress(4, 100),
        _event(6, EventType.PAUSED, reason="disk full", phase="parsing"),
        _event(16, EventType.RESUMED, waited_ms=10_000, phase="parsing"),
        _event(18, EventType.PROGRESS, phase="embedding", files_processed=100, chunks_done=3),
        _event(20, EventType.COMPLETED, phase="embedding"),
    )
    assert [(each.words, each.seconds, each.is_wait) for each in timeline.segments] == [
        ("looking for files", 2, False),
        ("indexing", 4, False),
        ("waiting", 10, True),
        ("indexing", 2, False),
        ("embedding", 2, False),
    ]
    assert sum(each.share for each in timeline.segments) == pytest.approx(1)


def test_a_chart_shows_how_much_was_done_a_second() -> None:
    # 100 files in each of the first 4 s, then 300 in each of 4 s: 400 of 200 on average.
    counts = [100 * n for n in range(1, 5)] + [400 + 300 * n for n in range(1, 5)]
    events = [_progress(n, count, 10 * count) for n, count in enumerate(counts, 1)]
    timeline = _timeline(_event(0, EventType.STARTED), *events, _event(9, EventType.COMPLETED))
    files, chunks = timeline.charts
    assert (files.noun, files.highest, files.half, files.span) == ("files", "500", "250", "8.0 s")
    assert [bar.top for bar in files.bars] == [80] * 4 + [40] * 4
    assert [bar.end for bar in files.bars] == [12.5 * n for n in range(1, 9)]
    assert files.summary == "200 files per second on average over 8.0 s, 300 at most, after 4.0 s"
    assert (chunks.noun, chunks.highest) == ("chunks", "5,000")


@pytest.mark.parametrize("number", [0, 1, 3])
def test_too_little_makes_no_chart(number: int) -> None:
    events = [_progress(n, 100 * n) for n in range(1, number + 1)]
    timeline = _timeline(_event(0, EventType.STARTED), *events, _event(9, EventType.COMPLETED))
    assert timeline.charts == ()
    assert timeline.segments


def test_a_job_that_never_started_has_no_course() -> None:
    assert _timeline(_event(0, EventType.CREATED), _event(1, EventType.CANCELLED)) == Timeline(
        segments=(), charts=()
    )
    assert timeline_of(job(JobState.PENDING), ()).charts == ()


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.integers(0, 10**7), st.integers(0, 10**9)), max_size=80
    )
)
def test_bars_stay_in_the_chart_whatever_was_told(
    told: list[tuple[float, int, int]],
) -> None:
    events = [_progress(seconds, files, chunks) for seconds, files, chunks in sorted(told)]
    timeline = _timeline(_event(0, EventType.STARTED), *events, _event(1e6, EventType.COMPLETED))
    for chart in timeline.charts:
        assert len(chart.bars) <= 60
        assert all(-0.01 <= bar.top <= 100 for bar in chart.bars)
        assert all(0 < bar.end <= 100 for bar in chart.bars)
        assert min(bar.top for bar in chart.bars) <= 60  # the highest one fills the chart


def test_a_phase_of_another_version_keeps_its_word() -> None:
    later = _event(2, EventType.PROGRESS, phase="later", files_processed=1)
    timeline = _timeline(_event(0, EventType.STARTED), later, _event(3, EventType.COMPLETED))
    assert [segment.words for segment in timeline.segments] == ["looking for files", "later"]
