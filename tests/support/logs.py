"""What the logs of a data directory say."""

import json
from pathlib import Path
from typing import Any

from tests.support.jobs import until


def logged(home: Path, name: str) -> list[dict[str, Any]]:
    """Return the lines of a log, the oldest first; none when there is no such file.

    A line is written by one call, and yet who reads it meanwhile may see a part of it: the kernel
    shows what is written page by page. Therefore the rest of such a line is waited for; a log that
    never ends with a whole line fails.
    """
    file = home / "logs" / name
    data = b""

    def is_whole() -> bool:
        nonlocal data
        data = file.read_bytes() if file.exists() else b""
        return not data or data.endswith(b"\n")

    until(is_whole)
    return [json.loads(line) for line in data.split(b"\n")[:-1]]
