"""The weights of the built-in model, and the vectors of queries; see ``static``.

Without numpy, whose import takes longer than embedding a query.

The file: the line ``cairn-static 1``, a line of JSON, the words and pieces joined by line feeds,
the scale of each row as float16, and the rows as int8; lengths follow from the JSON.
"""

import functools
import json
import math
import mmap
import os
import struct
from array import array
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from itertools import repeat
from operator import add, mul
from typing import Final, NamedTuple

from engine.files import open_at_once
from engine.syntax.terms import terms_of

MAGIC: Final = b"cairn-static 1\n"
_MODEL_FILE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model", "static.bin")
#: Of the file: queries name it without reading it all. To be renewed with the weights.
_MODEL_DIGEST: Final = "e31ac5c5"
_START: Final = 3  # letters
_BELOW_START: Final = 0b110  # lengths, as bits
_LONGEST_WORD: Final = 64  # characters; anything longer is data
#: So many words are looked up in the text of the file; then a dictionary of all is made, in 8 ms.
_LOOKED_UP: Final = 32


class Splitter:
    """Cuts words into rows.

    Args:
        rows: Each known word and piece with its row.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self._rows = rows

    @functools.cached_property
    def _lengths(self) -> dict[str, int]:
        """The lengths of the words with the same first three letters, as bits; takes 10 ms."""
        lengths: dict[str, int] = {}
        for word in self._rows:
            start = word[:_START]
            lengths[start] = lengths.get(start, 0) | 1 << len(word)
        return lengths

    def prepare(self) -> None:
        """Do now what else the first unknown word does."""
        _ = self._lengths

    def rows(self, word: str) -> list[int]:
        """Return the row of a word, or else the rows of its pieces; none for data."""
        row = self._rows.get(word)
        if row is not None:
            return [row]
        if word[:1].isdigit() or len(word) > _LONGEST_WORD:
            return []
        found = []
        known, lengths = self._rows.get, self._lengths.get
        at, size = 0, len(word)
        while at < size:
            left = size - at
            # Of lengths below that of a start, each may have a word.
            possible = (lengths(word[at : at + _START], 0) | _BELOW_START) & (2 << left) - 1
            while possible:
                length = possible.bit_length() - 1
                row = known(word[at : at + length])
                if row is not None:
                    found.append(row)
                    at += length
                    break
                possible ^= 1 << length
            else:
                at += 1
        return found


class Header(NamedTuple):
    """The header of a weights file."""

    name: str
    rows: int
    dimension: int
    word_bytes: int
    count_power: float  # a word that occurs n times in a field counts n to this power
    field_factors: tuple[float, float, float]  # of names, signatures and body
    path_factors: tuple[float, float]  # of folders and stem
    path_share: float  # with which it was learned; ``search.weights.FILE_SHARE`` is what counts
    mean_share: float  # of a file's chunks in its vector: always 0 so far


class Weights:
    """A weights file.

    Args:
        data: Its bytes, of which only those are read that are needed.
        digest: Of the file, when it is known: computing it takes longer than embedding a query.

    Raises:
        ValueError: This program cannot read it.
    """

    def __init__(self, data: bytes | mmap.mmap, digest: str | None = None) -> None:
        end = -1
        if data[: len(MAGIC)] == MAGIC:
            end = data.find(b"\n", len(MAGIC))
        if end < 0:
            raise ValueError("not a weights file of this version")
        self.header = Header(**json.loads(data[len(MAGIC) : end]))
        self.scales_at = end + 1 + self.header.word_bytes
        self.rows_at = self.scales_at + 2 * self.header.rows
        self._words = b"\n%b\n" % data[end + 1 : self.scales_at]
        if (
            self._words.count(b"\n") != self.header.rows + 1
            or len(data) != self.rows_at + self.header.rows * self.header.dimension
        ):
            raise ValueError("the weights file is damaged")
        self.data = data
        self._digest = digest or _digest_of(data)
        #: Vectors of models with different identities cannot be compared.
        self.identity = f"{self.header.name}/{self.header.dimension}/{self._digest}"
        self._looked_up = 0

    @functools.cached_property
    def is_intact(self) -> bool:
        """Whether the file has the digest that its identity names."""
        return _digest_of(self.data) == self._digest

    @functools.cached_property
    def rows(self) -> dict[str, int]:
        """Each word and piece with its row."""
        words = self._words[1:-1].decode().split("\n")
        return dict(zip(words, range(len(words)), strict=True))

    @functools.cached_property
    def splitter(self) -> Splitter:
        """Cuts words into rows."""
        return Splitter(self.rows)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        total = [0.0] * self.header.dimension
        for word, count in Counter(terms_of(text).split()).items():
            for row in self._rows_of(word):
                weight = count * self._scale(row)
                total = list(map(add, total, map(mul, repeat(weight), self._numbers(row))))
        length = math.hypot(*total)
        return [number / length for number in total] if length else total

    def _rows_of(self, word: str) -> list[int]:
        """Return the row of a word, or else those of its pieces."""
        if "rows" not in self.__dict__ and self._looked_up < _LOOKED_UP:
            self._looked_up += 1
            at = self._words.find(b"\n%b\n" % word.encode("utf-8", "replace"))
            if at >= 0:
                return [self._words.count(b"\n", 0, at)]
        return self.splitter.rows(word)

    def _scale(self, row: int) -> float:
        scale: float = struct.unpack_from("<e", self.data, self.scales_at + 2 * row)[0]
        return scale

    def _numbers(self, row: int) -> "array[int]":
        start = self.rows_at + row * self.header.dimension
        return array("b", self.data[start : start + self.header.dimension])


def _digest_of(data: bytes | mmap.mmap) -> str:
    return blake2b(data, digest_size=4).hexdigest()


@functools.cache
def load_weights() -> Weights:
    """Return the weights of the built-in model; mapped once per process."""
    with open(_MODEL_FILE, "rb", opener=open_at_once) as file:
        return Weights(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), _MODEL_DIGEST)
