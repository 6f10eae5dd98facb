"""Files of the data directory in whose place something else stands: a clear answer, at once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import load_config
from engine.errors import InvalidConfigError, UnavailableError
from engine.files import free_bytes_at, is_there, read_small, unnamed_file
from engine.settings import Settings
from engine.telemetry.logs import JobLog
from tests.support.permissions import permissions_hold

_HUGE_BYTES = 1 << 40  # a hole, which takes no space; reading it would take minutes


def _make_huge(file: Path) -> None:
    file.touch()
    os.truncate(file, _HUGE_BYTES)


@pytest.mark.parametrize("make", [_make_huge, os.mkfifo, Path.mkdir])
def test_what_cannot_be_settings_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    config = load_config(tmp_path)
    make(tmp_path / "config.toml")
    with pytest.raises(OSError, match=r"larger|not a file"):
        read_small(tmp_path / "config.toml", 100)
    with pytest.raises(InvalidConfigError, match="cannot read"):
        load_config(tmp_path)
    with pytest.raises(InvalidConfigError, match="cannot read"):
        Settings(config).all()


def test_of_a_huge_log_the_end_is_read(tmp_path: Path) -> None:
    log = JobLog(tmp_path)
    log.event("first")
    (file,) = tmp_path.iterdir()
    _make_huge(file)
    with open(file, "ab") as stream:
        stream.write(b'\n{"timestamp": "2026-01-01T00:00:00Z", "event": "last"}\n')
    assert [event["event"] for event in log.of_type("last", 9)] == ["last"]
    log.event("next")  # in a file of its own
    assert file.stat().st_size < _HUGE_BYTES


def test_what_nobody_can_see_is_not_told_as_missing(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "there").symlink_to("nowhere")
    assert is_there(folder / "there")
    assert not is_there(folder / "missing")
    assert not is_there(folder / "there" / "below")
    with permissions_hold():
        folder.chmod(0)
        try:
            with pytest.raises(UnavailableError, match="cannot be searched"):
                is_there(folder / "there")
        finally:
            folder.chmod(0o700)


def test_a_file_without_a_name_holds_what_a_process_says() -> None:
    with unnamed_file() as file:
        subprocess.run([sys.executable, "-c", "print('hello', end='')"], stdout=file, check=True)
        file.seek(0)
        assert file.read() == b"hello"


def test_the_free_space_is_that_of_the_disk(tmp_path: Path) -> None:
    disk = shutil.disk_usage(tmp_path)
    assert 0 <= free_bytes_at(tmp_path) <= disk.total
    with pytest.raises(FileNotFoundError):
        free_bytes_at(tmp_path / "missing")
