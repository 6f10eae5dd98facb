"""Previews of CSV, and Markdown that would become much more than it is."""

import pytest

from tests.support.previews import content_of, previewed
from web.pages.previews import why_no_preview

_TOO_MANY_CELLS = "its tables have more than 20,000 cells"


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


def _note(text: str) -> str:
    return previewed(text, "data.csv", "csv").partition('</div><p class="dim">')[2]


def test_what_is_left_out_is_told() -> None:
    wide = ",".join(map(str, range(60))) + "\n"
    assert _note("a,b\n" * 501) == ""
    assert _note("a,b\n" * 502) == "The first 500 rows.</p>"
    assert _note(wide) == "The first 50 of 60 columns.</p>"
    assert _note(wide * 520) == "The first 500 rows and the first 50 of 60 columns.</p>"
    assert _note(wide[: wide.index(",50")] + "\n") == ""


def test_a_quoted_cell_of_several_lines_is_one() -> None:
    cell = "x\n" * 10
    rows = _cells("a,b\n" + f'"{cell}",2\n\n' * 300)
    assert rows == [["a", "b"], *[[cell, "2"]] * 300]


def test_a_column_alone_is_a_table_too() -> None:
    assert _cells("name\nAnn\n") == [["name"], ["Ann"]]


def test_blanks_before_a_quoted_cell_are_no_part_of_it() -> None:
    assert _cells('a, "b, c"\n1, 2\n') == [["a", "b, c"], ["1", "2"]]


def test_quotes_without_end_cost_no_more_than_other_text() -> None:
    """A search for pairs of quotes would take minutes, without letting others work."""
    text = ',"a' * 33_000
    assert len(_cells(text)[0]) == 50


def _table(columns: int, rows: int, before: str = "", end: str = "\n") -> str:
    """Return a Markdown table, each of whose rows has one cell of its own."""
    lines = ["|a" * columns + "|", "|-" * columns + "|", *["a"] * rows]
    return end.join(before + line for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        _table(60, 400),
        _table(60, 400, before="> "),
        "- one\n\n" + _table(60, 400, before="  "),
        _table(60, 400, end="\r\n"),
        _table(60, 400, end="\r"),
        "\n\n".join([_table(100, 20)] * 11),
        "\n".join([_table(10, 30) + "\n# end"] * 70),
        "\n" + "a\n" * 200 + "a|" * 150 + "b\n" + "-|" * 150 + "-\n" + "a\n" * 200,
    ],
)
def test_tables_that_are_filled_up_have_no_preview(text: str) -> None:
    assert why_no_preview(content_of(text, "a.md", "markdown")) == _TOO_MANY_CELLS


@pytest.mark.parametrize(
    "text",
    [
        _table(40, 400),
        "\n\n".join([_table(10, 30)] * 60),
        ("| a | - | c |\n" * 300 + "\n") * 20,
        "a\n" * 20_001,
        ("word - word -\n" * 8 + "---\n\n") * 800,
    ],
)
def test_other_tables_and_lines_have_one(text: str) -> None:
    assert why_no_preview(content_of(text, "a.md", "markdown")) == ""


def test_a_definition_that_very_many_links_share_is_shown_as_source() -> None:
    text = f"[a]: /{'x' * 45_000}\n\n" + "[a]\n\n" * 9_000
    shown = previewed(text, "a.md", "markdown")
    assert "could not be rendered" in shown
    assert len(shown) < 2 * len(text)
    links = previewed(text[:45_000] + "\n\n" + "[a]\n\n" * 20, "a.md", "markdown")
    assert links.count("<a ") == 20


def test_brackets_are_counted_by_paragraph_whatever_ends_the_lines() -> None:
    text = ("[a](b)\n\n" * 1_500).replace("\n", "\r\n")
    assert why_no_preview(content_of(text, "a.md", "markdown")) == ""
