"""Files of every size that matters, and files whose size changes while they are read."""

import os
from pathlib import Path

from engine.config import LARGEST_FILE_BYTES, MIB
from engine.records import SkipReason
from tests.support.hostile.case import INDEXED, Case, NotBuiltError, Place, file_case, one_of

_SPARSE_BYTES = 10 << 30
_STEP_BYTES = 4096
_TOO_LARGE = one_of(SkipReason.TOO_LARGE)
_CHANGED = one_of(
    INDEXED, SkipReason.CHANGING, SkipReason.TOO_LARGE, SkipReason.VANISHED, "missing", "not_seen"
)
_LINE = "the quick brown fox jumps over the lazy dog, line after line\n"


def text_of(size_bytes: int) -> str:
    """Give a text of that many bytes."""
    return (_LINE * (size_bytes // len(_LINE) + 1))[:size_bytes]


def _sparse(place: Place) -> None:
    path = place.write("sparse.py", "x = 1\n")
    try:
        os.truncate(path, _SPARSE_BYTES)
    except OSError as error:
        raise NotBuiltError(f"truncate: {error.strerror}") from error


def _sparse_beneath_the_limit(place: Place) -> None:
    """A file of holes that is small enough to be read: zeros, so no text."""
    os.truncate(place.write("holes.py", "x = 1\n"), MIB - 1)


def _changing(place: Place) -> None:
    place.write("changing.txt", text_of(10 * _STEP_BYTES))


def _grow(folder: Path) -> None:
    with (folder / "changing.txt").open("ab", buffering=0) as file:
        if file.tell() < 10 * MIB:
            file.write(text_of(_STEP_BYTES).encode())


def _shrink(folder: Path) -> None:
    path = folder / "changing.txt"
    size_bytes = path.stat().st_size
    os.truncate(path, size_bytes - 1)
    if size_bytes < _STEP_BYTES:
        path.write_text(text_of(10 * _STEP_BYTES))


def _replace(folder: Path) -> None:
    """Put another file in its place, as editors do."""
    new = folder / "new.tmp"
    new.write_text(text_of(_STEP_BYTES))
    new.rename(folder / "changing.txt")


CASES = (
    file_case("sizes", "nothing", "empty.py", b""),
    file_case("sizes", "one byte", "one.py", b"x"),
    file_case("sizes", "one byte below the limit", "below.txt", text_of(MIB - 1)),
    file_case("sizes", "the limit", "limit.txt", text_of(MIB)),
    file_case(
        "sizes", "one byte above the limit", "above.txt", text_of(MIB + 1), SkipReason.TOO_LARGE
    ),
    file_case(
        "sizes",
        "above every limit",
        "huge.txt",
        text_of(LARGEST_FILE_BYTES + 1),
        SkipReason.TOO_LARGE,
    ),
    Case(class_="sizes", name="sparse", build=_sparse, expect={"sparse.py": _TOO_LARGE}),
    Case(
        class_="sizes",
        name="holes",
        build=_sparse_beneath_the_limit,
        expect={"holes.py": one_of(SkipReason.BINARY)},
    ),
    *(
        Case(
            class_="sizes",
            name=name,
            build=_changing,
            expect={"changing.txt": _CHANGED},
            meanwhile=meanwhile,
        )
        for name, meanwhile in (
            ("grows while read", _grow),
            ("shrinks while read", _shrink),
            ("replaced while read", _replace),
        )
    ),
)
