"""``cairn unused``: definitions that nothing uses."""

import re
import sys
from collections.abc import Mapping
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.humanize import count
from engine.reference_records import UnusedAnswer, UnusedDefinition, UnusedRequest
from web.cli.options import (
    examples,
    json_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.project_selection import index_of
from web.references import counts_text
from web.terminal import Style, printable, shortened, style_for
from web.text import closing_text, coverage_text

_CODE_COLUMNS = 100
_PLURAL = re.compile(r"s\b(?= of |$)")


@click.command(
    epilog=examples(
        "cairn unused",
        "cairn unused --path src/ --kind function",
        "cairn unused --exported      also what other projects could use",
    )
)
@request_options(UnusedRequest)
@project_option
@json_option
def command(*, project: str | None, as_json: bool, **options: Any) -> None:
    """List definitions whose name stands nowhere else in the code of the project.

    Each is likely unused, or known by its name alone: when it is exported, or when a literal or a
    file of settings may name it. Entry points, tests, decorated definitions and overrides of bases
    outside of the project are left out and counted.
    """
    with Catalog(load_config()) as catalog:
        answer = index_of(catalog, project, by_name=True).references.unused(
            UnusedRequest(**options)
        )
    if as_json:
        print_json(answer)
    else:
        print_text(_text(answer, style_for(sys.stdout)))


def _text(answer: UnusedAnswer, style: Style) -> str:
    by_file: dict[str, list[UnusedDefinition]] = {}
    for each in answer.definitions:
        by_file.setdefault(each.path, []).append(each)
    blocks = [
        "\n".join([style.place(printable(path)), *(_line(each, style) for each in found)])
        for path, found in by_file.items()
    ]
    if not blocks:
        blocks.append("no unused definitions were found")
    totals = [count(answer.total, "unused definition")]
    if answer.exported:
        totals.append(f"{answer.exported:,} more that are exported (--exported lists them)")
    totals.append(coverage_text(answer.coverage))
    if answer.truncated:
        totals.append("truncated; raise --limit for more")
    lines = [closing_text(answer.notes, totals, style)]
    if answer.left_out:
        lines.append(style.dim(f"left out: {counts_text(_named(answer.left_out))}"))
    return "\n\n".join([*blocks, "\n".join(lines)]) + "\n"


def _named(left_out: Mapping[str, int]) -> dict[str, int]:
    """Return counts by reason, the reason of one definition in the singular."""
    return {
        reason if number > 1 else _PLURAL.sub("", reason, count=1): number
        for reason, number in left_out.items()
    }


def _line(each: UnusedDefinition, style: Style) -> str:
    about = [each.certainty.value.ljust(6), each.kind, style.bold(printable(each.name))]
    if each.exported:
        about.append("(exported)")
    if each.named_in:
        about.append(f"(may be named in {printable(each.named_in)})")
    code = style.dim(f"| {shortened(printable(each.signature), _CODE_COLUMNS)}")
    return f"  {each.line_start:>5}  {'  '.join(about)}  {code}".rstrip()
