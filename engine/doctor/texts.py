"""Checks of stored texts, their symbols, and the keyword indexes.

A text must match its hash and agree with its chunks and symbols. The rows of a keyword index are
compared in full; the words of a row only for an evenly spread sample, because checking all would
take as long as indexing them again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b, sha256

from engine.doctor.check import MOST_PLACES, Check, Context, Problem
from engine.doctor.memories import beginnings_of_memories, words_of_memories
from engine.doctor_records import FindingCode
from engine.errors import EngineError, IndexCorruptError
from engine.faults import fault_point
from engine.humanize import count
from engine.indexing.scope import fingerprint
from engine.indexing.vectors import passages_of
from engine.record_class import record
from engine.records import display_path
from engine.store import checks, fulltext, memories, repair, text_checks
from engine.store.blobs import read_pieces
from engine.store.checks import BlobText, ChunkSpan, KeywordIndex
from engine.store.compression import unpack_hashes, unpack_marks, unpack_text
from engine.store.connection import Handle
from engine.syntax.references import has_names, names_of, offset_of
from engine.syntax.terms import path_terms_of

#: Blobs in one snapshot: some 100 ms, so that a verification holds up no checkpoint.
_TEXTS_AT_ONCE = 200
_NAMES_AT_ONCE = 20_000
_HASH_BYTES = 16  # of a chunk's hash

_SAMPLE = 200
_AT_ONCE = 20  # rows in one snapshot; a memory has up to 1 MiB of text


def _find_texts(context: Context) -> Iterator[Problem]:
    """Find blobs whose text, or whose chunks, are not what was stored."""
    found = sorted({*_damaged_blobs(context), *_blobs_with_unreadable_names(context)})
    context.damaged_blobs.update(found)
    if found:
        message = f"Found {count(len(found), 'text')} that differ from what was stored"
        yield _of_blobs(context, FindingCode.TEXTS, message, found)


def _damaged_blobs(context: Context) -> Iterator[int]:
    """Compare each blob with its hash, and each of its chunks with its own."""
    with context.reading() as handle:
        total = checks.count_rows(handle, ["blobs"])["blobs"]
    after = done = 0
    while True:
        with context.reading() as handle:
            blobs = checks.read_blob_texts(handle, after, _TEXTS_AT_ONCE)
            if not blobs:
                return
            spans = checks.read_spans(handle, after + 1, blobs[-1].id)
        for blob in blobs:
            if not _is_sound(blob, spans.get(blob.id, [])):
                yield blob.id
        after = blobs[-1].id
        done += len(blobs)
        context.report("texts", done, total)


def _blobs_with_unreadable_names(context: Context) -> Iterator[int]:
    """Find blobs with a language, or with a name or comment of a symbol, that is no text."""
    for table, blob_id in (("blobs", "id"), ("symbols", "blob_id")):
        after = 0
        while True:
            with context.reading() as handle:
                rows = text_checks.read_row_texts(handle, table, blob_id, after, _NAMES_AT_ONCE)
            if not rows:
                break
            yield from (row.owner for row in rows if not row.is_readable)
            after = rows[-1].rowid


def _is_sound(blob: BlobText, spans: list[ChunkSpan]) -> bool:
    if blob.packed is None:
        return False
    try:
        text = unpack_text(blob.packed)
        marks = [] if blob.marks is None else unpack_marks(blob.marks)
        names = b"" if blob.names is None else unpack_hashes(blob.names)
    except IndexCorruptError:
        return False
    if len(text) != blob.size_bytes or sha256(text).digest() != blob.text_hash:
        return False
    if marks and offset_of(marks[-1]) > len(text):
        return False
    if names and not has_names(marks):
        return False
    # A mark need not be on a name: bash calls ./run.sh, and Scala `a name`. Names may be missing
    # that an earlier program did not store: the next run reads its files again.
    has_lost = marks and not names and blob.fingerprint == fingerprint()
    if has_lost and names_of(marks, text, blob.language):
        return False
    at, line = 0, 1
    for span in spans:
        piece = text[at : span.byte_end]
        if span.byte_start != at or span.line_start != line:
            return False
        if blake2b(piece, digest_size=_HASH_BYTES).digest() != span.hash:
            return False
        at = span.byte_end
        line += piece.count(b"\n")
    return at == len(text)


def _find_symbols(context: Context) -> Iterator[Problem]:
    """Find blobs whose symbols and chunks do not agree."""
    with context.reading() as handle:
        blobs = checks.read_blobs_with_wrong_symbols(handle)
    context.damaged_blobs.update(blobs)
    if blobs:
        message = f"Found {count(len(blobs), 'text')} whose symbols do not match their chunks"
        yield _of_blobs(context, FindingCode.SYMBOLS, message, blobs)


def _of_blobs(context: Context, code: FindingCode, message: str, ids: list[int]) -> Problem:
    paths: list[str] = []
    with suppress(EngineError), context.store.read() as handle:
        paths = checks.read_paths_of_blobs(handle, ids, MOST_PLACES)
    return Problem(code, message, len(ids), ids, places=tuple(map(display_path, paths)))


def _empty_blobs(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        for ids in context.batches(problem.ids):
            with context.store.write(durable=True) as handle:
                repair.empty_blobs(handle, ids)
        texts = count(problem.number, "damaged text")
        yield f"Removed {texts}; the next run reads the files again"


TEXTS = Check(name="texts", find=_find_texts, fixes={FindingCode.TEXTS: _empty_blobs})
SYMBOLS = Check(name="symbols", find=_find_symbols, fixes={FindingCode.SYMBOLS: _empty_blobs})


#: Yields rows with the texts that the columns should hold; missing rows are left out.
_Words = Callable[[Handle, Sequence[int]], Iterable[tuple[int, Sequence[str]]]]


@record
class _Keywords:
    """One keyword index: how it is checked, repaired and described."""

    index: KeywordIndex
    wrong: FindingCode
    missing: FindingCode
    orphaned: FindingCode
    says_wrong: str
    says_missing: str
    emptied: str  # what was
    called: str = "words"
    rewritten: str  # whose words were
    words_of: _Words
    places_of: Callable[[Handle, Sequence[int]], Iterable[str]]
    write: Callable[[Context, Sequence[int]], None]  # the words of rows that lack them
    damaged: Callable[[Context, Handle], Collection[int]] = lambda *_: ()  # rows, known by now
    is_precious: bool = False  # its owners cannot be made again

    def check(self, name: str) -> Check:
        """Return the check of this index."""
        return Check(
            name=name,
            find=self._find,
            fixes={self.wrong: self._empty},
            settle=self._settle,
            unreadable=self.wrong,
        )

    def _find(self, context: Context) -> Iterator[Problem]:
        """Find orphaned rows, rows without words, and rows with the wrong words."""
        with context.reading() as handle:
            orphaned = checks.read_orphaned_words(handle, self.index)
            missing = checks.read_owners_without_words(handle, self.index)
            sample = checks.read_sample(handle, self.index, _SAMPLE)
            damaged = self.damaged(context, handle)
        wrong = self._with_other_words(context, sorted({*sample} - {*missing, *damaged}))
        if orphaned:
            message = f"Found {self.called} of {len(orphaned):,} {self.index.owner} that are gone"
            yield Problem(self.orphaned, message, len(orphaned), orphaned)
        for code, ids, message in (
            (self.missing, missing, self.says_missing),
            (self.wrong, wrong, self.says_wrong),
        ):
            if ids:
                with context.reading() as handle:
                    places = tuple(self.places_of(handle, ids[:MOST_PLACES]))
                description = message.format(number=len(ids), sample=len(sample))
                yield Problem(code, description, len(ids), ids, places=places)

    def _with_other_words(self, context: Context, ids: Sequence[int]) -> list[int]:
        """Return those of some rows that are not found by their own words."""
        wrong: list[int] = []
        for start in range(0, len(ids), _AT_ONCE):
            with context.reading() as handle:
                wrong += [
                    row
                    for row, words in self.words_of(handle, ids[start : start + _AT_ONCE])
                    if not checks.has_words(handle, self.index, row, words)
                ]
        return wrong

    def _empty(self, context: Context, _problems: Sequence[Problem]) -> Iterator[str]:
        """Empty the index; ``_settle`` writes it again, a batch at a time."""
        with context.store.write(durable=True, bookkeeping=self.is_precious) as handle:
            repair.clear_words(handle, self.index)
        yield f"Emptied the index of {self.emptied}, to be written again"

    def _settle(self, context: Context, _problems: Sequence[Problem]) -> Iterator[str]:
        """Delete orphaned words, and write missing ones."""
        with context.store.read() as handle:
            orphaned = checks.read_orphaned_words(handle, self.index)
            missing = checks.read_owners_without_words(handle, self.index)
        number, is_precious = 0, self.is_precious
        for ids in context.batches(orphaned):
            with context.store.write(durable=is_precious, bookkeeping=is_precious) as handle:
                number += repair.delete_orphaned_words(handle, self.index, ids)
        if number:
            yield f"Deleted the {self.called} of {number:,} {self.index.owner} that are gone"
        for ids in context.batches(missing):
            self.write(context, ids)
        if missing:
            yield f"Wrote the words of {len(missing):,} {self.rewritten}"


def _words_of_chunks(
    handle: Handle, chunk_ids: Sequence[int]
) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Yield the words of chunks; one whose text is damaged has none."""
    for piece in read_pieces(handle, chunk_ids):
        try:
            [passage] = passages_of(handle, [piece])
        except (IndexCorruptError, UnicodeDecodeError):
            continue
        yield piece.chunk_id, passage[1:]


