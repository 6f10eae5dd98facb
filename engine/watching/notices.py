"""Events of the file system, from watchfiles: which paths something happened to, no more.

Folders are watched one by one, not with all below them, so that folders that are ignored cost
nothing. An event is a hint: it can be late, doubled or missing.
"""

import os
import threading
from collections.abc import Collection

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

_STEP_MS = 50
_TRIES = 3
_EFFECTIVE = os.access in os.supports_effective_ids


class NoticesFailedError(Exception):
    """No events come any more, such as after a name that is not UTF-8."""


class NoRoomToWatchError(Exception):
    """The system lets this user watch no more folders."""


class Notices:
    """Watches folders; ``close`` frees the system's part of it.

    Args:
        folders: Absolute paths; what is gone or may not be read is passed over.

    Raises:
        NoRoomToWatchError: The system's limit is reached.
        NoticesFailedError: It does not work for another reason.
    """

    def __init__(self, folders: Collection[str]) -> None:
        self._notify = _started(folders)

    def wait(self, timeout_s: float, woken: threading.Event) -> set[str]:
        """Wait for events and give the paths that they name; empty after the timeout.

        Args:
            timeout_s: How long to wait.
            woken: Ends the waiting within a twentieth of a second.

        Raises:
            NoticesFailedError: The watch has ended.
            KeyboardInterrupt: In the main thread.
        """
        try:
            found = self._notify.watch(2 * _STEP_MS, _STEP_MS, max(1, int(timeout_s * 1000)), woken)
        except WatchfilesRustInternalError as error:
            raise NoticesFailedError(str(error)) from error
        if isinstance(found, str):
            if found == "signal":  # it has taken the interrupt for itself
                raise KeyboardInterrupt
            return set()
        return {path for _, path in found}

    def close(self) -> None:
        """Watch no more."""
        self._notify.close()


def _may_be_read(folder: str) -> bool:
    return os.access(folder, os.R_OK, effective_ids=_EFFECTIVE)


def _started(folders: Collection[str]) -> RustNotify:
    for _ in range(_TRIES):
        there = [folder for folder in folders if _may_be_read(folder)]
        try:
            # With ignore_permission_denied it would pass over limits without a word.
            return RustNotify(there, False, False, 0, False, False)
        except (FileNotFoundError, PermissionError):
            continue  # changed since it was looked at
        except OSError as error:
            raise NoRoomToWatchError(str(error)) from error
        except WatchfilesRustInternalError as error:
            if "os error 24" in str(error):  # EMFILE: of this process, or of inotify
                raise NoRoomToWatchError(str(error)) from error
            raise NoticesFailedError(str(error)) from error
    raise NoticesFailedError("the folders change too quickly")
