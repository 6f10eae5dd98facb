"""Rendering: templates, static files, addresses of pages, and responses.

- Templates escape everything that comes from a repository.
- Static files are read once. Addresses with the hash of the content are cached by browsers for a
  year, since other content has another address; those without are revalidated each time.

Error pages: errors of the API rendered as HTML for browsers.
"""

import hashlib
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, urlencode

import jinja2
from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.exceptions import NotFoundException
from litestar.params import QueryParameter
from litestar.response import Stream
from litestar.routes import HTTPRoute
from litestar.types import Scope
from markupsafe import Markup

from engine.errors import EngineError, IndexCorruptError, IndexTooNewError
from engine.record_class import record
from engine.records import display_path
from web import wording
from web.api.health import version
from web.api.service import Service
from web.errors import Refusal
from web.security.access import address_without_token, cookies_named
from web.security.middleware import wants_page
from web.terminal import printable, printable_block
from web.text import share_text

THEMES = ("dark", "light")
THEME_COOKIE = "cairn_theme"
_HTML = "text/html"
_MAX_ADDRESS_CHARS = 2000
_ADDRESS_CHARS = "%/?#[]@:~!$&'()*+,;="
_PACKAGE = Path(__file__).resolve().parents[1]
_TAG_CHARS = 16
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


#: Functions that describe a job in templates.
JOB_WORDS: Mapping[str, Callable[..., object]] = {
    "is_active": wording.is_active,
    "gave_way": wording.gave_way,
    "state": wording.state_of,
    "activity": wording.activity_of,
    "progress": wording.progress_of,
    "share": wording.share_of,
    "wait": wording.wait_of,
    "rate": wording.rate_of,
    "left": wording.time_left_of,
    "asker": wording.asker_of,
    "contents": wording.contents_of,
    "history": wording.history_changes_of,
    "unit": wording.whole_unit_of,
    "summary": wording.summary_of,
}

_MAX_NAME_CHARS = 60  # a longer last part of an address is an id
_ID_CHARS = 12  # characters of an id shown in place of a name
_OF_PROJECT = re.compile(r"/p/([0-9a-f]{64})(?=/)")
_WORD = re.compile(r"[^\W\d_]{3}")


@record
class Asset:
    """A static file."""

    body: bytes
    media_type: str
    tag: str  # hash of the content


def folder_of(name: str) -> Path:
    """Return the folder ``templates`` or ``static``: beside the package; in a wheel, inside it."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@cache
def assets() -> Mapping[str, Asset]:
    """Return all static files by name."""
    found = {}
    for file in sorted(folder_of("static").iterdir()):
        if _NAME.fullmatch(file.name) or file.suffix == ".txt":
            body = file.read_bytes()
            guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            found[file.name] = Asset(
                body=body,
                media_type=_TYPES.get(file.suffix, guessed),
                tag=hashlib.sha256(body).hexdigest()[:_TAG_CHARS],
            )
    return found


def address_of(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    return f"/static/{name}?v={assets()[name].tag}"


@get("/static/{name:str}", include_in_schema=False)
async def static_file(
    request: Request[Any, Any, Any],
    name: str,
    version: Annotated[str, QueryParameter(name="v")] = "",
) -> Response[bytes]:
    """Serve a static file, or 304 if the browser has it."""
    asset = assets().get(name)
    if asset is None:
        raise NotFoundException
    tag = f'"{asset.tag}"'
    headers = {"ETag": tag, "Cache-Control": _IMMUTABLE if version == asset.tag else _REVALIDATE}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)


@record
class PageRequest:
    """The parts of a request on which the rendering of a page depends."""

    theme: str  # dark or light; empty: the system's
    here: str  # the address of the page, without scheme, host and token
    is_fragment: bool  # htmx requests a part of the page

    @property
    def theme_after(self) -> str:
        """The theme after the switch without scripts, which assumes light for the system's."""
        return "light" if self.theme == "dark" else "dark"


