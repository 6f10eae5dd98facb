"""Git's wildcards, read into components that match one name each.

A pattern over a path is cut at its slashes: within a component neither ``*``, ``?`` nor a class
ever matches a slash, so a path matches when its names match the components one by one, and ``**``
stands for any number of names. Nothing here backtracks without bound: ``a/**/b/**/c`` is a chain of
components (``patterns`` steps through it), and the stars of ``*a*b*c`` become atomic groups.

Where git up to 2.51 strays from its own manual (``foo**/bar`` also across folders), the manual and
git 2.52 rule.

Many patterns over one name at once.

Names that patterns spell out and extensions (``*.log``) are dictionary look-ups; the rest is one
regular expression, or, when there are many, buckets by what a name has to start with, end with or
contain, or by its length. So ten thousand rules cost about what ten do; of those that a bucket
cannot part, ``shift_and`` tries all at once.

Hundreds of wildcard patterns over one name in a single pass, however they are made.

The automaton of all patterns side by side, a bit a place, held in one long number: a character of
the name moves every pattern on by one shift and one AND (R. Baeza-Yates and G. Gonnet, "A new
approach to text searching", CACM 35, 1992; stars are places that stay set). So the time depends on
the number of places alone, where a regular expression can be made to try everything for each
pattern: 10,000 rules of classes and stars take 25 to 60 µs a name of 16 characters.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
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


#: The pieces of ``NamePattern.source``; a piece that stands for one character is a group.
_PIECE: Final = re.compile(
    r"\(\?>\.\*\?|\)|\.\*|\\Z|(\[(?:\\.|[^\]\\])*\]|\\.|.)",
    re.DOTALL,
)
_RANGE: Final = re.compile(r"\\?(.)-\\?(.)", re.DOTALL)
_STARS: Final = frozenset({"(?>.*?", ".*"})

#: Distinct characters whose places are kept; names of one tree rarely have more.
_MAX_KNOWN: Final = 256


class ShiftAnd:
    """Patterns that are matched together.

    Args:
        patterns: The patterns; their numbers are their places.
    """

    __slots__ = (
        "_any",
        "_begin",
        "_classes",
        "_ends",
        "_known",
        "_literals",
        "_size",
        "_stars",
        "_starts",
    )

    def __init__(self, patterns: Sequence[NamePattern]) -> None:
        starts: list[int] = []
        stars: list[int] = []
        places: dict[str, list[int]] = {}
        at = 0
        for pattern in patterns:
            starts.append(at)
            for piece in _PIECE.finditer(pattern.source):
                if piece[1] is not None:
                    at += 1
                    places.setdefault(piece[1], []).append(at)
                elif piece[0] in _STARS:
                    stars.append(at)
            at += 1
        self._starts = starts
        self._size = at
        self._begin = self._bits(starts)
        self._ends = self._bits([*(start - 1 for start in starts[1:]), at - 1])
        self._stars = self._bits(stars)
        self._any = self._bits(places.pop(".", []))
        self._classes = [
            (_ranges_of(piece), piece[:2] == "[^", where)
            for piece, where in places.items()
            if piece[0] == "["
        ]
        self._literals = {  # some have a backslash in front
            piece[-1]: where for piece, where in places.items() if piece[0] != "["
        }
        self._known: dict[str, int] = {}

    def last(self, name: str) -> int:
        """Give the highest number of the patterns that match the whole name, -1 when none does."""
        ended = self._run(name)
        return self._number_at(ended.bit_length() - 1) if ended else -1

    def all(self, name: str) -> Iterator[int]:
        """Give the numbers of all patterns that match the whole name."""
        shown = f"{self._run(name):b}"
        last = len(shown) - 1
        at = shown.find("1")
        while at >= 0:
            yield self._number_at(last - at)
            at = shown.find("1", at + 1)

    def _run(self, name: str) -> int:
        """Give the places at the ends of patterns that are set when the name is read."""
        stars, known = self._stars, self._known
        state = self._begin
        for character in name:
            places = known.get(character)
            if places is None:
                places = self._places_of(character)
            state = (state << 1) & places | state & stars
            if not state:
                return 0
        return state & self._ends

    def _number_at(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1

    def _places_of(self, character: str) -> int:
        """Give the places that a character leads to."""
        where = list(self._literals.get(character, ()))
        for ranges, is_negated, there in self._classes:
            if any(low <= character <= high for low, high in ranges) is not is_negated:
                where += there
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        places = self._known[character] = self._any | self._bits(where)
        return places

    def _bits(self, places: Sequence[int]) -> int:
        data = bytearray(self._size // 8 + 1)
        for place in places:
            data[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(data, "little")


def _ranges_of(piece: str) -> list[tuple[str, str]]:
    inside = piece[2:-1] if piece[:2] == "[^" else piece[1:-1]
    return [(low, high) for low, high in _RANGE.findall(inside)]


#: Up to this many wildcard patterns one regular expression is faster than buckets.
_BLOCK_PATTERNS: Final = 40

#: Up to this many patterns one regular expression is faster than matching them all at once.
_REGEX_PATTERNS: Final = 100

_MAX_KEY_LENGTH: Final = 16
_INNER_LENGTH: Final = 4

#: A pattern and its number; higher numbers win.
Numbered = tuple[int, NamePattern]

Match = Callable[[str], re.Match[str] | None]


class NameTable:
    """Numbered patterns, to find the highest that matches a name."""

    __slots__ = ("_all", "_block", "_buckets", "_exact", "_extensions")

    def __init__(self, numbered: Iterable[Numbered]) -> None:
        self._all = -1  # number of the last "*"
        self._exact: dict[str, int] = {}
        self._extensions: dict[str, int] = {}
        wild: dict[str, Numbered] = {}
        for number, pattern in numbered:
            if pattern.literal is not None:
                _raise_to(self._exact, pattern.literal, number)
            elif pattern.matches_all:
                self._all = max(self._all, number)
            elif _is_extension(pattern):
                _raise_to(self._extensions, pattern.suffix, number)
            elif pattern.source not in wild or wild[pattern.source][0] < number:
                wild[pattern.source] = (number, pattern)
        patterns = sorted(wild.values(), key=_number_of, reverse=True)
        self._block = _Group(patterns) if 0 < len(patterns) <= _BLOCK_PATTERNS else None
        self._buckets = Buckets(patterns) if len(patterns) > _BLOCK_PATTERNS else None

    def last(self, name: str) -> int:
        """Give the highest number of the patterns that match, -1 when none does."""
        best = self._exact.get(name, -1)
        if self._all > best:
            best = self._all
        if self._extensions:
            number = self._extensions.get(name[name.rfind(".") :], -1)
            if number > best:
                best = number
        if self._block is not None:
            return self._block.last(name, best)
        return best if self._buckets is None else self._buckets.last(name, best)


class _Group:
    """Wildcard patterns that are tried together, the highest number first."""

    __slots__ = ("_all", "_entries", "_match")

    def __init__(self, entries: list[Numbered]) -> None:
        self._entries = entries
        self._match: Match | None = None
        self._all: ShiftAnd | None = None

    def add(self, entry: Numbered) -> None:
        """Take in a pattern; not after the first name was looked up."""
        self._entries.append(entry)

    def last(self, name: str, best: int) -> int:
        """Give the highest number of the patterns that match, ``best`` when none is higher."""
        if self._match is None and self._all is None:
            self._prepare()
        entries = self._entries
        if not entries or entries[0][0] <= best:
            return best
        if self._all is not None:
            place = self._all.last(name)
            return best if place < 0 else max(best, entries[-1 - place][0])
        if self._match is None or self._match(name) is None:
            return best
        return max(best, next(number for number, pattern in entries if pattern.matches(name)))

    def matching(self, name: str) -> Iterator[Numbered]:
        """Give every pattern that matches."""
        if self._match is None and self._all is None:
            self._prepare()
        if self._all is not None:
            yield from (self._entries[-1 - place] for place in self._all.all(name))
        elif self._match is not None and self._match(name) is not None:
            yield from (entry for entry in self._entries if entry[1].matches(name))

    def _prepare(self) -> None:
        entries = self._entries
        entries.sort(key=_number_of, reverse=True)
        if len(entries) > _REGEX_PATTERNS:
            self._all = ShiftAnd([pattern for _, pattern in reversed(entries)])
        elif entries:
            alternatives = "|".join(pattern.source for _, pattern in entries)
            self._match = re.compile(alternatives, re.DOTALL).match


class Buckets:
    """Wildcard patterns by what a name has to start with, end with or contain, or by its length."""

    __slots__ = ("_by_inner", "_by_length", "_by_prefix", "_by_suffix", "_others")

    def __init__(self, patterns: Iterable[Numbered]) -> None:
        self._by_prefix: dict[int, dict[str, _Group]] = {}
        self._by_suffix: dict[int, dict[str, _Group]] = {}
        self._by_inner: dict[str, _Group] = {}
        self._by_length: dict[int, _Group] = {}
        self._others = _Group([])
        for entry in patterns:
            self._put(entry)

    def last(self, name: str, best: int) -> int:
        """Give the highest number of the patterns that match, ``best`` when none is higher."""
        for group in self._groups(name):
            best = group.last(name, best)
        return best

    def matching(self, name: str) -> Iterator[Numbered]:
        """Give every pattern that matches, each once."""
        for group in self._groups(name):
            yield from group.matching(name)

    def _groups(self, name: str) -> Iterator[_Group]:
        """Give the groups of the patterns that could match."""
        for length, groups in self._by_prefix.items():
            if name[:length] in groups:
                yield groups[name[:length]]
        for length, groups in self._by_suffix.items():
            if name[-length:] in groups:
                yield groups[name[-length:]]
        if self._by_inner:
            starts = range(len(name) - _INNER_LENGTH + 1)
            keys = {name[start : start + _INNER_LENGTH] for start in starts}
            for key in keys & self._by_inner.keys():
                yield self._by_inner[key]
        if len(name) in self._by_length:
            yield self._by_length[len(name)]
        yield self._others

    def _put(self, entry: Numbered) -> None:
        pattern = entry[1]
        prefix, suffix, inner = pattern.prefix, pattern.suffix, pattern.inner
        outer = max(len(prefix), len(suffix))
        length = min(outer, _MAX_KEY_LENGTH)
        if outer < _INNER_LENGTH <= len(inner):
            group = self._by_inner.setdefault(inner[-_INNER_LENGTH:], _Group([]))
        elif not outer:
            group = self._others
            if pattern.length >= 0:
                group = self._by_length.setdefault(pattern.length, _Group([]))
        elif len(prefix) > len(suffix):
            groups = self._by_prefix.setdefault(length, {})
            group = groups.setdefault(prefix[:length], _Group([]))
        else:
            groups = self._by_suffix.setdefault(length, {})
            group = groups.setdefault(suffix[-length:], _Group([]))
        group.add(entry)


def _raise_to(numbers: dict[str, int], key: str, number: int) -> None:
    numbers[key] = max(number, numbers.get(key, -1))


def _number_of(entry: Numbered) -> int:
    return entry[0]


def _is_extension(pattern: NamePattern) -> bool:
    """Tell whether it is ``*.ext``, which the end of a name from its last dot on decides."""
    return (
        pattern.suffix[:1] == "."
        and len(pattern.suffix) > 1
        and "." not in pattern.suffix[1:]
        and pattern.source == f".*{re.escape(pattern.suffix)}\\Z"
    )
