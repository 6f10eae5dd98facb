"""Git's wildcards, read into components that match one name each.

A pattern over a path is cut at its slashes: within a component neither ``*``, ``?`` nor a class
ever matches a slash, so a path matches when its names match the components one by one, and ``**``
stands for any number of names. Nothing here backtracks without bound: ``a/**/b/**/c`` is a chain of
components (``patterns`` steps through it), and the stars of ``*a*b*c`` become atomic groups.

Where git up to 2.51 strays from its own manual (``foo**/bar`` also across folders), the manual and
git 2.52 rule.
"""

import re
from typing import Final, NamedTuple

#: Longest name of the file systems in use, in bytes; a component that needs more never matches.
_NAME_MAX: Final = 255

#: What POSIX classes hold, as ranges of code points; git looks at ASCII only.
_POSIX_CLASSES: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}

_PLAIN_RUN: Final = re.compile(r"[^*?\[\\/]+")
_SPECIAL: Final = re.compile(r"[*?\[\\]")

_CASE_OFFSET: Final = 32  # from an ASCII capital to its small letter
_ASCII_LOWER: Final = {capital: capital + _CASE_OFFSET for capital in range(65, 91)}


class BadPatternError(ValueError):
    """A pattern that can match nothing; the message says why."""


class _Segment(NamedTuple):
    """What stands between two stars."""

    regex: str
    length: int  # characters that it matches, always the same number
    head: str  # literal characters at its start
    tail: str  # literal characters at its end
    longest: str  # its longest run of literal characters


class NamePattern:
    r"""A pattern over one name.

    Attributes:
        source: Regular expression for ``re.DOTALL`` that matches a whole name; ends in ``\Z``.
        literal: The one name that it matches; None with wildcards.
        length: Characters of every matching name; -1 when there is a star.
        prefix: What every matching name starts with; may be empty.
        suffix: What every matching name ends with; may be empty.
        inner: A run of characters in every matching name; empty for a pattern such as ``*`` or
            ``?[ab]``, which names nothing in particular.
    """

    __slots__ = (
        "_is_prefix_and_suffix",
        "_regex",
        "inner",
        "length",
        "literal",
        "prefix",
        "source",
        "suffix",
    )

    def __init__(self, segments: list[_Segment]) -> None:
        first, last = segments[0], segments[-1]
        is_starred = len(segments) > 1
        middle = "".join(f"(?>.*?{segment.regex})" for segment in segments[1:-1])
        end = f".*{last.regex}" if is_starred else ""
        self.source = f"{first.regex}{middle}{end}\\Z"
        self.literal = first.head if not is_starred and len(first.head) == first.length else None
        self.length = -1 if is_starred else first.length
        self.prefix = first.head
        self.suffix = last.tail
        self.inner = max((segment.longest for segment in segments), key=len)
        self._is_prefix_and_suffix = (
            len(segments) == 2 and len(first.head) == first.length and len(last.tail) == last.length
        )
        self._regex: re.Pattern[str] | None = None

    @property
    def matches_all(self) -> bool:
        """Whether it is a mere ``*``."""
        return self._is_prefix_and_suffix and not self.prefix and not self.suffix

    def matches(self, name: str) -> bool:
        """Tell whether the whole name matches."""
        if self.literal is not None:
            return name == self.literal
        if self._is_prefix_and_suffix:
            return (
                len(name) >= len(self.prefix) + len(self.suffix)
                and name.startswith(self.prefix)
                and name.endswith(self.suffix)
            )
        if self._regex is None:
            self._regex = re.compile(self.source, re.DOTALL)
        return self._regex.match(name) is not None


#: A pattern over one name, or None for ``**``, any number of names.
Component = NamePattern | None


class _Token(NamedTuple):
    """A piece of a pattern."""

    kind: str  # "/", "*" for a run of stars, "1" for what matches a fixed number of characters
    regex: str = ""  # of a "1"
    literal: str = ""  # the characters of a "1" that matches only those
    length: int = 1  # characters that a "1" matches, stars in a run
    is_escaped: bool = False


def components_of(pattern: str, *, fold_case: bool = False) -> tuple[Component, ...]:
    """Read a pattern; without the slash that anchors it and the one that asks for a folder.

    Args:
        pattern: Git's wildcards; one character of it stands for one character of a name.
        fold_case: The names that will be matched are in lower case (ASCII letters only).

    Raises:
        BadPatternError: It is malformed or, like ``a//b``, can match no path.
    """
    components: list[Component] = []
    if not _SPECIAL.search(pattern):
        if fold_case:
            pattern = pattern.translate(_ASCII_LOWER)
        return tuple(_name_pattern_of_literal(name) for name in pattern.split("/"))
    tokens: list[_Token] = []
    for token in _tokens_of(pattern, fold_case=fold_case):
        if token.kind != "/":
            tokens.append(token)
            continue
        _close(components, tokens, before_escaped_slash=token.is_escaped)
        tokens = []
    _close(components, tokens, before_escaped_slash=False)
    return tuple(components)


