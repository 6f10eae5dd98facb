"""Where a text shows in what the program left behind: in rows, in words, and in the bytes of files.

Texts are packed and words share their beginnings with their neighbours, so looking at the bytes
alone would find nothing anywhere.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw

from engine.store.compression import unpack_text
from engine.syntax.terms import words_of

#: A part of a word from its middle: its start may be shared, its end cut to the stem.
_MIDDLE = slice(6, -4)
_LEAST_WORD = 16
_PIECE_BYTES = 24
_MOST_PIECES = 200
#: A process that ends takes the journal along, and lets nobody read meanwhile.
_BUSY_MS = 60_000


def traces_of(texts: Iterable[str], folder: Path) -> list[str]:
    """Give every place below a data directory where one of some texts shows.

    Args:
        texts: Single words or lines, long enough to be there by no chance.
        folder: The data directory; no index in it may be open for writing.
    """
    wanted = tuple(texts)
    assert wanted
    places = [f"{text}: {file.name}" for file in _files(folder) for text in _in_bytes(wanted, file)]
    for file in folder.glob("*.db"):
        places += [f"{text}: {place} of {file.name}" for text, place in _in_rows(wanted, file)]
    return places


def packed_texts(file: Path, path: str) -> list[bytes]:
    """Give the bytes under which the text of a file is stored, to look for when it is gone."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(_BUSY_MS)
    try:
        rows = handle.execute(
            """SELECT t.packed FROM blob_texts t JOIN files f ON f.blob_id = t.blob_id
               WHERE f.path = ?""",
            (path.encode(),),
        ).fetchall()
    finally:
        handle.close()
    return [row[0] for row in rows if isinstance(row[0], bytes)]


def pieces_left(packed: bytes, folder: Path) -> int:
    """Count the pieces of some bytes, of all parts of them, that a file below a folder holds."""
    step = max(_PIECE_BYTES, len(packed) // _MOST_PIECES)
    pieces = [
        packed[at : at + _PIECE_BYTES] for at in range(0, len(packed) - _PIECE_BYTES + 1, step)
    ]
    assert pieces
    contents = [file.read_bytes() for file in _files(folder)]
    return sum(any(piece in content for content in contents) for piece in pieces)


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def _in_bytes(wanted: tuple[str, ...], file: Path) -> Iterator[str]:
    try:
        content = file.read_bytes().lower()
    except FileNotFoundError:  # SQLite's own, which the last reader took along
        return
    for text in wanted:
        pieces = {text.lower()}
        pieces |= {word[_MIDDLE] for word in words_of(text) if len(word) >= _LEAST_WORD}
        if any(piece.encode() in content for piece in pieces):
            yield text


def _in_rows(wanted: tuple[str, ...], file: Path) -> Iterator[tuple[str, str]]:
    """Look at every value of every table, at the unpacked texts, and at the words."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(_BUSY_MS)
    try:
        for (packed,) in handle.execute("SELECT packed FROM blob_texts"):
            stored = unpack_text(packed).decode()
            yield from ((text, "a stored text") for text in wanted if text in stored)
        for table in ("files", "skips", "symbols", "project", "branches", "memories"):
            for row in handle.execute(f"SELECT * FROM {table}"):
                line = " ".join(
                    value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                    for value in row
                )
                yield from ((text, table) for text in wanted if text in line)
        yield from _in_words(wanted, handle)
    finally:
        handle.close()


def _in_words(wanted: tuple[str, ...], handle: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Ask the keyword indexes for the words of each text in a row."""
    for table in ("chunk_terms", "file_paths", "memory_terms", "commit_terms"):
        for text in wanted:
            phrase = " ".join(words_of(text))
            found = handle.execute(
                f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (f'"{phrase}"',)
            ).get
            if phrase and found:
                yield text, table
