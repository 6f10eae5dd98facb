"""Are the stored texts what was stored? Each blob by its hash, each chunk by its own.

Do the keyword indexes hold the words of the texts and of the paths?

Which rows there are is compared for all. Whether a row holds the words it should is asked of a
sample, evenly spread: to ask for all would take as long as to index them anew.

What is around an index: jobs that nobody runs, and beginnings of copies of it.
"""

import glob
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b, sha256
from pathlib import Path

from engine.config import Config
from engine.doctor.findings import MOST_PLACES, Trouble
from engine.errors import Cancelled, IndexCorruptError, UnavailableError
from engine.indexing.backfill import passages_of
from engine.indexing.batch import path_terms_of
from engine.locks import held_lock, is_alive
from engine.records import display_path
from engine.state_records import FindingCode
from engine.store import checks, jobs
from engine.store.blobs import read_pieces
from engine.store.checks import BlobText, ChunkSpan
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store

#: Blobs in one snapshot: some 100 ms, so that a verification holds up no checkpoint.
_TEXTS_AT_ONCE = 200
_HASH_BYTES = 16  # of a chunk's hash

#: Hears how many blobs are done.
Tell = Callable[[int], None]


def damaged_blobs(store: Store, cancelled: Callable[[], bool], tell: Tell) -> Iterator[int]:
    """Give the blobs whose text, or whose chunks, are not what was stored.

    Raises:
        Cancelled: ``cancelled`` said so.
    """
    after = done = 0
    while True:
        with store.read() as handle, checks.stoppable(handle, cancelled):
            blobs = checks.read_blob_texts(handle, after, _TEXTS_AT_ONCE)
            if not blobs:
                return
            spans = checks.read_spans(handle, after + 1, blobs[-1].id)
        for blob in blobs:
            if not _is_sound(blob, spans.get(blob.id, [])):
                yield blob.id
        after = blobs[-1].id
        done += len(blobs)
        tell(done)


def _is_sound(blob: BlobText, spans: list[ChunkSpan]) -> bool:
    if blob.packed is None:
        return False
    try:
        text = unpack_text(blob.packed)
    except IndexCorruptError:
        return False
    if len(text) != blob.size_bytes or sha256(text).digest() != blob.text_hash:
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


_SAMPLE = 200
_WORDS_AT_ONCE = 50


def word_troubles(store: Store, cancelled: Callable[[], bool]) -> Iterator[Trouble]:
    """Give what is wrong with the words of chunks."""
    with store.read() as handle, checks.stoppable(handle, cancelled):
        lost, missing = checks.read_lost_words(handle), checks.read_wordless(handle)
        sample = checks.read_sample(handle, "chunks", _SAMPLE)
        places = _places(handle, missing)
    if lost:
        message = f"Found words of {len(lost):,} chunks that are gone"
        yield Trouble(FindingCode.WORDS_LOST, message, len(lost), tuple(lost))
    if missing:
        message = f"Found {len(missing):,} chunks that cannot be found by their words"
        yield Trouble(FindingCode.WORDS_MISSING, message, len(missing), tuple(missing), (), places)
    wrong = _with_other_words(store, sorted(set(sample) - set(missing)), cancelled)
    if wrong:
        with store.read() as handle:
            places = _places(handle, wrong)
        message = (
            f"Found {len(wrong):,} of {len(sample):,} chunks, a sample, that are not found by all"
            " of their words"
        )
        yield Trouble(FindingCode.WORDS, message, len(wrong), tuple(wrong), (), places)


def path_troubles(store: Store, cancelled: Callable[[], bool]) -> Iterator[Trouble]:
    """Give what is wrong with the words of paths."""
    with store.read() as handle, checks.stoppable(handle, cancelled):
        lost, missing = checks.read_lost_paths(handle), checks.read_pathless(handle)
        sample = checks.read_sample(handle, "files", _SAMPLE)
        paths = checks.read_paths(handle, sample + missing[:MOST_PLACES])
        wrong = [
            file_id
            for file_id in sorted(set(sample) - set(missing))
            if not checks.has_path_words(handle, file_id, path_terms_of(paths[file_id]))
        ]
    for code, ids, message in (
        (FindingCode.PATHS_LOST, lost, "Found paths of {} files that are gone"),
        (FindingCode.PATHS_MISSING, missing, "Found {} files that cannot be found by their path"),
        (FindingCode.PATHS, wrong, "Found {} files that are not found by all words of their path"),
    ):
        if ids:
            places = tuple(display_path(paths[id_]) for id_ in ids[:MOST_PLACES] if id_ in paths)
            yield Trouble(code, message.format(f"{len(ids):,}"), len(ids), tuple(ids), (), places)


def _with_other_words(
    store: Store, chunk_ids: Sequence[int], cancelled: Callable[[], bool]
) -> list[int]:
    """Give those of some chunks that do not find themselves by their words.

    A chunk whose text is damaged has none that could be asked for, and is left out.
    """
    wrong: list[int] = []
    for start in range(0, len(chunk_ids), _WORDS_AT_ONCE):
        if cancelled():
            raise Cancelled("nothing was changed")
        with store.read() as handle, checks.stoppable(handle, cancelled):
            wrong += [
                chunk_id
                for chunk_id, words in words_of(handle, chunk_ids[start : start + _WORDS_AT_ONCE])
                if not checks.has_words(handle, chunk_id, words)
            ]
    return wrong


def words_of(
    handle: Handle, chunk_ids: Sequence[int]
) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Give the words of chunks as they should be stored; chunks that are gone are left out."""
    pieces = read_pieces(handle, chunk_ids)
    for piece in pieces:
        try:
            [passage] = passages_of(handle, [piece])
        except (IndexCorruptError, UnicodeDecodeError):
            continue
        yield piece.chunk_id, passage[1:]


def _places(handle: Handle, chunk_ids: Sequence[int]) -> tuple[str, ...]:
    found = checks.read_paths_of_chunks(handle, chunk_ids[:MOST_PLACES], MOST_PLACES)
    return tuple(map(display_path, found))


def waiting_job(store: Store, config: Config) -> str | None:
    """Give the id of the job that is active while no process runs jobs."""
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None:
        return None
    try:
        with held_lock(config.data_dir / "runner.lock") as holder:
            return row.uuid if holder is None else None
    except UnavailableError:  # a data directory that cannot be written
        return None


def delete_parts(target: Path) -> None:
    """Delete the beginnings of a copy whose processes have died."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and not is_alive(int(number)):
            with suppress(OSError):
                path.unlink()
