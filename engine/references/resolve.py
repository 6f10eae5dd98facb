"""Which definition a use of a name means, by what stands in the text around it.

The rules for a name alone, the first that applies: a local variable, definitions of the file in
scope, the import of the name, inherited members and those of the same package in languages where
these need neither, a name that is defined only once. Those for a name behind a dot stand in
``members.py``. What no rule decides is told as ``name``, with the nearest definitions first if
there are few.
"""

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from engine.reference_records import Certainty, Use
from engine.references.candidates import (
    CALLABLES,
    TYPES,
    Definitions,
    Resolution,
    family_of,
    is_member,
    only,
    scope_of,
)
from engine.references.imports import Module, alias_at, likeness, module_of
from engine.references.members import Members, Names, scopes_of
from engine.references.receivers import Receiver, receiver_at
from engine.references.sources import Occurrence, Source
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow

__all__ = ["Definitions", "Resolution", "Resolver", "aliases_of", "family_of", "scope_of"]

_ECMASCRIPT = family_of("typescript")
_C = family_of("c")
#: Here the members of a class are called without a receiver.
_IMPLICIT_RECEIVER = frozenset(
    {"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby", "groovy"}
)
#: Here files of a folder see each other without an import.
_FOLDER_SCOPE = frozenset({"go", "java", "kotlin", "scala", "swift", "csharp"})
#: Here an import without ``from`` names a module.
_IMPORTS_MODULES = frozenset({"python"})
#: Here a function in a function is seen by nobody outside.
_HIDES_NESTED = _ECMASCRIPT | {"python", "go", "lua"}
#: Here a definition is seen only in the braces around it.
_BLOCKS = _ECMASCRIPT | {"go"}
#: Here local variables and parameters are read.
_LOCALS = (
    _BLOCKS | _C | {"python", "rust", "java", "csharp", "kotlin", "swift", "ruby", "groovy", "zig"}
)
#: Here a method is named by a call, or behind ``::``; in PHP by a call alone.
_CALLED_ONLY = frozenset({"java", "php", "rust"})
_CALLED_BEHIND = re.compile(rb"\s*(?:\(|::\s*<)")  # in macros of Rust no call has a mark
_PATH_BEHIND = re.compile(rb"\s*::")
_COLONS = re.compile(rb"::\s*$")
_WORD = re.compile(rb"[\w$\x80-\xff]+")
_LINE_BYTES = 1000  # before a name that are read
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".def", ".tcc")
_IMPORT_LINE = re.compile(rb"[ \t]*(?:from|import)\b")
_DECORATOR = re.compile(rb"[ \t]*@")
_PACKAGE = re.compile(rb"(?:^|\n)[ \t]*package\s+$")
_STAR_IMPORT = {
    "python": re.compile(rb"^\s*from\s+[\w.]+\s+import\s+\*", re.MULTILINE),
    "go": re.compile(rb"^\s*(?:import\s+)?\.\s+\"", re.MULTILINE),
}
_DOT_OF_GO = re.compile(rb"\.\s+\"")
_ECMASCRIPT_MODULE = re.compile(rb"^\s*(?:import\b|export\b)|\brequire\(", re.MULTILINE)
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:[^>\"\n]*/)?([^>\"\n/]+)[>\"]", re.M)
_TAG = re.compile(rb"\b(?:struct|union|enum)\s+$")
_TAGGED = frozenset({"struct", "enum"})
#: Here type parameters stand in ``<…>``, and begin with a capital.
_TYPE_PARAMETERS = _ECMASCRIPT | {"csharp", "java", "kotlin", "rust", "swift"}
#: Here what is private is not seen in other files.
_PRIVATE_IN_FILE = frozenset({"java", "kotlin", "swift", "csharp"})
_PRIVATE = re.compile(r"\bprivate\s")
_GLOB_OF_RUST = re.compile(rb"\b(\w+)\s*::\s*(?:\{[^{};]*)?\*\s*[,;}]")
_STATIC = re.compile(r"\bstatic\b")


class _Import(NamedTuple):
    """What an import of the name means."""

    offset: int
    alias: str | None  # the other name that it gets
    resolution: Resolution
    start: int  # of the function in which it stands, or of the file
    end: int


