r"""Patterns of a question, compiled: what they mean, how letters compare, why one is refused.

The engine is RE2: time linear in the text, whatever the pattern, and neither look-around nor
back-references. A pattern is matched on the bytes of a valid UTF-8 text and never splits a
character. ``^`` and ``$`` are the ends of a line (``$`` also before ``\r\n``), and a match stays on
one line unless the pattern asks for line breaks itself: by ``\n``, ``(?s)``, or a class like
``[\s\S]``. ``\w``, ``\d``, ``\s`` and ``\b`` are about ASCII; ``\pL`` is any letter.

Why a pattern is refused: RE2's messages in plain words, with the position and what to do.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import re2

from engine.errors import InvalidQueryError
from engine.search.pattern_syntax import Choices, Kind, Token, required_literals, tokens_of
from engine.search.query import Case, PatternTerm, Query

# What RE2 says → what it means and what to do, {0} being the piece that it names. The first that
# fits counts.
_REFUSALS = (
    ("too large", "the pattern is too large", "shorten it, or repeat fewer times"),
    ("missing )", "this group is not closed", r"add ), or write \( for the character"),
    ("unexpected )", "this ) closes no group", r"write \) for the character"),
    ("missing ]", "this class is not closed", r"add ], or write \[ for the character"),
    ("trailing \\", "a backslash ends the pattern", r"write \\ for the character"),
    ("no argument", "there is nothing before {0} to repeat", r"write \{0} for the character"),
    ("bad repetition", "{0} repeats a repetition", "put the first in a group: (?:…)"),
    (
        "repetition size",
        "the repetition {0} is not possible",
        "at most 1,000 times, repetitions of repetitions multiplied; the smaller number first",
    ),
    (
        "class range",
        "{0} is no class of characters",
        r"classes are a-z, [:alpha:], \pL, \p{{Greek}}",
    ),
    ("capture group", "{0} names no group", "write (?P<name>…), or (?:…) without a name"),
    ("UTF-8", "the pattern is not valid text", r"write \x{{…}} with the character's number"),
)
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_BACK_REFERENCES = (
    "\\1",
    "\\2",
    "\\3",
    "\\4",
    "\\5",
    "\\6",
    "\\7",
    "\\8",
    "\\9",
    "\\k",
    "\\g",
    "(?P",
)
_ESCAPE_HINTS = {
    "\\Z": r"write \z for the end of the text, $ for that of a line",
    "\\u": r"write \x{…} with the character's number",
    "\\x": r"write \x41, or \x{…} with the character's number",
    "\\h": r"write [ \t] for blanks",
    "\\R": r"write \r?\n for a line break",
}
_LINEAR = "patterns are matched in linear time, which leaves these out"


def refusal(said: str, source: str, tokens: list[Token], term: PatternTerm) -> InvalidQueryError:
    """Make the error of a pattern that RE2 refuses.

    Args:
        said: RE2's message: what is wrong, and often the piece of the pattern.
        source: The pattern as it was compiled.
        tokens: Its tokens.
        term: The pattern as it stands in the query.
    """
    piece = said.partition(": ")[2]
    position = term.position_of(_offset_of(said, piece, source, tokens))
    message, hint = _explained(said, piece)
    return InvalidQueryError(message, position=position, hint=hint)


def too_large(term: PatternTerm, *, across_lines: bool) -> InvalidQueryError:
    """Make the error of a pattern that would take too long or too much memory."""
    hint = "shorten it, or repeat fewer times"
    if across_lines:
        hint += r"; without \n and (?s) it may be larger"
    position = term.position_of(0)
    return InvalidQueryError("the pattern is too large", position=position, hint=hint)


def refuse_half_characters(source: str, tokens: list[Token], term: PatternTerm) -> None:
    r"""Refuse ``\C``, which RE2 takes but which splits characters.

    Raises:
        InvalidQueryError: It is there.
    """
    for token in tokens:
        if source[token.start : token.end] == r"\C":
            raise InvalidQueryError(
                r"\C is a byte, which can be a part of a character",
                position=term.position_of(token.start),
                hint="write . for any character, (?s:.) for a line break too",
            )


def _explained(said: str, piece: str) -> tuple[str, str]:
    if piece in _LOOK_AROUND:
        return (
            f"look-around such as {piece}…) is not supported",
            f"{_LINEAR}; match the text around it too, or leave places out by -/pattern/",
        )
    if piece in _BACK_REFERENCES:
        return f"back-references such as {piece} are not supported", _LINEAR
    if "perl operator" in said:
        return f"{piece}…) is no group", "groups are (…), (?:…), (?i:…) and (?P<name>…)"
    if "escape sequence" in said:
        hint = _ESCAPE_HINTS.get(piece[:2], r"a backslash makes punctuation plain: \. \( \\")
        return f"{piece} is no escape", hint
    for part, message, hint in _REFUSALS:
        if part in said:
            return message.format(piece), hint.format(piece)
    return f"the pattern cannot be read: {said}", ""


def _offset_of(said: str, piece: str, source: str, tokens: list[Token]) -> int:
    """Find the piece that RE2 names; for parentheses it names the whole pattern."""
    open_groups = []
    for token in tokens:
        if token.kind is Kind.OPEN:
            open_groups.append(token.start)
        elif token.kind is Kind.CLOSE:
            if not open_groups and "unexpected )" in said:
                return token.start
            open_groups = open_groups[:-1]
    if "missing )" in said and open_groups:
        return open_groups[-1]
    if "trailing" in said:
        return len(source) - 1
    starts = [
        token.start
        for token in tokens
        if source.startswith(piece, token.start) and token.end <= token.start + len(piece)
    ]
    return starts[0] if starts else max(0, source.find(piece))


# Where RE2 refuses a pattern as too large, after 40 ms at most.
_COMPILE_BYTES = 8 << 20
# What the states of its automaton may take, so that hard patterns rarely leave the automaton.
_RUN_BYTES = 64 << 20
#: Instructions of a compiled pattern at most; .{500} has 4,000. The worst below take half a second
#: for a megabyte. Across lines, where a text cannot be cut, fewer.
MOST_INSTRUCTIONS = 5_000
MOST_INSTRUCTIONS_ACROSS_LINES = 3_000
# Bytes × instructions of one call: 80 ms at worst, when RE2 leaves its automaton.
_CALL_WORK = 64 << 20
_SMALLEST_WINDOW = 4096
_SHORTEST_LITERAL = 2  # bytes; shorter ones are everywhere


class _Found(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    @property
    def programsize(self) -> int: ...

    def search(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> _Found | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern, ready to search. Safe for several threads."""

    compiled: _Compiled
    negated: bool = False
    crosses_lines: bool = False  # a match can hold line breaks
    is_bound_to_text: bool = False  # can tell the ends of a text from those of its lines
    window_bytes: int | None = None  # searched in one call; None: a text is never cut
    #: Of these, one matches in every text in which the pattern does; empty when none is known.
    literals: tuple["Pattern", ...] = ()
    #: Texts that every text holds in which the pattern matches, at least one of each choice, if the
    #: letters of ASCII are compared without their case; empty when none is known.
    held: tuple[Choices, ...] = ()

    def search(
        self, text: bytes, at: int, check: Callable[[], None], end: int | None = None
    ) -> tuple[int, int] | None:
        """Give the first match that starts at or after a byte, as a half-open span.

        Args:
            text: Valid UTF-8.
            at: A character's first byte.
            check: Called between steps of some 100 ms at most; what it raises ends the search.
            end: Where a line ends that is the last to be searched; default: the end of the text.
        """
        size = len(text)
        stop = size if end is None else end
        while at <= stop:
            check()
            cut = self._cut(text, at, stop)
            found = self.compiled.search(text, at, cut)
            if found:
                span = found.span()
                # An empty match at a cut is found again behind it; past the last line break is no
                # line.
                if span[0] < cut or (cut == size and text[-1:] not in (b"", b"\n")):
                    return span
            if cut == stop:
                break
            at = cut
        return None

    def _cut(self, text: bytes, at: int, stop: int) -> int:
        """Give the end of a line at which the next call may stop; such a cut loses no match."""
        if self.window_bytes is None or stop - at <= self.window_bytes:
            return stop
        return min(text.find(b"\n", at + self.window_bytes) + 1 or stop, stop)


