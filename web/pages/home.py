"""The home page: the search box, the projects with their jobs, and a form to index a folder.

The folder picker: folders below the home directory, one level at a time.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide

from engine.errors import (
    ConflictError,
    DamagedIndexError,
    EngineError,
    IndexTooNewError,
    InvalidPathError,
    UnconfirmedFolderError,
)
from engine.index_records import IndexOptions
from engine.record_class import record
from engine.records import LanguageShare
from engine.roots import expanded, real_path, resolve
from engine.state_records import CONTEXT_NAME_RULE, MAX_CONTEXT_NAME_CHARS, ProjectView
from web.api.service import Service
from web.pages.contexts import (
    MAX_FIELDS,
    ContextForm,
    contexts_for,
    read_context_form,
    save,
)
from web.pages.forms import perform, read_form
from web.pages.rendering import (
    BoxScope,
    PageRequest,
    Pages,
    forgotten_path,
    name_of,
    page,
    page_request_of,
    project_path,
)
from web.wording import duration, left_contexts, size

_MAX_PATH = 4096
_LONG_S = 60.0  # a first run that is expected to take longer is asked about
_MIN_TO_FILTER = 6  # projects; fewer need no filter and no order
_MAX_LANGUAGES = 5  # named in a bar ...
_MIN_SHARE = 0.01  # ... with at least this share; the rest is one part

#: Titles of the orders, by their names in the address.
SORTS = {"": "by name", "recent": "last indexed first", "size": "most files first"}

_MAX_LISTED = 500


@record
class Bar:
    """A part of the languages bar."""

    language: str  # empty: all others
    start: float  # percent
    width: float


@record
class Card:
    """A project on the home page."""

    view: ProjectView
    bars: tuple[Bar, ...]

    @property
    def is_damaged(self) -> bool:
        """Whether it can only be repaired, rebuilt or removed."""
        return self.view.error_code == DamagedIndexError.code

    @property
    def is_too_new(self) -> bool:
        """Whether it was made by a newer version, which can open it."""
        return self.view.error_code == IndexTooNewError.code

    @property
    def name(self) -> str:
        """The name of the folder, or the start of the id if the folder is unknown."""
        summary = self.view.summary
        return name_of(summary.path) if summary.path else summary.project_id[:12]


@record
class HomeParams:
    """Parameters of the address, and of the form just sent."""

    name: str = ""  # words in the path of projects
    sort: str = ""
    context: str = ""  # the name of the one whose projects are shown
    path: str = ""  # the folder to index
    error: EngineError | None = None  # of the form
    form: ContextForm | None = None  # that could not be saved
    forgotten: str = ""  # id of a project just forgotten

    @property
    def is_path_wrong(self) -> bool:
        """Whether the form failed because of its path."""
        return self.error is not None and self.error.details.get("field") == "path"

    @property
    def is_question(self) -> bool:
        """Whether the folder is indexed only when the user confirms it."""
        return isinstance(self.error, UnconfirmedFolderError)

    @property
    def address(self) -> str:
        """The address of the page."""
        return self.address_with()

    def address_with(self, **changed: str) -> str:
        """Return the address of the page, some of its parameters changed."""
        parts = {"context": self.context, "name": self.name, "sort": self.sort, **changed}
        query = urlencode({name: value for name, value in parts.items() if value})
        return f"/?{query}" if query else "/"


def read_params(
    name: str = "", sort: str = "", context: str = "", forgotten: str = ""
) -> HomeParams:
    """Collect the parameters of the address.

    ``forgotten`` is the id of a project just forgotten, which the page confirms.
    """
    return HomeParams(
        name=name[:_MAX_PATH],
        sort=sort if sort in SORTS else "",
        context=context[:_MAX_PATH],
        forgotten=forgotten,
    )


@get("/", dependencies={"params": Provide(read_params, sync_to_thread=False)})
async def home(
    request: Request[Any, Any, Any], service: Service, pages: Pages, params: HomeParams
) -> Response[bytes]:
    """Render the home page; for htmx the projects only."""
    page_request = page_request_of(request)
    template = "parts/projects.html" if page_request.is_fragment else "home.html"
    return page(await service.work(lambda: _home(service, pages, page_request, params, template)))


@post("/", status_code=303)
async def index_folder(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Submit a job to index a folder, and redirect to it."""
    form = await read_form(request)
    path, is_confirmed = form.get("path", ""), "confirmed" in form

    def act() -> str:
        return f"/jobs/{_submit(service, _meant(path), is_confirmed=is_confirmed)}"

    return await perform(service, act, _error_page(request, service, pages, path))


