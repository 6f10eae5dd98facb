"""Which part of a list is wanted: the two parameters that all lists have."""

from typing import Annotated, NamedTuple

from litestar.di import Provide
from litestar.params import QueryParameter

PageLimit = Annotated[int, QueryParameter(ge=1, le=1000, description="the most of a page")]
PageCursor = Annotated[str | None, QueryParameter(description="`next_cursor` of the page before")]


class Part(NamedTuple):
    """A page of a list."""

    limit: int
    cursor: str | None


def part_given(limit: PageLimit = 50, cursor: PageCursor = None) -> Part:
    """Gather what a URL says of the page."""
    return Part(limit, cursor)


#: The dependency ``part`` of a handler that lists.
PART = {"part": Provide(part_given, sync_to_thread=False)}
