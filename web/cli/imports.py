"""``cairn imports``: which folders or files import which, and their cycles."""

from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.reference_records import ImportsRequest
from web.budget import Shown, text_within, whole_of
from web.cli.options import (
    argument_text,
    check_format,
    examples,
    format_option,
    json_option,
    max_tokens_option,
    print_record,
    print_text,
    project_option,
    request_options,
)
from web.imports import (
    imports_dot,
    imports_markdown,
    imports_mermaid,
    imports_text,
    imports_totals,
)
from web.project_selection import index_of
from web.terminal import Style

_GRAPHS = {"mermaid": imports_mermaid, "dot": imports_dot}


@click.command(
    epilog=examples(
        "cairn imports",
        "cairn imports src/ --files          between files",
        "cairn imports --depth 2             folders of two levels",
        "cairn imports --format dot | dot -Tsvg -o imports.svg",
        "cairn imports --format markdown --max-tokens 2000",
    )
)
@click.argument("path", required=False)
@request_options(ImportsRequest, without=("path",))
@format_option(*_GRAPHS)
@max_tokens_option
@project_option
@json_option
def command(
    path: str | None,
    *,
    output: str | None,
    max_tokens: int | None,
    project: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List which folders import which, with numbers, and the cycles among them.

    PATH keeps the imports from or of the files below a folder, or of a glob. Imports are resolved
    by paths and declared names; what is not found in the project counts as another project's.
    """
    check_format(output, as_json=as_json, max_tokens=max_tokens)
    wanted = ImportsRequest(path=argument_text(path) if path else None, **options)
    with Catalog(load_config()) as catalog:
        graph = index_of(catalog, project, by_name=True).references.imports(wanted)
    if as_json:
        print_record(graph, max_tokens)
        return
    if output in _GRAPHS:
        print_text(_GRAPHS[output](graph))
        return
    is_markdown = output == "markdown"

    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        blocks = (
            imports_markdown(graph, shown) if is_markdown else imports_text(graph, shown, style)
        )
        return blocks, imports_totals(graph)

    print_text(text_within(graph, whole_of(graph), write, max_tokens, is_markdown=is_markdown))
