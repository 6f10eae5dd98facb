"""Patterns of a process that answers many: the same answers from a look into fewer texts."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import IndexCorruptError
from engine.project import Project
from engine.search import ngram_filter, pattern_search
from engine.search.grep import Deadline, Scan, matching_texts
from engine.search.patterns import patterns_of
from engine.search.query import parse_query
from engine.search_records import Mode, SearchAnswer, SearchRequest
from engine.store import chunks
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.jobs import until
from tests.support.trees import write_tree
from web.app import BackgroundTasks
from web.security.server_settings import ServerSettings

QUERIES = (
    r"def \w+_session\(",
    "needle",
    "NEEDLE case:yes",
    "open|close",
    r"ret.*\bvalue",
    "return",
    r"\w+",
    "[0-9]{3}",
    "-needle return",
    "needle path:app",
    "needle lang:python",
    "session /needle/",
    "K(elvin)+\u017f",
    r"value\nreturn",
)
_NAMES = (
    "open_session",
    "close_store",
    "route",
    "needle",
    "value",
    "Kelvin",
    "\u212aeLVin\u017f",
    "kelvins",
)


def _texts(seed: int, number: int) -> dict[str, str]:
    letters = random.Random(seed)
    texts = {}
    for n in range(number):
        folder, ending = letters.choice(["app", "tests", "docs"]), letters.choice(["py", "md"])
        texts[f"{folder}/m{seed}_{n}.{ending}"] = "".join(
            f"def {letters.choice(_NAMES)}_{letters.choice(_NAMES)}(value):\nreturn {n * 7}\n"
            for _ in range(letters.randrange(1, 6))
        )
    return texts


def _asked(index: Project, queries: Sequence[str] = QUERIES) -> list[SearchAnswer]:
    requests = [SearchRequest(query=query, mode=Mode.REGEX, limit=100) for query in queries]
    return [replace(index.search(request), took_ms=0.0) for request in requests]


def _learn(index: Project) -> None:
    """Let an index learn what a pattern asks about."""
    _asked(index, ["needle"])
    index.update_ngram_filter(never)


def _looked_at(index: Project, query: str) -> int | None:
    """Count the texts that are searched for a pattern; None for all."""
    texts_filter = index._searcher._ngram_filter
    assert texts_filter is not None
    with index._store.read() as handle:
        found = texts_filter.candidate_texts(
            handle, patterns_of(parse_query(query, as_pattern=True))
        )
    return None if found is None else len(found)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn from the first text on, and search four texts at a time when all match."""
    monkeypatch.setattr(ngram_filter, "_MAX_UNKNOWN", 0)
    monkeypatch.setattr(pattern_search, "_FIRST_BATCH", 4)
    monkeypatch.setattr(pattern_search, "MAX_FILES", 25)


@pytest.fixture
def cold(catalog: Catalog) -> Iterator[Catalog]:
    """Another process's look at the same indexes, which never learns."""
    with open_catalog(load_config(catalog._config.data_dir)) as other:
        yield other


def test_what_is_learned_changes_no_answer(catalog: Catalog, cold: Catalog, tree: Path) -> None:
    write_tree(tree, _texts(1, 60))
    index = catalog.create(str(tree))
    index.index()
    other = cold.open(index.root)
    wanted = _asked(other)
    assert _asked(index) == wanted
    _learn(index)
    assert _asked(index) == wanted
    index.warm()  # the best paths are known from here on
    assert _asked(index) == wanted
    for seed in range(2, 6):
        write_tree(tree, _texts(seed, 12))
        for path in sorted(tree.rglob(f"m{seed - 1}_*"))[::2]:
            path.unlink()
        index.index()
        assert _asked(index) == _asked(other)
        if seed % 2:
            index.warm()
            _learn(index)
        assert _asked(index) == _asked(other)


def test_few_texts_are_looked_into(catalog: Catalog, tree: Path) -> None:
    pad = "".join(f"word_{n} = {n}\n" for n in range(300))
    write_tree(
        tree, {f"a{n}.py": f"def only_{n:03}_here():\n    return {n}\n{pad}" for n in range(40)}
    )
    index = catalog.create(str(tree))
    index.index()
    index.update_ngram_filter(never)
    assert index._searcher._ngram_filter is None  # nobody has asked by pattern
    _asked(index, ["needle"])
    index.update_ngram_filter(lambda: True)
    assert _looked_at(index, "only_007_here") is None  # nothing is known yet
    _learn(index)
    assert _looked_at(index, "only_007_here") in range(1, 8)
    assert _looked_at(index, r"only_\d+_here") is None  # all hold what it requires
    assert _looked_at(index, r"\d\d") is None  # it requires nothing
    assert _looked_at(index, "nowhere_at_all") == 0


def test_a_text_under_the_id_of_one_that_is_gone_is_not_taken_for_it(
    catalog: Catalog, tree: Path
) -> None:
    write_tree(tree, {f"a{n}.py": f"kept_{n} = {n}\n" * 900 for n in range(9)})
    index = catalog.create(str(tree))
    index.index()
    write_tree(tree, {"z.py": "first = 1\n"})
    index.index()
    _learn(index)
    before = _ids(index)
    write_tree(tree, {"z.py": "second = 2\n"})
    (tree / "z.py").unlink()
    index.index()
    write_tree(tree, {"z.py": "third = 3\n"})
    index.index()
    assert _ids(index) == before  # the id came back, for another text
    assert [hit.path for hit in _asked(index, ["third"])[0].hits] == ["z.py"]
    assert _asked(index, ["first"])[0].hits == ()


