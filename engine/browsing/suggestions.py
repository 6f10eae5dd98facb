"""What somebody who types may mean: symbols and files of such names, and values of filters."""

import math
from collections.abc import Iterable, Mapping

from engine.browse_records import FilterValue, LanguageShare, NamedPlace
from engine.browsing.path_finder import BranchPaths
from engine.records import display_path, is_path
from engine.search.features import path_factors
from engine.search.query import storable
from engine.search.symbols import kind_weight
from engine.store import symbols
from engine.store.connection import Handle
from engine.store.symbols import NamedRow
from engine.syntax.languages import LANGUAGES
from engine.syntax.terms import words_of

#: Shorter ones begin too many names.
LEAST_CHARS = 2
_NAMES = 24
_FILES = 200
_MOST_CHARS = 200
_JOINTS = ("", "_", "-", " ")  # of the words of a name; headings have spaces


def symbols_beginning(
    handle: Handle, branch_id: int, text: str, limit: int
) -> tuple[NamedPlace, ...]:
    """Give symbols whose name begins so, one of each name: short names and definitions first.

    Several words are those of one name, however it joins them: ``open sess``, ``open_session``.
    """
    folded = storable(text).strip().lower()
    if not LEAST_CHARS <= len(folded) <= _MOST_CHARS:
        return ()
    forms = {joint.join(folded.split()) for joint in _JOINTS}
    found = (symbols.names_beginning(handle, form, _NAMES) for form in sorted(forms))
    best: list[NamedRow] = []
    for name in {name: None for names in found for name in names}:
        rows = symbols.places_of_name(handle, branch_id, name)
        if rows:
            best.append(min(rows, key=_least_likely))
    best.sort(key=lambda row: (not _is_called(row, forms), _least_likely(row)))
    return tuple(map(_place, best[:limit]))


def files_beginning(
    handle: Handle, branch_id: int, text: str, limit: int
) -> tuple[NamedPlace, ...]:
    """Give files whose path has all the words, the last of them perhaps not typed to its end."""
    words = words_of(storable(text[:_MOST_CHARS]))
    if not words or len("".join(words)) < LEAST_CHARS:
        return ()
    match = " AND ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}" *'])
    rows = symbols.files_with_words(handle, branch_id, match, _FILES)
    rows.sort(key=lambda row: (not _in_name(row.path, words[-1]), len(row.path), row.path))
    return tuple(
        NamedPlace(path=display_path(row.path), name="", kind=row.kind, line=1)
        for row in rows[:limit]
    )


def names_beginning(handle: Handle, branch_id: int, start: str) -> tuple[FilterValue, ...]:
    """Give the names of symbols that begin so, without their containers."""
    if not is_path(start):
        return ()
    places = symbols_beginning(handle, branch_id, start, _NAMES)
    return tuple(FilterValue(value=place.name.rpartition(".")[2]) for place in places)


def kinds_beginning(kinds: Mapping[str, int], start: str) -> tuple[FilterValue, ...]:
    """Give the kinds of symbols that there are and that begin so, those of most symbols first."""
    return _counted({kind: n for kind, n in kinds.items() if kind.startswith(start.lower())})


def languages_beginning(shares: Iterable[LanguageShare], start: str) -> tuple[FilterValue, ...]:
    """Give the languages that begin so, those of most files first."""
    found = {each.language: each.files for each in shares if each.language in LANGUAGES}
    return _counted({name: n for name, n in found.items() if name.startswith(start.lower())})


def paths_beginning(paths: BranchPaths, start: str) -> tuple[FilterValue, ...]:
    """Give the folders and files one level below the last folder that is typed, folders first."""
    return _counted(paths.below(start), folders_first=True)


def endings_beginning(paths: BranchPaths, start: str) -> tuple[FilterValue, ...]:
    """Give the endings of files that begin so, with or without their dot."""
    dotted = start if start[:1] == "." else f".{start}"
    fits = {each: n for each, n in paths.endings.items() if each.startswith(dotted)}
    return _counted(fits)


def _counted(found: Mapping[str, int], *, folders_first: bool = False) -> tuple[FilterValue, ...]:
    def order(item: tuple[str, int]) -> tuple[bool, int, str]:
        return folders_first and not item[0].endswith("/"), -item[1], item[0]

    return tuple(
        FilterValue(value=value, number=number)
        for value, number in sorted(found.items(), key=order)
    )


def _place(row: NamedRow) -> NamedPlace:
    return NamedPlace(path=display_path(row.path), name=row.name, kind=row.kind, line=row.line)


def _is_called(row: NamedRow, forms: Iterable[str]) -> bool:
    return row.name.lower().endswith(tuple(forms))


def _least_likely(row: NamedRow) -> tuple[float, bool, int, str]:
    lowered = math.prod(part.value for part in path_factors(row.path, is_generated=False))
    own = row.name.rpartition(".")[2]  # of a qualified name
    return -kind_weight(row.kind) * lowered, not row.is_exported, len(own), row.path


def _in_name(path: str, word: str) -> bool:
    return any(each.startswith(word) for each in words_of(path.rpartition("/")[2]))
