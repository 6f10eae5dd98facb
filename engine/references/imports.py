"""What an import says: the module that a name comes from, and the files that can be this module."""

import functools
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

_WINDOW_BYTES = 4000  # of a statement over several lines
_FROM_BEFORE = re.compile(rb"(?s:.*)\bfrom\s+(\.*[\w.]*)\s+import\b[^;=:]*$")
_COMMENT = re.compile(rb"#[^\n]*")
_FROM_BEHIND = re.compile(rb"[^;]*?\bfrom\s*([\"'])([^\"'\n]+)\1")
_USE = re.compile(rb"(?s:.*)\buse\s+([^;]*)$")
_GROUP = re.compile(rb"\{[^{}]*\}")
_SEGMENT = re.compile(rb"(\w+)::")
_CHAIN = re.compile(rb"(?<![\w.\\$])([\w.\\$]+)[.\\]\s*\{?[^\n;{}]*$")
_ALIAS = re.compile(rb"\s+as\s+([\w\x80-\xff]+)")
_WORD = re.compile(r"\w+")
_ECMASCRIPT_NAME = re.compile(rb"[\w$\x80-\xff]+")
_RENAMED = re.compile(rb"(\*|[\w$\x80-\xff]+)\s*\bas\s+$")
_NAME_BYTES = 200
_LINE_BYTES = 1000  # before a name that are read
_WORD_CHAR = re.compile(rb"\w")
_BEFORE_AS = re.compile(rb"[\w.]+$")
_IMPORTING = re.compile(rb"\b(?:import|use|require|from|alias|include)\b")
_ALONE_BEFORE = re.compile(rb"\n[ \t]+$")
_ALONE = re.compile(rb",?\s*$", re.MULTILINE)
#: Of a line of Python that imports modules: one, its other name, or those of a package.
_MODULE_LINE = re.compile(
    rb"^[^\S\n]*(?:import[^\S\n]+(?:([\w\x80-\xff]+)(?:[\w.]*[^\S\n]+as[^\S\n]+(\w+))?)"
    rb"|from[^\S\n]+\.*[^\S\n]+import\s([^\n]*))",
    re.MULTILINE,
)
_NAME = re.compile(rb"[\w\x80-\xff]+")
_GO_IMPORT = re.compile(
    rb"(?:[ \t]+|import[ \t]+)(?:([\w.]+)[ \t]+)?\"([^\"\s]+)\"[ \t]*(?:$|\n|/)"
)
_GO_VERSION = re.compile(r"/v\d+$")

_ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
_CHAINED = frozenset({"java", "kotlin", "scala", "csharp", "php", "haskell", "elixir", "groovy"})
#: Files that stand for their folder.
_FOLDER_FILES = frozenset({"__init__", "index", "mod", "lib", "main", "package"})
#: Words of a path in an import that name no folder.
_RELATIVE = frozenset({"crate", "self", "super"})


class Module(NamedTuple):
    """The module of an import."""

    segments: tuple[str, ...]
    is_whole: bool = False  # from the root of the project on, as relative imports resolve
    is_package: bool = False  # the first segment is a package, whose folders need not all be named


def module_of(text: bytes, offset: int, language: str, path: str) -> Module | None:
    """Return the module from which the name at an offset is imported, or None if it is not said.

    Args:
        text: The text with the import.
        offset: Of the imported name.
        language: Of the text.
        path: Of the file, for relative imports.
    """
    before = text[max(0, offset - _WINDOW_BYTES) : offset]
    if language == "python":
        found = _FROM_BEFORE.search(_COMMENT.sub(b"", before))
        return _python_module(found[1].decode("utf-8", "replace"), path) if found else None
    if language in _ECMASCRIPT:
        behind = _FROM_BEHIND.match(text, offset, offset + _WINDOW_BYTES)
        return ecmascript_module(behind[2].decode("utf-8", "replace"), path) if behind else None
    if language == "rust":
        used = _USE.search(before)
        if used is None:
            return None
        chain = used[1]
        while (shorter := _GROUP.sub(b"", chain)) != chain:
            chain = shorter
        # What stands between an open brace and the comma before it leads to the name.
        steps = [part.rpartition(b",")[2] for part in chain.split(b"{")]
        words = [
            word.decode("utf-8", "replace") for step in steps for word in _SEGMENT.findall(step)
        ]
        return Module(tuple(word for word in words if word not in _RELATIVE))
    if language in _CHAINED:
        line = _CHAIN.search(before[before.rfind(b"\n") + 1 :])
        return Module(tuple(_WORD.findall(line[1].decode("utf-8", "replace")))) if line else None
    return None


def specifier_of(text: bytes, offset: int) -> tuple[str, str] | None:
    """Return the module and the name there of a name that JavaScript imports.

    The name of a default import is ``default``, that of a whole module ``*``.
    """
    behind = _FROM_BEHIND.match(text, offset, offset + _WINDOW_BYTES)
    name = _ECMASCRIPT_NAME.match(text, offset)
    if behind is None or name is None:
        return None
    before = text[max(0, offset - _WINDOW_BYTES) : offset]
    renamed = _RENAMED.search(before[-_NAME_BYTES:])
    module = behind[2].decode("utf-8", "replace")
    if renamed:
        return module, renamed[1].decode("utf-8", "replace")
    start = max(before.rfind(b"import"), before.rfind(b"export"))
    if before.find(b"{", max(start, 0)) < 0:
        return module, "default"
    return module, name[0].decode("utf-8", "replace")


