"""Suggestions while somebody types: filters and their values, symbols, files.

A symbol or file leads to its place; the rest completes the question. A filter is completed where it
is typed, at the end; a symbol or file has to fit all words, so that nothing covers the results of
somebody who types a sentence.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from litestar import Request, Response, get
from litestar.params import QueryParameter

from engine.browse_records import FilterValue, NamedPlace
from engine.cross_project import FILTER_NAMES, chosen_projects, names_projects
from engine.errors import EngineError
from engine.project import Index
from engine.records import SearchRequest, display_path
from web.api.service import Service
from web.pages.facets import plain_value
from web.pages.rendering import Pages, file_path, name_of, page, redirect, visit_of
from web.wording import count

_MOST_PROJECTS = 8  # that are asked
_MOST_SYMBOLS = 4
_MOST_FILES = 3
_MOST_VALUES = 8
_LEAST_OF_A_NAME = 2  # characters of a filter's name
_LAST = re.compile(r'(?:^|(?<=\s))-?(?:(?P<name>[a-z]+):(?P<value>"[^"]*|\S*)|(?P<word>\S+))$')
_WORD = re.compile(r'-?(?P<name>[a-z]+):(?:"[^"]*"?|\S*)|-?"[^"]*"?|\S+')
_MEANINGS = {
    "lang": "a language",
    "path": "a folder, a file or a glob",
    "kind": "a kind of symbol",
    "sym": "definitions of exactly this name",
    "branch": "another branch",
    "project": "a project",
    "tag": "an ending or a language",
    "case": "whether capitals count",
}
_CASES = ("yes", "no", "auto")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A line of the list."""

    kind: str  # symbol, file or filter; of a value the name of its filter
    text: str
    note: str
    query: str = ""  # the question, completed
    address: str = ""  # or where it leads


@get("/search/suggest")
async def suggest(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    text: Annotated[str, QueryParameter(name="q", max_length=4096)] = "",
) -> Response[bytes]:
    """Give the list of suggestions for what is typed; empty when there are none."""
    visit = visit_of(request)
    if not visit.is_fragment:
        return redirect("/search")

    def show() -> bytes:
        facts = {"suggestions": suggestions_for(service, text)}
        return pages.html("parts/suggestions.html", visit, facts)

    return page(await service.work(show))


def suggestions_for(service: Service, text: str) -> list[Suggestion]:
    """Give what may be meant by what is typed.

    Args:
        service: Whose projects are looked at.
        text: What is typed, up to the cursor.
    """
    match = _LAST.search(text)
    if match is None:
        return []
    roots = _roots_for(service, text[: match.start()])
    if match["name"] is not None:
        name, start = match["name"], match["value"]
        if name not in FILTER_NAMES:
            return []
        head = text[: match.start("value")]
        return _values(service, roots, name, start.removeprefix('"'), head)
    word = match["word"].lstrip("-")
    head = text[: match.end() - len(word)]
    words = [*_plain_words(text[: match.start()]), word]
    names = [
        Suggestion(kind="filter", text=f"{name}:", note=_MEANINGS[name], query=f"{head}{name}:")
        for name in FILTER_NAMES
        if len(word) >= _LEAST_OF_A_NAME
        and name.startswith(word)
        # At the end of other words, the whole name is a word like them.
        and (len(words) == 1 or name != word)
    ]
    return [*names, *_places(service, roots, " ".join(words))]


def is_unfinished(service: Service, text: str) -> bool:
    """Say whether what is typed ends with a filter whose value is the beginning of one there is.

    Args:
        service: Whose projects are looked at.
        text: What is typed, up to the cursor.
    """
    match = _LAST.search(text)
    if match is None or match["name"] not in FILTER_NAMES:
        return False
    start = match["value"].removeprefix('"').lower()
    found = suggestions_for(service, text)
    return any(each.text.lower().startswith(start) and each.text.lower() != start for each in found)


