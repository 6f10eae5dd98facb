"""The tools that find: by a question, by a name, and by a place."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.project_filters import names_projects
from engine.records import (
    Mode,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
)
from engine.telemetry.recording import asking
from web.mcp.budget import within
from web.mcp.cursor import cursor_of, offset_of
from web.mcp.desk import Desk
from web.mcp.reading import answer_text, in_short, symbols_text
from web.mcp.shapes import list_of, part, record
from web.mcp.tool import Answer, Caller, Given, Tool
from web.schemas import answer_json, as_json
from web.symbol_answers import find_symbols

_MOST_HITS = 100  # of one question, over all pages
_QUERY_CHARS = 4096

Project = Annotated[
    str,
    Meta(min_length=1, description="folder or name; default: the only project"),
]


class SearchCode(Given, kw_only=True, frozen=True):
    """What ``search_code`` takes."""

    query: Annotated[str, Meta(min_length=1, max_length=_QUERY_CHARS)]
    project_path: Project | None = None
    mode: Literal["hybrid", "meaning", "keyword", "symbol", "regex"] = "hybrid"
    language: str | None = None
    path: Annotated[str, Meta(description="prefix or glob")] | None = None
    kind: Annotated[str, Meta(description="function, class, type, …")] | None = None
    branch: str | None = None
    limit: Annotated[int, Meta(ge=1, le=_MOST_HITS)] = 10
    max_tokens: Annotated[int, Meta(ge=1, description="bound on the text")] | None = None
    format: Literal["text", "json", "markdown"] = "text"
    cursor: Annotated[str, Meta(description="next_cursor of the answer before")] | None = None


class FindSymbol(Given, kw_only=True, frozen=True):
    """What ``find_symbol`` takes."""

    name: Annotated[str, Meta(min_length=1, max_length=1000, description="Name or Class.method")]
    project_path: Project | None = None
    kind: str | None = None
    match: Literal["exact", "prefix", "fuzzy"] = "exact"
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20


class FindRelated(Given, kw_only=True, frozen=True):
    """What ``find_related`` takes."""

    path: Annotated[str, Meta(min_length=1, description="file, relative to the root or absolute")]
    line: Annotated[int, Meta(ge=1)]
    project_path: Project | None = None
    limit: Annotated[int, Meta(ge=1, le=_MOST_HITS)] = 5


_HIT = part(
    project="text",
    path="text",
    line_start="integer",
    line_end="integer",
    language="text",
    symbol="text|null",
    kind="text|null",
    signature="text|null",
    score="number",
    why="texts",
    fresh="yes_no|null",
    snippet="text",
)
_FOUND = {
    "query": "text",
    "mode": "text",
    "took_ms": "number",
    "total": "integer",
    "truncated": "yes_no",
    "coverage": "record",
}
_SYMBOL = part(
    project="text",
    path="text",
    name="text",
    qualified_name="text",
    kind="text",
    signature="text",
    doc="text",
    language="text",
    line_start="integer",
    line_end="integer",
    exported="yes_no",
    score="number",
)


def tools(desk: Desk) -> tuple[Tool, ...]:
    """Give the tools that find."""
    search = _Search(desk)
    return (
        Tool(
            name="search_code",
            title="Search code",
            description=(
                "Find code and documents by what they do, by words, names or patterns: the first "
                "thing to try when you do not know the place. In the query, filters narrow: lang: "
                'path: kind: sym: branch: project: tag: case:, "exact phrase", /regex/, a leading '
                "- negates; alone they list: kind:enum path:src/. mode symbol looks for "
                "definitions, regex reads the query as RE2. Hits have path, lines, code, and "
                "fresh=false when the file changed since; missing: names that are nowhere."
            ),
            takes=SearchCode,
            gives=record(**_FOUND, hits=list_of(_HIT), next_cursor="text|null"),
            run=search.search_code,
            reads_only=True,
        ),
        Tool(
            name="find_symbol",
            title="Find a definition",
            description=(
                "Find where a function, class or other symbol is defined, when you know its name; "
                "fuzzy takes parts and typing errors."
            ),
            takes=FindSymbol,
            gives=record(symbols=list_of(_SYMBOL), total="integer", truncated="yes_no"),
            run=search.find_symbol,
            reads_only=True,
        ),
        Tool(
            name="find_related",
            title="Find code like this",
            description=(
                "Find code that means the same as that at a line: duplicates, siblings, examples."
            ),
            takes=FindRelated,
            gives=record(**_FOUND, hits="records"),
            run=search.find_related,
            reads_only=True,
        ),
    )


class _Search:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def search_code(self, given: SearchCode, _caller: Caller) -> Answer:
        question = _question_of(given)
        offset = offset_of(question, given.cursor)
        wanted = min(offset + given.limit, _MOST_HITS)
        found = self._found(given, wanted)
        page = replace(found, hits=found.hits[offset:])

        def next_cursor(answer: SearchAnswer) -> str | None:
            reached = offset + len(answer.hits)
            is_more = found.truncated or reached < len(found.hits)
            if not answer.hits or reached >= _MOST_HITS or not is_more:
                return None
            return cursor_of(question, reached)

        def text_of(answer: SearchAnswer) -> str:
            return answer_text(answer, given.format, next_cursor(answer))

        shown = within(page, given.max_tokens, text_of)
        content = {**answer_json(shown), "next_cursor": next_cursor(shown)}
        return Answer(content=content, text=text_of(shown))

    def _found(self, given: SearchCode, limit: int) -> SearchAnswer:
        request = SearchRequest(
            query=given.query,
            mode=Mode(given.mode),
            language=given.language,
            path=given.path,
            kind=given.kind,
            branch=given.branch,
            limit=limit,
        )
        catalog = self._desk.catalog
        with asking(request.mode):
            if given.project_path is None and names_projects(request):
                return catalog.search(catalog.everywhere(), request)
            return catalog.search([self._desk.projects.index(given.project_path).root], request)

    def find_symbol(self, given: FindSymbol, _caller: Caller) -> Answer:
        with asking("symbols"):
            index = self._desk.projects.index(given.project_path)
            found = find_symbols(
                index, given.name, kind=given.kind, match=given.match, limit=given.limit
            )
        nothing = f"no symbol is named {given.name!r}; try match fuzzy, or search_code"
        more = found.says_more("a kind, Class.name or a larger limit shows others")
        return Answer(
            content={**found.as_json(), "symbols": [_symbol_json(each) for each in found.symbols]},
            text="\n".join(filter(None, [symbols_text(found.symbols, nothing), more])),
        )

    def find_related(self, given: FindRelated, _caller: Caller) -> Answer:
        with asking("related"):
            index = self._desk.projects.index(given.project_path)
            wanted = RelatedRequest(path=given.path, line_start=given.line, limit=given.limit)
            answer = index.related(wanted)
        return Answer(content=answer_json(answer), text=answer_text(answer, "text", None))


def _question_of(given: SearchCode) -> Mapping[str, object]:
    """Give all that the order of hits depends on."""
    shape: dict[str, object] = msgspec.to_builtins(given)
    for name in ("limit", "max_tokens", "format", "cursor"):
        del shape[name]
    return shape


def _symbol_json(hit: SymbolHit) -> object:
    return as_json(replace(hit, doc=in_short(hit.doc)))
