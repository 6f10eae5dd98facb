"""Rates, remaining times and reasons to wait of made-up histories."""

import pytest

from engine.index_records import Phase, Progress
from engine.jobs.progress import Expected, Measured, ProgressTracker

MB = 1_000_000
USUAL = Expected(seconds=100.0, bytes_a_second=4 * MB, bytes_a_chunk=1000)


class History:
    """A tracker with a clock that stands where a test puts it, in milliseconds."""

    def __init__(self, expected: Expected, now_ms: int) -> None:
        self._now_s = now_ms / 1000
        self.tracker = ProgressTracker(expected, lambda: self._now_s)

    def observe(self, now_ms: int, progress: Progress) -> None:
        self._now_s = now_ms / 1000
        self.tracker.note(progress)

    def rate(self, now_ms: int) -> float | None:
        self._now_s = now_ms / 1000
        return self.tracker.rate

    def reason(self, now_ms: int) -> str | None:
        self._now_s = now_ms / 1000
        return self.tracker.reason_to_wait

    def remaining_ms(self, now_ms: int) -> int | None:
        self._now_s = now_ms / 1000
        return self.tracker.remaining_ms


def parsing(done: int, done_mb: float, total_mb: float = 400, total: int = 80_000) -> Progress:
    return told(Phase.PARSING, done, total, int(done_mb * MB), int(total_mb * MB))


def told(
    phase: Phase, done: int, total: int | None = None, bytes_done: int = 0, bytes_total: int = 0
) -> Progress:
    return Progress(
        phase=phase,
        done=done,
        total=total,
        current_path="",
        bytes_done=bytes_done,
        bytes_total=bytes_total,
        elapsed_ms=0,
    )


def remaining_s(pace: History, now_ms: int) -> float:
    left = pace.remaining_ms(now_ms)
    assert left is not None
    return left / 1000


def test_the_first_seconds_say_nothing() -> None:
    pace = History(USUAL, 5_000)
    assert pace.rate(5_000) is None
    assert pace.remaining_ms(5_000) is None
    pace.observe(5_100, told(Phase.SCANNING, 0))
    pace.observe(7_900, told(Phase.SCANNING, 60_000))
    assert pace.rate(7_900) is None
    assert pace.remaining_ms(7_900) is None


def test_while_scanning_the_estimate_is_all_there_is() -> None:
    pace = History(USUAL, 0)
    pace.observe(0, told(Phase.SCANNING, 0))
    pace.observe(4_000, told(Phase.SCANNING, 320_000))
    assert pace.rate(4_000) == 80_000
    assert remaining_s(pace, 4_000) == 96
    assert pace.remaining_ms(100_000) is None  # the estimate was too short
    unknown = History(Expected(), 0)
    unknown.observe(4_000, told(Phase.SCANNING, 10))
    assert unknown.remaining_ms(4_000) is None


def test_bytes_foretell_parsing_when_the_largest_files_come_first() -> None:
    """400 MB at 4 MB/s, where the first 200 MB are 1,000 files and the rest 79,000."""
    pace = History(USUAL, 0)
    for second in range(101):
        done_mb = 4 * second
        done = 5 * done_mb if done_mb <= 200 else 1000 + (done_mb - 200) * 395
        pace.observe(second * 1000, parsing(done, done_mb))
        if second >= 3:
            assert remaining_s(pace, second * 1000) == pytest.approx(100 - second, abs=0.01)


def test_a_slower_machine_than_expected_is_believed_within_seconds() -> None:
    pace = History(USUAL, 0)
    for second in range(31):
        pace.observe(second * 1000, parsing(second, second))
    # 1 MB/s was seen for 30 s, 4 MB/s expected for 2 s that have faded to 1.2: 370 MB at 1.15 MB/s.
    assert remaining_s(pace, 30_000) == pytest.approx(370, rel=0.2)
    assert remaining_s(pace, 30_000) < 370


def test_the_rate_is_that_of_the_last_seconds() -> None:
    pace = History(USUAL, 0)
    done = 0
    for second in range(61):
        pace.observe(second * 1000, parsing(done, second))
        done += 10 if second < 30 else 100
    assert pace.rate(60_000) == pytest.approx(100, rel=0.06)  # e^-3 of the older rate


