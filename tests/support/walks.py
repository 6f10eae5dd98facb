"""What a walk finds, in the shapes that tests compare."""

from pathlib import Path

from engine.records import FileEntry, Skip
from engine.source.walker import WalkRules, walk


def walked(root: Path, rules: WalkRules | None = None) -> list[FileEntry | Skip]:
    """Walk, and make sure that no path has two outcomes."""
    items = list(walk(str(root), rules or WalkRules()))
    paths = [item.path for item in items]
    assert len(paths) == len(set(paths))
    return items


def files(root: Path, rules: WalkRules | None = None) -> list[str]:
    """Give the paths of the files that are in, in order."""
    return [item.path for item in walked(root, rules) if isinstance(item, FileEntry)]


def skips(root: Path, rules: WalkRules | None = None) -> dict[str, Skip]:
    """Give what is out, by path."""
    return {item.path: item for item in walked(root, rules) if isinstance(item, Skip)}


def real_paths(root: Path, rules: WalkRules | None = None) -> dict[str, str]:
    """Give where each file that is in really lies, by path."""
    items = walked(root, rules)
    return {item.path: item.real_path for item in items if isinstance(item, FileEntry)}
