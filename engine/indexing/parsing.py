"""The work of a worker process: the bytes of a file in, the contents for the index out.

``fork_server`` starts the processes and ``workers`` hands out the batches; the records that travel
between them are in ``parse_records``. A worker opens and writes no file.
"""

import gc
import itertools
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from engine.cancellation import never
from engine.errors import EmbedderUnavailableError
from engine.faults import fault_point
from engine.indexing.message_socket import MessageSocket
from engine.indexing.parse_records import (
    LOAD,
    REPLY,
    REQUEST,
    WAIT,
    Outcome,
    Parsed,
    Task,
    without_names,
)
from engine.processes import die_with, lower_priority
from engine.records import Skip, SkipReason
from engine.source.content import Inspected, generator_of, inspect, licence_of
from engine.source.file_formats import DOCUMENTS
from engine.source.secrets import redact
from engine.syntax import records as syntax
from engine.syntax.analysis import analysis_of, parsed_text
from engine.syntax.languages import LANGUAGES
from engine.syntax.parser import load_grammar

if TYPE_CHECKING:
    from engine.embedding.static import StaticEmbedder

_BATCHES_PER_GC = 500


class _Read(NamedTuple):
    """A file that is read as text and parsed, but not yet chunked and split."""

    task: Task
    inspected: Inspected
    text: bytes
    redactions: int
    parsed: syntax.Parsed


def process(tasks: Sequence[Task], deadline_ms: int) -> list[Outcome]:
    """Decode, redact, parse and chunk files, and split them into words.

    All are parsed before the first is split: parsers and words each fill the processor's caches.
    """
    return [_outcome_of(each) for each in [_read(task, deadline_ms) for task in tasks]]


def _read(task: Task, deadline_ms: int) -> Outcome | _Read:
    fault_point("inspect", task.path)
    if not task.is_parsed and task.language in DOCUMENTS:  # reading it has cost its workers
        return Outcome(task.ticket, Skip(task.path, SkipReason.PARSER_FAILED, "it cannot be read"))
    inspected = inspect(task.path, task.data, task.language)
    if isinstance(inspected, Skip):
        return Outcome(task.ticket, inspected)
    text, redactions = redact(inspected.text)
    if task.is_parsed:
        fault_point("parse", task.path)
    parsed = parsed_text(text, task.language, deadline_ms=deadline_ms if task.is_parsed else 0)
    return _Read(task, inspected, text, redactions, parsed)


def _outcome_of(read: Outcome | _Read) -> Outcome:
    if isinstance(read, Outcome):
        return read
    task, inspected, text, redactions, parsed = read
    analysis = analysis_of(text, task.language, parsed)
    licence = licence_of(text, task.language)
    generator = generator_of(text) if inspected.generated else None
    return Outcome(
        task.ticket,
        Parsed(analysis, inspected.encoding, inspected.generated, redactions, licence, generator),
    )


