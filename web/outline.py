"""Outlines: the symbols of a file, or the files of a folder, as text, Markdown and JSON.

Within a budget signatures and notes are left out first, then the last lines; without any line the
path is not repeated.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from engine.browse_records import FolderName
from engine.errors import FileNotIndexedError
from engine.project import Project
from engine.search_records import SymbolHit
from web.markdown import code_of
from web.schemas import as_json
from web.terminal import Style, printable, shortened
from web.wording import count

MOST_NAMES = 100_000  # of a folder
_CODE_COLUMNS = 120
_OF_A_SYMBOL = ("line_start", "line_end", "kind", "qualified_name", "signature")

Written = TypeVar("Written")


class Outline(NamedTuple):
    """The symbols of a file in text order, or the entries of a folder."""

    path: str  # as it was asked for
    symbols: Sequence[SymbolHit] | None  # None: it is a folder
    entries: Sequence[FolderName] = ()
    notes: tuple[str, ...] = ()  # why symbols may be missing, or their lines be wrong

    @property
    def total(self) -> int:
        """The number of symbols or entries."""
        return len(self.entries if self.symbols is None else self.symbols)

    def totals(self, *, is_brief: bool) -> str:
        """Return how many there are, in words, with the notes unless it is to be brief."""
        if self.symbols is not None:
            return "; ".join([count(self.total, "symbol"), *([] if is_brief else self.notes)])
        return count(self.total, "entry") if self.total == 1 else f"{self.total:,} entries"


def outline_of(project: Project, path: str) -> Outline:
    """Return the symbols of a file, or the names of the files and folders in a folder.

    Raises:
        InvalidPathError: The path lies outside the root.
        FileNotIndexedError: Nothing that is indexed has this path.
    """
    folder = "" if path.rstrip("/") in ("", ".", project.root.rstrip("/")) else path
    if not folder:
        return Outline(path, None, project.browse.folders.names(folder, most=MOST_NAMES))
    try:
        symbols = project.outline(path)
        gap = project.browse.gap(path)
        stale = project.stale_notes([project.browse.stored_path(path)])
        return Outline(path, symbols, notes=(*([gap] if gap else []), *stale))
    except FileNotIndexedError:
        names = project.browse.folders.names(folder, most=MOST_NAMES)
        if not names:
            raise
        return Outline(path, None, names)


def entry_line(entry: FolderName) -> str:
    """Return the line of an entry of a folder."""
    return f"{entry.name}/" if entry.is_folder else entry.name


def symbol_line(symbol: SymbolHit) -> str:
    """Return the line of a symbol in short."""
    return f"{symbol.line_start}-{symbol.line_end} {symbol.kind} {symbol.qualified_name}"


def outline_lines(outline: Outline, shown: int, style: Style, *, is_brief: bool) -> list[str]:
    """Return the first lines of an outline as text: symbols as a tree, each with its signature.

    Args:
        outline: The outline.
        shown: How many lines.
        style: Colours or none.
        is_brief: Whether to name symbols without their signatures.
    """
    if outline.symbols is None:
        return [printable(entry_line(each)) for each in outline.entries[:shown]]
    lines = []
    for depth, symbol in tree_of(outline.symbols[:shown]):
        span = style.dim(f"{symbol.line_start:>6}-{symbol.line_end:<6}")
        lines.append(f"{span} {'  ' * depth}{_about(symbol, is_brief=is_brief)}")
    return lines


def outline_markdown(outline: Outline, shown: int, *, is_brief: bool) -> list[str]:
    """Return the first lines of an outline as Markdown, under a heading.

    Args:
        outline: The outline.
        shown: How many symbols or entries.
        is_brief: Whether to name symbols without their signatures.
    """
    lines = [] if is_brief and not shown else [f"# {code_of(outline.path)}", ""]
    if outline.symbols is None:
        return lines + [f"- {code_of(entry_line(e))}" for e in outline.entries[:shown]]
    for depth, symbol in tree_of(outline.symbols[:shown]):
        about = code_of(_about(symbol, is_brief=is_brief))
        lines.append(f"{'  ' * depth}- {about} {symbol.line_start}-{symbol.line_end}")
    return lines


def outline_json(outline: Outline, shown: int, *, is_brief: bool) -> dict[str, Any]:
    """Return the first symbols or entries of an outline as JSON.

    Args:
        outline: The outline.
        shown: How many.
        is_brief: Whether to leave out signatures and notes.
    """
    place: dict[str, Any] = {} if is_brief and not shown else {"path": outline.path}
    more: dict[str, Any] = {"total": outline.total, "truncated": shown < outline.total}
    if outline.notes and not is_brief:
        more["notes"] = list(outline.notes)
    if outline.symbols is None:
        entries = [entry_line(each) for each in outline.entries[:shown]]
        return {**place, "entries": entries, **more}
    names = _OF_A_SYMBOL[:-1] if is_brief else _OF_A_SYMBOL
    wholes = [as_json(each) for each in outline.symbols[:shown]]
    symbols = [{name: whole[name] for name in names if whole[name] != ""} for whole in wholes]
    return {**place, "symbols": symbols, **more}


def within(
    total: int,
    write: Callable[[int, bool], Written],
    size: Callable[[Written], int],
    max_bytes: int | None,
) -> Written:
    """Return the most of an outline that fits.

    Args:
        total: The number of symbols or entries.
        write: Writes so many of them, in brief or not.
        size: Returns the size of what was written, in bytes.
        max_bytes: The room; None for all.
    """
    whole = write(total, False)
    if max_bytes is None or size(whole) <= max_bytes:
        return whole
    numbers = range(1, total + 1)
    fits = bisect_left(numbers, True, key=lambda many: size(write(many, True)) > max_bytes)
    return write(fits, True)


def tree_of(symbols: Sequence[SymbolHit]) -> Iterator[tuple[int, SymbolHit]]:
    """Yield symbols in text order, each with how many others are around it.

    Lines tell that, and of symbols with the same lines their qualified names.
    """
    around: list[SymbolHit] = []
    for symbol in sorted(symbols, key=lambda each: (each.line_start, -each.line_end)):
        while around and not _is_around(around[-1], symbol):
            around.pop()
        yield len(around), symbol
        around.append(symbol)


def _is_around(outer: SymbolHit, symbol: SymbolHit) -> bool:
    """Return whether a symbol that begins before another one contains it."""
    if (outer.line_start, outer.line_end) == (symbol.line_start, symbol.line_end):
        return symbol.qualified_name.startswith(f"{outer.qualified_name}.")
    return outer.line_end >= symbol.line_end


def _about(symbol: SymbolHit, *, is_brief: bool) -> str:
    if is_brief or not symbol.signature:
        return printable(f"{symbol.kind} {symbol.name}")
    return shortened(printable(symbol.signature), _CODE_COLUMNS)
