"""The built-in model: a weighted bag of words, semantic search without a neural network.

Every word has a vector; the vector of a text is their sum, scaled to length 1. Words are split by
``syntax.terms``, exactly as for the keyword index. A word without a row of its own is cut into the
rows of known words and pieces, the longest first. ``tools/training`` learned the weights;
``model/MODEL_CARD.md`` says from what.

A word that occurs n times in a field of a chunk counts n to a power, times the factor of the field;
both stand in the weights file.

The file: the line ``cairn-static 1``, a line of JSON, the words and pieces joined by line feeds,
the scale of each row as float16, and the rows as int8; lengths follow from the JSON.
"""

import functools
import json
import mmap
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from engine.cancellation import CancelToken
from engine.embedding.embedder import Passage, Vectors
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.syntax.terms import terms_of

MAGIC: Final = b"cairn-static 1\n"
_MODEL_FILE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model", "static.bin")
#: Of the file: queries name it without reading it all. To be renewed with the weights.
_MODEL_DIGEST: Final = "e31ac5c5"
_START: Final = 3  # letters
_LONGEST_WORD: Final = 64  # characters; anything longer is data
_MAX_DERIVED: Final = 32_768  # cached rows of words that have none of their own
_ROOM: Final = 2048  # for the distinct words of one text
_TINY: Final = np.float32(1e-12)

Floats = NDArray[np.float32]

_AT_ONCE = 512


