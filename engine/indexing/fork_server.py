"""The fork server: a process that has loaded the parsers and forks workers on demand.

A fresh interpreter takes a fifth of a second to load the parsers and the built-in model. The server
does so once, and each worker that it forks has them at once and shares their memory. It reads no
file and no text, so hostile input costs only workers. It inherits nothing but a socket, and a
command that has just begun, what it has imported: forked from it, the server is ready sooner.
"""

import fcntl
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import IO, NamedTuple, NoReturn, Protocol

from engine.errors import UnavailableError
from engine.files import unnamed_file
from engine.indexing.parse_records import FORK, LOAD, REPLY, REQUEST, WAIT
from engine.processes import die_with, import_paths

_GRACE_S = 10.0  # for starting, reading and sending, on top of the parse deadlines
_IDLE_S = 120.0  # two workers and the server hold 90 MiB
_LAST_BYTES = 400
_START_S = 60.0  # a cold start takes 0.2 s
_FIRST_PROCESS = 1  # of the system


class WorkerLimits(NamedTuple):
    """Limits on a worker."""

    deadline_ms: int  # to parse one file
    memory_bytes: int = 1 << 30  # of address space; a file of 1 MB takes up to 0.1 GB
    grace_s: float = _GRACE_S  # for a batch, on top of its parsing
    idle_s: float = _IDLE_S  # without work, after which it ends


class Process(Protocol):
    """What is used of a ``subprocess.Popen``."""

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""

    def kill(self) -> None:
        """Kill it, unless it has ended."""

    def wait(self) -> int:
        """Wait for its end; return the exit code."""


class _Forked:
    """A process that this one has forked. For any threads."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        with self._lock:
            return self._reap(os.WNOHANG)

    def kill(self) -> None:
        with self._lock:
            if self._reap(os.WNOHANG) is None:
                with suppress(ProcessLookupError):  # it has ended since, and nobody is to be told
                    os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        with suppress(ChildProcessError):  # without the lock, which ``kill`` needs
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            code = self._reap(0)
            assert code is not None
            return code

    def _reap(self, options: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self._pid, options)
            except ChildProcessError:  # SIGCHLD is ignored: its exit code was dropped
                self._code = 0  # as in ``subprocess``
            else:
                if pid:
                    self._code = os.waitstatus_to_exitcode(status)
        return self._code


class ForkServer:
    """Starts workers, and the process that forks them when it is first needed. For any threads.

    Args:
        loads_model: Whether workers will need the built-in model.
        is_early: Whether this process has hardly begun, so that the first server can be a fork of
            it, where it has one thread.
    """

    def __init__(self, *, loads_model: bool = False, is_early: bool = False) -> None:
        self.loads_model = loads_model
        self._is_early = is_early
        self._is_closed = False
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._socket: socket.socket | None = None
        self._stderr: IO[bytes] | None = None
        self._workers: set[int] = set()  # that have not been waited for

    def start(self) -> None:
        """Start the process unless it runs, without waiting until it has loaded the parsers.

        Raises:
            UnavailableError: It cannot be started.
        """
        with self._lock:
            self._start()

    def load(self, languages: Collection[str]) -> None:
        """Have the process, if it runs, load grammars that its workers will need.

        Compiling the queries of one takes up to 0.2 s: what the server has loaded, no worker loads
        again.

        Args:
            languages: Names of languages.
        """
        with self._lock:
            if self._socket:
                try:
                    self._socket.sendall(_loading(languages))
                except OSError:  # it has died, or a part was sent: the first worker starts another
                    self._stop()

    def fork(
        self, connection: int, stderr: int, limits: WorkerLimits, languages: Collection[str] = ()
    ) -> "Worker":
        """Start a worker, and the server if it does not run or has died.

        Args:
            connection: The descriptor of the worker's end of a socket pair.
            stderr: The descriptor of a file.
            limits: Limits on the worker.
            languages: Names of languages whose grammars are loaded before, as by ``load``.

        Raises:
            UnavailableError: It cannot be started.
        """
        loads = _loading(languages)
        request = REQUEST.pack(FORK, limits.deadline_ms, limits.memory_bytes)
        with self._lock:
            self._start()
            pid = self._ask(request, [connection, stderr], loads)
            if pid is None:  # it has died since the last one
                self._stop()
                self._start()  # without the grammars: one of them may have ended it
                pid = self._ask(request, [connection, stderr])
            if pid is None:
                raise cannot_start(self._exit_reason())
            if pid < 0:
                raise cannot_start(os.strerror(-pid))
            if pid <= _FIRST_PROCESS:  # a signal to 0 would end this process and its group
                self._stop()
                raise cannot_start(f"the fork server answered with the process number {pid}")
            assert self._process
            self._workers.add(pid)
            return Worker(self, self._process, pid)

    def exit_code(self, pid: int, parent: Process) -> int | None:
        """Wait for the end of a worker; return None if its server has ended, and it with it.

        A server that does not answer in time is ended: its answer, when it came, would be taken
        for that of the next request.
        """
        with self._lock:
            if self._process is not parent:
                return None
            self._workers.discard(pid)
            code = self._ask(REQUEST.pack(WAIT, pid, 0))
            if code is None:
                self._stop()
            return code

    def rest(self) -> None:
        """End the process if it has no workers; the next one starts it again."""
        with self._lock:
            if not self._workers:
                self._stop()

    def close(self) -> None:
        """Kill the server for good; workers that still run are killed with it."""
        self._is_closed = True
        process = self._process
        if process:
            process.kill()  # first: another thread may hold the lock until the server has started
        with self._lock:
            self._stop()

    def _ask(
        self, request: bytes, descriptors: Sequence[int] = (), before: bytes = b""
    ) -> int | None:
        """Send a request; return the number of the reply, or None if the server died or is late."""
        assert self._socket
        with suppress(OSError):
            self._socket.sendall(before)  # apart: descriptors go with the first byte of a message
            socket.send_fds(self._socket, [request], descriptors)
            reply = self._socket.recv(REPLY.size, socket.MSG_WAITALL)
            if len(reply) == REPLY.size:
                number: int = REPLY.unpack(reply)[0]
                return number
        return None

    def _start(self) -> None:
        if self._is_closed:
            raise cannot_start("the fork server was closed")
        if self._process is not None:
            return
        is_early, self._is_early = self._is_early, False
        try:
            self._stderr = unnamed_file()
            self._socket, theirs = socket.socketpair()
            self._socket.settimeout(_START_S)
            with theirs:
                if is_early and _has_one_thread():
                    self._process = _forked(theirs.fileno(), self._stderr, self.loads_model)
                else:
                    self._process = _started(theirs.fileno(), self._stderr, self.loads_model)
        except OSError as error:
            self._stop()
            raise cannot_start(str(error)) from error

    def _exit_reason(self) -> str:
        assert self._process
        self._process.kill()
        return last_line(self._stderr) or f"exit status {self._process.wait()}"

    def _stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        for each in (self._socket, self._stderr):
            if each:
                each.close()
        self._process = self._socket = self._stderr = None
        self._workers.clear()


class Worker:
    """A worker process. Any thread can kill it."""

    def __init__(self, server: ForkServer, parent: Process, pid: int) -> None:
        self._server = server
        self._parent = parent
        self._lock = threading.Lock()
        self._has_ended = False  # then its number may belong to another process
        self._code: int | None = None
        self.pid = pid

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        with self._lock:
            if not self._has_ended and self._parent.poll() is None:
                with suppress(ProcessLookupError):  # its server is being killed, and it with it
                    os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        """Wait for its end; return its exit code, negative for a signal, or None if unknown."""
        with self._lock:
            if not self._has_ended:
                self._code = self._server.exit_code(self.pid, self._parent)
                self._has_ended = True
            return self._code


def _started(connection: int, stderr: IO[bytes], loads_model: bool) -> Process:
    """Start the server in an interpreter of its own."""
    import subprocess  # where one is forked, 3 ms that are not needed

    connection = _above_standard(connection)
    # -I: neither the working folder, which may be a hostile repository, nor the environment
    # adds code. It imports from where this process does, so -S: site has nothing to find.
    code = (
        "import gc; gc.disable(); "  # imports make many objects and no cycles
        f"import sys; sys.path[:0] = {import_paths()!r}; "
        f"from engine.processes import die_with; die_with({os.getpid()}); "
        "from engine.indexing.parsing import serve_forks; "
        f"serve_forks({connection}, {loads_model})"
    )
    try:
        return subprocess.Popen(  # noqa: S603 - our interpreter and our code
            [sys.executable, "-I", "-S", "-c", code],
            pass_fds=[connection],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    finally:
        os.close(connection)


def _above_standard(descriptor: int) -> int:
    """Return a duplicate that is none of the standard three, one of which may have been closed."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def _has_one_thread() -> bool:
    """Return whether a fork has all that this process has: other threads would be missing."""
    with suppress(OSError):  # elsewhere than on Linux
        return len(os.listdir("/proc/self/task")) == 1
    return False


