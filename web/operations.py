"""Operations that interfaces share: index a folder and wait for a short run; find symbols."""

import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from engine.catalog import Catalog
from engine.did_you_mean import did_you_mean
from engine.errors import InvalidInputError, JobConflictError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.records import is_path
from engine.reference_records import Direction, InheritanceRequest, Use
from engine.search_records import MAX_SYMBOLS, SymbolHit, SymbolRequest
from engine.state_records import TERMINAL, Job, JobOrigin, JobState, WaitMode
from web.project_selection import PLACE, absolute, problem_of_file
from web.terminal import printable, shortened
from web.wording import count

_QUALIFIER_END = re.compile(r"(?:\.|::|->|#)\Z")
_QUALIFIER = re.compile(r"\A(?s:.*)(?:\.|::|->|#)")  # of a name
#: Seconds that an answer may wait: clients give up after 30 s.
WAIT_S: Final = 25.0

_MOST_NEAR = 100  # names that one which is unknown is compared with
_NAME_COLUMNS = 100  # of an unknown name
_NEARLY = 0.8  # similarity of a name to one that is used, to be suggested
_COUNTED = 400  # the engine reads this many anyway


#: Told with a job that a request has joined and that is not repeated.
HAD_BEGUN: Final = (
    "the job had begun before this request: changes made since may be missing until the folder is"
    " indexed again after its end"
)


class Wait(NamedTuple):
    """How a request waits for its job."""

    most_s: float = WAIT_S  # seconds; 0 for not at all
    is_for_long: bool = False  # also for a job that is not expected to be short
    on_change: Callable[[Job], None] | None = None  # as of ``Jobs.follow``
    stop: Callable[[], bool] | None = None  # polled as often; true ends the wait, not the job


class RequestedRun(NamedTuple):
    """The current state of a requested run."""

    job: Job
    is_duplicate: bool  # an identical job was already active
    warnings: tuple[str, ...] = ()  # what speaks against indexing this folder; ``HAD_BEGUN``


def index(catalog: Catalog, path: str, options: IndexOptions, wait: Wait) -> RequestedRun:
    """Submit a job that indexes a folder, and wait for it if it is short.

    A job of the watcher makes room for it, but no longer than the wait.

    An identical job that had begun may lack what the caller has just written. When it is completed,
    one more is submitted, which reads what has changed; while it goes on, ``HAD_BEGUN`` is among
    the warnings.

    Blocks the thread. A runner must exist: a server has one, other callers first call
    ``catalog.jobs.start_detached``, so that the job outlives them.

    Args:
        catalog: The projects.
        path: The folder.
        options: The scope to store, and how to run.
        wait: For how long to wait, and what to call meanwhile.

    Raises:
        InvalidInputError: The folder, a pattern or the size is invalid.
        UnavailableError: The disk is full, or the model is unavailable and the caller would wait.
        JobConflictError: A request with other parameters is active for this project, or a job of
            the watcher has not made room in time; nothing was submitted.
    """
    deadline_s = time.monotonic() + wait.most_s
    joined: RequestedRun | None = None  # one that is completed and had begun

    def follow(job_id: str) -> Job:
        left_s = max(0.0, deadline_s - time.monotonic())
        return catalog.jobs.follow(
            job_id, on_change=wait.on_change, stop_waiting=wait.stop, timeout_s=left_s
        )

    waits = WaitMode.IF_SHORT if wait.most_s > 0 else WaitMode.NEVER
    while True:
        try:
            submitted = catalog.jobs.submit(path, options, waits=waits)
        except JobConflictError as conflict:
            if conflict.details.get("origin") != JobOrigin.WATCH or wait.most_s <= 0:
                if joined is not None:
                    return joined
                raise
            job = follow(str(conflict.details["job_id"]))
            if job.status in TERMINAL:
                continue
            if joined is not None:
                return joined
            raise _not_started(conflict, job) from conflict
        is_awaited = wait.most_s > 0 and (submitted.waits or wait.is_for_long)
        job = follow(submitted.job_id) if is_awaited else catalog.jobs.show(submitted.job_id)
        if joined is not None or not submitted.may_lack_changes(job):
            return RequestedRun(job, submitted.duplicate, submitted.warnings)
        joined = RequestedRun(job, submitted.duplicate, (*submitted.warnings, HAD_BEGUN))
        if job.status is not JobState.COMPLETED:
            return joined
        options = replace(options, force=False, force_clean=False)


def _not_started(conflict: JobConflictError, job: Job) -> JobConflictError:
    """Return the error when a job of the watcher does not make room in time."""
    return JobConflictError(
        f"job {job.job_id} of the watcher still runs, and nothing was started",
        hint="try again when it has ended",
        **{**conflict.details, "status": job.status},
    )


