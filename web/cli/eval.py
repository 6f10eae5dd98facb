"""``cairn eval``: measure search quality with golden queries, and compare modes and settings."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.evaluation.golden import (
    Comparison,
    Evaluation,
    EvaluationOptions,
    Figures,
    GoldenFile,
    LostTarget,
    Percentiles,
    Target,
    Variant,
    VariantResult,
    parse_golden,
    read_golden,
)
from engine.record_class import record
from engine.search_records import Mode
from web.cli.options import (
    argument_text,
    examples,
    json_option,
    print_json,
    print_text,
    project_option,
)
from web.cli.progress import evaluation_on
from web.errors import FAILURE, OK
from web.project_selection import index_of
from web.terminal import Style, printable, style_for
from web.wording import count, duration, percent

_QUERY_WIDTH = 90  # characters of a query that are shown
_STANDARD_INPUT = "-"
_FORMAT = """\b
GOLDEN has one JSON object a line; - is standard input:
  {"query": "where is the session refreshed", "relevant": ["src/session.py"]}
  {"query": "resolve", "relevant": ["router.py:20-45"], "category": "names"}
\b
  query      what is asked
  relevant   one target or more: "PATH", "PATH:FIRST-LAST", or {"path": PATH,
             "start_line": N, "end_line": N}; PATH starts at the project's
             root; if nothing is there, it is the end of such paths
  mode       the mode of this query, whatever --mode says
  language, path, kind, category, note       optional; note is free text
"""

_MODES = click.Choice([mode.value for mode in Mode])


def evaluation_text(evaluation: Evaluation, style: Style, *, shown: int) -> str:
    """Format quality and latency as tables, then comparisons, queries without a hit, and notes.

    Args:
        evaluation: The evaluation.
        style: Colours or none.
        shown: The maximum number of rows of a list.
    """
    blocks = [[_head(evaluation)], _quality(evaluation, style), _latency(evaluation, style)]
    blocks += [_comparison(each, evaluation.limit, style) for each in evaluation.comparisons]
    blocks += [_not_found(evaluation.variants[0], style, shown)]
    blocks += [_lost(evaluation.lost_targets, style, shown)]
    blocks += [[style.warning(f"note: {printable(note)}") for note in evaluation.notes]]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _head(evaluation: Evaluation) -> str:
    asked = f"{count(evaluation.queries, 'query')} with {count(evaluation.targets, 'target')}"
    return f"{asked}, on {printable(evaluation.project)}"


def _quality(evaluation: Evaluation, style: Style) -> list[str]:
    limit = evaluation.limit
    rows: list[tuple[str, ...]] = [
        ("", "queries", f"NDCG@{limit}", f"recall@{limit}", "MRR", "hit rate")
    ]
    for variant in evaluation.variants:
        rows.append(_figures_row(variant.name, variant.overall))
        rows += [
            _figures_row(f"  {category}", figures)
            for category, figures in variant.by_category.items()
        ]
    return _table(rows, style)


def _figures_row(name: str, figures: Figures) -> tuple[str, ...]:
    measures = (f"{value:.3f}" for value in (figures.ndcg, figures.recall, figures.mrr))
    return (printable(name), f"{figures.queries:,}", *measures, percent(figures.hit_rate))


def _latency(evaluation: Evaluation, style: Style) -> list[str]:
    rows = [("latency", "p50", "p90", "p99")]
    for variant in evaluation.variants:
        name = printable(variant.name)
        rows.append((f"{name}, first", *_times(variant.latency.first)))
        if variant.latency.warm:
            rows.append((f"{name}, warm", *_times(variant.latency.warm)))
    return _table(rows, style)


def _times(figures: Percentiles) -> tuple[str, str, str]:
    return duration(figures.p50_ms), duration(figures.p90_ms), duration(figures.p99_ms)


def _table(rows: Sequence[tuple[str, ...]], style: Style) -> list[str]:
    """Align rows below their headers: the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return [style.dim(lines[0]), *lines[1:]]


def _comparison(comparison: Comparison, limit: int, style: Style) -> list[str]:
    names = f"{printable(comparison.variant)} against {printable(comparison.against)}"
    lines = [
        f"{style.bold(names)}: NDCG@{limit} {_signed(comparison.difference)}, 95% interval "
        f"{_signed(comparison.low)} to {_signed(comparison.high)}: {_verdict(comparison)}",
        f"  {comparison.wins:,} better, {comparison.losses:,} worse, {comparison.ties:,} equal",
    ]
    for change in comparison.changes:
        ranks = f"{_ranks_text(change.ranks)} against {_ranks_text(change.ranks_against)}"
        lines.append(
            f"  {change.difference:+.2f}  {_query_text(change.query)}  {style.dim(f'rank {ranks}')}"
        )
    return lines


