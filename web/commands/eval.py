"""``cairn eval``: how well golden queries are answered, and which of two ways answers better."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.evaluation.golden import Evaluation, EvaluationOptions, Variant
from engine.evaluation.golden_file import GoldenFile, parse_golden, read_golden
from engine.records import Mode
from web.commands.options import (
    examples,
    given_text,
    json_option,
    print_json,
    print_text,
    project_option,
)
from web.console.evaluation import evaluation_text
from web.console.query_progress import asked_on
from web.console.selection import index_of
from web.errors import FAILURE, OK
from web.terminal import printable, style_for

_MODES = click.Choice([mode.value for mode in Mode])
_STANDARD_INPUT = "-"

_FORMAT = """\b
GOLDEN has one JSON object a line; - is standard input:
  {"query": "where is the session refreshed", "relevant": ["src/session.py"]}
  {"query": "resolve", "relevant": ["router.py:20-45"], "category": "names"}
\b
  query      what is asked
  relevant   one target or more: "PATH", "PATH:FIRST-LAST", or {"path": PATH,
             "start_line": N, "end_line": N}; PATH starts at the project's
             root, or is the end of such a path
  mode       always asked so, whatever --mode says
  language, path, kind, category, note       when wanted; note is yours
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options as click gives them."""

    mode: tuple[str, ...]
    against: tuple[str, ...]
    settings: tuple[str, ...]
    limit: int
    rounds: int
    show: int
    min_ndcg: float | None

    def evaluation(self) -> EvaluationOptions:
        """Give the options of the engine.

        Raises:
            InvalidInputError: A setting has no value.
        """
        modes = [Mode(mode) for mode in (self.mode or (Mode.HYBRID.value,)) + self.against]
        variants = [Variant(mode=mode) for mode in modes]
        variants += [Variant(mode=modes[0], settings=_setting_of(text)) for text in self.settings]
        return EvaluationOptions(
            variants=tuple(variants), limit=self.limit, rounds=self.rounds, changes=self.show
        )


@click.command(
    epilog=_FORMAT
    + "\n"
    + examples(
        "cairn eval golden.jsonl",
        "cairn eval golden.jsonl --mode hybrid --against keyword   which answers better",
        "cairn eval golden.jsonl --set model=none                  with a setting and without",
        "cairn eval golden.jsonl --min-ndcg 0.8 --json             for continuous integration",
        "cairn eval tests/benchmark/golden.jsonl                   CodeCairn's own source",
        'echo \'{"query": "parse", "relevant": ["src/parse.py"]}\' | cairn eval -',
    )
)
@click.argument("golden")
@project_option
@click.option(
    "--mode", type=_MODES, multiple=True, help="How to search (repeatable; default: hybrid)."
)
@click.option("--against", type=_MODES, multiple=True, help="Compare with this mode (repeatable).")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Compare with this setting changed (repeatable).",
)
@click.option("--limit", type=int, default=10, show_default=True, help="Hits that count, 1 to 100.")
@click.option(
    "--rounds",
    type=int,
    default=3,
    show_default=True,
    help="Ask everything so many times: once cold, then warm.",
)
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Most queries and targets that a list names.",
)
@click.option(
    "--min-ndcg",
    type=click.FloatRange(0, 1),
    help="End with exit code 1 when the NDCG is below this.",
)
@json_option
def command(golden: str, *, project: str | None, as_json: bool, **given: Any) -> int:
    """Ask the queries of the file GOLDEN and measure the answers.

    A target takes the rank of the first hit in its file and lines. NDCG is 1 when all targets
    stand on top, recall is the share of the targets found, MRR one over the rank of the first, hit
    rate the share of queries with any. The first mode is compared with each other mode and setting,
    query by query: differences are its NDCG minus theirs.
    """
    options = _Options(**given)
    asked = options.evaluation()
    queries, notes = _read(golden)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        with asked_on(sys.stderr, quiet=as_json) as on_asked:
            measured = index.evaluate(queries, asked, on_asked=on_asked)
    evaluation = replace(measured, notes=(*notes, *measured.notes))
    if as_json:
        print_json(evaluation)
    else:
        print_text(evaluation_text(evaluation, style_for(sys.stdout), shown=options.show))
    return _verdict(evaluation, options.min_ndcg)


def _read(golden: str) -> GoldenFile:
    if golden == _STANDARD_INPUT:
        return parse_golden(sys.stdin.buffer, "standard input")
    return read_golden(golden)


def _setting_of(text: str) -> dict[str, int | str]:
    name, equals, value = given_text(text).partition("=")
    if not equals or not name:
        raise InvalidInputError(
            f"--set wants NAME=VALUE, got {text!r}", hint="such as --set model=none", field="set"
        )
    return {name.strip(): value.strip()}


def _verdict(evaluation: Evaluation, least: float | None) -> int:
    """Say whether the first variant is good enough, and give the exit code."""
    first = evaluation.variants[0]
    if least is None or first.overall.ndcg >= least:
        return OK
    sys.stderr.write(
        f"below: NDCG@{evaluation.limit} of {printable(first.name)} is {first.overall.ndcg:.4f}, "
        f"wanted {least:g} or more\n"
    )
    return FAILURE