def _ids(index: Project) -> list[int]:
    with index._store.read() as handle:
        return [blob_id for blob_id, _ in chunks.read_hash_prefixes(handle, 8)]


def test_what_there_is_no_room_for_is_looked_through(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngram_filter, "_MIN_FREE_BYTES", 0)
    write_tree(tree, {f"a{n}.py": f"only_{n:02} = {n}\n" * 500 for n in range(20)})
    index = catalog.create(str(tree))
    index.index()
    monkeypatch.setattr(ngram_filter, "MAX_BYTES", 5 << 10)  # of 20 kB
    for _ in range(3):
        _learn(index)
        assert _looked_at(index, "only_19") in range(8, 20)
    for number in range(20):
        (answer,) = _asked(index, [f"only_{number:02}"])
        assert {hit.path for hit in answer.hits} == {f"a{number}.py"}


def test_texts_that_are_gone_make_room_for_those_that_came(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngram_filter, "MAX_BYTES", 40 << 10)
    monkeypatch.setattr(ngram_filter, "_BATCH", 4)
    monkeypatch.setattr(ngram_filter, "_MIN_FREE_BYTES", 30 << 10)
    write_tree(tree, {f"a{n}.py": f"old_{n:02} = {n}\n" * 500 for n in range(30)})
    index = catalog.create(str(tree))
    index.index()
    _learn(index)
    write_tree(tree, {f"a{n}.py": f"new_{n:02} = {n}\n" * 500 for n in range(30)})
    index.index()
    assert _looked_at(index, "new_07") is None
    index.update_ngram_filter(never)
    assert _looked_at(index, "new_07") in range(1, 5)


def test_a_note_counts_what_was_searched_in_all_batches(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("x" * 79 + "\n") * 2_500
    write_tree(tree, {f"a{n:02}.txt": f"{n}\n{lines}" for n in range(20)})
    index = catalog.create(str(tree))
    index.index()
    _asked(index, ["needle"])
    index.update_ngram_filter(
        lambda: True
    )  # nothing is known, but that there will be more patterns
    index.warm()
    monkeypatch.setattr(pattern_search, "matching_texts", _cut_short(matching_texts, after=2))
    (answer,) = _asked(index, ["nowhere_[ab]"])
    assert answer.truncated
    assert "searched 2 of 4 MB" in answer.notes[0]  # in batches of 4, 4 and 8 texts


def _cut_short(search: Callable[..., Scan], after: int) -> Callable[..., Scan]:
    """Let the time be up after some batches."""
    batches = count()

    def searched(rows: object, patterns: object, deadline: Deadline, threads: int) -> Scan:
        if next(batches) >= after:
            deadline.stop()
        return search(rows, patterns, deadline, threads)

    return searched


def test_learning_ends_when_it_is_told_to(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, _texts(1, 20))
    index = catalog.create(str(tree))
    index.index()
    wanted = _asked(index)
    index.update_ngram_filter(lambda: True)
    assert _looked_at(index, "nowhere_at_all") is None
    assert _asked(index) == wanted


def test_a_damaged_text_is_told_by_who_looks_into_it(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"only_{n:02} = {n}\n" * 500 for n in range(20)})
    index = catalog.create(str(tree))
    index.index()
    file = index._store.path
    damage.checkpointed(file)
    damage.flip_bit(file, damage.pieces_of_texts(file)[7], random.Random(1))
    for _ in range(2):
        with pytest.raises(IndexCorruptError):
            _asked(index, ["only_03"])
        index.update_ngram_filter(never)
    assert _looked_at(index, "only_03") in range(1, 20)


def test_a_server_learns_while_nobody_waits(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"only_{n:02} = {n}\n" * 500 for n in range(20)})
    index = catalog.create(str(tree))
    index.index()
    told: list[str] = []
    upkeep = BackgroundTasks(
        catalog,
        ServerSettings(host="127.0.0.1", port=0, roots=(index.root,), watches=False),
        lambda what, **_: told.append(what),
    )
    upkeep.start()
    try:
        wanted = _asked(index, ["only_03"])
        until(lambda: (_looked_at_if_known(index, "only_03") or 20) < 20)
        assert _asked(index, ["only_03"]) == wanted
    finally:
        upkeep.stop()
    assert told == []


def test_a_server_learns_before_it_is_asked_by_pattern(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"only_{n:02} = {n}\n" * 500 for n in range(20)})
    index = catalog.create(str(tree))
    index.index()
    upkeep = BackgroundTasks(
        catalog,
        ServerSettings(host="127.0.0.1", port=0, roots=(index.root,), watches=False),
        lambda *_, **__: None,
    )
    upkeep.start()
    try:
        until(lambda: (known := index._searcher._ngram_filter) is not None and known.size_bytes > 0)
    finally:
        upkeep.stop()
    assert _looked_at(index, "only_03") in range(1, 20)


def test_a_large_index_is_not_learned_before_it_is_asked_by_pattern(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tree, {"a.py": "only = 1\n", "b.py": "other = 2\n"})
    index = catalog.create(str(tree))
    index.index()
    monkeypatch.setattr("engine.search.searcher._MOST_CHUNKS_AHEAD", 1)
    index.expect_patterns(1 << 20)
    index.update_ngram_filter(never)
    assert index._searcher._ngram_filter is None
    monkeypatch.setattr("engine.search.searcher._MOST_CHUNKS_AHEAD", 2)
    index.expect_patterns(1 << 20)
    index.update_ngram_filter(never)
    assert index._searcher._ngram_filter is not None


def _looked_at_if_known(index: Project, query: str) -> int | None:
    return _looked_at(index, query) if index._searcher._ngram_filter else None
