"""Run golden queries against an index, in one or several variants, and measure the answers.

A hit matches a target when their lines overlap, and the target is the path of the hit or its end at
a ``/``. A target that is the path of a file from the root means that file alone. Each target takes
the rank of the first hit that matches it. Hits are not deduplicated by file: a second hit in the
same file takes up a rank and gains nothing.

Targets that no answer can contain, because the index does not, are reported separately.
"""

import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from engine.browse_records import PathExplanation
from engine.errors import InvalidInputError
from engine.evaluation.golden import (
    Change,
    Comparison,
    Evaluation,
    EvaluationCallback,
    EvaluationOptions,
    EvaluationProgress,
    Figures,
    GoldenQuery,
    Latency,
    LostTarget,
    Percentiles,
    QueryResult,
    Target,
    Variant,
    VariantResult,
)
from engine.record_class import record
from engine.search_records import MAX_HITS, Mode, SearchAnswer, SearchRequest
from engine.store import files
from engine.store.connection import Handle

_RESAMPLES = 10_000
_DRAWN_AT_ONCE = 1 << 20  # numbers, which bounds the memory to some 20 MB
_SEED = 20_000

_NAMES_SHOWN = 3

#: The group of queries without a category, when others have one.
NO_CATEGORY = "(none)"
MOST_ROUNDS = 100
#: Fewer queries than this prove little about a difference.
FEW_QUERIES = 20

_EQUAL = 1e-9  # differences of the NDCG below this are rounding
#: Settings of indexing; settings of searching take effect at once.
_OF_INDEXING = frozenset(
    {"allow_secret_files", "model", "max_file_size", "parse_timeout", "worker_memory"}
)


class Place(Protocol):
    """Lines of a file, for example a hit."""

    @property
    def path(self) -> str:
        """Relative to some root, POSIX."""

    @property
    def line_start(self) -> int:
        """From 1."""

    @property
    def line_end(self) -> int:
        """Inclusive."""


def is_named(path: str, by: str, whole: Collection[str] = ()) -> bool:
    """Return whether a file is named by its path, or by the end of its path at a ``/``.

    Args:
        path: Of the file.
        by: What a target says.
        whole: What targets say that is a path from the root: it names no file below a folder.
    """
    return path == by or (path.endswith(f"/{by}") and by not in whole)


def ranks_of(
    hits: Sequence[Place], targets: Iterable[Target], limit: int, whole: Collection[str] = ()
) -> tuple[int | None, ...]:
    """Return the rank of each target among the first hits, from 1, or None when not found.

    Args:
        hits: Best first.
        targets: What answers the question.
        limit: How many hits count.
        whole: Paths of targets that are not the ends of longer ones.
    """
    return tuple(_rank_of(hits[:limit], target, whole) for target in targets)


def _rank_of(hits: Sequence[Place], target: Target, whole: Collection[str]) -> int | None:
    last = math.inf if target.line_end is None else target.line_end
    for rank, hit in enumerate(hits, 1):
        overlaps = hit.line_start <= last and target.line_start <= hit.line_end
        if overlaps and is_named(hit.path, target.path, whole):
            return rank
    return None


def ndcg_of(ranks: Sequence[int | None], limit: int) -> float:
    """Return the discounted gain of the distinct ranks as a share of a perfect answer's gain.

    A perfect answer has every target at a rank of its own, up to ``limit``.
    """
    gain = sum(map(_discount, sorted({rank for rank in ranks if rank})))
    return gain / sum(map(_discount, range(1, min(limit, len(ranks)) + 1)))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def recall_of(ranks: Sequence[int | None]) -> float:
    """Return the share of the targets that were found."""
    return sum(rank is not None for rank in ranks) / len(ranks)


