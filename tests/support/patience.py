"""How long tests wait: a promised time when they run alone, more beside others.

What a promised time is worth depends on what else the machine does. The suite runs several tests at
once, and the machine may be slow: then a time only tells what comes late from what never comes.
``make soak`` and a test that is run by hand (``-n 0``) hold the promise itself.
"""

import os
from typing import Final

_RUNS_BESIDE_OTHERS: Final = "PYTEST_XDIST_WORKER" in os.environ
_BESIDE_OTHERS: Final = 6.0


def patience(promised: float) -> float:
    """Give the time to wait, in the unit of the one that is promised."""
    return promised * (_BESIDE_OTHERS if _RUNS_BESIDE_OTHERS else 1.0)
