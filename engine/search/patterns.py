r"""Compile the patterns of a query, and explain why one is refused.

The engine is RE2: time linear in the text, whatever the pattern, and neither look-around nor
back-references. A pattern is matched on the bytes of a valid UTF-8 text and never splits a
character. ``^`` and ``$`` are the ends of a line (``$`` also before ``\r\n``, which a pattern with
``$`` takes for ``\n`` unless it has ``\r`` too), and a match stays on one line unless the pattern
asks for line breaks itself: by ``\n``, ``(?s)``, or a class like ``[\s\S]``. ``\w``, ``\d``, ``\s``
and ``\b`` are about ASCII; ``\pL`` is any letter.
"""

import unicodedata
from collections.abc import Callable
from itertools import groupby
from typing import Protocol

import re2

from engine.errors import InvalidQueryError
from engine.record_class import record
from engine.search.pattern_syntax import Choices, Kind, Token, required_literals, tokens_of
from engine.search.query import Case, PatternTerm, Query

# Part of RE2's message, our message and hint; {0} is the piece that RE2 names. The first match
# counts.
_MESSAGES = (
    ("too large", "the pattern is too large", "shorten it, or repeat fewer times"),
    ("missing )", "this group is not closed", r"add ), or write \( for the character"),
    ("unexpected )", "unmatched )", r"write \) for the character"),
    ("missing ]", "this class is not closed", r"add ], or write \[ for the character"),
    ("trailing \\", "a backslash ends the pattern", r"write \\ for the character"),
    ("no argument", "there is nothing before {0} to repeat", r"write \{0} for the character"),
    ("bad repetition", "{0} repeats a repetition", "group the first one: (?:…)"),
    (
        "repetition size",
        "invalid repetition {0}",
        "at most 1,000 times, repetitions of repetitions multiplied; the smaller number first",
    ),
    (
        "class range",
        "{0} is not a character class",
        r"classes are a-z, [:alpha:], \pL, \p{{Greek}}",
    ),
    (
        "capture group",
        "{0} is not a valid group name",
        "write (?P<name>…), or (?:…) without a name",
    ),
    ("UTF-8", "the pattern is not valid text", r"write \x{{…}} with the code point"),
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
    "\\u": r"write \x{…} with the code point",
    "\\x": r"write \x41, or \x{…} with the code point",
    "\\h": r"write [ \t] for blanks",
    "\\R": r"write \r?\n for a line break",
}
_LINEAR = "patterns are matched in linear time, which rules it out"

# Above, RE2 refuses a pattern as too large, after 40 ms at most.
_COMPILE_BYTES = 8 << 20
# For the states of the automaton, so that hard patterns rarely leave it.
_RUN_BYTES = 64 << 20
#: Instructions of a compiled pattern at most; .{500} has 4,000. The worst patterns within it take
#: half a second per megabyte. Fewer for multi-line patterns, for which a text cannot be cut.
MAX_INSTRUCTIONS = 5_000
MAX_INSTRUCTIONS_MULTILINE = 3_000
# Bytes times instructions per call: 80 ms at worst, when RE2 leaves its automaton.
_CALL_WORK = 64 << 20
_MIN_WINDOW = 4096
_MIN_LITERAL_BYTES = 2  # shorter ones are everywhere


def invalid_pattern_error(
    re2_message: str, source: str, tokens: list[Token], term: PatternTerm
) -> InvalidQueryError:
    """Return the error of a pattern that RE2 refuses: in plain words, with a position and a hint.

    Args:
        re2_message: What is wrong, and often the piece of the pattern.
        source: The pattern as it was compiled.
        tokens: Its tokens.
        term: The pattern as it stands in the query.
    """
    piece = re2_message.partition(": ")[2]
    position = term.position_of(_offset_of(re2_message, piece, source, tokens))
    message, hint = _message_and_hint(re2_message, piece)
    return InvalidQueryError(message, position=position, hint=hint)


def too_large_error(term: PatternTerm, *, is_multiline: bool) -> InvalidQueryError:
    """Return the error of a pattern that would take too long or too much memory."""
    hint = "shorten it, or repeat fewer times"
    if is_multiline:
        hint += r"; without \n and (?s) it may be larger"
    position = term.position_of(0)
    return InvalidQueryError("the pattern is too large", position=position, hint=hint)


