"""``cairn blame``: the last commit of each line of a file."""

import sys
from dataclasses import replace
from itertools import islice

import click

from engine.browse_records import FileContent
from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import FileNotIndexedError, InvalidInputError
from engine.history_records import Blame, BlameRun, LineOrigin
from engine.humanize import count
from engine.project import Project
from engine.records import LinePlace
from web.cli.options import examples, json_option, print_json, print_text, project_option
from web.history import short_name
from web.project_selection import absolute, index_of_file
from web.terminal import Style, printable, printable_block, shortened, style_for, width_of
from web.text import closing_text

_AUTHOR_WIDTH = 16
_WITHOUT_COMMIT = {LineOrigin.UNCOMMITTED: "not committed", LineOrigin.OLDER: "older"}


@click.command(
    epilog=examples(
        "cairn blame src/session.py",
        "cairn blame src/session.py:40-52              only these lines",
        "cairn blame src/session.py --json",
    )
)
@click.argument("path")
@click.option("--lines", metavar="A-B", help="Only these lines: A-B or A:B, or one number.")
@project_option
@json_option
def command(path: str, *, lines: str | None, project: str | None, as_json: bool) -> None:
    """Show which commit changed each line of a file last, as the file was indexed.

    PATH may end in lines, as in PATH:40-52. Renames are followed. cairn log --lines
    lists all commits that touched some lines.
    """
    with Catalog(load_config()) as catalog:
        index = index_of_file(catalog, project, path)
        content, place = _file_at(path, index, from_root=project is not None)
        if lines is not None:
            place = _parsed(lines, content.path)
        found = index.history.blame(index.browse.stored_path(content.path), content)
    if place is not None:
        found = _within(found, place)
    if as_json:
        print_json(found)
    else:
        print_text(_text(found, content.text, style_for(sys.stdout)))


def _file_at(path: str, index: Project, *, from_root: bool) -> tuple[FileContent, LinePlace | None]:
    """Return a file, and the lines that its path ends in unless a file has that very name."""
    try:
        return index.browse.content(absolute(path, index, from_root=from_root)), None
    except FileNotIndexedError:
        place = LinePlace.parse(path)
        if place is None:
            raise
    return index.browse.content(absolute(place.path, index, from_root=from_root)), place


def _parsed(lines: str, path: str) -> LinePlace:
    """Read ``A-B``, ``A:B`` or ``A``.

    Raises:
        InvalidInputError: It has another form.
    """
    place = LinePlace.parse_lines(path, lines.strip().replace(":", "-"))
    if place is None:
        raise InvalidInputError(f"{lines!r} names no lines", hint="A-B, or A", field="lines")
    return place


def _within(found: Blame, place: LinePlace) -> Blame:
    """Return the runs of some lines.

    Raises:
        InvalidInputError: The file has no such lines.
    """
    start, end = place.start, place.last
    if not place.is_in_order:
        raise InvalidInputError(f"{start}-{end} names no lines", hint="A-B, or A", field="lines")
    if end > found.lines:
        raise InvalidInputError(
            f"{found.path} has {count(found.lines, 'line')}, not {end:,}", field="lines"
        )
    runs = [
        replace(run, line_start=max(start, run.line_start), line_end=min(end, run.line_end))
        for run in found.runs
        if run.line_start <= end and start <= run.line_end
    ]
    return replace(found, runs=tuple(runs))


def _text(found: Blame, text: str, style: Style) -> str:
    """Return the lines, each with its commit."""
    digits = len(str(found.runs[-1].line_end)) if found.runs else 0
    heads = [_head_of(run) for run in found.runs]
    width = max(map(width_of, heads), default=0)
    shown = []
    texts = text.split("\n")
    for run, head in zip(found.runs, heads, strict=True):
        padded = style.place(head) + " " * (width - width_of(head))
        for number, line in enumerate(
            islice(texts, run.line_start - 1, run.line_end), run.line_start
        ):
            code = printable_block(line.removesuffix("\r"))
            shown.append(f"{padded}  {style.dim(f'{number:>{digits}}')}  {code}")
    shown.append("")
    shown.append(closing_text(found.notes, [count(_number_of_lines(found), "line")], style))
    return "\n".join(shown) + "\n"


def _head_of(run: BlameRun) -> str:
    if run.commit is None:
        return _WITHOUT_COMMIT.get(run.origin, "")
    author = shortened(printable(run.commit.author), _AUTHOR_WIDTH)
    return f"{short_name(run.commit.commit)}  {run.commit.date[:10]}  {author}"


def _number_of_lines(found: Blame) -> int:
    return sum(run.line_end - run.line_start + 1 for run in found.runs)
