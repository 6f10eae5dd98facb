"""Memories of projects: save, search, list, change and delete them."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from litestar import delete, get, patch, post
from litestar.openapi.spec import Example
from litestar.params import QueryParameter
from msgspec import Meta, Struct
from msgspec.structs import asdict

from engine.memory_records import (
    MAX_DESCRIPTION_BYTES,
    MAX_FOUND,
    MAX_SUMMARY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    Checkpoint,
    FoundMemories,
    MemoryChange,
    NewMemory,
)
from engine.record_class import record
from engine.search_records import MAX_QUERY_CHARS
from web.api.requests import PAGING, PageLimit, Paging, in_query
from web.api.service import Service
from web.api.shapes import MemoryId, ProjectId, Projects, ProjectsAsked

_TAGS = ("memories",)
_BASE = "/projects/{project_id:str}/memories"
_ONE = f"{_BASE}/{{memory_id:str}}"

Summary = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_SUMMARY_CHARS,
        description="the subject in one sentence",
        examples=["Sessions expire after an hour"],
    ),
]
Description = Annotated[
    str,
    Meta(
        max_length=MAX_DESCRIPTION_BYTES,
        description="the full text; at most 1 MiB of UTF-8",
        examples=["Decided because tokens leaked into logs."],
    ),
]
Context = Annotated[
    dict[str, Any],
    Meta(description="any JSON object, at most 64 KiB and 8 levels deep", examples=[{"ticket": 7}]),
]
Tag = Annotated[str, Meta(min_length=1, max_length=MAX_TAG_CHARS)]
Tags = Annotated[
    list[Tag],
    Meta(
        max_length=MAX_TAGS,
        description="free text, except `indexed` and `repository`; must not start with `!` or"
        " contain `,`",
        examples=[["decision", "sessions"]],
    ),
]
_TAGS_ASKED = "only memories with all of these tags; `!tag` excludes a tag"
TagsAsked = Annotated[
    list[str] | None,
    QueryParameter(
        max_items=MAX_TAGS,
        description=f"{_TAGS_ASKED}. May be repeated",
        examples=[Example(value=["decision", "!old"])],
    ),
]
_QUERY = Meta(
    min_length=1,
    max_length=MAX_QUERY_CHARS,
    description="plain words; nothing in them is an operator",
    examples=["when do sessions expire"],
)
_LIMIT = Meta(ge=1, le=MAX_FOUND, description="maximum number of memories")


class MemoryText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory to save. Secrets in it are redacted."""

    summary: Summary
    description: Description
    context: Context = {}
    tags: Tags = []


class MemoryPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a memory; null keeps a field."""

    summary: Summary | None = None
    description: Description | None = None
    context: Context | None = None
    tags: Tags | None = None


class MemoryQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search for memories."""

    query: Annotated[str, _QUERY]
    tags: Annotated[
        list[str],
        Meta(max_length=MAX_TAGS, description=_TAGS_ASKED, examples=[["decision", "!old"]]),
    ] = []
    limit: Annotated[int, _LIMIT] = 10


