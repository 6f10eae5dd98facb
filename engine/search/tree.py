"""A branch as a warm process keeps it: its files, and what words are worth in it.

Nothing here depends on a question, and all of it holds for one state of the index only. Places are
numbered from 0 over the files that are shown, a file's own in a row and in order.
"""

import functools
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from engine.records import FileStat
from engine.search.impacts import Impact, best_places, impact_of, total_of
from engine.search.pathrules import path_worth
from engine.search.pathwords import PathVocabulary, RankedFile
from engine.search.recent import Recent
from engine.store import blobs, chunks, files, fulltext
from engine.store.chunks import Span
from engine.store.connection import Handle
from engine.store.files import SeenFile
from engine.syntax.languages import DOCUMENT_LANGUAGES
from engine.syntax.packing import unpack_text

# Of memory for what words are worth: some 400 common words of a tree of 10,000 to 120,000 places.
_LEAST_WORD_BYTES = 32 << 20
_WORD_BYTES_A_PLACE = 2048
_MOST_WORD_BYTES = 256 << 20
_PATH_BYTES = 4 << 20
_TEXT_BYTES = 16 << 20
_SPANS_BYTES = 4 << 20
_FILE_BYTES = 1024  # of memory a file, with its path and what ranking makes of it
_PLACE_BYTES = 8
_SPAN_BYTES = 1024  # of memory a chunk, with its symbol


class TreeFile(RankedFile):
    """A file with the places in it."""

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
        """The places in it, in order."""
        return range(self.first_place, self.first_place + self.place_count)

    def chunk_of(self, place: int) -> int:
        """Give the id of the chunk at a place of this file."""
        return self.first_chunk + place - self.first_place


