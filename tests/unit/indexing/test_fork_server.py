"""The fork server: workers that start at once, and end with it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.config import Config
from engine.errors import UnavailableError
from engine.first_run import start_fork_server
from engine.indexing.fork_server import ForkServer, Worker, WorkerLimits, _Forked
from engine.indexing.message_socket import MessageSocket
from engine.indexing.parse_records import Parsed, Task, symbols_of
from engine.roots import database_of, resolve
from tests.support.jobs import until
from tests.support.patience import patience

_LIMITS = WorkerLimits(deadline_ms=1000)
#: Forks a worker, and writes what came of it to a file.
_FORKS = """
import os, signal, socket, sys, tempfile
from pathlib import Path
from engine.errors import UnavailableError
from engine.indexing.fork_server import ForkServer, WorkerLimits
is_early, told, *sys.path[:0] = sys.argv[1:]
server = ForkServer(is_early=is_early == "True")
server.start()  # before descriptors of others take the place of closed ones
ours, theirs = socket.socketpair()
with tempfile.TemporaryFile() as stderr:
    try:
        worker = server.fork(theirs.fileno(), stderr.fileno(), WorkerLimits(deadline_ms=1000))
    except UnavailableError as error:
        result = str(error)
    else:
        worker.kill()
        result = str(worker.wait())
server.close()
Path(told).write_text(result)
"""
#: Forks a server, and writes the last line of its standard error to a file.
_FAILS = """
import socket, sys
from pathlib import Path
from engine.files import unnamed_file
from engine.indexing.fork_server import _forked, last_line
told, *sys.path[:0] = sys.argv[1:]
with unnamed_file() as stderr:
    ours, theirs = socket.socketpair()
    _forked(theirs.fileno(), stderr, False).wait()
    result = last_line(stderr)
Path(told).write_text(result)
"""


@pytest.fixture
def server() -> Iterator[ForkServer]:
    server = ForkServer(loads_model=True)
    yield server
    server.close()


def fork(server: ForkServer, *languages: str) -> tuple[Worker, MessageSocket]:
    ours, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as stderr:
        worker = server.fork(theirs.fileno(), stderr.fileno(), _LIMITS, languages)
    connection = MessageSocket(ours)
    assert connection.receive() is None  # it is ready
    return worker, connection


def parent_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return int(fields[1])


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return state != b"Z"
    return False


def ends(pid: int) -> bool:
    latest = time.monotonic() + patience(60)
    while is_alive(pid):
        if time.monotonic() > latest:
            return False
        time.sleep(0.01)
    return True


def test_workers_share_the_model_that_the_server_has_loaded(server: ForkServer) -> None:
    first, second = fork(server), fork(server)
    assert parent_of(first[0].pid) == parent_of(second[0].pid) != os.getpid()
    for _, connection in (first, second):
        task = Task(1, "a.py", "python", b"def f():\n    pass\n", is_embedded=True)
        connection.send([task])
        (outcome,) = connection.receive()
        assert isinstance(outcome.result, Parsed)
        assert outcome.result.vectors is not None
        connection.close()


def test_a_worker_that_makes_vectors_loads_no_sqlite(server: ForkServer) -> None:
    worker, connection = fork(server)
    task = Task(1, "a.py", "python", b"def f():\n    pass\n", is_embedded=True)
    connection.send([task])
    (outcome,) = connection.receive()
    assert outcome.result.vectors is not None
    loaded = Path(f"/proc/{worker.pid}/maps").read_text()
    assert "_multiarray_umath" in loaded
    assert "apsw" not in loaded
    connection.close()


def test_a_worker_has_the_grammars_of_its_first_files_from_the_server(server: ForkServer) -> None:
    worker, first = fork(server, "zig", "markdown", "lua")
    maps = Path(f"/proc/{parent_of(worker.pid)}/maps").read_text()
    assert "tree_sitter_zig" in maps
    assert "tree_sitter_lua" in maps
    assert "tree_sitter_julia" not in maps
    _, second = fork(server, "zig")
    for connection in (first, second):
        connection.send([Task(1, "a.zig", "zig", b"fn f() void {}\n")])
        (outcome,) = connection.receive()
        assert isinstance(outcome.result, Parsed)
        assert [each.name for each in symbols_of(outcome.result.analysis)] == ["f"]
        connection.close()


def test_the_exit_code_of_a_worker_is_told(server: ForkServer) -> None:
    killed, connection = fork(server)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    killed.kill()  # its number may be another process's by now
    connection.close()
    done, connection = fork(server)
    connection.close()
    assert done.wait() == 0


def test_workers_end_with_their_server_and_the_next_one_gets_a_new_server(
    server: ForkServer,
) -> None:
    worker, connection = fork(server)
    os.kill(parent_of(worker.pid), signal.SIGKILL)
    assert ends(worker.pid)
    assert worker.wait() is None
    connection.close()
    other, connection = fork(server)
    assert is_alive(other.pid)
    server.close()
    assert ends(other.pid)
    connection.close()


def test_an_exit_code_that_comes_too_late_is_not_taken_for_a_worker(server: ForkServer) -> None:
    late, connection = fork(server)
    assert server._socket
    server._socket.settimeout(0.05)  # the worker does not end before its connection does
    assert late.wait() is None
    connection.close()
    other, connection = fork(server)
    assert is_alive(other.pid)
    assert parent_of(other.pid) != os.getpid()
    connection.close()
    assert other.wait() == 0


@pytest.mark.parametrize("answer", [0, 1])
def test_a_number_that_no_worker_has_is_refused(
    server: ForkServer, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To kill it would kill this process and its group, or the first process of the system."""
    with monkeypatch.context() as patch:
        patch.setattr(server, "_ask", lambda *_: answer)
        with pytest.raises(UnavailableError, match=f"answered with the process number {answer}"):
            server.fork(0, 2, _LIMITS)
    worker, connection = fork(server)
    connection.close()
    assert worker.wait() == 0


