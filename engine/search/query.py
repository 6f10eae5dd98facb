r"""Parse the query language into a ``Query``.

    words "exact phrase" /pattern/ lang:go path:src/ kind:function sym:Name branch:main
    project:name (or repo:name) context:name tag:.md author:ada is:test case:yes calls:name
    uses:name extends:Name imports:module
    a leading - or NOT negates any of them

What people paste is read as far as it makes sense, and ``Query.notes`` say how: an unknown
``name:`` is text, as are ``--flag``, ``-x`` and a quote that is not closed. In a sentence (five
words or more) a minus is text, quoted phrases raise places but are not required, and filters and
patterns count only before or after its words; ``query_pieces`` decides that.

In mode ``regex`` all but filters and ``/patterns/`` is one pattern, blanks included: ``func \w+
lang:go``. Blanks at its ends count too, except the one beside a filter, and line ends. Only when it
consists of quoted terms alone (``"a[0]" path:src``) is each of them a literal text; a quote inside
a pattern is a quote, since code is full of them. There a colon makes a filter only after a filter's
name.

Raises only ``InvalidQueryError``, with the position.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from engine.did_you_mean import did_you_mean
from engine.errors import InvalidQueryError
from engine.record_class import record
from engine.search.query_pieces import (
    BY_USE,
    NOT_NEGATED,
    PROPERTIES,
    Kind,
    Piece,
    as_sentence,
    is_name,
    is_sentence,
    with_operators,
)
from engine.search_records import MAX_QUERY_CHARS

MAX_TERMS = 64
MAX_TERM_CHARS = 256

FILTERS = (
    *("lang", "path", "kind", "sym", *BY_USE, "is", "branch"),
    *("project", "context", "tag", "author", "case"),
)
#: Filters of questions about commits; elsewhere they are text, as people paste it.
COMMIT_FILTERS = ("after", "before", "lines", "type")
ALIASES = {"language": "lang", "symbol": "sym", "file": "path", "repo": "project"}
#: Filters that are named in another way, as the commands are; these are suggested.
_MEANT = {
    "callers": "calls",
    "refs": "uses",
    "references": "uses",
    "implements": "extends",
    "implementations": "extends",
    "inherits": "extends",
}

# Makes a query one about commits.
_COMMIT_TYPES = frozenset({"commit", "commits"})
_OF_COMMITS = re.compile(r"type:commits?\b")
# A colon after a lower-case word makes a filter; "::" and "://" do not.
_FILTER = re.compile(r"([a-z_]+):(?!:|//)")
# A slash ends a pattern only before white space, so that most paths are not patterns; \\/ never.
# What begins with a blank or a star is prose or a comment.
_SLASHED = re.compile(r"/(?![\s*])((?:[^\\/\r\n]|\\.|/(?!\s|$))+)/(?=\s|$)")
_CLOSING = re.compile(r"/(?=\s|$)")
# The same of at most five words, as text in mode ``regex`` is not: between slashes of a longer one
# is prose.
_SHORT_SLASHED = re.compile(
    r"/(?![\s*])({0}+(?:[^\S\r\n]+{0}+){{0,4}}[^\S\r\n]*)/(?=\s|$)".format(
        r"(?:[^\\/\s]|\\.|/(?!\s|$))"
    )
)
_QUOTED_TERM = re.compile(r'"((?:[^"\\]|\\.)+)"(?=\s|$)', re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\])')
_LINE_ENDS = "\r\n"
# What a query has that is more than words: quotes, slashes, colons, minus signs, operators.
_MARKUP = re.compile(r'["/:]|(?<!\S)-|(?<!\S)(?:AND|NOT|OR)(?!\S)')
_NOT_BLANK = re.compile(r"\S+")
# A minus negates a name, a phrase, a pattern, a bracket or a file extension; --flag, -x, -1, -> and
# -a=b are text.
_NEGATION = re.compile(r'-(?=["/.(]|[^\W\d]\w)(?!\w+=)')
_MAX_LAST_WORDS = 16  # of a long text: its end says what is wrong, in a stack trace
_MAX_NOTES = 3
_MOST_PARSED = 64  # texts that are kept parsed: an answer asks several times
_NOTE_CHARS = 60  # of a piece of the query that a note quotes
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
    choice: int = 0  # of phrases with the same number above 0, one is required


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


@record
class Query:
    """A parsed query."""

    text: str
    words: tuple[Term, ...] = ()
    phrases: tuple[Term, ...] = ()
    mentions: tuple[Term, ...] = ()  # phrases that raise a place but are not required
    patterns: tuple[PatternTerm, ...] = ()
    filters: tuple[tuple[str, FilterTerm], ...] = ()
    case: Case = Case.AUTO
    notes: tuple[str, ...] = ()  # on what was read otherwise than it may have been meant

    def values(self, name: str) -> tuple[FilterTerm, ...]:
        """Return the values of a filter, in order."""
        return tuple(value for key, value in self.filters if key == name)


def is_of_commits(text: str) -> bool:
    """Return whether a query has the filter ``type:commit``, and not as text.

    One that ``parse_query`` refuses has not.
    """
    if not _OF_COMMITS.search(text):
        return False
    try:
        asked = parse_query(text, of_commits=True).values("type")
    except InvalidQueryError:
        return False
    return any(term.value in _COMMIT_TYPES and not term.negated for term in asked)


@lru_cache(_MOST_PARSED)
def parse_query(text: str, *, as_pattern: bool = False, of_commits: bool = False) -> Query:
    """Parse a query.

    Args:
        text: At most 4,096 characters.
        as_pattern: Parse it as mode ``regex`` does: a pattern and filters, without words.
        of_commits: It may have the filters of commits.

    Raises:
        InvalidQueryError: Too long, too many phrases, patterns or filters, a wrong ``case:``, or a
            pattern with a character that no text has.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidQueryError(
            f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are allowed",
            position=MAX_QUERY_CHARS,
        )
    readable = storable(text)
    scanner = _PatternScanner(readable) if as_pattern else _Scanner(readable)
    if of_commits:
        scanner.known_filters = (*FILTERS, *COMMIT_FILTERS)
    if as_pattern or _MARKUP.search(readable):
        scanner.run()
    else:
        scanner.split()
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
    """Scans the query once, left to right, and then decides what its pieces mean."""

    _slashed = _SHORT_SLASHED

    def __init__(self, text: str) -> None:
        #: The names of filters; any other name with a colon is text.
        self.known_filters: tuple[str, ...] = FILTERS
        self._text = text
        self._at = 0
        self._pieces: list[Piece] = []
        self._words: list[Term] = []
        self._phrases: list[Term] = []
        self._mentions: list[Term] = []
        self._patterns: list[PatternTerm] = []
        self._filters: list[tuple[str, FilterTerm]] = []
        self._case = Case.AUTO
        self._notes: list[str] = []
        #: Where the last slash that can end a pattern stands; of none, no pattern is looked for.
        self._last_slash = max((each.start() for each in _CLOSING.finditer(text)), default=-1)

    def query(self, original: str) -> Query:
        """Return the parsed query."""
        if len(self._phrases) > MAX_TERMS:
            self._mentions, self._phrases = [*self._mentions, *self._phrases], []
            self._notes.append(f"of more than {MAX_TERMS} phrases, none is required")
        for what, positions in (
            ("patterns", [term.position for term in self._patterns]),
            ("filters", [term.position for _, term in self._filters]),
        ):
            if len(positions) > MAX_TERMS:
                raise InvalidQueryError(
                    f"the query has {len(positions)} {what}, at most {MAX_TERMS} are allowed",
                    position=positions[MAX_TERMS],
                )
        return Query(
            text=original,
            words=tuple(self._counted_words()),
            phrases=tuple(self._phrases),
            mentions=tuple(self._mentions[:MAX_TERMS]),
            patterns=tuple(self._patterns),
            filters=tuple(self._filters),
            case=self._case,
            notes=self._few_notes(),
        )

    def _counted_words(self) -> list[Term]:
        """Return the words, of a long text the first and the last different ones."""
        if len(self._words) <= MAX_TERMS:
            return self._words
        words = list({(word.text, word.negated): word for word in reversed(self._words)}.values())
        words.reverse()
        if len(words) > MAX_TERMS:
            first = MAX_TERMS - _MAX_LAST_WORDS
            self._notes.insert(
                0, f"only the first {first} and the last {_MAX_LAST_WORDS} words count"
            )
            words = words[:first] + words[-_MAX_LAST_WORDS:]
        return words

    def _few_notes(self) -> tuple[str, ...]:
        notes = list(dict.fromkeys(self._notes))
        if len(notes) > _MAX_NOTES + 1:
            more = len(notes) - _MAX_NOTES
            notes[_MAX_NOTES:] = [f"so were {more} more pieces of the query"]
        return tuple(notes)

    def split(self) -> None:
        """Read a text without markup: words."""
        for word in _NOT_BLANK.finditer(self._text):
            self._words.append(Term(word[0][:MAX_TERM_CHARS], word.start(), False))

    def run(self) -> None:
        """Scan everything."""
        text = self._text
        while self._at < len(text):
            if text[self._at].isspace():
                self._at += 1
                continue
            start = self._at
            negated = _NEGATION.match(text, start) is not None
            self._at += negated
            self._read_term(start, negated)
        pieces = self._pieces
        if is_sentence(pieces, text):
            pieces = as_sentence(pieces, text)
        else:
            pieces, notes = with_operators(pieces, text)
            self._notes += notes
        for piece in pieces:
            self._add(piece)
        self._words.sort(key=lambda term: term.position)

    def _add(self, piece: Piece) -> None:
        if piece.kind is Kind.FILTER:
            self._add_filter(piece)
        elif piece.kind is Kind.PATTERN:
            places = ((0, piece.text_start),)
            pattern = PatternTerm(piece.text, piece.start, piece.negated, places=places)
            self._patterns.append(pattern)
        elif piece.kind is Kind.WORD:
            self._words.append(Term(piece.text[:MAX_TERM_CHARS], piece.start, piece.negated))
        elif piece.kind is Kind.TEXT:
            raw = _shortened(self._text[piece.start : piece.end])
            self._notes.append(f"in a sentence, {raw} is text; {piece.why}")
            self._add_words(piece)
        elif piece.kind is Kind.MENTION:
            self._add_mention(piece)
        elif len(piece.text) > MAX_TERM_CHARS:
            self._notes.append(f"a phrase of over {MAX_TERM_CHARS} characters is searched as words")
            self._add_words(piece)
        elif piece.text.strip():
            term = Term(piece.text, piece.start, piece.negated, piece.choice)
            self._phrases.append(term)

    def _add_mention(self, piece: Piece) -> None:
        if piece.text.strip():
            self._mentions.append(Term(piece.text[:MAX_TERM_CHARS], piece.start, False))
            if piece.why:
                self._notes.append(f'"{_shortened(piece.text)}" {piece.why}')

    def _add_words(self, piece: Piece) -> None:
        """Add the text of a piece as words."""
        for word in _NOT_BLANK.finditer(self._text, piece.start, piece.end):
            self._words.append(Term(word[0][:MAX_TERM_CHARS], word.start(), piece.negated))

    def _add_filter(self, piece: Piece) -> None:
        if piece.negated and piece.name in NOT_NEGATED:
            raise InvalidQueryError(
                f"filter {piece.name!r} cannot be negated", position=piece.start
            )
        if piece.name != "case":
            filter_ = FilterTerm(piece.text, piece.text_start, piece.negated)
            self._filters.append((piece.name, filter_))
            return
        try:
            self._case = Case(piece.text.lower())
        except ValueError:
            raise InvalidQueryError(
                f"case is {piece.text!r}, expected yes, no or auto", position=piece.text_start
            ) from None

    def _read_term(self, start: int, negated: bool) -> None:
        text = self._text
        bracket = text[self._at] == "("
        if text.startswith('"', self._at + bracket) and self._read_phrase(start, negated, bracket):
            return
        if text[self._at] == "/" and self._read_pattern(start, negated):
            return
        match = _FILTER.match(text, self._at + bracket)
        if match and self._read_filter(match, start, negated):
            return
        self._append(Kind.WORD, start, negated, self._bare(), start)

    def _read_phrase(self, start: int, negated: bool, bracket: bool) -> bool:
        """Read a quoted text; return False if it is not closed.

        One that code goes on after, as in ``"name": 1``, is not required.
        """
        begin = self._at
        self._at += bracket
        quoted = self._quoted()
        if quoted is None:
            self._at = begin
            return False
        rest = self._bare()
        self._at -= len(rest)
        is_code = not negated and rest.strip(")") != "" and not rest.startswith('"')
        self._append(Kind.MENTION if is_code else Kind.PHRASE, start, negated, quoted, start)
        return True

    def _append(
        self, kind: Kind, start: int, negated: bool, text: str, text_start: int, name: str = ""
    ) -> None:
        self._pieces.append(Piece(kind, start, self._at, negated, text, text_start, name))

    def _read_filter(self, match: re.Match[str], start: int, negated: bool) -> bool:
        """Read ``name:value``; return False for text with a colon."""
        typed = match[1]
        name = ALIASES.get(typed, typed)
        after = match.end()
        if after == len(self._text) or self._text[after].isspace():
            return False  # "public:", "path: wrong": a word
        if name not in self.known_filters:
            self._notes.append(self._why_text(typed, after))
            return False
        if name == "is" and not self._is_property_at(after):
            return False
        begin = self._at
        self._at = after
        value = self._quoted() if self._text[after] == '"' else None
        if value is None:
            value = self._bare()
            if name in BY_USE:
                value = value.removesuffix("()")
            if value.endswith(")") and "(" not in value:
                value = value.rstrip(")")
        if not value:
            self._at = begin
            return False
        self._append(Kind.FILTER, start, negated, value, after, name)
        return True

    def _why_text(self, typed: str, after: int) -> str:
        """Return the note on ``typed:`` before a value, which is no filter here."""
        if typed == "type":
            value = _NOT_BLANK.match(self._text, after)
            said = _shortened(value[0]) if value else ""
            if said.strip('")') in _COMMIT_TYPES:  # it would have been one elsewhere in the query
                return f"type:{said} is text within a sentence and where it is excluded"
            return f"'type:' takes commit, not {said}, so it was searched for as text"
        if typed in COMMIT_FILTERS:
            return f"'{typed}:' filters commits (type:commit), so it was searched for as text"
        close = did_you_mean(_MEANT.get(typed, typed), self.known_filters)
        return f"'{_shortened(typed)}:' is not a filter, so it was searched for as text{close}"

    def _is_property_at(self, start: int) -> bool:
        """Return whether ``is:`` has a value that it knows; any other, as people paste, is text."""
        word = _NOT_BLANK.match(self._text, start)
        value = _shortened(word[0].strip('"').rstrip(")").lower()) if word else ""
        if value in PROPERTIES:
            return True
        close = did_you_mean(value, PROPERTIES)
        self._notes.append(f"'is:{value}' is not a filter, so it was searched for as text{close}")
        return False

    def _quoted(self) -> str | None:
        r"""Read a quoted text; ``\"`` stands for a quote inside. None if it is not closed."""
        pieces: list[str] = []
        at = self._at + 1
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
        return None

    def _read_pattern(self, start: int, negated: bool) -> bool:
        """Read ``/pattern/`` up to a slash before white space; return False for a path."""
        match = self._slashed.match(self._text, self._at) if self._at < self._last_slash else None
        if not match:
            return False
        self._at = match.end()
        self._append(Kind.PATTERN, start, negated, match[1], match.start(1))
        return True

    def _bare(self) -> str:
        start = self._at
        while self._at < len(self._text) and not self._text[self._at].isspace():
            self._at += 1
        return self._text[start : self._at]


def _shortened(text: str) -> str:
    """Return the beginning of a text for a note."""
    return text if len(text) <= _NOTE_CHARS else text[: _NOTE_CHARS - 1] + "…"


class _PatternScanner(_Scanner):
    """Scans a query of mode ``regex``: filters, ``/patterns/``, and one pattern from the rest."""

    _slashed = _SLASHED

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
            and ALIASES.get(match[1], match[1]) in FILTERS
            and not text[match.end() : match.end() + 1].isspace()
            and match.end() < len(text)
            and (match[1] not in BY_USE or self._is_name_at(match.end()))
        )
        if (is_filter and match and self._read_filter(match, start, negated)) or (
            text[self._at] == "/" and self._read_pattern(start, negated)
        ):
            self._is_run_open = False
        else:
            self._read_rest(start, negated)

    def _is_name_at(self, start: int) -> bool:
        """Return whether a name stands there, and not a pattern."""
        word = _NOT_BLANK.match(self._text, start)
        return word is not None and is_name(word[0].strip('"').removesuffix("()"))

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
