"""``cairn symbols``: definitions by name, or the outline of one file."""

import sys
from dataclasses import replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.project import Project
from engine.search_records import SymbolMatch, SymbolRequest
from web.cli.options import (
    argument_text,
    examples,
    json_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.operations import FoundSymbols, find_symbols, no_symbol_called
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
@request_options(SymbolRequest)
@project_option
@json_option
def command(
    name: str | None, *, file: str | None, project: str | None, as_json: bool, **options: Any
) -> None:
    """Find definitions called NAME, or list those of a file."""
    wanted = SymbolRequest(name=argument_text(name or ""), **options)
    _check(name, file, wanted)
    with Catalog(load_config()) as catalog:
        if file is not None:
            index = index_of_file(catalog, project, file)
            place = absolute(file, index, from_root=project is not None)
            hits = index.outline(place)
            notes = index.stale_notes([index.browse.stored_path(place)])
            shape: dict[str, object] = {"symbols": hits, "total": len(hits), "truncated": False}
            shape |= {"notes": notes} if notes else {}
            text = outline_text(hits, style_for(sys.stdout)) if hits else _NO_OUTLINE
        else:
            index = index_of(catalog, project, by_name=True)
            found = find_symbols(index, wanted)
            shape, notes = found.as_json(), found.notes
            text = symbols_text(
                found.symbols, style_for(sys.stdout), nothing=_nothing(index, found, wanted)
            )
            more = found.truncation_note("narrow by --kind or Class.name, or raise --limit")
            text += f"\n{more}\n" if more else ""
        text += "".join(f"note: {printable(note)}\n" for note in notes)
    if as_json:
        print_json(shape)
    else:
        print_text(text)


def _check(name: str | None, file: str | None, wanted: SymbolRequest) -> None:
    """Check that the options are compatible.

    Raises:
        InvalidInputError: Neither or both of NAME and --file, or --file with what it does not take.
    """
    if (name is None) == (file is None):
        raise InvalidInputError(
            "give either a name or --file", hint="cairn symbols --help", field="name"
        )
    default = SymbolRequest(name="")
    for field in ("kind", "match", "limit"):
        if file is not None and getattr(wanted, field) != getattr(default, field):
            raise InvalidInputError(f"--{field} cannot be used with --file", field=field)


def _nothing(index: Project, found: FoundSymbols, wanted: SymbolRequest) -> str:
    """Return that no symbol matches, and which was meant or what to try; empty if some do."""
    if found.symbols:
        return ""
    what = f"no {printable(wanted.kind or 'symbol')} matches {printable(wanted.name)!r}"
    if meant := no_symbol_called(index, wanted):
        return what + meant
    wider: dict[str, tuple[SymbolMatch, ...]] = {
        "exact": ("prefix", "fuzzy"),
        "prefix": ("fuzzy",),
    }
    for match in wider.get(wanted.match, ()):
        if find_symbols(index, replace(wanted, match=match, limit=1)).symbols:
            return f"{what}; try --match {match}"
    return what
