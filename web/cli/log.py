"""``cairn log``: the commits that answer a question, or the newest ones."""

import os
import re
import sys
from dataclasses import replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.history_records import HistoryRequest
from engine.project import Project
from web.cli.options import (
    argument_text,
    check_format,
    examples,
    json_option,
    markdown_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.history import history_markdown, history_text
from web.project_selection import absolute, index_of
from web.terminal import style_for

_PLACE = re.compile(r"(.+):(\d{1,9}):(\d{1,9})", re.DOTALL)


@click.command(
    epilog=examples(
        'cairn log "when did retries become exponential"',
        "cairn log src/session.py --limit 20           the newest ones that changed a file",
        "cairn log --lines src/session.py:40-52        those that touched these lines",
        "cairn log 'timeout author:ada after:2024-03 before:2025'",
        "cairn log '\"retry budget\" -revert path:src/'",
        "cairn log 1f3870be27                          a commit by its name",
        "cairn log retry --format markdown",
    )
)
@click.argument("question", required=False)
@request_options(HistoryRequest, without=("query",))
@markdown_option
@project_option
@json_option
def command(
    question: str | None,
    *,
    output: str | None,
    project: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the commits that answer QUESTION, by meaning and word; without one list the newest.

    Messages, paths and changed lines are searched. The filters author: after: before: path: and
    lines: in QUESTION narrow it, a leading minus negates a word, author: and path:. A QUESTION that
    is the name of a file lists the commits that changed it, under its former names too. It and the
    file of --path and --lines are looked for in the current folder, then from the root. A job reads
    the history after the files were indexed.
    """
    check_format(output, as_json=as_json)
    if options["lines"]:
        _check_lines(options["lines"])
    wanted = HistoryRequest(query=argument_text(question or ""), **options)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        wanted = _from_here(wanted, index, from_root=project is not None)
        answer = index.history.search(wanted)
    if as_json:
        print_json(answer)
    elif output == "markdown":
        print_text(history_markdown(answer))
    else:
        print_text(history_text(answer, style_for(sys.stdout)))


def _check_lines(lines: str) -> None:
    """Refuse a place, which has a column after its line everywhere else.

    Raises:
        InvalidInputError: It is one.
    """
    if place := _PLACE.fullmatch(lines):
        path, first, last = place.groups()
        raise InvalidInputError(
            f"{lines!r} is a place with a column, not lines",
            hint=f"{path}:{first}-{last} for lines, {path}:{first} for one",
            field="lines",
        )


def _from_here(wanted: HistoryRequest, index: Project, *, from_root: bool) -> HistoryRequest:
    """Return a question that names the files it is about from the root.

    Its lines are of a file in the current folder if there is such a one, and so is its path, unless
    paths start at the root. Words that are the name of a file are its path.
    """
    if wanted.lines and not from_root:
        path, colon, numbers = wanted.lines.rpartition(":")
        if os.path.isfile(path):
            lines = f"{absolute(path, index, from_root=False)}{colon}{numbers}"
            wanted = replace(wanted, lines=lines)
    if wanted.path:
        return replace(wanted, path=_file_named(wanted.path, index, from_root) or wanted.path)
    file = _file_named(wanted.query, index, from_root)
    return replace(wanted, query="", path=file) if file else wanted


def _file_named(text: str, index: Project, from_root: bool) -> str:
    """Return the file of a project that a text names, as a filter by path; empty: none."""
    for is_from_root in (True,) if from_root else (False, True):
        path = absolute(text, index, from_root=is_from_root)
        if path.startswith(f"{index.root}/") and os.path.isfile(path):
            return path.removeprefix(index.root)
    return ""
