"""Samples that a check takes: evenly spread, and others each time."""

from contextlib import closing
from itertools import pairwise
from pathlib import Path

from engine.store import checks, project
from engine.store.connection import Store


def test_many_checks_see_what_one_does_not(tmp_path: Path) -> None:
    with closing(Store(tmp_path / f"{'a' * 64}.db", busy_timeout_ms=100, create=True)) as store:
        project.make_project(store, b"/r", 1, now_ms=1)
        with store.write() as handle:
            handle.executemany(
                """INSERT INTO memories (id, uuid, summary, description, context, tags,
                     token_count, created_at_ms, updated_at_ms)
                   VALUES (?, randomblob(16), 's', '', '{}', '[]', 0, 1, 1)""",
                [(number,) for number in range(1, 41)],
            )
        with store.read() as handle:
            samples = [checks.read_sample(handle, checks.MEMORY_WORDS, 10) for _ in range(200)]
            assert checks.read_sample(handle, checks.MEMORY_WORDS, 40) == [*range(1, 41)]
    assert {len(sample) for sample in samples} == {10}
    assert {after - before for ids in samples for before, after in pairwise(ids)} == {4}
    assert {number for sample in samples for number in sample} == {*range(1, 41)}
