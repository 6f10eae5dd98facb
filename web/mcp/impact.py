"""The tool that tells what a change affects."""

from dataclasses import replace

from engine.project import Project
from engine.reference_records import MAX_REFERENCES, ImpactAnswer, ImpactRequest
from engine.telemetry.metrics import measured_search
from web.budget import Shown, whole_of
from web.impact import (
    compact_impact,
    files_to_run,
    impact_text,
    impact_totals,
    nothing_affected,
)
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_shown, notes_of, with_notes
from web.mcp.requested_files import explaining
from web.mcp.tool import Answer, Caller, Parameters, ProjectPath, Tool, ToolContext, record
from web.operations import nothing_called
from web.parameters import request_from, with_parameters_of
from web.terminal import Style

_MORE = "truncated: raise max_tokens, or lower depth"


@with_parameters_of(ImpactRequest, without=("test_depth", "limit"), for_agents=True)
class FindImpact(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_impact``."""

    max_tokens: MaxTokens = DEFAULT_TOKENS
    project_path: ProjectPath | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool that tells what a change affects."""
    return (
        Tool(
            name="find_impact",
            title="Find what a change affects",
            description=(
                "Find what depends on a name, a file or your uncommitted changes, directly or "
                "not, and the tests to run."
            ),
            parameters=FindImpact,
            output_schema=record(
                definitions="list", dependents="list", tests="list", total="integer"
            ),
            run=_Impact(context).find,
            read_only=True,
        ),
    )


class _Impact:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def find(self, params: FindImpact, caller: Caller) -> Answer:
        wanted = replace(request_from(ImpactRequest, params), limit=MAX_REFERENCES)
        projects = self._context.projects
        if wanted.path is None:
            index = projects.index(params.project_path, caller)
        else:
            index = projects.index_of_file(wanted.path, params.project_path, caller)
        with measured_search("impact"), explaining(index):
            answer = index.impact(wanted)
        notes = _notes_on(index, answer, wanted)

        def write(shown: Shown) -> Answer:
            content = compact_impact(answer, shown)
            if wanted.changed:  # also tests that are changed, on which nothing depends
                content["test_files"] = list(files_to_run(answer, shown))
            told = [] if shown.is_brief and answer.total else [*notes]
            told += [_MORE] if content["truncated"] else []
            totals = impact_totals(answer, is_brief=shown.is_brief)
            return with_notes(content, impact_text(answer, shown, Style()), told, totals)

        return most_shown(whole_of(answer), write, params.max_tokens)


def _notes_on(index: Project, answer: ImpactAnswer, wanted: ImpactRequest) -> list[str]:
    """Return what to know of an answer, in the words of tools."""
    is_unknown = wanted.name is not None and not answer.definitions
    unknown = nothing_called(index, wanted.name) if is_unknown and wanted.name else ""
    return notes_of(answer, nothing_affected(answer, wanted, unknown))
