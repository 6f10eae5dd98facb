"""The tools that find: by a question, by a name, and by a place.

How many tokens a text costs, and answers that keep to a budget of them.

The counter is the documented one: a token is 3 bytes of UTF-8, rounded up, which no tokenizer of
today exceeds for code.

Where an answer goes on: a cursor says how far a caller has read, and of which question.

Answers as agents read them: places first, then code as it stands in the file.
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
from engine.records import Hit, Mode, RelatedRequest, SearchAnswer, SearchRequest, SymbolHit
from engine.telemetry.metrics import asking
from web.answers import find_symbols
from web.mcp.tool import Answer, Caller, Desk, Given, Tool, list_of, part, record
from web.schemas import answer_json, as_json
from web.terminal import printable, printable_block
from web.text import search_markdown
from web.wording import count, notes_on, percent

_BYTES = 3  # a token
_FIRST_LINES = 5  # of the best hit, which come before other places

#: Writes an answer as the caller wants to read it.
Writer = Callable[[SearchAnswer], str]


def tokens_of(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


def within(answer: SearchAnswer, max_tokens: int | None, write: Writer) -> SearchAnswer:
    """Cut an answer until its text fits: code first, from the last hit on, then whole hits.

    The first lines of the best hit stay longer than other places do: they say whether the answer
    is one.

    Args:
        answer: The answer with all its code.
        max_tokens: The budget; None means any.
        write: Makes the text that is measured.

    Raises:
        InvalidInputError: Not even the first hit fits, without its code.
    """
    if max_tokens is None or tokens_of(write(answer)) <= max_tokens:
        return answer
    limit = max_tokens, write
    bare = replace(answer, truncated=True, hits=tuple(_without_code(hit) for hit in answer.hits))
    first = replace(bare, hits=bare.hits[:1])
    least = tokens_of(write(first))
    if least > max_tokens:
        raise _too_small(max_tokens, least, has_hits=bool(first.hits))
    if not first.hits:
        return first
    begun = _with_lines(answer.hits[0], _FIRST_LINES)
    begun = _with_lines(begun, _most_lines(first, list(first.hits), 0, begun, limit))
    places = replace(bare, hits=(begun, *bare.hits[1:]))
    while len(places.hits) > 1 and tokens_of(write(places)) > max_tokens:
        places = replace(places, hits=places.hits[:-1])
    hits = list(places.hits)
    for number, whole in enumerate(answer.hits[: len(hits)]):
        lines = _most_lines(places, hits, number, whole, limit)
        hits[number] = _with_lines(whole, lines)
    return replace(places, hits=tuple(hits))


def _too_small(max_tokens: int, least: int, *, has_hits: bool) -> InvalidInputError:
    what = "the first hit without its code" if has_hits else "an answer without hits"
    return InvalidInputError(
        f"max_tokens is {max_tokens}, and {what} takes {least}",
        hint=f"give {least} or more, or leave max_tokens out",
        field="max_tokens",
        min_allowed=least,
    )


def _most_lines(
    answer: SearchAnswer, hits: list[Hit], number: int, whole: Hit, limit: tuple[int, Writer]
) -> int:
    """Find how many lines of a hit's code still fit."""
    max_tokens, write = limit
    low, high = 0, whole.snippet.count("\n") + 1 if whole.snippet else 0
    while low < high:
        middle = (low + high + 1) // 2
        tried = [*hits]
        tried[number] = _with_lines(whole, middle)
        if tokens_of(write(replace(answer, hits=tuple(tried)))) <= max_tokens:
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


_MARK_CHARS = 16
_MOST_DIGITS = 9


def cursor_of(question: Mapping[str, object], offset: int) -> str:
    """Give the cursor of what follows.

    Args:
        question: All that the answer depends on.
        offset: How many hits were given so far.
    """
    return base64.urlsafe_b64encode(f"{offset}.{_mark_of(question)}".encode()).decode()


def offset_of(question: Mapping[str, object], cursor: str | None) -> int:
    """Give how many hits to leave out; 0 without a cursor.

    Raises:
        InvalidInputError: No answer of this question gave that cursor.
    """
    if cursor is None:
        return 0
    try:
        digits, _, mark = base64.urlsafe_b64decode(cursor).decode("ascii").partition(".")
    except (binascii.Error, ValueError):
        digits, mark = "", ""
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    if not is_number or mark != _mark_of(question):
        raise InvalidInputError(
            "the cursor does not belong to this question",
            hint="repeat query and filters as in the answer that gave it, or start without one",
            field="cursor",
        )
    return int(digits)


def _mark_of(question: Mapping[str, object]) -> str:
    text = json.dumps(question, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:_MARK_CHARS]


_NOTHING = "nothing found; try other words, parts of a name, or fewer filters"
_NO_MORE = "no more hits"
_DOC_CHARS = 200  # of a symbol's comment


def answer_text(answer: SearchAnswer, form: str, next_cursor: str | None) -> str:
    """Write an answer.

    Args:
        answer: What was found.
        form: ``text``, ``json`` or ``markdown``.
        next_cursor: What to ask for more with.
    """
    if form == "json":
        shape = {**answer_json(answer), "next_cursor": next_cursor}
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
        parts.append("the index is not complete: index_repository completes it")
    if answer.truncated and not next_cursor:
        parts.append("truncated")
    if next_cursor:
        parts.append(f"more with cursor {next_cursor}")
    return ", ".join(parts)


def symbols_text(hits: Sequence[SymbolHit], nothing: str) -> str:
    """Write symbols, one a line."""
    lines = [
        f"{printable(hit.path)}:{hit.line_start}-{hit.line_end} {hit.kind} "
        f"{printable(hit.qualified_name)}"
        + (f"  {printable(hit.signature)}" if hit.signature else "")
        for hit in hits
    ]
    return "\n".join(lines) or nothing


def in_short(text: str) -> str:
    """Give the beginning of a comment."""
    return text if len(text) <= _DOC_CHARS else text[: _DOC_CHARS - 1] + "…"


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
