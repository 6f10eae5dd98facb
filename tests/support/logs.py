"""What the logs of a data directory say."""

import json
from pathlib import Path
from typing import Any


def logged(home: Path, name: str) -> list[dict[str, Any]]:
    """Return the lines of a log, the oldest first; none when there is no such file.

    A line is written by one call, and yet who reads it meanwhile may see a part of it: the kernel
    shows what is written page by page. Such a line is left out.
    """
    file = home / "logs" / name
    data = file.read_bytes() if file.exists() else b""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]
