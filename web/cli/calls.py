"""``cairn callers``, ``callees``, ``implementations`` and ``bases``: calls and bases, followed."""

from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.reference_records import CallAnswer, CallRequest, Direction, InheritanceRequest
from web.budget import Shown, text_within, whole_of
from web.calls import calls_markdown, calls_text, calls_totals, dot, mermaid
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
from web.operations import nothing_called
from web.project_selection import index_of, place_in
from web.terminal import Style, printable

_GRAPHS = {"mermaid": mermaid, "dot": dot}


def _command(
    direction: Direction,
    *,
    request: type[CallRequest] | type[InheritanceRequest] = CallRequest,
    summary: str,
    epilog: str,
) -> click.Command:
    """Return a command that follows calls or bases.

    Args:
        direction: Which way.
        request: Declares its options.
        summary: The line of its help.
        epilog: Its examples.
    """

    @click.command(help=summary, epilog=epilog)
    @click.argument("name")
    @request_options(request)
    @format_option(*_GRAPHS)
    @max_tokens_option
    @project_option
    @json_option
    def command(
        name: str,
        *,
        output: str | None,
        max_tokens: int | None,
        project: str | None,
        as_json: bool,
        **options: Any,
    ) -> None:
        check_format(output, as_json=as_json, max_tokens=max_tokens)
        with Catalog(load_config()) as catalog:
            index = index_of(catalog, project, by_name=True)
            asked = place_in(argument_text(name), index, from_root=project is not None)
            wanted = request(name=asked, **options)
            answer = index.references.follow(wanted, direction)
            nothing = (
                ""
                if answer.definitions
                else nothing_called(index, wanted.name, from_root=project is not None)
            )
        if as_json:
            print_record(answer, max_tokens)
        elif output in _GRAPHS:
            print_text(_GRAPHS[output](answer, nothing=nothing))
        else:
            print_text(_text(answer, nothing, max_tokens, is_markdown=output == "markdown"))

    return command


def _text(answer: CallAnswer, nothing: str, max_tokens: int | None, *, is_markdown: bool) -> str:
    missing = []
    if not answer.definitions:
        missing = [nothing]
    elif not answer.edges:
        missing = [f"no {answer.direction.value} of {printable(answer.name)!r} were found"]

    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        if is_markdown:
            blocks = calls_markdown(answer, shown)
        else:
            blocks = [*filter(None, [calls_text(answer, shown, style)])]
        return [*blocks, *missing], calls_totals(answer, is_brief=shown.is_brief)

    return text_within(answer, whole_of(answer), write, max_tokens, is_markdown=is_markdown)


callers = _command(
    Direction.CALLERS,
    summary="List the functions that call NAME, directly or through others.",
    epilog=examples(
        "cairn callers parse_config",
        "cairn callers Session.refresh --depth 3            also callers of callers",
        "cairn callers parse_config --format mermaid        a flow chart for Markdown",
        "cairn callers parse_config --format dot | dot -Tsvg -o calls.svg",
        "cairn callers parse_config --format markdown --max-tokens 1000",
    ),
)

callees = _command(
    Direction.CALLEES,
    summary="List the functions of the project that NAME calls, directly or through others.",
    epilog=examples(
        "cairn callees main",
        "cairn callees Session.refresh --depth 3      also what these call",
        "cairn callees main --format mermaid          a flow chart for Markdown",
    ),
)

implementations = _command(
    Direction.IMPLEMENTATIONS,
    request=InheritanceRequest,
    summary="List the subtypes and implementations of NAME; of a method, those that override it.",
    epilog=examples(
        "cairn implementations Reader",
        "cairn implementations Reader --depth 1             direct ones only",
        "cairn implementations Reader.read                  the methods that override it",
        "cairn implementations Reader --format mermaid      a flow chart for Markdown",
    ),
)

bases = _command(
    Direction.BASES,
    request=InheritanceRequest,
    summary="List the bases of NAME, and theirs; of a method, those that it overrides.",
    epilog=examples(
        "cairn bases FileReader",
        "cairn bases FileReader.read                        the methods that it overrides",
        "cairn bases FileReader --format dot | dot -Tsvg -o bases.svg",
    ),
)
