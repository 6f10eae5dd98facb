"""``cairn map``: the most central definitions of a project."""

from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.reference_records import MapAnswer, MapRequest
from web.budget import Shown, json_within, text_within, whole_of, with_coverage
from web.cli.options import (
    argument_text,
    check_format,
    examples,
    json_option,
    markdown_option,
    max_tokens_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.code_map import compact_map, map_markdown, map_text, map_totals
from web.project_selection import index_of
from web.terminal import Style

_NOTHING = "no definitions that others refer to were found"


@click.command(
    epilog=examples(
        "cairn map                                    where to begin to read",
        'cairn map "how are sessions stored"          what matters for a query',
        "cairn map --path src/session.py              around a file or folder",
        "cairn map --format markdown --max-tokens 1000   for a prompt",
    )
)
@click.argument("query", required=False)
@request_options(MapRequest, without=("query",))
@markdown_option
@max_tokens_option
@project_option
@json_option
def command(
    query: str | None,
    *,
    output: str | None,
    project: str | None,
    max_tokens: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List the most central definitions: those that much of the code refers to.

    With QUERY, what answers it and what that uses comes first. References are counted by name;
    tests count little, and are not listed.
    """
    check_format(output, as_json=as_json)
    asked = argument_text(query) if query else None
    wanted = MapRequest(query=asked, **options)
    with Catalog(load_config()) as catalog:
        answer = index_of(catalog, project, by_name=True).code_map.draw(wanted)
    if as_json:
        print_json(answer if max_tokens is None else _within(answer, max_tokens))
    else:
        print_text(_text(answer, max_tokens, is_markdown=output == "markdown"))


def _within(answer: MapAnswer, max_tokens: int) -> dict[str, Any]:
    def content(shown: Shown) -> dict[str, Any]:
        return with_coverage(compact_map(answer, shown.items), answer, is_brief=shown.is_brief)

    return json_within(whole_of(answer), content, max_tokens)


def _text(answer: MapAnswer, max_tokens: int | None, *, is_markdown: bool) -> str:
    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        if is_markdown:
            blocks = map_markdown(answer, shown.items)
        else:
            blocks = [*filter(None, [map_text(answer, shown.items, style)])]
        blocks += [] if answer.symbols else [_NOTHING]
        return blocks, map_totals(answer, shown.items)

    return text_within(answer, whole_of(answer), write, max_tokens, is_markdown=is_markdown)
