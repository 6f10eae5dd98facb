"""What words are worth in each place of a tree, and where several are worth most together.

The worth of a common word is kept twice: exactly, and rounded up to whole levels whose bits are
sliced, so that slice n, one long number, holds bit n of every place. Adding two words is then a few
operations on long numbers for all places at once, and so is finding the level that the best places
reach. Only those are scored exactly, with what rounding may hide, so the result is that of scoring
every place. Source: D. Rinfret, P. O'Neil, E. O'Neil, "Bit-Sliced Index Arithmetic", SIGMOD 2001.
"""

import functools
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, count, repeat, zip_longest
from operator import add, itemgetter
from typing import NamedTuple

#: Levels a point of score; the rounding of a word is below one level.
_LEVELS = 16
_MOST_LEVELS = 255
#: A word in fewer places than both is rare: all its places are looked at.
_RARE_PLACES = 128
_RARE_SHARE = 1 / 64
_NONE: "array[float]" = array("f")
_LEAST_GOT = 2  # places that itemgetter gives as a tuple
_DICT_BYTES = 100  # of memory a place that has a rare word


class Impact(NamedTuple):
    """What one word or phrase is worth in each place of a tree; 0 where it is not."""

    rare: dict[int, float]  # by place; empty for a common word
    common: "array[float]"  # indexed by place; empty for a rare word
    slices: tuple[int, ...]  # of the levels of a common word, lowest bit first
    size_bytes: int


def impact_of(places: Sequence[int], scores: Sequence[float], size: int) -> Impact:
    """Keep what a word is worth.

    Args:
        places: Where it is.
        scores: Of those places, each above 0.
        size: How many places there are, numbered from 0.
    """
    is_rare = len(places) <= max(_RARE_PLACES, size * _RARE_SHARE)
    if is_rare or max(scores) * _LEVELS >= _MOST_LEVELS - 1:
        return Impact(
            dict(zip(places, scores, strict=True)), _NONE, (), 1 + _DICT_BYTES * len(places)
        )
    exact = array("f", bytes(4 * size))
    levels = bytearray(size)
    for place, score in zip(places, scores, strict=True):
        exact[place] = score
        levels[place] = int(score * _LEVELS) + 1
    slices = _sliced(levels)
    return Impact({}, exact, slices, 4 * size + len(slices) * size // 8)


def _sliced(levels: bytearray) -> tuple[int, ...]:
    """Slice levels: bit n of the levels of all places becomes number n.

    Every eight bytes are a square of bits, and all squares are transposed at once. Source: H. S.
    Warren, "Hacker's Delight", 2nd edition, section 7-3.
    """
    blocks = -(-len(levels) // 8)
    bits = int.from_bytes(levels, "little")
    for shift, mask in _masks(blocks):
        swapped = (bits ^ bits >> shift) & mask
        bits ^= swapped ^ swapped << shift
    rows = bits.to_bytes(8 * blocks, "little")
    return tuple(int.from_bytes(rows[bit::8], "little") for bit in range(max(levels).bit_length()))


@functools.lru_cache(maxsize=8)
def _masks(blocks: int) -> tuple[tuple[int, int], ...]:
    """Give how far bits go in each step of a transposition, and which of them."""
    steps = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
    return tuple(
        (shift, int.from_bytes(mask.to_bytes(8, "little") * blocks, "little"))
        for shift, mask in steps
    )


def best_places(impacts: Sequence[Impact], number: int) -> tuple[list[int], list[float]]:
    """Give the places where words are worth most together, in order, and what that is.

    Args:
        impacts: Of the words.
        number: How many places to give; of equal ones the first.
    """
    chosen = set().union(*[impact.rare for impact in impacts])
    common = [impact.slices for impact in impacts if impact.slices]
    if common:
        chosen.update(_likely_places(common, number))
    places = sorted(chosen)
    scores = _total_of_chosen(impacts, places)
    if len(places) <= number:
        return places, scores
    least = sorted(scores)[-number]
    places = [place for place, score in zip(places, scores, strict=True) if score >= least]
    scores = [score for score in scores if score >= least]
    if len(places) > number:
        ties = [at for at, score in enumerate(scores) if score == least]
        for at in reversed(ties[number - len(places) :]):
            del places[at], scores[at]
    return places, scores


def total_of(impacts: Iterable[Impact], places: Sequence[int]) -> list[float]:
    """Give what words are worth together in each of some places."""
    totals: Iterable[float] = repeat(0.0, len(places))
    for impact in sorted(impacts, key=_is_rare):  # as _total_of_chosen adds them
        if impact.slices:
            values = map(impact.common.__getitem__, places)
        else:
            values = map(impact.rare.get, places, repeat(0.0))
        totals = map(add, totals, values)
    return list(totals)


def _total_of_chosen(impacts: Iterable[Impact], places: Sequence[int]) -> list[float]:
    """Give the same as ``total_of``, sooner, for places that hold all those of the rare words."""
    if len(places) < _LEAST_GOT:
        return total_of(impacts, places)
    values_at = itemgetter(*places)
    columns = [values_at(impact.common) for impact in impacts if impact.slices]
    totals = list(functools.reduce(_added, columns)) if columns else [0.0] * len(places)
    number_of = dict(zip(places, range(len(places)), strict=True))
    for impact in impacts:
        for place, score in impact.rare.items():
            totals[number_of[place]] += score
    return totals


def _is_rare(impact: Impact) -> bool:
    return not impact.slices


def _added(left: Iterable[float], right: Iterable[float]) -> Iterable[float]:
    return map(add, left, right)


def _likely_places(words: Sequence[Sequence[int]], number: int) -> list[int]:
    """Give the places that may be among the best, all of those and few more.

    A level is above the score by less than 1 a word. So the best places reach what the last of
    the best by level reaches, less 1 a word.
    """
    total: Sequence[int] = words[0]
    for slices in words[1:]:
        total = _sum(total, slices)
    least = max(1, _level_reached(total, number) - len(words))
    return _ones(_reaching(total, least))


def _sum(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Add the levels of all places: an adder with carry, each wire as wide as the tree."""
    carry = 0
    total = []
    for a, b in zip_longest(left, right, fillvalue=0):
        either = a ^ b
        total.append(either ^ carry)
        carry = a & b | either & carry
    if carry:
        total.append(carry)
    return total


def _level_reached(slices: Sequence[int], number: int) -> int:
    """Give the highest level that at least so many places reach; 0 when there is none."""
    above = 0  # places whose level is higher than what is known of the one sought
    alike = -1  # places whose higher bits are those of the level sought: all at first
    level = 0
    for bit in range(len(slices) - 1, -1, -1):
        ones = alike & slices[bit]
        if (above | ones).bit_count() >= number:
            alike = ones
            level |= 1 << bit
        else:
            above |= ones
            alike &= ~slices[bit]
    return level


def _reaching(slices: Sequence[int], level: int) -> int:
    """Give the places of at least this level, which is above 0, as bits."""
    above = 0
    alike = -1
    for bit in range(len(slices) - 1, -1, -1):
        if level >> bit & 1:
            alike &= slices[bit]
        else:
            above |= alike & slices[bit]
            alike &= ~slices[bit]
    return above | alike


def _ones(bits: int) -> list[int]:
    """Give the numbers of the bits that are set, highest first."""
    zeros = bin(bits)[2:].split("1")  # before, between and behind the ones, highest first
    behind = bits.bit_length() - 1
    return [behind - at for at in map(add, accumulate(map(len, zeros[:-1])), count())]