def alias_at(text: bytes, end: int) -> str | None:
    """Return the name that ``as`` gives to the imported name that ends there, or None."""
    found = _ALIAS.match(text, end, end + 200)
    return found[1].decode("utf-8", "replace") if found else None


def imported_as(text: bytes, alias: str) -> str | None:
    """Return the name that an import of a text gives another name, or None."""
    found = re.search(rb"([\w\x80-\xff]+)\s+as\s+%s\b" % re.escape(alias.encode()), text)
    return found[1].decode("utf-8", "replace") if found else None


def module_named(text: bytes, name: str) -> str:
    """Return the module that a name stands for: ``np`` is ``numpy`` after ``import … as``."""
    said = name.encode()
    at = text.find(b" as " + said)
    while at >= 0:
        end = at + 4 + len(said)
        found = _BEFORE_AS.search(text, max(0, at - _NAME_BYTES), at)
        if found and not _WORD_CHAR.match(text, end):
            return found[0].decode("utf-8", "replace").rpartition(".")[2]
        at = text.find(b" as " + said, end)
    return name


def says_module(text: bytes, module: str) -> bool:
    """Return whether an import of a text says the name of a module.

    Python has it last or behind ``from``, Go and JavaScript at the end of a literal, Rust and
    others before ``::`` or a dot.
    """
    return any(
        _IMPORTING.search(text, _start_of(text, at, b";"), at)
        or (text[at - 1 : at] in {b"/", b'"', b"'"} and text[end : end + 1] in {b'"', b"'"})
        or (_ALONE_BEFORE.search(text, max(0, at - _NAME_BYTES), at) and _ALONE.match(text, end))
        for at, end in _words(text, module)
    )


def imported_modules(text: bytes) -> frozenset[str]:
    """Return the names under which a text of Python imports modules."""
    found: set[bytes] = set()
    for name, alias, names in _MODULE_LINE.findall(text):
        found |= {name, alias, *_NAME.findall(names)}
    return frozenset(each.decode("utf-8", "replace") for each in found if each)


def go_import(text: bytes, package: str) -> str | None:
    """Return the path from which a text of Go imports a package, by its alias or last folder."""
    for at, end in _words(text, package):
        line = _GO_IMPORT.match(text, _start_of(text, at), end + _NAME_BYTES)
        if line is None:
            continue
        alias, path = line[1], line[2].decode("utf-8", "replace")
        if alias == package.encode() or (
            not alias and _GO_VERSION.sub("", path).rpartition("/")[2] == package
        ):
            return path
    return None


def _start_of(text: bytes, at: int, mark: bytes = b"\n") -> int:
    """Return where the line or the statement around a place begins, not far before it."""
    least = max(0, at - _LINE_BYTES)
    return max(text.rfind(b"\n", least, at) + 1, text.rfind(mark, least, at) + 1, least)


def _words(text: bytes, word: str) -> Iterator[tuple[int, int]]:
    said = word.encode()
    at = text.find(said) if said else -1
    while at >= 0:
        end = at + len(said)
        if not (at and _WORD_CHAR.match(text, at - 1)) and not _WORD_CHAR.match(text, end):
            yield at, end
        at = text.find(said, end)


@functools.lru_cache(maxsize=8192)
def path_segments(path: str) -> tuple[str, ...]:
    """Return the folders and the stem of a path; of a file that stands for its folder, these."""
    segments = os.path.splitext(path)[0].split("/")
    if segments[-1].endswith(".d"):  # declarations of TypeScript
        segments[-1] = segments[-1][:-2]
    if segments[-1] in _FOLDER_FILES and len(segments) > 1:
        segments.pop()
    return tuple(segments)


@functools.lru_cache(maxsize=16384)
def likeness(module: Module, path: str) -> int:
    """Return how well a file can be a module: 2 if it is called so, 1 if it lies within, else 0."""
    wanted, segments = module.segments, path_segments(path)
    if module.is_whole:
        if segments == wanted:
            return 2
        return int(segments[: len(wanted)] == wanted)
    if not wanted:
        return 0
    size = len(wanted)
    if segments[-size:] == wanted:
        return 2
    if any(segments[at : at + size] == wanted for at in range(len(segments) - size + 1)):
        return 1
    if module.is_package:
        left = iter(segments)
        return int(all(word in left for word in wanted))
    # The first words can name the package, which lies in a folder of another name.
    rest = wanted[1:]
    return int(bool(rest) and segments[-len(rest) :] == rest)


def _python_module(dotted: str, path: str) -> Module:
    name = dotted.lstrip(".")
    words = [word for word in name.split(".") if word]
    if level := len(dotted) - len(name):
        folders = path.split("/")[:-1]
        return Module((*folders[: len(folders) - level + 1], *words), is_whole=True)
    return Module(tuple(words))


def ecmascript_module(specifier: str, path: str) -> Module:
    """Return the module that a file names in an import of JavaScript or TypeScript."""
    if specifier.startswith("."):
        joined = os.path.normpath(f"{os.path.dirname(path)}/{specifier}").lstrip("/")
        return Module(_without_ending(joined), is_whole=True)
    words = [word for word in specifier.lstrip("~#").split("/") if word]
    if words and words[0].startswith("@"):  # @scope/package: nothing is in a folder of the scope
        words = words[1:]
    return Module(_without_ending("/".join(words)), is_package=True)


def _without_ending(path: str) -> tuple[str, ...]:
    stem, ending = os.path.splitext(path)
    known = ending in {".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".vue", ".svelte"}
    segments = (stem if known else path).split("/")
    if len(segments) > 1 and segments[-1] == "index":
        segments = segments[:-1]
    return tuple(each for each in segments if each != ".")
