"""The tools for checkpoints: what agents want to remember of a project, beside its files."""

from typing import Annotated, Any

from msgspec import Meta

from engine.records import (
    MAX_FOUND,
    MAX_LISTED,
    MAX_QUERY_CHARS,
    MAX_SUMMARY_CHARS,
    Checkpoint,
    NewMemory,
)
from web.mcp.tool import Answer, Caller, Desk, Given, Tool, record
from web.schemas import checkpoint_json
from web.terminal import printable
from web.wording import count

ProjectPath = Annotated[str, Meta(min_length=1)]
Tags = list[str]


class SaveCheckpoint(Given, kw_only=True, frozen=True):
    """What ``checkpoint_save`` takes."""

    summary: Annotated[str, Meta(min_length=1, max_length=MAX_SUMMARY_CHARS)]
    description: str
    project_path: ProjectPath
    context: dict[str, Any] | None = None
    tags: Tags | None = None


class SearchCheckpoints(Given, kw_only=True, frozen=True):
    """What ``checkpoint_search`` takes."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    project_path: ProjectPath
    tags: Annotated[Tags, Meta(description="all must be there; !tag must not")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 10


class ListCheckpoints(Given, kw_only=True, frozen=True):
    """What ``checkpoint_list`` takes."""

    project_path: ProjectPath
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 50
    cursor: str | None = None


def tools(desk: Desk) -> tuple[Tool, ...]:
    """Give the tools for checkpoints."""
    checkpoints = _Checkpoints(desk)
    return (
        Tool(
            name="checkpoint_save",
            title="Remember something",
            description=(
                "Save a note about a project for later sessions: a decision, a finding, where "
                "something is. Secrets in it are blanked."
            ),
            takes=SaveCheckpoint,
            gives=record(id="text", summary="text", tags="texts", created_at="text"),
            run=checkpoints.save,
        ),
        Tool(
            name="checkpoint_search",
            title="Find what was remembered",
            description=(
                "Search notes and indexed files together, by meaning and words, whole texts "
                "included. Tags of a file: indexed, repository, its extension, its language; "
                "!indexed gives notes alone. For places in code use search_code."
            ),
            takes=SearchCheckpoints,
            gives=record(checkpoints="records"),
            run=checkpoints.search,
            reads_only=True,
        ),
        Tool(
            name="checkpoint_list",
            title="List what is remembered",
            description="List notes and indexed files with their texts, the newest first.",
            takes=ListCheckpoints,
            gives=record(checkpoints="records", total="integer", next_cursor="text|null"),
            run=checkpoints.list,
            reads_only=True,
        ),
    )


class _Checkpoints:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def save(self, given: SaveCheckpoint, _caller: Caller) -> Answer:
        new = NewMemory(
            summary=given.summary,
            description=given.description,
            context=given.context or {},
            tags=tuple(given.tags or ()),
        )
        saved = self._desk.projects.index(given.project_path).checkpoints.save(new)
        return Answer(content=checkpoint_json(saved), text=f"saved as {saved.id}")

    def search(self, given: SearchCheckpoints, _caller: Caller) -> Answer:
        index = self._desk.projects.index(given.project_path)
        found = index.checkpoints.search(given.query, tags=given.tags or (), limit=given.limit)
        return Answer(
            content={"checkpoints": [checkpoint_json(each) for each in found]}, text=_text(found)
        )

    def list(self, given: ListCheckpoints, _caller: Caller) -> Answer:
        index = self._desk.projects.index(given.project_path)
        page = index.checkpoints.list(limit=given.limit, cursor=given.cursor)
        content = {
            "checkpoints": [checkpoint_json(each) for each in page.checkpoints],
            "total": page.total,
            "next_cursor": page.next_cursor,
        }
        return Answer(content=content, text=f"{_text(page.checkpoints)}\n{page.total:,} in all")


def _text(checkpoints: tuple[Checkpoint, ...]) -> str:
    lines = [f"{printable(each.summary)}  ({each.id})" for each in checkpoints]
    return "\n".join([*lines, count(len(checkpoints), "checkpoint")])
