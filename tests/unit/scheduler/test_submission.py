"""Whether there is room for a job, and whether its folders can be used."""

import os
from pathlib import Path

import pytest

from engine.errors import DiskFullError, EngineError, InvalidPathError, UnavailableError
from engine.scheduler.submission import check_room
from tests.support.unprivileged import as_nobody


def test_room_that_is_there_is_enough(tmp_path: Path) -> None:
    check_room(tmp_path / "not/yet/made", str(tmp_path), 1000)
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_told_in_numbers(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match=r"1000.0 TB") as raised:
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
