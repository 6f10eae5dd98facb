"""The definitions that the uncommitted changes touch.

A definition is what it says without the definitions in it: one is modified if that text is another
in the last commit, added or deleted if only one side has its name. Definitions in functions count
as part of these. Old and new texts are parsed by the workers that index, under their limits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from engine.config import LARGEST_FILE_BYTES
from engine.errors import InvalidInputError
from engine.humanize import count
from engine.records import Symbol, display_path
from engine.reference_records import Change, ChangedDefinition
from engine.references.candidates import CALLABLES
from engine.references.impact import Start
from engine.source.git_changes import ChangedFile, WorkTreeChanges, work_tree_changes
from engine.store.compression import unpack_text
from engine.store.symbols import SymbolRow
from engine.syntax.languages import language_of
from engine.syntax.references import has_references

if TYPE_CHECKING:
    from engine.indexing.workers import WorkerPool

_HEAD_BYTES = 4096
_BATCH = 20
_POLL_S = 1.0


class Piece(NamedTuple):
    """A definition of a text, and what it says without those in it."""

    symbol: Symbol
    text: bytes


class _Parsed(NamedTuple):
    """The definitions of one side of a file by qualified name, in text order."""

    pieces: Mapping[str, Sequence[Piece]]
    outside: bytes


_NOTHING = _Parsed({}, b"")


def read_changes(root: str, known: Iterable[str]) -> WorkTreeChanges:
    """Return the files below a root that differ from the last commit.

    Args:
        root: The resolved root.
        known: The files that the index has.

    Raises:
        InvalidInputError: The root is in no git repository.
    """
    found = work_tree_changes(root, known, max_file_bytes=LARGEST_FILE_BYTES)
    if found is None:
        raise InvalidInputError(
            f"{display_path(root)} is in no git repository, so nothing tells what changed",
            hint="name a definition, or a file with path",
            field="changed",
        )
    return found


def start_at_changes(changes: WorkTreeChanges, pool: "Callable[[], WorkerPool]") -> Start:
    """Return what changed; the index may lack some of its definitions.

    Args:
        changes: The changed files.
        pool: Returns the workers that parse.
    """
    start = Start(notes=list(changes.notes), is_cut=changes.is_cut)
    languages = {file.path: _language_of(file) for file in changes.files}
    code = [file for file in changes.files if languages[file.path]]
    parsed = _parsed(code, languages, pool)
    for file in changes.files:
        language = languages[file.path]
        old, new = parsed.get((file.path, True)), parsed.get((file.path, False))
        if not language or (old is None and new is None):
            start.definitions.append(_whole_file(file, "file"))
            continue
        known_old = file.old is not None or file.change is Change.ADDED
        found = _compared(file, old or _NOTHING, new or _NOTHING, is_old_known=known_old)
        start.definitions += [_definition_of(symbol, file.path, how) for symbol, how in found]
        start.rows += [_row_of(symbol, file.path, language) for symbol, _ in found]
        if _is_changed_outside(old, new, is_old_known=known_old):
            start.definitions.append(_whole_file(file, "module"))
        start.files.append(file.path)
    return start


def stale_note(files: Sequence[ChangedFile], stored: Mapping[str, bytes]) -> list[str]:
    """Say of how many changed files the index has another text, if of any.

    Args:
        files: The changed files.
        stored: The SHA-256 of the indexed contents by path.
    """
    stale = sum(
        1
        for file in files
        if (None if file.new is None else sha256(file.new).digest()) != stored.get(file.path)
        and (file.path in stored or _language_of(file))
    )
    if not stale:
        return []
    return [
        f"the index has another text of {count(stale, 'changed file')}: what changed is read from"
        " the disk, what depends on it from the index (run cairn index)"
    ]


def pieces_of(text: bytes, symbols: Sequence[Symbol]) -> tuple[list[Piece], bytes]:
    """Return the definitions of a text with what each says, and what stands outside of them.

    Blank lines and blanks at the ends of lines do not count.

    Args:
        text: The text.
        symbols: In text order, the longer first.
    """
    found: list[Symbol] = []
    texts: list[list[bytes]] = [[]]
    open_ends = [(0, len(text))]  # of the definitions around, and the number of each
    at = 0
    inside_function = 0  # where the function around ends
    for symbol in symbols:
        if symbol.byte_start < inside_function:
            continue
        while open_ends[-1][1] <= symbol.byte_start and len(open_ends) > 1:
            number, end = open_ends.pop()
            texts[number].append(text[at:end])
            at = max(at, end)
        texts[open_ends[-1][0]].append(text[at : symbol.byte_start])
        at = symbol.byte_start
        found.append(symbol)
        texts.append([])
        open_ends.append((len(texts) - 1, min(symbol.byte_end, open_ends[-1][1])))
        if symbol.kind in CALLABLES:
            inside_function = symbol.byte_end
    while open_ends:
        number, end = open_ends.pop()
        texts[number].append(text[at:end])
        at = max(at, end)
    plain = [_plain(b"".join(each)) for each in texts]
    return [Piece(symbol, plain[place]) for place, symbol in enumerate(found, 1)], plain[0]


def _plain(text: bytes) -> bytes:
    return b"\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _language_of(file: ChangedFile) -> str:
    """Return the language of a file whose references are read; empty for any other."""
    data = file.new if file.new is not None else file.old
    language = language_of(file.path, (data or b"")[:_HEAD_BYTES])
    return language if language and has_references(language) else ""


def _parsed(
    files: Sequence[ChangedFile],
    languages: Mapping[str, str],
    pool: "Callable[[], WorkerPool]",
) -> dict[tuple[str, bool], _Parsed]:
    """Return the definitions of files by path, and whether they are the old ones."""
    from engine.indexing.parse_records import Parsed, Task, symbols_of

    keys = [(file.path, is_old) for file in files for is_old in (True, False)]
    texts = [text for file in files for text in (file.old, file.new)]
    tasks = [
        Task(ticket, path, languages[path], text)
        for ticket, ((path, _), text) in enumerate(zip(keys, texts, strict=True))
        if text is not None
    ]
    found: dict[tuple[str, bool], _Parsed] = {}
    if not tasks:
        return found
    with pool().channel() as channel:
        for at in range(0, len(tasks), _BATCH):
            channel.submit(tasks[at : at + _BATCH])
        while channel.pending_batches:
            for ticket, result in channel.poll(_POLL_S):
                if isinstance(result, Parsed):
                    analysis = result.analysis
                    text = unpack_text(analysis.packed_text)
                    pieces, outside = pieces_of(text, symbols_of(analysis))
                    found[keys[ticket]] = _Parsed(_by_name(pieces), outside)
    return found


def _by_name(pieces: Iterable[Piece]) -> dict[str, list[Piece]]:
    named: dict[str, list[Piece]] = {}
    for piece in pieces:
        named.setdefault(piece.symbol.qualified_name, []).append(piece)
    return named


def _compared(
    file: ChangedFile, old: _Parsed, new: _Parsed, *, is_old_known: bool
) -> list[tuple[Symbol, Change]]:
    """Return the definitions that differ, in text order, deleted ones last."""
    found: list[tuple[Symbol, Change]] = []
    for name, pieces in new.pieces.items():
        before = old.pieces.get(name, ())
        if not is_old_known:
            found.append((pieces[0].symbol, file.change))
        elif not before:
            found.append((pieces[0].symbol, Change.ADDED))
        elif changed := _first_changed(before, pieces):
            found.append((changed, Change.MODIFIED))
    found += [
        (pieces[0].symbol, Change.DELETED)
        for name, pieces in old.pieces.items()
        if name not in new.pieces
    ]
    return found


def _first_changed(old: Sequence[Piece], new: Sequence[Piece]) -> Symbol | None:
    """Return the first of several definitions of a name that says something else."""
    for before, after in zip_longest(old, new):
        if before is None or after is None or before.text != after.text:
            return (after or new[-1]).symbol
    return None


def _is_changed_outside(old: _Parsed | None, new: _Parsed | None, *, is_old_known: bool) -> bool:
    """Return whether code outside of definitions differs."""
    if not is_old_known:
        return bool(new and new.outside)
    return (old or _NOTHING).outside != (new or _NOTHING).outside


def _definition_of(symbol: Symbol, path: str, change: Change) -> ChangedDefinition:
    return ChangedDefinition(
        name=symbol.qualified_name,
        path=path,
        line=symbol.line_start,
        kind=symbol.kind,
        change=change,
    )


def _whole_file(file: ChangedFile, kind: str) -> ChangedDefinition:
    return ChangedDefinition(name=file.path, path=file.path, line=1, kind=kind, change=file.change)


def _row_of(symbol: Symbol, path: str, language: str) -> SymbolRow:
    return SymbolRow(
        0,
        0,
        path,
        language,
        False,
        symbol.name,
        symbol.qualified_name,
        symbol.kind,
        symbol.signature,
        symbol.doc,
        symbol.line_start,
        symbol.line_end,
        symbol.exported,
    )
