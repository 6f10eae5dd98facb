"""Are the vectors those that were written, where they should be, and does each find itself?"""

from collections.abc import Callable, Iterator

from engine.config import Config
from engine.doctor.findings import MOST_PLACES, Trouble
from engine.embedding.choice import Backend
from engine.errors import Cancelled
from engine.records import display_path
from engine.state_records import FindingCode
from engine.store import checks, jobs, project
from engine.store.checks import VectorTable
from engine.store.connection import Handle
from engine.store.models import read_current_model

#: Vectors of a table that must find themselves; each costs some 30 ms in 100,000.
_SELF_QUERIES = 20


def vector_troubles(
    handle: Handle, config: Config, cancelled: Callable[[], bool]
) -> tuple[list[Trouble], int]:
    """Give what is wrong with all vectors, and how many are as they were written."""
    troubles: list[Trouble] = []
    strange = checks.read_strange_tables(handle)
    if strange:
        message = f"Found {len(strange):,} tables of vectors that belong to no model"
        troubles.append(
            Trouble(FindingCode.VECTOR_TABLES, message, len(strange), names=tuple(strange))
        )
    counted = 0
    for table in checks.vector_tables(handle):
        if not checks.is_there(handle, table):
            troubles.append(_broken(table, "is not there as a whole"))
            continue
        found, number = _of_table(handle, table, cancelled)
        counted += number
        troubles += found
        troubles += _missing(handle, table, config)
    return troubles, counted


def _of_table(
    handle: Handle, table: VectorTable, cancelled: Callable[[], bool]
) -> tuple[list[Trouble], int]:
    troubles: list[Trouble] = []
    flipped: list[int] = []
    broken = counted = 0
    for block in checks.check_blocks(handle, table):
        _stop_if(cancelled)
        broken += not block.is_whole
        flipped += block.flipped
        counted += block.sound
    if broken:
        troubles.append(_broken(table, f"does not hold together in {broken:,} of its blocks"))
    if flipped:
        message = f"Found {len(flipped):,} vectors of {table.owner} that are not what was written"
        places = _places(handle, table, flipped)
        troubles.append(
            Trouble(FindingCode.VECTORS, message, len(flipped), tuple(flipped), (), places, table)
        )
    lost = checks.read_lost_vectors(handle, table)
    if lost:
        message = f"Found {len(lost):,} vectors of {table.owner} that are gone"
        troubles.append(
            Trouble(FindingCode.VECTORS_LOST, message, len(lost), tuple(lost), table=table)
        )
    if not (broken or flipped) and not all(_found(handle, table, cancelled)):
        troubles.append(_broken(table, "does not find its own vectors"))
    return troubles, counted


def _found(handle: Handle, table: VectorTable, cancelled: Callable[[], bool]) -> Iterator[bool]:
    for rowid in checks.read_some_rows(handle, table, _SELF_QUERIES):
        _stop_if(cancelled)
        yield checks.finds_itself(handle, table, rowid)


def _missing(handle: Handle, table: VectorTable, config: Config) -> Iterator[Trouble]:
    """Tell what has no vector: damage where each should have one, else a note."""
    if table.model != read_current_model(handle):
        return  # one that is being filled, or that goes
    missing = checks.read_vectorless(handle, table)
    if missing:
        message = f"Found {len(missing):,} {table.owner} without a vector"
        is_expected = (
            config.model != Backend.STATIC
            or table.model.name != Backend.STATIC
            or jobs.read_active_job(handle) is not None
            or not all(branch.complete for branch in project.read_branches(handle))
        )
        yield Trouble(
            FindingCode.VECTORS_MISSING,
            message,
            len(missing),
            tuple(missing),
            (),
            _places(handle, table, missing),
            table,
            is_note=is_expected,
        )


def _broken(table: VectorTable, what: str) -> Trouble:
    message = f"Found that the table {table.name} {what}"
    return Trouble(FindingCode.VECTOR_TABLES, message, 1, table=table)


def _places(handle: Handle, table: VectorTable, ids: list[int]) -> tuple[str, ...]:
    some = ids[:MOST_PLACES]
    if table.is_of_chunks:
        found = checks.read_paths_of_chunks(handle, some, MOST_PLACES)
    else:
        found = list(checks.read_paths(handle, some).values())
    return tuple(map(display_path, found))


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise Cancelled("nothing was changed")
