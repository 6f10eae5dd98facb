"""How the command line ends when something is wrong: the code, the line, and never a traceback."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import CODE as PROGRAM
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.mcp_calls import HANGS
from tests.support.patience import patience
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

CODE = "def refresh_session(token):\n    return token\n"


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed repository; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("failures")
    repository = folder / "repository"
    repository.mkdir()
    (repository / "app.py").write_text(CODE)
    command = Command(home=folder / "home", folder=repository)
    assert command("index", "--quiet").code == 0
    return command


@pytest.fixture
def fresh(tmp_path: Path) -> Command:
    """Give a command in a repository that is not indexed yet."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "app.py").write_text(CODE)
    return Command(home=tmp_path / "home", folder=repository)


@pytest.mark.parametrize(
    ("arguments", "code", "error", "said"),
    [
        (("--bogus",), 2, "validation_error", "--bogus"),
        (("serch", "x"), 2, "validation_error", "did you mean 'search'"),
        (("search", "x lang:Pyhton"), 2, "validation_error", "did you mean 'python'"),
        (("search", "x", "--kind", "fucntion"), 2, "validation_error", "did you mean 'function'"),
        (("search",), 2, "validation_error", "no query given"),
        (("search", ""), 2, "validation_error", "nothing to search for"),
        (("search", "case:nosuch"), 2, "validation_error", "nosuch"),
        (("search", '"=>"'), 2, "validation_error", "no searchable word"),
        (("search", "x" * 5000), 2, "validation_error", "5000 characters"),
        (("search", "x", "--limit", "0"), 2, "validation_error", "limit is 0"),
        (("search", "x", "--limit", "101"), 2, "validation_error", "limit is 101"),
        (("search", "x", "--limit", "ten"), 2, "validation_error", "'ten'"),
        (("search", "x", "--mode", "magic"), 2, "validation_error", "magic"),
        (("search", "x", "--kind", "unicorn"), 2, "validation_error", "unicorn"),
        (("search", "x", "--language", "klingon"), 2, "validation_error", "klingon"),
        (("search", "x", "--max-tokens", "0"), 2, "validation_error", "max_tokens is 0"),
        (("search", "x", "--branch", "nowhere"), 3, "not_found", "nowhere"),
        (("search", "x", "--project", "/nonexistent"), 3, "not_found", "/nonexistent"),
        (("search", "x", "--batch", "f"), 2, "validation_error", "cannot be used together"),
        (("doctor", "--repair", "--compact"), 2, "validation_error", "--repair and --compact"),
        (("doctor", "--rebuild", "--backup", "f"), 2, "validation_error", "--rebuild and --backup"),
        (("search", "--batch", "/nonexistent"), 2, "validation_error", "/nonexistent"),
        (("index", "/nonexistent"), 2, "validation_error", "/nonexistent"),
        (("index", "app.py"), 2, "validation_error", "not a folder"),
        (("index", "--max-size", "99999999"), 2, "validation_error", "too large"),
        (("index", "--max-size", "-1"), 2, "validation_error", "negative"),
        (("index", "--max-size", "11M"), 2, "validation_error", "too large"),
        (("index", "--max-size", "10 miles"), 2, "validation_error", "'10 miles'"),
        (("index", "--include", "[z-a"), 2, "validation_error", "[z-a"),
        (("status", "/nonexistent"), 3, "not_found", "/nonexistent"),
        (("symbols",), 2, "validation_error", "either a name or --file"),
        (("symbols", "x", "--file", "app.py"), 2, "validation_error", "either a name or --file"),
        (("symbols", "x", "--limit", "0"), 2, "validation_error", "limit"),
        (("symbols", "--file", "nowhere.py"), 3, "not_found", "nowhere.py"),
        (("symbols", "--file", "app.py", "--limit", "1"), 2, "validation_error", "--limit cannot"),
        (("symbols", "--file", "app.py", "--match", "fuzzy"), 2, "validation_error", "--match"),
        (("why",), 2, "validation_error", "PATH"),
        (("why", "../outside.py"), 2, "validation_error", "outside"),
        (("forget", "/nonexistent", "--yes"), 3, "not_found", "/nonexistent"),
    ],
)
def test_bad_input(
    cairn: Command, arguments: tuple[str, ...], code: int, error: str, said: str
) -> None:
    text = cairn(*arguments)
    assert (text.code, text.out if "--batch" not in arguments else "") == (code, "")
    if "--batch" not in arguments:  # a batch always speaks JSON
        assert text.err.startswith("error: ")
        assert said in text.err
    as_json = cairn(*arguments, "--json")
    shape = as_json.json()
    assert (as_json.code, as_json.err) == (code, "")
    assert list(shape) == ["error", "message", "details"]
    assert shape["error"] == error
    assert said in shape["message"] or said in shape["details"].values()


