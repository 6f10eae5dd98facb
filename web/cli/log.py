"""``cairn log``: the commits that answer a question, or the newest ones."""

import os
import re
import sys
from dataclasses import replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
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

_RANGE = re.compile(r":(\d{1,9}):(\d{1,9})\Z")  # which cairn blame reads too


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
        options["lines"] = _RANGE.sub(r":\1-\2", options["lines"])
    wanted = HistoryRequest(query=argument_text(question or ""), **options)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        if project is None:
            wanted = _from_here(wanted, index)
        answer = index.history.search(wanted)
    if as_json:
        print_json(answer)
    elif output == "markdown":
        print_text(history_markdown(answer))
    else:
        print_text(history_text(answer, style_for(sys.stdout)))


def _from_here(wanted: HistoryRequest, index: Project) -> HistoryRequest:
    """Return a question that names the files it is about from the root.

    Its lines are of a file in the current folder if there is such a one, and so is its path. Words
    that are the name of a file are its path.
    """
    if wanted.lines:
        path, colon, numbers = wanted.lines.rpartition(":")
        if os.path.isfile(path):
            lines = f"{absolute(path, index, from_root=False)}{colon}{numbers}"
            wanted = replace(wanted, lines=lines)
    if wanted.path:
        return replace(wanted, path=_file_named(wanted.path, index) or wanted.path)
    file = _file_named(wanted.query, index)
    return replace(wanted, query="", path=file) if file else wanted


def _file_named(text: str, index: Project) -> str:
    """Return the file of a project that a text names, as a filter by path; empty: none."""
    for from_root in (False, True):
        path = absolute(text, index, from_root=from_root)
        if path.startswith(f"{index.root}/") and os.path.isfile(path):
            return path.removeprefix(index.root)
    return ""
