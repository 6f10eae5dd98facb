"""The process pool that parses and embeds: batches of files in, their outcomes out.

Parsing holds the interpreter lock and reads hostile input, so it runs in processes: all cores are
used, and a file that crashes its worker or exceeds its time costs only that worker. The files of
such a batch are then tried one by one; a file that costs two workers is chunked by lines without
being parsed, so that its words are found, and one that fails even so becomes a ``Skip``.

Several runs share the workers. Each has a channel, and a fair queue serves the channels round
robin: a run with little to parse does not wait for one with much, and one that ends early takes
nothing from the others.

A worker is forked by the ``fork_server`` and talks over a socket pair; it opens no file. A worker
that is late is given more time if it was starved of CPU. One without work for a while ends, and the
server with the last one: they are most of the memory of an idle program.
"""

import os
import pickle
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias

from engine.errors import UnavailableError
from engine.files import unnamed_file
from engine.indexing.fork_server import (
    ForkServer,
    WorkerLimits,
    cannot_start,
    last_line,
)
from engine.indexing.message_socket import MessageSocket
from engine.indexing.parse_records import Outcome, Task
from engine.records import Skip, SkipReason

_RUNNABLE = frozenset("RD")  # running or waiting for a CPU; waiting for memory or disk
_STATE, _USER, _SYSTEM = 0, 11, 12  # fields behind the name, in proc(5)

_FILES_PER_WORKER = 24  # may always be pending, so that workers are busy while a batch is written
_BYTES_WORTH_A_WORKER = 128 << 10  # of source, about 50 ms of work
_PATIENCE_S = 1.0  # without an answer, until more workers than are worthwhile are started
_MAX_WAIT_FACTOR = 5  # a worker starved of CPU is given so many times the time allowed
_POLL_S = 0.25
_ATTEMPTS = 2
_STARTS = 3  # of a worker, until it is said that none can be started
_START_S = 60.0


@dataclass(eq=False, slots=True)
class WorkItem:
    """A batch of files from one channel."""

    tasks: list[Task]
    answers: "Answers"  # of the channel, which it identifies
    is_discarded: bool = False  # no answer is wanted any more
    _kill_worker: Callable[[], None] | None = None

    @property
    def size_bytes(self) -> int:
        """The total size of its files."""
        return sum(len(task.data) for task in self.tasks)

    def assign_to(self, kill_worker: Callable[[], None]) -> bool:
        """Assign it to a worker, and return whether its answer is still wanted."""
        self._kill_worker = kill_worker
        return not self.is_discarded

    def discard(self) -> None:
        """Stop the work on it."""
        self.is_discarded = True  # set first: ``assign_to`` reads it last
        if self._kill_worker:
            self._kill_worker()


#: The queue through which a channel receives answers.
Answers: TypeAlias = SimpleQueue[tuple[WorkItem, list[Outcome] | Exception]]


class FairQueue:
    """The work items of all channels, served round robin. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Answers, deque[WorkItem]] = {}  # in the order of service
        self._running: set[WorkItem] = set()
        self._is_closed = False

    def add(self, item: WorkItem) -> int:
        """Queue an item; return how many items, of all channels, have no answer yet.

        Raises:
            UnavailableError: The pool is closed.
        """
        with self._changed:
            if self._is_closed:
                raise _pool_closed()
            self._waiting.setdefault(item.answers, deque()).append(item)
            self._changed.notify()
            return len(self._running) + sum(map(len, self._waiting.values()))

    def take(self, timeout_s: float | None) -> WorkItem | None:
        """Wait for the next item; return None when the pool is closed.

        Raises:
            Empty: There was none in this time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting or self._is_closed, timeout_s):
                raise Empty
            if self._is_closed:
                return None
            answers, items = next(iter(self._waiting.items()))
            del self._waiting[answers]
            item = items.popleft()
            if items:
                self._waiting[answers] = items  # behind all others
            self._running.add(item)
            return item

    def answer(self, item: WorkItem, answer: list[Outcome] | Exception) -> None:
        """Deliver the answer to an item that was taken, unless it was discarded."""
        with self._changed:
            self._running.discard(item)
            if not item.is_discarded:
                item.answers.put((item, answer))

    def discard(self, answers: Answers) -> None:
        """Discard all items of a channel: none of them is answered after this."""
        with self._changed:
            self._waiting.pop(answers, None)
            for item in self._running:
                if item.answers is answers:
                    item.discard()

    def close(self) -> None:
        """Answer all items with an error, and make ``take`` return None."""
        with self._changed:
            self._is_closed = True
            waiting = [item for items in self._waiting.values() for item in items]
            self._waiting.clear()
            for item in [*waiting, *self._running]:
                if not item.is_discarded:
                    item.answers.put((item, _pool_closed()))
                item.discard()
            self._changed.notify_all()


