"""Whether a process that is late works too long, or gets no processor to work on."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_WANTS_TO_GO_ON = frozenset("RD")  # waits for a processor, or for memory and disk
_STATE, _USER, _SYSTEM = 0, 11, 12  # fields behind the name, in proc(5)


class Effort(NamedTuple):
    """What a process has done so far."""

    wants_to_go_on: bool  # it does not wait for anybody
    seconds: float  # of processors


def effort_of(process: int) -> Effort | None:
    """Look at a process; None when it is gone, or the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        told = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        ticks = int(told[_USER]) + int(told[_SYSTEM])
        state = told[_STATE].decode("ascii")
        return Effort(state in _WANTS_TO_GO_ON, ticks / os.sysconf("SC_CLK_TCK"))
    return None


def is_starved(before: Effort | None, now: Effort | None, allowed_s: float) -> bool:
    """Say whether a process got less than half of a processor in the time that it was allowed.

    Args:
        before: When its work began.
        now: When the time was up, or later.
        allowed_s: The time.
    """
    if before is None or now is None or not now.wants_to_go_on:
        return False
    return now.seconds - before.seconds < allowed_s / 2
