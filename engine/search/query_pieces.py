"""Decide what the pieces of a query mean: operators in a short query, text in a sentence.

People paste sentences, messages and stack traces, in which quotes, a minus, ``NOT`` and
``name:value`` are text. In a short query they are what they look like, and so are ``OR`` and
brackets.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from engine.syntax.languages import kinds_of, language_named

#: Filters that choose one thing and cannot exclude.
NOT_NEGATED = frozenset({"case"})
#: Filters by what the code does with a name.
BY_USE = ("calls", "uses", "extends", "imports")
#: The values of ``is:``, properties of files.
PROPERTIES = ("test", "vendored", "generated")
#: The treatments of upper and lower case.
CASES = ("yes", "no", "auto")
#: Filters whose values are alternatives when one is given twice; of any other, all must hold.
WITH_ALTERNATIVES = ("lang", "kind", "sym", "branch", "project", "context", "author")

# A query with this many words, of which this many are not quoted, is a sentence; of a text with
# several lines, these are enough.
_SENTENCE_WORDS = 5
_SENTENCE_PLAIN_WORDS = 3
_OPERATORS = frozenset({"AND", "NOT", "OR"})
_JOINING = frozenset({"AND", "OR"})
_IN_PATTERNS = re.compile(r"[\\*+?|(){}^$]|\[")
# What programs fill in: %s, {name}, ${NAME}, <name>.
_PLACEHOLDER = re.compile(r"%\w|\{\w*\}|<\w+>")
# A name, a qualified name or a module: no blanks and no signs of patterns.
_NAME = re.compile(r"[<.~#@$/]*[^\W\d][\w$@~#./:>\\-]*[?!]?")
_NOT_REQUIRED = "ranks but is not required"
_OR_NOTE = "OR joins words and quoted phrases; in a pattern write /a|b/"
_FILTERS_NOTE = "OR does not join these filters, all must hold; only values of {} are alternatives"


def is_name(text: str) -> bool:
    """Return whether a text can be a name, a qualified name or a module."""
    return _NAME.fullmatch(text) is not None


class Kind(StrEnum):
    """What a piece of a query is."""

    WORD = "word"
    PHRASE = "phrase"
    MENTION = "mention"  # a phrase that raises a place but is not required
    PATTERN = "pattern"
    FILTER = "filter"
    TEXT = "text"  # looks like a pattern or a filter, and is words


# What ``NOT`` excludes at the beginning of a query too; before words it is one of them.
_CONDITIONS = frozenset({Kind.PHRASE, Kind.PATTERN, Kind.FILTER})


class Piece(NamedTuple):
    """A piece of a query, with its minus."""

    kind: Kind
    start: int
    end: int
    negated: bool
    text: str  # of a word, a phrase or a pattern, or the value of a filter
    text_start: int
    name: str = ""  # of a filter
    choice: int = 0  # phrases with the same number above 0 are alternatives
    why: str = ""  # a TEXT or a MENTION is not what it looks like


def is_sentence(pieces: Sequence[Piece], text: str) -> bool:
    """Return whether a query is prose, in which people paste quotes and code without escapes."""
    words = sum(
        _is_plain_word(piece) and not (at and _is_operator(pieces[at - 1], "NOT"))
        for at, piece in enumerate(pieces)
    )
    if words < _SENTENCE_PLAIN_WORDS:
        return False
    quoted = sum(len(each.text.split()) for each in pieces if each.kind is Kind.PHRASE)
    return words + quoted >= _SENTENCE_WORDS or len(text.strip().splitlines()) > 1


def as_sentence(pieces: Sequence[Piece], text: str) -> list[Piece]:
    """Return the pieces of a sentence, in which code, quotes and a minus are text.

    Filters and patterns that make sense keep their meaning before its first and after its last
    word, with ``NOT`` before them.
    """
    plain = [at for at, piece in enumerate(pieces) if _is_plain_word(piece)]
    excluded = _exclusions(pieces, text)
    kept = []
    for at, piece in enumerate(pieces):
        is_inside = plain[0] < at < plain[-1]
        if piece.kind in (Kind.WORD, Kind.MENTION):
            kept.append(piece._replace(negated=False))
        elif piece.kind is Kind.PHRASE and (is_inside or not piece.negated):
            kept.append(piece._replace(kind=Kind.MENTION, negated=False, why=_NOT_REQUIRED))
        elif is_inside:
            why = "filters go before or after it"
            kept.append(piece._replace(kind=Kind.TEXT, negated=False, why=why))
        elif not _makes_sense(piece):
            why = f"it is no {piece.kind}"
            kept.append(piece._replace(kind=Kind.TEXT, negated=False, why=why))
        elif at in excluded.pieces:
            if at - 1 in excluded.operators:
                kept.pop()
            kept.append(piece._replace(negated=True))
        else:
            kept.append(piece)
    return kept


def with_operators(pieces: Sequence[Piece], text: str) -> tuple[list[Piece], list[str]]:
    """Return the pieces of a short query with its operators applied, and notes.

    ``NOT``, or a minus, is that of the next piece, or of all up to the end of the bracket that the
    next one opens. Words are ORed anyway; phrases joined by ``OR`` are alternatives, and one that
    is joined to a word is not required. ``AND`` between pieces says nothing. In capitals alone, as
    in ``FILE NOT FOUND``, with or without filters, there are no operators, and none is ``NOT`` at
    the beginning of words.
    """
    if _is_in_capitals(pieces, text):
        return list(pieces), []
    kept: list[Piece] = []
    notes: list[str] = []
    excluded = _exclusions(pieces, text)
    joined_before: set[int] = set()  # numbers of kept pieces with OR before them
    bracketed: set[int] = set()  # of kept pieces in a bracket that is excluded
    is_joined = False
    for at, piece in enumerate(pieces):
        if at in excluded.operators:
            continue
        if _is_joining(pieces, at):
            is_joined = piece.text == "OR" and bool(kept)
            continue
        if is_joined:
            joined_before.add(len(kept))
        if at in excluded.bracketed:
            bracketed.add(len(kept))
        kept.append(piece._replace(negated=True) if at in excluded.pieces else piece)
        is_joined = False
    if kept and all(each.kind is Kind.WORD and each.negated for each in kept):
        kept = [each._replace(negated=False) for each in kept]
        notes.append("there is nothing to exclude from, so all of it was searched for as text")
    runs = _runs(len(kept), joined_before)
    if any(_has_joined_filters([kept[at] for at in run if at not in bracketed]) for run in runs):
        names = " ".join(f"{name}:" for name in WITH_ALTERNATIVES)
        notes.append(_FILTERS_NOTE.format(names))
    return _with_choices(kept, runs, notes), notes


class _Exclusions(NamedTuple):
    """Places of pieces in a query."""

    operators: set[int]  # NOT
    pieces: set[int]  # what NOT or an excluded bracket excludes
    bracketed: set[int]  # of these, what stands in brackets


def _exclusions(pieces: Sequence[Piece], text: str) -> _Exclusions:
    """Return what is excluded by ``NOT`` and before brackets by a minus."""
    found = _Exclusions(set(), set(), set())
    depth = 0  # of the bracket that is excluded
    is_negated = False
    for at, piece in enumerate(pieces):
        if _is_operator(piece, "NOT") and at + 1 < len(pieces):
            if at or pieces[1].kind in _CONDITIONS:
                is_negated = True
                found.operators.add(at)
                continue
        elif _is_joining(pieces, at):
            continue
        if is_negated or depth > 0 or text.startswith("-(", piece.start):
            within = max(0, depth + _brackets(piece, text))
            found.pieces.add(at)
            if depth or within:
                found.bracketed.add(at)
            depth = within
        is_negated = False
    return found


def _is_joining(pieces: Sequence[Piece], at: int) -> bool:
    """Return whether a piece is ``AND`` or ``OR`` between others."""
    piece = pieces[at]
    is_between = 0 < at < len(pieces) - 1
    return is_between and piece.text in _JOINING and _is_operator(piece, piece.text)


def _runs(number: int, joined_before: set[int]) -> list[range]:
    """Return the ranges of pieces that OR joins, also those of one piece."""
    begins = [at for at in range(number) if at not in joined_before]
    return [range(begin, end) for begin, end in pairwise([*begins, number])]


def _has_joined_filters(run: Sequence[Piece]) -> bool:
    """Return whether OR joins filters that must all hold nevertheless."""
    filters = [each for each in run if each.kind is Kind.FILTER]
    names = {each.name for each in filters}
    is_choice = (
        len(filters) == len(run)
        and len(names) == 1
        and names <= {*WITH_ALTERNATIVES}
        and not any(each.negated for each in filters)
    )
    return len(run) > 1 and bool(filters) and not is_choice


def _with_choices(kept: list[Piece], runs: Sequence[range], notes: list[str]) -> list[Piece]:
    """Make alternatives of phrases that are joined by OR; beside words they are not required."""
    for run in runs:
        kinds = {kept[at].kind for at in run if not kept[at].negated}
        if len(run) == 1 or kinds <= {Kind.WORD}:
            continue
        if Kind.PATTERN in kinds:
            notes.append(_OR_NOTE)
        for at in run:
            if kept[at].kind is Kind.PHRASE and not kept[at].negated:
                kept[at] = (
                    kept[at]._replace(choice=run.stop)
                    if kinds == {Kind.PHRASE}
                    else kept[at]._replace(kind=Kind.MENTION, why=_NOT_REQUIRED)
                )
    return kept


def _is_in_capitals(pieces: Sequence[Piece], text: str) -> bool:
    """Return whether all but filters is in capitals, and no operator is about filters.

    These are ``NOT`` before a filter, and ``AND`` or ``OR`` between two.
    """
    said = [text[each.start : each.end] for each in pieces if each.kind is not Kind.FILTER]
    is_about_filters = any(
        each.kind is Kind.FILTER
        and (
            _is_operator(pieces[at - 1], "NOT")
            or (_is_joining(pieces, at - 1) and pieces[at - 2].kind is Kind.FILTER)
        )
        for at, each in enumerate(pieces)
        if at
    )
    return " ".join(said).isupper() and not is_about_filters


def _brackets(piece: Piece, text: str) -> int:
    """Return how many brackets a piece of a query opens, less those that it closes."""
    raw = text[piece.start : piece.end].removeprefix("-")
    if piece.kind is Kind.WORD or (piece.kind is Kind.FILTER and '"' not in raw):
        return raw.count("(") - raw.count(")")
    return int(raw.startswith("("))


def _is_plain_word(piece: Piece) -> bool:
    is_word = piece.kind is Kind.WORD and not piece.negated and piece.text not in _OPERATORS
    return is_word and any(map(str.isalnum, piece.text))


def _is_operator(piece: Piece, operator: str) -> bool:
    return piece.kind is Kind.WORD and not piece.negated and piece.text == operator


def _makes_sense(piece: Piece) -> bool:
    """Return whether a filter or a pattern at the end of a sentence can be one."""
    if piece.kind is Kind.PATTERN:
        return _IN_PATTERNS.search(piece.text) is not None
    if piece.kind is not Kind.FILTER:
        return True
    if (piece.negated and piece.name in NOT_NEGATED) or _PLACEHOLDER.search(piece.text):
        return False
    return not (
        (piece.name == "lang" and language_named(piece.text) is None)
        or (piece.name == "kind" and kinds_of(piece.text) is None)
        or (piece.name == "case" and piece.text.lower() not in CASES)
        or (piece.name in BY_USE and not is_name(piece.text))
    )
