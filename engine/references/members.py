"""Which member a name behind a dot means: by the type, the module or the class before the dot."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from engine.reference_records import Certainty, Use
from engine.references.candidates import (
    CALLABLES,
    TYPES,
    Candidates,
    Resolution,
    family_of,
    folder_of,
    is_member,
    of_folder,
    only,
    scope_of,
    shared_folders,
)
from engine.references.exports import Exported, Modules
from engine.references.imports import (
    ecmascript_module,
    go_import,
    likeness,
    module_named,
    module_of,
    path_segments,
    says_module,
    specifier_of,
)
from engine.references.receivers import Receiver, receiver_at
from engine.references.sources import Occurrence, Source
from engine.references.types import Type, bases_in, results_of, types_in
from engine.store.references import HeadRow, SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import Role, name_pattern

_OWN = frozenset({"self", "this", "cls", "Self", "@", "$this", "static", "base", "super", "parent"})
_ABOVE = frozenset({"super", "base", "parent"})
#: Methods of what every language brings along: a single definition of such a name proves nothing.
EVERYDAY_NAMES = frozenset(
    """add all any append apply bind call catch clear clone close collect contains copy count
    default delete discard drop each end entries equals error every exec exists extend fetch filter
    find flush forEach format from get group has hasNext hash hashCode head index indexOf info init
    insert into is_empty isEmpty items iter join keys last len length list load lock log map match
    max merge min name new next open parse pop print push put read remove replace reset resolve
    reverse run save search send set size skip slice some sort split start stop strip sub sum
    tail take test then to_s to_string toString trim type unwrap update value values wait warn
    with write zip""".split()
)
#: Here no function or type stands behind the dot of a variable.
_ONLY_MEMBERS = frozenset({"go", "c", "cpp"})
#: Here each imported type says the module that it comes from.
_NAMES_MODULES = frozenset({"python", "java"})
#: Kinds of types of Go that name all their members, or embed the types that do.
_WHOLE_TYPES = frozenset({"struct", "interface"})
_QUALIFIES = re.compile(rb"::\s*$")
_CALLED = re.compile(
    rb"(?:\b(new)\s+)?(?:\b([A-Za-z_$][\w$]*)\s*\.\s*)?([A-Za-z_$][\w$]*)\s*(?:<[^<>()]*>)?$"
)
_CALLED_BYTES = 80
_CALL_BYTES = 400
_MOST_CALLS = 8  # in a chain that are passed
_MOST_STEPS = 3  # from a type to those above it
_MOST_ROWS = 10  # definitions of a type or function that are asked


class Names(Protocol):
    """Definitions and files of the branch."""

    def heads(self, name: str) -> Sequence[HeadRow] | None:
        """Return the types and functions of a name, or None if too many names were asked for."""

    def source(self, path: str) -> Source | None:
        """Return a file."""

    @property
    def modules(self) -> Modules:
        """What modules of JavaScript and TypeScript export."""


class Members:
    """Resolves one name behind dots in one file.

    Args:
        source: The file.
        name: The name.
        candidates: The definitions that it can mean.
        names: Other definitions of the branch, for the types of what is called or inherited.
    """

    def __init__(
        self, source: Source, name: str, candidates: Candidates, names: Names | None
    ) -> None:
        self._source = source
        self._name = name
        self._candidates = candidates
        self._names = names
        is_ecmascript = source.language in family_of("typescript")
        self._modules = names.modules if names and is_ecmascript else None
        self._all: tuple[SymbolRow, ...] | None = None
        self._of_receivers: dict[tuple[str, bool, int], Resolution | None] = {}

    def of(self, receiver: Receiver, around: SpanRow | None, occurrence: Occurrence) -> Resolution:
        """Return what a name behind a dot means."""
        if receiver.name in _OWN and not receiver.is_chained:
            found = self._of_own(receiver.name, scopes_of(around), occurrence)
        elif receiver.name:
            found = self._of_receiver(receiver)
            if found is None or found.certainty is Certainty.NAME:
                found = self._of_inherited(receiver, around) or found
        else:
            found = self._of_call(receiver.offset)
        if found is not None:
            return found
        if not self._can_be_free(receiver, occurrence.offset):
            members = self._near(self._candidates.scoped)
            if not members or members[0].kind in {"function", "variable"}:
                return Resolution(Certainty.NAME, members)
        is_plain = occurrence.use is Use.USE and self._name.isalpha() and self._name.islower()
        if is_plain or self._name in EVERYDAY_NAMES:
            return Resolution(Certainty.NAME, self._members)
        return only(self._members)

    @property
    def _members(self) -> tuple[SymbolRow, ...]:
        if self._all is None:
            self._all = self._near(self._candidates.members)
        return self._all

    def _can_be_free(self, receiver: Receiver, offset: int) -> bool:
        """Return whether a definition outside of types can be meant behind the dot."""
        source = self._source
        if source.language in _ONLY_MEMBERS:
            is_qualified = _QUALIFIES.search(source.text, max(0, offset - 20), offset)
            return is_qualified is not None and source.language == "cpp"
        if source.language != "python" and source.language not in family_of("typescript"):
            return True
        if not receiver.name or receiver.name in _OWN:
            return False
        words = source.words(receiver.name)
        return receiver.is_chained or any(
            source.marks.role_at(each) is Role.IMPORT
            or receiver.name in source.contents.modules
            or source.text.endswith(b"* as ", 0, each)
            for each in words[:1]
        )

    def inherited(self, scopes: Sequence[str]) -> tuple[SymbolRow, ...]:
        """Return the definitions in the bases of the classes around, by their names."""
        bases: list[str] = []
        for scope in scopes:
            for span in self._source.types.get(scope, ()):
                bases += self._source.words_of_head(span)
        own = {scope.rpartition(".")[2] for scope in scopes}
        return self._in_types(base for base in dict.fromkeys(bases) if base not in own)

    def _near(self, rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
        return self._candidates.near_of(self._source.path, rows)

    def _in_types(self, names: Iterable[str]) -> tuple[SymbolRow, ...]:
        by_type = self._candidates.by_type
        rows = [row for name in dict.fromkeys(names) if name for row in by_type.get(name, ())]
        return self._near(rows)

    def _of_own(
        self, receiver: str, scopes: Sequence[str], occurrence: Occurrence
    ) -> Resolution | None:
        own = [each for each in self._candidates.rows if scope_of(each) in scopes]
        if own and receiver not in _ABOVE:
            inner = max(len(scope_of(each)) for each in own)
            return Resolution(
                Certainty.EXACT,
                self._near(each for each in own if len(scope_of(each)) == inner),
            )
        if inherited := self.inherited(scopes) or self._above(
            [Type(each, "") for each in _last_names(scopes)]
        ):
            return Resolution(Certainty.LIKELY, inherited)
        if occurrence.use is not Use.CALL:  # an attribute that a method sets
            return Resolution(Certainty.NAME, self._candidates.near(self._source.path))
        return None

    def _of_receiver(self, receiver: Receiver) -> Resolution | None:
        """Resolve by the name before the dot: a variable with a type, a type, or a module."""
        if found := self._of_namespace(receiver):
            return found
        binding = None
        said = receiver.name.encode()
        offsets = self._source.words(receiver.name)
        if not receiver.is_chained:
            binding = self._source.scopes.local_at(said, receiver.offset, offsets)
        key = (receiver.name, receiver.is_chained, binding.offset if binding else -1)
        if key not in self._of_receivers:
            if binding:
                types = self._types_of(receiver.name, [binding.offset])
                self._of_receivers[key] = self._of_types(types)
            else:
                self._of_receivers[key] = self._of_name(receiver, offsets)
        return self._of_receivers[key]

    def _of_inherited(self, receiver: Receiver, around: SpanRow | None) -> Resolution | None:
        """Resolve by the type that a base of the class gives to an attribute: ``self.name.…``."""
        own = receiver_at(self._source, receiver.offset) if receiver.is_chained else None
        if self._names is None or own is None or own.name not in _OWN or own.is_chained:
            return None
        classes = [Type(each, "") for each in _last_names(scopes_of(around))]
        rows = (
            row
            for bases in self._bases_above(classes)
            for base in bases[:_MOST_ROWS]
            for row in self._rows_of(base)
            if row.kind in TYPES
        )
        for row in rows:
            source = self._names.source(row.path)
            span = source.span(row.id) if source else None
            if source is None or span is None:
                continue
            inside = range(span.byte_start, span.byte_end)
            offsets = [each for each in source.words(receiver.name) if each in inside]
            types = self._types_of(receiver.name, offsets, source)
            if types:
                return self._of_types([each._replace(path=row.path) for each in types])
        return None

    def _of_name(self, receiver: Receiver, offsets: Sequence[int]) -> Resolution | None:
        name = receiver.name
        rows = self._candidates
        named = self._near(rows.by_type.get(name, ()))
        if named and self._source.language != "go":  # where no type stands before the dot
            named = self._narrowed(Type(name, ""), named)
            is_one = len({(each.path, scope_of(each)) for each in named}) == 1
            is_sure = is_one and self._is_seen(receiver, named[0])
            if named:
                return Resolution(Certainty.EXACT if is_sure else Certainty.LIKELY, named)
        module = module_named(self._source.text, name)
        inside = self._inside(module)
        if inside and says_module(self._source.text, module):
            inside = self._imported_from(inside, module, offsets)
            is_one = len({each.path for each in inside}) == 1
            return Resolution(Certainty.EXACT if is_one else Certainty.LIKELY, inside)
        if self._source.language == "go" and (path := go_import(self._source.text, name)):
            return self._of_package(path)
        typed = self._of_types(self._types_of(name, offsets))
        if _is_sure(typed):
            return typed
        if inside:
            return Resolution(Certainty.LIKELY, inside)
        if name not in self._source.contents.modules:
            return typed
        below = self._near(
            each for each in rows.rows if not scope_of(each) and module in path_segments(each.path)
        )
        return Resolution(Certainty.LIKELY if len(below) == 1 else Certainty.NAME, below)

    def _is_seen(self, receiver: Receiver, row: SymbolRow) -> bool:
        """Return whether the file says that what is called like the receiver is around a member."""
        if self._modules is None:
            return self._can_come_from(receiver.name, row.path)
        is_here = row.path == self._source.path or row.path.endswith(".d.ts")
        has_home = self._home_of(Type(receiver.name, "")) is not None
        return not receiver.is_chained and (is_here or has_home)

    def _can_come_from(self, name: str, path: str) -> bool:
        """Return whether the imports of a type, as far as they name modules, can mean a file."""
        source = self._source
        if source.language not in _NAMES_MODULES or path == source.path:
            return True
        modules = [
            module
            for offset in source.words(name)
            if source.marks.role_at(offset) is Role.IMPORT
            and (module := module_of(source.text, offset, source.language, source.path))
        ]
        # A module of Python may pass on what another one of its package defines.
        folders = set(path.split("/")) if source.language == "python" else set()
        return not modules or any(
            each.is_whole or likeness(each, path) or folders.intersection(each.segments[:1])
            for each in modules
        )

    def imported(self, offset: int) -> Resolution | None:
        """Resolve an imported name by what its module exports (JavaScript, TypeScript)."""
        source = self._source
        if self._modules is None:
            return None
        module = specifier_of(source.text, offset)
        if module is None:
            return None
        found = self._modules.of_import(source.path, *module)
        return self._of_exported(found) if found else None

    def _of_exported(self, exported: Exported) -> Resolution:
        """Return the definitions of the name in the file that a module takes it from."""
        if exported.name != self._name:  # a module, or a definition of another name
            return Resolution(Certainty.NAME, ())
        here = self._candidates.by_path.get(exported.path, ())
        found = tuple(each for each in here if each.qualified_name == self._name)
        return Resolution(Certainty.EXACT if found else Certainty.NAME, found)

    def _of_namespace(self, receiver: Receiver) -> Resolution | None:
        """Resolve by a module before the dot: ``import * as name``, or one that is exported."""
        module = self._module_at(receiver, _MOST_STEPS)
        if self._modules is None:
            return None
        if module is None:
            return self._of_unknown_namespace(receiver, self._modules)
        found = self._modules.exported(module, self._name)
        if found:
            return self._of_exported(found)
        free = [each for each in self._candidates.free if each.is_exported]
        return only(self._near(free)) if free else None

    def _of_unknown_namespace(self, receiver: Receiver, modules: Modules) -> Resolution | None:
        """Resolve by the path of a module that the project has no file of."""
        source = self._source
        module = modules.namespace_of(source.path, receiver.name)
        if module is None or receiver.is_chained or modules.file_of(source.path, module):
            return None
        said = ecmascript_module(module, source.path)
        free = [each for each in self._candidates.free if each.is_exported]
        scored = [(likeness(said, each.path), each) for each in free]
        best = max((score for score, _ in scored), default=0)
        found = self._near(each for score, each in scored if score == best)
        is_one = best > 0 and len({each.path for each in found}) == 1
        return Resolution(Certainty.LIKELY if is_one else Certainty.NAME, found) if found else None

    def _module_at(self, receiver: Receiver | None, steps: int) -> str | None:
        """Return the file of the module that stands before a dot."""
        source = self._source
        if self._modules is None or receiver is None or not receiver.name or not steps:
            return None
        if receiver.is_chained:
            outer = self._module_at(receiver_at(source, receiver.offset), steps - 1)
            found = self._modules.exported(outer, receiver.name) if outer else None
        else:
            said, offsets = receiver.name.encode(), source.words(receiver.name)
            binding = source.scopes.local_at(said, receiver.offset, offsets)
            size = binding.end - binding.start if binding else 0
            if binding and size < len(source.text):
                return None
            found = self._modules.named(source.path, receiver.name)
        return found.path if found and not found.name else None

    def _imported_from(
        self, rows: tuple[SymbolRow, ...], module: str, offsets: Sequence[int]
    ) -> tuple[SymbolRow, ...]:
        """Return the definitions in the module that an import means, of several of its name."""
        source = self._source
        if len({each.path for each in rows}) == 1:
            return rows
        for offset in offsets:
            if source.marks.role_at(offset) is not Role.IMPORT:
                continue
            package = module_of(source.text, offset, source.language, source.path)
            if package is None:
                continue
            inner = package._replace(segments=(*package.segments, module))
            scored = [(likeness(inner, each.path), each) for each in rows]
            best = max(score for score, _ in scored)
            if best:
                return tuple(each for score, each in scored if score == best)
        return rows

    def _inside(self, module: str) -> tuple[SymbolRow, ...]:
        """Return the definitions of a file or a folder with the name of a module."""
        by_type = self._candidates.by_type
        rows = [*by_type.get("", ()), *(by_type.get(module, ()) if module else ())]
        found = [
            each
            for each in rows
            if not is_member(each)
            and (path_segments(each.path)[-1] == module or folder_of(each.path) == module)
        ]
        if self._source.language == "go" and found:
            found = [each for each in found if folder_of(each.path) == module]
            if path := go_import(self._source.text, module):
                found = of_folder(path, found)
        return self._near(found)

    def _of_package(self, path: str) -> Resolution:
        """Resolve by the import path of a package of Go whose folder has another name."""
        free = [each for each in self._candidates.rows if not is_member(each)]
        found = self._near(of_folder(path, free))
        if found:
            return Resolution(Certainty.EXACT, found)
        at_root = self._near(each for each in free if "/" not in each.path)
        return Resolution(Certainty.LIKELY, at_root) if at_root else Resolution(Certainty.NAME, ())

    def _types_of(
        self, name: str, offsets: Sequence[int], source: Source | None = None
    ) -> list[Type]:
        """Return the types of a variable; ``x = x.strip()`` says nothing of the type of x."""
        source = source or self._source
        found = types_in(source.text, offsets, len(name.encode()), source.language)
        circular = [each for each in found if each.is_called and each.qualifier == name]
        if not circular or (source.language == "go" and go_import(source.text, name)):
            return found
        return [each for each in found if each not in circular]

    def _of_call(self, dot: int) -> Resolution | None:
        """Resolve by the result of the call before the dot."""
        return self._of_types(self._types_of_call(dot, _MOST_CALLS))

    def _types_of_call(self, dot: int, steps: int) -> list[Type]:
        """Return the function that is called before a dot; one that returns ``this`` is passed."""
        text = self._source.text
        if text[dot : dot + 1] != b")":
            return []
        depth = 0
        for at in range(dot, max(0, dot - _CALL_BYTES), -1):
            depth += {0x29: 1, 0x28: -1}.get(text[at], 0)
            if not depth:
                break
        found = None if depth else _CALLED.search(text, max(0, at - _CALLED_BYTES), at)
        if found is None:
            return []
        called, qualifier = ((found[each] or b"").decode("utf-8", "replace") for each in (3, 2))
        type_ = Type(called, qualifier, is_called=True)
        is_same = called == self._name
        if is_same and qualifier and not self._is_sure_at(found.start(3)):
            return []  # x.strip().strip(): the first is no surer than the second
        outer = receiver_at(self._source, found.start(3)) if not qualifier else None
        if outer is None or outer.name or not (is_same or steps):
            return [type_]
        returns_itself = next(self._results(type_), type_).name in _OWN
        if not is_same and not returns_itself:
            return [type_]
        before = self._types_of_call(outer.offset, steps - 1) if steps else []
        if is_same and not _is_sure(self._of_types(before)):
            return []  # x().strip().strip()
        return before if returns_itself else [type_]

    def _is_sure_at(self, offset: int) -> bool:
        """Return whether the name at an offset is resolved by more than itself."""
        receiver = receiver_at(self._source, offset)
        if receiver is None or not receiver.name or receiver.name in _OWN:
            return True
        return _is_sure(self._of_receiver(receiver))

    def _of_types(self, types: Sequence[Type]) -> Resolution | None:
        """Resolve by the types that a variable can have; None if they are not known."""
        found = self._members_of(types)
        if found:
            return Resolution(Certainty.LIKELY, found)
        if self._names is None or not types:
            return None
        results = [result for each in types if each.is_called for result in self._results(each)]
        found = self._members_of(results) or self._above([*types, *results])
        if found:
            return Resolution(Certainty.LIKELY, found)
        if all(self._is_foreign(each) for each in (*types, *results)):
            return Resolution(Certainty.NAME, self._members)
        if self._source.language == "go" and self._are_known(types):
            return Resolution(Certainty.NAME, ())
        return None

    def _are_known(self, types: Sequence[Type]) -> bool:
        """Return whether types are structs and interfaces at hand; results can be of several."""
        for each in types:
            rows = self._rows_of(each)
            if each.is_called or not rows or any(row.kind not in _WHOLE_TYPES for row in rows):
                return False
        return True

    def _members_of(self, types: Iterable[Type]) -> tuple[SymbolRow, ...]:
        """Return the definitions of the name in types."""
        found: dict[SymbolRow, None] = {}
        for each in types:
            rows = self._candidates.by_type.get(each.name, ())
            found |= dict.fromkeys(self._narrowed(each, self._near_to(each, rows)))
        return tuple(found)

    def _near_to(self, type_: Type, rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
        return self._candidates.near_of(type_.path or self._source.path, rows)

    def _is_foreign(self, type_: Type) -> bool:
        """Return whether a type is of another project."""
        if type_.is_called and not type_.name[:1].isupper():
            return False
        rows = self._names.heads(type_.name) if self._names else None
        if rows is None:
            return False
        if self._source.language == "go" and not type_.is_called:  # a method can have its name
            return all(row.kind in CALLABLES for row in rows)
        return not rows

    def _home_of(self, type_: Type) -> Exported | None:
        """Return the definition of a type or function, by the imports where it is named."""
        if self._modules is None:
            return None
        path = type_.path or self._source.path
        if type_.qualifier:
            module = self._modules.named(path, type_.qualifier)
            if module is None or module.name:
                return None
            found = self._modules.exported(module.path, type_.name)
        elif self._modules.defines(path, type_.name):
            return Exported(path, type_.name)
        else:
            found = self._modules.named(path, type_.name)
        return found if found and found.name else None

    def _rows_of(self, type_: Type) -> list[HeadRow]:
        if self._names is None:
            return []
        home = self._home_of(type_)
        source = self._names.source(home.path) if home else None
        if home and source:
            return [
                HeadRow(each.id, source.path, source.language, each.name, each.kind, each.signature)
                for each in source.spans
                if each.qualified_name == home.name
            ][:_MOST_ROWS]
        family = family_of(self._source.language)
        rows = [each for each in self._names.heads(type_.name) or () if each.language in family]
        path = type_.path or self._source.path
        folders = path.split("/")
        return sorted(rows, key=lambda each: -shared_folders(each.path, folders))

    def _results(self, called: Type) -> Iterator[Type]:
        for row in self._rows_of(called):
            if row.kind not in TYPES:
                yield from (each._replace(path=row.path) for each in results_of(row))

    def _above(self, types: Sequence[Type]) -> tuple[SymbolRow, ...]:
        """Return the definitions in the bases of types, those of the nearest base."""
        return next(filter(None, map(self._members_of, self._bases_above(types))), ())

    def _bases_above(self, types: Sequence[Type]) -> Iterator[list[Type]]:
        """Yield the bases of types, then theirs, and so on."""
        seen = {each.name for each in types}
        level = list(types)
        for _ in range(_MOST_STEPS):
            level = [
                Type(base, "", path=row.path)
                for type_ in level[:_MOST_ROWS]
                for row in self._rows_of(type_)
                if row.kind in TYPES
                for base in self._bases_of(row)
                if base not in seen
            ]
            yield level
            seen.update(each.name for each in level)

    def _bases_of(self, row: HeadRow) -> list[str]:
        if row.language != "go" or self._names is None:
            return bases_in(row)
        source = self._names.source(row.path)
        span = source.span(row.id) if source else None
        if source is None or span is None:
            return []
        pattern = name_pattern(row.language)
        found = (
            pattern.match(source.text, mark.offset)
            for mark in source.marks.within(span.byte_start, span.byte_end)
            if mark.role is Role.INHERIT
        )
        return [each.group().decode("utf-8", "replace") for each in found if each]

    def _narrowed(self, type_: Type, rows: tuple[SymbolRow, ...]) -> tuple[SymbolRow, ...]:
        """Return those of the type that this file means, if several types share its name."""
        if home := self._home_of(type_) if rows else None:
            return tuple(each for each in rows if each.path == home.path)
        if len({each.path for each in rows}) < 2:
            return rows
        source = self._source
        path = type_.path or source.path
        here = tuple(each for each in rows if each.path == path)
        if source.language == "go":
            package = go_import(source.text, type_.qualifier) if type_.qualifier else None
            folder = path.rpartition("/")[0]
            found = (
                of_folder(package, rows)
                if package
                else [each for each in rows if each.path.rpartition("/")[0] == folder]
            )
            return tuple(found) or rows
        if here:
            return here
        for offset in source.words(type_.name):
            if source.marks.role_at(offset) is not Role.IMPORT:
                continue
            if module := module_of(source.text, offset, source.language, source.path):
                scores = [likeness(module, each.path) for each in rows]
                if best := max(scores):
                    pairs = zip(scores, rows, strict=True)
                    return tuple(row for score, row in pairs if score == best)
        return rows


def _is_sure(found: Resolution | None) -> bool:
    return found is not None and found.certainty is not Certainty.NAME


def scopes_of(around: SpanRow | None) -> list[str]:
    """Return the qualified names of what is around a place, the innermost first."""
    if around is None:
        return []
    parts = around.qualified_name.split(".")
    return [".".join(parts[:size]) for size in range(len(parts), 0, -1)]


def _last_names(scopes: Sequence[str]) -> list[str]:
    return [scope.rpartition(".")[2] for scope in scopes]
