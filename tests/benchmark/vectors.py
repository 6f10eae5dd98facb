"""Measure stored vectors: writing, reading, the nearest, by size and dimension.

    python tests/benchmark/vectors.py [--chunks 10000 100000 500000] [--dimensions 128 256]

Vectors are random around random centres, as texts of a few subjects are; ten chunks make a file,
one file in fifty is Go. Prints processor time, the best of some rounds, as a table. The KNN of
sqlite-vec itself is measured for comparison. ``OPENBLAS_NUM_THREADS=1`` keeps numpy on one core.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.store import models, quantization, vectors
from engine.store.connection import Handle, Store
from engine.store.filters import BranchSet, build_filters
from engine.store.models import ModelRow
from engine.store.vector_rows import FewVectors, QueryVector
from engine.store.vectors import ManyVectors

CHUNKS_A_FILE = 10
ROWS_A_TRANSACTION = 700
QUERIES = 20
NONE: frozenset[str] = frozenset()


def main() -> None:
    """Measure each combination and print a row of a table for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000, 500_000])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[128, 256])
    arguments = parser.parse_args()
    heading = ""
    for number in arguments.chunks:
        for dimension in arguments.dimensions:
            with tempfile.TemporaryDirectory(prefix="cairn-vectors-") as folder:
                figures = measure(Path(folder) / "a.db", number, dimension)
            if not heading:
                heading = " | ".join(figures)
                print(f"| {heading} |\n|{'---|' * len(figures)}")
            print(f"| {' | '.join(f'{value:,.4g}' for value in figures.values())} |", flush=True)


def measure(file: Path, number: int, dimension: int) -> dict[str, float]:
    """Fill a database and measure it."""
    store = Store(file, busy_timeout_ms=1000, create=True)
    made = clustered(number + QUERIES, dimension)
    stored, queries = quantization.quantized(made[:number]), made[number:]
    with store.write() as handle:
        model = models.add_model(handle, identity="a", name="a", dimension=dimension, now_ms=0)
        fill_files(handle, number)
    store.checkpoint()
    empty = store.size_bytes()
    started = time.process_time()
    for start in range(0, number, ROWS_A_TRANSACTION):
        some = stored[start : start + ROWS_A_TRANSACTION]
        with store.write() as handle:
            ids = range(start + 1, start + 1 + len(some))
            vectors.insert_chunk_vectors(handle, model, ids, some)
    insert_us = (time.process_time() - started) / number * 1e6
    store.checkpoint()
    try:
        return {
            "chunks": number,
            "dimension": dimension,
            "insert µs": insert_us,
            "bytes each": (store.size_bytes() - empty) / number,
            **reading(store, model, queries),
        }
    finally:
        store.close()


def reading(store: Store, model: ModelRow, queries: NDArray[np.float32]) -> dict[str, float]:
    """Measure what a search does, in milliseconds."""
    everything = build_filters(branches=BranchSet((1,)))
    go = build_filters(branches=BranchSet((1,)), languages=(frozenset({"go"}), NONE))
    with store.read() as handle:
        ids = vectors.read_chunk_vectors(handle, model).ids
        some = np.random.default_rng(2).choice(ids, 200, replace=False).tolist()
        query = QueryVector.of(model, queries[0].tolist())
        few, many = FewVectors(handle, query), ManyVectors(handle, query)
        return {
            "read all ms": best(lambda: vectors.read_chunk_vectors(handle, model)),
            "compare 200 ms": best(lambda: many.chunk_cosines(some)),
            "nearest 10 ms": best(lambda: many.nearest_chunks(10, everything)),
            "nearest 100 ms": best(lambda: many.nearest_chunks(100, everything)),
            "nearest 10 of 2% ms": best(lambda: many.nearest_chunks(10, go)),
            "nearest 100 without numpy ms": best(lambda: few.nearest_chunks(100, everything)),
            "recall of 10": recall(handle, model, queries, 10),
            "recall of 100": recall(handle, model, queries, 100),
            "vec0 bits 50 ms": best(lambda: knn(handle, model, queries[0], 50)),
            "vec0 bits 400 ms": best(lambda: knn(handle, model, queries[0], 400)),
        }


def knn(handle: Handle, model: ModelRow, query: NDArray[np.float32], k: int) -> list[object]:
    """Ask sqlite-vec for those whose signs are nearest."""
    value = quantization.signs(query[np.newaxis, :]).tobytes()
    rows = handle.execute(
        f"""SELECT rowid, distance FROM {model.chunk_table}
            WHERE signs MATCH vec_bit(?) AND k = ?""",
        (value, k),
    )
    return list(rows)


def recall(handle: Handle, model: ModelRow, queries: NDArray[np.float32], limit: int) -> float:
    """Give the share of the nearest that are found, over all queries."""
    stored = vectors.read_chunk_vectors(handle, model)
    everything = build_filters(branches=BranchSet((1,)))
    found = 0
    exact = stored.vectors.astype(np.float32)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    for query in queries:
        nearest = stored.ids[np.argpartition(-(exact @ query), limit)[:limit]].tolist()
        reader = ManyVectors(handle, QueryVector.of(model, query.tolist()))
        found += len(set(reader.nearest_chunks(limit, everything)) & set(nearest))
    return found / (limit * len(queries))


def best(do: Callable[[], object], rounds: int = 5) -> float:
    """Give the processor time of the fastest round, in milliseconds."""
    fastest = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        do()
        fastest = min(fastest, time.process_time() - started)
    return fastest * 1000


def clustered(number: int, dimension: int) -> NDArray[np.float32]:
    """Make vectors of length 1 around a centre for each hundred."""
    random = np.random.default_rng(1)
    centres = random.standard_normal((max(number // 100, 1), dimension)).astype(np.float32)
    made = centres[random.integers(0, len(centres), number)]
    made += random.standard_normal((number, dimension)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def fill_files(handle: Handle, chunks: int) -> None:
    """Write the rows that vectors belong to."""
    handle.execute(
        """INSERT INTO branches (id, name) VALUES (1, '');
           INSERT INTO fingerprints (id, value, created_at_ms) VALUES (1, 'any', 0)"""
    )
    ids = range(1, chunks // CHUNKS_A_FILE + 1)
    handle.executemany(
        "INSERT INTO blobs VALUES (?, ?, ?, 1, ?, 1, 1, 1, '', '', 0, 0, NULL, NULL)",
        ((id_, id_.to_bytes(32), "python" if id_ % 50 else "go", bytes(32)) for id_ in ids),
    )
    handle.executemany(
        "INSERT INTO files VALUES (?, ?, 1, ?, ?, 1, 1, 1, 1, 1, 1, 0)",
        ((id_, bytes(16), b"%d" % id_, id_) for id_ in ids),
    )
    handle.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, 1, 1, NULL, 1, 0, ?)",
        (
            (id_ + 1, id_ // CHUNKS_A_FILE + 1, id_, id_ + 1, bytes(16))
            for id_ in range(chunks // CHUNKS_A_FILE * CHUNKS_A_FILE)
        ),
    )


if __name__ == "__main__":
    main()
