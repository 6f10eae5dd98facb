"""The query language of people and agents, read into a ``Query``.

    words "exact phrase" /pattern/ lang:go path:src/ kind:function sym:Name branch:main
    project:name tag:.md case:yes        a leading - negates any of them

Raises nothing but ``InvalidQueryError``, which names the position.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from engine.errors import InvalidQueryError

MAX_QUERY_CHARS = 4096
MAX_TERMS = 64
MAX_TERM_CHARS = 256

FILTERS = ("lang", "path", "kind", "sym", "branch", "project", "tag", "case")
_ALIASES = {"language": "lang", "symbol": "sym", "file": "path"}
_NOT_NEGATED = frozenset({"branch", "case"})

# A colon after a lower-case word makes a filter; "::" and "://" do not.
_FILTER = re.compile(r"([a-z_]+):(?!:|//)")
_SURROGATES_AND_NUL = re.compile("[\x00\ud800-\udfff]")


class Case(StrEnum):
    """How letters compare in phrases and patterns."""

    YES = "yes"
    NO = "no"
    AUTO = "auto"  # exactly when the phrase has an upper-case letter


class Term(NamedTuple):
    """A word, phrase or pattern of the query."""

    text: str
    position: int  # 0-based character offset in the query
    negated: bool


class FilterTerm(NamedTuple):
    """The value of a filter."""

    value: str
    position: int
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query that was read."""

    text: str
    words: tuple[Term, ...] = ()
    phrases: tuple[Term, ...] = ()
    patterns: tuple[Term, ...] = ()
    filters: tuple[tuple[str, FilterTerm], ...] = ()
    case: Case = Case.AUTO

    def values(self, name: str) -> tuple[FilterTerm, ...]:
        """Give the values of a filter, in order."""
        return tuple(value for key, value in self.filters if key == name)


def parse_query(text: str) -> Query:
    """Read a query.

    Args:
        text: What was typed, at most 4,096 characters.

    Raises:
        InvalidQueryError: Unknown filter, empty value, open quote or pattern, too long, too many
            words or filters, or nothing to search for.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidQueryError(
            f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are read",
            position=MAX_QUERY_CHARS,
        )
    scanner = _Scanner(storable(text))
    scanner.run()
    return scanner.query(text)


def storable(text: str) -> str:
    """Put blanks for what no stored text can hold: NUL and halves of surrogate pairs."""
    return _SURROGATES_AND_NUL.sub(" ", text)


class _Scanner:
    """Walks the query once, left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._words: list[Term] = []
        self._phrases: list[Term] = []
        self._patterns: list[Term] = []
        self._filters: list[tuple[str, FilterTerm]] = []
        self._case = Case.AUTO

    def query(self, original: str) -> Query:
        """Give what was read."""
        terms = self._words + self._phrases + self._patterns
        for what, positions in (
            ("words", sorted(term.position for term in terms)),
            ("filters", [term.position for _, term in self._filters]),
        ):
            if len(positions) > MAX_TERMS:
                raise InvalidQueryError(
                    f"the query has {len(positions)} {what}, at most {MAX_TERMS} are read",
                    position=positions[MAX_TERMS],
                )
        return Query(
            text=original,
            words=tuple(self._words),
            phrases=tuple(self._phrases),
            patterns=tuple(self._patterns),
            filters=tuple(self._filters),
            case=self._case,
        )

    def run(self) -> None:
        """Read everything."""
        text = self._text
        while self._at < len(text):
            if text[self._at].isspace():
                self._at += 1
                continue
            start = self._at
            negated = text[start] == "-" and start + 1 < len(text) and not text[start + 1].isspace()
            self._at += negated
            self._read_term(start, negated)

    def _read_term(self, start: int, negated: bool) -> None:
        text = self._text
        character = text[self._at]
        if character == '"':
            value = self._quoted("phrase")
            if value.strip():
                self._phrases.append(Term(_bounded(value, start), start, negated))
            return
        if character == "/" and (pattern := self._pattern()) is not None:
            self._patterns.append(Term(pattern, start, negated))
            return
        match = _FILTER.match(text, self._at)
        if match and self._read_filter(match, start, negated):
            return
        self._words.append(Term(_bounded(self._bare(), start), start, negated))

    def _read_filter(self, match: re.Match[str], start: int, negated: bool) -> bool:
        """Read ``name:value``; False when it is a word that ends in a colon."""
        typed = match[1]
        name = _ALIASES.get(typed, typed)
        after = match.end()
        is_empty = after == len(self._text) or self._text[after].isspace()
        if name not in FILTERS:
            if is_empty:  # "public:", "default:": code, not a filter
                return False
            raise InvalidQueryError(
                f"unknown filter {typed!r}",
                position=start,
                hint=f"filters are {', '.join(FILTERS)}; quote the text to search for it",
            )
        if is_empty:
            raise InvalidQueryError(f"filter {typed!r} has no value", position=after)
        self._at = after
        value = self._quoted("value") if self._text[after] == '"' else self._bare()
        if not value:
            raise InvalidQueryError(f"filter {typed!r} has no value", position=after)
        if negated and name in _NOT_NEGATED:
            raise InvalidQueryError(f"filter {typed!r} cannot be negated", position=start)
        if name == "case":
            self._set_case(value, after)
        else:
            self._filters.append((name, FilterTerm(value, after, negated)))
        return True

    def _set_case(self, value: str, position: int) -> None:
        try:
            self._case = Case(value.lower())
        except ValueError:
            raise InvalidQueryError(
                f"case is {value!r}, wanted yes, no or auto", position=position
            ) from None

    def _quoted(self, what: str) -> str:
        r"""Read from an opening quote to its end; ``\"`` stands for a quote inside."""
        start = self._at
        pieces: list[str] = []
        at = start + 1
        while at < len(self._text):
            character = self._text[at]
            if character == "\\" and self._text[at + 1 : at + 2] in ('"', "\\"):
                pieces.append(self._text[at + 1])
                at += 2
                continue
            if character == '"':
                self._at = at + 1
                return "".join(pieces)
            pieces.append(character)
            at += 1
        raise InvalidQueryError(
            f"the quote before this {what} is not closed", position=start, hint='add a closing "'
        )

    def _pattern(self) -> str | None:
        """Read ``/pattern/`` up to a slash before white space; None when it is a path."""
        at = self._at + 1
        while True:
            at = self._text.find("/", at)
            if at < 0:
                return None
            follower = self._text[at + 1 : at + 2]
            if self._text[at - 1] != "\\" and (not follower or follower.isspace()):
                break
            at += 1
        pattern = self._text[self._at + 1 : at]
        if not pattern:
            return None
        self._at = at + 1
        return pattern

    def _bare(self) -> str:
        start = self._at
        while self._at < len(self._text) and not self._text[self._at].isspace():
            self._at += 1
        return self._text[start : self._at]


def _bounded(value: str, position: int) -> str:
    if len(value) > MAX_TERM_CHARS:
        raise InvalidQueryError(
            f"this word has {len(value)} characters, at most {MAX_TERM_CHARS} are read",
            position=position,
        )
    return value
