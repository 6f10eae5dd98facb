"""Symbols of notebooks."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of


def _rows(source: str, *, result: str = "ok") -> list[tuple[str, str, int, int, int]]:
    rows = rows_of(source, "jupyter", result=result)
    return [(row[0], row[1], row[2], row[3], row[5]) for row in rows]


def test_cells_headings_and_definitions() -> None:
    source = '''
    # %% [markdown] cell 1
    Words before.

    # Sales
    ## Sources

    # %% [python] cell 2
    import csv

    # %% [python] cell 4
    # Reads it.
    def load(path):
        """Load the table."""
        return path

    class Table:
        def rows(self):
            return 1

    # %% [raw] cell 5
    def not_code(): pass
    '''
    assert _rows(source) == [
        ("section", "Sales", 1, 5, -1),
        ("section", "Sales.Sources", 5, 5, 0),
        ("section", "cell 2", 7, 8, -1),
        ("section", "cell 4", 10, 18, -1),
        ("function", "load", 12, 14, 3),
        ("class", "Table", 16, 18, 3),
        ("method", "Table.rows", 17, 18, 5),
        ("section", "cell 5", 20, 21, -1),
    ]
    signatures = [row[6] for row in rows_of(source, "jupyter")]
    assert signatures[0] == "# Sales"
    assert signatures[2:5] == ["import csv", "# Reads it.", "def load(path)"]
    assert rows_of(source, "jupyter")[4][7] == "Load the table."


def test_lines_for_the_notebook_are_no_errors() -> None:
    source = """
    # %% [python] cell 1
    %matplotlib inline
    !pip install shop
    ?print
    def total(a, b):
        return (a
            % b)

    # %% [python] cell 2
    %%time
    def timed():
        return 1

    # %% [python] cell 3
    %%bash
    build() {
      make
    }
    """
    assert [row[1] for row in _rows(source)] == [
        "cell 1",
        "total",
        "cell 2",
        "timed",
        "cell 3",
        "build",
    ]


def test_other_kernels_and_unknown_ones() -> None:
    source = """
    # %% [javascript] cell 1
    function draw() { return 1; }

    # %% [klingon] cell 2
    function none() { return 1; }

    # %% [jupyter] cell 3
    function none() { return 1; }
    """
    assert [row[1] for row in _rows(source)] == ["cell 1", "draw", "cell 2", "cell 3"]


def test_a_broken_cell_harms_no_other() -> None:
    source = """
    # %% [python] cell 1
    def open_ended(a, (

    # %% [python] cell 2
    def whole():
        return 1
    """
    rows = _rows(source, result="errors")
    assert ("function", "whole", 5, 6, rows[-1][4]) == rows[-1]
    assert rows[rows[-1][4]][1] == "cell 2"


def test_what_is_no_notebook_says_so() -> None:
    assert parse(b'{"cells": 7}\n', "jupyter", deadline_ms=600_000)[:2] == ([], "errors")
    assert parse(b"", "jupyter", deadline_ms=600_000)[:2] == ([], "ok")


def test_the_deadline_is_that_of_the_whole_notebook() -> None:
    cells = b"".join(b"# %%%% [python] cell %d\ndef f(): pass\n\n" % n for n in range(1, 3000))
    parsed = parse(cells, "jupyter", deadline_ms=1)
    assert parsed.result == "timeout"
    names = [symbol.name for symbol in parsed.symbols if symbol.kind == "section"]
    assert names[-1] == "cell 2999"
