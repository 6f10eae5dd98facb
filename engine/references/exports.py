"""What modules of JavaScript and TypeScript export, followed through the files that pass it on."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.references.import_statements import COMMENT, ECMASCRIPT, statements_of
from engine.references.sources import Source

_MOST_STEPS = 200  # of one name, from module to module
_MOST_STATEMENTS = 2000  # of a file
_CLAUSE_BYTES = 4000
_ALL = "*"

_BRACES = re.compile(rb"\{([^{}]*)\}")
_STAR = re.compile(rb"\*(?:\s*as\s+([\w$\x80-\xff]+))?")
_ITEM = re.compile(
    rb"(?:\btype\s+(?!as\b))?([\w$\x80-\xff]+)(?:\s+as\s+([\w$\x80-\xff]+))?\s*(?:,|$)"
)
_DEFAULT_IMPORT = re.compile(rb"\s*(?:type\s+(?!from\b))?([\w$\x80-\xff]+)\s*(?:,|$)")
_OWN_LIST = re.compile(rb"\bexport\s*(?:type\s*)?(\{[^{}]{0,8000}+\})(?!\s*from\b)")
_OWN_DEFAULT = re.compile(
    rb"\bexport\s+default\s+(?:(?:async|abstract)\s+)?(?:(?:function\s*\*?|class|interface)\s+)?"
    rb"([\w$\x80-\xff]+)"
)
_ENDINGS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue")
#: The sources of what is imported with these endings.
_COMPILED = {".js": ("", ".ts", ".tsx", ".d.ts"), ".jsx": ("", ".tsx"), ".mjs": ("", ".mts"),
             ".cjs": ("", ".cts")}  # fmt: skip
_PACKAGE_NAME = re.compile(rb"^\s*\"name\"\s*:\s*\"([^\"]+)\"", re.MULTILINE)
_PATHS = re.compile(rb"\"paths\"\s*:\s*\{([^{}]{0,8000}+)\}")
_PATH = re.compile(rb"\"([^\"\n]+)\"\s*:\s*\[\s*\"([^\"\n]+)\"")
_BASE_URL = re.compile(rb"\"baseUrl\"\s*:\s*\"([^\"\n]+)\"")


class Exported(NamedTuple):
    """A definition that a module exports, or a whole module."""

    path: str
    name: str  # empty: the module


class _Passed(NamedTuple):
    """A name that comes from another module, or from the file itself."""

    name: str  # there; ``*`` is the module
    module: str  # empty: of the file itself


@dataclass(slots=True)
class _Table:
    """What the statements of a file import and export."""

    imports: dict[str, _Passed] = field(default_factory=dict)
    exports: dict[str, _Passed] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)


class Modules:
    """Finds what names of modules mean, within one snapshot.

    Args:
        source: Returns a file of the branch.
    """

    def __init__(self, source: Callable[[str], Source | None]) -> None:
        self._source = source
        self._has: dict[str, bool] = {}
        self._tables: dict[str, _Table] = {}
        self._files: dict[tuple[str, str], str | None] = {}
        self._found: dict[tuple[str, str], Exported | None] = {}

    def of_import(self, path: str, module: str, name: str) -> Exported | None:
        """Return what a name means that a file imports from a module, as far as it is known."""
        file = self.file_of(path, module)
        if file is None:
            return None
        return Exported(file, "") if name == _ALL else self.exported(file, name)

    def named(self, path: str, name: str) -> Exported | None:
        """Return what an imported name of a file means."""
        imported = self._table(path).imports.get(name)
        return self.of_import(path, imported.module, imported.name) if imported else None

    def namespace_of(self, path: str, name: str) -> str | None:
        """Return the module that a file imports as a whole under a name."""
        imported = self._table(path).imports.get(name)
        return imported.module if imported and imported.name == _ALL else None

    def has_import(self, path: str, name: str) -> bool:
        """Return whether a file imports something under a name."""
        return name in self._table(path).imports

    def exported(self, path: str, name: str) -> Exported | None:
        """Return what a file exports under a name, or None if that is not known."""
        key = (path, name)
        if key not in self._found:
            self._found[key] = self._follow(path, name, set())
        return self._found[key]

    def defines(self, path: str, name: str) -> bool:
        """Return whether a file has a definition of a name that stands in no other."""
        source = self._source(path)
        return source is not None and source.span_of(name) is not None

    def _follow(self, path: str, name: str, seen: set[tuple[str, str]]) -> Exported | None:
        if (path, name) in seen or len(seen) >= _MOST_STEPS:
            return None
        seen.add((path, name))
        table = self._table(path)
        passed = table.exports.get(name)
        if passed is None and self.defines(path, name):
            return Exported(path, name)
        if passed is not None:
            if not passed.module:
                if self.defines(path, passed.name):
                    return Exported(path, passed.name)
                passed = table.imports.get(passed.name)
            return self._pass(path, passed, seen) if passed else None
        if name == "default":
            return None
        found = (self._pass(path, _Passed(name, module), seen) for module in table.stars)
        return next((each for each in found if each), None)

    def _pass(self, path: str, passed: _Passed, seen: set[tuple[str, str]]) -> Exported | None:
        file = self.file_of(path, passed.module)
        if file is None:
            return None
        return Exported(file, "") if passed.name == _ALL else self._follow(file, passed.name, seen)

    def _table(self, path: str) -> _Table:
        if path not in self._tables:
            source = self._source(path)
            is_read = source is not None and source.language in ECMASCRIPT
            self._tables[path] = _read(source) if source and is_read else _Table()
        return self._tables[path]

    def file_of(self, path: str, module: str) -> str | None:
        """Return the file that a module means in a file, or None if the project has none."""
        key = (os.path.dirname(path), module)
        if key not in self._files:
            self._files[key] = next(self._files_of(*key), None)
        return self._files[key]

    def _files_of(self, folder: str, module: str) -> Iterator[str]:
        if module.startswith("."):
            yield from self._at(os.path.normpath(f"{folder}/{module}").lstrip("/"))
            return
        folders = _ancestors(folder)
        for base in self._mapped(folders, module):
            yield from self._at(base)
        words = module.split("/")
        size = 2 if module.startswith("@") and len(words) > 1 else 1
        package = "/".join(words[:size])
        last = words[size - 1]
        for outer in folders:
            for inner in ("", last, f"packages/{last}"):
                root = f"{outer}/{inner}".strip("/")
                if self._package(root) == package:
                    for start in ("src", "", "lib"):
                        yield from self._at("/".join(filter(None, [root, start, *words[size:]])))
        if module[:2] in ("@/", "~/"):
            for outer in folders:
                for inner in ("src", "app", ""):
                    yield from self._at("/".join(filter(None, [outer, inner, module[2:]])))

    def _mapped(self, folders: list[str], module: str) -> Iterator[str]:
        """Yield the paths that ``paths`` of a ``tsconfig.json`` give a module."""
        for folder in folders:
            text = self._text_of(f"{folder}/tsconfig.json")
            paths = _PATHS.search(text)
            if paths is None:
                continue
            base = _BASE_URL.search(text)
            root = f"{folder}/{_text(base[1]) if base else ''}"
            for pattern, target in _PATH.findall(paths[1]):
                start, star, _ = _text(pattern).partition("*")
                if module == start or (star and module.startswith(start)):
                    inner = _text(target).replace("*", module[len(start) :])
                    yield os.path.normpath(f"{root}/{inner}").lstrip("/")

    def _package(self, folder: str) -> str | None:
        found = _PACKAGE_NAME.search(self._text_of(f"{folder}/package.json"))
        return _text(found[1]) if found else None

    def _text_of(self, path: str) -> bytes:
        """Return the text of a file; empty if there is none."""
        path = path.lstrip("/")
        source = self._source(path) if self._exists(path) else None
        return source.text if source else b""

    def _at(self, base: str) -> Iterator[str]:
        """Yield the files that a path without its ending can mean."""
        stem, ending = os.path.splitext(base)
        names = [f"{stem}{each}" if each else base for each in _COMPILED.get(ending, ())]
        if ending in _ENDINGS and not names:
            names = [base]
        names += [base + each for each in _ENDINGS] if ending not in _COMPILED else []
        names += [f"{base}/index{each}" for each in (".ts", ".tsx", ".js", ".d.ts", ".mjs")]
        yield from (each for each in names if self._exists(each))

    def _exists(self, path: str) -> bool:
        if path not in self._has:
            self._has[path] = self._source(path) is not None
        return self._has[path]


def _read(source: Source) -> _Table:
    table = _Table()
    text = source.text
    for statement in statements_of(text, source.language, source.marks)[:_MOST_STATEMENTS]:
        least = max(0, statement.start - _CLAUSE_BYTES)
        starts = {word: text.rfind(word, least, statement.start) for word in (b"import", b"export")}
        word, start = max(starts.items(), key=lambda pair: pair[1])
        end = text.rfind(b"from", least, statement.start)
        if start < 0 or end < start:
            continue
        clause = COMMENT.sub(b" ", text[start + len(word) : end]).strip()
        names = table.imports if word == b"import" else table.exports
        for local, passed in _names_of(clause, statement.module, is_import=word == b"import"):
            if local:
                names.setdefault(local, passed)
            else:
                table.stars.append(statement.module)
    for own in _OWN_LIST.finditer(text):
        if not source.marks.is_text(own.start()):
            for name, given in _items(COMMENT.sub(b" ", own[1])):
                table.exports.setdefault(given, _Passed(name, ""))
    for default in _OWN_DEFAULT.finditer(text):
        if not source.marks.is_text(default.start()):
            table.exports.setdefault("default", _Passed(_text(default[1]), ""))
    return table


def _names_of(clause: bytes, module: str, *, is_import: bool) -> Iterator[tuple[str, _Passed]]:
    """Yield the names of a clause; an empty one for ``export *``."""
    for star in _STAR.finditer(clause):
        yield _text(star[1] or b""), _Passed(_ALL, module)
    for name, given in _items(clause):
        yield given, _Passed(name, module)
    default = _DEFAULT_IMPORT.match(clause) if is_import else None
    if default:
        yield _text(default[1]), _Passed("default", module)


def _items(clause: bytes) -> Iterator[tuple[str, str]]:
    """Yield the names between braces, each with the name that it gets."""
    for braces in _BRACES.finditer(clause):
        for item in _ITEM.finditer(braces[1].strip()):
            yield _text(item[1]), _text(item[2] or item[1])


def _ancestors(folder: str) -> list[str]:
    """Return a folder and those around it, the innermost first."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:size]) for size in range(len(parts), -1, -1)]


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")