def patterns_of(query: Query) -> tuple[Pattern, ...]:
    """Compile the patterns of a query.

    Raises:
        InvalidQueryError: One cannot be read or is too large, with its position.
    """
    return tuple(compile_pattern(term, query.case) for term in query.patterns)


def compile_pattern(term: PatternTerm, case: Case = Case.AUTO) -> Pattern:
    r"""Compile one pattern.

    Args:
        term: The pattern, or the literal text.
        case: How letters compare; ``auto``: exactly when it has an upper-case letter, be it in a
            class, but not in an escape such as ``\W``.

    Raises:
        InvalidQueryError: It cannot be read or is too large, with its position.
    """
    source = re2.escape(term.text) if term.is_literal else term.text
    tokens = tokens_of(source)
    letters = "".join(token.letters for token in tokens)
    is_exact = case is Case.YES or (case is Case.AUTO and letters != letters.lower())
    crosses_lines = any(token.crosses_lines for token in tokens)
    options = _options(_COMPILE_BYTES, is_exact=is_exact, crosses_lines=crosses_lines)
    try:
        probe = _compile(source, options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace")
        raise refusal(said, source, tokens, term) from None
    refuse_half_characters(source, tokens, term)
    most = MOST_INSTRUCTIONS_ACROSS_LINES if crosses_lines else MOST_INSTRUCTIONS
    if probe.programsize > most:
        raise too_large(term, across_lines=crosses_lines)
    options.max_mem = _RUN_BYTES
    compiled = _compile("(?m)" + _with_line_ends(source, tokens), options)
    is_exact = is_exact and not any(token.folds for token in tokens)
    required = required_literals(tokens)
    return Pattern(
        compiled=compiled,
        negated=term.negated,
        crosses_lines=crosses_lines,
        is_bound_to_text=any(token.is_text_end for token in tokens),
        window_bytes=None if crosses_lines else _window_of(compiled),
        literals=_literals(tokens, required, is_exact=is_exact),
        held=_held(required, is_exact=is_exact),
    )


def _window_of(compiled: _Compiled) -> int:
    return max(_SMALLEST_WINDOW, _CALL_WORK // max(1, compiled.programsize))


def _options(max_mem: int, *, is_exact: bool, crosses_lines: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = max_mem
    options.never_capture = True  # groups cost a slower engine
    options.never_nl = not crosses_lines
    options.case_sensitive = is_exact
    return options


def _compile(source: str, options: re2.Options) -> _Compiled:
    compiled: _Compiled = re2.compile(source, options)
    re2.purge()  # its cache would keep 128 patterns with their automata
    return compiled


def _with_line_ends(source: str, tokens: list[Token]) -> str:
    r"""Let ``$`` stand before ``\r\n`` too."""
    pieces = []
    at = 0
    for token in tokens:
        if token.kind is Kind.LINE_END:
            pieces += [source[at : token.start], r"(?:\r?$)"]
            at = token.end
    return "".join([*pieces, source[at:]])


def _literals(
    tokens: list[Token], required: tuple[Choices, ...], *, is_exact: bool
) -> tuple[Pattern, ...]:
    """Compile the best of the required literals, unless they are all that the pattern is."""
    if all(token.kind is Kind.TEXT and len(token.choices) == 1 for token in tokens):
        return ()
    texts = required[0] if required else ()
    if not texts or min(len(text.encode()) for text in texts) < _SHORTEST_LITERAL:
        return ()
    options = _options(_COMPILE_BYTES, is_exact=is_exact, crosses_lines=True)
    return tuple(Pattern(compiled=_compile(re2.escape(text), options)) for text in texts)


def _held(required: tuple[Choices, ...], *, is_exact: bool) -> tuple[Choices, ...]:
    """Leave of the required literals what holds whatever the case of the letters is."""
    if is_exact:
        return required
    kept = (tuple(map(_caseless, texts)) for texts in required)
    return tuple(texts for texts in kept if all(texts))


def _caseless(text: str) -> str:
    """Give the longest part without letters that have a case and are not in ASCII."""
    parts = ("".join(part) for is_plain, part in groupby(text, _is_plain) if is_plain)
    return max(parts, key=len, default="")


def _is_plain(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) == "Lo"
