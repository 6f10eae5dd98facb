"""A run that is asked for over HTTP or MCP: waited for as long as a client does, then told of.

Definitions by name, with how many there are besides those that are shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.catalog import Catalog
from engine.project import Index
from engine.records import IndexOptions, SymbolHit
from engine.state_records import Job, Waits
from web.wording import count

#: How long an answer may wait: clients give up after 30 s.
WAIT_S: Final = 25.0


class Asked(NamedTuple):
    """A run that was asked for, as far as it is now."""

    job: Job
    is_duplicate: bool  # the same was asked for already, and goes on


def index(
    catalog: Catalog,
    path: str,
    options: IndexOptions,
    *,
    wait_s: float = WAIT_S,
    on_change: Callable[[Job], None] | None = None,
    enough: Callable[[], bool] | None = None,
) -> Asked:
    """Ask for a folder to be indexed, and wait for the end of a short run.

    Blocks the thread. Somebody must run jobs: a server does, others call
    ``catalog.jobs.start_detached`` before, so that the job outlives them.

    Args:
        catalog: The projects.
        path: The folder.
        options: Scope to store and how to run.
        wait_s: How long to wait at most; 0 means not at all.
        on_change: Hears of the job in this thread while it waits, at most ten times a second.
        enough: Asked as often; when true there is no more waiting.

    Raises:
        InvalidInputError: The folder, a pattern or the size is not valid.
        UnavailableError: No room on the disk, or the model is away and the caller would wait.
        JobConflictError: A job with other parameters is active on this project.
    """
    submitted = catalog.jobs.submit(
        path, options, waits=Waits.IF_SHORT if wait_s > 0 else Waits.NEVER
    )
    job_id = submitted.job_id
    if wait_s > 0 and submitted.waits:
        job = catalog.jobs.follow(job_id, on_change=on_change, enough=enough, timeout_s=wait_s)
    else:
        job = catalog.jobs.show(job_id)
    return Asked(job, submitted.duplicate)


_MOST = 1000  # that are asked for at once
_COUNTED = 400  # as many are read in any case, so that to count them costs nothing


@dataclass(frozen=True, slots=True)
class FoundSymbols:
    """Symbols, best first."""

    symbols: tuple[SymbolHit, ...]
    total: int  # at least, when ``is_more``
    is_more: bool  # not all of them are counted

    @property
    def truncated(self) -> bool:
        """Whether there are others."""
        return self.is_more or self.total > len(self.symbols)

    def as_json(self) -> dict[str, object]:
        """Give the shape of every face."""
        return {"symbols": self.symbols, "total": self.total, "truncated": self.truncated}

    def says_more(self, advice: str) -> str:
        """Say how many there are and how to see others; "" when all are shown."""
        if not self.truncated:
            return ""
        more = " or more" if self.is_more else ""
        return f"{count(len(self.symbols), 'symbol')} of {self.total:,}{more}: {advice}"


def find_symbols(
    index: Index, name: str, *, limit: int, kind: str | None = None, match: str = "exact"
) -> FoundSymbols:
    """Find definitions by name, as ``Index.symbols`` does.

    Raises:
        InvalidInputError: An argument is out of range.
    """
    most = limit
    if 1 <= limit <= _MOST:
        counted = 0 if match == "fuzzy" else _COUNTED  # likely names are looked for, and costly
        most = min(max(limit + 1, counted), _MOST)
    found = index.symbols(name, kind=kind, match=match, limit=most)
    return FoundSymbols(tuple(found[:limit]), len(found), is_more=len(found) >= most)


def joined(found: Sequence[FoundSymbols], limit: int) -> FoundSymbols:
    """Give what several projects have as one answer."""
    symbols = [symbol for each in found for symbol in each.symbols]
    symbols.sort(key=lambda symbol: -symbol.score)
    return FoundSymbols(
        tuple(symbols[:limit]),
        sum(each.total for each in found),
        is_more=any(each.is_more for each in found),
    )