@dataclass(frozen=True, slots=True)
class FoundSymbols:
    """Symbols, best first."""

    symbols: tuple[SymbolHit, ...]
    total: int  # a lower bound if ``is_more``
    is_more: bool  # not all are counted
    notes: tuple[str, ...] = ()  # on files that have changed

    @property
    def truncated(self) -> bool:
        """Whether there are more than are shown."""
        return self.is_more or self.total > len(self.symbols)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON shape of all interfaces."""
        shape = {"symbols": self.symbols, "total": self.total, "truncated": self.truncated}
        return {**shape, **({"notes": self.notes} if self.notes else {})}

    def truncation_note(self, advice: str) -> str:
        """Describe how many there are and how to see more; empty if all are shown."""
        if not self.truncated:
            return ""
        more = " or more" if self.is_more else ""
        return f"{count(len(self.symbols), 'symbol')} of {self.total:,}{more}: {advice}"


def find_symbols(index: Project, wanted: SymbolRequest) -> FoundSymbols:
    """Find definitions by name, as ``Project.symbols`` does.

    Raises:
        InvalidInputError: A field of the request is out of range.
    """
    limit = wanted.limit
    most = min(max(limit + 1, _COUNTED), MAX_SYMBOLS) if 1 <= limit <= MAX_SYMBOLS else limit
    found = index.symbols(wanted.name, kind=wanted.kind, match=wanted.match, limit=most)
    notes = index.stale_notes(each.path for each in found[:limit])
    return FoundSymbols(tuple(found[:limit]), len(found), len(found) >= most, notes)


def merged(found: Sequence[FoundSymbols], limit: int) -> FoundSymbols:
    """Merge the results of several projects."""
    symbols = [symbol for each in found for symbol in each.symbols]
    symbols.sort(key=lambda symbol: -symbol.score)
    return FoundSymbols(
        tuple(symbols[:limit]),
        sum(each.total for each in found),
        is_more=any(each.is_more for each in found),
        notes=tuple([note for each in found for note in each.notes]),
    )


def nothing_called(index: Project, name: str, *, from_root: bool = True) -> str:
    """Say that nothing has a name, and which name was perhaps meant.

    Args:
        index: The project.
        name: The name, which is unknown.
        from_root: Whether paths start at the root, not at the current folder.

    Raises:
        InvalidInputError: It is the path of a file or folder.
    """
    shown = shortened(printable(name), _NAME_COLUMNS)
    if place := PLACE.fullmatch(name.strip()):
        problem = problem_of_file(index, place["path"])
        if problem is None:
            return f"no definition was found at {shown!r}"
        path = shortened(printable(place["path"]), _NAME_COLUMNS)
        many = problem.details.get("files")
        what = f"a folder of {count(many, 'indexed file')}" if isinstance(many, int) else ""
        return f"nothing is called {shown!r}, and {path!r} is {what or 'not in the index'}"
    _check_no_path(index, name, shown, from_root=from_root)
    names = _names_like(index, name)
    if used := _uses_told(index, name):
        meant = _nearly(name, names)
        return f"no definition of {shown!r} is known as a symbol, but {used}{meant}"
    bare = name.strip("`#")
    if name in names and bare != name:  # Kotlin's `a name`, JavaScript's #private
        return f"uses of {shown!r} are not known by this name, try {printable(bare)!r}"
    return f"nothing is called {shown!r}{_meant(index, name, names)}"


def no_symbol_called(index: Project, wanted: SymbolRequest) -> str:
    """Return the end of a sentence on a name that no definition has: which was perhaps meant."""
    name, kind = wanted.name, wanted.kind
    if wanted.match == "exact" and index.symbols(name, kind=kind, match="prefix", limit=1):
        return ""
    names = _names_like(index, name, kind)
    if used := _uses_told(index, name):
        return f", but {used}{_nearly(name, names)}"
    return _meant(index, name, names, kind)


def _nearly(name: str, names: Sequence[str]) -> str:
    """Return which name differs so little from one that is used that it was perhaps meant."""
    return did_you_mean(name, names, cutoff=_NEARLY)


def _meant(index: Project, name: str, names: Sequence[str], kind: str | None = None) -> str:
    """Return which name was perhaps meant instead of one that is unknown, or "".

    Args:
        index: The project.
        name: The unknown name.
        names: Names that are like it.
        kind: The kind of what is meant, if it is known.
    """
    names = [each for each in names if each != name]
    last = _QUALIFIER.sub("", name)
    if last == name:
        return did_you_mean(name, names)
    found = index.symbols(last, kind=kind, match="exact")
    called = {hit.qualified_name for hit in found if hit.name == last}
    if not called:
        return did_you_mean(name, names)
    container = _QUALIFIER_END.sub("", name[: len(name) - len(last)])
    bases = index.references.follow(InheritanceRequest(name=container), Direction.BASES).edges
    inherited = (f"{each.name}.{last}" for each in bases)
    return (
        f", did you mean {printable(next((each for each in inherited if each in called), last))!r}"
    )


def _names_like(index: Project, name: str, kind: str | None = None) -> list[str]:
    return [
        each
        for hit in index.symbols(name, kind=kind, match="fuzzy", limit=_MOST_NEAR)
        for each in (hit.name, hit.qualified_name)
    ]


def _uses_told(index: Project, name: str) -> str:
    """Tell how often a name is used that no symbol has; empty if it is not used."""
    if not name.isidentifier():
        return ""
    uses, is_more = index.references.uses_of_no_symbol(name)
    if not uses:
        return ""
    paths = dict.fromkeys(each.path for each in uses if each.use is Use.CALL)
    unread = next((each for each in islice(paths, _MOST_NEAR) if index.browse.gap(each)), None)
    where = (
        f" (perhaps defined in a part of {printable(unread)} that is not read)" if unread else ""
    )
    least = "at least " if is_more else ""
    return f"it is used {least}{count(len(uses), 'time')}{where}: see its references"


def _check_no_path(index: Project, name: str, shown: str, *, from_root: bool) -> None:
    if not name.strip() or not is_path(name):
        return
    problem = problem_of_file(index, absolute(name.strip(), index, from_root=from_root))
    if problem is not None and "files" not in problem.details:
        return
    typed = shlex.quote(name)
    if problem is None:
        what = "file"
        hint = (
            f"cairn outline {typed} or cairn impact --path {typed}; {name}:LINE:COLUMN is a place"
        )
    else:
        what, hint = "folder", f"cairn outline {typed} lists its files"
    raise InvalidInputError(
        f"{shown!r} is a {what}, not the name of a definition", hint=hint, field="name"
    )
