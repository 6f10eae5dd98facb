"""The memories of a project: search, list, write and delete notes of agents and people."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidInputError, UnavailableError
from engine.memory_records import (
    MAX_DESCRIPTION_BYTES,
    MAX_SUMMARY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    Checkpoint,
    NewMemory,
)
from engine.project import Project
from engine.record_class import record
from engine.records import display_path
from engine.search_records import MAX_QUERY_CHARS
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import query_error_response, read_form
from web.pages.rendering import (
    PageRequest,
    Pages,
    memories_path,
    name_of,
    page,
    page_request_of,
    project_path,
    redirect,
)

_PAGE = 20
_MAX_FOUND = 50
_MAX_TAGS = 40
_SHOWN_LINES = 12  # of a text; the rest unfolds
_MAX_CHARS = 20_000  # of a text on the page
_MAX_NAMES = 50  # entries of a context
_MAX_VALUE = 2000  # characters of an entry

Text = Annotated[str, QueryParameter(name="q", max_length=MAX_QUERY_CHARS)]
Tags = Annotated[list[str] | None, QueryParameter(name="tag", max_items=MAX_TAGS)]

_OUTCOMES = frozenset({"yes", "blanked", "deleted"})

#: Limits shown in the form.
LIMITS = {
    "summary": MAX_SUMMARY_CHARS,
    "description_bytes": MAX_DESCRIPTION_BYTES,
    "tags": MAX_TAGS,
    "tag": MAX_TAG_CHARS,
}


@record
class MemoryParams:
    """Parameters of the address."""

    project_id: str
    query: str = ""
    tags: tuple[str, ...] = ()
    cursor: str | None = None

    def address(self, *, tags: Sequence[str] | None = None, cursor: str = "") -> str:
        """Return the page's address with other tags, or from a cursor on."""
        parts = [
            ("q", self.query),
            *(("tag", tag) for tag in (self.tags if tags is None else tags)),
        ]
        return memories_path(self.project_id, [*parts, ("cursor", cursor)])


@record
class Draft:
    """A memory as typed into the form, with its error."""

    summary: str = ""
    description: str = ""
    tags: str = ""
    error: EngineError | None = None

    @property
    def field(self) -> str:
        """The invalid field; empty without an error of a single field."""
        return str(self.error.details.get("field", "")) if self.error else ""

    @property
    def memory(self) -> NewMemory:
        """The memory for the engine; tags are split at commas, empty ones left out."""
        return NewMemory(
            summary=self.summary.strip(),
            description=self.description,
            tags=tuple(tag for tag in self.tags.split(",") if tag.strip()),
        )


@record
class Outcome:
    """The result of the action or search just requested."""

    done: str = ""  # one of ``_OUTCOMES``
    problem: EngineError | None = None  # of the query
    draft: Draft = Draft()


class TagChoice(NamedTuple):
    """A tag to filter by."""

    tag: str
    number: int
    address: str  # with the tag added, or removed again
    is_active: bool


class ShownMemory(NamedTuple):
    """A memory with its text in two parts."""

    memory: Checkpoint
    head: str
    rest: str  # folded
    left_out: int  # characters not on the page
    tags: tuple[TagChoice, ...]
    context: tuple[tuple[str, str], ...]  # names and values


def read_params(
    project_id: str,
    text: Text = "",
    tags: Tags = None,
    cursor: str | None = None,
) -> MemoryParams:
    """Collect the parameters of the address."""
    chosen = tuple(dict.fromkeys(tag.strip() for tag in tags or () if tag.strip()))
    return MemoryParams(
        project_id=project_id, query=text.strip(), tags=chosen, cursor=cursor or None
    )


@get(
    "/p/{project_id:str}/memories",
    dependencies={"params": Provide(read_params, sync_to_thread=False)},
)
async def memories(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    params: MemoryParams,
    saved: str = "",
) -> Response[bytes]:
    """Render memories, and the outcome ``saved`` of a form; for htmx the changing parts."""
    page_request = page_request_of(request)
    outcome = Outcome(done=saved if saved in _OUTCOMES else "")

    def show() -> bytes:
        return _page(service, pages, page_request, params, outcome)

    try:
        body = await service.executors.search.run(show)
    except InvalidInputError as error:
        return await _query_error(service, pages, page_request, params, error)
    is_whole = page_request.is_fragment and not params.cursor
    return page(body, headers={"HX-Replace-Url": params.address()} if is_whole else {})


