"""Golden queries, the records of an evaluation, and the reader of golden files.

A golden file has one JSON object a line: ``{"query": "…", "relevant": ["src/a.py",
"src/b.py:10-40", {"path": "src/c.py", "start_line": 1, "end_line": 9}]}``, with optional
``category``, ``mode``, ``language``, ``path``, ``kind`` and ``note`` (a comment, not read). Blank
lines are skipped.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import InvalidInputError
from engine.record_class import record
from engine.records import LinePlace, display_path, is_path
from engine.search_records import Mode

#: More than anyone writes by hand; a larger file is something else.
MOST_QUERIES = 100_000
LONGEST_LINE_BYTES = 1 << 20

_KEYS = ("query", "relevant", "category", "mode", "language", "path", "kind", "note")
_TARGET_KEYS = ("path", "start_line", "end_line")
_LINES_FORM = 'wanted "src/a.py", "src/a.py:10-40" or an object with path, start_line and end_line'


@record
class Target:
    """A location that answers a golden query: a file, or lines of a file."""

    path: str  # from the project's root, or the end of such paths if nothing has it
    line_start: int = 1
    line_end: int | None = None  # None: the end of the file

    def __str__(self) -> str:
        if self.line_end is not None:
            return f"{self.path}:{self.line_start}-{self.line_end}"
        return f"{self.path}:{self.line_start}-" if self.line_start > 1 else self.path


@record
class GoldenQuery:
    """A query whose answers are known."""

    query: str
    relevant: tuple[Target, ...]  # at least one
    mode: Mode | None = None  # the mode of this query; None: that of the variant
    category: str = ""
    language: str | None = None
    path: str | None = None  # prefix or glob
    kind: str | None = None
    line: int = 0  # of its file, from 1; 0 when it comes from none


@record
class Variant:
    """One combination of mode and settings to answer all queries."""

    mode: Mode = Mode.HYBRID
    settings: Mapping[str, int | str] = field(default_factory=dict)  # in place of those in force

    @property
    def name(self) -> str:
        """Mode and settings in short, for example ``hybrid, model=none``."""
        return ", ".join([self.mode.value, *(f"{k}={v}" for k, v in self.settings.items())])


@record
class EvaluationOptions:
    """The options of an evaluation."""

    variants: tuple[Variant, ...] = (Variant(),)  # the first is compared with each of the others
    limit: int = 10  # hits that count, 1 to 100
    rounds: int = 3  # how often each query is run, the first time cold; 1 to 100
    changes: int = 10  # queries that a comparison lists at most


@record
class Figures:
    """Means over queries; each is 0 to 1, higher is better."""

    queries: int
    ndcg: float
    recall: float  # share of the targets that were found
    mrr: float  # one over the rank of the first target found
    hit_rate: float  # share of the queries of which any target was found


@record
class Percentiles:
    """Percentiles of the time that answers took."""

    p50_ms: float
    p90_ms: float
    p99_ms: float


@record
class Latency:
    """The time that answers took, cold and warm."""

    first: Percentiles
    warm: Percentiles | None  # of the medians of the later rounds; None when there was one round


@record
class QueryResult:
    """The result of one query."""

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
        """Return whether any target was found."""
        return any(self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first target found, 0 without one."""
        return 1 / min((rank for rank in self.ranks if rank), default=float("inf"))


@record
class VariantResult:
    """The results of one variant for all queries."""

    name: str
    mode: Mode
    settings: Mapping[str, int | str]
    overall: Figures
    by_category: Mapping[str, Figures]  # by name; empty when no query has a category
    latency: Latency
    nothing_found: tuple[str, ...]  # the queries of which no target was found
    results: tuple[QueryResult, ...]  # in the order of the queries


@record
class Change:
    """A query that two variants answer differently."""

    line: int
    query: str
    difference: float  # of the NDCG
    ranks: tuple[int | None, ...]
    ranks_against: tuple[int | None, ...]


@record
class Comparison:
    """Two variants, query by query; differences are those of the NDCG, variant minus against."""

    variant: str
    against: str
    difference: float  # of the means
    low: float  # bounds of the 95% interval of the difference, by a paired bootstrap
    high: float
    wins: int  # queries that the variant answers better
    losses: int
    ties: int
    changes: tuple[Change, ...]  # the largest first


@record
class LostTarget:
    """A target that no answer can contain, because the index does not contain it."""

    path: str
    line_start: int
    line_end: int | None
    lines: tuple[int, ...]  # of the golden file
    reason: str  # of a skip; else not_seen, missing, folder, or past_the_end
    detail: str  # in words, with what to do


@record
class Evaluation:
    """The quality of answers to golden queries; ``cairn eval --json`` prints these keys."""

    project: str  # the root path
    queries: int
    targets: int
    limit: int
    rounds: int
    variants: tuple[VariantResult, ...]
    comparisons: tuple[Comparison, ...]  # of the first variant with each of the others
    lost_targets: tuple[LostTarget, ...]
    notes: tuple[str, ...] = ()


@record
class EvaluationProgress:
    """The progress of an evaluation; passed to the caller's callback after each query."""

    variant: str
    done: int  # queries run, over all variants and rounds
    total: int
    elapsed_ms: int


EvaluationCallback = Callable[[EvaluationProgress], None]


class GoldenFile(NamedTuple):
    """The contents of a golden file."""

    queries: tuple[GoldenQuery, ...]
    notes: tuple[str, ...]  # what was left out, in sentences


class _BadLine(Exception):  # noqa: N818 - becomes an InvalidInputError with its line
    """A problem of a line.

    Args:
        field: The key that is wrong; empty for the line as a whole.
        message: The value found and the value expected.
        hint: A valid value.
    """

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.hint = hint


