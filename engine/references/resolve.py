"""Which definition a use of a name means, by what stands in the text around it.

The rules for a name behind a dot, the first that applies: ``self`` and the classes around, a type
or a module of the receiver's name, a variable whose type the file says, a member that is defined
only once. For a name alone: definitions of the file in scope, the import of the name, inherited
members and those of the same package in languages where these need neither, a name that is defined
only once. What no rule decides is told as ``name``, with the nearest definitions first if there are
few.
"""

import os
import re
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from engine.reference_records import Certainty, Use
from engine.references.imports import Module, alias_at, likeness, module_of, path_segments
from engine.references.sources import CALLABLES, Occurrence, Source
from engine.search.features import is_test
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow

_FAMILIES = (
    frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"}),
    frozenset({"c", "cpp", "objective-c"}),
    frozenset({"java", "kotlin", "scala", "groovy"}),
    frozenset({"ocaml", "ocaml-interface"}),
    frozenset({"elixir", "template"}),
)
_MEMBERS = frozenset({"method", "constructor", "property", "field"})
_TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
_OWN = frozenset({"self", "this", "cls", "Self", "@", "$this", "static", "base", "super", "parent"})
_ABOVE = frozenset({"super", "base", "parent"})
#: Here the members of a class are called without a receiver.
_IMPLICIT_RECEIVER = frozenset(
    {"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby", "groovy"}
)
#: Here files of a folder see each other without an import.
_FOLDER_SCOPE = frozenset({"go", "java", "kotlin", "scala", "swift", "csharp"})
#: Here an import without ``from`` names a module.
_IMPORTS_MODULES = frozenset({"python"})
#: Here a function in a function is seen by nobody outside.
_HIDES_NESTED = frozenset({"python", "javascript", "typescript", "tsx", "go", "lua"})
#: Here the type of a parameter stands before its name.
_TYPE_FIRST = frozenset({"java", "c", "cpp", "csharp", "php", "groovy"})
#: Methods of what every language brings along: a single definition of such a name proves nothing.
EVERYDAY_NAMES = frozenset(
    """add all any append apply bind call catch clear clone close collect contains copy count
    default delete drop each end entries equals error every exec exists extend fetch filter find
    flush forEach format from get group has hasNext hash hashCode head index indexOf info init
    insert into is_empty isEmpty items iter join keys last len length list load lock log map match
    max merge min name new next open parse pop print push put read remove replace reset resolve
    reverse run save search send set size skip slice some sort split start stop strip sub sum
    tail take test then to_s to_string toString trim type unwrap update value values wait warn
    with write zip""".split()
)
_RECEIVER = re.compile(rb"(?:([\w$@\x80-\xff]+)|[)\]}>\"'?])\s*(?:\?\.|!\.|\?->|->|\.|::|\\)\s*$")
_SUPER_CALL = re.compile(rb"\bsuper\s*\([^()]*\)\s*\.\s*$")
_LUA_RECEIVER = re.compile(rb"(?:([\w\x80-\xff]+)|[)\]])\s*[.:]\s*$")
_BEFORE_BYTES = 160
_NAME_BYTES = re.compile(rb"[A-Za-z_][\w]*")
_MOST_TYPES = 20
_MOST_SORTED = 50


class Resolution(NamedTuple):
    """What a use means."""

    certainty: Certainty
    targets: tuple[SymbolRow, ...]  # the likeliest first; several when they are overloads


def scope_of(row: SymbolRow) -> str:
    """Return the qualified name of what is around a definition; empty at top level."""
    return row.qualified_name[: -len(row.name) - 1]


def family_of(language: str) -> frozenset[str]:
    """Return the languages whose code can refer to each other."""
    return next((each for each in _FAMILIES if language in each), frozenset({language}))