@post("/contexts", status_code=303)
async def save_context(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Make, change or remove a context, and redirect to its projects."""
    form = read_context_form(await read_form(request, max_fields=MAX_FIELDS))
    page_request = page_request_of(request)

    def show(error: EngineError) -> bytes:
        params = HomeParams(context=form.old_name, form=replace(form, error=error))
        return _home(service, pages, page_request, params, "home.html")

    return await perform(service, lambda: save(service.catalog, form), show)


@post("/damaged/{project_id:str}/mend", status_code=303)
async def repair_damaged(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Repair a damaged index, and redirect to the job that fills it again."""

    def act() -> str:
        _check_unusable(service, project_id)
        doctor = service.catalog.doctor_of_id(project_id)
        root = doctor.root
        if doctor.repair(cancelled=lambda: service.is_shutting_down).needs_index:
            return f"/jobs/{service.catalog.jobs.submit(root).job_id}"
        return project_path(project_id)

    return await perform(
        service, act, _error_page(request, service, pages), lane=service.executors.doctor
    )


@post("/damaged/{project_id:str}/forget", status_code=303)
async def remove_unusable(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Remove a project whose index is damaged or too new; others have their own page."""

    def act() -> str:
        _check_unusable(service, project_id)
        paths = {each.summary.project_id: each.summary.path for each in _views(service)}
        left = service.catalog.forget_id(project_id)
        service.recently_deleted.note(project_id, paths.get(project_id, ""), left)
        return forgotten_path(project_id)

    answer = await perform(service, act, _error_page(request, service, pages))
    if answer.status_code == HTTPStatus.SEE_OTHER:
        service.maintenance.forget(project_id)
    return answer


def _check_unusable(service: Service, project_id: str) -> None:
    try:
        service.index_of(project_id).summary()
    except DamagedIndexError:
        return
    raise ConflictError(
        "this index is readable", hint="see the page of the project for its actions"
    )


def _error_page(
    request: Request[Any, Any, Any], service: Service, pages: Pages, path: str = ""
) -> Callable[[EngineError], bytes]:
    """Return a renderer of the page with an error, and with the path that was typed."""
    page_request = page_request_of(request)
    return lambda error: _home(
        service, pages, page_request, HomeParams(path=path, error=error), "home.html"
    )


def _meant(path: str) -> str:
    """Return a path without the blanks around it, unless a folder has just this name."""
    return path if os.path.isdir(expanded(path)) else path.strip()


def _submit(service: Service, path: str, *, is_confirmed: bool) -> str:
    full = expanded(path)
    if not full.startswith("/") or len(full) > _MAX_PATH:
        raise InvalidPathError(
            "the path must be absolute, such as /home/me/src/app, or start with ~",
            field="path",
        )
    if not is_confirmed:
        _check_folder(service, full, path)
    options = IndexOptions(confirmed=is_confirmed)
    job_id = service.catalog.jobs.submit(full, options).job_id
    service.settings.add_folder(resolve(full))
    return job_id


def _check_folder(service: Service, full: str, path: str) -> None:
    """Raise what the user is asked about before a folder is indexed for the first time."""
    check = service.catalog.check_folder(full)
    reasons = [] if check.refusal else [check.doubt, check.overlap, _length_of(service, full)]
    if question := "; ".join(filter(None, reasons)):
        raise UnconfirmedFolderError(question[0].upper() + question[1:], field="path", path=path)


def _length_of(service: Service, full: str) -> str:
    estimate = service.catalog.jobs.estimate(full)
    if estimate is None or estimate.seconds < _LONG_S:
        return ""
    took, room = duration(estimate.seconds * 1000), size(estimate.needed_bytes)
    return f"it is large: indexing takes about {took} and {room} of disk space"


def _home(
    service: Service, pages: Pages, page_request: PageRequest, params: HomeParams, template: str
) -> bytes:
    views = _views(service)
    is_there = any(view.summary.project_id == params.forgotten for view in views)
    cards = [Card(view=view, bars=bars_of(view.languages)) for view in views]
    contexts = contexts_for(service.catalog, params.context, params.form)
    words = params.name.casefold().split()
    shown = [
        card
        for card in cards
        if contexts.holds(card.view.summary.project_id)
        and all(word in (card.view.summary.path or card.name).casefold() for word in words)
    ]
    current = contexts.current.name if contexts.current else ""
    forgotten, left = service.recently_deleted.of(params.forgotten)
    context = {
        "cards": sorted(shown, key=_ORDERS.get(params.sort, _by_name)),
        "number_of_projects": len(cards),
        "is_many": len(cards) >= _MIN_TO_FILTER,
        "sorts": SORTS,
        "params": params,
        "contexts": contexts,
        "name_rule": CONTEXT_NAME_RULE,
        "max_name": MAX_CONTEXT_NAME_CHARS,
        "all_cards": sorted(cards, key=_by_name),
        "box": BoxScope(current, current, "context") if current else None,
        "forgotten": None if is_there else forgotten,
        "left_contexts": left_contexts(left),
        "unwatched_reason": service.settings.unwatched_reason,
    }
    return pages.html(template, page_request, context)


def _views(service: Service) -> tuple[ProjectView, ...]:
    return service.catalog.views.poll()


def _by_name(card: Card) -> tuple[object, ...]:
    return card.name.casefold(), card.view.summary.path


def _by_time(card: Card) -> tuple[object, ...]:
    indexed = card.view.summary.last_indexed_at
    moment = datetime.fromisoformat(indexed).timestamp() if indexed else 0.0
    return -moment, *_by_name(card)


def _by_size(card: Card) -> tuple[object, ...]:
    return -card.view.summary.files, *_by_name(card)


_ORDERS = {"recent": _by_time, "size": _by_size}


def bars_of(shares: tuple[LanguageShare, ...]) -> tuple[Bar, ...]:
    """Return the parts of a bar, the largest first, with the small ones joined at the end."""
    total = sum(share.size_bytes for share in shares)
    if not total:
        return ()
    parts = [
        (share.language, share.size_bytes)
        for share in shares[:_MAX_LANGUAGES]
        if share.size_bytes >= total * _MIN_SHARE
    ]
    rest = total - sum(size_bytes for _, size_bytes in parts)
    bars = []
    start = 0.0
    for language, size_bytes in [*parts, *([("", rest)] if rest else [])]:
        width = 100 * size_bytes / total
        bars.append(Bar(language=language, start=round(start, 3), width=round(width, 3)))
        start += width
    return tuple(bars)


@record
class Folder:
    """A folder with its subfolders."""

    path: str
    name: str
    parents: tuple[tuple[str, str], ...]  # name and path, the home directory first
    children: tuple[tuple[str, str], ...]  # name and path
    is_cut: bool  # there are more children
    is_repository: bool


@get("/folders")
async def folders(
    request: Request[Any, Any, Any], service: Service, pages: Pages, path: str = ""
) -> Response[bytes]:
    """Render the subfolders of a folder; hidden ones and symbolic links are left out."""
    page_request = page_request_of(request)
    template = "parts/folders.html" if page_request.is_fragment else "folders.html"

    def show() -> bytes:
        home = real_path(os.path.expanduser("~"))
        return pages.html(template, page_request, {"folder": list_folder(home, path)})

    return page(await service.work(show))


def list_folder(home: str, path: str) -> Folder:
    """Return a folder with its subfolders.

    Args:
        home: The resolved home directory.
        path: A folder in it; empty for the home directory.

    Raises:
        InvalidPathError: It is outside the home directory, hidden, a link, or unreadable.
    """
    wanted = path or home
    if "\0" in wanted or os.path.normpath(wanted) != wanted or real_path(wanted) != wanted:
        raise _refused(path)
    inside = os.path.relpath(wanted, home)
    parts = [] if inside == "." else inside.split("/")
    if any(part.startswith(".") for part in parts):  # hidden, or outside the home directory
        raise _refused(path)
    try:
        with os.scandir(wanted) as entries:
            names = sorted(
                (
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
                ),
                key=str.casefold,
            )
    except OSError as error:
        raise InvalidPathError(
            f"the folder cannot be read: {error.strerror}", field="path"
        ) from error
    parents = [("~", home)]
    for part in parts[:-1]:
        parents.append((part, f"{parents[-1][1]}/{part}"))
    shown = [name for name in names if name.isprintable()]
    return Folder(
        path=wanted,
        name=parts[-1] if parts else "~",
        parents=tuple(parents) if parts else (),
        children=tuple((name, f"{wanted}/{name}") for name in shown[:_MAX_LISTED]),
        is_cut=len(shown) > _MAX_LISTED,
        is_repository=os.path.exists(f"{wanted}/.git"),
    )


def _refused(path: str) -> InvalidPathError:
    return InvalidPathError(
        "only folders in the home directory are shown, except hidden ones",
        hint="type the path of the folder instead",
        field="path",
        path=path,
    )
