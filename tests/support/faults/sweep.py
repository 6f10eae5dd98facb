"""An operation with a fault at its first, second, third … call, until it no longer meets one.

After each: what was raised is the engine's own, nothing is half done, reads go on, the operation
done again succeeds, and what comes of it equals an index that is made from nothing.
"""

from contextlib import suppress
from itertools import cycle, product

import apsw

from engine.catalog import Catalog
from engine.errors import EngineError, NotFoundError
from engine.search_records import Mode, SearchRequest
from tests.support.faults.stage import Operation, Stage
from tests.support.faults.vfs import Fault, FaultVFS, faulty
from tests.support.oracle import check_sound, contents

#: What can fail and how SQLite is told.
CODES: dict[str, tuple[int, ...]] = {
    "write": (apsw.SQLITE_IOERR, apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE),
    "sync": (apsw.SQLITE_IOERR_FSYNC,),
    "read": (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ),
    "truncate": (apsw.SQLITE_IOERR_TRUNCATE,),
    "open": (apsw.SQLITE_CANTOPEN,),
    "delete": (apsw.SQLITE_IOERR_DELETE,),
    "lock": (apsw.SQLITE_BUSY,),
}
#: Kinds of calls that a search does without when the connections are open.
_READS_GO_ON = ("write", "sync", "truncate", "delete")
_QUESTION = SearchRequest(query="open session", mode=Mode.KEYWORD)
_CLOSE = 12  # calls that are tried one by one, before steps of a sixth


class Sweep:
    """One operation and the faults it is to survive.

    Args:
        stage: A folder of its own; it is filled here.
        operation: What is done.
    """

    def __init__(self, stage: Stage, operation: Operation) -> None:
        self._stage = stage
        self._operation = operation
        operation.prepare(stage)
        self._wanted = stage.fresh_contents(operation.model)
        if not operation.is_filled:
            emptied = ("files", "chunks", "symbols", "marks", "names", "skips")
            self._wanted = {**{name: [] for name in emptied}, "model": None}
        #: Faults that were met.
        self.points = 0

    def run_some(self) -> int:
        """Try the first calls of each kind and then fewer and fewer, the codes by turns.

        Returns:
            How many faults were met.
        """
        for kind, codes in CODES.items():
            ways = cycle(product(codes, (False, True), (False, True)))
            at = 1
            for code, is_sticky, is_partial in ways:
                if not self.meet(Fault(kind, code, at, is_sticky, is_partial)):
                    break
                at += 1 if at < _CLOSE else max(1, at // 6)
        return self.points

    def run_all(self) -> int:
        """Try each call with each code, alone and from then on.

        Returns:
            How many faults were met.
        """
        for kind, codes in CODES.items():
            for code in codes:
                for is_sticky in (False, True):
                    at = 1
                    while self.meet(Fault(kind, code, at, is_sticky, is_partial=at % 2 == 0)):
                        at += 1
        return self.points

    def meet(self, fault: Fault) -> bool:
        """Do the operation with a fault, then without; False if it did not meet it."""
        try:
            is_met = self._meet(fault)
        except BaseException as error:
            error.add_note(f"{self._operation.name}: {fault}")
            raise
        self.points += is_met
        return is_met

    def _meet(self, fault: Fault) -> bool:
        stage, operation = self._stage, self._operation
        stage.restore()
        with faulty() as vfs, stage.catalog(model=operation.model) as catalog:
            vfs.arm(fault)
            with suppress(EngineError):
                operation.act(stage, catalog)
            hits = vfs.hits
            self._look_around(vfs, catalog, fault)
            vfs.arm(None)
            operation.act(stage, catalog)
        if operation.is_kept:
            check_sound(stage.database)
            assert contents(stage.database) == self._wanted
        else:
            assert not stage.database.exists()
        return hits > 0

    def _look_around(self, vfs: FaultVFS, catalog: Catalog, fault: Fault) -> None:
        """Nothing is left open, and a search answers; under a fault that stays, too."""
        for index in catalog._indexes.opened():
            for handle in index._store._readers._opened:
                assert not handle.in_transaction
        if fault.kind not in _READS_GO_ON:
            vfs.arm(None)
        for index in catalog._indexes.opened():
            with suppress(NotFoundError):  # nothing was indexed yet, or it was forgotten
                index.search(_QUESTION)