class MemorySearch(MemoryQuestion, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search for memories of several projects."""

    projects: Projects = []


@record
class MemoryList:
    """Memories, newest first."""

    memories: tuple[Checkpoint, ...]
    total: Annotated[int, "on all pages"]
    next_cursor: str | None


@record
class MemoryTag:
    """A tag."""

    tag: str
    memories: Annotated[int, "number of memories with this tag"]


@record
class MemoryTags:
    """Tags, most frequent first."""

    tags: tuple[MemoryTag, ...]


@get(
    _BASE,
    operation_id="listMemories",
    summary="Memories",
    tags=_TAGS,
    dependencies=PAGING,
)
async def list_memories(
    service: Service, project_id: ProjectId, paging: Paging, tags: TagsAsked = None
) -> MemoryList:
    """List the memories of a project, newest first; a page ends early at 32 MiB of text."""

    def find() -> MemoryList:
        page = service.index_of(project_id).checkpoints.list(
            tags=tags or (), limit=paging.limit, cursor=paging.cursor, only_memories=True
        )
        return MemoryList(memories=page.checkpoints, total=page.total, next_cursor=page.next_cursor)

    return await service.work(find)


@post(_BASE, operation_id="saveMemory", summary="Save a memory", tags=_TAGS)
async def save_memory(service: Service, project_id: ProjectId, data: MemoryText) -> Checkpoint:
    """Save a memory. It survives clearing and rebuilding the index, and goes with the project."""
    new = NewMemory(**{**asdict(data), "tags": tuple(data.tags)})
    return await service.work(lambda: service.index_of(project_id).checkpoints.save(new))


@get(f"{_BASE}/search", operation_id="searchMemories", summary="Search memories", tags=_TAGS)
async def search_memories(
    service: Service,
    project_id: ProjectId,
    text: Annotated[str, in_query(_QUERY, name="query")],
    tags: TagsAsked = None,
    limit: Annotated[int, in_query(_LIMIT)] = 10,
) -> FoundMemories:
    """Search memories by meaning and words, best first. Tags filter before ranking."""
    question = MemoryQuestion(query=text, tags=tags or [], limit=limit)
    return await service.executors.search.run(partial(_found, service, project_id, question))


@post(
    f"{_BASE}/search",
    operation_id="searchMemoriesByBody",
    summary="Search memories",
    tags=_TAGS,
    status_code=200,
)
async def search_memories_by_body(
    service: Service, project_id: ProjectId, data: MemoryQuestion
) -> FoundMemories:
    """Search memories with a query that is too long or too private for a URL."""
    return await service.executors.search.run(partial(_found, service, project_id, data))


@get(
    "/memories/search",
    operation_id="searchAllMemories",
    summary="Search memories of several projects",
    tags=_TAGS,
)
async def search_all_memories(
    service: Service,
    text: Annotated[str, in_query(_QUERY, name="query")],
    project: ProjectsAsked = None,
    tags: TagsAsked = None,
    limit: Annotated[int, in_query(_LIMIT)] = 10,
) -> FoundMemories:
    """Search memories of several projects in one ranking, best first. `project` may be repeated.

    A project that cannot answer is one of `errors`.
    """
    question = MemorySearch(query=text, tags=tags or [], limit=limit, projects=project or [])
    return await service.executors.search.run(partial(_found_in_all, service, question))


@post(
    "/memories/search",
    operation_id="searchAllMemoriesByBody",
    summary="Search memories of several projects",
    tags=_TAGS,
    status_code=200,
)
async def search_all_memories_by_body(service: Service, data: MemorySearch) -> FoundMemories:
    """Search memories with a query that is too long or too private for a URL."""
    return await service.executors.search.run(partial(_found_in_all, service, data))


@get(f"{_BASE}/tags", operation_id="listMemoryTags", summary="Tags of memories", tags=_TAGS)
async def list_tags(
    service: Service, project_id: ProjectId, limit: PageLimit = 50, tags: TagsAsked = None
) -> MemoryTags:
    """List the tags of memories, most frequent first."""

    def find() -> MemoryTags:
        counted = service.index_of(project_id).checkpoints.tags(tags=tags or (), limit=limit)
        found = (MemoryTag(tag=tag, memories=number) for tag, number in counted.items())
        return MemoryTags(tags=tuple(found))

    return await service.work(find)


@get(_ONE, operation_id="showMemory", summary="A memory", tags=_TAGS)
async def show_memory(service: Service, project_id: ProjectId, memory_id: MemoryId) -> Checkpoint:
    """Return a memory."""
    return await service.work(
        lambda: service.index_of(project_id).checkpoints.get(memory_id, only_memories=True)
    )


@patch(_ONE, operation_id="changeMemory", summary="Change a memory", tags=_TAGS)
async def change_memory(
    service: Service, project_id: ProjectId, memory_id: MemoryId, data: MemoryPatch
) -> Checkpoint:
    """Change fields of a memory; other fields keep their values, including concurrent changes.

    `context` and `tags` are replaced as a whole.
    """
    tags = None if data.tags is None else tuple(data.tags)
    change = MemoryChange(**{**asdict(data), "tags": tags})
    return await service.work(
        lambda: service.index_of(project_id).checkpoints.change(memory_id, change)
    )


@delete(_ONE, operation_id="deleteMemory", summary="Delete a memory", tags=_TAGS)
async def delete_memory(service: Service, project_id: ProjectId, memory_id: MemoryId) -> None:
    """Delete a memory; its text and words are erased from the database file at once."""
    await service.work(lambda: service.index_of(project_id).checkpoints.delete(memory_id))


def _found(service: Service, project_id: str, question: MemoryQuestion) -> FoundMemories:
    found = service.index_of(project_id).checkpoints.search(
        question.query, tags=question.tags, limit=question.limit, only_memories=True
    )
    return FoundMemories(memories=found)


def _found_in_all(service: Service, question: MemorySearch) -> FoundMemories:
    chosen = service.chosen(question.projects)
    found = service.catalog.search_memories(
        chosen.roots, question.query, tags=question.tags, limit=question.limit
    )
    more = chosen.errors if chosen.roots else service.forgotten()
    return replace(found, errors=(*found.errors, *more))


HANDLERS = (
    list_memories,
    save_memory,
    search_memories,
    search_memories_by_body,
    search_all_memories,
    search_all_memories_by_body,
    list_tags,
    show_memory,
    change_memory,
    delete_memory,
)