def test_the_server_is_started_early_only_for_a_folder_that_is_not_indexed(
    config: Config, tmp_path: Path
) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    started = start_fork_server(config, str(inner))
    assert started
    started.close()
    assert start_fork_server(config, str(tmp_path / "missing")) is None
    config.data_dir.mkdir(parents=True, exist_ok=True)
    database_of(config.data_dir, resolve(str(inner.parent))).touch()
    assert start_fork_server(config, str(inner)) is None


def test_the_server_that_is_started_early_loads_the_grammar_of_most_files(
    config: Config, tmp_path: Path
) -> None:
    sources = tmp_path / "tree" / "src" / "deep"
    sources.mkdir(parents=True)
    (sources.parent / "loop").symlink_to(tmp_path / "tree")
    for name in ("a.zig", "b.zig", "c.lua", "d.txt", "e.txt", "f.txt", ".g.lua", ".h.lua"):
        (sources / name).touch()
    for number in range(9):  # never indexed
        package = tmp_path / "tree" / "node_modules" / f"package{number}"
        package.mkdir(parents=True)
        (package / "index.lua").touch()
    server = start_fork_server(config, str(tmp_path / "tree"))
    assert server
    worker, connection = fork(server)
    maps = Path(f"/proc/{parent_of(worker.pid)}/maps").read_text()
    connection.close()
    server.close()
    assert "tree_sitter_zig" in maps
    assert "tree_sitter_lua" not in maps