class Splitter:
    """Cuts words into rows.

    Args:
        rows: Each known word and piece with its row.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self._rows = rows
        self._longest: dict[str, int] = {}  # by prefix

    def _longest_by_start(self) -> dict[str, int]:
        """Return the length of the longest word for each prefix of three letters."""
        if not self._longest:
            longest: dict[str, int] = {}
            for word in self._rows:
                start = word[:_START]
                if len(word) > longest.get(start, 0):
                    longest[start] = len(word)
            self._longest = longest
        return self._longest

    def rows(self, word: str) -> list[int]:
        """Return the row of a word, or else the rows of its pieces; none for data."""
        row = self._rows.get(word)
        if row is not None:
            return [row]
        if word[:1].isdigit() or len(word) > _LONGEST_WORD:
            return []
        found = []
        known, longest = self._rows.get, self._longest_by_start()
        at, size = 0, len(word)
        while at < size:
            most = longest.get(word[at : at + _START], _START - 1)
            for end in range(min(size, at + most), at, -1):
                row = known(word[at:end])
                if row is not None:
                    found.append(row)
                    at = end
                    break
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


class _WordRows(dict[str, int]):
    """Words with their rows; a word without a row gets one made of its pieces.

    Args:
        words: The words and pieces of the model, with their rows.
        splitter: Cuts other words into those.
        levels: Their rows.
        scales: The scale of each.
    """

    def __init__(
        self, words: Mapping[str, int], splitter: Splitter, levels: NDArray[np.int8], scales: Floats
    ) -> None:
        super().__init__(words)
        self._splitter = splitter
        count, dimension = len(levels), levels.shape[1]
        #: The rows, with room for ``_MAX_DERIVED`` more and a last one of zeros.
        self.levels = np.zeros((count + _MAX_DERIVED + 1, dimension), np.int8)
        self.levels[:count] = levels
        self.scales = np.zeros(len(self.levels), np.float32)
        self.scales[:count] = scales
        self._first = self._next = count
        self._none = len(self.levels) - 1

    def make_room(self) -> Self:
        """Drop the rows that were made if the words of one more text might not fit."""
        if self._next > self._none - _ROOM:
            for word in [word for word, row in self.items() if row >= self._first]:
                del self[word]
            self._next = self._first
        return self

    def __missing__(self, word: str) -> int:
        rows = self._splitter.rows(word)
        row = self._next
        if not rows or row == self._none:
            return self._none
        made = (self.levels[rows] * self.scales[rows, None]).sum(axis=0)
        self.levels[row], self.scales[row] = quantised(made)
        self[word] = row
        self._next += 1
        return row


class _CountWeights(dict[int, float]):
    """The weight of a word that occurs n times in a field."""

    def __init__(self, factor: float, power: float) -> None:
        super().__init__()
        self._factor = factor
        self._power = power

    def __missing__(self, count: int) -> float:
        weight: float = self._factor * count**self._power
        self[count] = weight
        return weight


class StaticModel:
    """Texts → vectors of length 1; all zeros for a text without words.

    Args:
        data: A weights file, which is not copied before chunks are embedded.
        digest: Of the file, when it is known: computing it takes longer than embedding a query.

    Raises:
        ValueError: This program cannot read it.
    """

    def __init__(self, data: bytes | mmap.mmap, digest: str | None = None) -> None:
        end = data.find(b"\n", len(MAGIC))
        if data[: len(MAGIC)] != MAGIC or end < 0:
            raise ValueError("not a weights file of this version")
        header = Header(**json.loads(data[len(MAGIC) : end]))
        count, self.dimension = header.rows, header.dimension
        words_at = end + 1
        scales_at = words_at + header.word_bytes
        levels_at = scales_at + 2 * count
        words = data[words_at:scales_at].decode().split("\n")
        if len(words) != count or len(data) != levels_at + count * self.dimension:
            raise ValueError("the weights file is damaged")
        levels = np.frombuffer(data, np.int8, offset=levels_at)
        self._levels = levels.reshape(count, self.dimension)
        self._scales = np.frombuffer(data, "<f2", count, scales_at).astype(np.float32)
        self._known = dict(zip(words, range(count), strict=True))
        self._splitter = Splitter(self._known)
        self.name = header.name
        self._data = data
        self._digest = digest or _digest_of(data)
        #: Vectors of models with different identities cannot be compared.
        self.identity = f"{self.name}/{self.dimension}/{self._digest}"
        self._folder_factor, self._stem_factor = header.path_factors
        self._lock = threading.Lock()  # making vectors can add rows
        self._curves = [
            _CountWeights(factor, header.count_power) for factor in header.field_factors
        ]

    @functools.cached_property
    def is_intact(self) -> bool:
        """Whether the file has the digest that its identity names."""
        return _digest_of(self._data) == self._digest

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query."""
        return self._vector(Counter(terms_of(text).split()))

    def embed_path(self, folders: str, stem: str) -> Floats:
        """Return the vector of a path.

        Args:
            folders: The words of its folders, as ``terms_of`` gives them.
            stem: The words of its name up to the first dot.
        """
        weights = dict.fromkeys(folders.split(), self._folder_factor)
        for word in dict.fromkeys(stem.split()):
            weights[word] = weights.get(word, 0.0) + self._stem_factor
        return self._vector(weights)

    def embed_chunks(self, rows: Sequence[tuple[str, str, str]]) -> Floats:
        """Return the vectors of chunks, one per row; about 85 µs each.

        Args:
            rows: The name, signature and body terms of each, as ``syntax.analysis`` gives them.
        """
        sums = np.zeros((len(rows), self.dimension), np.float32)
        for total, fields in zip(sums, rows, strict=True):
            with self._lock:
                self._add(total, fields)
        return normalised(sums)

    def _add(self, total: Floats, fields: tuple[str, str, str]) -> None:
        """Add the words of a chunk to its sum."""
        rows = self._rows.make_room()
        row_of = rows.__getitem__
        words: list[int] = []
        weights: list[float] = []
        for field, curve in zip(fields, self._curves, strict=True):
            counts = Counter(field.split())
            words += map(row_of, counts)
            weights += map(curve.__getitem__, counts.values())
        if words:
            taken = np.array(words)
            factors = np.array(weights, np.float32) * rows.scales[taken]
            total += factors @ rows.levels[taken].astype(np.float32)

    @functools.cached_property
    def _rows(self) -> _WordRows:
        """The rows that chunks use: those of the file, and others made as words need them."""
        return _WordRows(self._known, self._splitter, self._levels, self._scales)

    def _vector(self, weights: Mapping[str, float]) -> Floats:
        """Return the vector of a query or a path."""
        words = [(row, weights[word]) for word in weights for row in self._splitter.rows(word)]
        if not words:
            return np.zeros(self.dimension, np.float32)
        rows, factors = zip(*words, strict=True)
        taken = np.array(rows)
        weighted = np.array(factors, np.float32) * self._scales[taken]
        return _unit(weighted @ self._levels[taken].astype(np.float32))