def percentiles_of(times_ms: Iterable[float]) -> Percentiles:
    """Return p50, p90 and p99 by nearest rank; needs at least one time."""
    ordered = sorted(times_ms)

    def at(share: int) -> float:
        return ordered[-(-len(ordered) * share // 100) - 1]

    return Percentiles(p50_ms=at(50), p90_ms=at(90), p99_ms=at(99))


def interval_of(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of the mean of paired differences, by a percentile bootstrap.

    The same differences give the same interval: the draws are seeded.

    Args:
        differences: One a query, at least one.
    """
    import numpy as np  # takes 60 ms, and only comparisons need it

    values = np.asarray(differences)
    draws = np.random.default_rng(_SEED)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        rows = min(_RESAMPLES - len(means), max(1, _DRAWN_AT_ONCE // len(values)))
        chosen = draws.integers(0, len(values), (rows, len(values)))
        means.extend(values[chosen].mean(axis=1).tolist())
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


@record
class Reach:
    """The targets that the index of a branch cannot return, with notes."""

    lost: tuple[LostTarget, ...]  # in the order of the queries
    whole: frozenset[str]  # paths of targets that are not the ends of longer ones
    notes: tuple[str, ...]


def reach_of(
    handle: Handle,
    branch_id: int,
    queries: Iterable[GoldenQuery],
    why: Callable[[str], PathExplanation],
) -> Reach:
    """Look every target up in the index.

    Args:
        handle: A read transaction.
        branch_id: The branch that is searched.
        queries: With their targets.
        why: Explains a path that the index does not hold: one that exists means no other file.
    """
    lines = _lines_of(queries)
    known = files.read_known_files(handle, branch_id)
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    lost = []
    several: dict[str, int] = {}
    whole: set[str] = set()
    for target, numbers in lines.items():
        explanation = None if target.path in known else why(target.path)
        if explanation is None or explanation.outcome != "missing":
            whole.add(target.path)
        name = target.path.rpartition("/")[2]
        found = [path for path in by_name.get(name, ()) if is_named(path, target.path, whole)]
        if len(found) > 1:
            several[target.path] = len(found)
        if explanation is not None and not found:
            reason = explanation.reason or explanation.outcome
            lost.append(_lost(target, numbers, reason, explanation.detail))
        elif target.line_start > 1:
            longest = max(_line_count(handle, branch_id, path) for path in found)
            if target.line_start > longest:
                detail = f"the file has {longest:,} lines"
                lost.append(_lost(target, numbers, "past_the_end", detail))
    return Reach(lost=tuple(lost), whole=frozenset(whole), notes=tuple(_ambiguity_notes(several)))


def _lines_of(queries: Iterable[GoldenQuery]) -> Mapping[Target, Sequence[int]]:
    lines: dict[Target, list[int]] = {}
    for query in queries:
        for target in query.relevant:
            lines.setdefault(target, []).append(query.line)
    return lines


def _line_count(handle: Handle, branch_id: int, path: str) -> int:
    facts = files.read_file(handle, branch_id, path)
    return facts.line_count if facts else 0


def _lost(target: Target, lines: Sequence[int], reason: str, detail: str) -> LostTarget:
    return LostTarget(
        path=target.path,
        line_start=target.line_start,
        line_end=target.line_end,
        lines=tuple(lines),
        reason=reason,
        detail=detail,
    )


def _ambiguity_notes(several: Mapping[str, int]) -> Iterable[str]:
    """Yield a note on targets that match several files."""
    if several:
        shown = [f"{path} ({number})" for path, number in list(several.items())[:_NAMES_SHOWN]]
        more = ", …" if len(several) > _NAMES_SHOWN else ""
        yield (
            f"{len(several):,} of the targets fit several files, any of which counts: "
            f"{', '.join(shown)}{more}"
        )


Search = Callable[[SearchRequest], SearchAnswer]
#: Reopens the project with some settings changed, as a process without any queries so far.
OpenSearch = Callable[[Mapping[str, int | str]], AbstractContextManager[Search]]


class _Clock:
    """Counts the queries and reports progress."""

    def __init__(self, on_progress: EvaluationCallback | None, total: int) -> None:
        self._on_progress = on_progress
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()

    def count(self, variant: str) -> None:
        self._done += 1
        if self._on_progress:
            elapsed_ms = int((time.monotonic() - self._started_s) * 1000)
            self._on_progress(
                EvaluationProgress(
                    variant=variant, done=self._done, total=self._total, elapsed_ms=elapsed_ms
                )
            )


def evaluate(
    project: str,
    queries: Sequence[GoldenQuery],
    options: EvaluationOptions,
    reach: Reach,
    open_search: OpenSearch,
    on_progress: EvaluationCallback | None = None,
) -> Evaluation:
    """Run all queries in all variants, one variant after the other.

    Args:
        project: The root path, for the record.
        queries: With their known answers.
        options: The variants, the number of rounds, and how many hits count.
        reach: The unreachable targets, for the record, and those that are whole paths.
        open_search: Opens the search of a variant.
        on_progress: Called in this thread after each query; an exception ends the evaluation.

    Raises:
        InvalidInputError: There is no query, a number is out of its range, a query cannot be read
            (details have its line), or two variants are the same.
        UnavailableError: A mode needs something that this index lacks.
    """
    _check(queries, options)
    clock = _Clock(on_progress, len(options.variants) * options.rounds * len(queries))
    notes = dict.fromkeys((*_notes(queries, options), *reach.notes))
    results: list[VariantResult] = []
    for variant in options.variants:
        with open_search(variant.settings) as search:
            result, new_notes = _measured(variant, queries, search, options, reach.whole, clock)
        results.append(result)
        notes |= dict.fromkeys(new_notes)
    return Evaluation(
        project=project,
        queries=len(queries),
        targets=sum(len(query.relevant) for query in queries),
        limit=options.limit,
        rounds=options.rounds,
        variants=tuple(results),
        comparisons=tuple(compare(results[0], each, options.changes) for each in results[1:]),
        lost_targets=reach.lost,
        notes=tuple(notes),
    )


def result_of(
    query: GoldenQuery,
    mode: Mode,
    hits: Sequence[Place],
    limit: int,
    took_ms: float,
    whole: Collection[str] = (),
) -> QueryResult:
    """Measure one answer.

    Args:
        query: With its known answers.
        mode: How it was asked.
        hits: Best first.
        limit: How many hits count.
        took_ms: How long the answer took.
        whole: Paths of targets that are not the ends of longer ones.
    """
    ranks = ranks_of(hits, query.relevant, limit, whole)
    return QueryResult(
        line=query.line,
        query=query.query,
        category=query.category,
        mode=mode,
        hits=len(hits),
        ranks=ranks,
        ndcg=ndcg_of(ranks, limit),
        recall=recall_of(ranks),
        took_ms=took_ms,
    )


def figures_of(results: Sequence[QueryResult]) -> Figures:
    """Return the means over results, of which there is at least one."""
    return Figures(
        queries=len(results),
        ndcg=statistics.fmean(each.ndcg for each in results),
        recall=statistics.fmean(each.recall for each in results),
        mrr=statistics.fmean(each.reciprocal_rank for each in results),
        hit_rate=statistics.fmean(each.is_found for each in results),
    )


def compare(variant: VariantResult, against: VariantResult, changes: int) -> Comparison:
    """Compare two variants that have run the same queries in the same order.

    Args:
        variant: Is better where differences are positive.
        against: What it is compared with.
        changes: The most queries to list.
    """
    pairs = list(zip(variant.results, against.results, strict=True))
    differences = [one.ndcg - other.ndcg for one, other in pairs]
    low, high = interval_of(differences)
    changed = [
        Change(
            line=one.line,
            query=one.query,
            difference=one.ndcg - other.ndcg,
            ranks=one.ranks,
            ranks_against=other.ranks,
        )
        for one, other in pairs
        if abs(one.ndcg - other.ndcg) > _EQUAL
    ]
    wins = sum(each.difference > 0 for each in changed)
    changed.sort(key=lambda each: -abs(each.difference))
    return Comparison(
        variant=variant.name,
        against=against.name,
        difference=statistics.fmean(differences),
        low=low,
        high=high,
        wins=wins,
        losses=len(changed) - wins,
        ties=len(pairs) - len(changed),
        changes=tuple(changed[:changes]),
    )


def _check(queries: Sequence[GoldenQuery], options: EvaluationOptions) -> None:
    if not queries or not options.variants:
        missing = "query" if options.variants else "variant"
        raise InvalidInputError(f"there is no {missing} to evaluate", field="queries")
    for name, value, most in (
        ("limit", options.limit, MAX_HITS),
        ("rounds", options.rounds, MOST_ROUNDS),
    ):
        if not 1 <= value <= most:
            raise InvalidInputError(f"{name} is {value}, wanted 1 to {most}", field=name)
    names = [variant.name for variant in options.variants]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{twice[0]} would be compared to itself", field="variants")


def _notes(queries: Sequence[GoldenQuery], options: EvaluationOptions) -> Iterator[str]:
    """Yield what to know about the figures, before any query is run."""
    for name in {name: 0 for variant in options.variants for name in variant.settings}:
        if name in _OF_INDEXING:
            yield (
                f"the setting {name} takes effect when files are indexed: "
                "this measures what the index holds now"
            )
    own = sum(query.mode is not None for query in queries)
    if own and len(options.variants) > 1:
        yield f"queries with their own mode ({own}) use it in all variants"
    if len(options.variants) > 1 and len(queries) < FEW_QUERIES:
        yield f"fewer than {FEW_QUERIES} queries say little about a difference"


def _measured(
    variant: Variant,
    queries: Sequence[GoldenQuery],
    search: Search,
    options: EvaluationOptions,
    whole: Collection[str],
    clock: _Clock,
) -> tuple[VariantResult, list[str]]:
    """Run every query in all rounds; return the results and the notes of the answers."""
    results: list[QueryResult] = []
    notes: dict[str, None] = {}
    later: list[list[float]] = [[] for _ in queries]
    for number in range(options.rounds):
        for query, times in zip(queries, later, strict=True):
            answer, took_ms = _timed_search(search, query, variant.mode, options.limit)
            if number:
                times.append(took_ms)
            else:
                results.append(
                    result_of(query, answer.mode, answer.hits, options.limit, took_ms, whole)
                )
                notes |= dict.fromkeys(answer.notes)
            clock.count(variant.name)
    warm = [statistics.median(times) for times in later] if options.rounds > 1 else []
    result = VariantResult(
        name=variant.name,
        mode=variant.mode,
        settings=variant.settings,
        overall=figures_of(results),
        by_category=_by_category(results),
        latency=Latency(
            first=percentiles_of(each.took_ms for each in results),
            warm=percentiles_of(warm) if warm else None,
        ),
        nothing_found=tuple(each.query for each in results if not each.is_found),
        results=tuple(results),
    )
    return result, list(notes)


def _timed_search(
    search: Search, query: GoldenQuery, mode: Mode, limit: int
) -> tuple[SearchAnswer, float]:
    """Ask one query; the answer and how many milliseconds it took.

    Raises:
        InvalidInputError: The query or a filter cannot be read; details have its line.
    """
    request = SearchRequest(
        query=query.query,
        mode=query.mode or mode,
        language=query.language,
        path=query.path,
        kind=query.kind,
        limit=limit,
    )
    started = time.perf_counter()
    try:
        answer = search(request)
    except InvalidInputError as error:
        details = {**error.details, "query": query.query}
        if not query.line:
            raise InvalidInputError(str(error), hint=error.hint, **details) from error
        details["line"] = query.line
        raise InvalidInputError(
            f"line {query.line}: {error}", hint=error.hint, **details
        ) from error
    return answer, (time.perf_counter() - started) * 1000


def _by_category(results: Sequence[QueryResult]) -> dict[str, Figures]:
    groups: dict[str, list[QueryResult]] = {}
    for result in results:
        groups.setdefault(result.category or NO_CATEGORY, []).append(result)
    if set(groups) == {NO_CATEGORY}:
        return {}
    return {name: figures_of(group) for name, group in sorted(groups.items())}
