"""A branch in the memory of a process: its files, and the BM25 scores of words in its places.

Several branches that are searched together are like one here. Nothing depends on a query, and all
of it holds for one state of the index only. A place is a chunk of a file that is shown; places are
numbered from 0, those of a file consecutively and in order, also those that stay hidden because
another version of the file has them too.

It imports numpy, and is therefore imported only by a process that answers several queries.
"""

import copy
import os
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.cache import LruCache
from engine.records import FileStat
from engine.search.features import RankedFile, path_worth
from engine.search.postings import WordScores, numbers_in
from engine.search.traits import ToldPaths, Traits
from engine.store import blobs, chunks, files, fulltext, history
from engine.store.chunks import Span
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.files import SeenFile
from engine.store.filters import Filters
from engine.syntax.languages import DOCUMENT_LANGUAGES

# Memory for the scores of words: more than 1,000 words of a branch of 240,000 places.
_MIN_WORD_BYTES = 16 << 20
_WORD_BYTES_PER_PLACE = 512
_MAX_WORD_BYTES = 128 << 20
_PATH_BYTES = 8 << 20
_TEXT_BYTES = 16 << 20
_SPANS_BYTES = 4 << 20
_PARTS_BYTES = 16 << 20
_COLUMNS_BYTES = 8 << 20
_FEW_CHUNKS = 20_000  # of a word whose columns are read for all of them
_NUMBERS_BYTES = 64  # of memory per file, and per chunk of which branches are known
_FILE_BYTES = 1024  # per file that was a candidate, with its path and its ranking properties
_IDENTITY_BYTES = 384  # per file that was found
_SPAN_BYTES = 1024  # of memory per chunk, with its symbol
_WORD_BYTES = 512  # of memory per word whose columns are known
_PART_BYTES = 2048  # of memory per part, without its numbers and the values of its filters

