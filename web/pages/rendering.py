"""Templates become pages; all that comes from a repository is escaped on the way.

Templates and static files: where they are, and how the latter are served.

Static files are read once. An address with the file's hash may be kept for a year, since other
contents have another address; one without is asked for again each time.

Errors for people: the one error shape as a page, when a browser asks for one.
"""

import hashlib
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import jinja2
from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.exceptions import NotFoundException
from litestar.params import QueryParameter
from litestar.response import Stream
from litestar.types import Scope

from engine.errors import EngineError, IndexCorruptError
from engine.records import display_path
from web import wording
from web.api.health import version
from web.api.service import Service
from web.errors import Refusal
from web.security.shield import wants_page
from web.terminal import printable, printable_block

_HERE = Path(__file__).resolve().parents[1]
_TAG_CHARS = 16
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A static file."""

    body: bytes
    media_type: str
    tag: str  # of its contents


def folder_of(name: str) -> Path:
    """Give the folder ``templates`` or ``static``: beside the package, or in a wheel inside it."""
    inside = _HERE / name
    return inside if inside.is_dir() else _HERE.parent / name


@cache
def assets() -> Mapping[str, Asset]:
    """Give all static files by name."""
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
    """Give the address of a static file, which changes with its contents."""
    return f"/static/{name}?v={assets()[name].tag}"


@get("/static/{name:str}", include_in_schema=False)
async def static_file(
    request: Request[Any, Any, Any],
    name: str,
    version: Annotated[str, QueryParameter(name="v")] = "",
) -> Response[bytes]:
    """Give a static file; 304 when the browser has it."""
    asset = assets().get(name)
    if asset is None:
        raise NotFoundException
    tag = f'"{asset.tag}"'
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER if version == asset.tag else _ASK_AGAIN}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)


THEMES = ("dark", "light")
THEME_COOKIE = "cairn_theme"
_HTML = "text/html"
_MOST_RETURN = 2000
_IN_ADDRESSES = "%/?#[]@:~!$&'()*+,;="


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What a request says of how a page is to be shown."""

    theme: str  # dark or light; empty: as the system has it
    here: str  # the address of the page, from its first slash
    is_fragment: bool  # htmx asks, for a part of the page

    @property
    def theme_after(self) -> str:
        """The theme that the switch leads to without a script, which knows no system's theme."""
        return "light" if self.theme == "dark" else "dark"


def visit_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Visit:
    """Read what a request says of how a page is to be shown."""
    query = connection.scope.get("query_string", b"").decode("latin-1")
    path = quote(connection.scope["path"], safe="/~@:!$&'()*+,;=")
    headers = connection.headers
    return Visit(
        theme=_theme_in(headers.get("cookie", "")),
        here=f"{path}?{query}" if query else path,
        is_fragment=headers.get("hx-request") == "true"
        and headers.get("hx-history-restore-request") != "true",
    )


class Pages:
    """Makes pages of templates; for any thread."""

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
            number="{:,}".format,
            percent=wording.percent,
            quantity=wording.quantity,
            name_of=name_of,
            file_path=file_path,
            project_path=project_path,
            related_path=related_path,
            symbols_path=symbols_path,
            tree_path=tree_path,
        )
        self._templates.filters.update(
            since=since,
            duration=wording.duration,
            age=wording.age,
            size=wording.size,
            shortened=wording.shortened,
            printable=printable,
            block=printable_block,
            query=urlencode,
        )

    def html(self, template: str, visit: Visit, facts: Mapping[str, object]) -> bytes:
        """Render a template.

        Args:
            template: Its file.
            visit: How it is shown.
            facts: What it shows.
        """
        return self.part(template, {**facts, "visit": visit}).encode("utf-8", "replace")

    def part(self, template: str, facts: Mapping[str, object]) -> str:
        """Render a template that is the same for every visit."""
        return self._templates.get_template(template).render(facts)


