"""The list of all symbols: which of them, how many of each kind and language, a page at a time."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping

from engine.cache import Kept
from engine.did_you_mean import unknown
from engine.errors import InvalidInputError
from engine.records import ListedSymbol, SymbolListRequest, SymbolPage, display_path
from engine.search.query import storable
from engine.search.selection import path_predicate
from engine.search.symbols import MAX_LIMIT, MAX_NAME_CHARS
from engine.store import project, symbols
from engine.store.connection import Handle
from engine.store.filters import register_path_filter
from engine.store.project import BranchRow
from engine.store.symbols import FROM_THE_FIRST, Choice, Place
from engine.syntax.languages import KINDS, LANGUAGES

_PATH_FUNCTION = "listed_path_passes"
_WILDCARDS = frozenset("*?")  # a bracket alone is a part of a name: pages/[id].tsx
_OF_A_PLACE = [int, str, str, int, int]
_MOST_COUNTED = 32

Counts = list[tuple[str, str, int]]  # kind, language, number


class SymbolList:
    """Lists the symbols of a project; for any number of threads.

    What was counted is remembered as long as nobody writes: of 190,000 symbols it takes 40 ms, and
    10 to 30 ms of those with a name, while a page takes 1 to 15 ms.
    """

    def __init__(self) -> None:
        self._counted: Kept[Counts] = Kept(_MOST_COUNTED)  # by state, branch, name and path

    def page(self, handle: Handle, branch: BranchRow, wanted: SymbolListRequest) -> SymbolPage:
        """Give a page.

        Raises:
            InvalidInputError: An argument cannot be; ``details.field`` says which.
        """
        after = _checked(wanted)
        path = wanted.path.strip()
        choice = Choice(
            branch.id,
            storable(wanted.name).strip().lower(),
            wanted.kind,
            wanted.language,
            _register(handle, path),
        )
        rows = symbols.list_symbols(handle, choice, after, wanted.limit + 1)
        counts = self._counts(handle, choice, path)
        kinds = _sums((kind, n) for kind, of, n in counts if wanted.language in (None, of))
        languages = _sums((of, n) for kind, of, n in counts if wanted.kind in (None, kind))
        shown = rows[: wanted.limit]
        return SymbolPage(
            branch=branch.name,
            complete=branch.complete,
            items=tuple(
                ListedSymbol(
                    path=display_path(row.path),
                    name=row.name,
                    scope=row.scope,
                    kind=row.kind,
                    signature=row.signature,
                    language=row.language,
                    line_start=row.line_start,
                    line_end=row.line_end,
                    exported=bool(row.is_exported),
                )
                for _, row in shown
            ),
            total=sum(kinds.values()) if wanted.kind is None else kinds.get(wanted.kind, 0),
            kinds=kinds,
            languages=languages,
            next_cursor=_cursor_of(shown[-1][0]) if len(rows) > len(shown) else None,
        )

    def kinds(self, handle: Handle, branch: BranchRow) -> Mapping[str, int]:
        """Give how many symbols of each kind there are, the most first."""
        counts = self._counts(handle, Choice(branch.id), "")
        return _sums((kind, n) for kind, _, n in counts)

    def _counts(self, handle: Handle, choice: Choice, path: str) -> Counts:
        key = (project.count_changes(handle), choice.branch_id, choice.text, path)
        return self._counted.get(key, lambda: symbols.count_symbols(handle, choice))


def _checked(wanted: SymbolListRequest) -> Place:
    """Refuse what cannot be asked for, and give where the page begins."""
    for field, text in (("name", wanted.name), ("path", wanted.path)):
        if len(text) > MAX_NAME_CHARS:
            raise InvalidInputError(
                f"the {field} has {len(text)} characters, at most {MAX_NAME_CHARS} are read",
                field=field,
            )
    if wanted.kind is not None and wanted.kind not in KINDS:
        raise unknown("kind", wanted.kind, KINDS)
    if wanted.language is not None and wanted.language not in LANGUAGES:
        raise unknown("language", wanted.language, LANGUAGES)
    if not 1 <= wanted.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit is {wanted.limit}, wanted 1 to {MAX_LIMIT}", field="limit")
    return _place_of(wanted.cursor)


def _register(handle: Handle, path: str) -> str | None:
    """Make the condition on paths callable; None lets all through."""
    if not path:
        return None
    register_path_filter(handle, _PATH_FUNCTION, _path_filter(path))
    return _PATH_FUNCTION


def _path_filter(path: str) -> Callable[[str, str], bool]:
    if not _WILDCARDS.isdisjoint(path):
        return path_predicate(path, position=None)
    folded = path.lower()
    return lambda each, _language: folded in display_path(each).lower()


def _sums(pairs: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    sums: dict[str, int] = {}
    for name, number in pairs:
        sums[name] = sums.get(name, 0) + number
    return dict(sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def _cursor_of(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _place_of(cursor: str | None) -> Place:
    if cursor is None:
        return FROM_THE_FIRST
    try:
        read = json.loads(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
        if not isinstance(read, list) or [type(each) for each in read] != _OF_A_PLACE:
            raise ValueError
        place = Place(*read)
        (place.folded_name + place.kind).encode()
        for number in (place.is_inside, place.blob_id, place.id):
            number.to_bytes(8, signed=True)  # what SQLite can compare
    except (binascii.Error, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
    return place