class Resolver:
    """Resolves the uses of a name in one file.

    Args:
        source: The file.
        name: The name.
        definitions: All definitions of the name on the branch.
        occurrences: Of the name in the file.
    """

    def __init__(
        self,
        source: Source,
        name: str,
        definitions: Sequence[SymbolRow],
        occurrences: Sequence[Occurrence],
    ) -> None:
        self._source = source
        self._name = name
        family = family_of(source.language)
        candidates = [each for each in definitions if each.language in family]
        # Sorting hundreds of overrides for each of hundreds of files would take most of the time.
        is_sorted = len(candidates) <= _MOST_SORTED
        self._candidates = sorted(candidates, key=self._distance) if is_sorted else candidates
        self._of_receivers: dict[str, Resolution | None] = {}
        self._imported = self._resolve_import(occurrences)

    def of(self, occurrence: Occurrence) -> Resolution:
        """Return what an occurrence means."""
        candidates = self._candidates
        if not candidates:
            return Resolution(Certainty.NAME, ())
        if occurrence.use is Use.DEFINITION:
            line = self._source.line_of(occurrence.offset)
            own = [
                each
                for each in candidates
                if each.path == self._source.path and each.line_start <= line <= each.line_end
            ]
            return Resolution(Certainty.EXACT, tuple(own[-1:]) or tuple(candidates[:1]))
        if occurrence.use is Use.TEXT:
            return Resolution(Certainty.NAME, tuple(candidates[:1]) if len(candidates) == 1 else ())
        if occurrence.use is Use.IMPORT:
            return self._imported or self._only(candidates)
        around = self._source.enclosing(occurrence.offset)
        receiver = self._receiver(occurrence.offset)
        if receiver is None:
            return self._of_bare(around, occurrence)
        return self._of_member(receiver, around, occurrence)

    def _distance(self, row: SymbolRow) -> tuple[bool, int, int, str]:
        """Sort tests last, then by how many folders are shared, then public ones first."""
        both = zip(row.path.split("/"), self._source.path.split("/"), strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
        return (is_test(row.path), -shared, -int(row.is_exported), row.path)

    def _receiver(self, offset: int) -> str | None:
        """Return the name before the dot; empty when it is an expression, None without a dot."""
        pattern = _LUA_RECEIVER if self._source.language == "lua" else _RECEIVER
        found = pattern.search(self._source.text, max(0, offset - _BEFORE_BYTES), offset)
        if found is not None and _SUPER_CALL.search(self._source.text, found.start() - 40, offset):
            return "super"
        if found is None:
            is_own = self._source.text[max(0, offset - 1) : offset] == b"@"
            return "@" if is_own and self._source.language == "ruby" else None
        return found[1].decode("utf-8", "replace") if found[1] else ""

    def _resolve_import(self, occurrences: Sequence[Occurrence]) -> Resolution | None:
        """Resolve the imports of the name in this file; None if it is not imported."""
        best: Resolution | None = None
        for occurrence in occurrences:
            if occurrence.use is not Use.IMPORT:
                continue
            source = self._source
            module = module_of(source.text, occurrence.offset, source.language, source.path)
            if module:
                found = self._of_module(module)
            elif source.language in _IMPORTS_MODULES:  # `import json` names no definition
                found = Resolution(Certainty.NAME, ())
            else:
                found = self._only(self._candidates)
            if best is None or _rank(found) < _rank(best):
                best = found
        return best

    def _of_module(self, module: Module) -> Resolution:
        """Return the definitions in the files that can be a module."""
        scored = [(likeness(module, each.path), each) for each in self._candidates]
        most = max((score for score, _ in scored), default=0)
        found = tuple(each for score, each in scored if score == most)
        if not most:
            first = module.segments[:1]  # none: of the crate itself
            is_ours = module.is_whole or not first or first in self._roots()
            # A module of the project may pass on what it imports itself.
            return self._only(self._candidates) if is_ours else Resolution(Certainty.NAME, ())
        outer = tuple(each for each in found if not _is_member(each)) or found
        is_one = len({each.path for each in outer}) == 1
        return Resolution(Certainty.EXACT if is_one else Certainty.LIKELY, outer)

    def _roots(self) -> set[tuple[str, ...]]:
        """Return the first folders of the paths at hand, with which own modules begin."""
        paths = [self._source.path, *(each.path for each in self._candidates)]
        return {tuple(path.split("/")[at : at + 1]) for path in paths for at in (0, 1)}

    def _of_bare(self, around: SpanRow | None, occurrence: Occurrence) -> Resolution:
        """Resolve a name without a receiver."""
        language = self._source.language
        scopes = _scopes_of(around)
        has_own = language in _IMPLICIT_RECEIVER
        here = [each for each in self._candidates if each.path == self._source.path]
        visible = [
            each
            for each in here
            if (scope_of(each) in ("", *scopes) or self._is_open_type(each))
            and (has_own or not _is_member(each))
        ]
        if occurrence.use is Use.USE and self._is_parameter(around):
            return Resolution(Certainty.NAME, ())
        if visible:
            inner = max(len(scope_of(each)) for each in visible)
            nearest = tuple(each for each in visible if len(scope_of(each)) == inner)
            return Resolution(Certainty.EXACT, nearest)
        if self._imported:
            return self._imported
        if has_own and (inherited := self._inherited(scopes)):
            return Resolution(Certainty.LIKELY, inherited)
        free = [each for each in self._candidates if has_own or not _is_member(each)]
        if language in _HIDES_NESTED:
            free = [each for each in free if not scope_of(each) or each.kind in _TYPES]
        if language in _FOLDER_SCOPE:
            folder = os.path.dirname(self._source.path)
            near = [
                each
                for each in free
                if os.path.dirname(each.path) == folder and not _is_member(each)
            ]
            if near:
                return Resolution(Certainty.EXACT, tuple(near))
        if language in {"c", "cpp"} and free and not any(map(_is_member, free)):
            files = {os.path.splitext(each.path)[0] for each in free}
            is_sure = len(free) == 1 or len(files) == 1
            return Resolution(Certainty.EXACT if is_sure else Certainty.LIKELY, tuple(free))
        return self._only(free)

    def _is_open_type(self, row: SymbolRow) -> bool:
        """Return whether a definition of this file is a type that is not local to a function."""
        if row.kind not in _TYPES:
            return False
        return self._source.kinds.get(scope_of(row)) not in CALLABLES

    def _of_member(
        self, receiver: str, around: SpanRow | None, occurrence: Occurrence
    ) -> Resolution:
        """Resolve a name behind a dot."""
        candidates = self._candidates
        scopes = _scopes_of(around)
        if receiver in _OWN:
            own = [each for each in candidates if scope_of(each) in scopes]
            if own and receiver not in _ABOVE:
                inner = max(len(scope_of(each)) for each in own)
                return Resolution(
                    Certainty.EXACT, tuple(each for each in own if len(scope_of(each)) == inner)
                )
            if inherited := self._inherited(scopes):
                return Resolution(Certainty.LIKELY, inherited)
            if occurrence.use is not Use.CALL:  # an attribute that a method sets
                return Resolution(Certainty.NAME, tuple(candidates))
        elif receiver:
            if receiver not in self._of_receivers:
                self._of_receivers[receiver] = self._of_receiver(receiver)
            found = self._of_receivers[receiver]
            if found:
                return found
        members = [each for each in candidates if scope_of(each) and each.kind != "function"]
        if self._name in EVERYDAY_NAMES:
            return Resolution(Certainty.NAME, tuple(members))
        return self._only(members or candidates)

    def _of_receiver(self, receiver: str) -> Resolution | None:
        """Resolve by the name before the dot: a type, a module, or a variable with a type."""
        named = tuple(
            each for each in self._candidates if scope_of(each).rpartition(".")[2] == receiver
        )
        if named:
            is_one = len({(each.path, scope_of(each)) for each in named}) == 1
            return Resolution(Certainty.EXACT if is_one else Certainty.LIKELY, named)
        if space := self._of_namespace(receiver):
            return space
        module = self._module_named(receiver)
        inside = tuple(
            each
            for each in self._candidates
            if scope_of(each).rpartition(".")[2] in ("", module)
            and not _is_member(each)
            and (path_segments(each.path)[-1] == module or _folder_of(each.path) == module)
        )
        if inside and self._imports(module):
            return Resolution(Certainty.EXACT, inside)
        types = self._types_of(receiver)
        typed = tuple(
            each for each in self._candidates if scope_of(each).rpartition(".")[2] in types
        )
        if typed or inside:
            return Resolution(Certainty.LIKELY, typed or inside)
        if not self._is_module(receiver):
            return None
        below = tuple(
            each
            for each in self._candidates
            if not scope_of(each) and module in path_segments(each.path)
        )
        return Resolution(Certainty.LIKELY if len(below) == 1 else Certainty.NAME, below)

    def _of_namespace(self, receiver: str) -> Resolution | None:
        """Resolve a name of ``import * as receiver from "module"``, which is no member."""
        if self._source.language not in _FAMILIES[0]:
            return None
        said = re.escape(receiver.encode())
        found = re.search(rb"\*\s*as\s+(%s)\s+from\b" % said, self._source.text)
        free = [each for each in self._candidates if not scope_of(each)]
        source = self._source
        module = found and module_of(source.text, found.start(1), source.language, source.path)
        if not module or not free:
            return None
        scored = [(likeness(module, each.path), each) for each in free]
        most = max(score for score, _ in scored)
        # The module may pass on what it imports itself, so that the name can be of any file.
        return self._only([each for score, each in scored if score == most])

    def _is_module(self, name: str) -> bool:
        """Return whether the file imports a module under this name."""
        if self._source.language not in _IMPORTS_MODULES:
            return False
        pattern = (
            rb"^\s*(?:import\s+(?:[\w.]+\s+as\s+)?%s\s*(?:$|[,#])|from\s+\.*\s+import\s.*\b%s\b)"
        )
        said = re.escape(name.encode())
        return re.search(pattern % (said, said), self._source.text, re.MULTILINE) is not None

    def _imports(self, module: str) -> bool:
        """Return whether an import of the file says the name of a module.

        Python has it last or behind ``from``, Go and JavaScript at the end of a literal, Rust and
        others before ``::`` or a dot.
        """
        name = re.escape(module.encode())
        said = re.compile(
            rb"\b(?:import|use|require|from|alias|include)\b[^\n;]*\b%s\b|[/\"']%s[\"']"
            rb"|^\s+%s\b,?\s*$" % (name, name, name),
            re.MULTILINE,
        )
        return said.search(self._source.text) is not None

    def _module_named(self, receiver: str) -> str:
        """Return the module that a name stands for: ``np`` is ``numpy`` after ``import … as``."""
        found = re.search(
            rb"\b([\w.]+)\s+as\s+%s\b" % re.escape(receiver.encode()), self._source.text
        )
        return found[1].decode("utf-8", "replace").rpartition(".")[2] if found else receiver

    def _types_of(self, variable: str) -> frozenset[str]:
        """Return the types that the file gives to a variable: annotated, constructed, declared."""
        name = re.escape(variable.encode())
        pattern = re.compile(
            rb"\b%s\s*(?::|:?=)\s*"
            rb"(?:new\s+|await\s+|&|\*|mut\s+|Optional\[|readonly\s+|(?<=: )[\"'])*"
            rb"([A-Za-z_][\w.]*)|([A-Z]\w*)(?:<[^<>\n]*>)?[?\s*&]+%s\b|\b%s\s+[*\[\]]*"
            rb"(?:\w+\.)?([A-Z]\w*)" % (name, name, name)
        )
        found: list[str] = []
        for match in islice(pattern.finditer(self._source.text), _MOST_TYPES):
            written = next(group for group in match.groups() if group)
            found += [part.decode("utf-8", "replace") for part in written.split(b".")][-2:]
        # NewServer() makes a Server.
        return frozenset(found + [each[3:] for each in found if each.startswith("New")])

    def _inherited(self, scopes: Sequence[str]) -> tuple[SymbolRow, ...]:
        """Return the definitions in the bases of the classes around, by their names."""
        bases: set[str] = set()
        for span in self._source.spans:
            if span.qualified_name in scopes and span.kind in _TYPES:
                words = _NAME_BYTES.findall(span.signature.encode())
                bases.update(word.decode("utf-8", "replace") for word in words)
        own = {scope.rpartition(".")[2] for scope in scopes}
        return tuple(
            each
            for each in self._candidates
            if scope_of(each) and scope_of(each).rpartition(".")[2] in bases - own
        )

    def _is_parameter(self, around: SpanRow | None) -> bool:
        """Return whether a function around has a parameter of the name."""
        if around is None or around.name == self._name or around.kind in _TYPES:
            return False
        head = "(" + around.signature.partition("(")[2]
        name = re.escape(self._name)
        pattern = (
            rf"[\w>\]*&?]\s*[\s*&$]{name}\s*[,)=\[]"
            if self._source.language in _TYPE_FIRST
            else rf"[(,]\s*(?:mut\s+|[*&.]+)?{name}\s*[:,=)\s]"
        )
        return re.search(pattern, head) is not None

    def _only(self, candidates: Sequence[SymbolRow]) -> Resolution:
        """Return the definition if there is but one, or overloads in one place."""
        places = {(each.path, scope_of(each)) for each in candidates}
        certainty = Certainty.LIKELY if len(places) == 1 else Certainty.NAME
        return Resolution(certainty, tuple(candidates))


def aliases_of(source: Source, name: str, occurrences: Sequence[Occurrence]) -> frozenset[str]:
    """Return the other names that a file gives to an imported name."""
    size = len(name.encode())
    found = (
        alias_at(source.text, occurrence.offset + size)
        for occurrence in occurrences
        if occurrence.use is Use.IMPORT
    )
    return frozenset(each for each in found if each and each != name)


def _rank(resolution: Resolution) -> int:
    return list(Certainty).index(resolution.certainty)


def _is_member(row: SymbolRow) -> bool:
    return row.kind in _MEMBERS and bool(scope_of(row))


def _folder_of(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def _scopes_of(around: SpanRow | None) -> list[str]:
    """Return the qualified names of what is around a place, the innermost first."""
    if around is None:
        return []
    parts = around.qualified_name.split(".")
    return [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