def _pool_closed() -> UnavailableError:
    return UnavailableError("the worker pool was closed")


class CpuUsage(NamedTuple):
    """The CPU usage of a process so far."""

    is_runnable: bool  # it does not wait for input
    cpu_s: float


def cpu_usage_of(process: int) -> CpuUsage | None:
    """Return the CPU usage of a process, or None if it is gone or the system has no /proc."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(fields[_USER]) + int(fields[_SYSTEM])
        state = fields[_STATE].decode("ascii")
        return CpuUsage(state in _RUNNABLE, ticks / os.sysconf("SC_CLK_TCK"))
    return None


def is_cpu_starved(before: CpuUsage | None, now: CpuUsage | None, allowed_s: float) -> bool:
    """Return whether a process wanted to run but got less than half a CPU in the time allowed.

    Args:
        before: Its usage when the work began.
        now: Its usage when the time was up, or later.
        allowed_s: The time allowed.
    """
    if before is None or now is None or not now.is_runnable:
        return False
    return now.cpu_s - before.cpu_s < allowed_s / 2


class WorkerLostError(Exception):
    """A worker died or took too long, as the message says."""


class _Worker:
    """A process and the connection to it. Any thread can kill it, even while it starts.

    Raises:
        UnavailableError: It cannot be started.
    """

    def __init__(self, server: ForkServer, limits: WorkerLimits, batch: list[Task]) -> None:
        self._limits = limits
        languages = {task.language for task in batch}
        with ExitStack() as undo:
            try:
                ours, theirs = socket.socketpair()
                undo.callback(ours.close)
                with theirs:
                    self._stderr = undo.enter_context(unnamed_file())
                    self._process = server.fork(
                        theirs.fileno(), self._stderr.fileno(), limits, languages
                    )
            except OSError as error:
                raise cannot_start(str(error)) from error
            self._connection = MessageSocket(ours)
            undo.pop_all()

    def wait_until_ready(self) -> None:
        """Wait until it has started.

        Raises:
            WorkerLostError: It died, or was killed.
            UnavailableError: It took too long.
        """
        try:
            if not self._connection.has_message(_START_S):
                raise cannot_start(self._exit_reason())
            self._connection.receive()
        except (EOFError, OSError) as error:
            raise WorkerLostError(self._exit_reason()) from error

    def run(self, batch: list[Task]) -> list[Outcome]:
        """Process a batch.

        Raises:
            WorkerLostError: It died, or was killed because it took too long.
        """
        limits = self._limits
        allowed_s = limits.grace_s + 2 * len(batch) * limits.deadline_ms / 1000
        try:
            self._connection.send(batch)
            if not self._has_answered(allowed_s):
                raise WorkerLostError(f"the parser took longer than {allowed_s:.0f} s")
            outcomes: list[Outcome] = self._connection.receive()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerLostError(f"the parser died: {self._exit_reason()}") from error
        return outcomes

    def _has_answered(self, allowed_s: float) -> bool:
        """Wait for an answer, longer if the worker is starved of CPU on a busy machine."""
        latest_s = time.monotonic() + _MAX_WAIT_FACTOR * allowed_s
        at_once_s = min(allowed_s, _POLL_S)  # in which nearly all have answered
        if self._connection.has_message(at_once_s):
            return True
        before = cpu_usage_of(self._process.pid)
        allowed_s -= at_once_s
        if self._connection.has_message(allowed_s):
            return True
        while time.monotonic() < latest_s:
            if not is_cpu_starved(before, cpu_usage_of(self._process.pid), allowed_s):
                return self._connection.has_message()
            if self._connection.has_message(_POLL_S):
                return True
        return False

    def kill(self) -> None:
        """Kill it; a thread that waits for it sees the connection close."""
        self._process.kill()

    def close(self) -> None:
        """Kill it, and free its resources."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._stderr.close()

    def _exit_reason(self) -> str:
        self._process.kill()
        code = self._process.wait()
        return last_line(self._stderr) or f"exit status {code}"


