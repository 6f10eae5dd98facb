"""The process pool that parses and embeds: batches of files in, their outcomes out.

Parsing holds the interpreter's lock and reads hostile input, so it happens in processes of its own:
two cores are used, and a file that crashes or outlasts its worker costs that worker only. The
file is then tried alone; one that costs two workers is chunked by lines without being parsed, so
that its words are found, and what fails even so becomes a ``Skip``.

Several runs share the workers. Each has a channel of its own, and the channels take turns: a run
that has little to parse does not wait for the end of one that has much, and one that ends early
takes nothing from the others.

A worker is a fresh interpreter talking over a socket pair; it opens no file and inherits nothing.
What it does is said in ``parsing``.

Parcels of files on their way to the workers: whose turn is next, and what nobody waits for.

The channels take turns, a parcel each, so that one with few of them never waits for the end of
another's many. ``workers`` does the work.

Whether a process that is late works too long, or gets no processor to work on.
"""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias

from engine.errors import UnavailableError
from engine.indexing.parsing import Outcome, Task
from engine.processes import import_places
from engine.records import Skip, SkipReason


@dataclass(eq=False, slots=True)
class Parcel:
    """Files that a channel handed in together."""

    tasks: list[Task]
    answers: "Answers"  # of the channel, and tells one channel from another
    is_forgotten: bool = False  # nobody waits for an answer any more
    _kill_worker: Callable[[], None] | None = None

    @property
    def size_bytes(self) -> int:
        """Source in it."""
        return sum(len(task.data) for task in self.tasks)

    def give_to(self, kill_worker: Callable[[], None]) -> bool:
        """Say how to kill the worker that gets it now; False when it is forgotten."""
        self._kill_worker = kill_worker
        return not self.is_forgotten

    def forget(self) -> None:
        """Have no more work done for it."""
        self.is_forgotten = True  # this first: ``give_to`` looks at it last
        if self._kill_worker:
            self._kill_worker()


#: Where a channel hears what became of its parcels.
Answers: TypeAlias = SimpleQueue[tuple[Parcel, list[Outcome] | UnavailableError]]


class Turns:
    """The parcels of all channels. For any number of threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Answers, deque[Parcel]] = {}  # the channel that is next comes first
        self._given: set[Parcel] = set()
        self._is_over = False

    def add(self, parcel: Parcel) -> int:
        """Let a parcel wait for its turn; give how many, of all channels, have no answer yet.

        Raises:
            UnavailableError: The pool is closed.
        """
        with self._changed:
            if self._is_over:
                raise _closed()
            self._waiting.setdefault(parcel.answers, deque()).append(parcel)
            self._changed.notify()
            return len(self._given) + sum(map(len, self._waiting.values()))

    def take(self) -> Parcel | None:
        """Wait for the parcel whose turn is next; None when the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over)
            if self._is_over:
                return None
            answers, parcels = next(iter(self._waiting.items()))
            del self._waiting[answers]
            parcel = parcels.popleft()
            if parcels:
                self._waiting[answers] = parcels  # behind all others
            self._given.add(parcel)
            return parcel

    def answer(self, parcel: Parcel, answer: list[Outcome] | UnavailableError) -> None:
        """Give the answer to a parcel that was taken, unless it is forgotten."""
        with self._changed:
            self._given.discard(parcel)
            if not parcel.is_forgotten:
                parcel.answers.put((parcel, answer))

    def forget(self, answers: Answers) -> None:
        """Forget all parcels of a channel: none of them is answered after this."""
        with self._changed:
            self._waiting.pop(answers, None)
            for parcel in self._given:
                if parcel.answers is answers:
                    parcel.forget()

    def end(self) -> None:
        """Answer all parcels with an error, and let ``take`` say that this is the end."""
        with self._changed:
            self._is_over = True
            waiting = [parcel for parcels in self._waiting.values() for parcel in parcels]
            self._waiting.clear()
            for parcel in [*waiting, *self._given]:
                if not parcel.is_forgotten:
                    parcel.answers.put((parcel, _closed()))
                parcel.forget()
            self._changed.notify_all()


def _closed() -> UnavailableError:
    return UnavailableError("the parsing processes were ended")


_WANTS_TO_GO_ON = frozenset("RD")  # waits for a processor, or for memory and disk
_STATE, _USER, _SYSTEM = 0, 11, 12  # fields behind the name, in proc(5)


class Effort(NamedTuple):
    """What a process has done so far."""

    wants_to_go_on: bool  # it does not wait for anybody
    seconds: float  # of processors


