"""``cairn symbols``: definitions by name, or the outline of one file."""

import sys
from dataclasses import dataclass
from typing import Any, Literal

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from web.answers import find_symbols
from web.cli.options import (
    examples,
    given_text,
    json_option,
    print_json,
    print_text,
    project_option,
)
from web.project_selection import absolute, index_of, index_of_file
from web.terminal import printable, style_for
from web.text import outline_text, symbols_text

_NO_OUTLINE = "this file defines no symbols\n"


@click.command(
    epilog=examples(
        "cairn symbols parse_config",
        "cairn symbols Parse --match prefix --kind class",
        "cairn symbols usrsvc --match fuzzy",
        "cairn symbols --file src/app.py      the outline of a file",
    )
)
@click.argument("name", required=False)
@click.option("--file", metavar="PATH", help="List the symbols of this file instead.")
@click.option("--kind", help="Only this kind: function, method, class, type, …")
@click.option(
    "--match",
    type=click.Choice(["exact", "prefix", "fuzzy"]),
    default="exact",
    show_default=True,
    help="How NAME is compared.",
)
@click.option("--limit", type=int, default=20, show_default=True, help="Maximum number of symbols.")
@project_option
@json_option
def command(name: str | None, *, project: str | None, as_json: bool, **options: Any) -> None:
    """Find definitions called NAME, or list those of a file."""
    question = _Question(name=name, **options)
    question.check()
    with Catalog(load_config()) as catalog:
        if question.file is not None:
            index = index_of_file(catalog, project, question.file)
            path = absolute(question.file, index, from_root=project is not None)
            hits = index.outline(path)
            shape: dict[str, object] = {"symbols": hits}
            text = outline_text(hits, style_for(sys.stdout)) if hits else _NO_OUTLINE
        else:
            index = index_of(catalog, project, by_name=True)
            found = find_symbols(
                index,
                given_text(name or ""),
                kind=question.kind,
                match=question.match,
                limit=question.limit,
            )
            shape = found.as_json()
            text = symbols_text(found.symbols, style_for(sys.stdout), nothing=question.nothing())
            more = found.says_more("narrow by --kind or Class.name, or raise --limit")
            text += f"\n{more}\n" if more else ""
    if as_json:
        print_json(shape)
    else:
        print_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The options that select symbols."""

    name: str | None
    file: str | None
    kind: str | None
    match: Literal["exact", "prefix", "fuzzy"]
    limit: int

    def check(self) -> None:
        """Check that the options are compatible.

        Raises:
            InvalidInputError: Neither or both of NAME and --file, or --kind with --file.
        """
        if (self.name is None) == (self.file is None):
            raise InvalidInputError(
                "give either a name or --file", hint="cairn symbols --help", field="name"
            )
        if self.file is not None and self.kind is not None:
            raise InvalidInputError("--kind cannot be used with --file", field="kind")

    def nothing(self) -> str:
        """Return that no symbol matches, and what to try."""
        wider = {"exact": "prefix", "prefix": "fuzzy"}.get(self.match)
        what = f"no {printable(self.kind or 'symbol')} matches {printable(self.name or '')!r}"
        return f"{what}; try --match {wider}" if wider else what
