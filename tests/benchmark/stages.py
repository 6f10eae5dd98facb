"""Processor time of each stage of indexing, in milliseconds for each megabyte of source.

    python tests/benchmark/stages.py ROOT [--megabytes 25] [--main]

Without ``--main``: what a worker does, in this process, for files of ROOT that are drawn with a
fixed seed, in batches as they come from the indexer. With ``--main``: ROOT is indexed as a whole
into a temporary folder, and what the process does that walks, reads and writes is told.

A stage is a function of the program with what it calls, without the stages that it calls itself.
"""

import argparse
import functools
import os
import pickle
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import LARGEST_FILE_BYTES, load_config
from engine.indexing import batch, indexer, parsing, run, scan, workers
from engine.indexing.parse_records import Task, without_names
from engine.records import FileEntry, Skip
from engine.source.reader import TreeReader
from engine.source.walker import WalkRules, walk
from engine.store import blobs, connection, files, fulltext, vector_rows
from engine.syntax import analysis, parser

_SEED = 19
_BATCH_BYTES = 32 << 10
_BATCH_FILES = 16
_DEADLINE_MS = 5000

_OF_WORKERS: tuple[tuple[Any, str, str], ...] = (
    (parsing, "inspect", "decode, tell binaries"),
    (parsing, "redact", "secrets"),
    (parsing, "licence_of", "licences"),
    (parser, "_loaded", "load grammars, compile queries"),
    (parser, "_readable", "text for the grammar"),
    (parser, "_root_of", "parse (tree-sitter)"),
    (parser, "is_too_deep", "bounds of trees"),
    (parser, "_matches_of", "queries"),
    (parser, "_marks_of", "marks of references"),
    (parser, "symbols_of", "symbols"),
    (analysis, "parse", "rest of parsing"),
    (analysis, "names_of", "names of references"),
    (analysis, "chunks_of", "chunks"),
    (analysis, "_rows_of", "words"),
    (analysis, "pack_text", "compress texts"),
    (analysis, "pack_marks", "compress references"),
    (parsing, "analysis_of", "hashes, rest of analysis"),
    (parsing._BuiltInVectors, "add_vectors", "vectors"),
)
_OF_MAIN: tuple[tuple[Any, str, str], ...] = (
    (indexer, "scan", "walk"),
    (indexer.Indexer, "_read", "read"),
    (indexer.Indexer, "_assign_blob", "hash, look up"),
    (workers._Worker, "run", "send and receive"),
    (batch.Batch, "add_blob", "rows"),
    (batch.Batch, "add_file", "rows"),
    (fulltext, "insert_chunk_terms", "SQL: words"),
    (files, "write_files", "SQL: files (with what FTS5 writes then)"),
    (blobs, "insert_symbols", "SQL: symbols"),
    (blobs, "insert_chunks", "SQL: chunks"),
    (blobs, "insert_texts", "SQL: texts"),
    (vector_rows, "insert_chunk_rows", "SQL: vectors"),
    (batch.Batch, "write", "SQL: the rest"),
    (connection.Store, "_bound_wal", "checkpoints"),
    (indexer.Indexer, "_commit", "commit"),
    (indexer.Indexer, "index", "the rest of a run"),
    (run.IndexingRun, "bring_up_to_date", "start and end of a run"),
)


class Stages:
    """Processor time by stage. A stage that is entered stops the clock of the one around it."""

    def __init__(self) -> None:
        self.taken_s: dict[str, float] = defaultdict(float)
        self._local = threading.local()

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        """Measure a function wherever it is called by its name."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            stack: list[float] = self._local.__dict__.setdefault("stack", [])
            started = time.thread_time()
            stack.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.thread_time() - started
                self.taken_s[stage] += taken - stack.pop()
                if stack:
                    stack[-1] += taken

        setattr(owner, name, measured)

    def show(self, size_bytes: int, whole_s: float) -> None:
        """Print a table, the longest first, with what is in no stage."""
        rows = sorted(self.taken_s.items(), key=lambda row: -row[1])
        for stage, taken in (*rows, ("in no stage", whole_s - sum(self.taken_s.values()))):
            print(f"| {stage} | {taken / size_bytes * 1e9:.1f} | {taken / whole_s:.1%} |")
        print(f"| all | {whole_s / size_bytes * 1e9:.0f} | |")


def _tasks(root: str, most_bytes: int) -> Iterator[list[Task]]:
    entries = [each for each in walk(root, WalkRules()) if isinstance(each, FileEntry)]
    random.Random(_SEED).shuffle(entries)
    tasks: list[Task] = []
    taken = pending = 0
    with TreeReader(root) as reader:
        for number, entry in enumerate(entries):
            content = reader.read(entry, LARGEST_FILE_BYTES)
            if taken >= most_bytes or isinstance(content, Skip):
                continue
            language = scan.language_or_skip(entry.path, content.data, content.stat)
            if isinstance(language, Skip):
                continue
            tasks.append(Task(number, entry.path, language, content.data, is_embedded=True))
            pending, taken = pending + len(content.data), taken + len(content.data)
            if pending >= _BATCH_BYTES or len(tasks) >= _BATCH_FILES:
                yield tasks
                tasks, pending = [], 0
    if tasks:
        yield tasks


def measure_worker(root: str, most_bytes: int) -> None:
    """Do the work of a worker, and print its stages."""
    batches = list(_tasks(root, most_bytes))
    stages = Stages()
    for each in _OF_WORKERS:
        stages.wrap(*each)
    vectors = parsing._BuiltInVectors()
    started = time.thread_time()
    size = 0
    for tasks in batches:
        outcomes = parsing.process(tasks, _DEADLINE_MS)
        outcomes = vectors.add_vectors(tasks, outcomes)
        before = time.thread_time()
        pickle.dumps(list(map(without_names, outcomes)), pickle.HIGHEST_PROTOCOL)
        stages.taken_s["pack for the other process"] += time.thread_time() - before
        size += sum(len(task.data) for task in tasks)
    print(f"{sum(map(len, batches)):,} files, {size / 1e6:.1f} MB")
    stages.show(size, time.thread_time() - started)


def measure_main(root: str) -> None:
    """Index a folder, and print the stages of the process that does not parse."""
    stages = Stages()
    for each in _OF_MAIN:
        stages.wrap(*each)
    with tempfile.TemporaryDirectory() as home, Catalog(load_config(Path(home))) as catalog:
        started = time.process_time()
        report = catalog.create(root).index()
        taken = time.process_time() - started
        size = sum(row.size_bytes for row in catalog.open(root).browse.languages())
        print(f"{report.files_indexed:,} files, {size / 1e6:.1f} MB")
        stages.show(size, taken)


def main() -> None:
    """Measure one of the two."""
    parser_ = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser_.add_argument("root", type=Path)
    parser_.add_argument("--megabytes", type=float, default=25)
    parser_.add_argument("--main", action="store_true", help="the process that does not parse")
    arguments = parser_.parse_args()
    root = str(arguments.root.resolve())
    if arguments.main:
        measure_main(root)
    else:
        measure_worker(root, int(arguments.megabytes * 1e6))


if __name__ == "__main__":
    main()