def page_request_of(connection: ASGIConnection[Any, Any, Any, Any]) -> PageRequest:
    """Return the parts of a request on which the rendering of a page depends."""
    headers = connection.headers
    return PageRequest(
        theme=_theme_in(headers.get("cookie", "")),
        here=_address_of(connection),
        is_fragment=headers.get("hx-request") == "true"
        and headers.get("hx-history-restore-request") != "true",
    )


def _address_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return the address of the page, or the home page if it is none that GET answers."""
    scope = connection.scope
    is_page = scope.get("method") != "POST" or any(
        route.path_format == scope.get("path_template") and "GET" in route.methods
        for route in connection.app.routes
        if isinstance(route, HTTPRoute)
    )
    return address_without_token(scope["path"], scope.get("query_string", b"")) if is_page else "/"


class BoxScope(NamedTuple):
    """The project or context that a search box is limited to."""

    id: str
    name: str
    field: str = "project"  # of the form


def box_scope(project_id: str, root: str = "") -> BoxScope | None:
    """Return the scope of a box, or None without a project.

    Args:
        project_id: The project; empty for all projects.
        root: Its folder, if known; otherwise the start of the id is its name.
    """
    if not project_id:
        return None
    return BoxScope(project_id, name_of(display_path(root)) if root else project_id[:_ID_CHARS])


def scope_of_damaged(service: Service, project_id: str) -> BoxScope | None:
    """Return the scope of a box for a project that may not open."""
    return BoxScope(project_id, name_of_id(service, project_id)) if project_id else None


class Pages:
    """Renders templates; thread-safe."""

    def __init__(self) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder_of("templates")),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.globals.update(
            address_of=address_of,
            version=version(),
            job_words=JOB_WORDS,
            count=wording.count,
            stored_commits=wording.stored_commits,
            share_text=share_text,
            number="{:,}".format,
            percent=wording.percent,
            remedy_of_newer=wording.REMEDY_OF_NEWER,
            quantity=wording.quantity,
            branch_text=wording.branch_text,
            name_of=name_of,
            file_path=file_path,
            image_path=image_path,
            project_path=project_path,
            related_path=related_path,
            symbol_path=symbol_path,
            commit_path=commit_path,
            commits_path=commits_path,
            box_scope=box_scope,
            symbols_path=symbols_path,
            tree_path=tree_path,
        )
        self._templates.filters.update(
            since=since,
            duration=wording.duration,
            age=wording.age,
            size=wording.size,
            shortened=wording.shortened,
            on_page=wording.on_page,
            sentence=wording.sentence,
            signature=wording.signature_of,
            printable=printable,
            cause=cause,
            dotted=dotted,
            block=printable_block,
            query=urlencode,
        )

    def template_names(self) -> list[str]:
        """Return the names of all templates."""
        return self._templates.list_templates()

    def load(self, template: str) -> None:
        """Compile a template before it is asked for, which takes 5 to 30 ms."""
        self._templates.get_template(template)

    def html(
        self, template: str, page_request: PageRequest, context: Mapping[str, object]
    ) -> bytes:
        """Render a template.

        Args:
            template: Its file.
            page_request: How to render it.
            context: Its variables.
        """
        return self.part(template, {**context, "page_request": page_request}).encode(
            "utf-8", "replace"
        )

    def part(self, template: str, context: Mapping[str, object]) -> str:
        """Render a template that does not depend on the request."""
        return self._templates.get_template(template).render(context)


def page(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response[bytes]:
    """Return the response with a page, or a part of one."""
    return Response(body, status_code=status, media_type=_HTML, headers=dict(headers or {}))


def redirect(place: str) -> Response[bytes]:
    """Redirect to a page with GET, as after a form.

    Characters that a header cannot hold are escaped.
    """
    return Response(b"", status_code=303, headers={"Location": quote(place, safe=_ADDRESS_CHARS)})


def local_address(place: str) -> str:
    """Return an address on this server, or the home page if it leads elsewhere."""
    is_own = place.startswith("/") and not place.startswith(("//", "/\\"))
    is_plain = place.isascii() and place.isprintable() and len(place) <= _MAX_ADDRESS_CHARS
    return place if is_own and is_plain and "\\" not in place else "/"


def project_path(project_id: str) -> str:
    """Return the address of a project's page."""
    return f"/p/{project_id}"