def read_golden(path: Path | str) -> GoldenFile:
    """Read a file of golden queries.

    Raises:
        InvalidInputError: It cannot be read, a line is not valid, or there is none;
            details name line and field.
    """
    try:
        with open(path, "rb") as lines:
            return parse_golden(lines, display_path(str(path)))
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {display_path(str(path))}: {error.strerror or error}", field="golden"
        ) from error


def parse_golden(lines: Iterable[bytes], name: str) -> GoldenFile:
    """Read golden queries from lines.

    Args:
        lines: With or without their line ends, UTF-8.
        name: Their name in errors.

    Raises:
        InvalidInputError: As ``read_golden``.
    """
    queries: list[GoldenQuery] = []
    notes: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not text.strip():
            continue
        try:
            given = _object_of(text)
            query = _query_of(given, number)
        except _BadLine as error:
            field = f", {error.field}" if error.field else ""
            raise InvalidInputError(
                f"{name}, line {number}{field}: {error}",
                hint=error.hint,
                line=number,
                field=error.field or "golden",
            ) from error
        if len(query.relevant) < len(given["relevant"]):
            notes.append(f"line {number} names a target twice; it counts once")
        queries.append(query)
        if len(queries) > MOST_QUERIES:
            raise InvalidInputError(
                f"{name} has more than {MOST_QUERIES:,} queries", field="golden"
            )
    if not queries:
        raise InvalidInputError(
            f"{name} has no queries",
            hint='one a line, like {"query": "parse the config", "relevant": ["src/config.py"]}',
            field="golden",
        )
    return GoldenFile(tuple(queries), tuple(notes))


def _object_of(line: bytes) -> Mapping[str, Any]:
    if len(line) > LONGEST_LINE_BYTES:
        raise _BadLine("", f"longer than {LONGEST_LINE_BYTES:,} bytes")
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        raise _BadLine("", f"byte {error.start + 1} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise _BadLine(
            "", f"not JSON: {error.msg} at character {error.pos + 1}", "one object a line"
        ) from error
    except (RecursionError, ValueError) as error:
        raise _BadLine(
            "", "JSON that cannot be read: nested too deeply, or a number too long"
        ) from error
    if not isinstance(value, dict):
        raise _BadLine("", f"wanted an object, got {_kind_of(value)}")
    return value


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _BadLine(key, "is given twice")
        found[key] = value
    return found


def _query_of(line: Mapping[str, Any], number: int) -> GoldenQuery:
    _check_keys(line, _KEYS)
    query = _text_of(line, "query")
    if query is None:
        raise _BadLine("query", "is missing")
    relevant = line.get("relevant")
    if not isinstance(relevant, list) or not relevant:
        got = "it is missing" if relevant is None else f"got {_kind_of(relevant)}"
        raise _BadLine("relevant", f"wanted a list of at least one target, {got}")
    return GoldenQuery(
        query=query,
        relevant=tuple(dict.fromkeys(map(_target_of, relevant))),
        mode=_mode_of(line),
        category=_text_of(line, "category") or "",
        language=_text_of(line, "language"),
        path=_text_of(line, "path"),
        kind=_text_of(line, "kind"),
        line=number,
    )


def _check_keys(given: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise _BadLine(key, "is not a key of a golden query", "known: " + ", ".join(known))


def _text_of(line: Mapping[str, Any], key: str) -> str | None:
    value = line.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise _BadLine(key, f"wanted a text, got {_kind_of(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _BadLine(key, "has half of a surrogate pair") from error
    return value


def _mode_of(line: Mapping[str, Any]) -> Mode | None:
    text = _text_of(line, "mode")
    try:
        return None if text is None else Mode(text)
    except ValueError as error:
        known = ", ".join(mode.value for mode in Mode)
        raise _BadLine("mode", f"got {text!r}, wanted one of {known}") from error


def _target_of(value: object) -> Target:
    if isinstance(value, str):
        place = LinePlace.parse(value)
        if place is None:
            return Target(path=_path_of(value))
        return _spanned(place.path, place.start, place.last)
    if not isinstance(value, dict):
        raise _BadLine("relevant", f"got {_kind_of(value)} as a target", _LINES_FORM)
    _check_keys(value, _TARGET_KEYS)
    path = value.get("path")
    if not isinstance(path, str):
        raise _BadLine("relevant", "a target has no path", _LINES_FORM)
    return _spanned(path, _line_of(value, "start_line") or 1, _line_of(value, "end_line"))


def _spanned(path: str, first: int, last: int | None) -> Target:
    if first < 1 or (last is not None and last < first):
        raise _BadLine(
            "relevant", f"{display_path(path)} has lines {first} to {last}", "lines count from 1"
        )
    return Target(path=_path_of(path), line_start=first, line_end=last)


def _line_of(target: Mapping[str, Any], key: str) -> int | None:
    value = target.get(key)
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise _BadLine("relevant", f"{key} is {value!r}, wanted a line number of at least 1")
    return value


def _path_of(text: str) -> str:
    path = re.sub(r"^(\./+)+", "", text)
    if not path.strip() or not is_path(path):
        raise _BadLine("relevant", f"no path can be {text!r}", _LINES_FORM)
    if path.startswith("/") or ".." in path.split("/"):
        raise _BadLine(
            "relevant",
            f"{display_path(text)!r} is not a path below the project's root",
            _LINES_FORM,
        )
    return path


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return "an empty text" if not value.strip() else "a text"
    if isinstance(value, list):
        return "an empty list" if not value else "a list"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return "an object" if isinstance(value, dict) else "a number"
