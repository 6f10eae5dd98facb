"""How fast a job goes, and how long it still takes: arithmetic on what the job tells.

Parsing is foretold by bytes, for the largest files come first and files a second mislead; embedding
by chunks. What was expected of this machine counts as two seconds of experience, and experience
fades within a minute or so: the first guesses are not wild, a stall makes the end recede, and a
faster part brings it nearer.

How fast this machine indexes, as jobs that completed have shown; kept in ``logs/rates.json``.

A rate is work and the seconds it took, both of late: once two minutes are remembered, older work
fades as new work comes in. Before anything was measured it is what two cores do, with the weight of
a few seconds, so the first long job corrects it and a short one hardly moves it.

Where a run is, and why when it has not moved for a while.
"""

import json
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from engine.embedding.choice import Backend
from engine.records import Phase, Progress

_RATE_WINDOW_S = 15.0
_RATE_STEP_S = 0.25  # between two remembered counts
_SAYS_NOTHING_S = 1.0  # of a phase, and of the whole job
_TRUST_S = 2.0  # what is expected weighs as much as so much experience
_FADES_S = 60.0  # experience of so long ago weighs 1/e
_SLOWEST = 1000  # a stall lets a speed fall to this part of what is expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is expected of a job before anything of it can be seen."""

    seconds: float | None = None  # of the whole job; None: not estimated
    bytes_a_second: float = 4e6  # of changed source, through reading, parsing and storing
    chunks_a_second: float | None = None  # None: vectors are written with their chunks
    bytes_a_chunk: float = 1150.0
    chunks_lacking: int = 0  # vectors of what is stored already
    finish_share: float = 0.0  # of the time for parsing: what deleting old contents takes after it


