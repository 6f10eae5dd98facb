"""The memories of a project: what agents and people saved, to find, to add to and to delete."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidInputError
from engine.project import Index
from engine.records import (
    MAX_DESCRIPTION_BYTES,
    MAX_QUERY_CHARS,
    MAX_SUMMARY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    Checkpoint,
    NewMemory,
    display_path,
)
from web.api.service import Service
from web.errors import outcome_of
from web.pages.forms import form_of, problem
from web.pages.rendering import (
    Pages,
    Visit,
    memories_path,
    name_of,
    page,
    project_path,
    redirect,
    visit_of,
)

_PAGE = 20
_FOUND = 50
_MOST_TAGS = 40
_SHOWN_LINES = 12  # of a text; the rest unfolds
_MOST_CHARS = 20_000  # of a text on the page
_MOST_NAMES = 50  # of a context
_MOST_VALUE = 2000  # characters of each

Text = Annotated[str, QueryParameter(name="q", max_length=MAX_QUERY_CHARS)]
Tags = Annotated[list[str] | None, QueryParameter(name="tag", max_items=MAX_TAGS)]

_DONE = frozenset({"yes", "blanked", "deleted"})

#: What the form explains.
LIMITS = {
    "summary": MAX_SUMMARY_CHARS,
    "description_bytes": MAX_DESCRIPTION_BYTES,
    "tags": MAX_TAGS,
    "tag": MAX_TAG_CHARS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the address of the page says."""

    project_id: str
    query: str = ""
    tags: tuple[str, ...] = ()
    cursor: str | None = None

    def address(self, *, tags: Sequence[str] | None = None, cursor: str = "") -> str:
        """Give the page's address with other tags, or from a place of the list on."""
        parts = [
            ("q", self.query),
            *(("tag", tag) for tag in (self.tags if tags is None else tags)),
        ]
        return memories_path(self.project_id, [*parts, ("cursor", cursor)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed into the form, and what is wrong with it."""

    summary: str = ""
    description: str = ""
    tags: str = ""
    error: EngineError | None = None

    @property
    def field(self) -> str:
        """The field that is wrong; empty: none is, or no single one."""
        return str(self.error.details.get("field", "")) if self.error else ""

    @property
    def memory(self) -> NewMemory:
        """The same, as the engine takes it; commas part tags, and blanks among them are none."""
        return NewMemory(
            summary=self.summary.strip(),
            description=self.description,
            tags=tuple(tag for tag in self.tags.split(",") if tag.strip()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What the page says of what was just asked for."""

    done: str = ""  # one of ``_DONE``
    problem: EngineError | None = None  # of a question
    typed: Typed = Typed()


class Choice(NamedTuple):
    """A tag, to filter by."""

    tag: str
    number: int
    address: str  # with it chosen, or given up again
    is_active: bool


class Shown(NamedTuple):
    """A memory, its text in two parts."""

    memory: Checkpoint
    head: str
    rest: str  # unfolds
    left_out: int  # characters that are not on the page
    tags: tuple[Choice, ...]
    context: tuple[tuple[str, str], ...]  # names and values


def asked_for(
    project_id: str,
    text: Text = "",
    tags: Tags = None,
    cursor: str | None = None,
) -> Asked:
    """Gather what the address of the page says."""
    chosen = tuple(dict.fromkeys(tag.strip() for tag in tags or () if tag.strip()))
    return Asked(project_id=project_id, query=text.strip(), tags=chosen, cursor=cursor or None)


@get(
    "/p/{project_id:str}/memories",
    dependencies={"asked": Provide(asked_for, sync_to_thread=False)},
)
async def memories(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    asked: Asked,
    saved: str = "",
) -> Response[bytes]:
    """Show memories; ``saved`` says what was just done; for htmx only the parts that change."""
    visit = visit_of(request)
    news = News(done=saved if saved in _DONE else "")

    def show() -> bytes:
        return _page(service, pages, visit, asked, news)

    try:
        body = await service.lanes.search.run(show)
    except InvalidInputError as error:
        return await _refused(service, pages, visit, asked, error)
    is_whole = visit.is_fragment and not asked.cursor
    return page(body, headers={"HX-Replace-Url": asked.address()} if is_whole else {})


@post("/p/{project_id:str}/memories", status_code=303)
async def save_memory(
    request: Request[Any, Any, Any], service: Service, pages: Pages, project_id: str
) -> Response[bytes]:
    """Save what was typed, and lead to it; or say at its field what is wrong."""
    form = await form_of(request)
    typed = Typed(
        summary=form.get("summary", ""),
        description=form.get("description", "").replace("\r\n", "\n"),
        tags=form.get("tags", ""),
    )

    def act() -> str:
        new = typed.memory
        kept = service.index_of(project_id).checkpoints.save(new)
        is_same = (kept.summary, kept.description) == (new.summary, new.description)
        told = "yes" if is_same and kept.tags == _clean(new.tags) else "blanked"
        return f"{memories_path(project_id, [('saved', told)])}#m-{kept.id}"

    return await _acted(request, service, pages, act, project_id, typed)


@post("/p/{project_id:str}/memories/{memory_id:uuid}/delete", status_code=303)
async def delete_memory(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    project_id: str,
    memory_id: UUID,
) -> Response[bytes]:
    """Delete a memory, and lead back to the list."""
    await form_of(request)

    def act() -> str:
        service.index_of(project_id).checkpoints.delete(str(memory_id))
        return memories_path(project_id, [("saved", "deleted")])

    return await _acted(request, service, pages, act, project_id, Typed())


async def _acted(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    act: Callable[[], str],
    project_id: str,
    typed: Typed,
) -> Response[bytes]:
    """Do something with memories, and lead to where that is seen; or say what was wrong."""
    try:
        return redirect(await service.work(act))
    except InvalidInputError as error:
        told = error
    visit = visit_of(request)
    news = News(typed=replace(typed, error=told))
    asked = Asked(project_id=project_id)
    body = await service.lanes.search.run(lambda: _page(service, pages, visit, asked, news))
    return page(body, status=outcome_of(told).http_status)


async def _refused(
    service: Service, pages: Pages, visit: Visit, asked: Asked, error: EngineError
) -> Response[bytes]:
    """Explain at the box what is wrong with a question; what was found before stays."""

    def show() -> bytes:
        if visit.is_fragment:
            return pages.html("parts/memory_problem.html", visit, {"problem": error})
        unasked = Asked(project_id=asked.project_id)
        return _page(service, pages, visit, unasked, News(problem=error))

    return problem(await service.work(show), visit, error)


def _page(
    service: Service,
    pages: Pages,
    visit: Visit,
    asked: Asked,
    news: News,
) -> bytes:
    index = service.index_of(asked.project_id)
    root = display_path(index.root)
    found, total, following = _found(index, asked)
    facts = {
        "asked": asked,
        "project": name_of(root),
        "root": root,
        "here": project_path(asked.project_id),
        "shown": [_shown(memory, asked) for memory in found],
        "total": total,
        "next": asked.address(cursor=following) if following else "",
        "choices": _choices(index, asked),
        "typed": news.typed,
        "limits": LIMITS,
        "done": news.done,
        "is_empty": not (total or asked.query or asked.tags),
        "problem": news.problem,
    }
    template = "memories.html"
    if visit.is_fragment:
        template = "parts/memory_rows.html" if asked.cursor else "parts/memories.html"
    return pages.html(template, visit, facts)


def _found(index: Index, asked: Asked) -> tuple[Sequence[Checkpoint], int, str | None]:
    """Give memories, how many there are in all, and where the list goes on."""
    if asked.query:
        found = index.checkpoints.search(
            asked.query, tags=asked.tags, limit=_FOUND, only_memories=True
        )
        return found, len(found), None
    listed = index.checkpoints.list(
        tags=asked.tags, limit=_PAGE, cursor=asked.cursor, only_memories=True
    )
    return listed.checkpoints, listed.total, listed.next_cursor


def _choices(index: Index, asked: Asked) -> tuple[Choice, ...]:
    """Give the tags in use, then those of the memories that have them, the most frequent first."""
    counts = index.checkpoints.tags(tags=asked.tags, limit=_MOST_TAGS)
    labels = [*asked.tags, *(tag for tag in counts if tag not in asked.tags)]
    return tuple(_choice(tag, counts.get(tag, 0), asked) for tag in labels)


def _choice(tag: str, number: int, asked: Asked) -> Choice:
    is_active = tag in asked.tags
    tags = [each for each in asked.tags if each != tag] if is_active else [*asked.tags, tag]
    return Choice(tag, number, asked.address(tags=tags), is_active)


def _shown(memory: Checkpoint, asked: Asked) -> Shown:
    text = memory.description[:_MOST_CHARS]
    lines = text.split("\n")
    fold = _SHOWN_LINES if len(lines) > _SHOWN_LINES + 2 else len(lines)
    return Shown(
        memory,
        "\n".join(lines[:fold]),
        "\n".join(lines[fold:]),
        len(memory.description) - len(text),
        tuple(_choice(tag, 0, asked) for tag in memory.tags),
        tuple((name, _value(value)) for name, value in memory.context.items())[:_MOST_NAMES],
    )


def _value(value: object) -> str:
    """Say a part of a context: texts as they are, a line each, all else as JSON."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = "\n".join(value)
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_VALUE else f"{text[:_MOST_VALUE]} …"


def _clean(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags))
