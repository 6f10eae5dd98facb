"""What the last check of an index said, from the logs that checks and runs leave."""

import os
from pathlib import Path

import pytest

from engine.jobs.operation_log import FORCED_CLEAN, VERIFIED_SOUND, last_check, write_log
from engine.scheduler.poller import LastChecks

_DAMAGED = ("verify", "VERIFY COMPLETE: damaged")
_SOUND = ("verify", VERIFIED_SOUND)
_RUN = ("completed", "Mode: what has changed")
_ANEW = ("completed", f"Mode: all files anew, {FORCED_CLEAN}")


@pytest.mark.parametrize(
    ("logs", "wanted"),
    [
        ((), False),
        ((_SOUND,), False),
        ((_DAMAGED,), True),
        ((_SOUND, _DAMAGED), True),
        ((_DAMAGED, _SOUND), False),
        ((_DAMAGED, _RUN), True),
        ((_DAMAGED, _ANEW), False),
        ((_ANEW, _DAMAGED), True),
        ((_DAMAGED, _ANEW, _RUN), False),
    ],
)
def test_what_logs_say(tmp_path: Path, logs: tuple[tuple[str, str], ...], wanted: bool) -> None:
    folder = tmp_path / "logs/app"
    for number, (status, line) in enumerate(logs):
        write_log(folder, status, 1_700_000_000_000 + 1000 * number, [line])
    assert LastChecks().is_damaged(tmp_path / "app.db") is wanted


@pytest.mark.parametrize(
    ("logs", "is_sound"),
    [
        ((), None),
        ((_SOUND, _ANEW), True),
        ((_SOUND, _DAMAGED), False),
        ((_SOUND, _DAMAGED, _ANEW), None),
    ],
)
def test_a_check_that_found_damage_holds_until_a_rebuild(
    tmp_path: Path, logs: tuple[tuple[str, str], ...], is_sound: bool | None
) -> None:
    folder = tmp_path / "logs/app"
    for number, (status, line) in enumerate(logs):
        write_log(folder, status, 1_700_000_000_000 + 1000 * number, [line])
    check = last_check(folder)
    assert (check.is_sound if check else None) is is_sound


def test_it_is_kept_until_a_log_is_added(tmp_path: Path) -> None:
    file, folder = tmp_path / "app.db", tmp_path / "logs/app"
    checks = LastChecks()
    found = write_log(folder, "verify", 1_700_000_000_000, [_DAMAGED[1]])
    os.utime(folder, (1_700_000_000, 1_700_000_000))
    assert checks.is_damaged(file)
    found.write_text(VERIFIED_SOUND)  # nobody writes a log again, so it is not read again
    assert checks.is_damaged(file)
    write_log(folder, "verify", 1_700_000_001_000, [VERIFIED_SOUND])
    assert not checks.is_damaged(file)
    assert not checks.is_damaged(tmp_path / "other.db")
