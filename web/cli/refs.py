"""``cairn refs``: who uses a name."""

import sys
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.records import bytes_within
from engine.reference_records import ReferenceAnswer, ReferenceRequest
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
from web.compact_json import compact_text
from web.operations import nothing_called
from web.project_selection import index_of
from web.references import (
    Shown,
    compact_references,
    most_within,
    references_text,
    totals_text,
    uses_of,
)
from web.terminal import Style, printable, style_for
from web.text import closing_text, coverage_text, size_of

_MORE = "truncated; raise --limit or --max-tokens for more"


@click.command(
    epilog=examples(
        "cairn refs parse_config",
        "cairn refs Session.refresh --use call    its calls only",
        "cairn refs Session --path src/ --json",
        "cairn refs parse_config --max-tokens 500",
    )
)
@click.argument("name")
@request_options(ReferenceRequest)
@max_tokens_option
@project_option
@json_option
def command(
    name: str, *, project: str | None, max_tokens: int | None, as_json: bool, **options: Any
) -> None:
    """Find the definitions, imports, calls and other uses of NAME.

    Each use is exact (the import, the receiver or the scope in the text says what it means), likely
    (by an inferred type, or because nothing else has the name), or found by its name alone.
    """
    wanted = ReferenceRequest(name=argument_text(name), **options)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        answer = index.references.find(wanted)
        is_known = bool(answer.definitions or answer.uses)
        nothing = _nothing(wanted) if is_known else nothing_called(index, wanted.name)
    if as_json:
        print_json(answer if max_tokens is None else _within(answer, wanted, max_tokens))
    else:
        print_text(_text(answer, wanted, nothing, max_tokens))


def _nothing(wanted: ReferenceRequest) -> str:
    kind = f" ({wanted.use.value})" if wanted.use else ""
    where = f" in {printable(wanted.path)!r}" if wanted.path else ""
    return f"no uses of {printable(wanted.name)!r}{kind} were found{where}"


def _all_of(answer: ReferenceAnswer, wanted: ReferenceRequest) -> Shown:
    return Shown(len(answer.definitions), len(uses_of(answer, wanted.use)))


def _within(answer: ReferenceAnswer, wanted: ReferenceRequest, max_tokens: int) -> dict[str, Any]:
    """Return an answer as JSON within a budget."""

    def content(shown: Shown) -> dict[str, Any]:
        return compact_references(answer, shown, wanted.use)

    def size(shown: Shown) -> int:
        return size_of(compact_text(content(shown))) + 1

    return content(most_within(_all_of(answer, wanted), size, bytes_within(max_tokens)))


def _text(
    answer: ReferenceAnswer, wanted: ReferenceRequest, nothing: str, max_tokens: int | None
) -> str:
    whole = _all_of(answer, wanted)

    def written(shown: Shown, style: Style) -> str:
        found = references_text(answer, shown, style, use=wanted.use)
        blocks = [found] if found else []
        if not whole.items:
            blocks.append(nothing)
        notes = () if shown.is_brief else answer.notes
        is_cut = answer.truncated or shown[:2] != whole[:2]
        totals = [totals_text(answer, wanted.use, is_brief=shown.is_brief)]
        if not (shown.is_brief and answer.coverage.complete):
            totals.append(coverage_text(answer.coverage))
        totals += [_MORE] if is_cut else []
        blocks.append(closing_text(notes, totals, style))
        return ("\n" if shown.is_brief else "\n\n").join(blocks) + "\n"

    def size(shown: Shown) -> int:
        return size_of(written(shown, Style()))

    shown = most_within(whole, size, bytes_within(max_tokens)) if max_tokens else whole
    return written(shown, style_for(sys.stdout))
