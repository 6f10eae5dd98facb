"""Parse the syntax of a pattern: its tokens, required literals and letters.

Reads the syntax of RE2 (https://github.com/google/re2/wiki/Syntax) and assumes that RE2 has
accepted the pattern. What it does not understand it takes for "anything", so that the literals it
returns are always required.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

#: Alternatives of a required literal at most: each costs a search.
_MAX_CHOICES = 4
_MAX_LITERAL_CHARS = 64  # of one literal
_MAX_REQUIRED = 16  # literals per pattern

_REPEAT = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP = re.compile(r"\(\?(?:P?<([^>]+)>|([imsU-]*)([:)]))")
_NAMED_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CODE_ESCAPE = re.compile(r"\\x\{([0-9A-Fa-f]+)\}|\\x([0-9A-Fa-f]{2})|\\([0-7]{1,3})")
_PROPERTY = re.compile(r"\\[pP](?:\{[^}]*\}|.)", re.DOTALL)
_POSIX_CLASS = re.compile(r"\[:\^?\w+:\]")
_SURROGATES = range(0xD800, 0xE000)
_OPPOSITES = ({"\\s", "\\S"}, {"\\d", "\\D"}, {"\\w", "\\W"})


#: Alternative texts.
Choices = tuple[str, ...]


class Kind(Enum):
    """The kind of a token."""

    TEXT = auto()  # one character, or one of a few
    ANY = auto()  # one character that can be many
    NOTHING = auto()  # a position between characters
    FLAGS = auto()  # a repetition after flags repeats what is before them
    LINE_END = auto()  # $
    OPEN = auto()
    CLOSE = auto()
    OR = auto()
    REPEAT = auto()


class Token(NamedTuple):
    """A piece of a pattern."""

    kind: Kind
    start: int
    end: int
    choices: tuple[str, ...] = ()  # of TEXT
    letters: str = ""  # characters as written, of TEXT and of a class
    min_count: int = 1  # of REPEAT
    max_count: int | None = 1  # of REPEAT; None for no limit
    ignores_case: bool = False  # flags that ignore case
    is_multiline: bool = False  # may match line breaks
    is_text_anchor: bool = False  # distinguishes the ends of the text from those of a line


def tokens_of(pattern: str) -> list[Token]:
    """Split a pattern that RE2 accepts; any other text gives some tokens too."""
    tokens: list[Token] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("\\Q", at):
            end = pattern.find("\\E", at)
            stop = len(pattern) if end < 0 else end
            tokens += [_text(pattern[i], i, i + 1) for i in range(at + 2, stop)]
            at = len(pattern) if end < 0 else end + 2
            continue
        token = _token_at(pattern, at)
        tokens.append(token)
        at = token.end
    return tokens


def _token_at(pattern: str, at: int) -> Token:
    character = pattern[at]
    if character == "\\":
        return _escape(pattern, at)
    if character == "[":
        return _class(pattern, at)
    if character == "(":
        return _group(pattern, at)
    repeat = _REPEAT.match(pattern, at)
    if repeat:
        return _repeat(repeat)
    simple = {")": Kind.CLOSE, "|": Kind.OR, ".": Kind.ANY, "^": Kind.NOTHING, "$": Kind.LINE_END}
    if character in simple:
        return Token(simple[character], at, at + 1)
    return _text(character, at, at + 1)


def _text(character: str, start: int, end: int) -> Token:
    return Token(Kind.TEXT, start, end, (character,), character, is_multiline=character == "\n")


def _repeat(match: re.Match[str]) -> Token:
    sign = match[0][0]
    if sign == "{":
        min_count = int(match[1])
        max_count = min_count if not match[2] else int(match[3]) if match[3] else None
    else:
        min_count, max_count = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
    return Token(Kind.REPEAT, match.start(), match.end(), min_count=min_count, max_count=max_count)


def _group(pattern: str, at: int) -> Token:
    match = _GROUP.match(pattern, at)
    if not match:
        return Token(Kind.OPEN, at, at + 1)
    flags, _, without = (match[2] or "").partition("-")
    return Token(
        Kind.FLAGS if match[3] == ")" else Kind.OPEN,
        at,
        match.end(),
        ignores_case="i" in flags,
        is_multiline="s" in flags,
        is_text_anchor="m" in without,
    )


def _escape(pattern: str, at: int) -> Token:
    code = _CODE_ESCAPE.match(pattern, at)
    if code:
        value = int(code[1] or code[2] or code[3], 8 if code[3] else 16)
        if value in _SURROGATES or value > sys.maxunicode:  # no text has these
            return Token(Kind.ANY, at, code.end())
        return _text(chr(value), at, code.end())
    named = _PROPERTY.match(pattern, at)
    if named:
        return Token(Kind.ANY, at, named.end())
    end = min(at + 2, len(pattern))
    letter = pattern[at + 1 : end]
    if letter in _NAMED_ESCAPES:
        return _text(_NAMED_ESCAPES[letter], at, end)
    if letter in ("A", "z", "b", "B", "E", ""):
        return Token(Kind.NOTHING, at, end, is_text_anchor=letter in ("A", "z"))
    if letter.isalnum():  # \d, \s, \w and whatever RE2 may add
        return Token(Kind.ANY, at, end)
    return _text(letter, at, end)


def _class(pattern: str, at: int) -> Token:
    """Read ``[…]``; a few single characters are choices."""
    inside = at + 1
    negated = pattern.startswith("^", inside)
    inside += negated
    members: list[str] = []  # single characters, and the ends of ranges
    named: set[str] = set()  # named sets: \w, [:alpha:], and "-" for any range
    first = inside
    while inside < len(pattern) and (pattern[inside] != "]" or inside == first):
        posix = _POSIX_CLASS.match(pattern, inside)
        if posix:
            named.add(posix[0])
            inside = posix.end()
            continue
        is_escape = pattern[inside] == "\\"
        token = (
            _escape(pattern, inside) if is_escape else _text(pattern[inside], inside, inside + 1)
        )
        members += token.choices
        if not token.choices or (pattern[inside] == "-" and inside != first):
            named.add(pattern[inside : token.end])
        inside = token.end
    is_few = not named and not negated and len(members) <= _MAX_CHOICES
    return Token(
        Kind.TEXT if is_few else Kind.ANY,
        at,
        min(inside + 1, len(pattern)),
        tuple(dict.fromkeys(members)) if is_few else (),
        "".join(members),
        is_multiline=not negated and ("\n" in members or any(o <= named for o in _OPPOSITES)),
    )


@dataclass(slots=True)
class _Piece:
    """The known facts of a part of a pattern."""

    #: All texts that the part can match; None if there may be others.
    exact: Choices | None = ("",)
    #: Each match of the part contains one text of each of these.
    required: tuple[Choices, ...] = ()

    def all_required(self) -> tuple[Choices, ...]:
        """Return the texts of both."""
        return self.required if self.exact is None else (*self.required, self.exact)

    def best(self) -> Choices:
        """Return the most selective texts of both."""
        return max(self.all_required(), key=_selectivity, default=())


@dataclass(slots=True)
class _Sequence:
    """The pieces of one alternative, joined as they come."""

    run: Choices = ("",)  # the texts of the last exact pieces, joined
    is_exact: bool = True
    required: tuple[Choices, ...] = ()
    last: _Piece | None = None  # pending: a repetition may follow

    def add(self, piece: _Piece) -> None:
        self._join()
        self.last = piece

    def repeat(self, min_count: int, max_count: int | None) -> None:
        if self.last:
            self.last = _repeated(self.last, min_count, max_count)

    def _join(self) -> None:
        piece, self.last = self.last, None
        if piece is None:
            return
        if piece.exact is None:
            self._end_run(("",))
        else:
            joined = tuple(dict.fromkeys(a + b for a in self.run for b in piece.exact))
            if len(joined) > _MAX_CHOICES or max(map(len, joined)) > _MAX_LITERAL_CHARS:
                self._end_run(piece.exact)
            else:
                self.run = joined
        self.required += piece.required

    def _end_run(self, following: Choices) -> None:
        self.required += (self.run,)
        self.run, self.is_exact = following, False

    def piece(self) -> _Piece:
        """Return what is known of the whole alternative."""
        self._join()
        if self.is_exact:
            return _Piece(self.run, _useful(self.required))
        return _Piece(None, _useful((*self.required, self.run)))


def required_literals(tokens: Sequence[Token]) -> tuple[Choices, ...]:
    r"""Return texts that every match contains, at least one of each choice; best first, or none.

    Case is not considered: if the pattern ignores it, so must the search for them. Where it has
    ``$``, a line break may be ``\r\n``, so no literal has one. Follows R. Cox, "Regular Expression
    Matching with a Trigram Index" (2012), with literals in place of trigrams.
    """
    has_line_end = any(token.kind is Kind.LINE_END for token in tokens)
    stack: list[list[_Sequence]] = [[_Sequence()]]  # alternatives of each open group
    for token in tokens:
        sequence = stack[-1][-1]
        if token.kind is Kind.FLAGS:
            continue
        if token.kind is Kind.OPEN:
            stack.append([_Sequence()])
        elif token.kind is Kind.CLOSE:
            alternatives = stack.pop()
            if not stack:
                return ()
            stack[-1][-1].add(_either(alternatives))
        elif token.kind is Kind.OR:
            stack[-1].append(_Sequence())
        elif token.kind is Kind.REPEAT:
            sequence.repeat(token.min_count, token.max_count)
        elif token.kind in (Kind.ANY, Kind.LINE_END) or (has_line_end and "\n" in token.choices):
            sequence.add(_Piece(None))
        else:
            sequence.add(_Piece(token.choices or ("",)))
    if len(stack) > 1:
        return ()
    found = _useful(_either(stack[0]).all_required())
    return tuple(sorted(found, key=_selectivity, reverse=True)[:_MAX_REQUIRED])


def _either(alternatives: list[_Sequence]) -> _Piece:
    pieces = [sequence.piece() for sequence in alternatives]
    if len(pieces) == 1:
        return pieces[0]
    exact: Choices | None = None
    if all(piece.exact is not None for piece in pieces):
        exact = tuple(dict.fromkeys(text for piece in pieces for text in piece.exact or ()))
        if len(exact) > _MAX_CHOICES:
            exact = None
    bests = [piece.best() for piece in pieces]
    if exact is not None or not all(bests):
        return _Piece(exact)
    return _Piece(None, _useful([tuple(dict.fromkeys(text for best in bests for text in best))]))


def _repeated(piece: _Piece, min_count: int, max_count: int | None) -> _Piece:
    if min_count == max_count == 1:
        return piece
    if min_count == 0:
        is_optional = max_count == 1 and piece.exact is not None
        return _Piece((*(piece.exact or ()), "") if is_optional else None)
    required = piece.all_required()
    if piece.exact is not None and len(piece.exact) == 1:
        text = piece.exact[0]
        required = (
            *required,
            (text * min(min_count, max(1, _MAX_LITERAL_CHARS // max(1, len(text)))),),
        )
    return _Piece(None, _useful(required))


def _useful(required: Iterable[Choices]) -> tuple[Choices, ...]:
    """Leave out choices that say nothing: with an empty text, or with too many."""
    return tuple(
        dict.fromkeys(each for each in required if 0 < len(each) <= _MAX_CHOICES and all(each))
    )


def _selectivity(texts: Choices) -> tuple[int, int]:
    """Order literals for a search: long texts are rare, and each of several costs a search."""
    if not texts or len(texts) > _MAX_CHOICES:
        return (0, 0)
    return (min(map(len, texts)), -len(texts))
