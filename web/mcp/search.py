"""The search tools: by a query, by the name of a symbol, and by a place in the code.

An answer names places first, then quotes code exactly as it is in the file. It is cut until its
structured content and its text fit a budget each, counted by ``engine.records.tokens_of``: clients
pass on only one of the two.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.budget import compose_measured, with_further_hits, with_more_files
from engine.cross_project import names_projects
from engine.cursors import SearchCursor
from engine.search_records import (
    MAX_HITS,
    Hit,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
    SymbolRequest,
)
from engine.telemetry.metrics import measured_search
from web.answers import (
    ONLY_LIKELY,
    MeasuredByHits,
    also_block,
    has_commits,
    has_only_likely,
    hit_blocks,
    notes_on,
    noun_of,
    search_markdown,
    size_of_hits,
)
from web.compact_json import compact_json, measured_json
from web.mcp.bounds import DEFAULT_TOKENS, MaxTokens, most_of
from web.mcp.failures import in_tools
from web.mcp.requested_files import explaining, why_nothing
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
from web.operations import FoundSymbols, find_symbols, no_symbol_called
from web.parameters import request_from, with_parameters_of
from web.schemas import as_json
from web.terminal import Style, printable
from web.text import compact_text, share_text, size_of
from web.wording import count

#: Returns the cursor behind the hits of an answer.
Following = Callable[[SearchAnswer], str | None]
_NOTHING = "nothing found; try other words, parts of a name, or fewer filters"
_NO_MORE = "no more hits"
_MOST = f"a search lists {MAX_HITS} hits at most: narrow it by path:, kind: or lang: for others"
_NO_ROOM = "no room for a place: raise max_tokens"
_DOC_CHARS = 200  # of a symbol's documentation


def answer_text(
    answer: SearchAnswer,
    form: str,
    next_cursor: str | None,
    *,
    is_brief: bool = False,
    has_all: bool = False,
) -> str:
    """Format an answer.

    Args:
        answer: The answer.
        form: ``text`` or ``markdown``.
        next_cursor: The cursor of the next page, if there is one.
        is_brief: Whether places are all that there is room for.
        has_all: Whether there are no hits behind those of all pages up to this one, so that the
            answer is truncated in its code alone.
    """
    totals = _totals(answer, next_cursor, is_brief=is_brief, has_all=has_all)
    if form == "markdown":
        return search_markdown(answer, totals, is_brief=is_brief)
    blocks = [*hit_blocks(answer, Style(), is_brief=is_brief, numbered=False)]
    return "\n\n".join([*(blocks or [_nothing(answer)]), *_closing_blocks(answer, totals)])


def measured_text(following: Following, *, has_all: bool = False) -> MeasuredByHits:
    """Return what measures ``answer_text`` in the form ``text``; see there."""

    def rest(answer: SearchAnswer, is_brief: bool) -> int:
        cursor = following(answer)
        if not answer.hits:
            return size_of(answer_text(answer, "text", cursor, is_brief=is_brief, has_all=has_all))
        totals = _totals(answer, cursor, is_brief=is_brief, has_all=has_all)
        blocks = _closing_blocks(answer, totals)
        if answer.more_files:
            blocks.append(also_block(answer.more_files, Style()))
        return sum(len("\n\n") + size_of(block) for block in blocks)

    def of_hits(hits: Sequence[Hit], is_brief: bool) -> int:
        return size_of_hits(hits, is_brief=is_brief) if hits else 0

    return MeasuredByHits(rest, of_hits)


def _closing_blocks(answer: SearchAnswer, totals: str) -> list[str]:
    return [
        *(f"note: {printable(note)}" for note in notes_on(answer)),
        *(
            f"failed: {printable(each.project)}: {printable(each.message)}"
            for each in answer.errors
        ),
        totals,
    ]


def _nothing(answer: SearchAnswer) -> str:
    return _NO_ROOM if answer.truncated else _NO_MORE if answer.total else _NOTHING


def _told(answer: SearchAnswer) -> tuple[str, ...]:
    """Return the notes of an answer, its doubts, and what to do if nothing is found."""
    notes = notes_on(replace(answer, missing=()))
    return (*(() if answer.hits else (_nothing(answer),)), *notes)


def _following(
    answer: SearchAnswer, next_cursor: str | None, *, is_brief: bool
) -> dict[str, object]:
    """Return what structured content has behind the hits."""
    notes = () if is_brief else _told(answer)
    return {"next_cursor": next_cursor, **({"notes": notes} if notes else {})}


def _totals(answer: SearchAnswer, next_cursor: str | None, *, is_brief: bool, has_all: bool) -> str:
    found = f"{count(len(answer.hits), noun_of(answer))} of {answer.total:,}"
    coverage, of_commits = answer.coverage, has_commits(answer)
    is_least = answer.truncated and not of_commits and not has_all
    parts = [found + (" or more" if is_least else "")]
    cut = "code cut to fit" if has_all and answer.hits else "truncated"
    if is_brief and (coverage.complete or of_commits):
        return ", ".join([*parts, f"cursor {next_cursor}" if next_cursor else cut])
    if not of_commits:
        parts.append(share_text(coverage))
    if not of_commits and not coverage.complete:
        parts.append("the index is incomplete: index_repository completes it")
    if answer.truncated and not next_cursor:
        parts.append(cut)
    if next_cursor:
        parts.append(f"more with cursor {next_cursor}")
    return ", ".join(parts)


def symbols_text(hits: Sequence[SymbolHit]) -> str:
    """Format symbols, one per line."""
    lines = [
        f"{printable(hit.path)}:{hit.line_start}-{hit.line_end} {hit.kind} "
        f"{printable(hit.qualified_name)}"
        + (f"  {printable(hit.signature)}" if hit.signature else "")
        for hit in hits
    ]
    return "\n".join(lines)


def _shortened(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _DOC_CHARS else text[: _DOC_CHARS - 1] + "…"


@with_parameters_of(
    SearchRequest,
    without=("context", "explain", "tests", "vendored", "generated"),
    for_agents=True,
)
class SearchCode(Parameters, kw_only=True, frozen=True):
    """Parameters of ``search_code``; its ``max_tokens`` is a bound on the whole answer."""

    project_path: ProjectPath | None = None
    format: Literal["text", "json", "markdown"] = "text"
    cursor: Annotated[str, Meta(description="next_cursor of the previous answer")] | None = None


@with_parameters_of(SymbolRequest, for_agents=True)
class FindSymbol(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_symbol``."""

    max_tokens: MaxTokens = DEFAULT_TOKENS
    project_path: ProjectPath | None = None