def refuse_byte_escape(source: str, tokens: list[Token], term: PatternTerm) -> None:
    r"""Refuse ``\C``, which RE2 accepts but which splits characters.

    Raises:
        InvalidQueryError: The pattern has it.
    """
    for token in tokens:
        if source[token.start : token.end] == r"\C":
            raise InvalidQueryError(
                r"\C is a single byte, which may be part of a character",
                position=term.position_of(token.start),
                hint="write . for any character, (?s:.) for a line break too",
            )


def _message_and_hint(re2_message: str, piece: str) -> tuple[str, str]:
    if piece in _LOOK_AROUND:
        return (
            f"look-around {piece}…) is not supported",
            f"{_LINEAR}; match the surrounding text too, or exclude places with -/pattern/",
        )
    if piece in _BACK_REFERENCES:
        return f"back-reference {piece} is not supported", _LINEAR
    if "perl operator" in re2_message:
        return f"{piece}…) is not a valid group", "groups are (…), (?:…), (?i:…) and (?P<name>…)"
    if "escape sequence" in re2_message:
        hint = _ESCAPE_HINTS.get(piece[:2], r"a backslash escapes punctuation: \. \( \\")
        return f"{piece} is not a valid escape", hint
    for part, message, hint in _MESSAGES:
        if part in re2_message:
            return message.format(piece), hint.format(piece)
    return f"invalid pattern: {re2_message}", ""