def forgotten_path(project_id: str) -> str:
    """Return the address of the home page that confirms that a project is forgotten."""
    return f"/?forgotten={project_id}"


def file_path(project_id: str, path: str) -> str:
    """Return the address of a file's page."""
    return f"/p/{project_id}/f/{_quoted(path)}"


@lru_cache(maxsize=1024)  # a page has several addresses of each of its files
def _quoted(path: str) -> str:
    return quote(display_path(path), safe="/")


def image_path(project_id: str, path: str) -> str:
    """Return the address of an image."""
    return f"/p/{project_id}/image/{quote(display_path(path), safe='/')}"


def related_path(project_id: str, path: str) -> str:
    """Return the address of the page with code similar to a file."""
    return f"/p/{project_id}/related/{quote(display_path(path), safe='/')}"


def commit_path(project_id: str, name: str) -> str:
    """Return the address of a commit's page.

    Args:
        project_id: The project.
        name: The name of the commit, or the path of its hit.
    """
    return f"/p/{project_id}/commit/{quote(name.removeprefix('commit:'))}"


def commits_path(project_id: str, filters: str = "") -> str:
    """Return the address of the commits of a project that pass filters, the newest first."""
    query = f"type:commit {filters}".rstrip()
    return f"/search?q={quote_plus(query)}&project={quote_plus(project_id)}"


def symbol_path(project_id: str, path: str, name: str, line: int, **wanted: str) -> str:
    """Return the address of a symbol's page; it is found by name after lines have moved.

    Args:
        project_id: The project.
        path: Of its file.
        name: Its qualified name.
        line: Of its definition.
        wanted: Parameters; empty ones are left out.
    """
    place = f"/p/{project_id}/symbol/{_quoted(path)}"
    return _with_query(place, [("name", name), ("line", str(line)), *wanted.items()])


def symbols_path(project_id: str, **wanted: str) -> str:
    """Return the address of a project's symbols, filtered by the parameters that are not empty."""
    return _with_query(f"/p/{project_id}/symbols", wanted.items())


def memories_path(project_id: str, wanted: Iterable[tuple[str, str]] = ()) -> str:
    """Return the address of a project's memories, with the parameters that are not empty."""
    return _with_query(f"/p/{project_id}/memories", wanted)


def tree_path(project_id: str, folder: str = "") -> str:
    """Return the address of a folder's page; the root's without a folder."""
    below = f"/{quote(display_path(folder), safe='/')}" if folder else ""
    return f"/p/{project_id}/tree{below}"


def cause(message: str) -> str:
    """Return why an index cannot be used as a sentence."""
    return message[:1].upper() + message[1:]


def dotted(name: str) -> Markup:
    """Return a qualified name that a narrow column breaks after its dots."""
    return Markup(".<wbr>").join(printable(name).split("."))


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rstrip("/").rpartition("/")[2] or path


def since(moment: str | None) -> Markup | str:
    """Format how long ago an ISO 8601 time was: ``5 min ago``, ``just now``, ``never``.

    It is an element that a script keeps up to date.
    """
    if not moment:
        return "never"
    passed = datetime.now(UTC) - datetime.fromisoformat(moment)
    milliseconds = passed / timedelta(milliseconds=1)
    said = "just now" if milliseconds < 10_000 else f"{wording.age(milliseconds)} ago"
    return Markup('<time datetime="{0}" title="{0}" data-since>{1}</time>').format(moment, said)


def _with_query(place: str, parts: Iterable[tuple[str, str]]) -> str:
    query = urlencode([(name, value) for name, value in parts if value], errors="replace")
    return f"{place}?{query}" if query else place


