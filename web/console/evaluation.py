"""An evaluation as text: tables of the figures, then what to look at."""

from collections.abc import Iterator, Sequence

from engine.evaluation.golden import (
    Comparison,
    Evaluation,
    Figures,
    LostTarget,
    Percentiles,
    Target,
    VariantResult,
)
from web.terminal import Style, printable
from web.wording import count, duration, percent

_QUERY_WIDTH = 90  # characters of a query that are shown


def evaluation_text(evaluation: Evaluation, style: Style, *, shown: int) -> str:
    """Give quality and latency as tables, comparisons, and the lists of what went wrong.

    Args:
        evaluation: What was measured.
        style: Colours or none.
        shown: The most rows of a list.
    """
    blocks = [[_head(evaluation)], _quality(evaluation, style), _latency(evaluation, style)]
    blocks += [_comparison(each, evaluation.limit, style) for each in evaluation.comparisons]
    blocks += [_not_found(evaluation.variants[0], style, shown)]
    blocks += [_lost(evaluation.lost_targets, style, shown)]
    blocks += [[style.warning(f"note: {printable(note)}") for note in evaluation.notes]]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _head(evaluation: Evaluation) -> str:
    asked = f"{count(evaluation.queries, 'query')} with {count(evaluation.targets, 'target')}"
    return f"{asked}, asked of {printable(evaluation.project)}"


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
    """Align rows below their heads: the first column to the left, numbers to the right."""
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
        f"{style.bold(names)}: NDCG@{limit} {_signed(comparison.difference)}, 95 % interval "
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
    return "worse" if comparison.high < 0 else "no difference is shown"


def _ranks_text(ranks: Sequence[int | None]) -> str:
    return ", ".join("-" if rank is None else str(rank) for rank in ranks)


def _not_found(variant: VariantResult, style: Style, shown: int) -> list[str]:
    results = [result for result in variant.results if not result.is_found]
    if not results:
        return []
    asked = count(len(variant.results), "query")
    head = f"{printable(variant.name)} finds no target of {len(results):,} of {asked}"
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
    head = f"{len(targets):,} {are} not in the index, and cannot be found"
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
