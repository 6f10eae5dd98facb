"""How many examples to try a property with: ``make test`` tries a tenth, ``make test-all`` all."""

import os
from typing import Final

#: ``make test-all`` sets it, and with it the tests of tests/property belong to the slow ones.
ALL_EXAMPLES: Final = bool(os.environ.get("ALL_EXAMPLES"))
_FEWEST: Final = 10


def examples(number: int) -> int:
    """Return how many of so many examples to try."""
    return number if ALL_EXAMPLES else max(_FEWEST, number // 10)
