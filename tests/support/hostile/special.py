"""What is no regular file: reading it could wait for ever, or never end."""

import os
import socket
import stat
from pathlib import Path

from engine.records import SkipReason
from tests.support.hostile.case import IS_INDEXED, Case, NotBuiltError, Place, one_of

_NOT_REGULAR = one_of(SkipReason.NOT_REGULAR)
_OUTSIDE = one_of(SkipReason.SYMLINK_OUTSIDE)


def _fifo(place: Place) -> None:
    place.folder.mkdir(parents=True)
    os.mkfifo(place.folder / "pipe.py")


def _socket(place: Place) -> None:
    place.folder.mkdir(parents=True)
    here = os.open(place.folder, os.O_RDONLY)
    before = os.getcwd()
    os.chdir(here)  # the path of a socket may have some 100 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
    finally:
        os.chdir(before)
        os.close(here)


def _device(place: Place, name: str, kind: int, number: int) -> None:
    place.folder.mkdir(parents=True)
    try:
        os.mknod(place.folder / name, kind | 0o644, number)
    except OSError as error:
        raise NotBuiltError(f"mknod: {error.strerror}") from error


def _character_device(place: Place) -> None:
    _device(place, "zero.py", stat.S_IFCHR, os.makedev(1, 5))


def _block_device(place: Place) -> None:
    _device(place, "disk.py", stat.S_IFBLK, os.makedev(7, 200))


def _proc(place: Place) -> None:
    """Link to a file of the system that never ends in a good way."""
    if not Path("/proc/self/environ").exists():
        raise NotBuiltError("there is no /proc")
    place.folder.mkdir(parents=True)
    (place.folder / "environ.txt").symlink_to("/proc/self/environ")
    (place.folder / "descriptors").symlink_to("/proc/self/fd")


def _endless_device(place: Place) -> None:
    place.folder.mkdir(parents=True)
    (place.folder / "zero.py").symlink_to("/dev/zero")


def _folder_named_as_a_file(place: Place) -> None:
    place.write("x.py/inside.py", "inside = 1\n")
    place.write("package.json/main.js", "let main = 1;\n")


CASES = tuple(
    Case(class_="special", name=name, build=build, expect=expect)
    for name, build, expect in (
        ("fifo", _fifo, {"pipe.py": _NOT_REGULAR}),
        ("socket", _socket, {"socket.py": _NOT_REGULAR}),
        ("character device", _character_device, {"zero.py": _NOT_REGULAR}),
        ("block device", _block_device, {"disk.py": _NOT_REGULAR}),
        ("proc", _proc, {"environ.txt": _OUTSIDE, "descriptors": _OUTSIDE}),
        ("endless device", _endless_device, {"zero.py": _OUTSIDE}),
        (
            "folder named as a file",
            _folder_named_as_a_file,
            {"x.py/inside.py": IS_INDEXED, "package.json/main.js": IS_INDEXED},
        ),
    )
)
