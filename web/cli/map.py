"""``cairn map``: the most central definitions of a project."""

import sys
from bisect import bisect_left
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.records import bytes_within
from engine.reference_records import MapAnswer, MapRequest
from web.cli.options import (
    argument_text,
    examples,
    json_option,
    max_tokens_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.code_map import compact_map, map_text, map_totals
from web.compact_json import compact_text
from web.project_selection import index_of
from web.terminal import Style, style_for
from web.text import closing_text, coverage_text, size_of

_MORE = "truncated; raise --limit or --max-tokens for more"


@click.command(
    epilog=examples(
        "cairn map                                    where to begin to read",
        'cairn map "how are sessions stored"          what matters for a query',
        "cairn map --path src/session.py              around a file or folder",
        "cairn map --max-tokens 1000                  for a prompt",
    )
)
@click.argument("query", required=False)
@request_options(MapRequest, without=("query",))
@max_tokens_option
@project_option
@json_option
def command(
    query: str | None,
    *,
    project: str | None,
    max_tokens: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List the most central definitions: those that much of the code refers to.

    With QUERY, what answers it and what that uses comes first. References are counted by name;
    tests count little, and are not listed.
    """
    asked = argument_text(query) if query else None
    wanted = MapRequest(query=asked, **options)
    with Catalog(load_config()) as catalog:
        answer = index_of(catalog, project, by_name=True).code_map.draw(wanted)
    if as_json:
        print_json(answer if max_tokens is None else _within(answer, max_tokens))
    else:
        print_text(_text(answer, max_tokens))


def _within(answer: MapAnswer, max_tokens: int) -> dict[str, Any]:
    def size(shown: int) -> int:
        return size_of(compact_text(compact_map(answer, shown))) + 1

    return compact_map(answer, _most(answer, size, max_tokens))


def _most(answer: MapAnswer, size: Any, max_tokens: int) -> int:
    """Return how many definitions fit a budget."""
    numbers = range(1, len(answer.symbols) + 1)
    return bisect_left(numbers, True, key=lambda shown: size(shown) > bytes_within(max_tokens))


def _text(answer: MapAnswer, max_tokens: int | None) -> str:
    def written(shown: int, style: Style) -> str:
        found = map_text(answer, shown, style) or "no definitions that others refer to were found"
        totals = [map_totals(answer, shown), coverage_text(answer.coverage)]
        totals += [_MORE] if answer.truncated or shown < len(answer.symbols) else []
        return f"{found}\n\n{closing_text(answer.notes, totals, style)}\n"

    def size(shown: int) -> int:
        return size_of(written(shown, Style()))

    shown = len(answer.symbols) if max_tokens is None else _most(answer, size, max_tokens)
    return written(shown, style_for(sys.stdout))
