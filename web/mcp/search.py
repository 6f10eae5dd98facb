"""The search tools: by a query, by the name of a symbol, and by a place in the code.

An answer names places first, then quotes code exactly as it is in the file. With ``max_tokens`` it
is cut until its whole text fits, counted by ``engine.records.tokens_of``. A cursor contains the
number of hits already returned and a hash of the query, so that it is rejected for another query.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.cross_project import names_projects
from engine.errors import InvalidInputError
from engine.records import (
    MAX_HITS,
    Hit,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
    SymbolRequest,
    tokens_of,
)
from engine.telemetry.metrics import measured_search
from web.mcp.tool import (
    Answer,
    Caller,
    Parameters,
    Tool,
    ToolContext,
    fields_in,
    list_of,
    object_of,
    record,
)
from web.operations import find_symbols
from web.parameters import request_from, with_parameters_of
from web.schemas import as_json
from web.terminal import printable, printable_block
from web.text import notes_on, search_markdown
from web.wording import count, percent

_FIRST_LINES = 5  # of the best hit, which take precedence over other places

#: Formats an answer as the caller wants to read it.
Renderer = Callable[[SearchAnswer], str]
_FINGERPRINT_CHARS = 16
_MAX_DIGITS = 9
_WIDEST_MS = 99_999.999_999  # measured instead of the time, so that equal answers have equal sizes
_NOTHING = "nothing found; try other words, parts of a name, or fewer filters"
_NO_MORE = "no more hits"
_DOC_CHARS = 200  # of a symbol's documentation


def _tokens_in(text: str) -> int:
    return tokens_of(len(text.encode("utf-8", "replace")))


def fit_to_budget(answer: SearchAnswer, max_tokens: int | None, write: Renderer) -> SearchAnswer:
    """Cut an answer until its text fits: first code, beginning with the last hit, then whole hits.

    The first lines of the best hit are kept longer than other places, because they show whether
    the answer is relevant.

    Args:
        answer: The answer with all its code.
        max_tokens: The budget, or None for no limit.
        write: Formats the text that is measured.

    Raises:
        InvalidInputError: Not even the first hit fits, without its code.
    """
    if max_tokens is None:
        return answer
    fitted = _fitted(replace(answer, took_ms=_WIDEST_MS), max_tokens, write)
    return replace(fitted, took_ms=answer.took_ms)


def _fitted(answer: SearchAnswer, max_tokens: int, write: Renderer) -> SearchAnswer:
    if _tokens_in(write(answer)) <= max_tokens:
        return answer
    limit = max_tokens, write
    bare = replace(answer, truncated=True, hits=tuple(_without_code(hit) for hit in answer.hits))
    first = replace(bare, hits=bare.hits[:1])
    least = _tokens_in(write(first))
    if least > max_tokens:
        raise _too_small(max_tokens, least, has_hits=bool(first.hits))
    if not first.hits:
        return first
    begun = _with_lines(answer.hits[0], _FIRST_LINES)
    begun = _with_lines(begun, _most_lines(first, list(first.hits), 0, begun, limit))
    places = replace(bare, hits=(begun, *bare.hits[1:]))
    while len(places.hits) > 1 and _tokens_in(write(places)) > max_tokens:
        places = replace(places, hits=places.hits[:-1])
    hits = list(places.hits)
    for number, whole in enumerate(answer.hits[: len(hits)]):
        lines = _most_lines(places, hits, number, whole, limit)
        hits[number] = _with_lines(whole, lines)
    return replace(places, hits=tuple(hits))


def _too_small(max_tokens: int, least: int, *, has_hits: bool) -> InvalidInputError:
    what = "the first hit without its code" if has_hits else "an answer without hits"
    return InvalidInputError(
        f"max_tokens is {max_tokens}, but {what} takes {least}",
        hint=f"set max_tokens to {least} or more, or omit it",
        field="max_tokens",
        min_allowed=least,
    )


def _most_lines(
    answer: SearchAnswer, hits: list[Hit], number: int, whole: Hit, limit: tuple[int, Renderer]
) -> int:
    """Return how many lines of a hit's code still fit, by binary search."""
    max_tokens, write = limit
    low, high = 0, whole.snippet.count("\n") + 1 if whole.snippet else 0
    while low < high:
        middle = (low + high + 1) // 2
        tried = [*hits]
        tried[number] = _with_lines(whole, middle)
        if _tokens_in(write(replace(answer, hits=tuple(tried)))) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _without_code(hit: Hit) -> Hit:
    return _with_lines(hit, 0)


