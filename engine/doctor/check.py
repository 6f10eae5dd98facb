"""The interface of the doctor's checks: each finds one kind of damage and repairs what it found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from engine.cancellation import CancelToken
from engine.config import Config
from engine.doctor_records import CheckCallback, CheckProgress, FindingCode
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled
from engine.record_class import record
from engine.store import checks
from engine.store.checks import VectorTable
from engine.store.connection import Handle, Store

#: Places that a finding names.
MOST_PLACES = 20
_ROWS_AT_ONCE = 200  # in one transaction
_Item = TypeVar("_Item")


class Problem(NamedTuple):
    """A finding with what its repair needs."""

    code: FindingCode
    message: str
    number: int  # how many of them
    ids: Sequence[int] = ()  # of the rows concerned
    names: tuple[str, ...] = ()  # of tables, indexes or files concerned
    places: tuple[str, ...] = ()
    table: VectorTable | None = None
    is_note: bool = False


@dataclass(slots=True, kw_only=True)
class Context:
    """The dependencies of a check: the store, the settings and the callbacks."""

    store: Store
    config: Config
    open_embedder: OpenEmbedder  # opens the model that the settings name
    on_progress: CheckCallback  # called with the current step
    cancelled: CancelToken
    checked: dict[str, int] = field(default_factory=dict)  # rows checked, by kind
    damaged_blobs: set[int] = field(default_factory=set)  # found so far, to be emptied

    def report(self, step: str, done: int = 0, total: int | None = None) -> None:
        """Report progress."""
        self.on_progress(CheckProgress(step=step, done=done, total=total))

    @contextmanager
    def reading(self) -> Iterator[Handle]:
        """Open a snapshot for a check that can be cancelled.

        Each check has its own, so that another process can index meanwhile and its WAL can
        be emptied in between; what must agree is compared within one.

        Raises:
            Cancelled: It was cancelled.
        """
        self.stop_if_cancelled()
        with self.store.read() as handle, checks.interruptible(handle, self.cancelled):
            yield handle

    def stop_if_cancelled(self) -> None:
        """Stop the examination here if it was cancelled.

        Raises:
            Cancelled: It was.
        """
        if self.cancelled():
            raise Cancelled("nothing was changed")

    def batches(self, items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
        """Yield the items to repair in batches, one a transaction.

        Raises:
            Cancelled: It was cancelled.
        """
        for start in range(0, len(items), _ROWS_AT_ONCE):
            if self.cancelled():
                raise Cancelled("finished repairs stay; run the repair again for the rest")
            yield items[start : start + _ROWS_AT_ONCE]


#: Deletes rows of these ids.
DeleteRows = Callable[[Handle, Sequence[int]], object]
#: Yields the problems.
Find = Callable[[Context], Iterable[Problem]]
#: Repairs exactly these problems; yields what was done, in sentences.
Fix = Callable[[Context, Sequence[Problem]], Iterable[str]]


def delete_rows(context: Context, ids: Sequence[int], *deletes: DeleteRows) -> None:
    """Delete rows in batches, each in a transaction, by all of these functions.

    Raises:
        Cancelled: It was cancelled; finished batches stay.
    """
    for some in context.batches(ids):
        with context.store.write(durable=True) as handle:
            for delete in deletes:
                delete(handle, some)


@record
class Check:
    """One kind of damage: how it is found and repaired."""

    name: str  # what is checked, as shown in progress
    find: Find  # its docstring describes the damage
    fixes: Mapping[FindingCode, Fix] = field(default_factory=dict)  # by the kinds it can repair
    # Runs after all fixes with all problems: deletes orphaned rows, makes missing ones.
    settle: Fix | None = None
    unreadable: FindingCode = FindingCode.PAGES  # reported when the check cannot finish