class Tree:
    """What is kept of one branch in one state. For any number of threads.

    Args:
        seen: The files of the branch, of equal ones the shown one first.
    """

    def __init__(self, seen: Iterable[SeenFile]) -> None:
        all_files = list(seen)
        shown: dict[int, SeenFile] = {}
        for file in all_files:
            shown.setdefault(file.blob_id, file)
        folders: dict[str, tuple[str, ...]] = {}
        self.files: list[TreeFile] = []
        self.count = 0
        for file in sorted(shown.values(), key=_by_chunk):
            self.files.append(TreeFile(file, self.count, folders))
            self.count += file.chunk_count
        self._numbers = array("I")  # of the file, by place
        for number, each in enumerate(self.files):
            self._numbers.extend(array("I", [number]) * each.place_count)
        self._first_chunks = [file.first_chunk for file in self.files]
        by_blob = {file.blob_id: file for file in self.files}
        all_files.sort()
        # Paths have numbers of their own, in the order of file ids; equal files share their places.
        self._path_numbers = {file.file_id: number for number, file in enumerate(all_files)}
        self._by_path = [by_blob[file.blob_id] for file in all_files]
        self._identities: dict[int, tuple[FileStat, bytes]] = {}
        self.vocabulary = PathVocabulary(self.files)
        self._words: Recent[str, Impact] = Recent(
            min(max(_LEAST_WORD_BYTES, _WORD_BYTES_A_PLACE * self.count), _MOST_WORD_BYTES)
        )
        self._paths: Recent[str, Impact] = Recent(_PATH_BYTES)
        self._spans: Recent[int, Span] = Recent(_SPANS_BYTES)
        self._texts: Recent[int, bytes] = Recent(_TEXT_BYTES)

    @property
    def size_bytes(self) -> int:
        """What all of it takes, more or less."""
        read = self._words.size_bytes + self._paths.size_bytes + self._spans.size_bytes
        own = _FILE_BYTES * len(self.files) + _PLACE_BYTES * self.count
        return own + read + self._texts.size_bytes

    def best_places(
        self, handle: Handle, words: Sequence[str], number: int
    ) -> tuple[list[int], list[float]]:
        """Give the places where words have the best BM25 score, in order, and the scores.

        Args:
            handle: A read transaction on the state that this tree is of.
            words: Quoted words or phrases, any of which may match.
            number: How many at most.
        """
        return best_places([self._impact(handle, word) for word in words], number)

    def scores_at(self, handle: Handle, words: Sequence[str], places: Sequence[int]) -> list[float]:
        """Give the BM25 score that words have in each of some places."""
        return total_of([self._impact(handle, word) for word in words], places)

    def word_scores_at(
        self, handle: Handle, words: Sequence[str], places: Sequence[int]
    ) -> list[list[float]]:
        """Give, for each word alone, the BM25 score that it has in each of some places."""
        return [self.scores_at(handle, [word], places) for word in words]

    def is_in_few(self, handle: Handle, word: str, few: int) -> bool:
        """Say whether so many places have a quoted word or phrase, or fewer; a common one is not.

        It costs nothing more than to score the word, which comes next.
        """
        impact = self._impact(handle, word)
        return not impact.common and len(impact.rare) <= few

    def best_place_of_each(
        self, handle: Handle, words: Sequence[str], chosen: Sequence[TreeFile]
    ) -> dict[int, float]:
        """Give the place of each file where words have the best score; its first when none do."""
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

    def best_paths(self, handle: Handle, words: Sequence[str], number: int) -> list[TreeFile]:
        """Give the files whose paths have the best BM25 score for words."""
        impacts = [self._path_impact(handle, word) for word in words]
        return [self._by_path[number] for number in best_places(impacts, number)[0]]

    @functools.cached_property
    def ranked_texts(self) -> list[int]:
        """The blob ids of the files, best path first, as places of patterns are ranked."""
        return [file.blob_id for file in sorted(self.files, key=_by_worth)]

    def files_at(self, places: Iterable[int]) -> list[TreeFile]:
        """Give the file of each place."""
        return list(map(self.files.__getitem__, map(self._numbers.__getitem__, places)))

    def place_of(self, chunk_id: int) -> int | None:
        """Give the place of a chunk; None when no file of the branch shows it."""
        file = self._file_with(chunk_id)
        return file.first_place + chunk_id - file.first_chunk if file else None

    def spans(self, handle: Handle, chunk_ids: Sequence[int]) -> dict[int, Span]:
        """Give where chunks are in their text, each with the symbol that it belongs to."""
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
        """Give, for each file, its stat and the SHA-256 of its content when it was read."""
        missing = [file_id for file_id in file_ids if file_id not in self._identities]
        if missing:
            self._identities.update(files.read_identities(handle, missing))
        return {file_id: self._identities[file_id] for file_id in file_ids}

    def text(self, handle: Handle, blob_id: int) -> bytes:
        """Give the text of a blob."""
        text = self._texts.get(blob_id)
        if text is None:
            packed = blobs.read_text(handle, blob_id)
            text = unpack_text(packed) if packed else b""
            self._texts.put(blob_id, text, len(text))
        return text

    def _impact(self, handle: Handle, word: str) -> Impact:
        impact = self._words.get(word)
        if impact is None:
            places, scores = self._placed(fulltext.read_word_scores(handle, word))
            impact = impact_of(places, scores, self.count)
            self._words.put(word, impact, impact.size_bytes)
        return impact

    def _placed(self, found: Iterable[tuple[int, float]]) -> tuple[list[int], list[float]]:
        """Turn chunk ids, in order, into places; chunks that are not shown are left out."""
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

    def _file_with(self, chunk_id: int) -> TreeFile | None:
        """Give the file that shows a chunk."""
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


def tree_of(handle: Handle, branch_id: int) -> Tree:
    """Read a branch."""
    return Tree(files.read_seen_files(handle, branch_id))


def _by_worth(file: TreeFile) -> tuple[float, bytes]:
    return -path_worth(file.path, is_generated=file.is_generated), os.fsencode(file.path)


def _by_chunk(file: SeenFile) -> int:
    return file.first_chunk
