"""``cairn refs``: who uses a name."""

from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.reference_records import ReferenceAnswer, ReferenceRequest
from web.budget import Shown, json_within, text_within, with_coverage
from web.cli.options import (
    argument_text,
    check_format,
    examples,
    json_option,
    markdown_option,
    max_tokens_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.operations import nothing_called
from web.project_selection import index_of, place_in
from web.references import (
    compact_references,
    references_markdown,
    references_text,
    totals_text,
    uses_of,
)
from web.terminal import Style, printable


@click.command(
    epilog=examples(
        "cairn refs parse_config",
        "cairn refs Session.refresh --use call    its calls only",
        "cairn refs src/session.py:120:9          what the name there means, and its uses",
        "cairn refs Session --path src/ --json",
        "cairn refs parse_config --format markdown --max-tokens 500",
    )
)
@click.argument("name")
@request_options(ReferenceRequest)
@markdown_option
@max_tokens_option
@project_option
@json_option
def command(
    name: str,
    *,
    output: str | None,
    project: str | None,
    max_tokens: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the definitions, imports, calls and other uses of NAME.

    Each use is exact (the import, the receiver or the scope in the text says what it means), likely
    (by an inferred type, or because nothing else has the name), or found by its name alone.
    """
    check_format(output, as_json=as_json)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        asked = place_in(argument_text(name), index, from_root=project is not None)
        wanted = ReferenceRequest(name=asked, **options)
        answer = index.references.find(wanted)
        is_known = bool(answer.definitions or answer.uses)
        nothing = (
            _nothing(wanted)
            if is_known
            else nothing_called(index, wanted.name, from_root=project is not None)
        )
    if as_json:
        print_json(answer if max_tokens is None else _within(answer, wanted, max_tokens))
    else:
        print_text(_text(answer, wanted, nothing, max_tokens, is_markdown=output == "markdown"))


def _nothing(wanted: ReferenceRequest) -> str:
    kind = f" ({wanted.use.value})" if wanted.use else ""
    where = f" in {printable(wanted.path)!r}" if wanted.path else ""
    return f"no uses of {printable(wanted.name)!r}{kind} were found{where}"


def _all_of(answer: ReferenceAnswer, wanted: ReferenceRequest) -> Shown:
    return Shown(len(answer.definitions), len(uses_of(answer, wanted.use)))


def _within(answer: ReferenceAnswer, wanted: ReferenceRequest, max_tokens: int) -> dict[str, Any]:
    def content(shown: Shown) -> dict[str, Any]:
        compact = compact_references(answer, shown, wanted.use)
        return with_coverage(compact, answer, is_brief=shown.is_brief)

    return json_within(_all_of(answer, wanted), content, max_tokens)


def _text(
    answer: ReferenceAnswer,
    wanted: ReferenceRequest,
    nothing: str,
    max_tokens: int | None,
    *,
    is_markdown: bool,
) -> str:
    whole = _all_of(answer, wanted)

    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        if is_markdown:
            blocks = references_markdown(answer, shown, use=wanted.use)
        else:
            found = references_text(answer, shown, style, use=wanted.use)
            blocks = [found] if found else []
        if not whole.items:
            blocks.append(nothing)
        return blocks, totals_text(answer, wanted.use, is_brief=shown.is_brief)

    return text_within(answer, whole, write, max_tokens, is_markdown=is_markdown)
