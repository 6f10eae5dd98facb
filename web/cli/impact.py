"""``cairn impact``: what depends on a definition, a file or the uncommitted changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.reference_records import ImpactAnswer, ImpactRequest
from web.budget import Shown, json_within, text_within, whole_of, with_coverage
from web.cli.options import (
    argument_text,
    check_format,
    examples,
    format_option,
    json_option,
    max_tokens_option,
    print_json,
    print_text,
    project_option,
    request_options,
)
from web.impact import (
    compact_impact,
    files_to_run,
    impact_dot,
    impact_markdown,
    impact_mermaid,
    impact_text,
    impact_totals,
    nothing_affected,
)
from web.operations import nothing_called
from web.project_selection import absolute, index_of, index_of_file, place_in
from web.terminal import Style

_GRAPHS: dict[str, Callable[..., str]] = {"mermaid": impact_mermaid, "dot": impact_dot}


@click.command(
    epilog=examples(
        "cairn impact parse_config               who depends on it, and which tests reach it",
        "cairn impact Session.refresh --depth 1  direct dependents only",
        "cairn impact --path src/session.py      of all definitions of a file",
        "cairn impact --changed                  of what you have not committed",
        "pytest $(cairn impact --changed --json | jq -r '.test_files[]')",
    )
)
@click.argument("name", required=False)
@request_options(ImpactRequest, without=("name",))
@format_option(*_GRAPHS)
@max_tokens_option
@project_option
@json_option
def command(
    name: str | None,
    *,
    output: str | None,
    project: str | None,
    max_tokens: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List what depends on NAME, on a file or on uncommitted changes, and the tests that reach it.

    Dependents call, construct, extend, override, import or otherwise use it, directly or through
    others. Uses by name alone are told but not followed.
    """
    wanted = ImpactRequest(name=None if name is None else argument_text(name), **options)
    check_format(output, as_json=as_json, max_tokens=max_tokens)
    if name is None and wanted.path is None and not wanted.changed:
        raise InvalidInputError(
            "nothing to look for: name a definition, a file or the changes",
            hint="cairn impact NAME, --path FILE or --changed",
            field="name",
        )
    with Catalog(load_config()) as catalog:
        if wanted.path is None:
            index = index_of(catalog, project, by_name=True)
            asked = place_in(wanted.name or "", index, from_root=project is not None)
            wanted = replace(wanted, name=asked or None)
        else:
            index = index_of_file(catalog, project, wanted.path)
            path = absolute(wanted.path, index, from_root=project is not None)
            wanted = replace(wanted, path=path)
        answer = index.impact(wanted)
        is_unknown = wanted.name is not None and not answer.definitions
        from_root = project is not None
        unknown = (
            nothing_called(index, wanted.name or "", from_root=from_root) if is_unknown else ""
        )
        nothing = nothing_affected(answer, wanted, unknown)
    if as_json:
        print_json(answer if max_tokens is None else _within(answer, max_tokens))
    elif output in _GRAPHS:
        print_text(_GRAPHS[output](answer, nothing=nothing))
    else:
        print_text(_text(answer, nothing, max_tokens, is_markdown=output == "markdown"))


def _within(answer: ImpactAnswer, max_tokens: int) -> dict[str, Any]:
    def content(shown: Shown) -> dict[str, Any]:
        compact = compact_impact(answer, shown)
        compact["test_files"] = list(files_to_run(answer, shown))
        return with_coverage(compact, answer, is_brief=shown.is_brief)

    return json_within(whole_of(answer), content, max_tokens)


def _text(answer: ImpactAnswer, nothing: str, max_tokens: int | None, *, is_markdown: bool) -> str:
    def write(shown: Shown, style: Style) -> tuple[list[str], str]:
        if is_markdown:
            blocks = impact_markdown(answer, shown)
        else:
            blocks = [*filter(None, [impact_text(answer, shown, style)])]
        blocks += [nothing] if nothing else []
        return blocks, impact_totals(answer, is_brief=shown.is_brief)

    return text_within(answer, whole_of(answer), write, max_tokens, is_markdown=is_markdown)
