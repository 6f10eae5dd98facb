"""How statements speak of paths: their bytes, and the range of all that is below a folder."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence

#: After every name that a folder can hold, which has 255 bytes at most, each of them any.
_BEYOND_A_NAME = b"\xff" * 256


def parts_of(
    branch_id: int, within: Iterable[str] | None
) -> Iterator[tuple[str, dict[str, int | bytes]]]:
    """Give conditions on branch and path, with their values, that together find what is asked."""
    if within is None:
        yield "branch_id = :branch_id", {"branch_id": branch_id}
        return
    for path in within:
        name = os.fsencode(path)
        yield "branch_id = :branch_id AND path = :path", {"branch_id": branch_id, "path": name}
        yield (
            "branch_id = :branch_id AND path >= :low AND path < :high",
            {"branch_id": branch_id, **range_below(name)},
        )


def range_below(folder: bytes) -> dict[str, bytes]:
    """Give the bounds of all paths in a folder: "/" and "0" are neighbours."""
    return {"low": folder + b"/", "high": folder + b"0"}


def range_in(folder: str) -> dict[str, bytes]:
    """Give the bounds of all paths in a folder of a branch; empty is the root."""
    return range_below(os.fsencode(folder)) if folder else {"low": b"", "high": _BEYOND_A_NAME}


def hexadecimal(paths: Sequence[str]) -> str:
    """Give paths, which can hold any byte, as JSON."""
    return json.dumps([os.fsencode(path).hex() for path in paths])
