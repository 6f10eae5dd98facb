"""The modules and names that import statements name, for a filter that asks for one.

The marks of references have the imported names only; a filter also asks for modules, such as
``numpy``, ``app.session``, ``tmux.h`` or ``github.com/spf13/cobra``.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.references.import_statements import (
    C_LIKE,
    ECMASCRIPT,
    JVM,
    Statement,
    statements_of,
)
from engine.references.sources import Source

#: Here a dot is a part of the name of a module.
_BY_SLASHES = ECMASCRIPT | C_LIKE | {"go", "bash", "ruby", "zig", "proto", "css", "scss", "dart"}
_SEPARATORS = re.compile(r"::|[./\\]")
_SLASHES = re.compile(r"[/\\]")
_DOLLARS = re.compile(r"[./$]")  # of a class within another
_SOURCE_ENDING = re.compile(
    r"\.(?:[cm]?[jt]sx?|d\.ts|vue|svelte|astro|py|pyi|go|rs|java|kts?|scala|cs|php|rb|lua|exs?"
    r"|swift|hs|sh|zig|dart|proto|s?css)$"
)
_HEADER_ENDING = re.compile(r"\.(?:h|hh|hpp|hxx|inc)$")
_FILE_ENDING = re.compile(f"{_SOURCE_ENDING.pattern}|{_HEADER_ENDING.pattern}")
_SOURCE_FOLDERS = frozenset({"src", "lib", "source", "sources", "python"})
_INNER = re.compile(r"[.\\]")


class Imported(NamedTuple):
    """What an import statement names."""

    start: int  # of its text, in bytes
    end: int
    written: str  # the module as it stands there
    segments: tuple[str, ...]  # of the module, of a relative one from the root on
    name: str = ""  # that is imported from the module
    is_whole: bool = False  # the segments begin at the root of the project


def imports_of(source: Source) -> Iterator[Imported]:
    """Yield what the import statements of a file name."""
    for statement in statements_of(source.text, source.language, source.marks):
        if not statement.is_part:
            yield from _named_by(statement, source)


def module_word(asked: str) -> str:
    """Return the text that a file must have to import a module: the last part of its name."""
    bare = _bare(asked)
    is_file = not bare.startswith(".") and _SOURCE_ENDING.search(bare)
    # A package is imported by the name of its folder.
    bare = _without_ending(bare) if is_file else _SOURCE_ENDING.sub("", bare)
    bare = _HEADER_ENDING.sub("", bare)
    words = [part for part in _SEPARATORS.split(bare) if part not in ("", "*")]
    return words[-1] if words else ""


def is_asked_module(asked: str, imported: Imported, language: str) -> bool:
    """Return whether an import is of a module, or of a name in it.

    A relative module (``./session``) is compared as it is written. Of any other, the first parts
    (``numpy`` of ``numpy.linalg``), the last ones (``session`` of ``app.session``), or two and more
    in the middle are enough. A file (``src/app/session.py``) is also imported by the name that it
    has below a folder of sources: by its last two parts and more, or all below ``src``.
    """
    bare = _bare(asked)
    if bare.startswith("."):
        return _literal(bare, language) in (
            _literal(imported.written, language),
            _literal(_joined(imported), language),
        )
    wanted = _segments(bare, language)
    if not wanted:
        return False
    size = len(wanted)
    module = imported.segments
    names = (module, (*module, imported.name)) if imported.name else (module,)
    if any(name[-size:] == wanted for name in names):
        return True
    is_file = "/" in bare and _FILE_ENDING.search(bare) is not None
    if is_file and not imported.is_whole and any(_is_below_sources(n, wanted) for n in names):
        return True
    if size == 1:
        return not imported.is_whole and module[:1] == wanted
    return any(module[at : at + size] == wanted for at in range(len(module) - size + 1))


def _is_below_sources(name: tuple[str, ...], file: tuple[str, ...]) -> bool:
    """Return whether the last parts of a file's path are a module, below a folder of sources."""
    outer = file[: len(file) - len(name)]
    is_last = 0 < len(name) < len(file) and file[len(outer) :] == name
    return is_last and (len(name) > 1 or _SOURCE_FOLDERS.issuperset(outer))


def _bare(asked: str) -> str:
    return asked.strip().strip("<>\"'").rstrip("/")


def _joined(imported: Imported) -> str:
    """Return ``.session`` for ``from . import session``."""
    is_dots = not imported.written.strip(".")
    return imported.written + ("" if is_dots else ".") + imported.name


def _literal(written: str, language: str) -> str:
    if language in ECMASCRIPT:
        return _SOURCE_ENDING.sub("", written).removesuffix("/index").rstrip("/")
    return written


def _segments(written: str, language: str) -> tuple[str, ...]:
    """Return the parts of the name of a module."""
    if language in _BY_SLASHES:
        bare = written if language in C_LIKE else _without_ending(written)
        parts = _SLASHES.split(bare.removeprefix("node:"))
        if language in C_LIKE:
            parts[-1] = _HEADER_ENDING.sub("", parts[-1])
    else:
        separators = _DOLLARS if language in JVM else _SEPARATORS
        parts = separators.split(_without_ending(written) if "/" in written else written)
    return tuple(
        part for part in parts if part not in ("", ".", "..", "*", "crate", "self", "super")
    )


def _without_ending(path: str) -> str:
    return _SOURCE_ENDING.sub("", path).removesuffix("/index").removesuffix("/__init__")


def _named_by(statement: Statement, source: Source) -> Iterator[Imported]:
    """Yield the module of a statement, and the names."""
    start, end, written = statement.start, statement.end, statement.module
    segments, is_whole = _resolved(written, source)
    if source.language == "rust":  # the last word of a path can be a module or a name in it
        if segments:
            yield Imported(start, end, written, segments[:-1], segments[-1])
        return
    yield Imported(start, end, written, segments, is_whole=is_whole)
    for name in statement.names:
        *inner, last = _INNER.split(name.name)
        yield Imported(name.start, name.end, written, (*segments, *inner), last, is_whole)


def _resolved(written: str, source: Source) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a module, of a relative one from the root of the project on."""
    language = source.language
    folder = os.path.dirname(source.path)
    if language in _BY_SLASHES and written.startswith("."):
        joined = os.path.normpath(f"{folder}/{written}").lstrip("/")
        return _segments(joined, language), True
    if language == "python" and written.startswith("."):
        name = written.lstrip(".")
        folders = folder.split("/") if folder else []
        kept = folders[: max(0, len(folders) - (len(written) - len(name)) + 1)]
        return (*kept, *_segments(name, language)), True
    return _segments(written, language), False
