"""Templates become pages; all that comes from a repository is escaped on the way."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from litestar import Response
from litestar.connection import ASGIConnection

from engine.job_records import ACTIVE, Job, JobState
from web import wording
from web.api.health import version
from web.console.job_wording import (
    activity_of,
    amount_of,
    line_of,
    rate_of,
    share_of,
    time_left_of,
    wait_of,
)
from web.pages.assets import address_of, folder_of
from web.terminal import printable, printable_block

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


def _state_of(job: Job) -> str:
    """Give the state of a job for its chip; one that is to stop says so until it has."""
    return "cancelling…" if job.cancel_requested and job.status in ACTIVE else job.status.value


def _summary_of(job: Job) -> str:
    """Say in one line how a job goes, or what it did."""
    if job.status in ACTIVE:
        return line_of(job)
    if job.error:
        return printable(str(job.error.get("message", "")))
    took = wording.duration(job.elapsed_seconds * 1000)
    if job.status is JobState.CANCELLED:
        return f"stopped after {took}, {wording.count(job.files_done, 'file')} kept"
    result = job.result or {}
    changed, failed = result.get("files_indexed"), result.get("files_failed")
    said = f"{changed:,} new or changed" if isinstance(changed, int) and changed else "no change"
    lost = f", {failed:,} failed" if isinstance(failed, int) and failed else ""
    return f"{said}{lost}, in {took}"


#: What templates say of a job.
JOB_WORDS = {
    "is_active": lambda job: job.status in ACTIVE,
    "state": _state_of,
    "activity": activity_of,
    "amount": amount_of,
    "share": share_of,
    "line": line_of,
    "wait": wait_of,
    "rate": rate_of,
    "left": time_left_of,
    "summary": _summary_of,
}
