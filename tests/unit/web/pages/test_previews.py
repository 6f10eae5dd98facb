"""Previews of CSV: what separates the columns."""

import pytest

from tests.support.previews import previewed


def _cells(text: str) -> list[list[str]]:
    """Return the rows of the table that a CSV file is shown as."""
    rows = previewed(text, "data.csv", "csv").split("<tr>")[1:]
    return [
        [
            cell.split("<", 1)[0]
            for cell in row.replace('<th scope="col">', "<td>").split("<td>")[1:]
        ]
        for row in rows
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_columns_are_told_by_what_separates_most_of_the_first_line(delimiter: str) -> None:
    text = f'a{delimiter}"b, c; d| e, f"{delimiter}g\n1{delimiter}2{delimiter}3\n'
    assert _cells(text) == [["a", "b, c; d| e, f", "g"], ["1", "2", "3"]]


def test_a_column_alone_is_a_table_too() -> None:
    assert _cells("name\nAnn\n") == [["name"], ["Ann"]]


def test_blanks_before_a_quoted_cell_are_no_part_of_it() -> None:
    assert _cells('a, "b, c"\n1, 2\n') == [["a", "b, c"], ["1", "2"]]


def test_quotes_without_end_cost_no_more_than_other_text() -> None:
    """A search for pairs of quotes would take minutes, without letting others work."""
    text = ',"a' * 33_000
    assert len(_cells(text)[0]) == 50
