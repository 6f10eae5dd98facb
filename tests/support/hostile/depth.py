"""Trees that are deeper, wider or longer than most programs can bear."""

import os
from pathlib import Path

from engine.records import SkipReason
from tests.support.hostile.case import IS_INDEXED, Case, Place, one_of

_TOO_DEEP = one_of(SkipReason.TOO_DEEP)
_LONGEST_NAME = 255
_MANY = 100_000
_MANY_IN_SHORT = 5_000
_LONG_DEPTH = 30  # folders of 200 letters each: 6,000 characters, beyond what one call can open
_BELOW_EVERY_LIMIT = 5_000


def dig(start: Path, name: str, depth: int) -> int:
    """Make nested folders, deeper than a path can name, and give the descriptor of the last."""
    start.mkdir(parents=True, exist_ok=True)
    here = os.open(start, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    return here


def write_in(folder: int, name: str, data: bytes) -> None:
    """Write a file in an open folder, and close the folder."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder)
    os.write(file, data)
    os.close(file)
    os.close(folder)


def _nested(depth: int, folder: str = "d") -> Case:
    def build(place: Place) -> None:
        write_in(dig(place.folder, folder, depth), "bottom.py", b"bottom = 1\n")

    return Case(
        class_="depth",
        name=f"{depth} folders of {len(folder)}",
        build=build,
        expect={f"{folder}/" * depth + "bottom.py": IS_INDEXED},
    )


def _too_deep(place: Place) -> None:
    write_in(dig(place.folder, "d", _BELOW_EVERY_LIMIT), "bottom.py", b"bottom = 1\n")


def _wide(place: Place) -> None:
    place.folder.mkdir(parents=True)
    folder = os.open(place.folder, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(_MANY if place.is_full else _MANY_IN_SHORT):
        os.close(os.open(f"f{number}.py", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder))
    os.close(folder)


def _long_names(place: Place) -> None:
    place.write("n" * (_LONGEST_NAME - 3) + ".py", "long = 1\n")
    place.write("f" * _LONGEST_NAME + "/" + "g" * _LONGEST_NAME + "/app.py", "long = 2\n")


CASES = (
    _nested(101),
    _nested(1_100),
    _nested(3_000),
    _nested(_LONG_DEPTH, "e" * 200),
    Case(
        class_="depth",
        name="below every limit",
        build=_too_deep,
        expect={"d/" * _BELOW_EVERY_LIMIT + "bottom.py": _TOO_DEEP},
    ),
    Case(
        class_="depth",
        name="wide",
        build=_wide,
        expect={"f0.py": IS_INDEXED, f"f{_MANY_IN_SHORT - 1}.py": IS_INDEXED},
    ),
    Case(
        class_="depth",
        name="long names",
        build=_long_names,
        expect={
            "n" * (_LONGEST_NAME - 3) + ".py": IS_INDEXED,
            "f" * _LONGEST_NAME + "/" + "g" * _LONGEST_NAME + "/app.py": IS_INDEXED,
        },
    ),
)
