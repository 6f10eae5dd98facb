r"""Parse the query language into a ``Query``.

    words "exact phrase" /pattern/ lang:go path:src/ kind:function sym:Name branch:main
    project:name tag:.md case:yes        a leading - negates any of them

In mode ``regex`` all but filters and ``/patterns/`` is one pattern, blanks included: ``func \w+
lang:go``. Blanks at its ends count too, except the one beside a filter, and line ends. Only when it
consists of quoted terms alone (``"a[0]" path:src``) is each of them a literal text; a quote inside
a pattern is a quote, since code is full of them. There a colon makes a filter only after a filter's
name.

Raises only ``InvalidQueryError``, with the position.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from engine.did_you_mean import did_you_mean
from engine.errors import InvalidQueryError
from engine.records import MAX_QUERY_CHARS

MAX_TERMS = 64
MAX_TERM_CHARS = 256

FILTERS = ("lang", "path", "kind", "sym", "branch", "project", "tag", "case")
_ALIASES = {"language": "lang", "symbol": "sym", "file": "path"}
_NOT_NEGATED = frozenset({"branch", "case"})

# A colon after a lower-case word makes a filter; "::" and "://" do not.
_FILTER = re.compile(r"([a-z_]+):(?!:|//)")
# A slash ends a pattern only before white space, so that most paths are not patterns; \\/ never.
_SLASHED = re.compile(r"/((?:[^\\/]|\\.|/(?!\s|$))+)/(?=\s|$)", re.DOTALL)
_QUOTED_TERM = re.compile(r'"((?:[^"\\]|\\.)+)"(?=\s|$)', re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\])')
_LINE_ENDS = "\r\n"
_SURROGATES_AND_NUL = re.compile("[\x00\ud800-\udfff]")


class Case(StrEnum):
    """The treatment of upper and lower case in phrases and patterns."""

    YES = "yes"
    NO = "no"
    AUTO = "auto"  # case-sensitive if the phrase has an upper-case letter


class Term(NamedTuple):
    """A word, phrase or pattern of the query."""

    text: str
    position: int  # 0-based character offset in the query
    negated: bool


class PatternTerm(NamedTuple):
    """A pattern of the query, in the syntax of ``patterns``, or a literal text."""

    text: str
    position: int  # 0-based character offset of the term in the query
    negated: bool
    is_literal: bool = False
    #: (offset in ``text``, position in the query) where each run of characters begins.
    places: tuple[tuple[int, int], ...] = ()

    def position_of(self, offset: int) -> int:
        """Return the position in the query of a character of the text."""
        found = self.position
        for start, position in self.places:
            if start <= offset:
                found = position + offset - start
        return found


class FilterTerm(NamedTuple):
    """The value of a filter."""

    value: str
    position: int
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query."""

    text: str
    words: tuple[Term, ...] = ()
    phrases: tuple[Term, ...] = ()
    patterns: tuple[PatternTerm, ...] = ()
    filters: tuple[tuple[str, FilterTerm], ...] = ()
    case: Case = Case.AUTO

    def values(self, name: str) -> tuple[FilterTerm, ...]:
        """Return the values of a filter, in order."""
        return tuple(value for key, value in self.filters if key == name)


def parse_query(text: str, *, as_pattern: bool = False) -> Query:
    """Parse a query.

    Args:
        text: At most 4,096 characters.
        as_pattern: Parse it as mode ``regex`` does: a pattern and filters, without words.

    Raises:
        InvalidQueryError: Unknown filter, empty value, unclosed quote, too long, too many words or
            filters, or a pattern with a character that no text has.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidQueryError(
            f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are allowed",
            position=MAX_QUERY_CHARS,
        )
    readable = storable(text)
    scanner = _PatternScanner(readable) if as_pattern else _Scanner(readable)
    scanner.run()
    query = scanner.query(text)
    _check_patterns(query)
    return query


def _check_patterns(query: Query) -> None:
    """Refuse characters that ``storable`` replaced: in a pattern a blank would silently match."""
    for pattern in query.patterns:
        ends = [start - 1 for start, _ in pattern.places[1:]] + [len(pattern.text)]
        for (start, position), end in zip(pattern.places, ends, strict=True):
            bad = _SURROGATES_AND_NUL.search(query.text, position, position + end - start)
            if bad:
                raise InvalidQueryError(
                    f"the pattern has the character {bad[0]!r}, which no text contains",
                    position=bad.start(),
                )


def storable(text: str) -> str:
    """Replace what no stored text can contain by blanks: NUL and halves of surrogate pairs."""
    return _SURROGATES_AND_NUL.sub(" ", text)


class _Scanner:
    """Scans the query once, left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._words: list[Term] = []
        self._phrases: list[Term] = []
        self._patterns: list[PatternTerm] = []
        self._filters: list[tuple[str, FilterTerm]] = []
        self._case = Case.AUTO

    def query(self, original: str) -> Query:
        """Return the parsed query."""
        terms = [term.position for term in self._words + self._phrases]
        terms += [term.position for term in self._patterns]
        for what, positions in (
            ("words", sorted(terms)),
            ("filters", [term.position for _, term in self._filters]),
        ):
            if len(positions) > MAX_TERMS:
                raise InvalidQueryError(
                    f"the query has {len(positions)} {what}, at most {MAX_TERMS} are allowed",
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
        """Scan everything."""
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
        if character == "/" and self._read_pattern(start, negated):
            return
        match = _FILTER.match(text, self._at)
        if match and self._read_filter(match, start, negated):
            return
        self._words.append(Term(_bounded(self._bare(), start), start, negated))

    def _read_filter(self, match: re.Match[str], start: int, negated: bool) -> bool:
        """Read ``name:value``; return False for a word that ends in a colon."""
        typed = match[1]
        name = _ALIASES.get(typed, typed)
        after = match.end()
        is_empty = after == len(self._text) or self._text[after].isspace()
        if name not in FILTERS:
            if is_empty:  # "public:", "default:": code, not a filter
                return False
            raise InvalidQueryError(
                f"unknown filter {typed!r}" + did_you_mean(typed, FILTERS),
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
                f"case is {value!r}, expected yes, no or auto", position=position
            ) from None

    def _quoted(self, what: str) -> str:
        r"""Read a quoted text; ``\"`` stands for a quote inside."""
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
            f"the opening quote of this {what} is not closed",
            position=start,
            hint='add a closing "',
        )

    def _read_pattern(self, start: int, negated: bool) -> bool:
        """Read ``/pattern/`` up to a slash before white space; return False for a path."""
        match = _SLASHED.match(self._text, self._at)
        if not match:
            return False
        self._patterns.append(PatternTerm(match[1], start, negated, places=((0, match.start(1)),)))
        self._at = match.end()
        return True

    def _bare(self) -> str:
        start = self._at
        while self._at < len(self._text) and not self._text[self._at].isspace():
            self._at += 1
        return self._text[start : self._at]