def effort_of(process: int) -> Effort | None:
    """Look at a process; None when it is gone, or the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        told = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(told[_USER]) + int(told[_SYSTEM])
        state = told[_STATE].decode("ascii")
        return Effort(state in _WANTS_TO_GO_ON, ticks / os.sysconf("SC_CLK_TCK"))
    return None


def is_starved(before: Effort | None, now: Effort | None, allowed_s: float) -> bool:
    """Say whether a process got less than half of a processor in the time that it was allowed.

    Args:
        before: When its work began.
        now: When the time was up, or later.
        allowed_s: The time.
    """
    if before is None or now is None or not now.wants_to_go_on:
        return False
    return now.seconds - before.seconds < allowed_s / 2


_FILES_A_WORKER = 24  # may always be pending: small ones are parsed while a batch is written
_GRACE_S = 10.0  # for starting, reading and sending, beside the parse deadlines
_MOST_PATIENCE = 5  # times the time that is allowed, with who is late without having worked
_LOOK_S = 0.25
_TRIES = 2
_START_S = 60.0  # a cold start takes 0.1 s


class WorkerLimits(NamedTuple):
    """What a worker may take."""

    deadline_ms: int  # to parse one file
    memory_bytes: int = 1 << 30  # of address space; a file of 1 MB takes up to 0.1 GB
    grace_s: float = _GRACE_S  # for a batch, beside its parsing


class WorkerLostError(Exception):
    """A worker died or took too long; the message says which."""


class _Worker:
    """One process and the line to it. It can be killed from the start, by any thread.

    Raises:
        UnavailableError: It cannot be started.
    """

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        with ExitStack() as undo:
            try:
                ours, theirs = socket.socketpair()
                undo.callback(ours.close)
                with theirs:
                    self._stderr = undo.enter_context(tempfile.TemporaryFile())
                    self._process = self._started(theirs.fileno())
            except OSError as error:
                raise _cannot_start(str(error)) from error
            self._connection = Connection(ours.detach())
            undo.pop_all()

    def _started(self, descriptor: int) -> subprocess.Popen[bytes]:
        # -I: neither the working folder, which may be a hostile repository, nor the environment
        # adds code. The worker imports from where this process does.
        places = import_places()
        code = (
            f"import sys; sys.path[:0] = {places!r}; from engine.indexing.parsing import serve; "
            f"serve({descriptor}, {self._limits.deadline_ms}, {self._limits.memory_bytes})"
        )
        return subprocess.Popen(  # noqa: S603 - our interpreter and our code
            [sys.executable, "-I", "-c", code],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
        )

    def wait_until_ready(self) -> None:
        """Wait for the end of its start.

        Raises:
            UnavailableError: It died of it, was killed, or takes too long.
        """
        try:
            if not self._connection.poll(_START_S):
                raise EOFError
            self._connection.recv()
        except (EOFError, OSError) as error:
            raise _cannot_start(self._last_words()) from error

    def run(self, batch: list[Task]) -> list[Outcome]:
        """Have a batch done.

        Raises:
            WorkerLostError: It died, or was killed because it took too long.
        """
        limits = self._limits
        allowed_s = limits.grace_s + 2 * len(batch) * limits.deadline_ms / 1000
        try:
            self._connection.send(batch)
            if not self._has_answered(allowed_s):
                raise WorkerLostError(f"the parser took longer than {allowed_s:.0f} s")
            outcomes: list[Outcome] = self._connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerLostError(f"the parser died: {self._last_words()}") from error
        return outcomes

    def _has_answered(self, allowed_s: float) -> bool:
        """Wait for an answer; for who gets no processor on a busy machine, longer."""
        before = effort_of(self._process.pid)
        latest_s = time.monotonic() + _MOST_PATIENCE * allowed_s
        if self._connection.poll(allowed_s):
            return True
        while time.monotonic() < latest_s:
            if not is_starved(before, effort_of(self._process.pid), allowed_s):
                return self._connection.poll()
            if self._connection.poll(_LOOK_S):
                return True
        return False

    def kill(self) -> None:
        """Stop at once; a thread that waits for it sees the line close."""
        self._process.kill()

    def close(self) -> None:
        """Stop, and free what it held."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._stderr.close()

    def _last_words(self) -> str:
        self._process.kill()
        code = self._process.wait()
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 400))
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {code}"