class Resolver:
    """Resolves the uses of a name in one file.

    Args:
        source: The file.
        name: The name.
        definitions: All definitions of the name on the branch.
        occurrences: Of the name in the file.
        names: Other definitions of the branch, for the types of what is called or inherited.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        definitions: Sequence[SymbolRow] | Definitions,
        occurrences: Sequence[Occurrence],
        names: Names | None = None,
    ) -> None:
        self._source = source
        self._name = name
        self._said = name.encode()
        known = definitions if isinstance(definitions, Definitions) else Definitions(definitions)
        self._candidates = known.of(source.language)
        self._has_own = source.language in _IMPLICIT_RECEIVER
        self._members = Members(source, name, self._candidates, names)
        self._occurrences = occurrences
        self._defined = {each.offset for each in occurrences if each.use is Use.DEFINITION}
        self._offsets = [
            each.offset for each in occurrences if each.use in {Use.USE, Use.TYPE, Use.INHERIT}
        ]
        self._imports = list(self._read_imports()) if self._candidates.rows else []
        self._free: Resolution | None = None

    def of(self, occurrence: Occurrence) -> Resolution:
        """Return what an occurrence means."""
        candidates = self._candidates
        if not candidates.rows:
            return Resolution(Certainty.NAME, ())
        if occurrence.use is Use.DEFINITION:
            return self._of_definition(occurrence)
        if occurrence.use is Use.TEXT:
            is_one = len(candidates.rows) == 1
            return Resolution(Certainty.NAME, candidates.rows if is_one else ())
        if occurrence.use is Use.IMPORT:
            own = [each for each in self._imports if each.offset == occurrence.offset]
            return own[0].resolution if own else only(candidates.near(self._source.path))
        if self._is_renamed_to_itself(occurrence.offset):
            return self._imported(occurrence.offset) or Resolution(Certainty.NAME, ())
        if self._is_no_reference(occurrence):
            return Resolution(Certainty.NAME, ())
        around = self._source.enclosing(occurrence.offset)
        receiver = receiver_at(self._source, occurrence.offset)
        if receiver is None:
            found = self._of_bare(around, occurrence)
        else:
            found = self._members.of(receiver, around, occurrence)
        if found.targets and self._is_field(receiver, occurrence):
            fields = tuple(each for each in found.targets if each.kind not in CALLABLES)
            if len(fields) < len(found.targets):
                return Resolution(found.certainty if fields else Certainty.NAME, fields)
        return found

    def _is_field(self, receiver: Receiver | None, occurrence: Occurrence) -> bool:
        """Return whether a name can mean no method, which the language would call there."""
        source, offset = self._source, occurrence.offset
        if source.language not in _CALLED_ONLY or occurrence.use is not Use.USE:
            return False
        end = offset + len(self._said)
        if _CALLED_BEHIND.match(source.text, end):
            return False
        if source.language == "rust":
            if _PATH_BEHIND.match(source.text, end):
                return True  # a module or a type
            if receiver is None:
                return False  # a function is a value
        before = source.text[max(0, offset - 20) : offset]
        return source.language == "php" or _COLONS.search(before) is None

    def _near(self, rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
        return self._candidates.near_of(self._source.path, rows)

    def _of_definition(self, occurrence: Occurrence) -> Resolution:
        line = self._source.line_of(occurrence.offset)
        own = [
            each
            for each in self._candidates.by_path.get(self._source.path, ())
            if each.line_start <= line <= each.line_end
        ]
        rows = tuple(own[-1:]) or self._candidates.near(self._source.path)[:1]
        return Resolution(Certainty.EXACT, rows)

    def _is_no_reference(self, occurrence: Occurrence) -> bool:
        """Return whether it is a key, a keyword argument, a part of a name, or a module."""
        source, offset = self._source, occurrence.offset
        if source.language in _ECMASCRIPT and source.text[offset - 1 : offset] == b"#":
            return True  # the name of a private member has the sign
        if occurrence.use is not Use.USE:
            return False
        if source.language == "python":
            start = source.text.rfind(b"\n", max(0, offset - _LINE_BYTES), offset) + 1
            if _IMPORT_LINE.match(source.text, start, offset):
                return True
        elif source.language == "go" and _PACKAGE.search(source.text, max(0, offset - 20), offset):
            return True
        return source.scopes.is_key(self._said, offset)

    def _is_renamed_to_itself(self, offset: int) -> bool:
        """Return whether it is the second name in ``import name as name``."""
        before = b"%s as " % self._said
        return bool(self._imports) and self._source.text.endswith(before, 0, offset)

    def _read_imports(self) -> Iterable[_Import]:
        """Resolve the imports of the name in this file."""
        source = self._source
        for occurrence in self._occurrences:
            if occurrence.use is not Use.IMPORT:
                continue
            module = module_of(source.text, occurrence.offset, source.language, source.path)
            if exported := self._members.imported(occurrence.offset):
                found = exported
            elif module:
                found = self._of_module(module)
            elif source.language in _IMPORTS_MODULES:  # `import json` names no definition
                found = Resolution(Certainty.NAME, ())
            else:
                found = only(self._candidates.near(source.path))
            around = source.enclosing(occurrence.offset)
            start, end = (0, len(source.text))
            if source.language == "python" and around and around.kind in CALLABLES:
                start, end = around.byte_start, around.byte_end
            alias = alias_at(source.text, occurrence.offset + len(self._said))
            renamed = None if alias == self._name else alias
            yield _Import(occurrence.offset, renamed, found, start, end)

    def _alias_at(self, offset: int) -> str | None:
        """Return the other name that an import gives to the name, if it stands at an offset."""
        if not any(each.alias for each in self._imports):
            return None
        found = _WORD.match(self._source.text, offset)
        written = found[0].decode("utf-8", "replace") if found else self._name
        return written if any(each.alias == written for each in self._imports) else None

    def _imported(self, offset: int, alias: str | None = None) -> Resolution | None:
        """Return what the import of the name, or as an alias, that holds at an offset means."""
        best: _Import | None = None
        for each in self._imports:
            if each.alias != alias or not each.start <= offset < each.end:
                continue
            if best is None or _import_order(each) < _import_order(best):
                best = each
        return best.resolution if best else None

    def _of_module(self, module: Module) -> Resolution:
        """Return the definitions in the files that can be a module."""
        rows = self._candidates.near(self._source.path)
        scored = [(likeness(module, each.path), each) for each in rows]
        most = max((score for score, _ in scored), default=0)
        found = tuple(each for score, each in scored if score == most)
        if not most:
            first = module.segments[:1]  # none: of the crate itself
            is_ours = module.is_whole or not first or first in self._roots()
            # A module of the project may pass on what it imports itself.
            free = [each for each in rows if not is_member(each)]
            return only(free) if is_ours else Resolution(Certainty.NAME, ())
        outer = tuple(each for each in found if not is_member(each)) or found
        is_one = len({each.path for each in outer}) == 1
        return Resolution(Certainty.EXACT if is_one else Certainty.LIKELY, outer)

    def _roots(self) -> set[tuple[str, ...]]:
        """Return the first folders of the paths at hand, with which own modules begin."""
        paths = [self._source.path, *(each.path for each in self._candidates.rows)]
        return {tuple(path.split("/")[at : at + 1]) for path in paths for at in (0, 1)}

    def _of_bare(self, around: SpanRow | None, occurrence: Occurrence) -> Resolution:
        """Resolve a name without a receiver."""
        language = self._source.language
        if alias := self._alias_at(occurrence.offset):
            return self._imported(occurrence.offset, alias) or Resolution(Certainty.NAME, ())
        if any(start <= occurrence.offset < end for start, end in self._type_parameters):
            return Resolution(Certainty.NAME, ())
        around = self._around_decorator(around, occurrence.offset)
        scopes = scopes_of(around)
        visible, width = self._visible(around, scopes, occurrence)
        imported = self._imported(occurrence.offset)
        if self._is_local(occurrence, width, has_import=imported is not None):
            return Resolution(Certainty.NAME, ())
        is_open = language not in _BLOCKS and not any(_is_in(each, scopes) for each in visible)
        if visible and not (is_open and imported):
            return Resolution(Certainty.EXACT, self._near(visible))
        if imported:
            return imported
        if self._has_own and (inherited := self._of_use(self._members.inherited(scopes))):
            return Resolution(Certainty.LIKELY, tuple(inherited))
        if language in _FOLDER_SCOPE and (near := self._of_folder(scopes)):
            return near
        if language in _C:
            return self._of_c(occurrence.offset)
        if self._free is None:
            self._free = self._of_others()
        return self._free

    def _around_decorator(self, around: SpanRow | None, offset: int) -> SpanRow | None:
        """Return what is around a place; a decorator stands outside of what it decorates."""
        if around is None or self._source.language != "python" or around.kind not in CALLABLES:
            return around
        start = self._source.text.rfind(b"\n", max(0, offset - _LINE_BYTES), offset) + 1
        if not _DECORATOR.match(self._source.text, start, offset):
            return around
        return self._source.enclosing(around.byte_start - 1) if around.byte_start else None

    def _visible(
        self, around: SpanRow | None, scopes: Sequence[str], occurrence: Occurrence
    ) -> tuple[list[SymbolRow], int]:
        """Return the definitions of the file that are in scope, and the size of their scope."""
        here = self._candidates.by_path.get(self._source.path, [])
        if not here:
            return [], 0
        size = len(self._source.text)
        here = [each for each in here if self._has_own or not is_member(each)] or [
            each
            for each in here
            if self._source.language == "python"
            and around is not None
            and around.kind in TYPES
            and scope_of(each) == around.qualified_name
        ]
        here = list(self._of_use(self._of_tag(here, occurrence.offset)))
        if self._source.language in _BLOCKS:
            return self._in_blocks(here, occurrence.offset)
        visible = [each for each in here if _is_in(each, scopes)] or [
            each for each in here if self._is_open_type(each)
        ]
        if not visible:
            return [], 0
        inner = max(len(scope_of(each)) for each in visible)
        return [each for each in visible if len(scope_of(each)) == inner], (
            size + 1 if not inner else size
        )

    def _in_blocks(self, here: Sequence[SymbolRow], offset: int) -> tuple[list[SymbolRow], int]:
        """Return the definitions in the innermost block around an offset, and its size."""
        best: list[SymbolRow] = []
        least = 0
        for each in here:
            span = self._source.span(each.id)
            if span is None:
                continue
            start, end = self._source.scopes.block_of(span.byte_start)
            if not start <= offset <= end:
                continue
            if best and end - start > least:
                continue
            if not best or end - start < least:
                best = []
            best.append(each)
            least = end - start
        return best, least

    def _is_local(self, occurrence: Occurrence, width: int, *, has_import: bool) -> bool:
        """Return whether a local variable has the name, in an inner scope than definitions have."""
        if self._source.language not in _LOCALS:
            return False
        if occurrence.use not in {Use.USE, Use.CALL}:
            return False
        binding = self._source.scopes.local_at(self._said, occurrence.offset, self._offsets)
        if binding is None:
            return False
        size = binding.end - binding.start
        if size >= len(self._source.text) and (has_import or width):
            return False
        return not width or size < width

    def _is_open_type(self, row: SymbolRow) -> bool:
        """Return whether a definition of this file is a type that is not local to a function."""
        return row.kind in TYPES and self._source.kinds.get(scope_of(row)) not in CALLABLES

    def _of_use(self, rows: Sequence[SymbolRow]) -> Sequence[SymbolRow]:
        """Leave out constructors, which have the name of their type, if the type is there."""
        if not self._has_own or not self._candidates.types:
            return rows
        return [each for each in rows if each.kind != "constructor"]

    def _of_tag(self, rows: Sequence[SymbolRow], offset: int) -> Sequence[SymbolRow]:
        """Return the structs of C for a name behind ``struct``, else what ``typedef`` names."""
        if self._source.language != "c" or len({each.kind for each in rows}) < 2:
            return rows
        text = self._source.text
        is_tag = _TAG.search(text, max(0, offset - 20), offset) is not None
        return [each for each in rows if (each.kind in _TAGGED) is is_tag] or rows

    @cached_property
    def _type_parameters(self) -> list[tuple[int, int]]:
        """The stretches of the file in which the name is a type parameter."""
        if self._source.language not in _TYPE_PARAMETERS or not self._name[:1].isupper():
            return []
        from engine.references.type_parameters import stretches_of  # for these languages alone

        return stretches_of(self._source, self._name, self._offsets)

    def _of_folder(self, scopes: Sequence[str]) -> Resolution | None:
        """Resolve in the files of the folder, in languages where they see each other."""
        folder = os.path.dirname(self._source.path)
        near = [each for each in self._candidates.by_folder.get(folder, ()) if not is_member(each)]
        if self._has_own:  # what stands in a class of another file is inherited or imported
            near = [each for each in near if _is_in(each, scopes)]
        if self._source.language in _HIDES_NESTED:
            near = [each for each in near if not scope_of(each) or each.kind in TYPES]
        if near:
            return Resolution(Certainty.EXACT, self._near(near))
        star = _STAR_IMPORT.get(self._source.language)
        is_dotted = star is not None and self._has_star(star)
        # Go sees no others without a dot.
        if star and not (is_dotted and all(each.is_exported for each in self._candidates.free)):
            return Resolution(Certainty.NAME, ())
        return None

    def _has_star(self, star: re.Pattern[bytes]) -> bool:
        """Return whether the file imports all names of a module."""
        text = self._source.text
        may = self._source.language != "go" or _DOT_OF_GO.search(text)  # ten times as fast
        return bool(may and star.search(text))

    def _of_c(self, offset: int) -> Resolution:
        """Resolve in the headers, and the functions of other sources that are not static."""
        language = self._source.language
        rows = self._candidates.rows if language == "cpp" else self._candidates.free
        seen = [each for each in rows if self._is_linked(each)]
        seen = list(self._of_tag(seen, offset))
        seen = list(self._of_use(seen))
        if not seen:
            return Resolution(Certainty.NAME, ())
        if any(map(is_member, seen)):
            return only(self._near(seen))
        included = self._included
        direct = [each for each in seen if os.path.basename(each.path) in included]
        stems = {os.path.splitext(each.path)[0] for each in direct or seen}
        files = {os.path.splitext(each.path)[0] for each in seen}
        near = self._near(seen)
        first = [each for each in near if each in direct]
        others = [each for each in near if each not in first]
        is_sure = len(seen) == 1 or len(files) == 1
        if any(each.kind != "function" for each in first) or not others:
            ordered = (*first, *others)
        elif len({each.path for each in others}) == 1:  # the function of the prototype
            ordered = (*others, *first)
        else:
            defined = [each for each in others if os.path.splitext(each.path)[0] in stems]
            ordered = (*defined, *first, *(each for each in others if each not in defined))
        return Resolution(Certainty.EXACT if is_sure else Certainty.LIKELY, ordered)

    def _is_linked(self, row: SymbolRow) -> bool:
        """Return whether another source can see a definition of C."""
        if row.path == self._source.path or row.path.endswith(_HEADERS):
            return True
        return row.kind in {"function", "variable"} and not _STATIC.search(row.signature)

    @cached_property
    def _included(self) -> frozenset[str]:
        """The names of the files that the file includes."""
        found = _INCLUDE.findall(self._source.text)
        return frozenset(os.path.basename(each.decode("utf-8", "replace")) for each in found)

    def _of_others(self) -> Resolution:
        """Resolve among the definitions of other files that need no import."""
        language = self._source.language
        rows = self._candidates.rows if self._has_own else self._candidates.free
        free = [each for each in self._of_use(rows) if not self._is_private(each)]
        if language in _HIDES_NESTED:
            free = [each for each in free if not scope_of(each) or each.kind in TYPES]
        found = only(self._near(free))
        if found.certainty is Certainty.NAME or not self._needs_import(free):
            return found
        return Resolution(Certainty.NAME, found.targets)

    def _is_private(self, row: SymbolRow) -> bool:
        """Return whether a definition is seen in its own file alone."""
        if self._source.language not in _PRIVATE_IN_FILE or row.path == self._source.path:
            return False
        return _PRIVATE.search(row.signature) is not None

    def _needs_import(self, rows: Sequence[SymbolRow]) -> bool:
        """Return whether the file would have to import definitions to see them."""
        source = self._source
        if source.language in _ECMASCRIPT:
            is_global = all(each.path.endswith(".d.ts") for each in rows)
            return not is_global and _ECMASCRIPT_MODULE.search(source.text) is not None
        if source.language == "python":
            return _STAR_IMPORT["python"].search(source.text) is None
        if source.language == "rust":
            return any(each.kind != "macro" for each in rows) and not self._has_glob(rows)
        return False

    def _has_glob(self, rows: Sequence[SymbolRow]) -> bool:
        """Return whether a file of Rust imports all names of modules that can have definitions."""
        named = {module for module in _GLOB_OF_RUST.findall(self._source.text) if module}
        scopes = {scope_of(each).rpartition(".")[2].encode() for each in rows}
        return bool(named) and (b"" in scopes or not scopes.isdisjoint(named))


def _is_in(row: SymbolRow, scopes: Sequence[str]) -> bool:
    """Return whether a definition stands in one of the scopes around a place, or in none."""
    return scope_of(row) in ("", *scopes)


def aliases_of(source: Source, name: str, occurrences: Sequence[Occurrence]) -> frozenset[str]:
    """Return the other names that a file gives to an imported name."""
    size = len(name.encode())
    found = (
        alias_at(source.text, occurrence.offset + size)
        for occurrence in occurrences
        if occurrence.use is Use.IMPORT
    )
    return frozenset(each for each in found if each and each != name)


def _import_order(each: _Import) -> tuple[int, int]:
    """Sort the imports of the innermost function first, then the most certain."""
    return (each.end - each.start, list(Certainty).index(each.resolution.certainty))
