"""Many patterns over one name at once.

Names that patterns spell out and extensions (``*.log``) are dictionary look-ups; the rest is one
regular expression, or, when there are many, buckets by what a name has to start with, end with or
contain, or by its length. So ten thousand rules cost about what ten do; of those that a bucket
cannot part, ``shift_and`` tries all at once.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from engine.source.shift_and import ShiftAnd
from engine.source.wildmatch import NamePattern

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
