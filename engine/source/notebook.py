"""A Jupyter notebook as a text: its cells one after the other, without outputs and images.

Each cell begins with a line such as ``# %% [python] cell 3``, as in the percent format that editors
know, and is separated from the next by an empty line. Markdown stands as it was written.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

#: The language whose files are notebooks.
NOTEBOOK_LANGUAGE: Final = "jupyter"

_KINDS: Final = frozenset({"code", "markdown", "raw", "heading"})
_LANGUAGE: Final = re.compile(r"[\w.+#-]{1,40}", re.ASCII)
_USUAL_LANGUAGE: Final = "python"
_PICTURE: Final = re.compile(r"(data:[\w.+/-]{1,60};base64,)[A-Za-z0-9+/=\s]{64,}", re.ASCII)
_MAX_HEADING: Final = 6


def notebook_text(text: bytes) -> bytes | None:
    """Give the cells of a notebook as a text; None when it is none that can be read.

    Reads the formats 4 and 3 (nbformat). Never fails, whatever the text.

    Args:
        text: The JSON of the file, valid UTF-8.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = _cells_of(notebook)
    if cells is None:
        return None
    usual = _language_of(notebook)
    pieces: list[str] = []
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type")
        if not isinstance(kind, str) or kind not in _KINDS:
            continue
        source = _source_of(cell).strip("\n")
        if not source.strip():
            continue
        language = kind
        if kind == "code":
            language = _named(cell.get("language")) or usual
        elif kind == "heading":  # format 3
            language, source = "markdown", f"{'#' * _level_of(cell)} {source}"
        pieces.append(f"# %% [{language}] cell {number}\n{source}\n")
    # Escapes can name half a surrogate pair, which no encoding has.
    return "\n".join(pieces).encode("utf-8", "replace")


def _cells_of(notebook: Any) -> Iterator[dict[str, Any]] | None:
    """Give the cells; None when this is no notebook."""
    if not isinstance(notebook, dict):
        return None
    lists = [notebook.get("cells")]
    if isinstance(notebook.get("worksheets"), list):
        sheets = notebook["worksheets"]
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    if not all(isinstance(cells, list) for cells in lists):
        return None
    return (cell for cells in lists for cell in cells or () if isinstance(cell, dict))


def _language_of(notebook: dict[str, Any]) -> str:
    """Give the language of the code cells, in the kernel's own word."""
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict):
        for place, key in (("language_info", "name"), ("kernelspec", "language")):
            facts = metadata.get(place)
            named = _named(facts.get(key)) if isinstance(facts, dict) else None
            if named:
                return named
    return _USUAL_LANGUAGE


def _named(value: object) -> str | None:
    if isinstance(value, str) and _LANGUAGE.fullmatch(value):
        return value.lower()
    return None


def _source_of(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join([line for line in source if isinstance(line, str)])
    if not isinstance(source, str):
        return ""
    if ";base64," in source:
        source = _PICTURE.sub(r"\1", source)
    return source.replace("\r\n", "\n").replace("\0", "")


def _level_of(cell: dict[str, Any]) -> int:
    level = cell.get("level")
    return min(max(level, 1), _MAX_HEADING) if isinstance(level, int) else 1