def test_a_bad_query_names_its_position(cairn: Command) -> None:
    ended = cairn("search", "token -case:yes")
    assert "(at character 7 of the query)" in ended.err
    details = cairn("search", "token -case:yes", "--json").json()["details"]
    assert (details["field"], details["position"]) == ("query", 6)


def test_a_folder_without_a_project_lists_those_there_are(cairn: Command, tmp_path: Path) -> None:
    empty = replace(cairn, home=tmp_path / "home")
    ended = empty("search", "token")
    assert (ended.code, ended.out) == (3, "")
    assert f"error: {cairn.folder} is not in an indexed project\nhint: cairn index" in ended.err


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"CAIRN_WORKERS": "many"}, "workers is 'many', wanted a whole number"),
        ({"CAIRN_WORKERS": "1000"}, "workers is 1000, wanted a whole number"),
    ],
)
def test_a_bad_setting(cairn: Command, variables: dict[str, str], said: str) -> None:
    ended = replace(cairn, variables=variables)("status")
    assert ended.code == 2
    assert said in ended.err


def test_a_data_directory_that_cannot_be_one(cairn: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = replace(cairn, home=tmp_path / "file")("index")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: the data directory {tmp_path / 'file'} is not a folder")


def test_a_job_waits_for_another_indexer_and_says_so(fresh: Command) -> None:
    fresh("index", "--quiet")
    [database] = fresh.home.glob("*.db")
    with (fresh.home / "locks" / f"{database.stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with fresh.start("index") as process:
            assert process.stderr is not None
            while b"blocked: " not in (line := process.stderr.readline()):
                assert line, "it ended before it could wait"
            assert b"is being indexed" in line
            assert fresh("search", "token").code == 0
            fcntl.flock(lock, fcntl.LOCK_UN)
            out, _ = process.communicate(timeout=patience(30))
    assert (process.returncode, out[:8]) == (0, b"indexed ")


def test_a_damaged_index_says_so_and_can_be_forgotten(fresh: Command) -> None:
    fresh("index", "--quiet")
    [database] = fresh.home.glob("*.db")
    database.write_bytes(b"not a database, " * 1000)
    ended = fresh("search", "token", "--json")
    assert (ended.code, ended.json()["error"]) == (6, "damaged_index")
    [project] = fresh("projects", "--json").json()["projects"]
    assert project["error"]
    assert fresh("forget", ".", "--yes").code == 0
    assert fresh("index", "--json").json()["files_indexed"] == 1


@pytest.mark.parametrize(
    "variables",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}],
)
def test_odd_names_neither_crash_nor_command_the_terminal(
    fresh: Command, variables: dict[str, str]
) -> None:
    names = [b"caf\xe9.py", b"na\xc3\xafve.py", b"esc\x1b[2Jape.py", b"new\nline.py"]
    for number, name in enumerate(names):
        path = os.path.join(os.fsencode(fresh.folder), name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{CODE}# {number} naïve \x1b]0;owned\x07\n")
    odd = replace(fresh, variables=variables)
    indexed = odd("index")
    assert indexed.code == 0
    searched = [
        odd("search", "refresh session", *options)
        for options in ((), ("--json",), ("--format", "markdown"))
    ]
    for ended in (
        indexed,
        *searched,
        odd("symbols", "refresh_session"),
        odd("why", "caf\udce9.py"),
    ):
        assert ended.code == 0, ended.err
        assert not set("\x1b\x07\x9b") & set(ended.out + ended.err)
    assert "esc\\x1b[2Jape.py" in searched[0].out
    shown = searched[0].out.replace("\\ufffd", "\ufffd")  # as a stream in ASCII writes it
    assert "caf\ufffd.py" in shown
    paths = {hit["path"] for hit in json.loads(searched[1].out)["hits"]}
    assert {"naïve.py", "caf\ufffd.py", "new\nline.py"} <= paths


def test_streams_that_are_closed_are_no_error(cairn: Command, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write_tree(tree, {"a.py": "def opened(): pass\n"})
    command = shlex.join([sys.executable, "-c", PROGRAM, "index", str(tree)])
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ended = subprocess.run(
            ["sh", "-c", f"{command} {closed}"],
            env=cairn.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), closed
    assert cairn("status", str(tree), "--json").json()["files"] == 1


def test_a_reader_that_has_enough_is_no_error(cairn: Command) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for arguments in (("search", "token"), ("status",), ("--help",)):
            with cairn.start(*arguments, stdout=writer) as process:
                _, err = process.communicate(timeout=patience(30))
            assert err == b""
    finally:
        os.close(writer)


@pytest.mark.parametrize("many", [1, 400])  # less and more than a stream buffers
def test_an_answer_that_cannot_be_written_is_told(fresh: Command, many: int) -> None:
    text = "".join(f"def refresh_session_{n}(token):\n    return {n}\n\n" for n in range(many))
    (fresh.folder / "app.py").write_text(text)
    fresh("index", "--quiet")
    for options in ((), ("--json",)):
        with (
            open("/dev/full", "wb") as full,
            fresh.start("symbols", "--file", "app.py", *options, stdout=full) as process,
        ):
            _, err = process.communicate(timeout=patience(30))
        said = b"error: cannot write the answer: No space left on device\n"
        assert (process.returncode, err) == (5, said)


@pytest.mark.parametrize("unbuffered", ["", "1"])  # a stream that keeps what failed, or nothing
@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("--version",), ("search", "--help"), ("model",), ("projects",)]
)
def test_a_help_that_cannot_be_written_is_told(
    fresh: Command, arguments: tuple[str, ...], unbuffered: str
) -> None:
    cairn = replace(fresh, variables={**fresh.variables, "PYTHONUNBUFFERED": unbuffered})
    with open("/dev/full", "wb") as full, cairn.start(*arguments, stdout=full) as process:
        _, err = process.communicate(timeout=patience(30))
    assert err == b"error: cannot write the answer: No space left on device\n"
    assert process.returncode == 5