class _PatternScanner(_Scanner):
    """Scans a query of mode ``regex``: filters, ``/patterns/``, and one pattern from the rest."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._runs: list[tuple[int, int]] = []  # of the rest, with the blanks between them
        self._quoted_terms: list[PatternTerm] = []
        self._is_all_quoted = True
        self._is_run_open = False

    def run(self) -> None:
        """Scan everything."""
        super().run()
        if self._is_all_quoted:
            self._patterns.extend(self._quoted_terms)
            return
        runs = [self._with_blanks(*run) for run in self._runs]
        pieces = [self._text[start:end] for start, end in runs]
        places = []
        offset = 0
        for (start, _), piece in zip(runs, pieces, strict=True):
            places.append((offset, start))
            offset += len(piece) + 1
        self._patterns.append(
            PatternTerm(" ".join(pieces), places[0][1], False, places=tuple(places))
        )

    def _read_term(self, start: int, negated: bool) -> None:
        text = self._text
        match = _FILTER.match(text, self._at)
        is_filter = (
            match is not None
            and _ALIASES.get(match[1], match[1]) in FILTERS
            and not text[match.end() : match.end() + 1].isspace()
            and match.end() < len(text)
        )
        if (is_filter and match and self._read_filter(match, start, negated)) or (
            text[self._at] == "/" and self._read_pattern(start, negated)
        ):
            self._is_run_open = False
        else:
            self._read_rest(start, negated)

    def _with_blanks(self, start: int, end: int) -> tuple[int, int]:
        """Extend a piece of the rest by the blanks around it, except one beside a filter."""
        text = self._text
        low, high = start, end
        while low and _is_blank(text[low - 1]):
            low -= 1
        while high < len(text) and _is_blank(text[high]):
            high += 1
        low += 0 < low < start and text[low - 1] not in _LINE_ENDS
        high -= end < high < len(text) and text[high] not in _LINE_ENDS
        return low, high

    def _read_rest(self, start: int, negated: bool) -> None:
        """Read a piece of the rest, up to white space that no backslash escapes."""
        quoted = _QUOTED_TERM.match(self._text, self._at)
        if quoted and negated:
            self._patterns.append(_literal(quoted, start, negated=True))
            self._at, self._is_run_open = quoted.end(), False
            return
        if quoted:
            self._quoted_terms.append(_literal(quoted, start, negated=False))
            self._at = quoted.end()
        else:
            self._is_all_quoted = False
            while self._at < len(self._text) and not self._text[self._at].isspace():
                self._at += 2 if self._text[self._at] == "\\" else 1
            self._at = min(self._at, len(self._text))
        if self._is_run_open:
            start = self._runs.pop()[0]
        self._runs.append((start, self._at))
        self._is_run_open = True


def _is_blank(character: str) -> bool:
    return character.isspace() and character not in _LINE_ENDS


def _literal(quoted: re.Match[str], start: int, *, negated: bool) -> PatternTerm:
    text = _ESCAPED_IN_QUOTES.sub(r"\1", quoted[1])
    return PatternTerm(text, start, negated, is_literal=True, places=((0, quoted.start(1)),))


def _bounded(value: str, position: int) -> str:
    if len(value) > MAX_TERM_CHARS:
        raise InvalidQueryError(
            f"this term has {len(value)} characters, at most {MAX_TERM_CHARS} are allowed",
            position=position,
        )
    return value
