"""Which letters texts have, a bit each: one comparison of numbers leaves out most of many texts."""

import numpy as np
from numpy.typing import NDArray

_PIECE = 1 << 16  # texts whose letters are gathered at a time, at eight bytes a byte
_LETTERS, _DIGITS, _BITS = 26, 10, 64

Letters = NDArray[np.uint64]


def letters_of(text: bytes) -> np.uint64:
    """Give the letters of a text, which is in lower case and not empty."""
    return np.uint64(np.bitwise_or.reduce(_bits_of(text)))


def letters_between(text: bytes, borders: NDArray[np.intp]) -> Letters:
    """Give the letters of the parts of a text that begin at these places.

    A part that is empty has the letter that stands where it begins.
    """
    found = np.zeros(len(borders), np.uint64)
    for first in range(0, len(borders), _PIECE):
        places = borders[first : first + _PIECE]
        last = first + len(places)
        end = len(text) if last == len(borders) else borders[last]
        bits = _bits_of(text[places[0] : end])
        found[first:last] = np.bitwise_or.reduceat(bits, places - places[0])
    return found


def _bits_of(text: bytes) -> Letters:
    return _BIT_OF[np.frombuffer(text, np.uint8)]


def _bit_of(code: int) -> int:
    character = chr(code)
    if "a" <= character <= "z":
        return code - ord("a")
    if "0" <= character <= "9":
        return _LETTERS + code - ord("0")
    others = _LETTERS + _DIGITS
    return others + code % (_BITS - others)


_BIT_OF = np.array([1 << _bit_of(code) for code in range(256)], np.uint64)
