"""A map of the code as text and as compact JSON: definitions by file, the most central first."""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.humanize import count
from engine.reference_records import MapAnswer, MappedSymbol
from web.markdown import code_of
from web.terminal import Style, printable, shortened

_CODE_COLUMNS = 110
_INDENT = "  "


def _by_file(symbols: Sequence[MappedSymbol]) -> dict[str, list[MappedSymbol]]:
    """Return the definitions of each file in text order, the file of the most central one first."""
    found: dict[str, list[MappedSymbol]] = {}
    for symbol in symbols:
        found.setdefault(symbol.path, []).append(symbol)
    return {path: sorted(each, key=lambda one: one.line) for path, each in found.items()}


def _lines(symbols: Sequence[MappedSymbol]) -> Iterator[tuple[int, int, str]]:
    """Yield the line of each definition of a file, its depth and its description.

    What stands in a definition that is shown is deeper; elsewhere its container is named.
    """
    depths: dict[str, int] = {}
    for symbol in symbols:
        scope, _, name = symbol.name.rpartition(".")
        depth = depths[scope] + 1 if scope in depths else 0
        depths[symbol.name] = depth
        about = symbol.signature or f"{symbol.kind} {name}"
        if scope and not depth:
            about = f"{scope}: {about}"
        yield symbol.line, depth, shortened(printable(about), _CODE_COLUMNS)


def map_text(answer: MapAnswer, shown: int, style: Style) -> str:
    """Return the first definitions by file, a line each; without a line end, empty for none.

    Args:
        answer: The answer.
        shown: How many definitions.
        style: Colours or none.
    """
    blocks = []
    for path, symbols in _by_file(answer.symbols[:shown]).items():
        width = max(len(str(symbol.line)) for symbol in symbols)
        rows = [
            f"{style.dim(str(line).rjust(width))}  {_INDENT * depth}{about}"
            for line, depth, about in _lines(symbols)
        ]
        blocks.append("\n".join([style.place(printable(path)), *rows]))
    return "\n".join(blocks)


def map_markdown(answer: MapAnswer, shown: int) -> list[str]:
    """Return the first definitions by file as blocks of Markdown, lists under headings.

    Args:
        answer: The answer.
        shown: How many definitions.
    """
    blocks = ["## Map of the code"]
    for path, symbols in _by_file(answer.symbols[:shown]).items():
        rows = [
            f"{_INDENT * depth}- {code_of(about)} {line}" for line, depth, about in _lines(symbols)
        ]
        blocks.append("\n".join([f"### {code_of(path)}", "", *rows]))
    return blocks


def map_totals(answer: MapAnswer, shown: int) -> str:
    """Count what is shown."""
    of = f"{shown:,} of " if answer.total > shown else ""
    return f"{of}{count(answer.total, 'definition')}, from {count(answer.files, 'file')}"


def compact_map(answer: MapAnswer, shown: int) -> dict[str, Any]:
    """Return the first definitions by file as JSON for a budget, each ``line signature``."""
    return {
        "files": [
            {"path": path, "symbols": [*map(_compact, _lines(symbols))]}
            for path, symbols in _by_file(answer.symbols[:shown]).items()
        ],
        "total": answer.total,
        "truncated": answer.truncated or shown < len(answer.symbols),
    }


def _compact(row: tuple[int, int, str]) -> str:
    line, depth, about = row
    return f"{line} {_INDENT * depth}{about}"
