"""Words → ids for many words at once, by numpy instead of a dictionary.

A word of up to 16 bytes is two 64-bit numbers, its bytes themselves. A table of numbers, in which a
word has one possible place, keeps the ids of words that came lately; a dictionary is asked for the
others. To split texts into words and to look these up one by one took a tenth of a worker's time.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_PLACE_BITS: Final = 16
_HALF: Final = 8  # bytes of a number
_PADDING: Final = bytes(2 * _HALF)
_FIELD_END: Final = ord("\n")
#: By the number of bytes of a word in a number: the bits that count.
_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(_HALF + 1)], np.uint64)
#: Odd numbers with mixed bits.
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_OTHER_FACTOR: Final = np.uint64(0xC2B2AE3D27D4EB4F)

_Integers = NDArray[np.int64]
_Numbers = NDArray[np.uint64]


class Words(NamedTuple):
    """Words of UTF-8 texts."""

    data: bytes  # in which they stand, and two numbers' bytes more
    starts: _Integers
    sizes: _Integers  # in bytes, none 0


def split(fields: Iterable[str]) -> tuple[_Integers, Words]:
    """Split fields, whose words are separated by spaces, and return the field of each word."""
    data = b"%b\n%b" % ("\n".join(fields).encode("utf-8", "surrogatepass"), _PADDING)
    characters = np.frombuffer(data, np.uint8, len(data) - len(_PADDING))
    ends = np.flatnonzero(characters <= ord(" "))
    starts = np.empty_like(ends)
    starts[:1] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    is_last = characters[ends] == _FIELD_END
    field = np.cumsum(is_last)
    field -= is_last
    sizes = ends - starts
    if not sizes.all():
        is_word = sizes > 0
        field, starts, sizes = field[is_word], starts[is_word], sizes[is_word]
    return field, Words(data, starts, sizes)


class WordCache:
    """The ids of words that came lately."""

    def __init__(self) -> None:
        places = 1 << _PLACE_BITS
        self._first: _Numbers = np.zeros(places, np.uint64)
        self._second: _Numbers = np.zeros(places, np.uint64)
        self._ids: _Integers = np.zeros(places, np.int64)

    def clear(self) -> None:
        """Forget all words."""
        self._first[:] = 0  # which no word begins with
        self._second[:] = 0

    def ids(self, words: Words, others: Mapping[str, int]) -> _Integers:
        """Return the ids of words.

        Args:
            words: The words.
            others: Has the ids of all words.
        """
        data, starts, sizes = words
        eights: _Numbers = np.ndarray(len(data) - _HALF + 1, "<u8", data, strides=(1,))
        first = eights[starts] & _MASKS[np.minimum(sizes, _HALF)]
        second = eights[starts + _HALF] & _MASKS[np.clip(sizes - _HALF, 0, _HALF)]
        places = (first ^ second * _OTHER_FACTOR) * _FACTOR >> np.uint64(64 - _PLACE_BITS)
        places = places.astype(np.intp)
        ids: _Integers = self._ids[places]
        is_known = (self._first[places] == first) & (self._second[places] == second)
        is_known &= sizes <= 2 * _HALF
        new = np.flatnonzero(~is_known)
        if len(new):
            bounds = zip(starts[new].tolist(), (starts + sizes)[new].tolist(), strict=True)
            ids[new] = [
                others[data[start:end].decode("utf-8", "surrogatepass")] for start, end in bounds
            ]
            new = new[sizes[new] <= 2 * _HALF]
            _, some = np.unique(places[new], return_index=True)
            kept = new[some]
            self._first[places[kept]] = first[kept]
            self._second[places[kept]] = second[kept]
            self._ids[places[kept]] = ids[kept]
        return ids
