"""Suggestions while typing: filters and their values, symbols, files.

Symbols and files are links, filters and values complete the query. A filter is completed at the end
of the query; a symbol or file must match all words, so that no list covers the results of a
sentence.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, TypeVar

from litestar import Request, Response, get
from litestar.params import QueryParameter

from engine.browse_records import FilterValue, NamedPlace
from engine.cross_project import FILTER_ALIASES, FILTER_NAMES, names_projects
from engine.errors import EngineError
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from engine.search_records import SearchRequest
from web.api.service import Service
from web.pages.facets import plain_value
from web.pages.rendering import Pages, file_path, name_of, page, page_request_of, redirect
from web.wording import count

_MAX_PROJECTS = 8  # searched for suggestions
_MAX_SYMBOLS = 4
_MAX_FILES = 3
_MOST_NAMES = 100_000  # read for parts of names; the first project is always read
_MAX_VALUES = 8
_MIN_NAME_CHARS = 2  # typed, before names of filters are suggested
_LAST = re.compile(r'(?:^|(?<=\s))-?(?:(?P<name>[a-z]+):(?P<value>"[^"]*|\S*)|(?P<word>\S+))$')
#: Filters that decide by more than files and kinds, under which values are not counted.
_UNCOUNTED = re.compile(r"(?<!\S)-?(?:sym|symbol|calls|uses|extends|imports|author|branch):")
_WORD = re.compile(r'-?(?P<name>[a-z]+):(?:"[^"]*"?|\S*)|-?"[^"]*"?|\S+')
_MEANINGS = {
    "lang": "a language",
    "path": "a folder, file or glob",
    "kind": "a kind of symbol",
    "sym": "definitions with exactly this name",
    "calls": "code that calls this name",
    "uses": "code that uses this name in any way",
    "extends": "classes that extend or implement this one",
    "imports": "files that import this name or module",
    "is": "tests, vendored or generated files",
    "branch": "another branch",
    "project": "a project",
    "repo": "a project, also by a part of its name",
    "context": "a named set of projects",
    "tag": "a rule of config.toml, a file extension or a language",
    "author": "files that an author has changed",
    "case": "whether case matters",
}
_VALUES = {"case": ("yes", "no", "auto"), "is": ("test", "vendored", "generated")}

Found = TypeVar("Found")


@record
class Suggestion:
    """An entry of the list."""

    kind: str  # symbol, file, filter, or the name of the filter of a value
    text: str
    note: str
    query: str = ""  # the completed query
    address: str = ""  # or the address to open


@get("/search/suggest")
async def suggest(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    text: Annotated[str, QueryParameter(name="q", max_length=4096)] = "",
    project: str = "",
    context: str = "",
) -> Response[bytes]:
    """Render the list of suggestions, which may be empty."""
    page_request = page_request_of(request)
    if not page_request.is_fragment:
        return redirect("/search")

    def show() -> bytes:
        within = _in_context(service, context) if context else None
        shown = suggestions_for(service, text, project, within)
        return pages.html("parts/suggestions.html", page_request, {"suggestions": shown})

    return page(await service.work(show))


def _in_context(service: Service, name: str) -> list[str]:
    """Return the ids of the projects of a context; none if it is unknown."""
    try:
        projects = service.catalog.contexts.get(name).projects
    except EngineError:  # the search tells of it
        return []
    return [each.project_id for each in projects if not each.gone]


def suggestions_for(
    service: Service, text: str, project: str = "", within: Sequence[str] | None = None
) -> list[Suggestion]:
    """Return suggestions for a query.

    Args:
        service: The service with the projects.
        text: The query up to the cursor.
        project: Id of the project that the search is limited to; empty: none.
        within: Ids of the projects of the context that it is limited to; None: it is not.
    """
    match = _LAST.search(text)
    if match is None:
        return []
    roots: Sequence[str] = _roots_for(service, text[: match.start()]) if within is None else within
    if project:
        roots = [project]
    if match["name"] is not None:
        name, start = FILTER_ALIASES.get(match["name"], match["name"]), match["value"]
        if name not in FILTER_NAMES:
            return []
        head = text[: match.start("value")]
        return _value_suggestions(service, roots, (name, start.removeprefix('"')), head)
    word = match["word"].lstrip("-")
    head = text[: match.end() - len(word)]
    words = [*_plain_words(text[: match.start()]), word]
    names = [
        Suggestion(kind="filter", text=f"{name}:", note=_MEANINGS[name], query=f"{head}{name}:")
        for name in (*FILTER_NAMES, "repo")
        if len(word) >= _MIN_NAME_CHARS
        and name.startswith(word)
        # After other words, the complete name of a filter is a word too.
        and (len(words) == 1 or name != word)
    ]
    return [*names, *_place_suggestions(service, roots, " ".join(words))]


def is_unfinished(service: Service, text: str, project: str = "") -> bool:
    """Return whether a query ends with a filter whose value is a proper prefix of an existing one.

    Args:
        service: The service with the projects.
        text: The query up to the cursor.
        project: As for ``suggestions_for``.
    """
    match = _LAST.search(text)
    if match is None or FILTER_ALIASES.get(match["name"], match["name"]) not in FILTER_NAMES:
        return False
    start = match["value"].removeprefix('"').lower()
    found = suggestions_for(service, text, project)
    return any(each.text.lower().startswith(start) and each.text.lower() != start for each in found)


def _plain_words(typed: str) -> list[str]:
    """Return the words of a query that are neither filters nor negated."""
    return [
        match[0]
        for match in _WORD.finditer(typed)
        if not match[0].startswith("-") and match["name"] not in FILTER_NAMES
    ]


def _value_suggestions(
    service: Service, roots: Sequence[str], typed: tuple[str, str], head: str
) -> list[Suggestion]:
    """Suggest values of a filter, typed so far, after the rest of the query."""
    name, start = typed
    rest = head.rpartition(" ")[0]
    if name in _VALUES:
        found = [FilterValue(value=each) for each in _VALUES[name] if each.startswith(start)]
    elif name == "project":
        names = [name_of(root) for root in service.catalog.roots()]
        found = [FilterValue(value=each) for each in names if start.lower() in each.lower()]
    elif name == "context":
        found = _contexts(service, start)
    else:
        found = _ask_projects(
            service, roots, lambda index: index.browse.filter_values(name, start, within=rest)
        )
    is_of_kind = name == "lang" and "kind:" in rest
    counted = {"kind": "symbol", "context": "project"}.get(name, "symbol" if is_of_kind else "file")
    is_counted = not (_UNCOUNTED.search(rest) or (name in ("path", "tag") and "kind:" in rest))
    suggestions = []
    for each in sorted(_merged(found), key=_sort_key)[:_MAX_VALUES]:
        # A folder's path may continue; any other value is complete.
        after = "" if each.value.endswith("/") else " "
        note = count(each.number, counted) if each.number is not None and is_counted else ""
        query = f"{head}{plain_value(each.value)}{after}"
        suggestions.append(Suggestion(kind=name, text=each.value, note=note, query=query))
    return suggestions


def _contexts(service: Service, start: str) -> list[FilterValue]:
    """Return the contexts with a text in their names; none if they cannot be read."""
    try:
        contexts = service.catalog.contexts.all()
    except EngineError:  # the search tells of it
        return []
    return [
        FilterValue(value=each.name, number=len(each.projects))
        for each in contexts
        if start.casefold() in each.name.casefold()
    ]


def _sort_key(value: FilterValue) -> tuple[bool, int]:
    """Sort folders before files, then the most frequent first."""
    is_folder = value.value.endswith("/")
    return value.number is not None and not is_folder, -(value.number or 0)


def _place_suggestions(service: Service, roots: Sequence[str], words: str) -> list[Suggestion]:
    are_several = len(roots) > 1

    def files(index: Project) -> list[Suggestion]:
        found = index.browse.files_beginning(words, _MAX_FILES)
        return [_place(index, each, is_named=are_several) for each in found]

    shown = symbol_suggestions(service, roots, words, limit=_MAX_SYMBOLS)
    return shown + _ask_projects(service, roots, files)[:_MAX_FILES]


def symbol_suggestions(
    service: Service, roots: Sequence[str], words: str, *, limit: int
) -> list[Suggestion]:
    """Return the symbols whose names begin with some words.

    Args:
        service: The service with the projects.
        roots: The projects, by root or id; the first ones are searched, and come first.
        words: What was typed.
        limit: The maximum number.
    """
    are_several = len(roots) > 1

    def symbols(index: Project) -> list[Suggestion]:
        found = index.browse.symbols_beginning(words, limit)
        return [_place(index, each, is_named=are_several) for each in found]

    return _ask_projects(service, roots, symbols)[:limit]


def symbols_containing(
    service: Service, roots: Sequence[str], text: str, *, limit: int
) -> list[Suggestion]:
    """Return the symbols with a text in their names, of the first projects.

    Args:
        service: The service with the projects.
        roots: As for ``symbol_suggestions``.
        text: What was typed.
        limit: The maximum number.
    """
    are_several = len(roots) > 1
    read = 0

    def symbols(index: Project) -> list[Suggestion]:
        nonlocal read
        names = index.browse.most_symbols()
        if read and read + names > _MOST_NAMES:
            return []
        read += names
        found = index.browse.symbols_containing(text, limit)
        return [_place(index, each, is_named=are_several) for each in found]

    return _ask_projects(service, roots, symbols)[:limit]


def _place(index: Project, place: NamedPlace, *, is_named: bool) -> Suggestion:
    """Return the suggestion of a symbol or file."""
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


def _ask_projects(
    service: Service, roots: Sequence[str], ask: Callable[[Project], Iterable[Found]]
) -> list[Found]:
    """Query projects and interleave their results, so that no project fills the list alone.

    Projects that fail are skipped.
    """
    found: list[list[Found]] = []
    for root in roots[:_MAX_PROJECTS]:
        try:
            found.append(list(ask(service.index_of(root))))
        except EngineError:
            continue
    longest = max(map(len, found), default=0)
    return [each[at] for at in range(longest) for each in found if at < len(each)]


def _roots_for(service: Service, typed: str) -> list[str]:
    """Return the projects to search for a query that starts with ``typed``."""
    try:
        request = SearchRequest(query=typed)
        if names_projects(request):
            return service.catalog.chosen_projects(service.catalog.roots_or_ids(), request)
    except EngineError:  # not a valid query yet, or an unknown project
        return service.roots()
    return service.roots()


def _merged(found: Sequence[FilterValue]) -> list[FilterValue]:
    """Merge the values of several projects, adding up their numbers."""
    merged: dict[str, FilterValue] = {}
    for each in found:
        known = merged.get(each.value)
        if known is not None and known.number is not None and each.number is not None:
            both = known.number + each.number
            merged[each.value] = FilterValue(value=each.value, number=both)
        else:
            merged[each.value] = each
    return list(merged.values())