def _forked(connection: int, stderr: IO[bytes], loads_model: bool) -> Process:
    """Fork the server from this process."""
    if sys.stdout:  # None if it was closed
        sys.stdout.flush()
    parent = os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it ends only the command
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if pid == 0:
        _serve_in_fork(parent, connection, stderr.fileno(), loads_model)
    return _Forked(pid)


def _serve_in_fork(parent: int, connection: int, stderr: int, loads_model: bool) -> NoReturn:
    """Run the server in a process that was just forked, and end it."""
    code = 1
    try:
        die_with(parent)
        gc.disable()
        sys.path[:] = import_paths()
        connection, stderr = map(_above_standard, (connection, stderr))
        null = os.open(os.devnull, os.O_RDWR)
        for mine, standard in ((null, 0), (null, 1), (stderr, 2)):
            os.dup2(mine, standard)
        for each in map(int, os.listdir("/proc/self/fd")):
            if each > 2 and each != connection:  # and one that was closed: it listed the folder
                with suppress(OSError):
                    os.close(each)
        from engine.indexing.parsing import serve_forks  # the parsers

        serve_forks(connection, loads_model)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing of it may reach the code of the command
        import traceback

        with suppress(OSError):
            os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _loading(languages: Collection[str]) -> bytes:
    """Return the requests that load grammars."""
    from engine.syntax.languages import LANGUAGES  # not needed before

    places = [place for place, each in enumerate(LANGUAGES) if each in languages]
    return b"".join(REQUEST.pack(LOAD, place, 0) for place in places)


def last_line(file: IO[bytes] | None) -> str:
    """Return the last line of what a process wrote to its standard error."""
    if file is None:
        return ""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
    lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def cannot_start(cause: str) -> UnavailableError:
    """Return the error of a process that cannot be started."""
    return UnavailableError(
        f"no parsing process can be started: {cause}",
        hint="check the limits on processes, memory, open files and the temporary folder",
    )
