"""How long tests wait: longer than is promised, wherever the machine may be busy.

What a promised time is worth depends on what else the machine does, and a suite that runs several
tests at once keeps it busy by itself. A time then only tells what comes late from what never comes.
``make soak`` wants an idle machine, says so by ``HOLD_PROMISES``, and holds the times themselves.
"""

import os
from typing import Final

_FACTOR: Final = 1.0 if os.environ.get("HOLD_PROMISES") else 15.0


def patience(promised: float) -> float:
    """Return the time to wait, in the unit of the promised one."""
    return promised * _FACTOR


#: How long a client waits for an answer, in seconds.
ANSWER_S: Final = patience(40)
