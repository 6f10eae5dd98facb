"""Titles that fit what was typed."""

import pytest

from web.pages.fuzzy import fit, pieces_of


def _marked(typed: str, title: str, synonyms: str = "") -> tuple[int, list[str]] | None:
    found = fit(typed, title, synonyms)
    return found and (found.cost, [text for text, is_typed in found.pieces if is_typed])


@pytest.mark.parametrize(
    ("typed", "title", "wanted"),
    [
        ("", "Jobs", (0, [])),
        ("jo", "Jobs", (0, ["Jo"])),
        ("folder IND", "Index a folder", (0, ["Ind", "folder"])),
        ("ask", "flask", (1, ["ask"])),  # inside: three letters and more
        ("as", "flask", None),
        ("iaf", "Index a folder", (2, ["I", "a", "f"])),
        ("inaf", "Index a folder", (2, ["I", "n", "a", "f"])),
        ("ndx", "Index a folder", None),
        ("mp", "my-project", (2, ["m", "p"])),
        ("setings", "Settings", (3, ["Settings"])),
        ("flsk", "flask", (3, ["flask"])),
        ("jbo", "Jobs", None),  # too short to tell a typing error
        ("jobs x", "Jobs", None),
        (".*", "Jobs", None),
        ("c++", "c++ tools", (0, ["c++"])),
        ("İ", "İstanbul", (0, ["İ"])),
        ("ΟΔΟΣ", "ΟΔΟΣΗΜΑ", (0, ["ΟΔΟΣ"])),  # the last letter of a word has a form of its own
    ],
)
def test_fit(typed: str, title: str, wanted: tuple[int, list[str]] | None) -> None:
    assert _marked(typed, title) == wanted


def test_initials_that_repeat_are_looked_for_once() -> None:
    assert fit("a" * 15 + "z", "a-" * 30) is None
    assert _marked("a" * 15 + "z", "a-" * 30 + "z") == (2, [*"a" * 15, "z"])


def test_synonyms_fit_and_are_not_shown() -> None:
    assert _marked("prefer", "Settings", "options preferences") == (1, [])
    assert _marked("settings opt", "Settings", "options") == (1, ["Settings"])
    assert _marked("reindex", "Index again", "reindex") == (1, [])  # nearer than a typing error
    assert fit("references", "Settings", "options preferences") is None


def test_pieces_are_the_whole_text_whatever_overlaps() -> None:
    for spans in ([], [(0, 3)], [(1, 3), (2, 5)], [(1, 5), (2, 3)], [(4, 6), (0, 1)]):
        pieces = pieces_of("abcdef", spans)
        assert "".join(text for text, _ in pieces) == "abcdef"
        assert all(text for text, _ in pieces)
    assert pieces_of("abcd", [(0, 2), (1, 3)]) == (("ab", True), ("c", True), ("d", False))
