"""Tells how a watcher does: in its process, and to others through the board."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.clock import iso_time
from engine.watch_records import WatchState, WatchStatus

if TYPE_CHECKING:
    from engine.watch_board import Board

StatusCallback = Callable[[WatchStatus], None]


class Teller:
    """Holds a watcher's status and tells of each change.

    Args:
        on_change: Hears each new status.
        clock: Milliseconds since 1970.
    """

    def __init__(self, on_change: StatusCallback | None, clock: Callable[[], int]) -> None:
        self._on_change = on_change
        self._clock = clock
        self.board: Board | None = None
        #: How it goes; replaced, never changed, so any thread may read it.
        self.status = WatchStatus(state=WatchState.STOPPED, since=self.now(), pid=os.getpid())

    def now(self) -> str:
        """Give the time as it is shown."""
        return iso_time(self._clock())

    def note(self, **values: Any) -> None:
        """Change fields of the status, to be told with the next change."""
        self.status = replace(self.status, **values)

    def tell(self, state: WatchState, reason: str = "", **values: Any) -> None:
        """Tell that this is the state now.

        Args:
            state: The state.
            reason: Why, or what failed last.
            values: Other fields of the status.
        """
        before = self.status
        since = before.since if state is before.state else self.now()
        self.status = replace(before, state=state, reason=reason, since=since, **values)
        if self.board:
            self.board.show(self.status)
        if self._on_change:
            self._on_change(self.status)
