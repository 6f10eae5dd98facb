"""The tool that tells who uses a name, and who calls whom."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from engine.errors import InvalidInputError
from engine.project import Project
from engine.reference_records import (
    MAX_DEPTH,
    MAX_REFERENCES,
    CallAnswer,
    CallRequest,
    Direction,
    ReferenceAnswer,
    ReferenceRequest,
    Use,
)
from engine.search_records import SymbolHit
from engine.telemetry.metrics import measured_search
from web.budget import Shown
from web.calls import calls_text, calls_totals, compact_calls
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_shown, notes_of, with_notes
from web.mcp.tool import Answer, Caller, Parameters, ProjectPath, Tool, ToolContext, record
from web.operations import nothing_called
from web.parameters import with_parameters_of
from web.references import (
    compact_references,
    definition_line,
    references_text,
    totals_text,
    uses_of,
)
from web.terminal import Style

_MORE = "truncated: raise max_tokens for more"


@with_parameters_of(ReferenceRequest, without=("path", "limit"), for_agents=True)
class FindReferences(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_references``."""

    direction: Literal["uses", "callers", "callees", "implementations", "bases"] = "uses"
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
                "Find the uses of a name: calls, imports, types; or its callers, callees, "
                "implementations or bases, depth 2: theirs too. certainty name: by name alone."
            ),
            parameters=FindReferences,
            output_schema=record(
                definitions="texts", references="list", total="integer", truncated="boolean"
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
        write: Callable[[Shown], Answer]
        if params.direction == "uses" and params.depth > 1:
            raise InvalidInputError(
                "depth goes with the other directions, not with uses",
                hint="direction callers, callees, implementations or bases",
                field="depth",
            )
        if params.direction == "uses":
            whole, write = _uses(index, params.name, params.use and Use(params.use))
        elif params.use is not None:
            raise InvalidInputError("use goes with direction uses only", field="use")
        else:
            whole, write = _calls(index, params.name, Direction(params.direction), params.depth)
        return most_shown(whole, write, params.max_tokens)


def _uses(index: Project, name: str, use: Use | None) -> tuple[Shown, Callable[[Shown], Answer]]:
    """Return how much there is of the uses of a name, and what writes so much of it."""
    with measured_search("references"):
        answer = index.references.find(ReferenceRequest(name=name, use=use, limit=MAX_REFERENCES))
    notes = _notes_on(index, answer, is_known=bool(answer.definitions or answer.uses))
    listed = len(uses_of(answer, use))
    total = answer.total - (len(answer.references) - listed)  # without what ``definitions`` has

    def write(shown: Shown) -> Answer:
        content = {**compact_references(answer, shown, use), "total": total}
        text = references_text(answer, shown, Style(), use=use)
        totals = totals_text(answer, use, is_brief=shown.is_brief)
        return _written(content, text, totals, notes, answer.definitions, shown)

    return Shown(len(answer.definitions), listed), write


def _calls(
    index: Project, name: str, direction: Direction, depth: int
) -> tuple[Shown, Callable[[Shown], Answer]]:
    """Return how much there is in a direction, and what writes so much of it."""
    wanted = CallRequest(name=name, depth=depth, limit=MAX_REFERENCES)
    with measured_search("calls"):
        answer = index.references.follow(wanted, direction)
    notes = _notes_on(index, answer, is_known=bool(answer.definitions))

    def write(shown: Shown) -> Answer:
        content = compact_calls(answer, shown)
        text = calls_text(answer, shown, Style())
        totals = calls_totals(answer, is_brief=shown.is_brief)
        return _written(content, text, totals, notes, answer.definitions, shown)

    return Shown(len(answer.definitions), len(answer.edges)), write


def _notes_on(index: Project, answer: ReferenceAnswer | CallAnswer, *, is_known: bool) -> list[str]:
    """Return what to know of an answer, in the words of tools."""
    return notes_of(answer, "" if is_known else nothing_called(index, answer.name))


def _written(
    content: dict[str, Any],
    text: str,
    totals: str,
    notes: Sequence[str],
    definitions: Sequence[SymbolHit],
    shown: Shown,
) -> Answer:
    """Return an answer with its notes, and its definitions as texts."""
    named = definitions[: shown.definitions]
    content["definitions"] = [definition_line(hit, is_brief=shown.is_brief) for hit in named]
    told = [] if shown.is_brief and content["total"] else [*notes]
    told += [_MORE] if content["truncated"] else []
    return with_notes(content, text, told, totals)
