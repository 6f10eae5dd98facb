"""Whether the last check of an index found damage, for whoever looks at all of them often."""

import os
import time
from pathlib import Path

from engine.jobs.operation_log import FORCED_CLEAN, VERIFIED_SOUND, OperationLog, operation_logs

_RACY_NS = 100_000_000  # two logs within one tick of the clock can look like one


class LastChecks:
    """Remembers what the logs say as long as no log is added; a look costs one ``stat`` then.

    The caller lets one thread look at a time.
    """

    def __init__(self) -> None:
        self._told: dict[Path, tuple[int, bool]] = {}  # of a folder: its time, and whether

    def is_damaged(self, file: Path) -> bool:
        """Say whether the last check of a database found damage, and it was not emptied since.

        A repair ends with a check; a run that does not begin anew leaves damage where it is.
        """
        folder = file.parent / "logs" / file.stem
        try:
            changed_ns = os.stat(folder).st_mtime_ns
        except OSError:
            self._told.pop(folder, None)
            return False
        known = self._told.get(folder)
        if known and known[0] == changed_ns:
            return known[1]
        found = _found_damage(folder)
        self._told.pop(folder, None)
        if time.time_ns() - changed_ns > _RACY_NS:
            self._told[folder] = changed_ns, found
        return found


def _found_damage(folder: Path) -> bool:
    check = next(iter(operation_logs(folder, "verify")), None)
    if check is None or _says(check, VERIFIED_SOUND, if_gone=True):
        return False
    runs = operation_logs(folder, "completed")
    return not any(
        _says(run, FORCED_CLEAN, if_gone=False) for run in runs if run.ended_at >= check.ended_at
    )


def _says(log: OperationLog, words: str, *, if_gone: bool) -> bool:
    try:
        return words in log.read()
    except OSError:
        return if_gone
