"""The process pool that parses and embeds: bytes of files in, rows of the index out.

Parsing holds the interpreter's lock and reads hostile input, so it happens in processes of its own:
two cores are used, and a file that crashes or outlasts its worker costs that worker only. The
file is then tried alone; one that costs two workers is chunked by lines without being parsed, so
that its words are found, and what fails even so becomes a ``Skip``.

A worker is a fresh interpreter talking over a socket pair; it opens no file and inherits nothing.
"""

import gc
import itertools
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import UnavailableError
from engine.faults import fault_point
from engine.records import Skip, SkipReason
from engine.source.content import inspect
from engine.source.provenance import generator_of, licence_of
from engine.source.secrets import redact
from engine.syntax.analysis import Analysis, analyse

if TYPE_CHECKING:
    from engine.embedding.builtin import BuiltIn
    from engine.store.quantize import Stored

_GRACE_S = 10.0  # for starting, reading and sending, beside the parse deadlines
_TRIES = 2
_BATCHES_A_COLLECTION = 500
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_START_S = 60.0  # a cold start takes 0.1 s


class Task(NamedTuple):
    """A file to parse."""

    ticket: int  # chosen by the caller, comes back with the outcome
    path: str
    language: str
    data: bytes
    is_parsed: bool = True  # False after parsing cost its workers: lines and words alone
    is_embedded: bool = False  # whether its chunks get vectors of the built-in model


class Parsed(NamedTuple):
    """A file that was read as text and parsed."""

    analysis: Analysis
    encoding: str
    is_generated: bool
    redactions: int
    licence: str | None  # an SPDX expression
    generator: str | None  # the program that wrote it
    vectors: "Stored | None" = None  # of its chunks, when the task asks for them


class Outcome(NamedTuple):
    """What became of a task."""

    ticket: int
    result: Parsed | Skip


def process(task: Task, deadline_ms: int) -> Outcome:
    """Do the work on one file: decode, redact, parse, chunk, split into words."""
    fault_point("inspect", task.path)
    inspected = inspect(task.path, task.data, task.language)
    if isinstance(inspected, Skip):
        return Outcome(task.ticket, inspected)
    text, redactions = redact(inspected.text)
    if task.is_parsed:
        fault_point("parse", task.path)
    analysis = analyse(text, task.language, deadline_ms=deadline_ms if task.is_parsed else 0)
    licence = licence_of(text, task.language)
    generator = generator_of(text) if inspected.generated else None
    return Outcome(
        task.ticket,
        Parsed(analysis, inspected.encoding, inspected.generated, redactions, licence, generator),
    )


class _Meaning:
    """The built-in model in a worker, loaded for the first batch that asks for it.

    Where it does not fit into the worker's memory, chunks go without vectors, and the owner makes
    those that are missing.
    """

    def __init__(self) -> None:
        self._embedder: BuiltIn | None = None
        self._fits = True

    def add_vectors(self, tasks: list[Task], outcomes: list[Outcome]) -> list[Outcome]:
        """Give the outcomes of a batch with the vectors that its tasks ask for."""
        parsed = [
            outcome.result
            for task, outcome in zip(tasks, outcomes, strict=True)
            if task.is_embedded and isinstance(outcome.result, Parsed)
        ]
        if not parsed or not self._fits:
            return outcomes
        try:
            vectors = iter(self._vectors_of(parsed))
        except (ImportError, MemoryError):
            self._fits = False
            return outcomes
        return [
            Outcome(ticket, result._replace(vectors=next(vectors)))
            if task.is_embedded and isinstance(result, Parsed)
            else Outcome(ticket, result)
            for task, (ticket, result) in zip(tasks, outcomes, strict=True)
        ]

    def _vectors_of(self, parsed: list[Parsed]) -> "list[Stored]":
        # numpy and the weights: not for those who only parse.
        import numpy as np

        from engine.embedding.builtin import BuiltIn
        from engine.store.quantize import quantized

        if self._embedder is None:
            self._embedder = BuiltIn()
        rows = [row[-3:] for each in parsed for row in each.analysis.chunks]
        vectors = quantized(self._embedder.embed_words(rows))
        ends = np.cumsum([len(each.analysis.chunks) for each in parsed])
        return np.split(vectors, ends[:-1])


