"""Where a new process of ours finds its code."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def import_places() -> list[str]:
    """Give what has to come first in ``sys.path``: from where this process imports.

    The folder that holds this package comes first of all. Relative places are left out: the working
    folder may be a hostile repository.
    """
    return [os.path.dirname(_PACKAGE), *(place for place in sys.path if os.path.isabs(place))]
