"""Named places where a test can make this process die or hang, as a real fault would.

``CAIRN_FAULT=die:parse:poison.py`` ends the process when it reaches the point ``parse`` with that
detail; ``hang:…`` lets it sleep, ``eat:…`` lets it ask for 16 GiB. Unset, which is always outside
of tests, a point costs one comparison. Read here and not in ``config``: it is no setting.
"""

import os
import time

_FAULT = os.environ.get("CAIRN_FAULT")
_HANG_S = 3600
_EATEN_BYTES = 16 << 30


def fault_point(name: str, detail: str = "") -> None:
    """Die or hang here, if a test asked for it."""
    if _FAULT is None:
        return
    action, _, place = _FAULT.partition(":")
    if place != f"{name}:{detail}":
        return
    if action == "die":
        os._exit(86)
    if action == "eat":
        bytearray(_EATEN_BYTES)
    time.sleep(_HANG_S)
