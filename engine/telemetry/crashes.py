"""What a process says when a library ends it, which no handler of errors can."""

import faulthandler
import sys
from contextlib import suppress
from typing import Final

_UNUSABLE: Final = (AttributeError, OSError, RuntimeError, ValueError)  # no standard error


def tell_crashes() -> None:
    """Have a crash tell on standard error where each thread was: nothing else would say it."""
    with suppress(*_UNUSABLE):
        faulthandler.enable(sys.stderr)