@post("/p/{project_id:str}/memories", status_code=303)
async def save_memory(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Save a memory and redirect to it, or show the error at its field."""
    form = await read_form(request)
    draft = Draft(
        summary=form.get("summary", ""),
        description=form.get("description", "").replace("\r\n", "\n"),
        tags=form.get("tags", ""),
    )

    def act() -> str:
        new = draft.memory
        kept = service.index_of(project_id).checkpoints.save(new)
        is_same = (kept.summary, kept.description) == (new.summary, new.description)
        saved = "yes" if is_same and kept.tags == _clean(new.tags) else "blanked"
        return f"{memories_path(project_id, [('saved', saved)])}#m-{kept.id}"

    return await _perform(request, service, pages, act, project_id, draft)


@post("/p/{project_id:str}/memories/{memory_id:uuid}/delete", status_code=303)
async def delete_memory(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    memory_id: UUID,
) -> Response[bytes]:
    """Delete a memory, and redirect to the list."""
    await read_form(request)

    def act() -> str:
        service.index_of(project_id).checkpoints.delete(str(memory_id))
        return memories_path(project_id, [("saved", "deleted")])

    return await _perform(request, service, pages, act, project_id, None)


async def _perform(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    act: Callable[[], str],
    project_id: str,
    draft: Draft | None,
) -> Response[bytes]:
    """Perform an action on memories and redirect, or render the page with the error.

    What was typed stays on the page, also when there is no room to save it.
    """
    raised: EngineError
    try:
        return redirect(await service.work(act))
    except (InvalidInputError, UnavailableError) as error:
        raised = error
    page_request = page_request_of(request)
    outcome = Outcome(draft=replace(draft, error=raised)) if draft else Outcome(problem=raised)
    params = MemoryParams(project_id=project_id)
    body = await service.executors.search.run(
        lambda: _page(service, pages, page_request, params, outcome)
    )
    return page(body, status=outcome_of(raised).http_status)


async def _query_error(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    params: MemoryParams,
    error: EngineError,
) -> Response[bytes]:
    """Show the error of a query at the box; the last results stay."""

    def show() -> bytes:
        if page_request.is_fragment:
            return pages.html("parts/memory_problem.html", page_request, {"problem": error})
        without_query = MemoryParams(project_id=params.project_id)
        return _page(service, pages, page_request, without_query, Outcome(problem=error))

    return query_error_response(await service.work(show), page_request, error)


def _page(
    service: Service,
    pages: Pages,
    page_request: PageRequest,
    params: MemoryParams,
    outcome: Outcome,
) -> bytes:
    index = service.index_of(params.project_id)
    root = display_path(index.root)
    found, total, following = _found(index, params)
    is_cut = bool(params.query) and total > _MAX_FOUND
    context = {
        "params": params,
        "project": name_of(root),
        "root": root,
        "here": project_path(params.project_id),
        "shown": [_shown(memory, params) for memory in found],
        "total": len(found) if is_cut else total,
        "is_cut": is_cut,
        "next": params.address(cursor=following) if following else "",
        "choices": _choices(index, params),
        "draft": outcome.draft,
        "limits": LIMITS,
        "done": outcome.done,
        "is_empty": not (total or params.query or params.tags),
        "problem": outcome.problem,
    }
    template = "memories.html"
    if page_request.is_fragment:
        template = "parts/memory_rows.html" if params.cursor else "parts/memories.html"
    return pages.html(template, page_request, context)


def _found(index: Project, params: MemoryParams) -> tuple[Sequence[Checkpoint], int, str | None]:
    """Return memories, their total, and the cursor of the next page.

    A search counts one more than it shows.
    """
    if params.query:
        found = index.checkpoints.search(
            params.query, tags=params.tags, limit=_MAX_FOUND + 1, only_memories=True
        )
        return found[:_MAX_FOUND], len(found), None
    listed = index.checkpoints.list(
        tags=params.tags, limit=_PAGE, cursor=params.cursor, only_memories=True
    )
    return listed.checkpoints, listed.total, listed.next_cursor


def _choices(index: Project, params: MemoryParams) -> tuple[TagChoice, ...]:
    """Return the active tags, then the other tags of matching memories by frequency."""
    counts = index.checkpoints.tags(tags=params.tags, limit=_MAX_TAGS)
    labels = [*params.tags, *(tag for tag in counts if tag not in params.tags)]
    return tuple(_choice(tag, counts.get(tag, 0), params) for tag in labels)


def _choice(tag: str, number: int, params: MemoryParams) -> TagChoice:
    is_active = tag in params.tags
    tags = [each for each in params.tags if each != tag] if is_active else [*params.tags, tag]
    return TagChoice(tag, number, params.address(tags=tags), is_active)


def _shown(memory: Checkpoint, params: MemoryParams) -> ShownMemory:
    text = memory.description[:_MAX_CHARS]
    lines = text.split("\n")
    fold = _SHOWN_LINES if len(lines) > _SHOWN_LINES + 2 else len(lines)
    return ShownMemory(
        memory,
        "\n".join(lines[:fold]),
        "\n".join(lines[fold:]),
        len(memory.description) - len(text),
        tuple(_choice(tag, 0, params) for tag in memory.tags),
        tuple((name, _value(value)) for name, value in memory.context.items())[:_MAX_NAMES],
    )


def _value(value: object) -> str:
    """Format an entry of a context: strings as they are, lists of them by line, others as JSON."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = "\n".join(value)
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]} …"


def _clean(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags))
