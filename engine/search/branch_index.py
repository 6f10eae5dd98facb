"""A branch in the memory of a process: its files, and the BM25 scores of words in its places.

Nothing here depends on a query, and all of it holds for one state of the index only. A place is a
chunk of a file that is shown; places are numbered from 0, those of a file consecutively and in
order.

The scores of a common word are stored twice: exactly, and rounded up to whole levels that are
bit-sliced, so that slice n, one long integer, holds bit n of every place. Adding two words is then
a few operations on long integers for all places at once, and so is finding the level that the best
places reach. Only those are scored exactly, with a margin for the rounding, so the result is the
same as that of scoring every place. Source: D. Rinfret, P. O'Neil, E. O'Neil, "Bit-Sliced Index
Arithmetic", SIGMOD 2001.
"""

import functools
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, count, repeat, zip_longest
from operator import add, itemgetter
from typing import NamedTuple

from engine.cache import LruCache
from engine.records import FileStat
from engine.search.features import PathVocabulary, RankedFile, path_worth
from engine.store import blobs, chunks, files, fulltext
from engine.store.chunks import Span
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.files import SeenFile
from engine.syntax.languages import DOCUMENT_LANGUAGES

#: Levels per point of score; a word is rounded by less than one level.
_LEVELS = 16
_MAX_LEVELS = 255
#: A word in no more places than the larger of these is rare: all its places are scored.
_RARE_PLACES = 128
_RARE_SHARE = 1 / 64
_NO_SCORES: "array[float]" = array("f")
_MIN_FOR_TUPLE = 2  # below, itemgetter returns no tuple
_DICT_BYTES = 100  # of memory per place of a rare word
# Memory for impacts: some 400 common words of a branch of 10,000 to 120,000 places.
_MIN_WORD_BYTES = 32 << 20
_WORD_BYTES_PER_PLACE = 2048
_MAX_WORD_BYTES = 256 << 20
_PATH_BYTES = 4 << 20
_TEXT_BYTES = 16 << 20
_SPANS_BYTES = 4 << 20
_FILE_BYTES = 1024  # of memory per file, with its path and its ranking properties
_PLACE_BYTES = 8
_SPAN_BYTES = 1024  # of memory per chunk, with its symbol


class Impact(NamedTuple):
    """Frozen record of the scores of a word or phrase by place; 0 where it does not occur."""

    rare: dict[int, float]  # by place; empty for a common word
    common: "array[float]"  # indexed by place; empty for a rare word
    slices: tuple[int, ...]  # of the levels of a common word, lowest bit first
    size_bytes: int


