"""``cairn why``: explain why a path is or is not indexed."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from engine.browse_records import PathExplanation
from engine.catalog import Catalog
from engine.config import load_config
from web.cli.options import examples, json_option, print_json, print_text, project_option
from web.errors import NOT_FOUND, OK
from web.project_selection import absolute, index_of_file
from web.terminal import Style, printable, style_for
from web.wording import count, size

_OUTCOMES = {
    "indexed": "is indexed",
    "skipped": "is not indexed",
    "folder": "is a folder",
    "not_seen": "was not there when the folder was indexed",
    "missing": "does not exist",
}
_SAYS_NEXT_RUN = frozenset({"missing", "not_seen"})
_LABEL_WIDTH = 11


@click.command(
    epilog=examples(
        "cairn why src/app.py",
        "cairn why build/out.js --json",
        "cairn why src/app.py --project ~/src/app   a path relative to that root",
    )
)
@click.argument("path")
@project_option
@json_option
def command(path: str, *, project: str | None, as_json: bool) -> int:
    """Explain whether PATH is indexed, which rule excludes it, and what the next run would do.

    If PATH does not exist, the rules are applied to its name and the exit code is 3.
    """
    with Catalog(load_config()) as catalog:
        index = index_of_file(catalog, project, path)
        explanation = index.why(absolute(path, index, from_root=project is not None))
    if as_json:
        print_json(explanation)
    else:
        print_text(explanation_text(explanation, style_for(sys.stdout)))
    return NOT_FOUND if explanation.outcome == "missing" else OK


def explanation_text(explanation: PathExplanation, style: Style) -> str:
    """Format the explanation of a path."""
    outcome = _OUTCOMES.get(explanation.outcome, explanation.outcome)
    detail = explanation.detail
    if explanation.fresh is False:
        outcome, detail = f"is {detail}", ""
    line = f"{style.bold(printable(explanation.path or '.'))} {printable(outcome)}"
    if explanation.reason:
        line += f": {explanation.reason.replace('_', ' ')}"
    lines = [line]
    if detail:
        lines.append(f"  {printable(detail)}")
    if explanation.rule_path and explanation.rule_path != explanation.path:
        lines.append(f"  because of its folder {printable(explanation.rule_path)}")
    facts = explanation.facts
    if explanation.outcome in _SAYS_NEXT_RUN:  # the detail contains it already
        facts = {name: value for name, value in facts.items() if name != "next_run"}
    for label, text in _rows(facts):
        lines.append(f"  {style.dim(label.ljust(_LABEL_WIDTH))} {printable(text)}")
    return "\n".join(lines) + "\n"


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts as labels and texts, most relevant first."""
    if "rule_file" in facts:
        rule = facts["rule"]
        place = f"line {facts['rule_line']} of {facts['rule_file']}"
        yield "rule", f"{rule}  ({place})" if rule else place
    if "language" in facts:
        yield from _content_rows(facts)
    elif "size_bytes" in facts:
        limit = f", the limit is {size(facts['limit_bytes'])}" if "limit_bytes" in facts else ""
        yield "size", size(facts["size_bytes"]) + limit
    if "files" in facts:
        yield "indexed", count(facts["files"], "file") + " in it"
        for reason, number in facts["skips"].items():
            yield "not indexed", f"{number:,} {reason.replace('_', ' ')}"
    if facts.get("next_run"):
        yield "next run", _next_run_text(facts["next_run"])
    for name in ("created_at", "updated_at", "sha256", "id"):
        if name in facts:
            yield name.removesuffix("_at"), str(facts[name])


def _content_rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    stored, on_disk = facts["size_bytes"], facts["file_bytes"]
    yield "language", f"{facts['language']}, in {facts['encoding']}"
    of_file = f" (of a file of {size(on_disk)})" if stored != on_disk else ""
    lines = count(facts["lines"], "line")
    yield "size", f"{size(stored)}{of_file}, {lines}, about {count(facts['tokens'], 'token')}"
    if "stored_as" in facts:
        yield "stored as", facts["stored_as"]
    detail = facts["parse_detail"]
    parse = facts["parse"].replace("_", " ")
    yield "parsed", f"{parse}: {detail}" if detail else parse
    yield "symbols", f"{facts['symbols']:,}, in {count(facts['chunks'], 'chunk')}"
    if facts["allowed_by"]:
        yield "admitted", f"by {facts['allowed_by']}, though its name is one of secret files"
    redactions = facts["redactions"]
    yield "redacted", f"{count(redactions, 'secret')}" if redactions else "nothing"
    if facts["tags"]:
        yield "tags", ", ".join(facts["tags"])
    if facts["authors"]:
        authors = (
            f"{each['name']} ({count(each['commits'], 'commit')})" for each in facts["authors"]
        )
        among = f"; of the {facts['authors_among']}" if facts["authors_among"] else ""
        yield "authors", ", ".join(authors) + among
    if facts["licence"]:
        yield "licence", facts["licence"]
    if facts["generated"]:
        generator = facts["generator"]
        yield "generated", f"by {generator}" if generator else "yes"
    reasons = ", ".join(facts["rank_reasons"])
    yield "ranking", f"×{facts['rank_factor']:g}: {reasons}" if reasons else "not lowered"


def _next_run_text(next_run: Mapping[str, Any]) -> str:
    does, reason, language = next_run["does"], next_run["reason"], next_run["language"]
    if does == "index":
        return f"indexes it as {language}" if language else "indexes it"
    if does == "skip":
        return f"skips it: {reason.replace('_', ' ')}, {next_run['detail']}"
    return "removes it from the index" if does == "remove" else "leaves it as it is"
