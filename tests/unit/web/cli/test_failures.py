"""The last handler: what an exception says to whoever typed the command."""

import json
from pathlib import Path

import click
import pytest

from engine.errors import Cancelled, InvalidQueryError, ProjectNotFoundError
from engine.state_records import JobState
from tests.support.job_records import JOB_ID, job
from web.cli.failures import failure_of, report, text_of, wants_json
from web.errors import JobFailed, log_traceback


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["search", "x", "--json"], True),
        (["search", "x", "--format", "json"], True),
        (["search", "x", "--format=json"], True),
        (["search", "--batch", "f"], True),
        (["search", "--batch=f"], True),
        (["search", "x", "--format", "markdown"], False),
        (["search", "--", "--json"], False),
        (["search", "x"], False),
        ([], False),
    ],
)
def test_json_is_recognised_in_a_command_line_that_cannot_be_parsed(
    arguments: list[str], wanted: bool
) -> None:
    assert wants_json(arguments) is wanted


@pytest.mark.parametrize(
    ("error", "exit_code", "code", "text"),
    [
        (
            InvalidQueryError("no end of the phrase", position=4, hint='add a "'),
            2,
            "validation_error",
            'error: no end of the phrase (at character 5 of the query)\nhint: add a "\n',
        ),
        (ProjectNotFoundError("no index\x1b[2J"), 3, "not_found", "error: no index\\x1b[2J\n"),
        (Cancelled("3 files kept"), 130, "interrupted", "interrupted: 3 files kept\n"),
        (KeyboardInterrupt(), 130, "interrupted", "interrupted: nothing was left half done\n"),
        (click.Abort(), 130, "interrupted", "interrupted: nothing was left half done\n"),
        (
            click.UsageError("No such option: --x."),
            2,
            "validation_error",
            "error: No such option: --x\nhint: cairn --help\n",
        ),
    ],
)
def test_failures(error: BaseException, exit_code: int, code: str, text: str) -> None:
    failure = failure_of(error)
    assert (failure.exit_code, failure.code) == (exit_code, code)
    assert text_of(failure) == text


def test_json_has_the_one_error_shape(capsys: pytest.CaptureFixture[str]) -> None:
    error = InvalidQueryError("no end of the phrase", position=4, hint='add a "')
    assert report(error, ["search", '"x', "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {
        "error": "validation_error",
        "message": "no end of the phrase",
        "details": {"field": "query", "position": 4, "hint": 'add a "'},
    }
    assert list(json.loads(shown.out)) == ["error", "message", "details"]
    assert shown.err == ""


def test_a_bug_is_one_line_and_its_traceback_is_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path))
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 // int("0")
    assert report(caught.value, ["index"]) == 1
    log_path = tmp_path / "logs" / "cairn.log"
    shown = capsys.readouterr().err
    assert shown == (
        f"internal error: ZeroDivisionError: {caught.value} (traceback in {log_path})\n"
    )
    assert "test_failures.py" in log_path.read_text()


def test_a_bug_is_reported_when_nothing_can_be_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").touch()
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path))
    assert report(ZeroDivisionError("by nothing"), ["index"]) == 1
    assert "ZeroDivisionError: by nothing (the traceback is lost: " in capsys.readouterr().err


def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    log = tmp_path / "cairn.log"
    log.write_bytes(b"x" * 1_100_000)
    log_traceback(ValueError("new"), str(tmp_path))
    assert (tmp_path / "cairn.log.1").stat().st_size == 1_100_000
    assert log.stat().st_size < 10_000


def test_a_job_that_failed_ends_the_command_as_its_error_would() -> None:
    failure = failure_of(JobFailed(job(JobState.FAILED)))
    assert failure.exit_code == 5
    assert failure.as_json() == {
        "error": "unavailable",
        "message": "disk full: no room for 12 MB",
        "details": {"job_id": JOB_ID, "hint": "make room"},
    }
    bare = failure_of(JobFailed(job(JobState.FAILED, error={"error": "new", "message": "gone"})))
    assert (bare.exit_code, bare.code) == (1, "new")
    assert text_of(bare) == "error: gone\nhint: cairn jobs show 876992c0\n"
