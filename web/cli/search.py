"""``cairn search``: one query, or a batch of them, in one project or several."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import click

from engine.budget import CODE_TOKENS, compose, with_further_hits, with_more_files
from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError, InvalidInputError
from engine.search_records import SearchAnswer, SearchRequest
from web.answers import how_to_see_more, search_markdown, search_text, totals_line
from web.cli.options import (
    argument_text,
    examples,
    json_option,
    print_json,
    print_text,
    request_options,
)
from web.errors import OK, outcome_of
from web.project_selection import searcher_of
from web.terminal import printable, style_for

Searcher = Callable[[SearchRequest], SearchAnswer]


@click.command(
    epilog=examples(
        'cairn search "where is the session refreshed"',
        "cairn search getUserById --mode symbol",
        "cairn search '/TODO|FIXME/ lang:go'           a pattern, matched line by line",
        "cairn search 'retry -/test|mock/'             words rank, patterns filter",
        "cairn search --mode regex 'func \\w+Handler'  the whole query is one pattern",
        "cairn search --mode regex '\"a[0] = {\"'       this text literally",
        "cairn search 'lang:python path:src/ -path:tests \"exact words\"'",
        "cairn search 'retry calls:open_session'       only code that calls it",
        "cairn search --kind enum --path src/          all of them, without a query",
        "cairn search retry --limit 50 --no-snippets   places only",
        "cairn search -- '-path:tests parse'           a query that begins with -",
        "cairn search parser --project ~/a --project ~/b --json",
        "cairn search retry --format markdown --max-tokens 4000",
        "cairn search retry --explain --no-snippets    why this order",
        "cairn search --batch queries.txt --json       one query per line, - is standard input",
    )
)
@click.argument("query", required=False)
@click.option(
    "--project",
    metavar="PATH",
    multiple=True,
    help="A project's root, a folder in it, or its name (repeatable; default: the one you are in).",
)
@request_options(SearchRequest)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "markdown"]),
    help="text (default), json for programs, markdown for prompts.",
)
@json_option
@click.option(
    "--batch", metavar="FILE", help="Read one query per line, print one JSON object per line."
)
def command(
    query: str | None,
    *,
    project: tuple[str, ...],
    output: str | None,
    as_json: bool,
    batch: str | None,
    **options: Any,
) -> int:
    r"""Search for QUERY: words, a name, "an exact phrase" or a /pattern/.

    A pattern is an RE2 regular expression that is matched line by line; \n or (?s) lets it cross
    lines. With --mode regex the whole QUERY, apart from its filters, is the pattern. Case is
    ignored unless the pattern has a capital letter.

    Filters in the query narrow it: lang: path: kind: sym: calls: uses: extends: imports: is:
    branch: project: context: tag: author: case:. A leading minus negates one. Filters alone list
    everything they match: kind:enum path:src/. With type:commit it finds commits, as cairn log.
    """
    output = _output_of(output, as_json=as_json, batch=batch)
    request = SearchRequest(query=argument_text(query or ""), **options)
    if query is not None and batch is not None:
        raise InvalidInputError("a query and --batch cannot be used together", field="batch")
    if query is None and batch is None and not request.has_filters:
        raise InvalidInputError(
            "no query given", hint="cairn search QUERY, or --batch FILE", field="query"
        )
    with Catalog(load_config()) as catalog:
        whole = searcher_of(catalog, project)

        def search(request: SearchRequest) -> SearchAnswer:
            if output == "json" and request.max_tokens is None:
                return whole(request)
            return with_more_files(whole(with_further_hits(request)), request.limit)

        if batch is not None:
            return _answer_batch(search, request, batch)
        answer = search(request)
    _print_answer(answer, request, output)
    return OK


def _output_of(output: str | None, *, as_json: bool, batch: str | None) -> str:
    """Return the format.

    Raises:
        InvalidInputError: The options are incompatible.
    """
    for option, is_given in (("--json", as_json), ("--batch", batch is not None)):
        if is_given and output not in (None, "json"):
            raise InvalidInputError(
                f"{option} cannot be used with --format {output}", field="format"
            )
    return "json" if as_json or batch is not None else output or "text"


def _print_answer(answer: SearchAnswer, request: SearchRequest, output: str) -> None:
    if output == "json":
        _print_json(answer, request)
        return
    for error in answer.errors:
        sys.stderr.write(f"error: {printable(error.project)}: {printable(error.message)}\n")

    def write(answer: SearchAnswer, *, is_brief: bool) -> str:
        if output == "markdown":
            has_budget = request.max_tokens is not None
            more = how_to_see_more(answer, request.limit, has_budget=has_budget)
            totals = totals_line(answer, more, is_brief=is_brief)
            return search_markdown(answer, totals, is_brief=is_brief)
        return search_text(answer, request, style_for(sys.stdout), is_brief=is_brief)

    most = None if request.max_tokens else CODE_TOKENS
    composed = compose(answer, write, max_tokens=request.max_tokens, code_tokens=most)
    print_text(write(composed.answer, is_brief=composed.is_brief))


def _print_json(answer: SearchAnswer, request: SearchRequest) -> None:
    if request.max_tokens is None:
        print_json(answer)
        return
    from web.compact_json import compact_json
    from web.schemas import json_line

    def write(answer: SearchAnswer, *, is_brief: bool) -> str:
        return json_line(compact_json(answer, is_brief=is_brief), sys.stdout)

    composed = compose(answer, write, max_tokens=request.max_tokens)
    print_json(compact_json(composed.answer, is_brief=composed.is_brief))


def _answer_batch(search: Searcher, request: SearchRequest, file: str) -> int:
    """Answer each line as a query, print one object per line, and return the highest exit code."""
    worst = OK
    for number, query in enumerate(_lines_of(file), 1):
        try:
            answer = search(replace(request, query=argument_text(query)))
        except EngineError as error:
            shape = error.as_json()
            hint = {"hint": error.hint} if error.hint else {}
            shape["details"] = {**error.details, **hint, "query": query, "line": number}
            print_json(shape)
            worst = max(worst, outcome_of(error).exit_code)
        else:
            _print_json(answer, request)
    return worst


def _lines_of(file: str) -> Iterator[str]:
    """Yield queries as they arrive; bytes that are not UTF-8 become U+FFFD.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    try:
        with click.open_file(file, "rb") as lines:
            for number, line in enumerate(lines):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                yield text.removeprefix("\ufeff") if number == 0 else text
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {file}: {error.strerror or error}", field="batch"
        ) from error