class _WorkerThread:
    """A thread with its worker, which it starts on demand and replaces when it dies."""

    def __init__(self, server: ForkServer, limits: WorkerLimits) -> None:
        self._server = server
        self._limits = limits
        self._worker: _Worker | None = None

    def serve(self, queue: FairQueue) -> None:
        """Process items until the pool is closed; end the worker while there are none."""
        while (item := self._next_item(queue)) is not None:
            answer: list[Outcome] | Exception
            try:
                answer = self._outcomes_of(item)
            except Exception as error:  # noqa: BLE001 - ``Channel.poll`` raises it
                answer = error
            queue.answer(item, answer)
            if item.is_discarded or isinstance(answer, Exception):  # its worker was killed, or may
                self._drop_worker()  # be out of step
        self._drop_worker()

    def _next_item(self, queue: FairQueue) -> WorkItem | None:
        if self._worker:
            with suppress(Empty):
                return queue.take(self._limits.idle_s)
            self._drop_worker()
            self._server.rest()
        return queue.take(None)

    def _outcomes_of(self, item: WorkItem) -> list[Outcome]:
        """Process an item; if it costs the worker, retry each file alone, finally unparsed."""
        tasks = item.tasks
        try:
            return self._run(item, tasks)
        except WorkerLostError:
            self._drop_worker()
        outcomes: list[Outcome] = []
        for task in tasks:
            cause = ""
            parsed_tries = _ATTEMPTS - (len(tasks) == 1)  # then the item was the first attempt
            for each in [task] * parsed_tries + [task._replace(is_parsed=False)]:
                try:
                    outcomes.extend(self._run(item, [each]))
                    break
                except WorkerLostError as error:
                    self._drop_worker()
                    cause = str(error)
            else:
                outcomes.append(
                    Outcome(task.ticket, Skip(task.path, SkipReason.PARSER_FAILED, cause))
                )
        return outcomes

    def _run(self, item: WorkItem, tasks: list[Task]) -> list[Outcome]:
        """Process files of an item; return no outcomes once it is discarded.

        Raises:
            WorkerLostError: They cost the worker.
            UnavailableError: None can be started.
        """
        if not self._has_worker(item):
            return []
        assert self._worker
        return self._worker.run(tasks)

    def _has_worker(self, item: WorkItem) -> bool:
        """Assign an item to a worker that has started; return False once the item is discarded.

        A worker that dies while it starts has read nothing of the item: another takes its place.

        Raises:
            UnavailableError: None can be started.
        """
        cause = ""
        for _ in range(_STARTS):
            if item.is_discarded:
                return False
            is_new = self._worker is None
            worker = self._worker or _Worker(self._server, self._limits, item.tasks)
            self._worker = worker
            if not item.assign_to(worker.kill):
                return False
            try:
                if is_new:
                    worker.wait_until_ready()
            except WorkerLostError as error:
                self._drop_worker()
                cause = str(error)
            else:
                return True
        raise cannot_start(cause)

    def _drop_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.close()


