"""``cairn outline``: the symbols of a file with their signatures, or the files of a folder."""

import sys
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.records import bytes_within
from web.cli.options import (
    check_format,
    examples,
    json_option,
    markdown_option,
    max_tokens_option,
    print_json,
    print_text,
    project_option,
)
from web.outline import Outline, outline_json, outline_lines, outline_markdown, outline_of, within
from web.project_selection import absolute, index_of_file
from web.terminal import Style, style_for
from web.text import compact_text, size_of

_MORE = "truncated; raise --max-tokens for more"


@click.command(
    epilog=examples(
        "cairn outline src/app.py",
        "cairn outline src/                                   the files of a folder",
        "cairn outline src/app.py --format markdown --max-tokens 500",
    )
)
@click.argument("path", default=".")
@markdown_option
@max_tokens_option
@project_option
@json_option
def command(
    path: str, *, output: str | None, max_tokens: int | None, project: str | None, as_json: bool
) -> None:
    """List the symbols of a file with their lines and signatures, or the files of a folder."""
    check_format(output, as_json=as_json)
    with Catalog(load_config()) as catalog:
        index = index_of_file(catalog, project, path)
        place = absolute(path, index, from_root=project is not None)
        outline = outline_of(index, place)._replace(path=path)
    room = None if max_tokens is None else bytes_within(max_tokens)
    if as_json:
        print_json(_json(outline, room))
    else:
        print_text(_text(outline, output == "markdown", room))


def _json(outline: Outline, room: int | None) -> dict[str, Any]:
    def write(shown: int, is_brief: bool) -> dict[str, Any]:
        return outline_json(outline, shown, is_brief=is_brief)

    def size(content: dict[str, Any]) -> int:
        return size_of(compact_text(content)) + 1

    return within(outline.total, write, size, room)


def _text(outline: Outline, is_markdown: bool, room: int | None) -> str:
    def written(shown: int, is_brief: bool, style: Style) -> str:
        if is_markdown:
            lines = outline_markdown(outline, shown, is_brief=is_brief)
        else:
            lines = outline_lines(outline, shown, style, is_brief=is_brief)
        totals = outline.totals(is_brief=is_brief)
        totals = totals if shown == outline.total else f"{shown:,} of {totals}"
        more = f", {_MORE}" if shown < outline.total or is_brief else ""
        return "\n".join([*lines, *([""] if lines else []), style.dim(totals + more)]) + "\n"

    def write(shown: int, is_brief: bool) -> tuple[int, bool]:
        return shown, is_brief

    def size(choice: tuple[int, bool]) -> int:
        return size_of(written(*choice, Style()))

    return written(*within(outline.total, write, size, room), style_for(sys.stdout))
