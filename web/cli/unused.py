"""``cairn unused``: definitions that nothing uses."""

from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.reference_records import UnusedRequest
from web.budget import Shown, text_within, whole_of
from web.cli.options import (
    check_format,
    examples,
    json_option,
    markdown_option,
    max_tokens_option,
    print_record,
    print_text,
    project_option,
    request_options,
)
from web.project_selection import index_of
from web.terminal import Style
from web.unused import unused_markdown, unused_text, unused_totals

_NOTHING = "no unused definitions were found"


@click.command(
    epilog=examples(
        "cairn unused",
        "cairn unused --path src/ --kind function",
        "cairn unused --exported      also what other projects could use",
        "cairn unused --format markdown --max-tokens 2000",
    )
)
@request_options(UnusedRequest)
@markdown_option
@max_tokens_option
@project_option
@json_option
def command(
    *,
    output: str | None,
    max_tokens: int | None,
    project: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List definitions whose name stands nowhere else in the code of the project.

    Each is likely unused, or known by its name alone: when it is exported, or when a literal or a
    file of settings may name it. Entry points, tests, decorated definitions and overrides of bases
    outside of the project are left out and counted.
    """
    check_format(output, as_json=as_json)
    with Catalog(load_config()) as catalog:
        answer = index_of(catalog, project, by_name=True).references.unused(
            UnusedRequest(**options)
        )
    if as_json:
        print_record(answer, max_tokens)
        return

    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        if output == "markdown":
            blocks = unused_markdown(answer, shown)
        else:
            blocks = unused_text(answer, shown, style)
        if not answer.definitions:
            blocks.insert(int(output == "markdown"), _NOTHING)
        return blocks, unused_totals(answer)

    is_markdown = output == "markdown"
    print_text(text_within(answer, whole_of(answer), write, max_tokens, is_markdown=is_markdown))
