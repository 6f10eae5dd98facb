"""The tools that show what there is: the projects, the files of a folder, the symbols of a file."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from engine.errors import EngineError
from engine.state_records import ProjectSummary
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, page_of
from web.mcp.failures import in_tools
from web.mcp.requested_files import explaining
from web.mcp.tool import Answer, Caller, Parameters, ProjectPath, Tool, ToolContext, record
from web.outline import entry_line, outline_of, symbol_line
from web.schemas import as_json
from web.terminal import printable
from web.wording import FOLDER_GONE, count


class ListProjects(Parameters, kw_only=True, frozen=True):
    """Parameters of ``list_projects``."""

    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: str | None = None


class Outline(Parameters, kw_only=True, frozen=True):
    """Parameters of ``outline``."""

    path: Annotated[str, Meta(min_length=1, description="file or folder; . is the root")] = "."
    project_path: ProjectPath | None = None
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: str | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools that show what there is."""
    contents = _Contents(context)
    return (
        Tool(
            name="list_projects",
            title="List projects",
            description="List the indexed projects; default is that of calls that name none.",
            parameters=ListProjects,
            output_schema=record(projects="list", default="text|null", total="integer"),
            run=contents.projects,
            read_only=True,
        ),
        Tool(
            name="outline",
            title="Outline a file or folder",
            description=(
                "List the symbols of a file with their lines, or the indexed files of a folder; "
                "read it before opening a long file."
            ),
            parameters=Outline,
            output_schema=record(path="text", symbols="texts", entries="texts", total="integer"),
            run=contents.outline,
            read_only=True,
        ),
    )


class _Contents:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def projects(self, params: ListProjects, caller: Caller) -> Answer:
        found = self._context.catalog.projects()
        try:
            default = self._context.projects.default(caller)
        except EngineError:
            default = None

        def write(shown: Sequence[ProjectSummary], following: str | None) -> Answer:
            content = {
                "projects": list(map(_about, shown)),
                "default": default,
                **_paging(len(found), following),
            }
            lines = [_project_line(each, default) for each in shown]
            return Answer(content=content, text=_text(lines, len(found), "project", following))

        return page_of(found, params.cursor, write, params.max_tokens)

    def outline(self, params: Outline, caller: Caller) -> Answer:
        project = self._context.projects.index_of_file(params.path, params.project_path, caller)
        with explaining(project):
            found = outline_of(project, params.path)
        if found.symbols is None:
            name, noun, lines = "entries", "entry", list(map(entry_line, found.entries))
        else:
            name, noun, lines = "symbols", "symbol", list(map(symbol_line, found.symbols))
        notes = [in_tools(note) for note in found.notes]

        def write(shown: Sequence[str], following: str | None) -> Answer:
            content = {"path": params.path, name: shown, **_paging(len(lines), following)}
            text = _text(shown, len(lines), noun, following)
            if notes:
                content["notes"] = notes
                text = "\n".join([text, *notes])
            return Answer(content=content, text=text)

        return page_of(lines, params.cursor, write, params.max_tokens)


def _about(project: ProjectSummary) -> dict[str, object]:
    """Return what is worth telling about a project."""
    if project.error is not None:
        return {"path": project.path, "project_id": project.project_id, "error": project.error}
    known = as_json(project)
    about = {name: known[name] for name in ("path", "files", "last_indexed_at")}
    return about if project.folder_exists else {**about, "note": FOLDER_GONE}


def _project_line(project: ProjectSummary, default: str | None) -> str:
    if project.error is not None:
        return f"{project.path or project.project_id}: {project.error}"
    mark = " (default)" if project.path == default else ""
    when = f", indexed {project.last_indexed_at}" if project.last_indexed_at else ""
    gone = "" if project.folder_exists else f"; {FOLDER_GONE}"
    return f"{project.path}{mark}: {count(project.files, 'file')}{when}{gone}"


def _paging(total: int, following: str | None) -> dict[str, object]:
    more = {"next_cursor": following} if following else {}
    return {"total": total, "truncated": following is not None, **more}


def _text(lines: Sequence[str], total: int, noun: str, following: str | None) -> str:
    more = f", more with cursor {following}" if following else ""
    plural = f"{total:,} entries" if noun == "entry" and total != 1 else count(total, noun)
    return "\n".join([*map(printable, lines), f"{len(lines):,} of {plural}{more}"])
