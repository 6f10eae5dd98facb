"""Many patterns over one name at once.

Names that patterns spell out and extensions (``*.log``) are dictionary look-ups; the rest is one
regular expression, or, when there are many, buckets by what a name has to start with, end with or
contain. So ten thousand rules cost about what ten do.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from engine.source.wildmatch import NamePattern

#: Up to this many wildcard patterns one regular expression is faster than buckets.
_BLOCK_PATTERNS: Final = 40

#: Patterns that say nothing a bucket could go by are tried so many at a time.
_OTHERS_AT_ONCE: Final = 200

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
        self._block = _Block(patterns) if 0 < len(patterns) <= _BLOCK_PATTERNS else None
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
        if self._buckets is not None:
            for number, pattern in self._buckets.candidates(name):
                if number > best and pattern.matches(name):
                    best = number
        return best


class _Block:
    """A few wildcard patterns, the highest number first."""

    __slots__ = ("_highest", "_match", "_patterns")

    def __init__(self, patterns: list[Numbered]) -> None:
        self._patterns = patterns
        self._highest = patterns[0][0]
        self._match = _match_any(patterns)

    def last(self, name: str, best: int) -> int:
        if self._highest <= best or self._match(name) is None:
            return best
        highest = next(number for number, pattern in self._patterns if pattern.matches(name))
        return max(highest, best)


class Buckets:
    """Wildcard patterns by what a name has to start with, end with or contain."""

    __slots__ = ("_by_inner", "_by_prefix", "_by_suffix", "_other_blocks", "_others")

    def __init__(self, patterns: Iterable[Numbered]) -> None:
        self._by_prefix: dict[int, dict[str, list[Numbered]]] = {}
        self._by_suffix: dict[int, dict[str, list[Numbered]]] = {}
        self._by_inner: dict[str, list[Numbered]] = {}
        self._others: list[Numbered] = []
        self._other_blocks: list[tuple[Match, list[Numbered]]] | None = None
        for entry in patterns:
            self._bucket_of(entry[1]).append(entry)

    def candidates(self, name: str) -> Iterator[Numbered]:
        """Give every pattern that could match, each once, and possibly others."""
        for length, buckets in self._by_prefix.items():
            yield from buckets.get(name[:length], ())
        for length, buckets in self._by_suffix.items():
            yield from buckets.get(name[-length:], ())
        if self._by_inner:
            starts = range(len(name) - _INNER_LENGTH + 1)
            keys = {name[start : start + _INNER_LENGTH] for start in starts}
            for key in keys & self._by_inner.keys():
                yield from self._by_inner[key]
        for match, entries in self._others_by_block():
            if match(name) is not None:
                yield from entries

    def _others_by_block(self) -> list[tuple[Match, list[Numbered]]]:
        if self._other_blocks is None:
            starts = range(0, len(self._others), _OTHERS_AT_ONCE)
            blocks = [self._others[start : start + _OTHERS_AT_ONCE] for start in starts]
            self._other_blocks = [(_match_any(block), block) for block in blocks]
        return self._other_blocks

    def _bucket_of(self, pattern: NamePattern) -> list[Numbered]:
        prefix, suffix, inner = pattern.prefix, pattern.suffix, pattern.inner
        outer = max(len(prefix), len(suffix))
        if outer < _INNER_LENGTH <= len(inner):
            return self._by_inner.setdefault(inner[-_INNER_LENGTH:], [])
        if not outer:
            return self._others
        length = min(outer, _MAX_KEY_LENGTH)
        if len(prefix) > len(suffix):
            return self._by_prefix.setdefault(length, {}).setdefault(prefix[:length], [])
        return self._by_suffix.setdefault(length, {}).setdefault(suffix[-length:], [])


def _match_any(patterns: list[Numbered]) -> Match:
    alternatives = "|".join(pattern.source for _, pattern in patterns)
    return re.compile(alternatives, re.DOTALL).match


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