class _BuiltInVectors:
    """Makes vectors in a worker; loads the built-in model for the first batch that wants it.

    The fork server loads it for all workers, where that is known to be of use.

    Where the model does not fit into the worker's memory, chunks go without vectors, and the parent
    process makes them.
    """

    def __init__(self) -> None:
        self._embedder: StaticEmbedder | None = None
        self._fits = True

    def load(self) -> None:
        """Load the model, if that is possible."""
        with suppress(ImportError, MemoryError, EmbedderUnavailableError):
            from engine.embedding.static import StaticEmbedder, load_static

            self._embedder = StaticEmbedder()
            load_static().load()

    def add_vectors(self, tasks: list[Task], outcomes: list[Outcome]) -> list[Outcome]:
        """Return the outcomes of a batch with the vectors that its tasks ask for."""
        wanted = {
            outcome.ticket: (task.path, outcome.result)
            for task, outcome in zip(tasks, outcomes, strict=True)
            if task.is_embedded and isinstance(outcome.result, Parsed)
        }
        if not wanted or not self._fits:
            return outcomes
        paths, results = zip(*wanted.values(), strict=True)
        try:
            made = dict(zip(wanted, self._with_vectors(paths, results), strict=True))
        except (ImportError, MemoryError):
            self._fits = False
            return outcomes
        return [Outcome(ticket, made.get(ticket, result)) for ticket, result in outcomes]

    def _with_vectors(self, paths: Sequence[str], results: Sequence[Parsed]) -> Iterator[Parsed]:
        # Imports numpy and reads the weights, so only for tasks with vectors.
        from engine.embedding.static import StaticEmbedder
        from engine.store.quantization import quantized, rows_of, stored_rows
        from engine.store.vector_format import StoredRows

        if self._embedder is None:
            self._embedder = StaticEmbedder()
        rows = [row[-3:] for each in results for row in each.analysis.chunks]
        signs, exact = stored_rows(quantized(self._embedder.embed_words(rows)))
        of_paths = rows_of(quantized(self._embedder.embed_paths(paths, never)))
        end = 0
        for result, of_path in zip(results, of_paths, strict=True):
            start, end = end, end + len(result.analysis.chunks)
            yield result._replace(
                vectors=StoredRows(signs[start:end], exact[start:end]), path_vector=of_path
            )


def serve_forks(descriptor: int, loads_model: bool) -> None:
    """Run the fork server: fork workers and tell their exit codes until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, exit codes are dropped
    for library in ("OPENBLAS", "OMP", "MKL"):  # there is a worker a core already
        os.putenv(f"{library}_NUM_THREADS", "1")
    vectors = _BuiltInVectors()
    if loads_model and sys.platform == "linux":  # macOS: its BLAS does not survive a fork
        vectors.load()
    languages = tuple(LANGUAGES)
    server_pid = os.getpid()
    gc.freeze()  # a collection in a worker would copy the pages of all that it visits
    with socket.socket(fileno=descriptor) as server:
        while True:
            request, descriptors, _, _ = socket.recv_fds(server, REQUEST.size, 2)
            if len(request) < REQUEST.size:
                return
            operation, number, memory_bytes = REQUEST.unpack(request)
            if operation == WAIT:
                server.sendall(REPLY.pack(_exit_code_of(number)))
                continue
            if operation == LOAD:
                load_grammar(languages[number])
                gc.freeze()
                continue
            try:
                pid = os.fork()
            except OSError as error:
                pid = -(error.errno or 1)
            if pid == 0:
                server.close()
                _run_worker(server_pid, descriptors, number, memory_bytes, vectors)
            for each in descriptors:
                os.close(each)
            server.sendall(REPLY.pack(pid))


def _exit_code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _run_worker(
    parent: int,
    descriptors: Sequence[int],
    deadline_ms: int,
    memory_bytes: int,
    vectors: _BuiltInVectors,
) -> NoReturn:
    """Serve in a process that was just forked, and end it."""
    connection, stderr = descriptors
    os.dup2(stderr, 2)
    try:
        die_with(parent)
        serve(connection, deadline_ms, memory_bytes, vectors)
    except BaseException:  # noqa: BLE001 - nothing of it may reach the code of the server
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def serve(descriptor: int, deadline_ms: int, memory_bytes: int, vectors: _BuiltInVectors) -> None:
    """Run a worker: answer batches until the other end closes."""
    # Hostile text can make a parser allocate gigabytes; then only this worker dies.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(OSError, ValueError):  # not every system can limit it
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, hard))
    lower_priority()
    connection = MessageSocket(socket.socket(fileno=descriptor))
    connection.send(None)  # ready
    # Parsing makes many objects and no cycles: collections took 3% of the time.
    gc.disable()
    for number in itertools.count(1):
        if number % _BATCHES_PER_GC == 0:
            gc.collect()
        try:
            tasks: list[Task] = connection.receive()
        except EOFError:
            return
        outcomes = vectors.add_vectors(tasks, process(tasks, deadline_ms))
        connection.send(list(map(without_names, outcomes)))