@with_parameters_of(RelatedRequest, without=("line_end", "context"), for_agents=True)
class FindRelated(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_related``."""

    max_tokens: MaxTokens = DEFAULT_TOKENS
    project_path: ProjectPath | None = None


_IN_ALL_ANSWERS = ("total", "truncated", "coverage")
_FOUND = {**fields_in(SearchAnswer, *_IN_ALL_ANSWERS), "hits": "list"}


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the search tools."""
    search = _Search(context)
    return (
        Tool(
            name="search_code",
            title="Search code",
            description=(
                "Find code and documents by what they do, words, names or patterns: the "
                "first tool to try. A query can have filters (lang: path: "
                "kind: sym: calls: uses: extends: imports: is: branch: project: context: tag: "
                'author: case:), "exact phrase" and /regex/; - negates. Filters alone list '
                "up to 100: kind:enum path:src/. type:commit finds commits (after: before:). "
                "Mode symbol finds definitions, regex is RE2. "
                "Places come first, then code that fits max_tokens (default 1500). "
                "fresh=false: the file changed; missing: names found nowhere."
            ),
            parameters=SearchCode,
            output_schema=record(**_FOUND, next_cursor="text|null"),
            run=search.search_code,
            read_only=True,
        ),
        Tool(
            name="find_symbol",
            title="Find a definition",
            description="Find where a symbol is defined, when you know its name.",
            parameters=FindSymbol,
            output_schema=record(symbols="list", total="integer", truncated="boolean"),
            run=search.find_symbol,
            read_only=True,
        ),
        Tool(
            name="find_related",
            title="Find similar code",
            description=(
                "Find code similar to the code at a line: duplicates, variants, examples."
            ),
            parameters=FindRelated,
            output_schema=record(**_FOUND),
            run=search.find_related,
            read_only=True,
        ),
    )


class _Search:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def search_code(self, params: SearchCode, caller: Caller) -> Answer:
        request = request_from(SearchRequest, params)
        cursor = SearchCursor(msgspec.to_builtins(params), most=MAX_HITS)
        offset = cursor.offset_of(params.cursor)
        most = min(offset + request.limit, MAX_HITS)
        wider = with_further_hits(replace(request, limit=most))
        found = with_more_files(self._search(params, wider, caller), most)
        page = replace(found, hits=found.hits[offset:])
        if found.truncated and most == MAX_HITS and page.hits:
            page = replace(page, notes=(*page.notes, _MOST))
        if has_only_likely(found):
            left_out = f"{found.total - len(found.hits):,} {ONLY_LIKELY}"
            page = replace(page, notes=(*page.notes, left_out))

        def next_cursor(answer: SearchAnswer) -> str | None:
            reached = offset + len(answer.hits)
            is_more = found.truncated or reached < len(found.hits)
            if not answer.hits or reached >= MAX_HITS or not is_more:
                return None
            return cursor.at(reached)

        return _composed(page, request.max_tokens or DEFAULT_TOKENS, params.format, next_cursor)

    def _search(self, params: SearchCode, request: SearchRequest, caller: Caller) -> SearchAnswer:
        catalog = self._context.catalog
        with measured_search(request.mode):
            if params.project_path is None and names_projects(request):
                return catalog.search(catalog.roots_or_ids(), request)
            project = self._context.projects.index(params.project_path, caller)
            found = catalog.search([project.root], request)
        if found.total:
            return found
        unseen = why_nothing(project, request.query, request.path)
        return replace(found, notes=(*found.notes, *unseen))

    def find_symbol(self, params: FindSymbol, caller: Caller) -> Answer:
        wanted = request_from(SymbolRequest, params)
        with measured_search("symbols"):
            index = self._context.projects.index(params.project_path, caller)
            found = find_symbols(index, wanted)
            meant = "" if found.symbols else no_symbol_called(index, wanted)

        def write(number: int) -> Answer:
            shown = replace(found, symbols=found.symbols[:number])
            return _symbols_answer(shown, wanted.name, meant)

        return most_of(len(found.symbols), write, params.max_tokens)

    def find_related(self, params: FindRelated, caller: Caller) -> Answer:
        wanted = request_from(RelatedRequest, params)
        with measured_search("related"):
            index = self._context.projects.index_of_file(wanted.path, params.project_path, caller)
            with explaining(index):
                answer = index.related(wanted)
        return _composed(answer, params.max_tokens)


def _composed(
    answer: SearchAnswer,
    max_tokens: int,
    form: str = "text",
    next_cursor: Following = lambda _: None,
) -> Answer:
    """Cut an answer until both its text and its structured content fit."""

    def following_of(answer: SearchAnswer, is_brief: bool) -> dict[str, object]:
        return _following(answer, next_cursor(answer), is_brief=is_brief)

    has_all = not answer.truncated
    by_json, by_text = measured_json(following_of), measured_text(next_cursor, has_all=has_all)

    def longest(answer: SearchAnswer, hits: Sequence[Hit], *, is_brief: bool) -> int:
        size = by_json(answer, hits, is_brief=is_brief)
        if form == "text":
            return max(size, by_text(answer, hits, is_brief=is_brief))
        if form == "markdown":
            sent = replace(answer, hits=tuple(hits))
            cursor = next_cursor(sent)
            text = answer_text(sent, form, cursor, is_brief=is_brief, has_all=has_all)
            return max(size, size_of(text))
        return size

    told = replace(answer, notes=tuple(map(in_tools, answer.notes)))
    shown, is_brief = compose_measured(told, longest, max_tokens=max_tokens)
    cursor = next_cursor(shown)
    following = _following(shown, cursor, is_brief=is_brief)
    content = compact_json(shown, is_brief=is_brief, following=following)
    if form == "json":
        return Answer(content=content, text=compact_text(content))
    text = answer_text(shown, form, cursor, is_brief=is_brief, has_all=has_all)
    return Answer(content=content, text=text)


def _symbols_answer(found: FoundSymbols, name: str, meant: str) -> Answer:
    """Return symbols as an answer, with a note when there are none or more."""
    note = found.truncation_note("narrow by kind or Class.name, or raise limit and max_tokens")
    if not found.symbols:
        note = f"no symbol is named {name!r}{meant}; try match fuzzy, or search_code"
    notes = [*filter(None, [note]), *map(in_tools, found.notes)]
    content = {
        **found.as_json(),
        "symbols": [_compact_symbol(hit) for hit in found.symbols],
        **({"project": found.symbols[0].project} if found.symbols else {}),
        **({"notes": notes} if notes else {}),
    }
    lines = filter(None, [symbols_text(found.symbols), *notes])
    return Answer(content=content, text="\n".join(lines))


def _compact_symbol(hit: SymbolHit) -> dict[str, object]:
    """Return what is known of a symbol, with the beginning of its documentation."""
    shape: dict[str, object] = as_json(replace(hit, doc=_shortened(hit.doc)))
    del shape["project"]
    return {name: value for name, value in shape.items() if value != ""}