class Channel:
    """The connection of one run to the workers; for one thread.

    Use it as a context manager: what is still pending at the end of the block is discarded.

    Args:
        queue: The batches of all channels.
        start_workers: Called with the number of workers that have something to do.
        workers: The maximum number of workers.
    """

    def __init__(
        self, queue: FairQueue, start_workers: Callable[[int], None], workers: int
    ) -> None:
        self._queue = queue
        self._start_workers = start_workers
        self._workers = workers
        self._answers: Answers = SimpleQueue()
        #: The bytes that will be submitted in all, if known.
        self.expected_bytes: int | None = None
        self._heard_s = time.monotonic()  # since when an answer is due
        self.pending_bytes = 0  # submitted and not answered yet
        self.pending_files = 0
        self.pending_batches = 0

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def submit(self, batch: list[Task]) -> None:
        """Submit a batch; ``poll`` returns outcomes in any order.

        Raises:
            UnavailableError: The pool was closed.
        """
        if not self.pending_batches:
            self._heard_s = time.monotonic()
        item = WorkItem(batch, self._answers)
        pending = self._queue.add(item)
        self.pending_bytes += item.size_bytes
        self.pending_files += len(batch)
        self.pending_batches += 1
        self._start_workers(min(pending, self._worthwhile_workers()))

    def _help_slow_workers(self) -> None:
        """Start further workers if none has answered for a while: one may hang in a file."""
        if time.monotonic() - self._heard_s > _PATIENCE_S:
            self._start_workers(self.pending_batches)

    def _worthwhile_workers(self) -> int:
        """Return how many workers have enough to do: each compiles the queries of its languages."""
        if self.expected_bytes is None:
            return self._workers
        return 1 + self.expected_bytes // _BYTES_WORTH_A_WORKER

    def is_ahead(self, most_bytes: int, most_files: int) -> bool:
        """Return whether more is pending than this; some files per worker are always allowed."""
        most_files = max(most_files, _FILES_PER_WORKER * self._workers)
        return self.pending_bytes > most_bytes or self.pending_files > most_files

    def poll(self, timeout_s: float) -> list[Outcome]:
        """Wait for outcomes, at most so long, and return those that are ready.

        Raises:
            UnavailableError: No worker can be started, or the pool was closed.
            Exception: What a worker's thread met and did not foresee.
        """
        outcomes: list[Outcome] = []
        while self.pending_batches:
            try:
                item, answer = self._answers.get(timeout=0 if outcomes else timeout_s)
            except Empty:
                self._help_slow_workers()
                break
            self._heard_s = time.monotonic()
            self.pending_bytes -= item.size_bytes
            self.pending_files -= len(item.tasks)
            self.pending_batches -= 1
            if isinstance(answer, Exception):
                raise answer
            outcomes.extend(answer)
        return outcomes

    def discard(self) -> None:
        """Discard all that is pending, at once; workers that are busy with it are killed."""
        self._queue.discard(self._answers)
        while not self._answers.empty():
            self._answers.get()
        self.pending_bytes = self.pending_files = self.pending_batches = 0


class WorkerPool:
    """Worker processes, started on demand, each with a thread of its own.

    Args:
        count: The maximum number of processes, for all channels together.
        limits: The limits on each of them.
        server: Forks them; the pool closes it.
    """

    def __init__(self, count: int, limits: WorkerLimits, server: ForkServer | None = None) -> None:
        self._count = count
        self._limits = limits
        self._server = server or ForkServer()
        self._queue = FairQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def channel(self) -> Channel:
        """Open a channel for one run."""
        return Channel(self._queue, self._start_workers, self._count)

    def close(self) -> None:
        """End all workers and their threads; channels that still wait for outcomes get an error.

        Channels that are opened later get new workers.
        """
        with self._lock:
            self._queue.close()
            self._queue = FairQueue()
            self._server.close()  # a thread may wait for it to start
            for thread in self._threads:
                thread.join()
            self._threads.clear()
            self._server = ForkServer(loads_model=self._server.loads_model)

    def _start_workers(self, wanted: int) -> None:
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if len(self._threads) < min(self._count, wanted):
                worker_thread = _WorkerThread(self._server, self._limits)
                thread = threading.Thread(
                    target=worker_thread.serve, args=(self._queue,), name="parser", daemon=True
                )
                self._threads.append(thread)
                thread.start()
