"""While a run goes on, no full collection of garbage holds up the other threads."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.catalog import Catalog
from engine.indexing.run import without_full_gc
from tests.support.trees import write_tree


@contextmanager
def full_collections() -> Iterator[list[int]]:
    """Note every full collection; they are due often, and as if nothing else were held."""
    seen: list[int] = []

    def note(phase: str, facts: dict[str, int]) -> None:
        if phase == "start" and facts["generation"] == 2:
            seen.append(1)

    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.collect()  # counts what is left: next to nothing
    gc.set_threshold(50, 2, 2)
    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        gc.unfreeze()


def test_a_run_over_many_files_makes_none(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {"first.py": "same = 1\n"})
    index = catalog.create(str(tree))
    index.index()  # imports what a run needs
    write_tree(tree, {f"f{number}.py": "same = 1\n" for number in range(300)})
    with full_collections() as seen:
        assert index.index().files_indexed == 300
        assert seen == []
        held = [[number] for number in range(5_000)]
        assert seen != []  # they are due again
        assert len(held) == 5_000


def test_runs_side_by_side_leave_things_as_they_were() -> None:
    before = gc.get_threshold()
    first, second = without_full_gc(), without_full_gc()
    with first:
        within = gc.get_threshold()
        assert within[:2] == before[:2]
        assert within[2] > 1_000_000
        second.__enter__()
    assert gc.get_threshold() == within
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_young_garbage_is_collected_meanwhile() -> None:
    young: list[int] = []

    def note(phase: str, facts: dict[str, int]) -> None:
        if phase == "stop":
            young.append(facts["collected"])

    gc.callbacks.append(note)
    try:
        with without_full_gc():
            for _ in range(100_000):
                cycle: list[object] = []
                cycle.append(cycle)
    finally:
        gc.callbacks.remove(note)
    assert sum(young) > 90_000
