"""The palette of Ctrl-K: projects, actions, symbols and files by a few letters, and searches.

A script opens it on any page, and adds the recent searches, which only the browser knows. Without
scripts its button leads to the search.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from litestar import Request, Response, get

from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from web.api.service import Service
from web.pages.find import FailedProject, Text, files_found, open_projects
from web.pages.fuzzy import Fit, Pieces, fit
from web.pages.rendering import (
    PageRequest,
    Pages,
    commits_path,
    memories_path,
    name_of,
    page,
    page_request_of,
    project_path,
    redirect,
    symbols_path,
)
from web.pages.suggest import symbol_suggestions, symbols_containing

_MAX_PROJECTS = 6
_MAX_ACTIONS = 6
_MAX_SYMBOLS = 6
_MAX_FILES = 8
_MAX_QUERY_CHARS = 60  # of a query as a title shows it

#: Ranks of groups; 0 is for titles with words that begin as typed.
_PLACES, _LIKELY = 1, 2


@record
class Entry:
    """An entry of the list: it opens an address, sends a form or lets a script act."""

    pieces: Pieces
    note: str = ""
    address: str = ""
    form: str = ""  # address that a form without fields is sent to
    act: str = ""  # of palette.js
    keys: str = ""  # that do the same


@record
class Group:
    """Entries of one kind."""

    name: str
    title: str
    entries: tuple[Entry, ...]


class Found(NamedTuple):
    """A group, and how likely it is to hold what is meant."""

    group: Group
    rank: int  # 0 is the likeliest; those above ``_LIKELY`` come after the search


class Action(NamedTuple):
    """Something to do."""

    title: str
    synonyms: str
    address: str = ""
    form: str = ""
    act: str = ""
    keys: str = ""


_ACTIONS = (
    Action("Search code", "query find results advanced", "/search", keys="/"),
    Action("Find a file", "path open go", act="finder", keys="t"),
    Action("Index a folder", "add new project repository", "/#path"),
    Action("Jobs", "queue progress running indexing failed", "/jobs", keys="g j"),
    Action("Status and health", "versions disk memory watchers problems errors", "/status"),
    Action("Connect an agent", "mcp claude cursor copilot codex gemini zed install", "/connect"),
    Action("Settings", "options preferences configuration config.toml", "/settings"),
    Action("Switch between dark and light", "theme mode colours colors", act="theme"),
    Action("Keys and query syntax", "help shortcuts keyboard filters", act="keys", keys="?"),
    Action("Home", "projects start overview", "/", keys="g h"),
    Action("HTTP API", "openapi schema rest json", "/openapi.json"),
)


def _actions_of(index: Project) -> tuple[Action, ...]:
    name, here = name_of(display_path(index.root)), project_path(index.project_id)
    here_alone = urlencode({"project": index.project_id})
    return (
        Action(f"Search in {name}", "query code", f"/search?{here_alone}"),
        Action(f"Research in {name}", "question passages roles", f"/research?{here_alone}"),
        Action(f"Index {name} again", "reindex update refresh", form=f"{here}/index"),
        Action(
            f"Symbols of {name}", "definitions functions classes", symbols_path(index.project_id)
        ),
        Action(f"Commits of {name}", "history log changes authors", commits_path(index.project_id)),
        Action(f"Map of {name}", "meaning dots", f"{here}/map"),
        Action(f"Memories of {name}", "notes checkpoints", memories_path(index.project_id)),
        Action(f"Health of {name}", "doctor check repair backup export", f"{here}/doctor"),
    )


@get("/palette")
async def palette(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    text: Text = "",
    project: str = "",
) -> Response[bytes]:
    """Render the list for a typed text; the project is that of the page."""
    page_request = page_request_of(request)
    if not page_request.is_fragment:
        return redirect(f"/search?{urlencode({'q': text.strip()})}")
    return page(
        await service.work(lambda: _list(service, pages, page_request, text.strip(), project))
    )


def _list(
    service: Service, pages: Pages, page_request: PageRequest, text: str, project: str
) -> bytes:
    opened, failed = open_projects(service)
    opened.sort(key=lambda index: (index.project_id != project, display_path(index.root)))
    here = opened[0] if opened and opened[0].project_id == project else None
    found = [
        _projects(opened if text or not here else opened[1:], text),
        _actions(opened, text, here),
    ]
    if text:
        symbols = _symbols(service, opened, text)
        files = _files(service, opened, failed, text, project)
        is_file = _is_whole(files.group, text) and not _is_whole(symbols.group, text)
        found += [files, symbols] if is_file else [symbols, files]
    found = sorted((each for each in found if each.group.entries), key=lambda each: each.rank)
    likely = [each.group for each in found if each.rank <= _LIKELY]
    others = [each.group for each in found if each.rank > _LIKELY]
    searches = [_searches(text, here)] if text else []
    groups = [*likely, *others, *searches] if likely else [*searches, *others]
    context = {
        "text": text,
        "groups": groups,
        "found": sum(len(each.group.entries) for each in found),
        "failed": failed,
        "project": project,
        "has_projects": bool(opened or failed),
    }
    return pages.html("parts/palette.html", page_request, context)


def _projects(opened: Sequence[Project], text: str) -> Found:
    roots = {index.project_id: display_path(index.root) for index in opened}
    titled = [
        (name_of(root), "", Entry(pieces=(), note=root, address=project_path(project_id)))
        for project_id, root in roots.items()
    ]
    return _fitting("projects", "Projects", titled, text, _MAX_PROJECTS)


def _actions(opened: Sequence[Project], text: str, here: Project | None) -> Found:
    """Return the fitting actions; those of other projects than the page's must be typed."""
    actions = [*(_actions_of(here) if here else ()), *_ACTIONS]
    if text:
        actions += [each for index in opened if index is not here for each in _actions_of(index)]
    titled = [
        (
            each.title,
            each.synonyms,
            Entry(pieces=(), address=each.address, form=each.form, act=each.act, keys=each.keys),
        )
        for each in actions
    ]
    return _fitting("actions", "Actions", titled, text, _MAX_ACTIONS if text else len(titled))