def impact_of(places: Sequence[int], scores: Sequence[float], size: int) -> Impact:
    """Return the impact of a word.

    Args:
        places: Where it occurs.
        scores: Of those places, each above 0.
        size: The number of all places.
    """
    is_rare = len(places) <= max(_RARE_PLACES, size * _RARE_SHARE)
    if is_rare or max(scores) * _LEVELS >= _MAX_LEVELS - 1:
        return Impact(
            dict(zip(places, scores, strict=True)), _NO_SCORES, (), 1 + _DICT_BYTES * len(places)
        )
    exact = array("f", bytes(4 * size))
    levels = bytearray(size)
    for place, score in zip(places, scores, strict=True):
        exact[place] = score
        levels[place] = int(score * _LEVELS) + 1
    slices = _slice_levels(levels)
    return Impact({}, exact, slices, 4 * size + len(slices) * size // 8)


def _slice_levels(levels: bytearray) -> tuple[int, ...]:
    """Slice levels: bit n of the levels of all places becomes integer n.

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
    """Return the shift and the mask of each step of a transposition."""
    steps = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
    return tuple(
        (shift, int.from_bytes(mask.to_bytes(8, "little") * blocks, "little"))
        for shift, mask in steps
    )


def best_places(impacts: Sequence[Impact], number: int) -> tuple[list[int], list[float]]:
    """Return the places with the highest total score, in order, and the scores.

    Args:
        impacts: Of the words.
        number: How many places to return; among equal ones the first.
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
    """Return the total score of words in each of the given places."""
    totals: Iterable[float] = repeat(0.0, len(places))
    for impact in sorted(impacts, key=_is_rare):  # as _total_of_chosen adds them
        if impact.slices:
            values = map(impact.common.__getitem__, places)
        else:
            values = map(impact.rare.get, places, repeat(0.0))
        totals = map(add, totals, values)
    return list(totals)


def _total_of_chosen(impacts: Iterable[Impact], places: Sequence[int]) -> list[float]:
    """Return the same as ``total_of``, faster, for places that include those of all rare words."""
    if len(places) < _MIN_FOR_TUPLE:
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
    """Return all places that may be among the best, and few others.

    A level exceeds the score by less than 1 per word. So the best places reach the level of the
    last of the best by level, less 1 per word.
    """
    total: Sequence[int] = words[0]
    for slices in words[1:]:
        total = _add_levels(total, slices)
    least = max(1, _level_reached(total, number) - len(words))
    return _set_bits(_places_reaching(total, least))


def _add_levels(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Add the levels of all places: an adder with carry, each wire as wide as the branch."""
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
    """Return the highest level that at least ``number`` places reach, or 0."""
    above = 0  # places whose level exceeds the known bits of the one sought
    alike = -1  # places whose higher bits equal those of the level sought: all at first
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


def _places_reaching(slices: Sequence[int], level: int) -> int:
    """Return the places of at least this level, which is above 0, as a bit set."""
    above = 0
    alike = -1
    for bit in range(len(slices) - 1, -1, -1):
        if level >> bit & 1:
            alike &= slices[bit]
        else:
            above |= alike & slices[bit]
            alike &= ~slices[bit]
    return above | alike


def _set_bits(bits: int) -> list[int]:
    """Return the numbers of the bits that are set, highest first."""
    zeros = bin(bits)[2:].split("1")  # before, between and after the ones, highest first
    behind = bits.bit_length() - 1
    return [behind - at for at in map(add, accumulate(map(len, zeros[:-1])), count())]


class IndexedFile(RankedFile):
    """A file with its places."""

    __slots__ = ("blob_id", "file_id", "first_chunk", "first_place", "language", "place_count")

    def __init__(
        self, seen: SeenFile, first_place: int, folders: dict[str, tuple[str, ...]]
    ) -> None:
        super().__init__(
            seen.path,
            is_generated=bool(seen.is_generated),
            is_document=seen.language in DOCUMENT_LANGUAGES,
            folders=folders,
        )
        self.file_id = seen.file_id
        self.blob_id = seen.blob_id
        self.language = seen.language
        self.first_chunk = seen.first_chunk
        self.first_place = first_place
        self.place_count = seen.chunk_count

    @property
    def places(self) -> range:
        """Its places, in order."""
        return range(self.first_place, self.first_place + self.place_count)

    def chunk_of(self, place: int) -> int:
        """Return the id of the chunk at a place of this file."""
        return self.first_chunk + place - self.first_place


class BranchIndex:
    """The cached data of one branch in one state. Thread-safe.

    Args:
        seen: The files of the branch; among files with equal contents, the one to show first.
    """

    def __init__(self, seen: Iterable[SeenFile]) -> None:
        all_files = list(seen)
        shown: dict[int, SeenFile] = {}
        for file in all_files:
            shown.setdefault(file.blob_id, file)
        folders: dict[str, tuple[str, ...]] = {}
        self.files: list[IndexedFile] = []
        self.count = 0
        for file in sorted(shown.values(), key=_by_chunk):
            self.files.append(IndexedFile(file, self.count, folders))
            self.count += file.chunk_count
        self._numbers = array("I")  # of files, by place
        for number, each in enumerate(self.files):
            self._numbers.extend(array("I", [number]) * each.place_count)
        self._first_chunks = [file.first_chunk for file in self.files]
        by_blob = {file.blob_id: file for file in self.files}
        all_files.sort()
        # Paths are numbered in the order of file ids; files with equal contents share their places.
        self._path_numbers = {file.file_id: number for number, file in enumerate(all_files)}
        self._by_path = [by_blob[file.blob_id] for file in all_files]
        self._identities: dict[int, tuple[FileStat, bytes]] = {}
        self.vocabulary = PathVocabulary(self.files)
        self._words: LruCache[str, Impact] = LruCache(
            min(max(_MIN_WORD_BYTES, _WORD_BYTES_PER_PLACE * self.count), _MAX_WORD_BYTES)
        )
        self._paths: LruCache[str, Impact] = LruCache(_PATH_BYTES)
        self._spans: LruCache[int, Span] = LruCache(_SPANS_BYTES)
        self._texts: LruCache[int, bytes] = LruCache(_TEXT_BYTES)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of all of it."""
        read = self._words.size_bytes + self._paths.size_bytes + self._spans.size_bytes
        own = _FILE_BYTES * len(self.files) + _PLACE_BYTES * self.count
        return own + read + self._texts.size_bytes

    def best_places(
        self, handle: Handle, words: Sequence[str], number: int
    ) -> tuple[list[int], list[float]]:
        """Return the places with the best BM25 scores, in order, and the scores.

        Args:
            handle: A read transaction on the state of this branch index.
            words: Quoted words or phrases, any of which may match.
            number: How many places at most.
        """
        return best_places([self._impact(handle, word) for word in words], number)

    def scores_at(self, handle: Handle, words: Sequence[str], places: Sequence[int]) -> list[float]:
        """Return the BM25 score of the words in each of the given places."""
        return total_of([self._impact(handle, word) for word in words], places)

    def word_scores_at(
        self, handle: Handle, words: Sequence[str], places: Sequence[int]
    ) -> list[list[float]]:
        """Return, for each word alone, its BM25 score in each of the given places."""
        return [self.scores_at(handle, [word], places) for word in words]

    def is_in_few(self, handle: Handle, word: str, few: int) -> bool:
        """Return whether a quoted word or phrase that is not common is in at most ``few`` places.

        It costs nothing beyond scoring the word, which comes next.
        """
        impact = self._impact(handle, word)
        return not impact.common and len(impact.rare) <= few

    def best_place_of_each(
        self, handle: Handle, words: Sequence[str], chosen: Sequence[IndexedFile]
    ) -> dict[int, float]:
        """Return the best-scoring place of each file; its first place when no word matches."""
        if not chosen:
            return {}
        places = [place for file in chosen for place in file.places]
        scores = self.scores_at(handle, words, places)
        best = {}
        begin = 0
        for file in chosen:
            inside = scores[begin : begin + file.place_count]
            begin += file.place_count
            score = max(inside)
            best[file.first_place + inside.index(score)] = score
        return best

    def best_paths(self, handle: Handle, words: Sequence[str], number: int) -> list[IndexedFile]:
        """Return the files whose paths have the best BM25 scores."""
        impacts = [self._path_impact(handle, word) for word in words]
        return [self._by_path[number] for number in best_places(impacts, number)[0]]

    @functools.cached_property
    def ranked_texts(self) -> list[int]:
        """The blob ids of the files, best path first, as pattern matches are ranked."""
        return [file.blob_id for file in sorted(self.files, key=_by_path_worth)]

    def files_at(self, places: Iterable[int]) -> list[IndexedFile]:
        """Return the file of each place."""
        return list(map(self.files.__getitem__, map(self._numbers.__getitem__, places)))

    def place_of(self, chunk_id: int) -> int | None:
        """Return the place of a chunk, or None when no file of the branch shows it."""
        file = self._file_with(chunk_id)
        return file.first_place + chunk_id - file.first_chunk if file else None

    def spans(self, handle: Handle, chunk_ids: Sequence[int]) -> dict[int, Span]:
        """Return the spans of chunks in their texts, each with the symbol that it belongs to."""
        spans = {id_: span for id_ in chunk_ids if (span := self._spans.get(id_))}
        if len(spans) < len(chunk_ids):
            read = chunks.read_spans(handle, [id_ for id_ in chunk_ids if id_ not in spans])
            for chunk_id, span in read.items():
                self._spans.put(chunk_id, span, _SPAN_BYTES)
            spans.update(read)
        return spans

    def identities(
        self, handle: Handle, file_ids: Iterable[int]
    ) -> dict[int, tuple[FileStat, bytes]]:
        """Return, for each file, the stat and the SHA-256 of its content when it was read."""
        missing = [file_id for file_id in file_ids if file_id not in self._identities]
        if missing:
            self._identities.update(files.read_identities(handle, missing))
        return {file_id: self._identities[file_id] for file_id in file_ids}

    def text(self, handle: Handle, blob_id: int) -> bytes:
        """Return the text of a blob."""
        text = self._texts.get(blob_id)
        if text is None:
            packed = blobs.read_text(handle, blob_id)
            text = unpack_text(packed) if packed else b""
            self._texts.put(blob_id, text, len(text))
        return text

    def _impact(self, handle: Handle, word: str) -> Impact:
        impact = self._words.get(word)
        if impact is None:
            places, scores = self._places_of_chunks(fulltext.read_word_scores(handle, word))
            impact = impact_of(places, scores, self.count)
            self._words.put(word, impact, impact.size_bytes)
        return impact

    def _places_of_chunks(
        self, found: Iterable[tuple[int, float]]
    ) -> tuple[list[int], list[float]]:
        """Turn sorted chunk ids into places; chunks that are not shown are left out."""
        places, scores = [], []
        end = shift = 0
        for chunk_id, score in found:
            if chunk_id >= end:
                file = self._file_with(chunk_id)
                if file is None:
                    continue
                end = file.first_chunk + file.place_count
                shift = file.first_place - file.first_chunk
            places.append(chunk_id + shift)
            scores.append(score)
        return places, scores

    def _file_with(self, chunk_id: int) -> IndexedFile | None:
        """Return the file that shows a chunk."""
        number = bisect_right(self._first_chunks, chunk_id) - 1
        if number < 0:
            return None
        file = self.files[number]
        return file if chunk_id < file.first_chunk + file.place_count else None

    def _path_impact(self, handle: Handle, word: str) -> Impact:
        impact = self._paths.get(word)
        if impact is None:
            found = fulltext.read_path_scores(handle, word)
            known = [
                (self._path_numbers[id_], score)
                for id_, score in found
                if id_ in self._path_numbers
            ]
            impact = impact_of([n for n, _ in known], [s for _, s in known], len(self._by_path))
            self._paths.put(word, impact, impact.size_bytes)
        return impact


def read_branch_index(handle: Handle, branch_id: int) -> BranchIndex:
    """Read a branch."""
    return BranchIndex(files.read_seen_files(handle, branch_id))


def _by_path_worth(file: IndexedFile) -> tuple[float, bytes]:
    return -path_worth(file.path, is_generated=file.is_generated), os.fsencode(file.path)


def _by_chunk(file: SeenFile) -> int:
    return file.first_chunk
