"""The checkpoint tools: notes that agents keep about a project, searchable with its files."""

from typing import Annotated, Any

from msgspec import Meta

from engine.memory_records import (
    MAX_FOUND,
    MAX_LISTED,
    MAX_SUMMARY_CHARS,
    Checkpoint,
    CheckpointPage,
    NewMemory,
)
from engine.records import MAX_QUERY_CHARS
from web.mcp.tool import (
    Answer,
    Caller,
    Parameters,
    ProjectPath,
    Tool,
    ToolContext,
    fields_in,
    record,
)
from web.schemas import as_json, values_of
from web.terminal import printable
from web.wording import count

Tags = list[str]


class SaveCheckpoint(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_save``."""

    summary: Annotated[str, Meta(min_length=1, max_length=MAX_SUMMARY_CHARS)]
    description: str
    project_path: ProjectPath | None = None
    context: dict[str, Any] | None = None
    tags: Tags | None = None


class SearchCheckpoints(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_search``."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    project_path: ProjectPath | None = None
    tags: Annotated[Tags, Meta(description="all must be present; !tag must be absent")] | None = (
        None
    )
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND)] = 10


class ListCheckpoints(Parameters, kw_only=True, frozen=True):
    """Parameters of ``checkpoint_list``."""

    project_path: ProjectPath | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = 50
    cursor: str | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools for checkpoints."""
    checkpoints = _Checkpoints(context)
    return (
        Tool(
            name="checkpoint_save",
            title="Save a note",
            description=(
                "Save a note about a project for later sessions: a decision, a finding, or where "
                "something is. Secrets in it are redacted."
            ),
            parameters=SaveCheckpoint,
            output_schema=record(**fields_in(Checkpoint, "id", "summary", "tags", "created_at")),
            run=checkpoints.save,
        ),
        Tool(
            name="checkpoint_search",
            title="Search notes and files",
            description=(
                "Search notes and indexed files by meaning and words; results contain whole texts. "
                "A file has the tags indexed, repository, its extension and its language; "
                "!indexed returns notes only. To locate code use search_code."
            ),
            parameters=SearchCheckpoints,
            output_schema=record(checkpoints="records"),
            run=checkpoints.search,
            read_only=True,
        ),
        Tool(
            name="checkpoint_list",
            title="List notes and files",
            description="List notes and indexed files with their texts, newest first.",
            parameters=ListCheckpoints,
            output_schema=record(**fields_in(CheckpointPage)),
            run=checkpoints.list,
            read_only=True,
        ),
    )


class _Checkpoints:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def save(self, params: SaveCheckpoint, caller: Caller) -> Answer:
        new = NewMemory(
            summary=params.summary,
            description=params.description,
            context=params.context or {},
            tags=tuple(params.tags or ()),
        )
        saved = self._context.projects.index(params.project_path, caller).checkpoints.save(new)
        return Answer(content=as_json(saved), text=f"saved as {saved.id}")

    def search(self, params: SearchCheckpoints, caller: Caller) -> Answer:
        index = self._context.projects.index(params.project_path, caller)
        found = index.checkpoints.search(params.query, tags=params.tags or (), limit=params.limit)
        return Answer(content={"checkpoints": found}, text=_text(found))

    def list(self, params: ListCheckpoints, caller: Caller) -> Answer:
        index = self._context.projects.index(params.project_path, caller)
        page = index.checkpoints.list(limit=params.limit, cursor=params.cursor)
        text = f"{_text(page.checkpoints)}\n{page.total:,} in total"
        return Answer(content=values_of(page), text=text)


def _text(checkpoints: tuple[Checkpoint, ...]) -> str:
    lines = [f"{printable(each.summary)}  ({each.id})" for each in checkpoints]
    return "\n".join([*lines, count(len(checkpoints), "checkpoint")])
