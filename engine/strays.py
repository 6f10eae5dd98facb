"""Files beside a database that processes made for a while, and died before they deleted them."""

import re
from contextlib import suppress
from pathlib import Path

from engine.lock import is_alive

# What a file is for, and the number of the process, behind the project's id.
_OF_PROCESS = re.compile(r"\.(?:seed|part|rebuilt)-([0-9]{1,9})(?=[-.]|$)")


def stray_files(file: Path) -> list[Path]:
    """Give the files beside a database that belong to processes which have died."""
    found = []
    for path in sorted(file.parent.glob(f"{file.stem}.*")):
        process = _OF_PROCESS.search(path.name)
        if process and not is_alive(int(process[1])):
            found.append(path)
    return found


def delete_strays(file: Path) -> None:
    """Delete the files beside a database that dead processes left; those that cannot be, stay."""
    for path in stray_files(file):
        with suppress(OSError):
            path.unlink()