def test_a_command_that_has_just_begun_forks_its_server(tmp_path: Path) -> None:
    """It has the command's line, none of its open files, and ends with it."""
    code = """
import os, sys
from engine.indexing.fork_server import ForkServer
secret = open(sys.argv[1])
os.set_inheritable(secret.fileno(), True)
server = ForkServer(loads_model=False, is_early=True)
server.start()
server.load(["zig"])
print(server._process._pid, flush=True)
sys.stdin.read()
"""
    opened = tmp_path / "opened"
    opened.touch()
    command = [sys.executable, "-c", code, str(opened)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        until(lambda: "tree_sitter_zig" in Path(f"/proc/{pid}/maps").read_text())
        assert parent_of(pid) == parent.pid
        assert str(opened) in Path(f"/proc/{pid}/cmdline").read_text()
        files = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
        assert str(opened) not in files
        assert not any(each.startswith("pipe:") for each in files)
        parent.kill()
    assert ends(pid)


def test_a_worker_that_is_gone_can_be_killed(server: ForkServer) -> None:
    """It dies with its server, a moment before that can be seen to have died."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    parent = subprocess.Popen(["sleep", "60"])
    try:
        Worker(server, parent, gone.pid).kill()
    finally:
        parent.kill()
        parent.wait()


@pytest.mark.parametrize("is_early", [True, False])
def test_exit_codes_are_told_where_a_parent_ignores_the_ends_of_processes(
    tmp_path: Path, is_early: bool
) -> None:
    told = tmp_path / "told"
    ignores = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    command = [sys.executable, "-c", ignores + _FORKS, str(is_early), str(told)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert told.read_text() == str(-signal.SIGKILL)


@pytest.mark.parametrize("is_early", [True, False])
@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_standard_streams_can_be_closed(tmp_path: Path, closed: str, is_early: bool) -> None:
    told = tmp_path / "told"
    command = [sys.executable, "-c", _FORKS, str(is_early), str(told)]
    in_shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
    assert subprocess.run(in_shell, check=False).returncode == 0
    assert told.read_text() == str(-signal.SIGKILL)


@pytest.mark.parametrize("closed", ["", "<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_forked_server_tells_why_it_does_not_start(tmp_path: Path, closed: str) -> None:
    (tmp_path / "tree_sitter.py").write_text('raise ImportError("no parsers")\n')
    told = tmp_path / "told"
    command = [sys.executable, "-c", _FAILS, str(told), str(tmp_path)]
    in_shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
    assert subprocess.run(in_shell, check=False).returncode == 0
    assert told.read_text() == "ImportError: no parsers"


@pytest.mark.parametrize("is_early", [True, False])
def test_a_server_that_still_loads_the_parsers_ends_with_its_parent(
    tmp_path: Path, is_early: bool
) -> None:
    loading = tmp_path / "loading"
    (tmp_path / "tree_sitter.py").write_text(
        "import os, time\n"
        "from pathlib import Path\n"
        f"Path({str(loading)!r}).write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    arguments = [str(is_early), str(tmp_path / "told"), str(tmp_path)]
    command = [sys.executable, "-c", _FORKS, *arguments]
    with subprocess.Popen(command) as parent:
        until(lambda: loading.exists() and loading.read_text() != "")
        parent.kill()
    pid = int(loading.read_text())
    try:
        until(lambda: not is_alive(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_process_that_another_thread_waits_for_can_be_killed() -> None:
    child = subprocess.Popen(["sleep", "600"])
    forked = _Forked(child.pid)
    codes: list[int] = []
    waits = threading.Thread(target=lambda: codes.append(forked.wait()), daemon=True)
    waits.start()
    assert waits.native_id
    state = Path(f"/proc/self/task/{waits.native_id}/stat")
    until(lambda: state.read_text().rpartition(")")[2].split()[0] == "S")
    kills = threading.Thread(target=forked.kill, daemon=True)
    kills.start()
    try:
        kills.join(patience(30))
        assert not kills.is_alive()
        waits.join(patience(30))  # before anybody else asks how the process ended
    finally:
        child.kill()
        waits.join()
        child.wait()
    assert codes == [-signal.SIGKILL]
    assert forked.poll() == -signal.SIGKILL
    forked.kill()  # its number may be another process's by now
