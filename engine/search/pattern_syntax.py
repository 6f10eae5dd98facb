"""What a pattern says before it runs: its tokens, the literals it cannot do without, its letters.

Reads the syntax of RE2 (https://github.com/google/re2/wiki/Syntax) and takes for granted that RE2
has accepted the pattern. What it does not understand it takes for "anything", so that the literals
it gives are always required.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

#: Texts of which one is required, at most: each of them costs a search.
_MOST_CHOICES = 4
_MOST_CHARS = 64  # of one literal
_MOST_NEEDED = 16  # choices that are told of a pattern

_REPEAT = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
_GROUP = re.compile(r"\(\?(?:P?<([^>]+)>|([imsU-]*)([:)]))")
_NAMED_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CODE_ESCAPE = re.compile(r"\\x\{([0-9A-Fa-f]+)\}|\\x([0-9A-Fa-f]{2})|\\([0-7]{1,3})")
_PROPERTY = re.compile(r"\\[pP](?:\{[^}]*\}|.)", re.DOTALL)
_POSIX_CLASS = re.compile(r"\[:\^?\w+:\]")
_SURROGATES = range(0xD800, 0xE000)
_OPPOSITES = ({"\\s", "\\S"}, {"\\d", "\\D"}, {"\\w", "\\W"})


#: Texts of which one is meant.
Choices = tuple[str, ...]


class Kind(Enum):
    """What a token is."""

    TEXT = auto()  # one character, or one of a few
    ANY = auto()  # one character that can be many
    NOTHING = auto()  # a place between characters
    FLAGS = auto()  # no part of what is repeated: a repetition behind is of what is before
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
    least: int = 1  # of REPEAT
    most: int | None = 1  # of REPEAT; None is no bound
    folds: bool = False  # flags that compare letters without their case
    crosses_lines: bool = False  # asks for line breaks
    is_text_end: bool = False  # can tell the ends of the text from those of a line


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
    return Token(Kind.TEXT, start, end, (character,), character, crosses_lines=character == "\n")


def _repeat(match: re.Match[str]) -> Token:
    sign = match[0][0]
    if sign == "{":
        least = int(match[1])
        most = least if not match[2] else int(match[3]) if match[3] else None
    else:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
    return Token(Kind.REPEAT, match.start(), match.end(), least=least, most=most)


def _group(pattern: str, at: int) -> Token:
    match = _GROUP.match(pattern, at)
    if not match:
        return Token(Kind.OPEN, at, at + 1)
    flags, _, without = (match[2] or "").partition("-")
    return Token(
        Kind.FLAGS if match[3] == ")" else Kind.OPEN,
        at,
        match.end(),
        folds="i" in flags,
        crosses_lines="s" in flags,
        is_text_end="m" in without,
    )


def _escape(pattern: str, at: int) -> Token:
    code = _CODE_ESCAPE.match(pattern, at)
    if code:
        value = int(code[1] or code[2] or code[3], 8 if code[3] else 16)
        if value in _SURROGATES or value > sys.maxunicode:  # no text holds such
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
        return Token(Kind.NOTHING, at, end, is_text_end=letter in ("A", "z"))
    if letter.isalnum():  # \d, \s, \w and whatever RE2 may add
        return Token(Kind.ANY, at, end)
    return _text(letter, at, end)


def _class(pattern: str, at: int) -> Token:
    """Read ``[…]``; a few single characters are choices."""
    inside = at + 1
    negated = pattern.startswith("^", inside)
    inside += negated
    members: list[str] = []  # single characters, and the ends of ranges
    named: set[str] = set()  # sets of their own: \w, [:alpha:], and "-" for any range
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
    is_few = not named and not negated and len(members) <= _MOST_CHOICES
    return Token(
        Kind.TEXT if is_few else Kind.ANY,
        at,
        min(inside + 1, len(pattern)),
        tuple(dict.fromkeys(members)) if is_few else (),
        "".join(members),
        crosses_lines=not negated and ("\n" in members or any(o <= named for o in _OPPOSITES)),
    )


@dataclass(slots=True)
class _Piece:
    """What is known of a part of a pattern."""

    #: Texts of which each match of the part is one; None when there may be others.
    exact: Choices | None = ("",)
    #: Texts of which each match of the part holds one; several times, for each holds in itself.
    needed: tuple[Choices, ...] = ()

    def all_needed(self) -> tuple[Choices, ...]:
        """Give the texts of both."""
        return self.needed if self.exact is None else (*self.needed, self.exact)

    def best(self) -> Choices:
        """Give the texts that are worth most in a search, of both."""
        return max(self.all_needed(), key=_worth, default=())


@dataclass(slots=True)
class _Sequence:
    """The pieces of one alternative, joined as they come."""

    run: Choices = ("",)  # what the last exact pieces spell
    is_exact: bool = True
    needed: tuple[Choices, ...] = ()
    last: _Piece | None = None  # waits: a repetition may follow

    def add(self, piece: _Piece) -> None:
        self._join()
        self.last = piece

    def repeat(self, least: int, most: int | None) -> None:
        if self.last:
            self.last = _repeated(self.last, least, most)

    def _join(self) -> None:
        piece, self.last = self.last, None
        if piece is None:
            return
        if piece.exact is None:
            self._end_run(("",))
        else:
            joined = tuple(dict.fromkeys(a + b for a in self.run for b in piece.exact))
            if len(joined) > _MOST_CHOICES or max(map(len, joined)) > _MOST_CHARS:
                self._end_run(piece.exact)
            else:
                self.run = joined
        self.needed += piece.needed

    def _end_run(self, following: Choices) -> None:
        self.needed += (self.run,)
        self.run, self.is_exact = following, False

    def piece(self) -> _Piece:
        """Give what is known of the whole alternative."""
        self._join()
        if self.is_exact:
            return _Piece(self.run, _useful(self.needed))
        return _Piece(None, _useful((*self.needed, self.run)))


def required_literals(tokens: Iterable[Token]) -> tuple[Choices, ...]:
    """Give texts that every match holds: at least one of each choice; best first, or none.

    Case is not told: where the pattern ignores it, so must the search for them. Follows R. Cox,
    "Regular Expression Matching with a Trigram Index" (2012), with literals in place of trigrams.
    """
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
            sequence.repeat(token.least, token.most)
        elif token.kind is Kind.ANY:
            sequence.add(_Piece(None))
        else:
            sequence.add(_Piece(token.choices or ("",)))
    if len(stack) > 1:
        return ()
    found = _useful(_either(stack[0]).all_needed())
    return tuple(sorted(found, key=_worth, reverse=True)[:_MOST_NEEDED])


def _either(alternatives: list[_Sequence]) -> _Piece:
    pieces = [sequence.piece() for sequence in alternatives]
    if len(pieces) == 1:
        return pieces[0]
    exact: Choices | None = None
    if all(piece.exact is not None for piece in pieces):
        exact = tuple(dict.fromkeys(text for piece in pieces for text in piece.exact or ()))
        if len(exact) > _MOST_CHOICES:
            exact = None
    bests = [piece.best() for piece in pieces]
    if exact is not None or not all(bests):
        return _Piece(exact)
    return _Piece(None, _useful([tuple(dict.fromkeys(text for best in bests for text in best))]))


def _repeated(piece: _Piece, least: int, most: int | None) -> _Piece:
    if least == most == 1:
        return piece
    if least == 0:
        is_optional = most == 1 and piece.exact is not None
        return _Piece((*(piece.exact or ()), "") if is_optional else None)
    needed = piece.all_needed()
    if piece.exact is not None and len(piece.exact) == 1:
        text = piece.exact[0]
        needed = (*needed, (text * min(least, max(1, _MOST_CHARS // max(1, len(text)))),))
    return _Piece(None, _useful(needed))


def _useful(needed: Iterable[Choices]) -> tuple[Choices, ...]:
    """Leave out choices that say nothing: with an empty text, or with too many."""
    return tuple(
        dict.fromkeys(each for each in needed if 0 < len(each) <= _MOST_CHOICES and all(each))
    )


def _worth(texts: Choices) -> tuple[int, int]:
    """Order what to search for: long texts are rare, and each of several costs a search."""
    if not texts or len(texts) > _MOST_CHOICES:
        return (0, 0)
    return (min(map(len, texts)), -len(texts))
