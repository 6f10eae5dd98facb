"""The first rows by rank are those of sorting all, and few of the others are read or kept."""

import json
import tracemalloc
from contextlib import closing
from typing import Any

import apsw
from hypothesis import given
from hypothesis import strategies as st

from engine.store.fulltext import first_ranked

_ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30)


def second(row: tuple[Any, ...]) -> Any:
    return row[1]


@given(_ROWS, st.integers(1, 12))
def test_the_first_are_those_of_sorting_all(rows: list[tuple[int, int]], limit: int) -> None:
    with closing(apsw.Connection(":memory:")) as db:
        cursor = db.execute(
            """SELECT value ->> 0, value ->> 1 FROM json_each(?) ORDER BY value ->> 0 DESC, key""",
            (json.dumps(rows),),
        )
        found = first_ranked(cursor, limit, second)
    assert found == sorted(rows, key=lambda row: (-row[0], row[1]))[:limit]


def test_of_many_equal_ones_few_are_kept_and_none_below_them_is_read() -> None:
    read: list[Any] = []

    def noted(*scores: Any) -> Any:
        read.extend(scores)
        return scores[0]

    with closing(apsw.Connection(":memory:")) as db:
        db.create_scalar_function("noted", noted, 1)
        cursor = db.execute(
            """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
               SELECT 1, 40000 - i, printf('%0200d', i) FROM n
               UNION ALL SELECT noted(0), i, '' FROM n"""
        )
        tracemalloc.start()
        try:
            found = first_ranked(cursor, 20, second)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [row[1] for row in found] == list(range(20))
    assert read == [0]
    assert peak < 1 << 20
