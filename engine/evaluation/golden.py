"""Golden queries and what measuring an index by them gives: records only.

``golden_file`` reads the queries, ``evaluate`` asks them, ``measures`` does the arithmetic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.records import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place that answers a golden query: a file, or lines of a file."""

    path: str  # relative to the project's root, or the end of such a path
    line_start: int = 1
    line_end: int | None = None  # None: the end of the file

    def __str__(self) -> str:
        if self.line_end is not None:
            return f"{self.path}:{self.line_start}-{self.line_end}"
        return f"{self.path}:{self.line_start}-" if self.line_start > 1 else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenQuery:
    """A question whose right answers are known."""

    query: str
    relevant: tuple[Target, ...]  # at least one
    mode: Mode | None = None  # how it is always asked; None: as the variant says
    category: str = ""
    language: str | None = None
    path: str | None = None  # prefix or glob
    kind: str | None = None
    line: int = 0  # of its file, from 1; 0 when it comes from none


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to answer all queries."""

    mode: Mode = Mode.HYBRID
    settings: Mapping[str, int | str] = field(default_factory=dict)  # in place of those in force

    @property
    def name(self) -> str:
        """Mode and settings in short, such as ``hybrid, model=none``."""
        return ", ".join([self.mode.value, *(f"{k}={v}" for k, v in self.settings.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What an evaluation may set."""

    variants: tuple[Variant, ...] = (Variant(),)  # the first is compared with each of the others
    limit: int = 10  # hits that count, 1 to 100
    rounds: int = 3  # times that every query is asked: once first, then warm; 1 to 100
    changes: int = 10  # queries that a comparison lists at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over queries; each is 0 to 1, higher is better."""

    queries: int
    ndcg: float
    recall: float  # share of the targets that were found
    mrr: float  # one over the rank of the first target found
    hit_rate: float  # share of the queries of which any target was found


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Of the time that answers took."""

    p50_ms: float
    p90_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long answers took, in a process that asked nothing before and when it is warm."""

    first: Percentiles
    warm: Percentiles | None  # of the medians of the later rounds; None when there was one round


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """How one query was answered."""

    line: int  # of the golden file
    query: str
    category: str
    mode: Mode
    hits: int
    ranks: tuple[int | None, ...]  # of each target, from 1; None when it was not found
    ndcg: float
    recall: float
    took_ms: float  # the first time

    @property
    def is_found(self) -> bool:
        """Tell whether any target was found."""
        return any(self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first target found, 0 without one."""
        return 1 / min((rank for rank in self.ranks if rank), default=float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """How one variant answered all queries."""

    name: str
    mode: Mode
    settings: Mapping[str, int | str]
    overall: Figures
    by_category: Mapping[str, Figures]  # by name; empty when no query has a category
    latency: Latency
    nothing_found: tuple[str, ...]  # the queries of which no target was found
    results: tuple[QueryResult, ...]  # in the order of the queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A query that two variants answer differently."""

    line: int
    query: str
    difference: float  # of the NDCG
    ranks: tuple[int | None, ...]
    ranks_against: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two variants, query by query; differences are those of the NDCG, variant minus against."""

    variant: str
    against: str
    difference: float  # of the means
    low: float  # bounds of the 95 % interval of the difference, by a paired bootstrap
    high: float
    wins: int  # queries that the variant answers better
    losses: int
    ties: int
    changes: tuple[Change, ...]  # the largest first


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTarget:
    """A target that no answer can hold, because the index does not."""

    path: str
    line_start: int
    line_end: int | None
    lines: tuple[int, ...]  # of the golden file
    reason: str  # of a skip; else not_seen, missing, folder, or past_the_end
    detail: str  # in words, with what to do


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How well an index answers golden queries; ``cairn eval --json`` prints these keys."""

    project: str  # the root path
    queries: int
    targets: int
    limit: int
    rounds: int
    variants: tuple[VariantResult, ...]
    comparisons: tuple[Comparison, ...]  # of the first variant with each of the others
    lost_targets: tuple[LostTarget, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How far an evaluation is; handed to the caller's callback after each query."""

    variant: str
    done: int  # queries asked, over all variants and rounds
    total: int
    elapsed_ms: int


AskedCallback = Callable[[Asked], None]
