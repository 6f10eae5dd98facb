"""Which languages are read by a scanner of their own, and by which."""

import functools
import importlib
from collections.abc import Callable

from engine.syntax.outline import Entry

#: Finds the definitions of any text in time linear in its length.
Scanner = Callable[[bytes], list[Entry]]

#: Module and function of each; imported on first use: their patterns take 8 ms to compile.
_PLACES = {
    "css": ("stylesheets", "entries_of_stylesheet"),
    "dockerfile": ("dockerfiles", "entries_of_dockerfile"),
    "html": ("landmarks", "entries_of_html"),
    "less": ("stylesheets", "entries_of_stylesheet"),
    "makefile": ("makefiles", "entries_of_makefile"),
    "scss": ("stylesheets", "entries_of_stylesheet"),
    "sql": ("sql", "entries_of_sql"),
    "template": ("landmarks", "entries_of_html"),
}

#: The languages that are read so.
SCANNED_LANGUAGES = frozenset(_PLACES)


@functools.cache
def scanner_of(language: str) -> Scanner:
    """Give the scanner of one of ``SCANNED_LANGUAGES``."""
    module, function = _PLACES[language]
    scanner: Scanner = getattr(importlib.import_module(f"engine.syntax.{module}"), function)
    return scanner