def test_a_stall_lets_the_end_recede_and_the_rate_fall() -> None:
    pace = History(USUAL, 0)
    for second in range(21):
        pace.observe(second * 1000, parsing(second * 10, second * 4))
    before, rate = remaining_s(pace, 20_000), pace.rate(20_000)
    during = [remaining_s(pace, (20 + second) * 1000) for second in (5, 10, 20, 40)]
    assert before < during[0] < during[1] < during[2] < during[3]
    assert rate is not None
    assert (pace.rate(40_000) or 0) < rate
    # The next file counts the silence only once.
    pace.observe(60_000, parsing(201, 81))
    assert remaining_s(pace, 60_000) == pytest.approx(during[3], rel=0.1)


def test_an_endless_stall_gives_a_large_number_and_no_overflow() -> None:
    pace = History(USUAL, 0)
    pace.observe(1_000, parsing(1, 4))
    assert remaining_s(pace, 86_400_000) == pytest.approx(396 / 4 * 1000)


def test_time_in_which_a_job_waited_does_not_count() -> None:
    pace = History(USUAL, 0)
    for second in range(11):
        pace.observe(second * 1000, parsing(second * 10, second * 4))
    # Blocked for an hour; then it scans again, finds the 360 MB that are left, and goes on.
    pace.observe(3_610_000, told(Phase.SCANNING, 0))
    pace.observe(3_611_000, parsing(0, 0, total_mb=360))
    pace.observe(3_615_000, parsing(40, 16, total_mb=360))
    assert remaining_s(pace, 3_615_000) == pytest.approx(86, abs=0.01)
    assert pace.rate(3_615_000) == 10


def test_counts_that_begin_anew_begin_a_new_rate() -> None:
    pace = History(USUAL, 0)
    pace.observe(0, parsing(0, 0))
    pace.observe(2_000, parsing(500, 8))
    pace.observe(3_000, parsing(0, 0, total_mb=10))
    assert pace.rate(3_500) is None
    assert remaining_s(pace, 3_000) == pytest.approx(2.5)


def test_a_slow_model_adds_the_vectors_that_are_to_come() -> None:
    slow = Expected(bytes_a_second=4 * MB, chunks_a_second=100, bytes_a_chunk=1000)
    pace = History(slow, 0)
    pace.observe(0, parsing(0, 0, total_mb=20))
    pace.observe(4_000, parsing(10, 16, total_mb=20))
    # 4 MB left are 1 s, 20,000 chunks are 200 s.
    assert remaining_s(pace, 4_000) == pytest.approx(201)
    pace.observe(5_000, told(Phase.FINISHING, 20, 20, 20 * MB, 20 * MB))
    assert remaining_s(pace, 5_000) == pytest.approx(200)
    for second in range(21):  # it is half as fast as expected, and there are fewer chunks
        pace.observe(6_000 + second * 1000, told(Phase.EMBEDDING, second * 50, 6000))
    assert pace.rate(26_000) == pytest.approx(50)
    assert remaining_s(pace, 26_000) == pytest.approx(5000 / 50, rel=0.15)


def test_what_is_stored_with_its_vectors_needs_no_more() -> None:
    pace = History(Expected(bytes_a_second=4 * MB, chunks_a_second=100), 0)
    pace.observe(0, parsing(0, 0, total_mb=20))
    pace.observe(5_000, told(Phase.STORING, 20, 20, 20 * MB, 20 * MB))
    assert remaining_s(pace, 5_000) > 100
    pace.observe(6_000, told(Phase.EMBEDDING, 0, 600))
    pace.observe(12_000, told(Phase.EMBEDDING, 600, 600))
    pace.observe(12_500, told(Phase.STORING, 20, 20, 20 * MB, 20 * MB))
    assert pace.remaining_ms(12_500) == 0


def test_a_rebuild_ends_with_deleting_what_was() -> None:
    pace = History(Expected(bytes_a_second=4 * MB, finish_share=0.25), 0)
    pace.observe(0, parsing(0, 0, total_mb=80))
    pace.observe(5_000, parsing(10, 20, total_mb=80))
    assert remaining_s(pace, 5_000) == pytest.approx(15 + 5)
    pace.observe(20_000, told(Phase.FINISHING, 20, 20, 80 * MB, 80 * MB))
    assert remaining_s(pace, 22_000) == pytest.approx(3)
    assert remaining_s(pace, 40_000) == 0