def _theme_in(cookies: str) -> str:
    return next((each for each in cookies_named(THEME_COOKIE, cookies) if each in THEMES), "")


Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def as_pages(
    handlers: Mapping[int | type[Exception], Handler], pages: Pages, service: Service
) -> dict[int | type[Exception], Handler]:
    """Wrap exception handlers so that browsers get a page, and other clients the same as before.

    Args:
        handlers: Handlers by status or exception.
        pages: The templates.
        service: Used for whether a project is there, and the name of a damaged one, which has its
            own page.
    """

    def shown(handler: Handler) -> Handler:
        def handle(request: Request[Any, Any, Any], error: Any) -> Response[Any]:
            answer = handler(request, error)
            if not wants_page(request.scope):
                return answer
            if isinstance(error, IndexCorruptError | IndexTooNewError):
                known = {**error.details, **request.path_params}
                if project_id := known.get("project_id"):
                    is_too_new = isinstance(error, IndexTooNewError)
                    return _damage_page(
                        pages, service, request, answer, str(project_id), is_too_new=is_too_new
                    )
            status = answer.status_code or 500
            body = _error_page(pages, service, request, status, answer.content)
            return page(body, status=status, headers=answer.headers)

        return handle

    return {kind: shown(handler) for kind, handler in handlers.items()}


def refusal_page(pages: Pages, service: Service) -> Callable[[Scope, Refusal], bytes]:
    """Return the renderer of pages with which refused requests of browsers are answered."""

    def show(scope: Scope, refusal: Refusal) -> bytes:
        return _error_page(pages, service, Request(scope), refusal.status, refusal.as_json())

    return show


def _error_page(
    pages: Pages,
    service: Service,
    request: Request[Any, Any, Any],
    status: int,
    shape: Mapping[str, Any],
) -> bytes:
    page_request = page_request_of(request)
    is_missing = status == HTTPStatus.NOT_FOUND
    place, _, query = page_request.here.partition("?") if request.method == "GET" else ("/", "", "")
    context = {
        "status": status,
        "project": _project_of(service, request.scope["path"]),
        "looked_for": _name_in(request.scope["path"]) if is_missing else "",
        "can_repeat": status >= HTTPStatus.INTERNAL_SERVER_ERROR and request.method == "GET",
        "title": HTTPStatus(status).phrase,
        "message": shape["message"],
        "hint": shape["details"].get("hint", ""),
        "is_open": status != HTTPStatus.UNAUTHORIZED,
        "place": place,
        "fields": parse_qsl(query, keep_blank_values=True),
        "is_refused": "token" in parse_qs(request.scope["query_string"].decode("latin-1")),
    }
    return pages.html("error.html", page_request, context)


def _damage_page(
    pages: Pages,
    service: Service,
    request: Request[Any, Any, Any],
    answer: Response[Any],
    project_id: str,
    *,
    is_too_new: bool,
) -> Response[Any]:
    """Name the index that cannot be opened and link to its doctor.

    The name is read in a worker thread.
    """
    status = answer.status_code or HTTPStatus.INTERNAL_SERVER_ERROR
    context = {
        "status": status,
        "message": answer.content["message"],
        "can_repeat": request.method == "GET",
        "is_too_new": is_too_new,
        "doctor": f"{project_path(project_id)}/doctor",
    }

    def render() -> bytes:
        name = name_of_id(service, project_id)
        return pages.html("damaged.html", page_request_of(request), {**context, "name": name})

    async def body() -> AsyncIterator[bytes]:
        yield await service.work(render)

    return Stream(body(), status_code=status, media_type=_HTML, headers=answer.headers)


def _project_of(service: Service, path: str) -> str:
    """Return the page of the project to which an address belongs, or "" if none is known."""
    project = _OF_PROJECT.match(path)
    with suppress(EngineError):
        if project and service.catalog.has_id(project[1]):
            return project[0]
    return ""


def name_of_id(service: Service, project_id: str) -> str:
    """Return the name of a project, or the start of its id if its folder is unknown."""
    try:
        return name_of(display_path(service.catalog.doctor_of_id(project_id).root))
    except EngineError:
        return project_id[:_ID_CHARS]


def _name_in(path: str) -> str:
    """Return the last part of an address if it is worth a search, or ""."""
    name = path.rstrip("/").rpartition("/")[2]
    is_id = len(name) > _MAX_NAME_CHARS or not _WORD.search(name)
    return "" if is_id else name
