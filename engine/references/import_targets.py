"""The files of a project that import statements mean.

A statement means files of the project only where paths or declared names say so; everything else
is another project's. Packages of Go and namespaces of C# are folders, which end with a slash here.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from engine.references.import_statements import C_LIKE, ECMASCRIPT, JVM, statements_of
from engine.syntax.references import Marks

_MOST_IMPORTS = 2000  # of a file
_MOST_NAMES = 200  # of a statement

_ENDINGS = (
    ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte",
    ".astro", ".json",
)  # fmt: skip
_SOURCE_FOLDERS = frozenset({"src", "lib", "python", "include", "source"})
_RUBY_FOLDERS = _SOURCE_FOLDERS | {"app", "spec", "test"}
_JVM_ENDINGS = (".java", ".kt", ".scala", ".groovy")
#: What stands between a module and the modules that are imported from it.
_SEPARATORS: Mapping[str, str] = {**dict.fromkeys(JVM, "."), "php": "\\", "elixir": "."}
_PLAIN_PATH = re.compile(r"[\w./-]+")
#: Languages whose modules are folders.
_FOLDERS = frozenset({"go", "csharp"})

_MANIFESTS: Mapping[str, re.Pattern[bytes]] = {
    "go.mod": re.compile(rb"^module\s+\"?([^\s\"]+)", re.MULTILINE),
    "package.json": re.compile(rb"^\s*\"name\"\s*:\s*\"([^\"]+)\"", re.MULTILINE),
    "Cargo.toml": re.compile(rb"^\[package\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE),
}


class Import(NamedTuple):
    """An import of one module."""

    line: int
    module: str
    names: tuple[str, ...] = ()  # that are imported from it, where they may be modules
    is_deferred: bool = False  # does not run when the file is loaded
    is_part: bool = False  # declares a part of the module itself: ``mod x;``
    is_relative: bool = False  # the path is looked for in the folder of the file


class Target(NamedTuple):
    """What a statement means."""

    paths: tuple[str, ...] = ()  # of the project
    outside: str = ""  # the module of another project
    is_missing: bool = False  # a path that the project does not have


def imports_in(text: bytes, language: str, marks: Marks) -> list[Import]:
    """Return the modules that a text imports, in order.

    Args:
        text: The text.
        language: Of the text.
        marks: Of its comments and literals.
    """
    imports: list[Import] = []
    line, last = 1, 0
    separator = _SEPARATORS.get(language)
    for each in statements_of(text, language, marks)[:_MOST_IMPORTS]:
        line += text.count(b"\n", last, each.start)
        last = each.start
        names = tuple(name.name for name in each.names[:_MOST_NAMES])
        modules = [each.module]
        if names and separator:
            modules = [f"{each.module}{separator}{name}" for name in names]
        names = names if language == "python" else ()
        flags = (each.is_deferred, each.is_part, each.is_relative)
        imports += (Import(line, module, names, *flags) for module in modules)
    return imports


def is_manifest(path: str) -> bool:
    """Return whether a file names a module of the project."""
    return os.path.basename(path) in _MANIFESTS


def node_of(path: str, language: str) -> str:
    """Return what stands for a file in a graph of files."""
    return f"{os.path.dirname(path)}/".lstrip("/") or "./" if language in _FOLDERS else path


class Targets:
    """Finds the files that statements mean.

    Args:
        files: All paths with their languages.
        declared: The names that files declare for themselves, by language and name.
        manifests: The contents of manifests by path.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        declared: Mapping[tuple[str, str], Sequence[str]],
        manifests: Mapping[str, bytes],
    ) -> None:
        self._files = files
        self._declared = declared
        self._by_name: dict[str, list[str]] = {}
        self._folders: set[str] = {""}
        for path in files:
            self._by_name.setdefault(os.path.basename(path), []).append(path)
            folder = os.path.dirname(path)
            while folder not in self._folders:
                self._folders.add(folder)
                folder = os.path.dirname(folder)
        self._manifests: dict[str, list[tuple[str, str]]] = {name: [] for name in _MANIFESTS}
        for path, text in manifests.items():
            found = _MANIFESTS[os.path.basename(path)].search(text)
            if found:
                name = found[1].decode("utf-8", "replace")
                self._manifests[os.path.basename(path)].append((name, os.path.dirname(path)))
        for named in self._manifests.values():
            named.sort(key=lambda each: -len(each[0]))
        self._python_roots = self._roots_of_python()
        self._finders: dict[str, Callable[[str, Import], Target]] = {
            "python": self._python,
            "go": self._go,
            "rust": self._rust,
            "csharp": self._csharp,
            "php": self._php,
            "ruby": self._ruby,
            "swift": self._swift,
            "lua": self._lua,
            "zig": self._zig,
            "bash": self._bash,
            **dict.fromkeys(("elixir", "haskell"), self._by_declaration),
            **dict.fromkeys(ECMASCRIPT, self._ecmascript),
            **dict.fromkeys(C_LIKE, self._include),
            **dict.fromkeys(JVM, self._jvm),
        }

    def of(self, path: str, language: str, imported: Import) -> Target:
        """Return what an import of a file means."""
        finder = self._finders.get(language)
        return finder(path, imported) if finder else Target()

    # Python

    def _roots_of_python(self) -> list[str]:
        """Return the folders that hold packages, the root first."""
        roots = {""}
        for folder in self._folders:
            if self._is_package(folder) and not self._is_package(os.path.dirname(folder)):
                roots.add(os.path.dirname(folder))
            elif os.path.basename(folder) in _SOURCE_FOLDERS:
                roots.add(folder)
        return sorted(roots, key=lambda root: (root.count("/"), root))

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py".lstrip("/") in self._files and folder != ""

    def _python(self, path: str, imported: Import) -> Target:
        name = imported.module.lstrip(".")
        words = [word for word in name.split(".") if word]
        level = len(imported.module) - len(name)
        folder = os.path.dirname(path)
        if level:
            folders = folder.split("/") if folder else []
            kept = folders[: len(folders) - level + 1]
            base = "/".join([*kept, *words])
            found = self._python_at(base, imported.names)
            return Target(found) if found else Target(is_missing=True)
        if not words:
            return Target(is_missing=True)
        near = [each for each in _ancestors(folder) if not self._is_package(each)]
        for root in dict.fromkeys([*near, *self._python_roots]):
            base = "/".join(filter(None, [root, *words]))
            if found := self._python_at(base, imported.names):
                return Target(found)
        packages = ("/".join(filter(None, [root, words[0]])) for root in self._python_roots)
        is_ours = len(words) > 1 and any(map(self._is_package, packages))
        return Target(is_missing=True) if is_ours else Target(outside=words[0])

    def _python_at(self, base: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the modules that a dotted name means below a folder."""
        own = self._first(
            f"{base}.py", f"{base}/__init__.py", f"{base}.pyi", f"{base}/__init__.pyi"
        )
        if base not in self._folders:
            return (own,) if own else ()
        modules = [
            each
            for name in names
            if (each := self._first(f"{base}/{name}.py".lstrip("/"), f"{base}/{name}/__init__.py"))
        ]
        if own and len(modules) < max(len(names), 1):
            modules.append(own)
        return tuple(dict.fromkeys(modules))

    def _first(self, *paths: str) -> str | None:
        return next((path for path in paths if path in self._files), None)

    # JavaScript and TypeScript

    def _ecmascript(self, path: str, imported: Import) -> Target:
        module = imported.module.partition("?")[0]
        if module.startswith("."):
            base = _joined(os.path.dirname(path), module)
            found = self._ecmascript_at(base) if base is not None else None
            return Target((found,)) if found else Target(is_missing=True)
        words = module.split("/")
        size = 2 if module.startswith("@") and len(words) > 1 else 1
        package, rest = "/".join(words[:size]), words[size:]
        for name, folder in self._manifests["package.json"]:
            if name == package:
                found = self._ecmascript_in(folder, rest)
                return Target((found,) if found else (), "" if found else package)
        if module[:2] in ("@/", "~/"):
            for folder in _ancestors(os.path.dirname(path)):
                for inner in ("src/", "app/", ""):
                    base = f"{folder}/{inner}{module[2:]}".lstrip("/")
                    if found := self._ecmascript_at(base):
                        return Target((found,))
        return Target(outside=package)

    def _ecmascript_in(self, folder: str, rest: Sequence[str]) -> str | None:
        """Return the file of a package of the project."""
        for inner in ("", "src", "lib", "dist"):
            base = "/".join(filter(None, [folder, inner, *rest]))
            if found := self._ecmascript_at(base):
                return found
        return None

    def _ecmascript_at(self, base: str) -> str | None:
        if base in self._files:
            return base
        stem, ending = os.path.splitext(base)
        stems = [base, *([stem] if ending in {".js", ".jsx", ".mjs", ".cjs"} else [])]
        for each in stems:
            for more in _ENDINGS:
                if each + more in self._files:
                    return each + more
        return self._first(*(f"{base}/index{each}".lstrip("/") for each in _ENDINGS))

    # Languages with packages and namespaces

    def _go(self, path: str, imported: Import) -> Target:
        module = imported.module
        if module.startswith("."):
            folder = _joined(os.path.dirname(path), module)
            is_ours = folder in self._folders
            return Target((f"{folder}/",)) if is_ours else Target(is_missing=True)
        for name, root in self._manifests["go.mod"]:
            if module == name or module.startswith(f"{name}/"):
                folder = "/".join(filter(None, [root, module[len(name) :].strip("/")]))
                if folder in self._folders:
                    return Target((f"{folder}/" if folder else "./",))
                return Target(is_missing=True)
        words = module.split("/")
        is_hosted = "." in words[0]
        if is_hosted and not self._manifests["go.mod"]:
            for start in range(1, len(words)):
                if (folder := "/".join(words[start:])) in self._folders:
                    return Target((f"{folder}/",))
        return Target(outside="/".join(words[:3]) if is_hosted else module)

    def _jvm(self, path: str, imported: Import) -> Target:
        words = imported.module.strip(".").removesuffix(".*").removesuffix("._").split(".")
        if words[0][:1].isupper():
            return Target()  # the members of an object in scope
        for size in range(len(words), max(len(words) - 3, 0), -1):
            found = self._files_of_class(words[:size]) if size > 1 else []
            package = self._files_of_package(".".join(words[:size]), path, size)
            if found or package:
                named = [each for each in package if _stem(each) == words[-1]]
                return Target((_nearest(found or named or package, path),))
        return Target(outside=".".join(words[:2]))

    def _files_of_class(self, words: Sequence[str]) -> list[str]:
        tail = "/".join(words)
        return [
            each
            for ending in _JVM_ENDINGS
            for each in self._by_name.get(words[-1] + ending, ())
            if f"/{each}".endswith(f"/{tail}{ending}")
        ]

    def _files_of_package(self, package: str, path: str, size: int) -> list[str]:
        """Return the files of a package; one of a single word is meant below its folder only."""
        found = [each for language in JVM for each in self._declared.get((language, package), ())]
        if size == 1:
            top = path.partition("/")[0]
            found = [each for each in found if each.partition("/")[0] == top]
        return found

    def _csharp(self, path: str, imported: Import) -> Target:
        files = self._declared.get(("csharp", imported.module), ())
        folders = sorted({f"{os.path.dirname(each)}/" for each in files})
        if folders:
            return Target((_nearest(folders, path),))
        return Target(outside=".".join(imported.module.split(".")[:2]))

    def _php(self, path: str, imported: Import) -> Target:
        if imported.is_relative:
            return self._relative(path, imported.module.lstrip("/"))
        if "\\" not in imported.module:
            return Target()  # a trait of a class, or a path that is computed
        imported = imported._replace(module=imported.module.lstrip("\\"))
        namespace, _, name = imported.module.rpartition("\\")
        for outer in (namespace, imported.module):
            files = self._declared.get(("php", outer), ())
            named = [each for each in files if _stem(each) == name]
            if named or (files and outer == imported.module):
                return Target((_nearest(named or list(files), path),))
        return Target(outside=imported.module.partition("\\")[0])

    def _by_declaration(self, path: str, imported: Import) -> Target:
        language = self._files[path]
        if imported.module.startswith("__MODULE__"):
            return Target()
        files = self._declared.get((language, imported.module), ())
        if files:
            return Target((_nearest(list(files), path),))
        whole = language == "haskell"
        return Target(outside=imported.module if whole else imported.module.partition(".")[0])

    def _swift(self, path: str, imported: Import) -> Target:
        module = imported.module.partition(".")[0]
        for root in ("Sources", "Tests", ""):
            folder = f"{root}/{module}".lstrip("/")
            if folder in self._folders:
                return Target((f"{folder}/",))
        return Target(outside=module)

    # Languages that name files

    def _rust(self, path: str, imported: Import) -> Target:
        folder, stem = os.path.dirname(path), _stem(path)
        inner = folder if stem in {"mod", "lib", "main"} else f"{folder}/{stem}".lstrip("/")
        if imported.is_part:
            base = f"{inner}/{imported.module}".lstrip("/")
            found = self._first(f"{base}.rs", f"{base}/mod.rs")
            return Target((found,)) if found else Target(is_missing=True)
        words = imported.module.split("::")
        base_folder = self._rust_base(words[0], inner, folder)
        if base_folder is None:
            return self._rust_outside(words, inner, path)
        rest = words[1:]
        while rest and rest[0] == "super":
            base_folder, rest = os.path.dirname(base_folder), rest[1:]
        found = self._rust_at(base_folder, rest)
        if found is None or found == path:
            return Target(is_missing=found is None)
        return Target((found,))

    def _rust_base(self, first: str, inner: str, folder: str) -> str | None:
        """Return the folder at which a path of the own crate begins; None for another crate."""
        if first == "crate":
            roots = (
                each
                for each in _ancestors(folder)
                if self._first(f"{each}/lib.rs".lstrip("/"), f"{each}/main.rs".lstrip("/"))
            )
            return next(roots, folder)
        if first == "self":
            return inner
        return os.path.dirname(inner) if first == "super" else None

    def _rust_outside(self, words: Sequence[str], inner: str, path: str) -> Target:
        base = f"{inner}/{words[0]}".lstrip("/")
        if self._first(f"{base}.rs", f"{base}/mod.rs"):  # a part of this module
            found = self._rust_at(inner, words)
            return Target((found,) if found and found != path else ())
        for name, root in self._manifests["Cargo.toml"]:
            if name.replace("-", "_") == words[0]:
                source = f"{root}/src".lstrip("/")
                found = self._rust_at(source, words[1:])
                return Target((found,) if found else (), "" if found else words[0])
        return Target(outside=words[0])

    def _rust_at(self, folder: str, words: Sequence[str]) -> str | None:
        """Return the file of the longest part of a path that has one."""
        for size in range(len(words), 0, -1):
            base = "/".join(filter(None, [folder, *words[:size]]))
            if found := self._first(f"{base}.rs", f"{base}/mod.rs"):
                return found
        return self._first(
            *(f"{folder}/{name}.rs".lstrip("/") for name in ("lib", "mod", "main")), f"{folder}.rs"
        )

    def _ruby(self, path: str, imported: Import) -> Target:
        module = imported.module
        outside = module.partition("/")[0]
        if imported.is_relative or module.startswith("./"):
            base = _joined(os.path.dirname(path), module)
            own = self._first(f"{base}.rb", str(base))
            return Target((own,)) if own else Target(is_missing=True)
        wanted = f"{module.removesuffix('.rb')}.rb"
        found = self._by_suffix(path, wanted, outside)
        # A file of the load path: another one can have the name of a library.
        root = found.paths[0][: -len(wanted)].rstrip("/") if found.paths else ""
        is_loaded = not root or os.path.basename(root) in _RUBY_FOLDERS
        return found if is_loaded else Target(outside=outside)

    def _lua(self, path: str, imported: Import) -> Target:
        base = imported.module.replace(".", "/")
        first = imported.module.partition(".")[0]
        found = self._by_suffix(path, f"{base}.lua", first)
        return found if found.paths else self._by_suffix(path, f"{base}/init.lua", first)

    def _zig(self, path: str, imported: Import) -> Target:
        if imported.module.endswith(".zig"):
            return self._relative(path, imported.module)
        return Target(outside=imported.module)

    def _bash(self, path: str, imported: Import) -> Target:
        if not _PLAIN_PATH.fullmatch(imported.module):
            return Target()
        base = _joined(os.path.dirname(path), imported.module)
        if base in self._files:
            return Target((str(base),))
        return self._by_suffix(path, os.path.normpath(imported.module), imported.module)

    def _include(self, path: str, imported: Import) -> Target:
        wanted = imported.module
        if imported.is_relative:
            base = _joined(os.path.dirname(path), wanted)
            if base in self._files:
                return Target((str(base),))
        elif "/" not in wanted and wanted not in self._files:
            return Target(outside=wanted)  # a header of the system
        found = self._by_suffix(path, os.path.normpath(wanted).lstrip("./"), wanted)
        return Target(is_missing=True) if imported.is_relative and not found.paths else found

    def _relative(self, path: str, module: str) -> Target:
        base = _joined(os.path.dirname(path), module)
        is_ours = base is not None and base in self._files
        return Target((str(base),)) if is_ours else Target(is_missing=True)

    def _by_suffix(self, path: str, wanted: str, outside: str) -> Target:
        found = [
            each
            for each in self._by_name.get(os.path.basename(wanted), ())
            if f"/{each}".endswith(f"/{wanted}") and each != path
        ]
        return Target((_nearest(found, path),)) if found else Target(outside=outside)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and those around it, down to the root."""
    while folder:
        yield folder
        folder = os.path.dirname(folder)
    yield ""


def _joined(folder: str, relative: str) -> str | None:
    """Return a path from the root; None if it leaves the root."""
    joined = os.path.normpath(f"{folder}/{relative}").lstrip("/")
    if joined.startswith(".."):
        return None
    return "" if joined == "." else joined


def _nearest(paths: Iterable[str], path: str) -> str:
    """Return the path that shares the most folders with another, the shortest of these."""

    def distance(each: str) -> tuple[int, int, str]:
        both = zip(each.split("/")[:-1], path.split("/")[:-1], strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
        return (-shared, len(each), each)

    return min(paths, key=distance)
