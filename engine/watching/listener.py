"""Hears what happens in a project: the folders that are watched, kept up to date."""

import threading
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from engine.source.walker import WalkRules
from engine.watching.notices import Notices, NoticesFailedError
from engine.watching.places import Places

#: Folders can come while the list of them is made, so it is made again, so often at most.
_MOST_LOOKS: Final = 5


class Heard(NamedTuple):
    """What happened."""

    paths: set[str]  # that may have another outcome now; "" is the whole project
    events: int  # that told of them


class Listener:
    """Watches the folders of a project, once ``listen`` was called.

    Args:
        root: Its resolved root.
        woken: Ends any waiting.
    """

    def __init__(self, root: str, woken: threading.Event) -> None:
        self._places = Places(root)
        self._woken = woken
        self._notices: Notices | None = None
        self._watched: set[str] = set()

    @property
    def is_on(self) -> bool:
        """Whether anything is watched."""
        return self._notices is not None

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._watched)

    def listen(
        self,
        rules: WalkRules,
        *,
        below: Iterable[str] = (),
        cancelled: Callable[[], bool],
    ) -> Heard:
        """Watch the folders that are there now; what was not watched before is to be compared.

        Args:
            rules: Which files belong to the project.
            below: Only what changed, with all below it; nothing: everything.
            cancelled: True stops it.

        Returns:
            What the watch that ended had still to tell.

        Raises:
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` said so.
            NoRoomToWatchError: The system's limit is reached.
            NoticesFailedError: The system's watch fails.
        """
        heard = Heard(set(), 0)
        below = tuple(below)
        for _ in range(_MOST_LOOKS):
            self._places.look(rules, below=below, cancelled=cancelled)
            folders = self._places.folders()
            if folders == self._watched:
                break
            # The new watch begins before the old one ends, and before folders are looked for once
            # more: what comes from here on is heard, what came before is found.
            old, self._notices, self._watched = self._notices, Notices(folders), folders
            if old:
                last = self._last_of(old)
                heard = Heard(heard.paths | last.paths, heard.events + last.events)
        return heard

    def hear(self, timeout_s: float) -> Heard:
        """Wait for something to happen.

        Raises:
            NoticesFailedError: The watch has ended; ``close`` and ``listen`` begin anew.
        """
        if self._notices is None:
            self._woken.wait(timeout_s)
            return Heard(set(), 0)
        return self._about(self._notices.wait(timeout_s, self._woken))

    def changed_folders(self, paths: Iterable[str]) -> list[str]:
        """Give those paths below which there may be other folders, or links, than before."""
        return self._places.changed_folders(paths) if self._notices else []

    def close(self) -> None:
        """Watch nothing."""
        if self._notices:
            self._notices.close()
        self._notices = None
        self._watched = set()

    def _last_of(self, notices: Notices) -> Heard:
        try:
            return self._about(notices.wait(0.0, self._woken))
        except NoticesFailedError:
            return Heard({""}, 1)
        finally:
            notices.close()

    def _about(self, events: set[str]) -> Heard:
        return Heard(self._places.about(events), len(events))