def _with_lines(hit: Hit, number: int) -> Hit:
    if number == 0:
        return replace(hit, snippet="", snippet_line=None)
    return replace(hit, snippet="\n".join(hit.snippet.split("\n")[:number]))


def cursor_of(question: Mapping[str, object], offset: int) -> str:
    """Return the cursor of the next page.

    Args:
        question: Everything that the order of hits depends on.
        offset: The number of hits returned so far.
    """
    return base64.urlsafe_b64encode(f"{offset}.{_fingerprint_of(question)}".encode()).decode()


def offset_of(question: Mapping[str, object], cursor: str | None) -> int:
    """Return how many hits to skip; 0 without a cursor.

    Raises:
        InvalidInputError: The cursor is not from an answer to this query.
    """
    if cursor is None:
        return 0
    try:
        digits, _, mark = base64.urlsafe_b64decode(cursor).decode("ascii").partition(".")
    except (binascii.Error, ValueError):
        digits, mark = "", ""
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    if not is_number or mark != _fingerprint_of(question):
        raise InvalidInputError(
            "the cursor does not belong to this query",
            hint="repeat the query and filters of the call that returned it, or omit it",
            field="cursor",
        )
    return int(digits)


def _fingerprint_of(question: Mapping[str, object]) -> str:
    text = json.dumps(question, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_FINGERPRINT_CHARS]


def answer_text(answer: SearchAnswer, form: str, next_cursor: str | None) -> str:
    """Format an answer.

    Args:
        answer: The answer.
        form: ``text``, ``json`` or ``markdown``.
        next_cursor: The cursor of the next page, if there is one.
    """
    if form == "json":
        shape = {**as_json(answer), "next_cursor": next_cursor}
        return json.dumps(shape, ensure_ascii=False, separators=(",", ":"))
    if form == "markdown":
        return search_markdown(answer, _totals(answer, next_cursor))
    several = len({hit.project for hit in answer.hits}) > 1
    nothing = _NO_MORE if answer.total else _NOTHING
    blocks = [_hit_text(hit, with_project=several) for hit in answer.hits] or [nothing]
    blocks += [f"note: {printable(note)}" for note in notes_on(answer)]
    blocks += [
        f"failed: {printable(each.project)}: {printable(each.message)}" for each in answer.errors
    ]
    blocks.append(_totals(answer, next_cursor))
    return "\n\n".join(blocks)


def _hit_text(hit: Hit, *, with_project: bool) -> str:
    path = f"{hit.project}/{hit.path}" if with_project else hit.path
    what = f" {hit.kind or ''} {printable(hit.symbol)}" if hit.symbol else ""
    stale = " (changed since it was indexed)" if hit.fresh is False else ""
    lines = [f"{printable(path)}:{hit.line_start}-{hit.line_end}{what}{stale}"]
    if hit.snippet:
        lines.append(printable_block(hit.snippet.rstrip("\r\n")))
    elif hit.signature:
        lines.append(printable(hit.signature))
    return "\n".join(lines)


def _totals(answer: SearchAnswer, next_cursor: str | None) -> str:
    found = f"{count(len(answer.hits), 'hit')} of {answer.total:,}"
    coverage = answer.coverage
    parts = [found + (" or more" if answer.truncated else "")]
    parts.append(f"coverage {percent(coverage.indexed)} of {count(coverage.files, 'file')}")
    if 0 < coverage.embedded < 1:
        parts.append(f"{percent(coverage.embedded)} with vectors")
    if not coverage.complete:
        parts.append("the index is incomplete: index_repository completes it")
    if answer.truncated and not next_cursor:
        parts.append("truncated")
    if next_cursor:
        parts.append(f"more with cursor {next_cursor}")
    return ", ".join(parts)


def symbols_text(hits: Sequence[SymbolHit], nothing: str) -> str:
    """Format symbols, one per line."""
    lines = [
        f"{printable(hit.path)}:{hit.line_start}-{hit.line_end} {hit.kind} "
        f"{printable(hit.qualified_name)}"
        + (f"  {printable(hit.signature)}" if hit.signature else "")
        for hit in hits
    ]
    return "\n".join(lines) or nothing