def _plain_words(typed: str) -> list[str]:
    """Give the words of a question that are no filters and are not refused."""
    return [
        match[0]
        for match in _WORD.finditer(typed)
        if not match[0].startswith("-") and match["name"] not in FILTER_NAMES
    ]


def _values(
    service: Service, roots: Sequence[str], name: str, start: str, head: str
) -> list[Suggestion]:
    if name == "case":
        found = [FilterValue(value=each) for each in _CASES if each.startswith(start)]
    elif name == "project":
        names = [name_of(root) for root in service.catalog.roots()]
        found = [FilterValue(value=each) for each in names if start.lower() in each.lower()]
    else:
        found = _of_all(service, roots, lambda index: index.browse.filter_values(name, start))
    counted = "symbol" if name == "kind" else "file"
    made = []
    for each in sorted(_merged(found), key=_standing)[:_MOST_VALUES]:
        # A folder goes on to be typed; anything else is done.
        after = "" if each.value.endswith("/") else " "
        note = "" if each.number is None else count(each.number, counted)
        query = f"{head}{plain_value(each.value)}{after}"
        made.append(Suggestion(kind=name, text=each.value, note=note, query=query))
    return made


def _standing(value: FilterValue) -> tuple[bool, int]:
    """Say where a value stands: folders before files, and the most frequent first."""
    is_folder = value.value.endswith("/")
    return value.number is not None and not is_folder, -(value.number or 0)


def _places(service: Service, roots: Sequence[str], words: str) -> list[Suggestion]:
    are_several = len(roots) > 1

    def symbols(index: Index) -> list[Suggestion]:
        found = index.browse.symbols_beginning(words, _MOST_SYMBOLS)
        return [_place(index, each, is_named=are_several) for each in found]

    def files(index: Index) -> list[Suggestion]:
        found = index.browse.files_beginning(words, _MOST_FILES)
        return [_place(index, each, is_named=are_several) for each in found]

    shown = _of_all(service, roots, symbols)[:_MOST_SYMBOLS]
    return shown + _of_all(service, roots, files)[:_MOST_FILES]


def _place(index: Index, place: NamedPlace, *, is_named: bool) -> Suggestion:
    """Make the line of a place; it names the project where there are others."""
    address = file_path(index.project_id, place.path)
    project = name_of(display_path(index.root))
    if not place.name:
        note = f"{place.kind} · {project}" if is_named else place.kind
        return Suggestion(kind="file", text=place.path, note=note, address=address)
    path = f"{project}/{place.path}" if is_named else place.path
    return Suggestion(
        kind="symbol",
        text=place.name,
        note=f"{place.kind} · {path}:{place.line}",
        address=f"{address}?lines={place.line}-{place.line}#L{place.line}",
    )


def _of_all(
    service: Service, roots: Sequence[str], ask: Callable[[Index], Iterable[Found]]
) -> list[Found]:
    """Ask projects, and take of each in turn, so that none fills the list alone.

    One that fails says nothing.
    """
    found: list[list[Found]] = []
    for root in roots[:_MOST_PROJECTS]:
        try:
            found.append(list(ask(service.index_of(root))))
        except EngineError:
            continue
    longest = max(map(len, found), default=0)
    return [each[at] for at in range(longest) for each in found if at < len(each)]


def _roots_for(service: Service, typed: str) -> list[str]:
    """Give the projects that a question is put to that begins so."""
    try:
        request = SearchRequest(query=typed)
        if names_projects(request):
            return chosen_projects(service.catalog.everywhere(), request)
    except EngineError:  # not a query yet, or it names a project that is not there
        return service.roots()
    return service.roots()


def _merged(found: Sequence[FilterValue]) -> list[FilterValue]:
    """Put the values of several projects together, their numbers added up."""
    merged: dict[str, FilterValue] = {}
    for each in found:
        known = merged.get(each.value)
        if known is not None and known.number is not None and each.number is not None:
            both = known.number + each.number
            merged[each.value] = FilterValue(value=each.value, number=both)
        else:
            merged[each.value] = each
    return list(merged.values())
