"""Files and memories as one list, the newest first, a page at a time.

The order is that of creation, which nothing changes, then that of ids. A cursor names the last
checkpoint of a page, so whatever comes or goes meanwhile, none that stays is given twice or left
out; what is new stands before the first page.
"""

import uuid

from engine import cursors
from engine.memories.cards import Owner
from engine.memories.tags import Choice
from engine.store import file_cards, memories
from engine.store.connection import Handle
from engine.store.memories import FROM_THE_NEWEST, Moment


def next_owners(
    handle: Handle, choice: Choice, branch_id: int, after: Moment, limit: int
) -> list[tuple[Moment, Owner]]:
    """Give the next checkpoints of the list, with their places."""
    found: list[tuple[Moment, Owner]] = []
    if choice.may_be_memories:
        found += [
            (place, Owner(False, memory_id))
            for place, memory_id in memories.read_places(handle, choice.rule, after, limit)
        ]
    if choice.may_be_files:
        filters = choice.filters(branch_id)
        found += [
            (place, Owner(True, file_id))
            for place, file_id in file_cards.read_places(handle, filters, after, limit)
        ]
    return sorted(found, reverse=True)[:limit]


def count_all(handle: Handle, choice: Choice, branch_id: int) -> int:
    """Give the number of checkpoints that pass."""
    number = memories.count_memories(handle, choice.rule) if choice.may_be_memories else 0
    if choice.may_be_files:
        number += file_cards.count_passing(handle, choice.filters(branch_id))
    return number


def cursor_of(place: Moment) -> str:
    """Write the place of the last checkpoint of a page."""
    return cursors.cursor_of(f"{place.at_ms}/{uuid.UUID(bytes=place.uuid)}".encode())


def place_of(cursor: str | None) -> Moment:
    """Read a cursor; without one, the list begins.

    Raises:
        InvalidInputError: It is not one that ``cursor_of`` wrote.
    """
    return cursors.place_of(cursor, _moment_of) or FROM_THE_NEWEST


def _moment_of(place: bytes) -> Moment:
    at_ms, _, name = place.decode().partition("/")
    moment = Moment(int(at_ms), uuid.UUID(name).bytes)
    moment.at_ms.to_bytes(8, signed=True)  # what SQLite can compare
    return moment