def _shortened(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _DOC_CHARS else text[: _DOC_CHARS - 1] + "…"


Project = Annotated[
    str,
    Meta(min_length=1, description="folder or name; default: the only project"),
]


@with_parameters_of(SearchRequest, without=("context", "explain"), for_agents=True)
class SearchCode(Parameters, kw_only=True, frozen=True):
    """Parameters of ``search_code``; its ``max_tokens`` is a bound on the whole answer."""

    project_path: Project | None = None
    format: Literal["text", "json", "markdown"] = "text"
    cursor: Annotated[str, Meta(description="next_cursor of the previous answer")] | None = None


@with_parameters_of(SymbolRequest, for_agents=True)
class FindSymbol(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_symbol``."""

    project_path: Project | None = None


@with_parameters_of(RelatedRequest, without=("line_end", "context"), for_agents=True)
class FindRelated(Parameters, kw_only=True, frozen=True):
    """Parameters of ``find_related``."""

    project_path: Project | None = None


_FOUND = fields_in(SearchAnswer)
_HITS = list_of(object_of(**fields_in(Hit)))
_SYMBOLS = list_of(object_of(**fields_in(SymbolHit)))


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the search tools."""
    search = _Search(context)
    return (
        Tool(
            name="search_code",
            title="Search code",
            description=(
                "Find code and documents by what they do, by words, names or patterns; try it "
                "first when you do not know the place. The query can contain filters "
                '(lang: path: kind: sym: branch: project: tag: case:), "exact phrase" and '
                "/regex/; a leading - negates. Filters alone list all matches: kind:enum "
                "path:src/. Mode symbol finds definitions, regex reads the query as RE2. Hits "
                "have path, lines, code, and fresh=false if the file has changed; missing lists "
                "names found nowhere."
            ),
            parameters=SearchCode,
            output_schema=record(**{**_FOUND, "hits": _HITS}, next_cursor="text|null"),
            run=search.search_code,
            read_only=True,
        ),
        Tool(
            name="find_symbol",
            title="Find a definition",
            description=(
                "Find where a function, class or other symbol is defined, when you know its name; "
                "match fuzzy accepts parts of names and typos."
            ),
            parameters=FindSymbol,
            output_schema=record(symbols=_SYMBOLS, total="integer", truncated="boolean"),
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

    def search_code(self, params: SearchCode, _caller: Caller) -> Answer:
        request = request_from(SearchRequest, params)
        question = _question_of(params)
        offset = offset_of(question, params.cursor)
        most = min(offset + request.limit, MAX_HITS)
        found = self._search(params, replace(request, limit=most, max_tokens=None))
        page = replace(found, hits=found.hits[offset:])

        def next_cursor(answer: SearchAnswer) -> str | None:
            reached = offset + len(answer.hits)
            is_more = found.truncated or reached < len(found.hits)
            if not answer.hits or reached >= MAX_HITS or not is_more:
                return None
            return cursor_of(question, reached)

        def text_of(answer: SearchAnswer) -> str:
            return answer_text(answer, params.format, next_cursor(answer))

        shown = fit_to_budget(page, request.max_tokens, text_of)
        content = {**as_json(shown), "next_cursor": next_cursor(shown)}
        return Answer(content=content, text=text_of(shown))

    def _search(self, params: SearchCode, request: SearchRequest) -> SearchAnswer:
        catalog = self._context.catalog
        with measured_search(request.mode):
            if params.project_path is None and names_projects(request):
                return catalog.search(catalog.roots_or_ids(), request)
            return catalog.search([self._context.projects.index(params.project_path).root], request)

    def find_symbol(self, params: FindSymbol, _caller: Caller) -> Answer:
        wanted = request_from(SymbolRequest, params)
        with measured_search("symbols"):
            found = find_symbols(self._context.projects.index(params.project_path), wanted)
        nothing = f"no symbol is named {wanted.name!r}; try match fuzzy, or search_code"
        more = found.truncation_note("narrow by kind or Class.name, or raise limit")
        return Answer(
            content={**found.as_json(), "symbols": list(map(_with_short_doc, found.symbols))},
            text="\n".join(filter(None, [symbols_text(found.symbols, nothing), more])),
        )

    def find_related(self, params: FindRelated, _caller: Caller) -> Answer:
        wanted = request_from(RelatedRequest, params)
        with measured_search("related"):
            answer = self._context.projects.index(params.project_path).related(wanted)
        return Answer(content=as_json(answer), text=answer_text(answer, "text", None))


def _question_of(params: SearchCode) -> Mapping[str, object]:
    """Return everything that the order of hits depends on."""
    question: dict[str, object] = msgspec.to_builtins(params)
    for name in ("limit", "max_tokens", "format", "cursor"):
        del question[name]
    return question


def _with_short_doc(hit: SymbolHit) -> SymbolHit:
    return replace(hit, doc=_shortened(hit.doc))
