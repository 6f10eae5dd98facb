"""Vectors read by blocks are those that sqlite-vec gives, whatever came and went."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.store import models, quantization, vectors
from engine.store.connection import Handle, Store
from engine.store.filters import BranchSet, Filters, build_filters
from engine.store.models import ModelRow
from engine.store.quantization import rows_of as stored_rows_of
from engine.store.quantization import unpacked
from engine.store.vector_format import has_valid_checksum
from engine.store.vector_rows import FewVectors, QueryVector, VectorReader, numbers_of
from engine.store.vectors import ManyVectors
from tests.support.budget import examples

DIMENSION = 16
IDS = st.integers(1, 700)


def rows_of(ids: list[int]) -> quantization.Stored:
    return np.stack(
        [np.random.default_rng(id_).integers(-7, 8, DIMENSION, dtype=np.int8) for id_ in ids]
    )


def new_model(handle: Handle, identity: str) -> ModelRow:
    return models.add_model(handle, identity=identity, name="any", dimension=DIMENSION, now_ms=0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("home") / "a.db", busy_timeout_ms=1000, create=True)


def check_equal(handle: Handle, model: ModelRow, kept: set[int]) -> None:
    read = vectors.read_chunk_vectors(handle, model)
    assert read.ids.tolist() == sorted(kept)
    found = handle.execute(
        f"SELECT rowid, signs, exact FROM {model.chunk_table} ORDER BY rowid"
    ).fetchall()
    assert [row[0] for row in found] == sorted(kept)
    assert [row[2] for row in found] == stored_rows_of(read.vectors)
    if kept:
        assert np.array_equal(read.vectors, rows_of(sorted(kept)))
        assert [row[1] for row in found] == [
            bits.tobytes() for bits in quantization.signs(read.vectors)
        ]


@given(st.integers(0, 5), st.integers(1, 40), st.integers(0, 1000))
def test_four_bits_hold_every_number(rows: int, half: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).integers(-7, 8, (rows, 2 * half), dtype=np.int8)
    stored = stored_rows_of(numbers)
    flat = np.frombuffer(b"".join(stored), np.uint8).reshape(rows, -1 if rows else half + 4)
    assert np.array_equal(unpacked(flat), numbers)
    assert [numbers_of(row) for row in stored] == numbers.tolist()
    assert all(map(has_valid_checksum, stored))


@given(st.integers(1, 40), st.integers(0, 1000), st.data())
def test_no_bit_of_a_row_flips_unseen(half: int, seed: int, data: st.DataObject) -> None:
    numbers = np.random.default_rng(seed).integers(-7, 8, (1, 2 * half), dtype=np.int8)
    row = bytearray(stored_rows_of(numbers)[0])
    bit = data.draw(st.integers(0, 8 * len(row) - 1))
    row[bit // 8] ^= 1 << bit % 8
    assert not has_valid_checksum(bytes(row))


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("insert"), st.sets(IDS, min_size=1, max_size=400)),
            st.tuples(st.just("delete"), st.sets(IDS, max_size=400)),
            st.tuples(st.just("close holes"), st.just(set[int]())),
        ),
        max_size=8,
    )
)
def test_blocks_hold_what_was_inserted_and_not_deleted(
    store: Store, steps: list[tuple[str, set[int]]]
) -> None:
    kept: set[int] = set()
    with store.write() as handle:
        model = new_model(handle, "blocks")
        for step, ids in steps:
            if step == "insert":
                new = sorted(ids - kept, key=lambda id_: id_ % 7)  # not by rising id
                if new:
                    vectors.insert_chunk_vectors(handle, model, new, rows_of(new))
                kept |= ids
            elif step == "delete":
                handle.executemany(
                    f"DELETE FROM {model.chunk_table} WHERE rowid = ?", ((id_,) for id_ in ids)
                )
                kept -= ids
            else:
                for block in models.sparse_blocks(handle, model.chunk_table):
                    models.empty_block(handle, model.chunk_table, block)
                assert models.sparse_blocks(handle, model.chunk_table) == []
            check_equal(handle, model, kept)
        models.drop_models(handle)


def test_holes_are_closed_and_models_go_piece_by_piece(store: Store) -> None:
    ids = list(range(1, 2001))
    with store.write() as handle:
        model = new_model(handle, "holes")
        vectors.insert_chunk_vectors(handle, model, ids, rows_of(ids))
        vectors.insert_file_vectors(handle, model, ids[:5], rows_of(ids[:5]))
        handle.execute(f"DELETE FROM {model.chunk_table} WHERE rowid % 2 = 0")
        before = handle.execute(f"SELECT count(*) FROM {model.chunk_table}_chunks").get
        for block in models.sparse_blocks(handle, model.chunk_table):
            models.empty_block(handle, model.chunk_table, block)
        after = handle.execute(f"SELECT count(*) FROM {model.chunk_table}_chunks").get
        assert (before, after) == (17, 9)
        check_equal(handle, model, set(ids[::2]))
        while models.shrink_model(handle, model):
            pass
        assert models.read_models(handle) == []


def test_the_nearest_are_those_of_a_whole_comparison(store: Store) -> None:
    number = 3000
    random = np.random.default_rng(1)
    # Vectors in bundles, as those of texts are.
    centres = random.standard_normal((60, DIMENSION)).astype(np.float32)
    floats = centres[random.integers(0, 60, number)]
    floats = floats + 0.4 * random.standard_normal((number, DIMENSION)).astype(np.float32)
    stored = quantization.quantized(floats)
    with store.write() as handle:
        model = new_model(handle, "nearest")
        handle.execute(
            """INSERT INTO branches (id, name) VALUES (1, 'main'), (2, 'other');
               INSERT INTO fingerprints (id, value, created_at_ms) VALUES (1, 'any', 0)"""
        )
        for blob_id in range(1, number // 10 + 1):
            handle.execute(
                "INSERT INTO blobs VALUES (?, ?, ?, 1, ?, 1, 1, 1, '', '', 0, 0, NULL, NULL)",
                (blob_id, blob_id.to_bytes(32), ("go", "python")[blob_id % 2], bytes(32)),
            )
            handle.execute(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, 1, 1, 1, 1, 1, 1, 0)",
                (blob_id, bytes(16), 1 + blob_id % 3 // 2, b"%d" % blob_id, blob_id),
            )
            handle.executemany(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, 1, 1, NULL, 1, 0, ?)",
                ((10 * (blob_id - 1) + at, blob_id, at, at + 1, bytes(16)) for at in range(1, 11)),
            )
        vectors.insert_chunk_vectors(handle, model, range(1, number + 1), stored)
        vectors.insert_file_vectors(handle, model, range(1, 301), stored[:300])
        query_vector = QueryVector.of(model, centres[3].tolist())
        query = np.array(query_vector.numbers) / query_vector.length
        exact = stored.astype(np.float64)
        cosines = exact @ query / np.linalg.norm(exact, axis=1)
        readers = (FewVectors(handle, query_vector), ManyVectors(handle, query_vector))
        blob_of = (np.arange(number)) // 10 + 1
        for branch_id, language in ((1, None), (2, None), (1, "go"), (2, "python")):
            wanted = frozenset({language} if language else ())
            filters = build_filters(
                branches=BranchSet((branch_id,)), languages=(wanted, frozenset())
            )
            passes = 1 + blob_of % 3 // 2 == branch_id
            if language:
                passes &= blob_of % 2 == (language == "python")
            best = [id_ for id_ in np.argsort(-cosines, kind="stable") + 1 if passes[id_ - 1]]
            few, many = (seen_by(reader, filters) for reader in readers)
            assert few == many
            chunks, files, of_chunks, _ = few
            assert chunks[:10] == best[:10]
            assert of_chunks == pytest.approx(cosines[np.array(chunks) - 1])
            assert files
            assert all(1 + file_id % 3 // 2 == branch_id for file_id in files)
        everything = build_filters(branches=BranchSet((1,)))
        handle.execute("UPDATE files SET branch_id = 1")
        for reader in readers:
            found = reader.nearest_chunks(10, everything)
            assert found == (np.argsort(-cosines, kind="stable")[:10] + 1).tolist()
        nothing = QueryVector.of(model, [0.0] * DIMENSION)
        assert FewVectors(handle, nothing).chunk_cosines([1]) == {1: 0.0}
        assert ManyVectors(handle, nothing).chunk_cosines([1]) == {1: 0.0}


@settings(max_examples=examples(6))
@given(st.integers(1, 4), st.randoms(use_true_random=False))
def test_which_of_equal_ones_are_near_does_not_depend_on_their_ids(
    tmp_path_factory: pytest.TempPathFactory, different: int, random: Random
) -> None:
    paths = [b"%03d" % number for number in range(700)]
    kinds = quantization.quantized(
        np.random.default_rng(different).standard_normal((different, DIMENSION)).astype(np.float32)
    )
    query = [random.random() for _ in range(DIMENSION)]
    seen: list[tuple[set[bytes], set[bytes]]] = []
    for _ in range(2):
        order = random.sample(paths, len(paths))  # the path of each id
        stored = kinds[[int(path) % different for path in order]]
        store = Store(tmp_path_factory.mktemp("home") / "a.db", busy_timeout_ms=1000, create=True)
        with store.write() as handle:
            model = new_model(handle, "equal")
            _insert_files(handle, order)
            ids = range(1, len(order) + 1)
            vectors.insert_chunk_vectors(handle, model, ids, stored)
            vectors.insert_file_vectors(handle, model, ids, stored)
            asked = QueryVector.of(model, query)
            filters = build_filters(branches=BranchSet((1,)))
            for reader in (FewVectors(handle, asked), ManyVectors(handle, asked)):
                chunks, files, _, _ = seen_by(reader, filters)
                seen.append(({order[id_ - 1] for id_ in chunks}, {order[id_ - 1] for id_ in files}))
        store.close()
    assert seen == seen[:1] * 4


def _insert_files(handle: Handle, paths: Sequence[bytes]) -> None:
    """Insert files of one chunk each, with ids from 1."""
    handle.execute(
        """INSERT INTO branches (id, name) VALUES (1, 'main');
           INSERT INTO fingerprints (id, value, created_at_ms) VALUES (1, 'any', 0)"""
    )
    for id_, path in enumerate(paths, 1):
        handle.execute(
            "INSERT INTO blobs VALUES (?, ?, 'go', 1, ?, 1, 1, 1, '', '', 0, 0, NULL, NULL)",
            (id_, id_.to_bytes(32), bytes(32)),
        )
        handle.execute(
            "INSERT INTO files VALUES (?, ?, 1, ?, ?, 1, 1, 1, 1, 1, 1, 0)",
            (id_, bytes(16), path, id_),
        )
        handle.execute(
            "INSERT INTO chunks VALUES (?, ?, 0, 1, 1, 1, NULL, 1, 0, ?)", (id_, id_, bytes(16))
        )


def seen_by(
    reader: VectorReader, filters: Filters
) -> tuple[list[int], list[int], list[float], list[float]]:
    """Return the nearest chunks and files, and the cosines of each."""
    chunks, files = reader.nearest_chunks(60, filters), reader.nearest_files(20, filters)
    of_chunks, of_files = reader.chunk_cosines(chunks), reader.file_cosines(files)
    return chunks, files, [of_chunks[id_] for id_ in chunks], [of_files[id_] for id_ in files]


def test_what_has_no_vectors_has_no_nearest(store: Store) -> None:
    with store.write() as handle:
        model = new_model(handle, "empty")
        query_vector = QueryVector.of(model, [1.0] * DIMENSION)
        for reader in (FewVectors(handle, query_vector), ManyVectors(handle, query_vector)):
            assert reader.nearest_chunks(5, build_filters(branches=BranchSet((1,)))) == []
            assert reader.nearest_files(5, build_filters(branches=BranchSet((1,)))) == []
            assert reader.chunk_cosines([1, 2]) == reader.file_cosines([1, 2]) == {}


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 12), st.randoms())
def test_the_highest_are_those_of_a_sort(values: list[int], number: int, random: Random) -> None:
    places = random.sample(range(100), len(values))
    rank = random.sample(range(100), 100)  # the order of equal ones

    def in_order(equal: NDArray[np.int64]) -> list[int]:
        return sorted(equal.tolist(), key=rank.__getitem__)

    found = vectors.highest(np.array(places, np.int64), np.array(values), number, in_order)
    by_value = sorted(range(len(values)), key=lambda at: (-values[at], rank[places[at]]))
    assert sorted(found.tolist()) == sorted(by_value[:number])
