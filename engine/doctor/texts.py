"""Are the stored texts what was stored? Each blob by its hash, each chunk by its own."""

from collections.abc import Callable, Iterator
from hashlib import blake2b, sha256

from engine.errors import IndexCorruptError
from engine.store import checks
from engine.store.checks import BlobText, ChunkSpan
from engine.store.connection import Store
from engine.syntax.packing import unpack_text

#: Blobs in one snapshot: some 100 ms, so that a verification holds up no checkpoint.
_AT_ONCE = 200
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
            blobs = checks.read_blob_texts(handle, after, _AT_ONCE)
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
