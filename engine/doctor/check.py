"""What a check of the doctor is: it finds one kind of damage, and mends what it found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled
from engine.state_records import CheckCallback, CheckProgress, FindingCode
from engine.store import checks
from engine.store.checks import VectorTable
from engine.store.connection import Handle, Store

#: Places that a finding names.
MOST_PLACES = 20
_ROWS_AT_ONCE = 200  # in one transaction
_Item = TypeVar("_Item")


class Trouble(NamedTuple):
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
    """What a check works with."""

    store: Store
    config: Config
    open_embedder: OpenEmbedder  # opens the model that the settings name
    on_progress: CheckCallback  # hears what is looked at, or mended
    cancelled: Callable[[], bool]  # asked often
    checked: dict[str, int] = field(default_factory=dict)  # how many of what were looked at

    def tell(self, step: str, done: int = 0, total: int | None = None) -> None:
        """Say how far it is."""
        self.on_progress(CheckProgress(step=step, done=done, total=total))

    @contextmanager
    def reading(self) -> Iterator[Handle]:
        """Open a snapshot for a look that can be stopped.

        Each look has one of its own, so that another process can index meanwhile and its WAL can
        be emptied in between; what must agree is compared within one.

        Raises:
            Cancelled: It was to stop.
        """
        self.stop_if_cancelled()
        with self.store.read() as handle, checks.stoppable(handle, self.cancelled):
            yield handle

    def stop_if_cancelled(self) -> None:
        """Stop a look here if it is to stop.

        Raises:
            Cancelled: It is.
        """
        if self.cancelled():
            raise Cancelled("nothing was changed")

    def batches(self, items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
        """Cut what is to be mended into transactions.

        Raises:
            Cancelled: It is to stop.
        """
        for start in range(0, len(items), _ROWS_AT_ONCE):
            if self.cancelled():
                raise Cancelled("what is mended stays; run the repair again for the rest")
            yield items[start : start + _ROWS_AT_ONCE]


#: Yields what is wrong.
Find = Callable[[Context], Iterable[Trouble]]
#: Mends exactly these troubles; yields what was done, in sentences.
Fix = Callable[[Context, Sequence[Trouble]], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One kind of damage: how it is found, and how it is mended."""

    name: str  # what is looked at, as progress tells it
    find: Find  # its docstring says what for
    fixes: Mapping[FindingCode, Fix] = field(default_factory=dict)  # of each kind it can mend
    # After all fixes, told all troubles: deletes what is of nothing, makes what is missing.
    settle: Fix | None = None
    unreadable: FindingCode = FindingCode.PAGES  # what it means when it cannot look to the end