def _damaged_chunks(context: Context, handle: Handle) -> Collection[int]:
    """Return the chunks whose words cannot be told: their text is another one."""
    return checks.read_chunks_of_blobs(handle, context.damaged_blobs)


def _places_of_chunks(handle: Handle, chunk_ids: Sequence[int]) -> Iterable[str]:
    return map(display_path, checks.read_places_of_chunks(handle, chunk_ids))


def _write_words_of_chunks(context: Context, chunk_ids: Sequence[int]) -> None:
    with context.store.read() as handle:
        rows = [(chunk_id, *words) for chunk_id, words in _words_of_chunks(handle, chunk_ids)]
    with context.store.write() as handle:
        fulltext.insert_chunk_terms(handle, rows)
        fault_point("words mended")


def _words_of_paths(
    handle: Handle, file_ids: Sequence[int]
) -> Iterator[tuple[int, tuple[str, str]]]:
    for file_id, path in checks.read_paths(handle, file_ids).items():
        yield file_id, path_terms_of(path)


def _places_of_files(handle: Handle, file_ids: Sequence[int]) -> Iterable[str]:
    return map(display_path, checks.read_paths(handle, file_ids).values())


def _write_words_of_paths(context: Context, file_ids: Sequence[int]) -> None:
    with context.store.read() as handle:
        rows = [(file_id, *words) for file_id, words in _words_of_paths(handle, file_ids)]
    with context.store.write() as handle:
        fulltext.insert_path_terms(handle, rows)


