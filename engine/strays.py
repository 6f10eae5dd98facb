"""Files beside a database that processes made for a while, and died before they deleted them."""

from contextlib import suppress
from pathlib import Path

from engine.lock import is_alive

#: Between the project's id and the number of the process.
_OF_PROCESSES = ("seed-", "part-", "rebuilt-")


def stray_files(file: Path) -> list[Path]:
    """Give the files beside a database that belong to processes which have died."""
    found = []
    for path in sorted(file.parent.glob(f"{file.stem}.*")):
        for kind in _OF_PROCESSES:
            _, mark, rest = path.name.partition(f".{kind}")
            number = rest.partition("-")[0].partition(".")[0]
            if mark and number.isdigit() and not is_alive(int(number)):
                found.append(path)
    return found


def delete_strays(file: Path) -> None:
    """Delete the files beside a database that dead processes left; those that cannot be, stay."""
    for path in stray_files(file):
        with suppress(OSError):
            path.unlink()