def _name_pattern_of_literal(name: str) -> NamePattern:
    if not name:
        raise BadPatternError("a name in it is empty")
    if len(name) > _NAME_MAX:
        raise BadPatternError("no name is that long")
    return NamePattern([_Segment(re.escape(name), len(name), name, name, name)])


def _close(
    components: list[Component], tokens: list[_Token], *, before_escaped_slash: bool
) -> None:
    if not tokens:
        raise BadPatternError("a name in it is empty")
    if len(tokens) == 1 and tokens[0].kind == "*" and tokens[0].length > 1:
        if not components or components[-1] is not None:
            components.append(None)
        if before_escaped_slash:  # only a plain slash lets ** stand for no folder at all
            components.append(_name_pattern(tokens))
        return
    components.append(_name_pattern(tokens))


def _name_pattern(tokens: list[_Token]) -> NamePattern:
    segments: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == "*":  # a run of stars within a name is one star
            segments.append([])
        else:
            segments[-1].append(token)
    if sum(token.length for segment in segments for token in segment) > _NAME_MAX:
        raise BadPatternError("no name is that long")
    return NamePattern([_segment(pieces) for pieces in segments])


def _segment(tokens: list[_Token]) -> _Segment:
    runs = [""]
    for token in tokens:
        if token.literal:
            runs[-1] += token.literal
        else:
            runs.append("")
    regex = "".join(token.regex for token in tokens)
    return _Segment(
        regex, sum(token.length for token in tokens), runs[0], runs[-1], max(runs, key=len)
    )


def _tokens_of(pattern: str, *, fold_case: bool) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(pattern)
    while at < end:
        run = _PLAIN_RUN.match(pattern, at)
        if run is not None:
            tokens.append(_literal(run[0], fold_case=fold_case))
            at = run.end()
            continue
        character = pattern[at]
        at += 1
        if character == "/":
            tokens.append(_Token("/"))
        elif character == "*":
            start = at - 1
            while at < end and pattern[at] == "*":
                at += 1
            tokens.append(_Token("*", length=at - start))
        elif character == "?":
            tokens.append(_Token("1", regex="."))
        elif character == "[":
            regex, at = _class_at(pattern, at, fold_case=fold_case)
            tokens.append(_Token("1", regex=regex))
        else:
            tokens.append(_escaped(pattern[at : at + 1], fold_case=fold_case))
            at += 1
    return tokens


def _literal(text: str, *, fold_case: bool) -> _Token:
    if fold_case:
        text = text.translate(_ASCII_LOWER)
    return _Token("1", re.escape(text), text, len(text))


def _escaped(character: str, *, fold_case: bool) -> _Token:
    if not character:
        raise BadPatternError("its last backslash escapes nothing")
    if character == "/":
        return _Token("/", is_escaped=True)
    return _literal(character, fold_case=fold_case)


def _class_at(pattern: str, at: int, *, fold_case: bool) -> tuple[str, int]:
    """Read a class from behind its bracket: its regular expression and where it ends."""
    is_negated = pattern[at : at + 1] in ("!", "^")
    if is_negated:
        at += 1
    ranges: list[tuple[int, int]] = []
    previous = -1  # code point that a "-" would continue, -1 for none
    is_first = True
    while is_first or pattern[at : at + 1] != "]":
        is_first = False
        character, at = _class_character(pattern, at)
        if character == "-" and previous >= 0 and pattern[at : at + 1] not in ("]", ""):
            character, at = _class_character(pattern, at)
            ranges.append((previous, ord(character[-1])))
            previous = -1
        elif character == "[" and pattern[at : at + 1] == ":" and _is_posix(pattern, at):
            close = pattern.index("]", at)
            ranges.extend(_posix_ranges(pattern[at + 1 : close - 1]))
            previous, at = -1, close + 1
        else:
            previous = ord(character[-1])
            ranges.append((previous, previous))
    return _class_regex(ranges, is_negated=is_negated, fold_case=fold_case), at + 1


def _class_character(pattern: str, at: int) -> tuple[str, int]:
    """Read one character, with its backslash when it is escaped (then it means only itself)."""
    character = pattern[at : at + 1]
    if character == "\\":
        character = pattern[at : at + 2]
    if character in ("", "\\"):
        raise BadPatternError("its [ is never closed")
    return character, at + len(character)


def _is_posix(pattern: str, at: int) -> bool:
    close = pattern.find("]", at + 1)
    if close < 0:
        raise BadPatternError("its [ is never closed")
    return close > at + 1 and pattern[close - 1] == ":"


def _posix_ranges(name: str) -> tuple[tuple[int, int], ...]:
    try:
        return _POSIX_CLASSES[name]
    except KeyError:
        raise BadPatternError(f"the class [:{name[:20]}:] does not exist") from None


def _class_regex(ranges: list[tuple[int, int]], *, is_negated: bool, fold_case: bool) -> str:
    wanted = {(low, high) for low, high in ranges if low <= high}
    if fold_case:
        wanted |= {
            (max(low, 65) + _CASE_OFFSET, min(high, 90) + _CASE_OFFSET)
            for low, high in wanted
            if low <= 90 and high >= 65
        }
    inside = "".join(
        f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in sorted(wanted)
    )
    return f"[{'^' if is_negated else ''}{inside}]"