def serve(descriptor: int, deadline_ms: int, memory_bytes: int) -> None:
    """Be a worker: answer batches until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when to stop
    # Hostile text can make a parser ask for gigabytes; it then dies alone, as after any fault.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(OSError, ValueError):  # not every system can limit it
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
    for library in ("OPENBLAS", "OMP", "MKL"):  # there is a worker a core already
        os.putenv(f"{library}_NUM_THREADS", "1")
    meaning = _Meaning()
    connection = Connection(descriptor)
    connection.send(None)  # ready
    # Parsing makes many objects and no cycles: looking for some took 3 % of the time.
    gc.disable()
    for number in itertools.count(1):
        if number % _BATCHES_A_COLLECTION == 0:
            gc.collect()
        try:
            tasks: list[Task] = connection.recv()
        except EOFError:
            return
        outcomes = [process(task, deadline_ms) for task in tasks]
        connection.send(meaning.add_vectors(tasks, outcomes))


class WorkerLimits(NamedTuple):
    """What a worker may take."""

    deadline_ms: int  # to parse one file
    memory_bytes: int = 1 << 30  # of address space; a file of 1 MB takes up to 0.1 GB
    grace_s: float = _GRACE_S  # for a batch, beside its parsing


class WorkerLostError(Exception):
    """A worker died or took too long; the message says which."""


class _Worker:
    """One process and the line to it.

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
        try:
            if not self._connection.poll(_START_S):
                raise EOFError
            self._connection.recv()
        except (EOFError, OSError) as error:
            cause = self._last_words()
            self.close()
            raise _cannot_start(cause) from error

    def _started(self, descriptor: int) -> subprocess.Popen[bytes]:
        # -I: neither the working folder, which may be a hostile repository, nor the environment
        # adds code. The worker imports from where this process does.
        places = [_HOME, *(place for place in sys.path if os.path.isabs(place))]
        code = (
            f"import sys; sys.path[:0] = {places!r}; from engine.workers import serve; "
            f"serve({descriptor}, {self._limits.deadline_ms}, {self._limits.memory_bytes})"
        )
        return subprocess.Popen(  # noqa: S603 - our interpreter and our code
            [sys.executable, "-I", "-c", code],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
        )

    def run(self, batch: list[Task]) -> list[Outcome]:
        """Have a batch done.

        Raises:
            WorkerLostError: It died, or was killed because it took too long.
        """
        limits = self._limits
        allowed_s = limits.grace_s + 2 * len(batch) * limits.deadline_ms / 1000
        try:
            self._connection.send(batch)
            if not self._connection.poll(allowed_s):
                raise WorkerLostError(f"the parser took longer than {allowed_s:.0f} s")
            outcomes: list[Outcome] = self._connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerLostError(f"the parser died: {self._last_words()}") from error
        return outcomes

    def kill(self) -> None:
        """Stop at once; a thread that waits in ``run`` sees the line close."""
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


class WorkerPool:
    """Workers, started when there is work for them; each is served by a thread of its own.

    Args:
        count: The most processes to start.
        limits: What each of them may take.
    """

    def __init__(self, count: int, limits: WorkerLimits) -> None:
        self._count = count
        self._limits = limits
        self._tasks: SimpleQueue[tuple[int, list[Task]] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, int, list[Outcome] | UnavailableError]] = SimpleQueue()
        self._lanes: list[threading.Thread] = []
        self._workers: dict[threading.Thread, _Worker] = {}
        self._epoch = 0  # raised by discard: answers of an older one are dropped
        self.pending_bytes = 0  # source handed in and not answered yet
        self.pending_batches = 0

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, batch: list[Task]) -> None:
        """Hand in a batch; outcomes come from ``poll`` in any order."""
        self.pending_bytes += _bytes_of(batch)
        self.pending_batches += 1
        self._tasks.put((self._epoch, batch))
        if len(self._lanes) < min(self._count, self.pending_batches):
            lane = threading.Thread(target=self._serve_lane, name="parser", daemon=True)
            self._lanes.append(lane)
            lane.start()

    def poll(self, timeout_s: float) -> list[Outcome]:
        """Wait for outcomes at most so long, and give those that are there.

        Raises:
            UnavailableError: No worker can be started.
        """
        outcomes: list[Outcome] = []
        while self.pending_batches:
            try:
                epoch, size, batch = self._done.get(timeout=0 if outcomes else timeout_s)
            except Empty:
                break
            if epoch == self._epoch:
                self.pending_bytes -= size
                self.pending_batches -= 1
                if isinstance(batch, UnavailableError):
                    raise batch
                outcomes.extend(batch)
        return outcomes

    def discard(self) -> None:
        """Forget all pending work at once; busy workers are killed."""
        self._epoch += 1
        self.pending_bytes = self.pending_batches = 0
        while not self._tasks.empty():
            self._tasks.get()
        for worker in list(self._workers.values()):
            worker.kill()

    def close(self) -> None:
        """End all workers and their threads."""
        self.discard()
        for _ in self._lanes:
            self._tasks.put(None)
        for lane in self._lanes:
            lane.join()
        self._lanes.clear()

    def _serve_lane(self) -> None:
        while (item := self._tasks.get()) is not None:
            epoch, batch = item
            answer: list[Outcome] | UnavailableError
            try:
                answer = self._outcomes_of(batch, epoch)
            except UnavailableError as error:
                answer = error
            self._done.put((epoch, _bytes_of(batch), answer))
        self._drop_worker()

    def _outcomes_of(self, batch: list[Task], epoch: int) -> list[Outcome]:
        """Do a batch; when it costs the worker, each of its files alone, at last unparsed."""
        try:
            return self._worker().run(batch)
        except WorkerLostError:
            self._drop_worker()
        outcomes: list[Outcome] = []
        for task in batch:
            cause = ""
            parsed_tries = _TRIES - (len(batch) == 1)  # then the batch was a try of its own
            for each in [task] * parsed_tries + [task._replace(is_parsed=False)]:
                if epoch != self._epoch:
                    return []
                try:
                    outcomes.extend(self._worker().run([each]))
                    break
                except WorkerLostError as error:
                    self._drop_worker()
                    cause = str(error)
            else:
                outcomes.append(
                    Outcome(task.ticket, Skip(task.path, SkipReason.PARSER_FAILED, cause))
                )
        return outcomes

    def _worker(self) -> _Worker:
        lane = threading.current_thread()
        if lane not in self._workers:
            self._workers[lane] = _Worker(self._limits)
        return self._workers[lane]

    def _drop_worker(self) -> None:
        worker = self._workers.pop(threading.current_thread(), None)
        if worker:
            worker.close()


def _cannot_start(cause: str) -> UnavailableError:
    return UnavailableError(
        f"no parsing process can be started: {cause}",
        hint="check the limits on processes, memory, open files and the temporary folder",
    )


def _bytes_of(batch: list[Task]) -> int:
    return sum(len(task.data) for task in batch)