class _Lane:
    """A worker, started when there is work for it and replaced when it is lost."""

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        self._worker: _Worker | None = None

    def serve(self, turns: Turns) -> None:
        """Do what comes until the pool is closed."""
        while (parcel := turns.take()) is not None:
            answer: list[Outcome] | UnavailableError
            try:
                answer = self._outcomes_of(parcel)
            except UnavailableError as error:
                self._drop_worker()
                answer = error
            turns.answer(parcel, answer)
            if parcel.is_forgotten:  # then its worker was killed
                self._drop_worker()
        self._drop_worker()

    def _outcomes_of(self, parcel: Parcel) -> list[Outcome]:
        """Do a parcel; when it costs the worker, each of its files alone, at last unparsed."""
        tasks = parcel.tasks
        try:
            return self._run(parcel, tasks)
        except WorkerLostError:
            self._drop_worker()
        outcomes: list[Outcome] = []
        for task in tasks:
            cause = ""
            parsed_tries = _TRIES - (len(tasks) == 1)  # then the parcel was a try of its own
            for each in [task] * parsed_tries + [task._replace(is_parsed=False)]:
                try:
                    outcomes.extend(self._run(parcel, [each]))
                    break
                except WorkerLostError as error:
                    self._drop_worker()
                    cause = str(error)
            else:
                outcomes.append(
                    Outcome(task.ticket, Skip(task.path, SkipReason.PARSER_FAILED, cause))
                )
        return outcomes

    def _run(self, parcel: Parcel, tasks: list[Task]) -> list[Outcome]:
        """Have files of a parcel done; no outcomes once it is forgotten.

        Raises:
            WorkerLostError: They cost the worker.
            UnavailableError: None can be started.
        """
        if parcel.is_forgotten:
            return []
        is_new = self._worker is None
        worker = self._worker = self._worker or _Worker(self._limits)
        if not parcel.give_to(worker.kill):
            return []
        if is_new:
            worker.wait_until_ready()
        return worker.run(tasks)

    def _drop_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.close()


class Channel:
    """The way of one run to the workers; for one thread.

    Use it as a context manager: what is still pending at the end of the block is forgotten.

    Args:
        turns: Where the batches of all channels wait.
        staff: Hears how many batches, of all channels, are pending; starts workers for them.
        workers: The most there are.
    """

    def __init__(self, turns: Turns, staff: Callable[[int], None], workers: int) -> None:
        self._turns = turns
        self._staff = staff
        self._workers = workers
        self._answers: Answers = SimpleQueue()
        self.pending_bytes = 0  # source handed in and not answered yet
        self.pending_files = 0
        self.pending_batches = 0

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def submit(self, batch: list[Task]) -> None:
        """Hand in a batch; outcomes come from ``poll`` in any order.

        Raises:
            UnavailableError: The pool was closed.
        """
        parcel = Parcel(batch, self._answers)
        pending = self._turns.add(parcel)
        self.pending_bytes += parcel.size_bytes
        self.pending_files += len(batch)
        self.pending_batches += 1
        self._staff(pending)

    def is_ahead(self, most_bytes: int, most_files: int) -> bool:
        """Say whether more is pending than this; of files, some for each worker may always be."""
        most_files = max(most_files, _FILES_A_WORKER * self._workers)
        return self.pending_bytes > most_bytes or self.pending_files > most_files

    def poll(self, timeout_s: float) -> list[Outcome]:
        """Wait for outcomes at most so long, and give those that are there.

        Raises:
            UnavailableError: No worker can be started, or the pool was closed.
        """
        outcomes: list[Outcome] = []
        while self.pending_batches:
            try:
                parcel, answer = self._answers.get(timeout=0 if outcomes else timeout_s)
            except Empty:
                break
            self.pending_bytes -= parcel.size_bytes
            self.pending_files -= len(parcel.tasks)
            self.pending_batches -= 1
            if isinstance(answer, UnavailableError):
                raise answer
            outcomes.extend(answer)
        return outcomes

    def discard(self) -> None:
        """Forget all that is pending, at once; workers that are busy with it are killed."""
        self._turns.forget(self._answers)
        while not self._answers.empty():
            self._answers.get()
        self.pending_bytes = self.pending_files = self.pending_batches = 0


class WorkerPool:
    """Workers, started when there is work for them; each is served by a thread of its own.

    Args:
        count: The most processes to start, for all channels together.
        limits: What each of them may take.
    """

    def __init__(self, count: int, limits: WorkerLimits) -> None:
        self._count = count
        self._limits = limits
        self._turns = Turns()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def channel(self) -> Channel:
        """Open a way to the workers, for one run."""
        return Channel(self._turns, self._staff, self._count)

    def close(self) -> None:
        """End all workers and their threads; who still waits for outcomes gets an error.

        Channels that are opened later get new workers.
        """
        with self._lock:
            self._turns.end()
            self._turns = Turns()
            for thread in self._threads:
                thread.join()
            self._threads.clear()

    def _staff(self, pending: int) -> None:
        with self._lock:
            if len(self._threads) < min(self._count, pending):
                lane = _Lane(self._limits)
                thread = threading.Thread(
                    target=lane.serve, args=(self._turns,), name="parser", daemon=True
                )
                self._threads.append(thread)
                thread.start()


def _cannot_start(cause: str) -> UnavailableError:
    return UnavailableError(
        f"no parsing process can be started: {cause}",
        hint="check the limits on processes, memory, open files and the temporary folder",
    )
