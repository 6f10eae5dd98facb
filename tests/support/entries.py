"""Files of a tree as the walk would name them."""

from pathlib import Path

from engine.records import FileEntry, FileStat


def stat_of(place: Path) -> FileStat:
    found = place.lstat()
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def entry_of(root: Path, path: str) -> FileEntry:
    """What the walk says of a path at this moment."""
    return FileEntry(path, stat_of(root / path), path)


def make(root: Path, path: str, data: bytes = b"x = 1\n") -> FileEntry:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return entry_of(root, path)