def test_a_parent_can_ignore_the_ends_of_processes(fresh: Command) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        started = fresh.start("index", "--json")
    finally:
        signal.signal(signal.SIGCHLD, before)
    with started as process:
        out, err = process.communicate(timeout=patience(60))
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["files_indexed"] == 1


def _endless(command: Command) -> tuple[Command, int]:
    """Give the command with a run that parses to no end; and the number of its files."""
    body = "".join(f"def function_{n}(value):\n    return value + {n}\n\n" for n in range(100))
    many = {f"part{n % 5}/m{n}.py": f"# {n}\n{body}" for n in range(500)}
    write_tree(command.folder, {**many, "slow.py": "x = 1\n"})
    return replace(command, variables={**command.variables, **HANGS}), len(many) + 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_cleanly_and_goes_on_later(
    fresh: Command, number: signal.Signals
) -> None:
    endless, files = _endless(fresh)
    with endless.start("index") as process:
        assert process.stderr is not None
        said = b""
        while b"indexing" not in said:
            said = process.stderr.readline()
            assert said, "it ended before it could be interrupted"
        process.send_signal(number)
        interrupted_at = time.monotonic()
        out, err = process.communicate(timeout=patience(30))
    assert time.monotonic() - interrupted_at < patience(5)
    assert (process.returncode, out) == (130, b"")
    assert b"stopping after the current batch" in err
    assert b"\ninterrupted: " in err
    assert b"can be searched" in err
    assert b"Traceback" not in err
    kept = fresh("status", "--json").json()
    assert kept["files"] < files
    rest = fresh("index", "--json").json()
    assert rest["files_indexed"] + rest["files_unchanged"] == files
    assert rest["files_indexed"] <= files - kept["files"]


def test_an_interrupted_run_has_the_error_shape_with_json(fresh: Command) -> None:
    endless, _ = _endless(fresh)
    with endless.start("index", "--json") as process:
        until(lambda: bool(_children_of(process.pid)))  # which parse
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=patience(30))
    shape = json.loads(out)
    assert (process.returncode, shape["error"]) == (130, "interrupted")
    assert list(shape) == ["error", "message", "details"]


def test_no_worker_outlives_an_interrupted_run(fresh: Command) -> None:
    endless, _ = _endless(fresh)
    with endless.start("index") as process:
        assert process.stderr is not None
        while b"indexing" not in (said := process.stderr.readline()):
            assert said, "it ended before it could be interrupted"
        until(lambda: bool(_children_of(process.pid)))
        workers = _children_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience(30))
    assert workers
    until(lambda: not workers & _running(), within_s=5)


def _processes() -> list[tuple[int, int]]:
    """Give parent and id of every process that is not dead already."""
    table = subprocess.run(
        ["ps", "-eo", "ppid=,pid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in table.splitlines()]
    return [(int(parent), int(pid)) for parent, pid, state in rows if not state.startswith("Z")]


def _children_of(pid: int) -> set[int]:
    return {child for parent, child in _processes() if parent == pid}


def _running() -> set[int]:
    return {pid for _, pid in _processes()}