Numbers = NDArray[np.int64]


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
        file_ids: Of all files of the branch that have chunks, in the order of their paths.
        blob_ids: Of these files.
        shown: The numbers of the files that are shown, in the order of their chunks: of those with
            equal contents one.
        chunk_places: The places of their chunks.
        path_count: The number of files of all branches.
    """

    def __init__(
        self,
        file_ids: Numbers,
        blob_ids: Numbers,
        shown: Numbers,
        chunk_places: "ChunkPlaces",
        path_count: int,
    ) -> None:
        #: Of each file that has chunks, in the order of paths.
        self.all_file_ids, self._all_blob_ids = file_ids, blob_ids
        #: Of these, the numbers of those that are shown, in the order of their places.
        self.shown = shown
        #: Of each file that is shown.
        self.file_ids, self.blob_ids = file_ids[shown], blob_ids[shown]
        self.chunks = chunk_places
        self.count = chunk_places.count
        # Files with equal contents share their places.
        by_blob = np.argsort(self.blob_ids)
        self._file_of_path = by_blob[np.searchsorted(self.blob_ids[by_blob], blob_ids)]
        #: Of chunks whose file differs between several searched branches, those that have them.
        self.branches_of_chunks: Mapping[int, frozenset[int]] = {}
        self._files: dict[int, IndexedFile] = {}  # by id, once they were candidates
        self._folders: dict[str, tuple[str, ...]] = {}
        self._identities: dict[int, tuple[FileStat, bytes]] = {}
        self._ranked_texts: list[int] | None = None
        self._words = WordScores(
            self.chunks,
            self.count,
            min(max(_MIN_WORD_BYTES, _WORD_BYTES_PER_PLACE * self.count), _MAX_WORD_BYTES),
        )
        self.path_places = PathPlaces(file_ids, path_count)
        self._paths = WordScores(self.path_places, len(file_ids), _PATH_BYTES)
        self._spans: LruCache[int, Span] = LruCache(_SPANS_BYTES)
        self._texts: LruCache[int, bytes] = LruCache(_TEXT_BYTES)
        self.parts: LruCache[Hashable, BranchIndex] = LruCache(_PARTS_BYTES)
        self._columns: LruCache[str, Numbers] = LruCache(_COLUMNS_BYTES)
        self.traits: Traits | None = None
        #: What is known of paths, also from another state.
        self.told_paths = ToldPaths()

    @property
    def size_bytes(self) -> int:
        """The approximate memory of all of it."""
        traits = self.traits
        read = self._words.size_bytes + self._paths.size_bytes + self._spans.size_bytes
        read += self.parts.size_bytes + self._columns.size_bytes
        own = _NUMBERS_BYTES * len(self.file_ids) + _FILE_BYTES * len(self._files)
        own += _NUMBERS_BYTES * len(self.branches_of_chunks)
        own += _IDENTITY_BYTES * len(self._identities)
        return own + read + self._texts.size_bytes + (traits.size_bytes if traits else 0)

    def part(self, handle: Handle, filters: Filters) -> "BranchIndex":
        """Return this branch with only those of its files that pass; the latest are cached.

        What is read for the part is kept for all of it.

        Args:
            handle: A read transaction on the state of this branch index.
            filters: That pass a file with all that is shown of it, or with nothing.
        """
        key = filters.files_key
        part = self.parts.get(key) if key else None
        if part is None:
            part = self._part_of(handle, self._passing(handle, filters))
            if key:
                numbers = 2 * part.count + _NUMBERS_BYTES * len(part.file_ids)
                values = sum(map(sys.getsizeof, filters.values.values()))
                self.parts.put(key, part, numbers + values + _PART_BYTES)
        return part

    def _passing(self, handle: Handle, filters: Filters) -> NDArray[np.bool_]:
        """Return of each file that has chunks whether it passes."""
        rule = filters.by_traits
        if rule is None:
            passing = numbers_in(files.read_passing_files(handle, filters))
            return np.isin(self.all_file_ids, passing)
        if self.traits is None:
            self.traits = Traits.read(handle, filters, self.all_file_ids, self.told_paths)
        return self.traits.passing(rule)

    def _part_of(self, handle: Handle, passes: NDArray[np.bool_]) -> "BranchIndex":
        is_in = np.zeros(len(self.file_ids), np.bool_)
        is_in[self._file_of_path[passes]] = True
        # Of a file that does not pass, a copy may.
        others = np.flatnonzero(passes & (is_in & ~passes[self.shown])[self._file_of_path])
        part = copy.copy(self)
        part.parts = LruCache(0)  # else it would hold itself, and outlive the state
        if len(others):
            stand_ins = others[
                _shown(handle, self.all_file_ids[others], self._all_blob_ids[others])
            ]
            part.shown = self.shown.copy()
            part.shown[self._file_of_path[stand_ins]] = stand_ins
            part.file_ids = self.all_file_ids[part.shown]
        part.chunks = self.chunks.part(part.shown, is_in)
        part.path_places = self.path_places.part(passes)
        return part

    def best_places(
        self, handle: Handle, words: Sequence[str], number: int, also: Sequence[int] = ()
    ) -> tuple[list[int], list[float]]:
        """Return the places with the best BM25 scores, in order, and the scores.

        Args:
            handle: A read transaction on the state of this branch index.
            words: Quoted words or phrases, any of which may match.
            number: How many places at most.
            also: Places whose scores will be asked for next.
        """
        return self._words.best(handle, words, number, also, self.chunks)

    def scores_at(self, handle: Handle, words: Sequence[str], places: Sequence[int]) -> list[float]:
        """Return the BM25 score of the words in each of the given places."""
        return self._words.totals_at(handle, words, places)

    def word_scores_at(
        self, handle: Handle, words: Sequence[str], places: Sequence[int]
    ) -> list[list[float]]:
        """Return, for each word alone, its BM25 score in each of the given places."""
        return self._words.columns_at(handle, words, places)

    def count_chunks_with(self, handle: Handle, word: str) -> int:
        """Return the number of chunks, of all branches, with a quoted word or phrase."""
        return self._words.count_rows(handle, word)

    def columns_with(
        self, handle: Handle, word: str, chunk_ids: Sequence[int]
    ) -> dict[int, tuple[str, ...]]:
        """Return, of each chunk with a quoted word or phrase, the columns that have it.

        To read where a common word is takes longer than to look these chunks up.
        """
        number = self.count_chunks_with(handle, word)
        if number > _FEW_CHUNKS:
            return fulltext.columns_with(handle, word, chunk_ids, number)
        found: dict[int, tuple[str, ...]] = {}
        wanted = np.array(chunk_ids, np.int64)
        for column, match in fulltext.matches_of_columns(word):
            rows = self._columns.get(match)
            if rows is None:
                rows = numbers_in(fulltext.read_ids(handle, fulltext.CHUNK_WORDS, match))
                self._columns.put(match, rows, rows.nbytes + _WORD_BYTES)
            has_it = np.append(rows, -1)[rows.searchsorted(wanted)] == wanted
            for chunk_id in wanted[has_it].tolist():
                found[chunk_id] = (*found.get(chunk_id, ()), column)
        return found

    def best_place_of_each(
        self, handle: Handle, words: Sequence[str], chosen: Sequence[IndexedFile]
    ) -> dict[int, float]:
        """Return the best-scoring place of each file; its first place when no word matches."""
        if not chosen:
            return {}
        of_files = [self.chunks.visible(file.places) for file in chosen]
        scores = iter(self.scores_at(handle, words, list(chain(*of_files))))
        best = {}
        for places in of_files:
            inside = list(islice(scores, len(places)))
            if inside:
                score = max(inside)
                best[places[inside.index(score)]] = score
        return best

    def best_paths(self, handle: Handle, words: Sequence[str], number: int) -> list[IndexedFile]:
        """Return the files whose paths have the best BM25 scores."""
        paths, _ = self._paths.best(handle, words, number, chosen=self.path_places)
        return self._files_of(handle, self._file_of_path[paths].tolist())

    def ranked_texts(self, handle: Handle) -> list[int]:
        """Return the blob ids of the files, best path first, as pattern matches are ranked."""
        if self._ranked_texts is None:
            ids = self.file_ids.tolist()
            read = files.read_shown_files(handle, ids)
            worth = sorted(
                (-path_worth(os.fsdecode(read[id_][0]), is_generated=read[id_][2]), read[id_], blob)
                for id_, blob in zip(ids, self.blob_ids.tolist(), strict=True)
            )
            self._ranked_texts = [blob_id for _, _, blob_id in worth]
        return self._ranked_texts

    def files_at(self, handle: Handle, places: Iterable[int]) -> list[IndexedFile]:
        """Return the file of each place."""
        at = np.array(list(places), np.int64)
        return self._files_of(handle, self.chunks.files_of(at).tolist())

    def place_of(self, chunk_id: int) -> int | None:
        """Return the place of a chunk, or None when no file of the branch shows it."""
        place = int(self.chunks.places_of(np.array([chunk_id]))[0])
        return None if place < 0 else place

    def places_by_path(self, chunk_ids: Iterable[int]) -> dict[int, int]:
        """Return the places of the chunks that a file of the branch shows, in path order."""
        places = self.chunks.places_of(np.array(list(chunk_ids), np.int64))
        shown = self.chunks.in_order(np.sort(places[places >= 0]))
        return dict(zip(self.chunks.ids_of(shown).tolist(), shown.tolist(), strict=True))

    def _files_of(self, handle: Handle, numbers: Sequence[int]) -> list[IndexedFile]:
        ids = self.file_ids[numbers].tolist()
        unread = {id_: at for id_, at in zip(ids, numbers, strict=True) if id_ not in self._files}
        if unread:
            read = files.read_shown_files(handle, list(unread))
            for file_id, number in unread.items():
                path, language, is_generated = read[file_id]
                seen = SeenFile(
                    file_id,
                    int(self.blob_ids[number]),
                    os.fsdecode(path),
                    language,
                    is_generated,
                    int(self.chunks.first_chunks[number]),
                    int(self.chunks.counts[number]),
                )
                made = IndexedFile(seen, int(self.chunks.first_places[number]), self._folders)
                self._files.setdefault(file_id, made)
        return list(map(self._files.__getitem__, ids))

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


class ChunkPlaces:
    """The places of chunks, which are rows of the keyword index of texts; see ``PostingsSource``.

    Args:
        first_chunks: Of each file that is shown, rising.
        counts: Of the chunks of each; their ids have no gap.
        order: Of each, a number by which files come in the order of their paths.
        rows: The number of all chunks.
        hidden: Chunks of these files that stay hidden.
    """

    table = fulltext.CHUNK_WORDS

    def __init__(
        self,
        first_chunks: Numbers,
        counts: Numbers,
        order: Numbers,
        rows: int,
        hidden: Collection[int] = (),
    ) -> None:
        self.first_chunks, self.counts, self.order = first_chunks, counts, order
        self.first_places = np.cumsum(counts) - counts
        self.count = int(counts.sum())
        self.rows = rows
        #: Of each place, whether it is no hidden one; None if none is hidden.
        self.is_visible: NDArray[np.bool_] | None = None
        if hidden:
            places = self.places_of(np.array(sorted(hidden), np.int64))
            self.is_visible = np.ones(self.count, np.bool_)
            self.is_visible[places[places >= 0]] = False

    def part(self, order: Numbers, is_in: NDArray[np.bool_]) -> "ChunkPlaces":
        """Return the same places, of which only those of some files are visible.

        Args:
            order: As of all files.
            is_in: Of each file, whether its places may be found.
        """
        part = copy.copy(self)
        part.order = order
        part.is_visible = np.repeat(is_in, self.counts)
        if self.is_visible is not None:
            part.is_visible &= self.is_visible
        return part

    def visible(self, places: range) -> Sequence[int]:
        """Return those of some places that are not hidden."""
        if self.is_visible is None:
            return places
        found: list[int] = (
            np.flatnonzero(self.is_visible[places.start : places.stop]) + places.start
        ).tolist()
        return found

    def places_of(self, ids: Numbers) -> Numbers:
        """Return the place of each chunk, -1 when no file shows it."""
        if not self.count:
            return np.full(len(ids), -1)
        numbers = np.maximum(np.searchsorted(self.first_chunks, ids, "right") - 1, 0)
        inside = ids - self.first_chunks[numbers]
        is_shown = (inside >= 0) & (inside < self.counts[numbers])
        places = np.where(is_shown, inside + self.first_places[numbers], -1)
        if self.is_visible is not None:
            places[~self.is_visible[places]] = -1  # those of -1 stay
        return places

    def ids_of(self, places: NDArray[np.integer[Any]]) -> Numbers:
        """Return the chunk at each place."""
        numbers = self.files_of(places)
        ids: Numbers = self.first_chunks[numbers] + places - self.first_places[numbers]
        return ids

    def files_of(self, places: NDArray[np.integer[Any]]) -> Numbers:
        """Return the number of the file of each place."""
        return np.searchsorted(self.first_places, places, "right") - 1

    def in_order(self, places: Numbers) -> Numbers:
        """Return rising places in the order of the paths of their files."""
        return places[np.argsort(self.order[self.files_of(places)], kind="stable")]


class PathPlaces:
    """Files as rows of the keyword index of paths; see ``PostingsSource``.

    Args:
        file_ids: By their order paths are numbered.
        rows: The number of files of all branches.
    """

    table = fulltext.PATH_WORDS

    def __init__(self, file_ids: Numbers, rows: int) -> None:
        self.rows = rows
        #: Of each path, whether it may be found; None if all may.
        self.is_visible: NDArray[np.bool_] | None = None
        self._file_ids = file_ids
        self._places = np.append(np.argsort(file_ids), -1)
        self._rising = np.append(file_ids[self._places[:-1]], -1)

    def part(self, passes: NDArray[np.bool_]) -> "PathPlaces":
        """Return the same paths, of which only some may be found."""
        part = copy.copy(self)
        part.is_visible = passes
        return part

    def places_of(self, ids: Numbers) -> Numbers:
        """Return the number of the path of each file, -1 for none."""
        at = np.searchsorted(self._rising[:-1], ids)
        return np.where(self._rising[at] == ids, self._places[at], -1)

    def ids_of(self, places: NDArray[np.integer[Any]]) -> Numbers:
        """Return the file of each path."""
        ids: Numbers = self._file_ids[places]
        return ids

    def in_order(self, places: Numbers) -> Numbers:
        """Return rising places, which are numbered in the order of paths, as they are."""
        return places


class CommitPlaces(PathPlaces):
    """Commits as rows of the keyword index of history; see ``PostingsSource``."""

    table = history.COMMIT_WORDS


def read_branch_index(
    handle: Handle, filters: Filters, hidden: Collection[int] = ()
) -> BranchIndex:
    """Read a branch, or several.

    Args:
        handle: A read transaction.
        filters: Only these choose the branches.
        hidden: Chunks that an earlier or a refused branch has too.
    """
    file_ids, blob_ids = map(numbers_in, files.read_blobs_of_files(handle, filters))
    with_chunks, first_chunks, counts = map(numbers_in, chunks.read_ranges(handle))
    at = np.searchsorted(with_chunks, blob_ids)
    has_chunks = np.append(with_chunks, -1)[at] == blob_ids
    file_ids, blob_ids, at = file_ids[has_chunks], blob_ids[has_chunks], at[has_chunks]
    shown = _shown(handle, file_ids, blob_ids)
    shown = shown[np.argsort(first_chunks[at[shown]])]
    begins, numbers = first_chunks[at[shown]], counts[at[shown]]
    of_shown = ChunkPlaces(begins, numbers, shown, int(counts.sum()), hidden)
    return BranchIndex(file_ids, blob_ids, shown, of_shown, files.count_all(handle))


def _shown(handle: Handle, file_ids: Numbers, blob_ids: Numbers) -> Numbers:
    """Return the files that stand for their blobs, chosen as ``Filters.shown_file`` does."""
    order = np.argsort(blob_ids, kind="stable")
    begins = np.flatnonzero(np.diff(blob_ids[order], prepend=-1))
    ends = np.append(begins[1:], len(order))
    shown: Numbers = order[begins]
    several = np.flatnonzero(ends - begins > 1).tolist()
    same = [order[begins[at] : ends[at]].tolist() for at in several]
    ranks = files.rank_copies(handle, file_ids[list(chain(*same))].tolist())
    for at, numbers in zip(several, same, strict=True):
        shown[at] = min(numbers, key=lambda number: ranks[int(file_ids[number])])
    return shown
