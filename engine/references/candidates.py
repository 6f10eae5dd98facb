"""The definitions that a name can mean, grouped for the questions that each file asks of them."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from engine.reference_records import Certainty
from engine.search.features import is_test
from engine.store.symbols import SymbolRow

TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
#: Kinds of what can be called.
CALLABLES = frozenset({"function", "method", "constructor"})
_MEMBERS = frozenset({"method", "constructor", "property", "field"})
_FAMILIES = (
    frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"}),
    frozenset({"c", "cpp", "objective-c"}),
    frozenset({"java", "kotlin", "scala", "groovy"}),
    frozenset({"ocaml", "ocaml-interface"}),
    frozenset({"elixir", "template"}),
)
#: Sorting hundreds of overrides for each of hundreds of files would take most of the time.
_MOST_SORTED = 50


class Resolution(NamedTuple):
    """What a use means."""

    certainty: Certainty
    targets: tuple[SymbolRow, ...]  # the likeliest first; several when they are overloads


def scope_of(row: SymbolRow) -> str:
    """Return the qualified name of what is around a definition; empty at top level."""
    return row.qualified_name[: -len(row.name) - 1]


def is_member(row: SymbolRow) -> bool:
    """Return whether a definition is a member of a type."""
    return row.kind in _MEMBERS and bool(scope_of(row))


def family_of(language: str) -> frozenset[str]:
    """Return the languages whose code can refer to each other."""
    return next((each for each in _FAMILIES if language in each), frozenset({language}))


def only(rows: Sequence[SymbolRow]) -> Resolution:
    """Return the definition if there is but one, or overloads in one place."""
    places = {(each.path, scope_of(each)) for each in rows}
    certainty = Certainty.LIKELY if len(places) == 1 else Certainty.NAME
    return Resolution(certainty, tuple(rows))


def folder_of(path: str) -> str:
    """Return the name of the folder of a file."""
    return path.rpartition("/")[0].rpartition("/")[2]


def of_folder(import_path: str, rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Return the definitions in the folder with which an import path ends, the longest such."""
    found = [(each.path.rpartition("/")[0], each) for each in rows if "/" in each.path]
    sizes = [len(folder) for folder, _ in found if f"/{import_path}".endswith(f"/{folder}")]
    best = max(sizes, default=0)
    end = import_path[-best:]
    return [each for folder, each in found if best and folder == end]


class Candidates:
    """The definitions of a name in languages that can refer to each other.

    Args:
        rows: In the order in which they are told if nothing else decides.
    """

    def __init__(self, rows: Sequence[SymbolRow]) -> None:
        self.rows = tuple(rows)
        self._sorted: dict[str, tuple[SymbolRow, ...]] = {}
        self._places: dict[str, dict[tuple[int, str], int]] = {}
        self._near_known: dict[tuple[bool, str], tuple[SymbolRow, ...]] = {}

    @cached_property
    def by_path(self) -> dict[str, list[SymbolRow]]:
        """The definitions of each file."""
        return _grouped((each.path, each) for each in self.rows)

    @cached_property
    def by_folder(self) -> dict[str, list[SymbolRow]]:
        """The definitions of each folder."""
        return _grouped((os.path.dirname(each.path), each) for each in self.rows)

    @cached_property
    def by_type(self) -> dict[str, list[SymbolRow]]:
        """The definitions by the last name of what is around them; at top level by ''."""
        return _grouped((scope_of(each).rpartition(".")[2], each) for each in self.rows)

    @cached_property
    def free(self) -> tuple[SymbolRow, ...]:
        """The definitions that are no members."""
        return tuple(each for each in self.rows if not is_member(each))

    @cached_property
    def types(self) -> tuple[SymbolRow, ...]:
        """The definitions that are types."""
        return tuple(each for each in self.rows if each.kind in TYPES)

    @cached_property
    def members(self) -> tuple[SymbolRow, ...]:
        """The definitions in a type or a module; all if there are none."""
        found = tuple(each for each in self.rows if scope_of(each) and each.kind != "function")
        return found or self.rows

    @cached_property
    def scoped(self) -> tuple[SymbolRow, ...]:
        """The definitions in another one."""
        return tuple(each for each in self.rows if scope_of(each))

    def near(self, path: str) -> tuple[SymbolRow, ...]:
        """Return all, those in the file and in its folders first, if they are not too many."""
        place = self._order_of(path)
        if not place:
            return self.rows
        if place not in self._sorted:
            folders = place.split("/")
            self._sorted[place] = tuple(
                sorted(self.rows, key=lambda each: _distance(each, folders))
            )
        return self._sorted[place]

    def near_of(self, path: str, rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
        """Return some of them in the order of ``near``."""
        order = self._order_of(path)
        if rows is self.members or rows is self.scoped:  # asked by each file that has the name
            known = (rows is self.members, self._place_of(path))
            if known not in self._near_known:
                self._near_known[known] = self._near_of(path, order, rows)
            return self._near_known[known]
        return self._near_of(path, order, rows)

    def _near_of(self, path: str, order: str, rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
        wanted = list(rows)
        if len(wanted) < 2:
            return tuple(wanted)
        if not order and len(wanted) <= _MOST_SORTED:
            folders = path.split("/")
            return tuple(sorted(wanted, key=lambda each: _distance(each, folders)))
        if order not in self._places:
            numbered = enumerate(self.near(path))
            self._places[order] = {(each.id, each.path): place for place, each in numbered}
        places = self._places[order]
        return tuple(sorted(wanted, key=lambda each: places[each.id, each.path]))

    def _order_of(self, path: str) -> str:
        """Return what files have in common that sort the definitions in the same way."""
        if len(self.rows) > _MOST_SORTED or len(self.rows) == 1:
            return ""
        return self._place_of(path)

    def _place_of(self, path: str) -> str:
        return path if path in self.by_path else os.path.dirname(path) + "/"


class Definitions:
    """All definitions of a name on a branch, by family of languages."""

    def __init__(self, rows: Sequence[SymbolRow]) -> None:
        self._rows = rows
        self._families: dict[str, Candidates] = {}

    def of(self, language: str) -> Candidates:
        """Return the definitions to which code of a language can refer."""
        if language not in self._families:
            family = family_of(language)
            found = Candidates([each for each in self._rows if each.language in family])
            self._families.update(dict.fromkeys(family, found))
        return self._families[language]


def _grouped(pairs: Iterable[tuple[str, SymbolRow]]) -> dict[str, list[SymbolRow]]:
    groups: dict[str, list[SymbolRow]] = {}
    for key, row in pairs:
        groups.setdefault(key, []).append(row)
    return groups


def shared_folders(path: str, folders: Sequence[str]) -> int:
    """Return how many of some folders a path has at its beginning."""
    both = zip(path.split("/"), folders, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _distance(row: SymbolRow, folders: Sequence[str]) -> tuple[bool, int, int, str]:
    """Sort tests last, then by how many folders are shared, then public ones first."""
    return (is_test(row.path), -shared_folders(row.path, folders), -int(row.is_exported), row.path)
