"""Symbols, outlines, coverage and notes as text; ``answers`` has search answers."""

import json
from collections.abc import Mapping, Sequence

from engine.humanize import count, percent
from engine.records import Coverage
from engine.search_records import UNFINISHED, SymbolHit
from web.terminal import Style, printable

_NOTHING = "nothing is indexed: cleared, or not indexed yet"


def size_of(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def compact_text(shape: Mapping[str, object]) -> str:
    """Return the text by which the size of compact JSON is measured, as most encoders write it."""
    return json.dumps(shape, ensure_ascii=False)


def closing_text(notes: Sequence[str], totals: Sequence[str], style: Style) -> str:
    """Return the lines below an answer: its notes, then all totals as one."""
    lines = [style.warning(f"note: {printable(note)}") for note in notes]
    return "\n".join([*lines, style.dim(", ".join(totals))])


def coverage_text(coverage: Coverage) -> str:
    """Describe how much of a project is covered, and how to complete it."""
    text = share_text(coverage)
    if not coverage.complete and text != _NOTHING:
        text += f", {UNFINISHED}"
    return text


def share_text(coverage: Coverage) -> str:
    """Describe how much of a project is covered; every face says it with these words."""
    if coverage.found is None and not coverage.files:
        return _NOTHING
    if coverage.found is None or coverage.indexed is None:
        text = f"{count(coverage.files, 'file')} indexed so far, not all counted"
    else:
        text = f"coverage {percent(coverage.indexed)} of {count(coverage.found, 'file')}"
    if 0 < coverage.embedded < 1:
        text += f", {percent(coverage.embedded)} with vectors"
    return text


def symbols_text(hits: Sequence[SymbolHit], style: Style, *, nothing: str) -> str:
    """Return symbols as two lines each: place and signature.

    Args:
        hits: In the order of the answer.
        style: Colours or none.
        nothing: The text if there are none.
    """
    if not hits:
        return nothing + "\n"
    several = len({hit.project for hit in hits}) > 1
    lines: list[str] = []
    for hit in hits:
        place = f"{printable(hit.path)}:{hit.line_start}-{hit.line_end}"
        if several:
            place = f"{printable(hit.project)}/{place}"
        name = style.bold(printable(hit.qualified_name))
        lines.append(f"{style.place(place)}  {hit.kind} {name}")
        if hit.signature:
            lines.append(f"  {style.dim(printable(hit.signature))}")
    return "\n".join(lines) + "\n"


def outline_text(hits: Sequence[SymbolHit], style: Style) -> str:
    """Return the symbols of a file as a tree in source order."""
    lines: list[str] = []
    open_ends: list[int] = []  # last lines of the enclosing symbols
    for hit in sorted(hits, key=lambda each: (each.line_start, -each.line_end)):
        while open_ends and open_ends[-1] < hit.line_end:
            open_ends.pop()
        span = style.dim(f"{hit.line_start:>6}-{hit.line_end:<6}")
        lines.append(f"{span} {'  ' * len(open_ends)}{hit.kind} {style.bold(printable(hit.name))}")
        open_ends.append(hit.line_end)
    return "\n".join(lines) + "\n"
