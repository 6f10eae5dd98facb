"""Uses of a method through the interface or the base class of its type."""

import re
from collections.abc import Iterable, Iterator, Sequence

from engine.reference_records import Certainty, Use
from engine.references.candidates import TYPES, Resolution, family_of, is_member, scope_of
from engine.references.interfaces import Interfaces
from engine.references.lookup import Found, Lookup, can_mean
from engine.references.types import bases_in
from engine.store.references import HeadRow
from engine.store.symbols import SymbolRow

_INTERFACES = frozenset({"interface", "trait", "protocol"})
_ABSTRACT = re.compile(r"\babstract\b|\b(?:ABC|ABCMeta|Protocol)\b")
_MOST_LEVELS = 3  # of bases
_MOST_BASES = 20
#: Comparing all methods of a name with an interface of Go looks at every type that has one.
_MOST_COMPARED = 100


def uses_that_may_mean(
    uses: Iterable[Found], asked: Sequence[SymbolRow], lookup: Lookup
) -> Iterator[Found]:
    """Yield the uses that can mean one of some definitions.

    A use that means the method of an interface or a base class may call one that implements or
    overrides it. If the receiver is of an interface that the type of the asked method implements,
    the use is ``likely``; else it is told as ``name``. What code in other languages means, which
    cannot refer to one, is not found out.
    """
    overriding = _Overriding(asked, lookup)
    has_members = any(map(is_member, asked))
    languages = languages_of(asked)
    known: dict[int, tuple[Resolution, bool]] = {}  # uses that can mean the same share it
    for use in uses:
        if use.source.language not in languages:
            continue
        resolution = use.resolution
        key = id(resolution.targets)
        if key not in known:
            known[key] = (resolution, any(can_mean(resolution, row) for row in asked))
        if known[key][1]:
            yield use
        elif has_members and use.resolution.targets and use.occurrence.use is not Use.DEFINITION:
            certainty = overriding.certainty_of(use)
            if certainty is not None:
                yield use.meaning(use.resolution._replace(certainty=certainty))


def languages_of(asked: Iterable[SymbolRow]) -> frozenset[str]:
    """Return the languages whose code can refer to some definitions."""
    return frozenset(language for row in asked for language in family_of(row.language))


class _Overriding:
    """Compares methods of interfaces and base classes with the asked ones."""

    def __init__(self, asked: Sequence[SymbolRow], lookup: Lookup) -> None:
        self._asked = asked
        self._keys = {(row.path, row.qualified_name) for row in asked}
        self._lookup = lookup
        self._interfaces = Interfaces(lookup)
        self._bases: dict[str, HeadRow] | None = None
        self._known: dict[tuple[str, str], Certainty | None] = {}

    def certainty_of(self, use: Found) -> Certainty | None:
        """Return how surely a use of another definition calls an asked one; None: it does not."""
        target = use.resolution.targets[0]
        key = (target.path, target.qualified_name)
        if key not in self._known:
            self._known[key] = self._compare(target)
        found = self._known[key]
        is_sure = use.resolution.certainty is not Certainty.NAME
        return found if is_sure or found is None else Certainty.NAME

    def _compare(self, target: SymbolRow) -> Certainty | None:
        scope = scope_of(target).rpartition(".")[2]
        heads = [head for head in (self._lookup.heads(scope) or ()) if scope]
        is_interface = any(head.kind in _INTERFACES for head in heads)
        if target.language == "go":
            if not is_interface:
                return Certainty.NAME if scope in self._named_bases() else None
            return Certainty.LIKELY if self._is_implemented(target, scope) else Certainty.NAME
        base = self._named_bases().get(scope)
        if base is not None and (base.kind in _INTERFACES or _ABSTRACT.search(base.signature)):
            return Certainty.LIKELY
        return Certainty.NAME if base is not None or is_interface else None

    def _is_implemented(self, target: SymbolRow, scope: str) -> bool:
        """Return whether a type of Go that has an asked method has all methods of an interface."""
        if len(self._lookup.definitions(target.name)) > _MOST_COMPARED:
            return False
        return any(
            certainty is Certainty.LIKELY
            and any((row.path, row.qualified_name) in self._keys for row in methods)
            for interface in self._lookup.definitions(scope)
            if interface.kind == "interface" and interface.path == target.path
            for _, certainty, methods in self._interfaces.implementations(interface)
        )

    def _named_bases(self) -> dict[str, HeadRow]:
        """Return the types that the heads of the asked types name, and those above them."""
        if self._bases is None:
            self._bases = {}
            level = [scope_of(row).rpartition(".")[2] for row in self._asked]
            for _ in range(_MOST_LEVELS):
                level = [name for type_ in level for name in self._bases_of(type_)]
        return self._bases

    def _bases_of(self, type_: str) -> list[str]:
        assert self._bases is not None
        rows = (self._lookup.heads(type_) or ()) if type_ else ()
        named = [name for row in rows if row.kind in TYPES for name in bases_in(row)]
        new = [name for name in dict.fromkeys(named) if name not in self._bases][:_MOST_BASES]
        for name in new:
            heads = [row for row in self._lookup.heads(name) or () if row.kind in TYPES]
            if heads:
                self._bases[name] = heads[0]
        return new
