"""``cairn why``: why a path is found, or why it is not."""

import sys

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.records import PathExplanation
from web.commands.options import examples, json_option, print_json, print_text, project_option
from web.errors import NOT_FOUND, OK
from web.selection import absolute, index_of
from web.terminal import Style, printable, style_for

_OUTCOMES = {
    "indexed": "is indexed",
    "skipped": "is not indexed",
    "folder": "is a folder",
    "not_seen": "was not there when the folder was indexed",
    "missing": "does not exist",
}


@click.command(
    epilog=examples(
        "cairn why src/app.py",
        "cairn why build/out.js --json",
        "cairn why src/app.py --project ~/src/app   a path from that root",
    )
)
@click.argument("path")
@project_option
@json_option
def command(path: str, *, project: str | None, as_json: bool) -> int:
    """Say whether PATH is indexed, and if not, by which rule.

    The exit code is 3 when there is no such path.
    """
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project)
        explanation = index.why(absolute(path, index, from_root=project is not None))
    if as_json:
        print_json(explanation)
    else:
        print_text(explanation_text(explanation, style_for(sys.stdout)))
    return NOT_FOUND if explanation.outcome == "missing" else OK


def explanation_text(explanation: PathExplanation, style: Style) -> str:
    """Say in lines what is known of a path."""
    outcome = _OUTCOMES.get(explanation.outcome, explanation.outcome)
    line = f"{style.bold(printable(explanation.path or '.'))} {outcome}"
    if explanation.reason:
        line += f": {explanation.reason.replace('_', ' ')}"
    lines = [line]
    if explanation.detail:
        lines.append(f"  {printable(explanation.detail)}")
    if explanation.rule_path and explanation.rule_path != explanation.path:
        lines.append(f"  because of the folder {printable(explanation.rule_path)}")
    if explanation.fresh is False:
        lines.append(style.warning("  it has changed since: cairn index brings it up to date"))
    for name, value in explanation.facts.items():
        lines.append(f"  {name.replace('_', ' ')}: {printable(str(value))}")
    return "\n".join(lines) + "\n"