def _summaries(handle: Handle, memory_ids: Sequence[int]) -> Iterable[str]:
    return memories.read_summaries(handle, memory_ids).values()


def _write_words_of_memories(context: Context, memory_ids: Sequence[int]) -> None:
    with context.store.read() as handle:
        words = list(words_of_memories(handle, memory_ids))
    with context.store.write(durable=True, bookkeeping=True) as handle:
        for row, terms in words:
            memories.insert_missing_words(handle, row, terms)


WORDS = _Keywords(
    index=checks.CHUNK_WORDS,
    wrong=FindingCode.WORDS,
    missing=FindingCode.WORDS_MISSING,
    orphaned=FindingCode.WORDS_LOST,
    says_wrong=(
        "Found {number:,} of {sample:,} chunks, a sample, that are not found by all of their words"
    ),
    says_missing="Found {number:,} chunks that cannot be found by their words",
    emptied="words",
    rewritten="chunks",
    words_of=_words_of_chunks,
    damaged=_damaged_chunks,
    places_of=_places_of_chunks,
    write=_write_words_of_chunks,
).check("words")
PATHS = _Keywords(
    index=checks.PATH_WORDS,
    wrong=FindingCode.PATHS,
    missing=FindingCode.PATHS_MISSING,
    orphaned=FindingCode.PATHS_LOST,
    says_wrong="Found {number:,} files that are not found by all words of their path",
    says_missing="Found {number:,} files that cannot be found by their path",
    called="paths",
    emptied="paths",
    rewritten="paths",
    words_of=_words_of_paths,
    places_of=_places_of_files,
    write=_write_words_of_paths,
).check("paths")
MEMORY_WORDS = _Keywords(
    index=checks.MEMORY_WORDS,
    wrong=FindingCode.MEMORY_WORDS,
    missing=FindingCode.MEMORY_WORDS_MISSING,
    orphaned=FindingCode.MEMORY_WORDS_LOST,
    says_wrong="Found {number:,} memories that are not found by all of their words",
    says_missing="Found {number:,} memories that cannot be found by their words",
    emptied="memories' words",
    rewritten="memories",
    words_of=beginnings_of_memories,
    places_of=_summaries,
    write=_write_words_of_memories,
    is_precious=True,
).check("words of memories")