def test_an_unexpected_embedding_is_foretold_from_what_it_does() -> None:
    pace = History(USUAL, 0)
    pace.observe(2_000, told(Phase.EMBEDDING, 0, 1000))
    assert pace.remaining_ms(2_500) is None
    pace.observe(5_000, told(Phase.EMBEDDING, 300, 1000))
    assert remaining_s(pace, 5_000) == pytest.approx(7)
    assert remaining_s(pace, 86_400_000) == pytest.approx(700 / 100 * 1000)  # it stalls


@pytest.mark.parametrize("expected", [30, 300, 3000, None])
@pytest.mark.parametrize("real", [3, 300])
def test_what_is_expected_of_a_model_gives_way_to_what_it_does(
    expected: float | None, real: int
) -> None:
    """Batches of 32 chunks, after ten seconds in which the files were read."""
    total, batch = 100 * real, 32
    pace = History(Expected(bytes_a_second=4 * MB, chunks_a_second=expected), 0)
    pace.observe(0, parsing(0, 0, total_mb=40))
    pace.observe(10_000, parsing(10, 40, total_mb=40))
    pace.observe(10_500, told(Phase.FINISHING, 10, 10))
    pace.observe(11_000, told(Phase.EMBEDDING, 0, total))
    assert pace.remaining_ms(11_000) is None
    assert pace.remaining_ms(15_000) is None  # nothing is done
    for done in range(batch, total, batch):
        now_ms = 11_000 + done * 1000 // real
        pace.observe(now_ms, told(Phase.EMBEDDING, done, total))
        if now_ms < 14_000:
            assert pace.remaining_ms(now_ms) is None
        else:
            assert remaining_s(pace, now_ms) == pytest.approx((total - done) / real, rel=0.01)


def test_nothing_is_ever_negative() -> None:
    pace = History(USUAL, 0)
    pace.observe(0, parsing(0, 0, total_mb=1))
    pace.observe(4_000, parsing(5, 3, total_mb=1))  # files grew meanwhile
    assert pace.remaining_ms(4_000) == 0
    assert pace.remaining_ms(3_500) == 0
    pace.observe(5_000, told(Phase.FINISHING, 5, 5, 3 * MB, MB))
    assert pace.remaining_ms(5_000) == 0


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.EMBEDDING, "waiting for the embedding model, for 7 s"),
        (Phase.PARSING, "processing a file that takes long, for 7 s"),
        (Phase.SCANNING, None),
    ],
)
def test_what_does_not_move_says_why_until_it_does(phase: Phase, said: str | None) -> None:
    history = History(USUAL, 0)
    history.observe(1_000, told(phase, 3, 10))
    history.observe(4_000, told(phase, 3, 10))  # it is told again and again, and did not move
    assert history.reason(5_900) is None
    assert history.reason(8_000) == said
    history.observe(8_100, told(phase, 4, 10))
    assert history.reason(8_200) is None


def test_time_is_measured_by_phase_and_without_waits() -> None:
    history = History(USUAL, 0)
    history.observe(0, told(Phase.SCANNING, 0))
    history.observe(3_000, parsing(0, 0, total_mb=5))
    history.observe(7_000, parsing(10, 5, total_mb=5))
    history.observe(8_000, told(Phase.EMBEDDING, 0, 90))
    history.observe(9_000, told(Phase.EMBEDDING, 60, 90))
    history.tracker.restart()  # the server was away
    assert history.rate(50_000) is None
    assert history.remaining_ms(50_000) is None
    history.observe(60_000, told(Phase.EMBEDDING, 60, 90))
    history.observe(61_500, told(Phase.EMBEDDING, 90, 90))
    assert history.tracker.measured(12, 1) == Measured(
        parse_s=4.0,
        parse_bytes=5 * MB,
        parse_files=12,
        reused_files=1,
        embedded=90,
        embed_s=2.5,
    )
