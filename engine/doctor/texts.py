"""Checks of stored texts and of their symbols: are they what was stored, and do they agree?"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b, sha256

from engine.doctor.check import MOST_PLACES, Check, Context, Trouble
from engine.errors import EngineError, IndexCorruptError
from engine.records import display_path
from engine.state_records import FindingCode
from engine.store import checks, repair
from engine.store.checks import BlobText, ChunkSpan
from engine.store.compression import unpack_text
from engine.wording import count

#: Blobs in one snapshot: some 100 ms, so that a verification holds up no checkpoint.
_TEXTS_AT_ONCE = 200
_HASH_BYTES = 16  # of a chunk's hash


def _find_texts(context: Context) -> Iterator[Trouble]:
    """Find blobs whose text, or whose chunks, are not what was stored."""
    found = list(_damaged_blobs(context))
    if found:
        message = f"Found {count(len(found), 'text')} that are not what was stored"
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
        context.tell("texts", done, total)


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


def _find_symbols(context: Context) -> Iterator[Trouble]:
    """Find blobs whose symbols and chunks do not agree."""
    with context.reading() as handle:
        blobs = checks.read_blobs_with_wrong_symbols(handle)
    if blobs:
        message = f"Found {count(len(blobs), 'text')} whose symbols do not fit the chunks"
        yield _of_blobs(context, FindingCode.SYMBOLS, message, blobs)


def _of_blobs(context: Context, code: FindingCode, message: str, ids: list[int]) -> Trouble:
    paths: list[str] = []
    with suppress(EngineError), context.store.read() as handle:
        paths = checks.read_paths_of_blobs(handle, ids, MOST_PLACES)
    return Trouble(code, message, len(ids), ids, places=tuple(map(display_path, paths)))


def _empty_blobs(context: Context, troubles: Sequence[Trouble]) -> Iterator[str]:
    for trouble in troubles:
        for ids in context.batches(trouble.ids):
            with context.store.write(durable=True) as handle:
                repair.empty_blobs(handle, ids)
        texts = count(trouble.number, "damaged text")
        yield f"Took out {texts}; the next run reads the files again"


TEXTS = Check(name="texts", find=_find_texts, fixes={FindingCode.TEXTS: _empty_blobs})
SYMBOLS = Check(name="symbols", find=_find_symbols, fixes={FindingCode.SYMBOLS: _empty_blobs})
