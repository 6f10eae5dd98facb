"""What happens inside a worker: bytes of a file in, what the index stores of it out.

``workers`` starts the processes and hands out the batches. Here are the records that travel between
them too. A worker opens no file and writes none.
"""

import gc
import itertools
import os
import resource
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple

from engine.faults import fault_point
from engine.processes import yield_to_others
from engine.records import Skip
from engine.source.content import generator_of, inspect, licence_of
from engine.source.secrets import redact
from engine.syntax.analysis import Analysis, analyse

if TYPE_CHECKING:
    from engine.embedding.static import BuiltIn
    from engine.store.vectors import Stored

_BATCHES_A_COLLECTION = 500
_PR_SET_PDEATHSIG = 1


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

        from engine.embedding.static import BuiltIn
        from engine.store.vectors import quantized

        if self._embedder is None:
            self._embedder = BuiltIn()
        rows = [row[-3:] for each in parsed for row in each.analysis.chunks]
        vectors = quantized(self._embedder.embed_words(rows))
        ends = np.cumsum([len(each.analysis.chunks) for each in parsed])
        return np.split(vectors, ends[:-1])


def serve(descriptor: int, deadline_ms: int, memory_bytes: int) -> None:
    """Be a worker: answer batches until the other end closes."""
    _end_with_owner()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when to stop
    # Hostile text can make a parser ask for gigabytes; it then dies alone, as after any fault.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(OSError, ValueError):  # not every system can limit it
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
    yield_to_others()
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


def _end_with_owner() -> None:
    """Be killed when the owner is, even in the midst of a file; not only on Linux after it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