def _offset_of(re2_message: str, piece: str, source: str, tokens: list[Token]) -> int:
    """Find the piece that RE2 names; for parentheses it names the whole pattern."""
    open_groups = []
    for token in tokens:
        if token.kind is Kind.OPEN:
            open_groups.append(token.start)
        elif token.kind is Kind.CLOSE:
            if not open_groups and "unexpected )" in re2_message:
                return token.start
            open_groups = open_groups[:-1]
    if "missing )" in re2_message and open_groups:
        return open_groups[-1]
    if "trailing" in re2_message:
        return len(source) - 1
    starts = [
        token.start
        for token in tokens
        if source.startswith(piece, token.start) and token.end <= token.start + len(piece)
    ]
    return starts[0] if starts else max(0, source.find(piece))


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    @property
    def programsize(self) -> int: ...

    def search(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> _Match | None: ...


@record
class Pattern:
    """A compiled pattern. Thread-safe."""

    compiled: _Compiled
    negated: bool = False
    is_multiline: bool = False  # a match may contain line breaks
    has_text_anchors: bool = False  # distinguishes the ends of a text from those of its lines
    #: It is to be matched on texts with ``\n`` for each ``\r\n``, as else what it has before ``$``
    #: could match the ``\r``.
    reads_crlf_as_lf: bool = False
    window_bytes: int | None = None  # searched per call; None: a text is never cut
    #: Each text with a match contains one of these; empty if none is known.
    literals: tuple["Pattern", ...] = ()
    #: Each text with a match contains one literal of each of these, ignoring the case of ASCII
    #: letters; empty if none is known.
    required: tuple[Choices, ...] = ()

    def search(
        self, text: bytes, at: int, check: Callable[[], None], end: int | None = None
    ) -> tuple[int, int] | None:
        """Return the first match that starts at or after a byte, as a half-open span.

        Args:
            text: Valid UTF-8.
            at: A character's first byte.
            check: Called between steps of some 100 ms at most; what it raises ends the search.
            end: The end of the last line to search; default: the end of the text.
        """
        size = len(text)
        stop = size if end is None else end
        while at <= stop:
            check()
            cut = self._cut(text, at, stop)
            found = self.compiled.search(text, at, cut)
            if found:
                span = found.span()
                # An empty match at a cut is found again after it; there is no line after the last
                # line break.
                if span[0] < cut or (cut == size and text[-1:] not in (b"", b"\n")):
                    return span
            if cut == stop:
                break
            at = cut
        return None

    def _cut(self, text: bytes, at: int, stop: int) -> int:
        """Return the end of a line at which the next call may stop; such a cut loses no match."""
        if self.window_bytes is None or stop - at <= self.window_bytes:
            return stop
        return min(text.find(b"\n", at + self.window_bytes) + 1 or stop, stop)


def patterns_of(query: Query) -> tuple[Pattern, ...]:
    """Compile the patterns of a query.

    Raises:
        InvalidQueryError: One is invalid or too large, with its position.
    """
    return tuple(compile_pattern(term, query.case) for term in query.patterns)


def compile_pattern(term: PatternTerm, case: Case = Case.AUTO) -> Pattern:
    r"""Compile one pattern.

    Args:
        term: The pattern, or the literal text.
        case: How letters compare; ``auto``: exactly when it has an upper-case letter, in a class
            too, but not in an escape like ``\W``.

    Raises:
        InvalidQueryError: It is invalid or too large, with its position.
    """
    source = re2.escape(term.text) if term.is_literal else term.text
    tokens = tokens_of(source)
    letters = "".join(token.letters for token in tokens)
    is_case_sensitive = case is Case.YES or (case is Case.AUTO and letters != letters.lower())
    is_multiline = any(token.is_multiline for token in tokens)
    options = _options(
        _COMPILE_BYTES, is_case_sensitive=is_case_sensitive, is_multiline=is_multiline
    )
    try:
        probe = _compile(source, options)
    except re2.error as error:
        re2_message = error.args[0].decode("utf-8", "replace")
        raise invalid_pattern_error(re2_message, source, tokens, term) from None
    refuse_byte_escape(source, tokens, term)
    most = MAX_INSTRUCTIONS_MULTILINE if is_multiline else MAX_INSTRUCTIONS
    if probe.programsize > most:
        raise too_large_error(term, is_multiline=is_multiline)
    options.max_mem = _RUN_BYTES
    compiled = _compile("(?m)" + _with_line_ends(source, tokens), options)
    is_case_sensitive = is_case_sensitive and not any(token.ignores_case for token in tokens)
    required = required_literals(tokens)
    return Pattern(
        compiled=compiled,
        negated=term.negated,
        is_multiline=is_multiline,
        has_text_anchors=any(token.is_text_anchor for token in tokens),
        reads_crlf_as_lf=any(token.kind is Kind.LINE_END for token in tokens)
        and "\r" not in letters,
        window_bytes=None if is_multiline else _window_of(compiled),
        literals=_literals(tokens, required, is_case_sensitive=is_case_sensitive),
        required=_any_case(required, is_case_sensitive=is_case_sensitive),
    )


def _window_of(compiled: _Compiled) -> int:
    return max(_MIN_WINDOW, _CALL_WORK // max(1, compiled.programsize))


def _options(max_mem: int, *, is_case_sensitive: bool, is_multiline: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = max_mem
    options.never_capture = True  # groups cost a slower engine
    options.never_nl = not is_multiline
    options.case_sensitive = is_case_sensitive
    return options


def _compile(source: str, options: re2.Options) -> _Compiled:
    compiled: _Compiled = re2.compile(source, options)
    re2.purge()  # its cache would hold 128 patterns with their automata
    return compiled


def _with_line_ends(source: str, tokens: list[Token]) -> str:
    r"""Let ``$`` match before ``\r\n`` too."""
    pieces = []
    at = 0
    for token in tokens:
        if token.kind is Kind.LINE_END:
            pieces += [source[at : token.start], r"(?:\r?$)"]
            at = token.end
    return "".join([*pieces, source[at:]])


def _literals(
    tokens: list[Token], required: tuple[Choices, ...], *, is_case_sensitive: bool
) -> tuple[Pattern, ...]:
    """Compile the best of the required literals, unless they are the whole pattern."""
    if all(token.kind is Kind.TEXT and len(token.choices) == 1 for token in tokens):
        return ()
    texts = required[0] if required else ()
    if not texts or min(len(text.encode()) for text in texts) < _MIN_LITERAL_BYTES:
        return ()
    options = _options(_COMPILE_BYTES, is_case_sensitive=is_case_sensitive, is_multiline=True)
    return tuple(Pattern(compiled=_compile(re2.escape(text), options)) for text in texts)


def _any_case(required: tuple[Choices, ...], *, is_case_sensitive: bool) -> tuple[Choices, ...]:
    """Reduce the required literals to what is required whatever the case of the letters."""
    if is_case_sensitive:
        return required
    kept = (tuple(map(_longest_caseless, texts)) for texts in required)
    return tuple(texts for texts in kept if all(texts))


def _longest_caseless(text: str) -> str:
    """Return the longest part without cased letters outside ASCII."""
    parts = ("".join(part) for is_unfiltered, part in groupby(text, _is_caseless) if is_unfiltered)
    return max(parts, key=len, default="")


def _is_caseless(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) == "Lo"