def _digest_of(data: bytes | mmap.mmap) -> str:
    return blake2b(data, digest_size=4).hexdigest()


def _unit(vector: Floats) -> Floats:
    """Scale one vector to length 1."""
    scaled: Floats = vector / max(float(np.sqrt(vector @ vector)), float(_TINY))
    return scaled.astype(np.float32, copy=False)


def normalised(sums: Floats) -> Floats:
    """Scale rows to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    scaled: Floats = sums / np.maximum(lengths, _TINY)[:, None]
    return scaled


def quantised(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Quantise rows, or one row, to integers from -127 to 127 and a scale per row."""
    scales = np.maximum(np.abs(rows).max(axis=-1) / np.float32(127), _TINY)
    return np.rint(rows / scales[..., None]).astype(np.int8), scales


@functools.cache
def load_static() -> StaticModel:
    """Return the built-in model; read once per process."""
    with open(_MODEL_FILE, "rb") as file:
        return StaticModel(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), _MODEL_DIGEST)


class StaticEmbedder:
    """The static model; see ``embedder.Embedder``.

    Raises:
        EmbedderUnavailableError: Its weights are missing or damaged.
    """

    def __init__(self) -> None:
        try:
            self._model = load_static()
        except (OSError, ValueError) as error:
            raise EmbedderUnavailableError(
                f"the built-in model cannot be read: {error}", hint="install codecairn again"
            ) from error

    @property
    def name(self) -> str:
        """Its name, as in the setting ``model``."""
        return "static"

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._model.dimension

    @property
    def identity(self) -> str:
        """Name, dimension and a hash of the weights."""
        return self._model.identity

    def prepare(self, cancelled: CancelToken) -> None:
        """Check the weights before anything is stored that they made; a query takes no time for it.

        Raises:
            EmbedderUnavailableError: They are damaged.
        """
        if not self._model.is_intact:
            raise EmbedderUnavailableError(
                "the weights of the built-in model are damaged", hint="install codecairn again"
            )

    def embed_words(self, rows: Sequence[tuple[str, str, str]]) -> Vectors:
        """Embed chunks by their words: of names, of signatures, of the text."""
        if not rows:
            return np.zeros((0, self.dimension), np.float32)
        return self._model.embed_chunks(rows)

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed chunks by their words."""
        parts = []
        for start in range(0, len(passages), _AT_ONCE):
            if cancelled():
                raise Cancelled("embedding was stopped")
            rows = [passage[1:] for passage in passages[start : start + _AT_ONCE]]
            parts.append(self.embed_words(rows))
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> Vectors:
        """Embed paths by the words of their folders and of their names."""
        vectors = np.zeros((len(paths), self.dimension), np.float32)
        for number, path in enumerate(paths):
            if number % _AT_ONCE == 0 and cancelled():
                raise Cancelled("embedding was stopped")
            folders, _, name = path.rpartition("/")
            stem = terms_of(name.partition(".")[0]) or terms_of(name)
            vectors[number] = self._model.embed_path(terms_of(folders), stem)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Embed a query by its words."""
        return self._model.embed_query(text)

    def close(self) -> None:
        """Do nothing: the weights are shared."""
