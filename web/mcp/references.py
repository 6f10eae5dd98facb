"""The tool that tells who uses a name, and who calls whom."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from engine.errors import InvalidInputError
from engine.project import Project
from engine.records import Coverage, bytes_within
from engine.reference_records import MAX_DEPTH, CallRequest, Direction, ReferenceRequest
from engine.telemetry.metrics import measured_search
from web.calls import calls_text, calls_totals, compact_calls
from web.compact_json import compact_text
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, size_of
from web.mcp.failures import in_tools
from web.mcp.tool import Answer, Caller, Parameters, ProjectPath, Tool, ToolContext, record
from web.operations import nothing_called
from web.parameters import request_from, with_parameters_of
from web.references import (
    Shown,
    compact_references,
    definition_line,
    most_within,
    references_text,
    totals_text,
    uses_of,
)
from web.schemas import as_json
from web.terminal import Style, printable
from web.text import coverage_text

_MORE = "truncated: raise limit and max_tokens"


@with_parameters_of(ReferenceRequest, without=("path",), for_agents=True)
class FindReferences(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_references``."""

    direction: Literal["uses", "callers", "callees"] = "uses"
    depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH)] = 1
    max_tokens: MaxTokens = DEFAULT_TOKENS
    project_path: ProjectPath | None = None


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool that tells who uses a name."""
    return (
        Tool(
            name="find_references",
            title="Find uses of a name",
            description=(
                "Find who uses a name, exactly where grep guesses: calls, imports, types, bases; "
                "or its callers or callees, with depth those of these too. certainty name: by "
                "name alone."
            ),
            parameters=FindReferences,
            output_schema=record(
                definitions="texts",
                references="records?",
                functions="records?",
                total="integer",
                truncated="boolean",
            ),
            run=_References(context).find,
            read_only=True,
        ),
    )


class _References:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def find(self, params: Any, caller: Caller) -> Answer:
        index = self._context.projects.index(params.project_path, caller)
        if params.direction == "uses":
            return _uses(index, params)
        if params.use is not None:
            raise InvalidInputError("use goes with direction uses only", field="use")
        return _calls(index, params)


def _uses(index: Project, params: Any) -> Answer:
    wanted = request_from(ReferenceRequest, params)
    with measured_search("references"):
        answer = index.references.find(wanted)
    whole = Shown(len(answer.definitions), len(uses_of(answer, wanted.use)))
    notes = list(answer.notes)
    if not answer.definitions and not answer.uses:
        notes.insert(0, nothing_called(index, wanted.name) + "; try find_symbol with match fuzzy")

    def write(shown: Shown) -> Answer:
        content = compact_references(answer, shown, wanted.use)
        named = answer.definitions[: shown.definitions]
        content["definitions"] = [definition_line(h, is_brief=shown.is_brief) for h in named]
        text = references_text(answer, shown, Style(), use=wanted.use)
        totals = totals_text(answer, wanted.use, is_brief=shown.is_brief)
        return _told(content, text, totals, notes, answer.coverage, is_brief=shown.is_brief)

    return _fitted(whole, write, params.max_tokens)


def _calls(index: Project, params: Any) -> Answer:
    wanted = request_from(CallRequest, params)
    with measured_search("calls"):
        is_up = params.direction == Direction.CALLERS
        answer = (index.references.callers if is_up else index.references.callees)(wanted)
    whole = Shown(len(answer.definitions), len(answer.edges))
    notes = list(answer.notes)
    if not answer.definitions:
        notes.insert(0, nothing_called(index, wanted.name) + "; try find_symbol with match fuzzy")

    def write(shown: Shown) -> Answer:
        content = compact_calls(answer, shown)
        named = answer.definitions[: shown.definitions]
        content["definitions"] = [definition_line(h, is_brief=shown.is_brief) for h in named]
        text = calls_text(answer, shown, Style())
        totals = calls_totals(answer, is_brief=shown.is_brief)
        return _told(content, text, totals, notes, answer.coverage, is_brief=shown.is_brief)

    return _fitted(whole, write, params.max_tokens)


def _told(
    content: dict[str, Any],
    text: str,
    totals: str,
    notes: list[str],
    coverage: Coverage,
    *,
    is_brief: bool,
) -> Answer:
    """Return an answer with what to know of it and to do next."""
    told = [] if is_brief else [in_tools(note) for note in notes]
    if not coverage.complete:
        told.append(in_tools(coverage_text(coverage)))
    if content["truncated"]:
        told.append(_MORE)
    lines = [text, *(f"note: {printable(note)}" for note in told), totals]
    return Answer(
        content={**content, **({"notes": told} if told else {})},
        text="\n".join(filter(None, lines)),
    )


def _fitted(whole: Shown, write: Any, max_tokens: int) -> Answer:
    def size(shown: Shown) -> int:
        answer = write(shown)
        return max(size_of(answer.text), size_of(compact_text(as_json(answer.content))))

    answer: Answer = write(most_within(whole, size, bytes_within(max_tokens)))
    return answer
