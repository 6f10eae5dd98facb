"""The rows of one write transaction, collected file by file."""

import hashlib
import os
import uuid
from typing import TYPE_CHECKING, NamedTuple

from engine.cancellation import never
from engine.embedding.model_setting import Backend
from engine.faults import fault_point
from engine.indexing.parse_records import Parsed
from engine.records import FileEntry, Skip
from engine.store import blobs, files, fulltext, models, project, vector_rows
from engine.store.connection import Handle
from engine.store.models import ModelRow
from engine.store.vector_format import StoredRows
from engine.syntax.records import Analysis
from engine.syntax.terms import path_terms_of

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder  # numpy

#: Counted for the rows and the vector of a file, or a skip: a folder can hold 100,000 empty files.
_FILE_BYTES = 512


class NewBlob(NamedTuple):
    """A parsed blob with its key."""

    content_hash: bytes
    language: str
    parsed: Parsed


class InlineModel(NamedTuple):
    """The model whose vectors are written with their chunks and files."""

    model: ModelRow
    embedder: "Embedder"  # for the paths that no worker has embedded


class FirstIds(NamedTuple):
    """The first ids of the chunks and files that a run adds."""

    chunk: int
    file: int


class Batch:
    """Collects whole files with all their rows; ``write`` stores them and empties the batch.

    Ids are assigned here, from the largest in use: there is only one writer at a time.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        branch_id: int,
        fingerprint_id: int,
        inline_model: InlineModel | None,
    ) -> None:
        self._branch_id = branch_id
        self._meaning = inline_model
        self._fingerprint_id = fingerprint_id
        row = project.read_project(handle)
        assert row
        self._ids = FileIds(row.project_id)
        ids = blobs.next_ids(handle)
        self._next_blob, self._next_symbol, self._next_chunk = ids
        self._next_file = files.max_file_id(handle) + 1
        self._clear()

    @property
    def first_ids(self) -> FirstIds:
        """The ids of the next chunk and the next file."""
        return FirstIds(self._next_chunk, self._next_file)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (
            self._blobs or self._files or self._deleted_files or self._skips or self._deleted_skips
        )

    def _clear(self) -> None:
        self.size_bytes = 0
        self._blobs: list[blobs.BlobRow] = []
        self._texts: list[tuple[int, bytes, bytes | None]] = []
        self._names: list[tuple[int, bytes]] = []
        self._symbols: list[tuple[object, ...]] = []
        self._chunks: list[tuple[object, ...]] = []
        self._chunk_terms: list[tuple[int, str, str, str]] = []
        self._vectors = StoredRows([], [])
        self._vector_ids: list[int] = []
        self._files: list[files.FileRow] = []
        self._file_vectors: dict[int, bytes] = {}
        self._new_paths: dict[int, str] = {}  # of files that have no vector yet
        self._path_terms: list[tuple[int, str, str]] = []
        self._stale_paths: list[int] = []  # of files whose words and vectors are made again
        self._deleted_files: list[int] = []
        self._skips: list[Skip] = []
        self._deleted_skips: list[str] = []

    def add_blob(self, new: NewBlob) -> int:
        """Add a blob with its text, marks, symbols and chunks, and return its id."""
        blob_id, self._next_blob = self._next_blob, self._next_blob + 1
        parsed = new.parsed
        analysis = parsed.analysis
        self._blobs.append(
            blobs.BlobRow(
                blob_id,
                new.content_hash,
                new.language,
                self._fingerprint_id,
                analysis.text_hash,
                analysis.size_bytes,
                analysis.line_count,
                analysis.token_count,
                parsed.encoding,
                analysis.parse_result,
                parsed.is_generated,
                parsed.redactions,
                parsed.licence,
                parsed.generator,
            )
        )
        self._texts.append((blob_id, analysis.packed_text, analysis.packed_marks))
        if analysis.packed_names is not None:
            self._names.append((blob_id, analysis.packed_names))
        if parsed.vectors is not None:
            self._vectors.signs.extend(parsed.vectors.signs)
            self._vectors.exact.extend(parsed.vectors.exact)
            end = self._next_chunk + len(parsed.vectors.exact)
            self._vector_ids.extend(range(self._next_chunk, end))
        self._add_chunks(blob_id, analysis)
        self._add_symbols(blob_id, analysis)
        self.size_bytes += analysis.size_bytes
        return blob_id

    def _add_chunks(self, blob_id: int, analysis: Analysis) -> None:
        """Add the chunks of a blob whose symbols come next."""
        first_symbol = self._next_symbol
        for number, row in enumerate(analysis.chunks, self._next_chunk):
            span, first, count, hash_, names, signatures, body = row
            start, end, line_start, line_end, symbol = span
            self._chunks.append(
                (
                    number,
                    blob_id,
                    start,
                    end,
                    line_start,
                    line_end,
                    first_symbol + symbol if symbol >= 0 else None,
                    first_symbol + first,
                    count,
                    hash_,
                )
            )
            self._chunk_terms.append((number, names, signatures, body))
        self._next_chunk += len(analysis.chunks)

    def _add_symbols(self, blob_id: int, analysis: Analysis) -> None:
        first_symbol = self._next_symbol
        for number, symbol in enumerate(analysis.symbols, first_symbol):
            name, qualified, kind, signature, doc, start, end, line, last, parent, exported = symbol
            self._symbols.append(
                (
                    number,
                    blob_id,
                    name,
                    None if name.isascii() else name.lower(),
                    qualified[: -len(name) - 1] or None,
                    kind,
                    signature,
                    doc,
                    start,
                    end,
                    line,
                    last,
                    first_symbol + parent if parent >= 0 else None,
                    exported,
                )
            )
        self._next_symbol += len(analysis.symbols)

    def add_file(
        self,
        entry: FileEntry,
        blob_id: int,
        *,
        known: files.KnownFile | None,
        vector: bytes | None,
        now_ms: int,
    ) -> None:
        """Add a file that points to a blob; a known one keeps its id and uuid.

        It keeps the words and the vector of its path too, if they are of the same fingerprint.

        Args:
            entry: The file, with its status as stored.
            blob_id: Of its content.
            known: What is stored of it.
            vector: The vector of its path in stored form; without one it is made here.
            now_ms: When it was indexed.
        """
        path, stat, _ = entry
        if known:
            file_id, uuid_ = known.file_id, known.uuid
        else:
            file_id, self._next_file = self._next_file, self._next_file + 1
            uuid_ = self._ids.of(path)
        is_stale = known is not None and known.fingerprint_id != self._fingerprint_id
        if is_stale:
            self._stale_paths.append(file_id)
        if is_stale or not known:
            self._path_terms.append((file_id, *path_terms_of(path)))
            if vector is not None:
                self._file_vectors[file_id] = vector
            elif self._meaning:
                self._new_paths[file_id] = path
        placed = (file_id, uuid_, self._branch_id, path, blob_id)
        self._files.append(files.FileRow(*placed, stat, now_ms, entry.is_linked))
        self.size_bytes += _FILE_BYTES + len(path)

    def remove_files(self, file_ids: list[int]) -> None:
        """Delete files."""
        self._deleted_files.extend(file_ids)
        self.size_bytes += _FILE_BYTES * len(file_ids)

    def add_skip(self, skip: Skip) -> None:
        """Add or replace a skip."""
        self._skips.append(skip)
        self.size_bytes += _FILE_BYTES + len(skip.path)

    def remove_skip(self, path: str) -> None:
        """Delete a skip, if there is one."""
        self._deleted_skips.append(path)
        self.size_bytes += _FILE_BYTES + len(path)

    def write(self, handle: Handle) -> None:
        """Write everything in the running transaction, and empty the batch."""
        files.delete_skips(handle, self._branch_id, self._deleted_skips)
        fulltext.delete_path_terms(handle, self._deleted_files)
        files.delete_files(handle, self._deleted_files)
        blobs.insert_blobs(handle, self._blobs)
        blobs.insert_texts(handle, self._texts)
        blobs.insert_names(handle, self._names)
        blobs.insert_symbols(handle, self._symbols)
        blobs.insert_chunks(handle, self._chunks)
        fulltext.insert_chunk_terms(handle, self._chunk_terms)
        fault_point("batch chunks")
        files.write_files(handle, self._files)
        fulltext.delete_path_terms(handle, self._stale_paths)
        fulltext.insert_path_terms(handle, self._path_terms)
        files.write_skips(handle, self._branch_id, self._fingerprint_id, self._skips)
        fault_point("batch files")
        for model in models.read_models(handle) if self._stale_paths else ():
            if not reads_text(model):
                models.delete_file_vectors_of(handle, model, self._stale_paths)
        if self._meaning:
            self._write_vectors(handle, self._meaning)
        self._clear()

    def _write_vectors(self, handle: Handle, meaning: InlineModel) -> None:
        model = meaning.model
        vector_rows.insert_chunk_rows(handle, model, self._vector_ids, self._vectors)
        vector_rows.insert_file_rows(
            handle, model, self._file_vectors, list(self._file_vectors.values())
        )
        if self._new_paths:
            from engine.store.quantization import quantized  # numpy
            from engine.store.vectors import insert_file_vectors

            made = quantized(meaning.embedder.embed_paths(list(self._new_paths.values()), never))
            insert_file_vectors(handle, model, self._new_paths, made)


def reads_text(model: ModelRow) -> bool:
    """Return whether a model reads texts; the built-in one reads words."""
    return model.name != Backend.STATIC


class FileIds:
    """Derives the UUID (version 5) of each path from the path and the project.

    So a file keeps its id when the index is cleared, and on every branch.

    Args:
        project_id: The id of the project.
    """

    def __init__(self, project_id: str) -> None:
        namespace = uuid.uuid5(uuid.NAMESPACE_URL, f"urn:codecairn:{project_id}")
        self._start = hashlib.sha1(namespace.bytes, usedforsecurity=False)

    def of(self, path: str) -> bytes:
        """Return the UUID of a path (takes 1 µs)."""
        digest = self._start.copy()
        digest.update(os.fsencode(path))
        raw = bytearray(digest.digest()[:16])
        raw[6] = raw[6] & 0x0F | 0x50
        raw[8] = raw[8] & 0x3F | 0x80
        return bytes(raw)
