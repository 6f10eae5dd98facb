"""What a job is expected to take, and whether there is room for it."""

import os
from pathlib import Path

import pytest

from engine.errors import DiskFullError, EngineError, InvalidPathError, UnavailableError
from engine.jobs.pace import usual_rates
from engine.scheduler.estimate import Survey, check_room, estimate
from tests.support.unprivileged import as_nobody

RATES = usual_rates(2)
MB = 1_000_000


def seconds(survey: Survey, model: str = "static") -> float:
    return estimate(survey, RATES, model).seconds


def test_a_run_without_a_change_takes_its_walk() -> None:
    assert seconds(Survey(266_000, 0, 0)) == pytest.approx(0.15 + 266 / 80)


def test_a_first_run_takes_its_bytes_and_files() -> None:
    # 0.15 s to start, 0.1 s to walk, 0.35 s for workers; 34 MB of source and 8 MB for files.
    found = estimate(Survey(8_000, 4_000, 26 * MB), RATES, "static")
    assert found.seconds == pytest.approx(0.6 + 34 / 4.4)
    assert (found.embedding_seconds, found.files, found.changed_files) == (0.0, 8_000, 4_000)
    assert found.bytes == 26 * MB
    assert found.is_exact


def test_a_walk_that_was_timed_counts_as_timed() -> None:
    assert seconds(Survey(266_000, 0, 0, walk_s=8.0)) == pytest.approx(8.15)


def test_what_is_made_again_has_to_be_deleted_too() -> None:
    again = Survey(8_000, 4_000, 36 * MB, is_rebuild=True)
    first = again._replace(is_rebuild=False)
    assert seconds(again) == pytest.approx(seconds(first) + 10 * 0.33)


def test_contents_that_are_known_are_only_read() -> None:
    known = Survey(8_000, 0, 0, known_files=4_000, known_bytes=32 * MB)
    assert seconds(known) == pytest.approx(0.25 + 40 / 40)


def test_slower_models_take_their_time_afterwards() -> None:
    source = Survey(100, 100, 115 * MB // 10)
    found = estimate(source, RATES, "onnx:some")
    assert found.embedding_seconds == pytest.approx(10_000 / 30)
    assert found.seconds == pytest.approx(seconds(source) + 10_000 / 30)
    assert estimate(source, RATES, "none").embedding_seconds == 0
    lacking = Survey(0, 0, 0, chunks_lacking=5_000)
    assert estimate(lacking, RATES, "tei:@http://127.0.0.1:1").embedding_seconds == 25
    assert estimate(lacking, RATES, "static").embedding_seconds == 0.5


def test_the_room_that_an_index_needs() -> None:
    assert estimate(Survey(9_000, 0, 0), RATES, "static").needed_bytes == 1 << 20
    small = estimate(Survey(9, 9, 10 * MB), RATES, "static").needed_bytes
    assert 30 * MB < small < 40 * MB
    large = estimate(Survey(9, 9, 1000 * MB), RATES, "static").needed_bytes
    assert 1700 * MB < large < 1800 * MB
    assert estimate(Survey(9, 9, 1000 * MB), RATES, "onnx:x").needed_bytes > large


def test_room_that_is_there_is_enough(tmp_path: Path) -> None:
    check_room(tmp_path / "not/yet/made", str(tmp_path), 1000)
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_told_in_numbers(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match=r"about 1000\.0 TB") as raised:
        check_room(tmp_path, str(tmp_path), 10**15)
    assert raised.value.details["needed_bytes"] == 10**15
    assert 0 < int(str(raised.value.details["free_bytes"])) < 10**15
    assert raised.value.hint


def test_what_may_not_be_read_or_written_is_told(tmp_path: Path) -> None:
    data_dir, root = tmp_path / "home", tmp_path / "tree"
    for folder in (data_dir, root):
        folder.mkdir()
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)

    def refused() -> str:
        try:
            check_room(data_dir / "new", str(root), 0)
        except EngineError as error:
            return type(error).__name__
        return ""

    data_dir.chmod(0o555)
    root.chmod(0o000)
    assert as_nobody(refused) == InvalidPathError.__name__
    root.chmod(0o555)
    assert as_nobody(refused) == UnavailableError.__name__
    data_dir.chmod(0o777)
    assert as_nobody(refused) == ""
    root.chmod(0o755)