def _signed(difference: float) -> str:
    text = f"{difference:+.3f}"
    return "0" if float(text) == 0 else text


def _verdict(comparison: Comparison) -> str:
    if comparison.low > 0:
        return "better"
    return "worse" if comparison.high < 0 else "no significant difference"


def _ranks_text(ranks: Sequence[int | None]) -> str:
    return ", ".join("-" if rank is None else str(rank) for rank in ranks)


def _not_found(variant: VariantResult, style: Style, shown: int) -> list[str]:
    results = [result for result in variant.results if not result.is_found]
    if not results:
        return []
    asked = count(len(variant.results), "query")
    head = f"{printable(variant.name)} found no target for {len(results):,} of {asked}"
    rows = [
        f"  {_place((result.line,))}{_query_text(result.query)}"
        + ("" if result.hits else style.dim("  no hits at all"))
        for result in results
    ]
    return [style.warning(head), *_first(rows, shown)]


def _lost(targets: Sequence[LostTarget], style: Style, shown: int) -> list[str]:
    if not targets:
        return []
    are = "target is" if len(targets) == 1 else "targets are"
    head = f"{len(targets):,} {are} not in the index and cannot be found"
    return [style.warning(head), *_first(list(_lost_rows(targets)), shown)]


def _lost_rows(targets: Sequence[LostTarget]) -> Iterator[str]:
    for each in targets:
        target = Target(path=each.path, line_start=each.line_start, line_end=each.line_end)
        reason = each.reason.replace("_", " ")
        yield f"  {_place(each.lines)}{printable(str(target))}  {reason}: {printable(each.detail)}"


def _first(rows: Sequence[str], shown: int) -> list[str]:
    if len(rows) <= shown:
        return list(rows)
    return [*rows[:shown], f"  and {len(rows) - shown:,} more (--show)"]


def _place(lines: Sequence[int]) -> str:
    numbers = ", ".join(str(line) for line in lines if line)
    return f"line {numbers}: " if numbers else ""


def _query_text(query: str) -> str:
    text = printable(query)
    return text if len(text) <= _QUERY_WIDTH else text[: _QUERY_WIDTH - 1] + "…"


@record
class _Options:
    """The options as parsed by click."""

    mode: tuple[str, ...]
    against: tuple[str, ...]
    settings: tuple[str, ...]
    limit: int
    rounds: int
    show: int
    min_ndcg: float | None

    def evaluation(self) -> EvaluationOptions:
        """Return the options for the engine.

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
    help="Ask every query this many times: first cold, then warm.",
)
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Maximum number of queries and targets to list.",
)
@click.option(
    "--min-ndcg",
    type=click.FloatRange(0, 1),
    help="Exit with code 1 if the NDCG is below this.",
)
@json_option
def command(golden: str, *, project: str | None, as_json: bool, **given: Any) -> int:
    """Run the queries of the file GOLDEN and measure the answers.

    A target is ranked by the first hit in its file and lines. NDCG is 1 when all targets are at the
    top, recall is the share of targets found, MRR is one over the rank of the first target, and hit
    rate is the share of queries with any target found. The first mode is compared with each other
    mode and setting, query by query: a difference is its NDCG minus theirs.
    """
    options = _Options(**given)
    evaluation_options = options.evaluation()
    queries, notes = _read(golden)
    with Catalog(load_config()) as catalog:
        index = index_of(catalog, project, by_name=True)
        with evaluation_on(sys.stderr, quiet=as_json) as on_progress:
            measured = index.evaluate(queries, evaluation_options, on_progress=on_progress)
    evaluation = replace(measured, notes=(*notes, *measured.notes))
    if as_json:
        print_json(evaluation)
    else:
        print_text(evaluation_text(evaluation, style_for(sys.stdout), shown=options.show))
    return _exit_code(evaluation, options.min_ndcg)


def _read(golden: str) -> GoldenFile:
    if golden == _STANDARD_INPUT:
        return parse_golden(sys.stdin.buffer, "standard input")
    return read_golden(golden)


def _setting_of(text: str) -> dict[str, int | str]:
    name, equals, value = argument_text(text).partition("=")
    if not equals or not name:
        raise InvalidInputError(
            f"--set expects NAME=VALUE, got {text!r}",
            hint="for example --set model=none",
            field="set",
        )
    return {name.strip(): value.strip()}


def _exit_code(evaluation: Evaluation, least: float | None) -> int:
    """Return the exit code, and report if the first variant is not good enough."""
    first = evaluation.variants[0]
    if least is None or first.overall.ndcg >= least:
        return OK
    sys.stderr.write(
        f"NDCG@{evaluation.limit} of {printable(first.name)} is {first.overall.ndcg:.4f}, "
        f"below the required {least:g}\n"
    )
    return FAILURE
