"""``cairn related``: find code similar to the code at a place."""

import sys
from typing import Any

import click

from engine.budget import CODE_TOKENS, compose
from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.records import LinePlace
from engine.search_records import RelatedRequest, SearchAnswer
from web.answers import related_text
from web.cli.options import (
    examples,
    json_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.project_selection import absolute, index_of_file
from web.terminal import style_for


@click.command(
    epilog=examples(
        "cairn related src/session.py:42         code similar to that around line 42",
        "cairn related src/session.py:42-80      similar to all of these lines",
        "cairn related src/session.py:42 --limit 20 --no-snippets",
    )
)
@click.argument("place", metavar="PATH:LINE")
@request_options(RelatedRequest, without=("line_end",))
@project_option
@json_option
def command(place: str, *, project: str | None, as_json: bool, **options: Any) -> None:
    """Find code similar to the code at PATH:LINE or PATH:START-END."""
    parsed = LinePlace.parse(place)
    if parsed is None:
        raise InvalidInputError(
            f"{place!r} has no line number",
            hint="cairn related PATH:LINE, or PATH:START-END",
            field="place",
        )
    with Catalog(load_config()) as catalog:
        index = index_of_file(catalog, project, parsed.path)
        answer = index.related(
            RelatedRequest(
                path=absolute(parsed.path, index, from_root=project is not None),
                line_start=parsed.start,
                line_end=parsed.end,
                **options,
            )
        )
    if as_json:
        print_json(answer)
    else:
        style = style_for(sys.stdout)

        def write(answer: SearchAnswer, *, is_brief: bool) -> str:
            return related_text(answer, style, options["limit"], is_brief=is_brief)

        composed = compose(answer, write, code_tokens=CODE_TOKENS)
        print_text(write(composed.answer, is_brief=composed.is_brief))