def page(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response[bytes]:
    """Answer with a page, or a part of one."""
    return Response(body, status_code=status, media_type=_HTML, headers=dict(headers or {}))


def redirect(place: str) -> Response[bytes]:
    """Lead to a page, after a form was taken in.

    What a header cannot hold, which an address can have named, is escaped.
    """
    return Response(b"", status_code=303, headers={"Location": quote(place, safe=_IN_ADDRESSES)})


def own_place(place: str) -> str:
    """Give an address of this server; the home page for anything that leads elsewhere."""
    is_own = place.startswith("/") and not place.startswith(("//", "/\\"))
    is_plain = place.isascii() and place.isprintable() and len(place) <= _MOST_RETURN
    return place if is_own and is_plain and "\\" not in place else "/"


def project_path(project_id: str) -> str:
    """Give the address of a project's page."""
    return f"/p/{project_id}"


def forgotten_path(project_id: str) -> str:
    """Give the address of the home page that says that a project is forgotten."""
    return f"/?forgotten={project_id}"


def file_path(project_id: str, path: str) -> str:
    """Give the address of a file's page."""
    return f"/p/{project_id}/f/{quote(path, safe='/', errors='replace')}"


def related_path(project_id: str, path: str) -> str:
    """Give the address of the page with code like that of a file."""
    return f"/p/{project_id}/related/{quote(path, safe='/', errors='replace')}"


def symbols_path(project_id: str, **wanted: str) -> str:
    """Give the address of the list of a project's symbols, narrowed by what is not empty."""
    return _with_query(f"/p/{project_id}/symbols", wanted.items())


def memories_path(project_id: str, wanted: Iterable[tuple[str, str]] = ()) -> str:
    """Give the address of a project's memories, with the parts that are not empty."""
    return _with_query(f"/p/{project_id}/memories", wanted)


def tree_path(project_id: str, folder: str = "") -> str:
    """Give the address of a folder's page; that of the root without a folder."""
    below = f"/{quote(folder, safe='/', errors='replace')}" if folder else ""
    return f"/p/{project_id}/tree{below}"


def name_of(path: str) -> str:
    """Give the last part of a path."""
    return path.rstrip("/").rpartition("/")[2] or path


def since(moment: str | None) -> str:
    """Say how long ago a time in ISO 8601 was: ``5 min ago``, ``just now``."""
    if not moment:
        return "never"
    passed = datetime.now(UTC) - datetime.fromisoformat(moment)
    milliseconds = passed / timedelta(milliseconds=1)
    return "just now" if milliseconds < 10_000 else f"{wording.age(milliseconds)} ago"


def _with_query(place: str, parts: Iterable[tuple[str, str]]) -> str:
    query = urlencode([(name, value) for name, value in parts if value], errors="replace")
    return f"{place}?{query}" if query else place


def _theme_in(cookies: str) -> str:
    try:
        morsel = SimpleCookie(cookies).get(THEME_COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None and morsel.value in THEMES else ""


#: What templates say of a job.
JOB_WORDS = {
    "is_active": wording.is_active,
    "state": wording.state_of,
    "activity": wording.activity_of,
    "amount": wording.amount_of,
    "share": wording.share_of,
    "line": wording.line_of,
    "wait": wording.wait_of,
    "rate": wording.rate_of,
    "left": wording.time_left_of,
    "asker": wording.asker_of,
    "contents": wording.contents_of,
    "summary": wording.summary_of,
}


_MOST_NAME = 60  # longer ones are ids
_MOST_ID = 12  # characters of an id that stand for a name
_WORD = re.compile(r"[^\W\d_]{3}")

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def as_pages(
    handlers: Mapping[int | type[Exception], Handler], pages: Pages, service: Service
) -> dict[int | type[Exception], Handler]:
    """Give handlers of exceptions that answer browsers with a page, and others as before.

    Args:
        handlers: By what they handle.
        pages: Makes pages.
        service: Knows the projects, whose damage has a page of its own.
    """

    def shown(handler: Handler) -> Handler:
        def handle(request: Request[Any, Any, Any], error: Any) -> Response[Any]:
            answer = handler(request, error)
            if not wants_page(request.scope):
                return answer
            if isinstance(error, IndexCorruptError) and "project_id" in request.path_params:
                return _damage_page(pages, service, request, answer)
            body = _error_page(pages, request, answer.status_code or 500, answer.content)
            return page(body, status=answer.status_code or 500, headers=answer.headers)

        return handle

    return {kind: shown(handler) for kind, handler in handlers.items()}


def refusal_page(pages: Pages) -> Callable[[Scope, Refusal], bytes]:
    """Give what a shield shows to browsers that it refuses."""

    def show(scope: Scope, refusal: Refusal) -> bytes:
        return _error_page(pages, Request(scope), refusal.status, refusal.as_json())

    return show


def _error_page(
    pages: Pages, request: Request[Any, Any, Any], status: int, shape: Mapping[str, Any]
) -> bytes:
    is_missing = status == HTTPStatus.NOT_FOUND
    facts = {
        "status": status,
        "looked_for": _name_in(request.scope["path"]) if is_missing else "",
        "can_repeat": status >= HTTPStatus.INTERNAL_SERVER_ERROR and request.method == "GET",
        "title": HTTPStatus(status).phrase,
        "message": shape["message"],
        "hint": shape["details"].get("hint", ""),
        "is_open": status != HTTPStatus.UNAUTHORIZED,
    }
    return pages.html("error.html", visit_of(request), facts)


def _damage_page(
    pages: Pages, service: Service, request: Request[Any, Any, Any], answer: Response[Any]
) -> Response[Any]:
    """Say which index is damaged, and lead to its doctor; its name is read in another thread."""
    project_id = request.path_params["project_id"]
    status = answer.status_code or HTTPStatus.INTERNAL_SERVER_ERROR
    facts = {
        "status": status,
        "message": answer.content["message"],
        "can_repeat": request.method == "GET",
        "doctor": f"{project_path(project_id)}/doctor",
    }

    def made() -> bytes:
        name = _name_of_project(service, project_id)
        return pages.html("damaged.html", visit_of(request), {**facts, "name": name})

    async def body() -> AsyncIterator[bytes]:
        yield await service.work(made)

    return Stream(body(), status_code=status, media_type="text/html", headers=answer.headers)


def _name_of_project(service: Service, project_id: str) -> str:
    """Give what people call a project; the beginning of its id when nothing tells its folder."""
    try:
        return name_of(display_path(service.catalog.doctor_of_id(project_id).root))
    except EngineError:
        return project_id[:_MOST_ID]


def _name_in(path: str) -> str:
    """Give the name at the end of an address, to search for; empty when it says nothing."""
    name = path.rstrip("/").rpartition("/")[2]
    is_id = len(name) > _MOST_NAME or not _WORD.search(name)
    return "" if is_id else name
