"""The tool that draws a map of the code."""

from dataclasses import replace

from engine.reference_records import MAX_REFERENCES, MapRequest
from engine.telemetry.metrics import measured_search
from web.code_map import compact_map, map_text, map_totals
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_of, notes_of, with_notes
from web.mcp.tool import Answer, Caller, Parameters, ProjectPath, Tool, ToolContext, record
from web.parameters import request_from, with_parameters_of
from web.terminal import Style

_NOTHING = "no definition that other files use was found; outline lists the symbols of a file"
_MORE = "truncated: raise max_tokens, or name a query or path"


@with_parameters_of(MapRequest, without=("limit",), for_agents=True)
class CodeMap(Parameters, kw_only=True, frozen=True):
    """Parameters of ``code_map``."""

    max_tokens: MaxTokens = DEFAULT_TOKENS
    project_path: ProjectPath | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool that draws a map of the code."""
    return (
        Tool(
            name="code_map",
            title="Map of the code",
            description="List the most central definitions, to learn a code base in one call.",
            parameters=CodeMap,
            output_schema=record(files="list", total="integer", truncated="boolean"),
            run=_Maps(context).draw,
            read_only=True,
        ),
    )


class _Maps:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def draw(self, params: CodeMap, caller: Caller) -> Answer:
        index = self._context.projects.index(params.project_path, caller)
        wanted = replace(request_from(MapRequest, params), limit=MAX_REFERENCES)
        with measured_search("map"):
            answer = index.code_map.draw(wanted)
        notes = notes_of(answer, "" if answer.symbols else _NOTHING)

        def write(shown: int) -> Answer:
            content = compact_map(answer, shown)
            told = [*notes, *([_MORE] if content["truncated"] else [])]
            text = map_text(answer, shown, Style())
            return with_notes(content, text, told, map_totals(answer, shown))

        return most_of(len(answer.symbols), write, params.max_tokens)
