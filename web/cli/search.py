"""``cairn search``: one query, or a batch of them, in one project or several."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError, InvalidInputError
from engine.records import Mode, SearchAnswer, SearchRequest
from web.cli.options import examples, given_text, json_option, print_json, print_text
from web.errors import OK, outcome_of
from web.project_selection import searcher_of
from web.terminal import printable, style_for
from web.text import search_markdown, search_text

Searcher = Callable[[SearchRequest], SearchAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options as parsed by click."""

    project: tuple[str, ...]
    mode: str
    kind: str | None
    path: str | None
    branch: str | None
    language: str | None
    limit: int
    max_tokens: int | None
    output: str | None
    as_json: bool
    batch: str | None
    no_snippets: bool
    explain: bool

    @property
    def has_filters(self) -> bool:
        """Whether there are filters, which list matches without a query."""
        return any((self.kind, self.path, self.language))

    def request(self, query: str) -> SearchRequest:
        """Return the request for one query."""
        return SearchRequest(
            query=given_text(query),
            mode=Mode(self.mode),
            language=self.language,
            path=self.path,
            kind=self.kind,
            branch=self.branch,
            limit=self.limit,
            max_tokens=self.max_tokens,
            context=not self.no_snippets,
            explain=self.explain,
        )


@click.command(
    epilog=examples(
        'cairn search "where is the session refreshed"',
        "cairn search getUserById --mode symbol",
        "cairn search '/TODO|FIXME/ lang:go'           a pattern, matched line by line",
        "cairn search 'retry -/test|mock/'             words rank, patterns filter",
        "cairn search --mode regex 'func \\w+Handler'  the whole query is one pattern",
        "cairn search --mode regex '\"a[0] = {\"'       this text literally",
        "cairn search 'lang:python path:src/ -path:tests \"exact words\"'",
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
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    default=Mode.HYBRID.value,
    show_default=True,
    help="How to search.",
)
@click.option("--kind", help="Only symbols of this kind: function, class, type, …")
@click.option("--path", metavar="PATH", help="Only paths with this prefix, or matching this glob.")
@click.option("--branch", help="This branch as it was last indexed (default: the one checked out).")
@click.option("--language", help="Only files in this language.")
@click.option(
    "--limit", type=int, default=10, show_default=True, help="Maximum number of hits, 1 to 100."
)
@click.option("--max-tokens", type=int, help="Cut the answer to about this many tokens.")
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
@click.option("--no-snippets", is_flag=True, help="Show places only, without code.")
@click.option("--explain", is_flag=True, help="Show how each hit's score was calculated.")
def command(query: str | None, **options: Any) -> int:
    r"""Search for QUERY: words, a name, "an exact phrase" or a /pattern/.

    A pattern is an RE2 regular expression that is matched line by line; \n or (?s) lets it cross
    lines. With --mode regex the whole QUERY, apart from its filters, is the pattern. Case is
    ignored unless the pattern has a capital letter.

    Filters in the query narrow it: lang: path: kind: sym: branch: project: tag: case:. A leading
    minus negates one. Filters alone list everything they match: kind:enum path:src/
    """
    chosen = _Options(**options)
    output = _output_of(query, chosen)
    with Catalog(load_config()) as catalog:
        search = searcher_of(catalog, chosen.project)
        if chosen.batch is not None:
            return _answer_batch(search, chosen, chosen.batch)
        request = chosen.request(query or "")
        answer = search(request)
    _print_answer(answer, request, output)
    return OK


def _output_of(query: str | None, options: _Options) -> str:
    """Check that the options are compatible, and return the format.

    Raises:
        InvalidInputError: They are incompatible, or there is nothing to search for.
    """
    if options.as_json and options.output not in (None, "json"):
        raise InvalidInputError(
            f"--json cannot be used with --format {options.output}", field="format"
        )
    if options.batch is None:
        if query is None and not options.has_filters:
            raise InvalidInputError(
                "no query given", hint="cairn search QUERY, or --batch FILE", field="query"
            )
        return "json" if options.as_json else options.output or "text"
    if query is not None:
        raise InvalidInputError("a query and --batch cannot be used together", field="batch")
    if options.output not in (None, "json"):
        raise InvalidInputError(
            f"--batch cannot be used with --format {options.output}", field="format"
        )
    return "json"


def _print_answer(answer: SearchAnswer, request: SearchRequest, output: str) -> None:
    if output == "json":
        _print_json(answer)
        return
    for error in answer.errors:
        sys.stderr.write(f"error: {printable(error.project)}: {printable(error.message)}\n")
    if output == "markdown":
        print_text(search_markdown(answer))
    else:
        print_text(search_text(answer, request, style_for(sys.stdout)))


def _answer_batch(search: Searcher, options: _Options, file: str) -> int:
    """Answer each line as a query, print one object per line, and return the highest exit code."""
    worst = OK
    for number, query in enumerate(_lines_of(file), 1):
        try:
            answer = search(options.request(query))
        except EngineError as error:
            shape = error.as_json()
            shape["details"] = {**error.details, "query": query, "line": number}
            print_json(shape)
            worst = max(worst, outcome_of(error).exit_code)
        else:
            _print_json(answer)
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


def _print_json(answer: SearchAnswer) -> None:
    from web.schemas import answer_json  # msgspec: text does without

    print_json(answer_json(answer))