class Pace:
    """The pace of one try of a job, from any thread.

    Args:
        outlook: What is expected.
        clock: Gives seconds and never goes backwards; what ``note`` is given comes from it too.
    """

    def __init__(
        self, outlook: Outlook | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._outlook = outlook or Outlook()
        self._clock = clock
        self._lock = threading.Lock()
        self._started_s = clock()
        self._bytes = _Speed(self._outlook.bytes_a_second)
        self._chunks = _Speed(self._outlook.chunks_a_second or 0.0)
        self._last: Progress | None = None
        self._last_s = self._started_s
        self._phase_s = self._started_s  # when this phase began
        self._counts: deque[tuple[float, int]] = deque()  # (time, done) of this phase
        self._bytes_total = 0  # of the last scan that found any

    def note(self, progress: Progress, now_s: float) -> None:
        """Hear how far the run is.

        Time counts only between two calls in the same phase: not the time in which a job waited
        or, with counts that begin anew, started again.
        """
        with self._lock:
            if self._goes_on(progress):
                self._learn(progress, now_s - self._last_s)
            else:
                self._counts.clear()
                self._phase_s = now_s
            self._last, self._last_s = progress, now_s
            self._bytes_total = progress.bytes_total or self._bytes_total
            self._remember(now_s, progress.done)

    @property
    def rate(self) -> float | None:
        """Files a second, chunks while embedding, over the last 15 s or so.

        None in the first second of a phase.
        """
        with self._lock:
            if not self._counts or self._last is None:
                return None
            begin_s, begin = self._counts[0]
            passed_s = self._clock() - begin_s
            if passed_s < _SAYS_NOTHING_S:
                return None
            return (self._last.done - begin) / passed_s

    @property
    def remaining_ms(self) -> int | None:
        """The time that is left; None when nothing can be said, as in the first second."""
        with self._lock:
            now_s = self._clock()
            if self._last is None or now_s - self._started_s < _SAYS_NOTHING_S:
                return None
            seconds = self._remaining_s(self._last, now_s)
            return None if seconds is None else max(0, round(seconds * 1000))

    def _goes_on(self, progress: Progress) -> bool:
        last = self._last
        return (
            last is not None
            and last.phase is progress.phase
            and last.done <= progress.done
            and last.bytes_done <= progress.bytes_done
        )

    def _learn(self, progress: Progress, seconds: float) -> None:
        assert self._last
        if progress.phase is Phase.PARSING:
            self._bytes.add(progress.bytes_done - self._last.bytes_done, seconds)
        elif progress.phase is Phase.EMBEDDING:
            self._chunks.add(progress.done - self._last.done, seconds)

    def _remaining_s(self, last: Progress, now_s: float) -> float | None:
        silent_s = max(0.0, now_s - self._last_s)
        if last.phase is Phase.SCANNING:
            left = (self._outlook.seconds or 0.0) - (now_s - self._started_s)
            return left if left > 0 else None
        if last.phase is Phase.EMBEDDING:
            return self._chunks.seconds_for((last.total or 0) - last.done, silent_s)
        if last.phase is Phase.PARSING:
            left_bytes = last.bytes_total - last.bytes_done
            parsing_s = self._bytes.seconds_for(left_bytes, silent_s)
            if parsing_s is None:
                return None
            return parsing_s + self._finishing_s() + self._embedding_s()
        finishing_s = self._finishing_s()
        if last.phase is Phase.FINISHING:
            finishing_s = max(0.0, finishing_s - (now_s - self._phase_s))
        return finishing_s + self._embedding_s()

    def _finishing_s(self) -> float:
        """Give the time for deleting what stale contents left."""
        share = self._outlook.finish_share
        return share * (self._bytes.seconds_for(self._bytes_total, 0.0) or 0.0)

    def _embedding_s(self) -> float:
        """Give the time for vectors that are made when all files are done."""
        if self._outlook.chunks_a_second is None:
            return 0.0
        chunks = self._outlook.chunks_lacking + self._bytes_total / self._outlook.bytes_a_chunk
        return self._chunks.seconds_for(chunks, 0.0) or 0.0

    def _remember(self, now_s: float, done: int) -> None:
        counts = self._counts
        if not counts or now_s - counts[-1][0] >= _RATE_STEP_S:
            counts.append((now_s, done))
        while len(counts) > 1 and now_s - counts[1][0] >= _RATE_WINDOW_S:
            counts.popleft()


class _Speed:
    """Work a second, from experience that fades."""

    def __init__(self, expected: float) -> None:
        self._slowest = expected / _SLOWEST
        self._work = expected * _TRUST_S
        self._seconds = _TRUST_S if expected else 0.0

    def add(self, work: float, seconds: float) -> None:
        kept = math.exp(-seconds / _FADES_S)
        self._work = self._work * kept + work
        self._seconds = self._seconds * kept + seconds

    def seconds_for(self, work: float, silent_s: float) -> float | None:
        """Give the time for so much work, when nothing has come for some time.

        None when no work was ever seen or expected.
        """
        if work <= 0:
            return 0.0
        kept = math.exp(-silent_s / _FADES_S)
        seconds = self._seconds * kept + silent_s
        speed = max(self._work * kept / seconds if seconds else 0.0, self._slowest)
        return work / speed if speed else None


_FILE = "logs/rates.json"
_MOST_BYTES = 1 << 16  # of the file
_MOST_MODELS = 50
_MEMORY_S = 120.0  # work of so many seconds is remembered
_RATE_TRUST_S = 4.0  # what a rate begins with weighs as much as so many seconds

#: Handling a file costs as much as parsing so many bytes (6,470 files of 700 bytes on average take
#: as much processor time as 17 MB of usual source).
FILE_BYTES = 2000
#: A run that parses anything first starts workers, which load grammars and the built-in model.
WORKERS_S = 0.35
#: Deleting what stale contents left takes this part of parsing the new ones (0.26 to 0.41).
REBUILD_SHARE = 0.33
# Below these, what is measured is mostly something else.
_LEAST_WALK_FILES = 2000
_LEAST_PARSE_S = 1.0
_LEAST_EMBED_S = 0.5
_MOST_REUSED = 0.05  # of the changed files, for a rate of parsing
_LEAST_REUSED = 0.95  # for a rate of reading what is stored already
_LEAST_START_S = 0.01
_SMALL_JOB_S = 0.3  # of expected walking and parsing: the rest is what starting costs

# Measured on two cores with the built-in model; see tests/benchmark/README.md.
_WALK_FILES_A_SECOND = 80_000.0
_PARSE_BYTES_A_SECOND_AND_CORE = 2.2e6
_MOST_CORES = 4  # then the process that writes is the slowest part
_READ_BYTES_A_SECOND = 40e6
_START_S = 0.15
_BYTES_A_CHUNK = 1150.0
_CHUNKS_A_SECOND: Mapping[str, float] = {
    Backend.STATIC: 10_000.0,  # one core, of chunks that were stored without
    Backend.ONNX: 30.0,
    Backend.OLLAMA: 30.0,
}
_CHUNKS_A_SECOND_OF_A_SERVER = 200.0


class Rate(NamedTuple):
    """Work and the seconds it took, of late."""

    work: float
    seconds: float

    @property
    def a_second(self) -> float:
        """Work a second."""
        return self.work / self.seconds

    def with_more(self, work: float, seconds: float) -> "Rate":
        """Take in more work; what is older fades."""
        kept = min(1.0, max(0.0, _MEMORY_S - seconds) / self.seconds)
        return Rate(self.work * kept + work, self.seconds * kept + seconds)


class Measured(NamedTuple):
    """What a completed job measured of itself."""

    model: str  # the setting
    files: int = 0  # found by the walk, skipped ones included
    walk_s: float = 0.0  # from the start of the job to the first file that is read
    changed_files: int = 0
    changed_bytes: int = 0
    reused_files: int = 0  # of changed_files: their content was stored already
    parse_s: float = 0.0
    finish_s: float = 0.0
    chunks: int = 0  # of the changed files
    embedded: int = 0  # chunks whose vectors were made after the files
    embed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What this machine does a second."""

    walk: Rate  # files, compared with what the index knows of them
    parse: Rate  # bytes of new source, FILE_BYTES more for each file
    read: Rate  # the same of source whose content is stored already
    start: Rate  # seconds that a job takes beside its work, by jobs
    chunk: Rate  # bytes of source by chunks: "a second" is a chunk here
    #: Chunks, by the setting that names the model.
    models: Mapping[str, Rate] = field(default_factory=dict)

    def chunks_a_second(self, model: str) -> float | None:
        """Give how fast a model embeds stored chunks; None for no model.

        Args:
            model: The setting.
        """
        kind = _kind_of(model)
        if kind == Backend.NONE:
            return None
        known = self.models.get(model.strip())
        usual = _CHUNKS_A_SECOND.get(kind, _CHUNKS_A_SECOND_OF_A_SERVER)
        return known.a_second if known else usual

    def outlook(
        self,
        model: str,
        *,
        seconds: float | None,
        chunks_lacking: int = 0,
        is_rebuild: bool = False,
    ) -> Outlook:
        """Give what is expected of a job.

        Args:
            model: The setting.
            seconds: The estimate of the whole job, if there is one.
            chunks_lacking: Stored chunks that need vectors.
            is_rebuild: What is stored is made again and goes.
        """
        later = is_embedded_later(model) or chunks_lacking > 0
        return Outlook(
            seconds=seconds,
            bytes_a_second=self.parse.a_second,
            chunks_a_second=self.chunks_a_second(model) if later else None,
            bytes_a_chunk=self.chunk.a_second if is_embedded_later(model) else math.inf,
            chunks_lacking=chunks_lacking,
            finish_share=REBUILD_SHARE if is_rebuild else 0.0,
        )

    def learn(self, seen: Measured) -> "Rates":
        """Take in what a job has measured; what it did too little of changes nothing."""
        rates = _with_start(self, seen)
        if seen.files >= _LEAST_WALK_FILES and seen.walk_s > 0:
            rates = replace(rates, walk=rates.walk.with_more(seen.files, seen.walk_s))
        weight = seen.changed_bytes + FILE_BYTES * seen.changed_files
        if seen.parse_s >= _LEAST_PARSE_S and weight:
            seconds = max(seen.parse_s - WORKERS_S, seen.parse_s / 2)
            share = seen.reused_files / max(1, seen.changed_files)
            if share <= _MOST_REUSED:
                rates = replace(rates, parse=rates.parse.with_more(weight, seconds))
                if seen.chunks:
                    rates = replace(
                        rates, chunk=rates.chunk.with_more(seen.changed_bytes, seen.chunks)
                    )
            elif share >= _LEAST_REUSED:
                rates = replace(rates, read=rates.read.with_more(weight, seconds))
        return _with_model(rates, seen)


class Stopwatch:
    """Measures the phases of one try of a job, from what it tells of itself.

    Args:
        started_ms: When it began, by the clock of all later calls.
    """

    def __init__(self, started_ms: int) -> None:
        self._spent_ms: dict[Phase, int] = {}
        self._last_ms = started_ms
        self._phase = Phase.SCANNING
        self._bytes = 0
        self._embedded = 0

    def observe(self, now_ms: int, progress: Progress) -> None:
        """Take in how far the job is."""
        self._pass(now_ms)
        self._phase = progress.phase
        self._bytes = max(self._bytes, progress.bytes_total)
        if progress.phase is Phase.EMBEDDING:
            self._embedded = max(self._embedded, progress.done)

    def waited(self, now_ms: int) -> None:
        """Leave out the time since the last call: the job waited for something outside."""
        self._last_ms = now_ms

    def measured(self, now_ms: int, counts: Mapping[str, int], model: str) -> Measured:
        """Give all that was measured, when the job has completed.

        Args:
            now_ms: When it completed.
            counts: ``files``, ``changed_files``, ``reused_files`` and ``chunks`` of this try.
            model: The setting.
        """
        self._pass(now_ms)
        spent_s = {phase: self._spent_ms.get(phase, 0) / 1000 for phase in Phase}
        return Measured(
            model=model,
            walk_s=spent_s[Phase.SCANNING],
            changed_bytes=self._bytes,
            parse_s=spent_s[Phase.PARSING] + spent_s[Phase.STORING],
            finish_s=spent_s[Phase.FINISHING],
            embedded=self._embedded,
            embed_s=spent_s[Phase.EMBEDDING],
            **counts,
        )

    def _pass(self, now_ms: int) -> None:
        passed_ms = max(0, now_ms - self._last_ms)
        self._spent_ms[self._phase] = self._spent_ms.get(self._phase, 0) + passed_ms
        self._last_ms = max(now_ms, self._last_ms)


def _with_start(rates: Rates, seen: Measured) -> Rates:
    """Learn what starting costs from a job with little to do."""
    weight = seen.changed_bytes + FILE_BYTES * seen.changed_files
    expected_s = seen.files / rates.walk.a_second + weight / rates.parse.a_second
    if expected_s > _SMALL_JOB_S or seen.embedded:
        return rates
    left_s = seen.walk_s + seen.parse_s + seen.finish_s - expected_s
    left_s -= WORKERS_S if weight else 0.0
    return replace(rates, start=rates.start.with_more(max(_LEAST_START_S, left_s), 1.0))


def _with_model(rates: Rates, seen: Measured) -> Rates:
    if not seen.embedded or seen.embed_s < _LEAST_EMBED_S:
        return rates
    name = seen.model.strip()
    known = {key: rate for key, rate in rates.models.items() if key != name}
    for oldest in list(known)[: max(0, len(known) + 1 - _MOST_MODELS)]:
        del known[oldest]
    before = rates.models.get(name) or Rate(rates.chunks_a_second(name) or 1.0, 1.0)
    known[name] = before.with_more(seen.embedded, seen.embed_s)
    return replace(rates, models=known)


def is_embedded_later(model: str) -> bool:
    """Say whether the vectors of new chunks are made when all files are done.

    Args:
        model: The setting.
    """
    return _kind_of(model) not in (Backend.STATIC, Backend.NONE)


def usual_rates(worker_count: int) -> Rates:
    """Give what to expect of a machine of which nothing is known."""
    parse = _PARSE_BYTES_A_SECOND_AND_CORE * min(worker_count, _MOST_CORES)
    return Rates(
        walk=Rate(_WALK_FILES_A_SECOND * _RATE_TRUST_S, _RATE_TRUST_S),
        parse=Rate(parse * _RATE_TRUST_S, _RATE_TRUST_S),
        read=Rate(_READ_BYTES_A_SECOND * _RATE_TRUST_S, _RATE_TRUST_S),
        start=Rate(_START_S * _RATE_TRUST_S, _RATE_TRUST_S),
        chunk=Rate(_BYTES_A_CHUNK * _RATE_TRUST_S, _RATE_TRUST_S),
    )


def load_rates(data_dir: Path, worker_count: int) -> Rates:
    """Read the rates of this machine; what is missing or damaged is as usual. Never raises."""
    usual = usual_rates(worker_count)
    try:
        with open(data_dir / _FILE, "rb") as file:
            stored = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return usual
    if not isinstance(stored, dict):
        return usual
    known = {
        name: rate
        for name in ("walk", "parse", "read", "start", "chunk")
        if (rate := _rate_of(stored.get(name))) is not None
    }
    models = stored.get("models")
    found = models.items() if isinstance(models, dict) else ()
    rates = {name: rate for name, value in found if (rate := _rate_of(value)) is not None}
    return replace(usual, **known, models=rates)


def save_rates(data_dir: Path, rates: Rates) -> None:
    """Replace the rates of this machine in one step; not being able to is no reason to fail."""
    values: dict[str, object] = {
        name: list(getattr(rates, name)) for name in ("walk", "parse", "read", "start", "chunk")
    }
    values["models"] = {name: list(rate) for name, rate in rates.models.items()}
    path = data_dir / _FILE
    beside = data_dir / f"{_FILE}.{os.getpid()}"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        beside.write_text(json.dumps(values, indent=1), "utf-8")
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            beside.unlink()


def _kind_of(model: str) -> str:
    return model.strip().partition(":")[0]


def _rate_of(value: object) -> Rate | None:
    if not isinstance(value, list) or len(value) != 2:
        return None
    if not all(type(each) in (int, float) and 1e-9 < each < 1e18 for each in value):
        return None
    return Rate(float(value[0]), float(value[1]))


_SLOW_S = 5.0  # without a step: then a reason is given


class Movement:
    """Follows one run by what it tells of its progress.

    Args:
        now_s: A clock that never goes back, as in the other calls.
    """

    def __init__(self, now_s: float) -> None:
        self.phase: Phase | None = None
        self.path = ""  # the file that it is at
        self._place: tuple[Phase, int, int] | None = None
        self._moved_s = now_s

    def note(self, progress: Progress, now_s: float) -> None:
        """Hear how far the run is."""
        self.phase, self.path = progress.phase, progress.current_path
        place = (progress.phase, progress.done, progress.bytes_done)
        if place != self._place:
            self._place, self._moved_s = place, now_s

    def reason_to_wait(self, now_s: float) -> str | None:
        """Say what it is that takes so long; None while it goes on."""
        idle_s = now_s - self._moved_s
        if idle_s < _SLOW_S:
            return None
        if self.phase is Phase.EMBEDDING:
            return f"waiting for the embedding model, for {idle_s:.0f} s"
        if self.phase is Phase.PARSING:
            return f"processing a file that takes long, for {idle_s:.0f} s"
        return None