def _fitting(
    name: str, title: str, titled: Sequence[tuple[str, str, Entry]], text: str, most: int
) -> Found:
    """Return a group with the entries that fit, the best first.

    Args:
        name: Of the group.
        title: Of the group.
        titled: Title, synonyms and the rest of each entry.
        text: What was typed.
        most: The maximum number of entries.
    """
    fits: list[tuple[Fit, Entry]] = []
    for each, synonyms, entry in titled:
        found = fit(text, each, synonyms)
        if found is not None:
            fits.append((found, entry))
    fits.sort(key=lambda found: found[0].cost)
    entries = tuple(replace(entry, pieces=found.pieces) for found, entry in fits[:most])
    cost = fits[0][0].cost if fits else 0
    rank = 0 if not cost else _LIKELY if cost <= len(text.split()) else _LIKELY + 1
    return Found(Group(name=name, title=title, entries=entries), rank)


def _symbols(service: Service, opened: Sequence[Project], text: str) -> Found:
    ids = [index.project_id for index in opened]
    found = symbol_suggestions(service, ids, text, limit=_MAX_SYMBOLS)
    found = found or symbols_containing(service, ids, text, limit=_MAX_SYMBOLS)
    entries = tuple(
        Entry(pieces=((each.text, False),), note=each.note, address=each.address) for each in found
    )
    return Found(Group(name="symbols", title="Symbols", entries=entries), _PLACES)


def _files(
    service: Service,
    opened: Sequence[Project],
    failed: list[FailedProject],
    text: str,
    nearest: str,
) -> Found:
    """Return the best files; the scattered letters of several words are rarely those of a path."""
    found = files_found(service, opened, failed, text, limit=_MAX_FILES, nearest=nearest)
    is_scattered = any(each.is_fuzzy for each in found[:1]) and len(text.split()) > 1
    entries = tuple(
        Entry(
            pieces=each.pieces,
            note=each.project if len(opened) > 1 else "",
            address=each.address,
        )
        for each in found
    )
    rank = _LIKELY + 1 if is_scattered else _PLACES
    return Found(Group(name="files", title="Files", entries=entries), rank)


def _is_whole(group: Group, text: str) -> bool:
    """Return whether the typed text is all of the first name; a file's may lack its suffix."""
    if not group.entries:
        return False
    shown = "".join(piece for piece, _ in group.entries[0].pieces)
    name = shown.rpartition("/" if group.name == "files" else ".")[2]
    names = {name, name.partition(".")[0]} if group.name == "files" else {name}
    return text.casefold() in {each.casefold() for each in names}


def _searches(text: str, here: Project | None) -> Group:
    """Return the group with which any text can be searched for."""
    shown = text if len(text) <= _MAX_QUERY_CHARS else f"{text[:_MAX_QUERY_CHARS]}…"
    scopes: list[tuple[str, dict[str, str]]] = [("in all projects" if here else "", {})]
    if here:
        scopes.insert(0, (f"in {name_of(display_path(here.root))}", {"project": here.project_id}))
    entries = tuple(
        Entry(
            pieces=((shown, False),),
            note=note,
            address="/search?" + urlencode({"q": text, **scope}, errors="replace"),
        )
        for note, scope in scopes
    )
    return Group(name="search", title="Search code for", entries=entries)
