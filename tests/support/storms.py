"""Storms: many random changes of a tree, and what an index of it has to hold afterwards."""

import os
import random
import shutil
import stat
import time
from hashlib import sha256
from pathlib import Path

import apsw

from engine.config import load_config
from engine.records import FAILURES
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.git_trees import listed_by_git, run_git
from tests.support.patience import patience

_FOLDERS = ("", "a", "a/b", "a/b/c", "lib", "lib/deep", "docs", "src", "src/x", "src/y")
_ENDINGS = (".py", ".go", ".md", ".rs", ".js", ".log", ".bin", ".yaml")
_RULES = ("*.log\n", "deep/\n", "", "*.md\n!keep.md\n", "/a/b/\n", "*.log\n*.rs\n", "x/\n")


class Storm:
    """Changes a tree at random; the same seed changes it in the same way.

    The tree is a git repository with two branches.

    Args:
        root: An empty folder.
        aside: Another one on the same disk, for what is moved out and in.
        home: Of git.
        seed: What makes it this storm.
        branch_files: In how many files the branches differ.
        nested: How many folders one operation makes inside each other.
    """

    def __init__(
        self,
        root: Path,
        aside: Path,
        home: Path,
        *,
        seed: int,
        branch_files: int = 60,
        nested: int = 60,
    ) -> None:
        self.root = root
        self._aside = aside
        self._home = home
        self._nested = nested
        self._random = random.Random(seed)
        self._number = 0
        self._closed: list[Path] = []
        self.done: list[str] = []
        self._make(branch_files)
        # How often each operation comes, compared with the others.
        self._operations = (
            (self.create, 20),
            (self.overwrite, 12),
            (self.append, 10),
            (self.truncate, 5),
            (self.save_atomically, 12),
            (self.rename_file, 8),
            (self.delete_file, 8),
            (self.rename_folder, 4),
            (self.move_in, 4),
            (self.move_out, 3),
            (self.delete_folder, 2),
            (self.close, 4),
            (self.reopen, 4),
            (self.swap_link, 5),
            (self.edit_through_hard_link, 4),
            (self.edit_unseen, 6),
            (self.edit_rules, 3),
            (self.switch, 2),
            (self.make_odd_name, 0.5),
            (self.make_nested, 0.7),
        )

    def run(self, operations: int, *, pause_s: float = 0.0) -> None:
        """Do so many operations, and open again what was closed.

        Args:
            operations: How many.
            pause_s: Between two of them, on average.
        """
        chosen, weights = zip(*self._operations, strict=True)
        for operation in self._random.choices(chosen, weights, k=operations):
            self.done.append(operation.__name__)
            if pause_s:
                time.sleep(self._random.expovariate(1 / pause_s))
            try:
                operation()
            except OSError:
                continue  # a closed folder, or one that took the place of a file
        _open_all(self.root)

    def create(self) -> None:
        """Make a file, sometimes in a new folder."""
        folder = self._folder()
        if self._random.random() < 0.2:
            folder = folder / f"new{self._next()}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"f{self._next()}{self._random.choice(_ENDINGS)}"
        (folder / name).write_text(self._text())

    def overwrite(self) -> None:
        """Write another content over a file."""
        self._file().write_text(self._text())

    def append(self) -> None:
        """Write something to the end of a file."""
        with self._file().open("a") as file:
            file.write(self._text())

    def truncate(self) -> None:
        """Cut a file off."""
        os.truncate(self._file(), self._random.randrange(30))

    def save_atomically(self) -> None:
        """Save as most editors do: beside the file, and then in its place."""
        file = self._file()
        fresh = file.with_name(f".{file.name}.tmp{self._next()}")
        fresh.write_text(self._text())
        fresh.replace(file)

    def rename_file(self) -> None:
        """Give a file another name, maybe elsewhere, maybe one that is taken."""
        target = self._folder() / f"r{self._random.randrange(9)}{self._random.choice(_ENDINGS)}"
        self._file().replace(target)

    def delete_file(self) -> None:
        """Delete a file."""
        self._file().unlink()

    def rename_folder(self) -> None:
        """Give a folder another name."""
        folder = self._folder()
        if folder != self.root:
            folder.rename(folder.with_name(f"d{self._next()}"))

    def move_in(self) -> None:
        """Move a folder with files in from outside."""
        made = self._aside / f"in{self._next()}"
        (made / "sub").mkdir(parents=True)
        for number in range(self._random.randrange(20)):
            (made / f"sub/m{number}.py").write_text(self._text())
        made.rename(self._folder() / made.name)

    def move_out(self) -> None:
        """Move a folder out."""
        folder = self._folder()
        if folder != self.root:
            folder.rename(self._aside / f"out{self._next()}")

    def delete_folder(self) -> None:
        """Delete a folder with all in it."""
        folder = self._folder()
        if folder != self.root:
            shutil.rmtree(folder)

    def close(self) -> None:
        """Take all permissions from a file or a folder."""
        place = self._random.choice([self._file, self._folder])()
        if place != self.root and not place.is_symlink():
            place.chmod(0)
            self._closed.append(place)

    def reopen(self) -> None:
        """Give the permissions of one back, if it is still there."""
        if self._closed:
            self._closed.pop(self._random.randrange(len(self._closed))).chmod(0o755)

    def swap_link(self) -> None:
        """Let a link lead elsewhere: to a file, a folder, nothing, or out of the root."""
        link = self.root / f"link{self._random.randrange(4)}"
        link.unlink(missing_ok=True)
        target = self._random.choice(
            [self._file(), self._folder(), self.root / "missing", self._aside]
        )
        link.symlink_to(os.path.relpath(target, self.root))

    def edit_through_hard_link(self) -> None:
        """Edit a file by another of its names."""
        file, other = self._file(), self._folder() / f"hard{self._next()}.py"
        if not file.is_symlink():
            os.link(file, other)
            with self._random.choice([file, other]).open("a") as opened:
                opened.write(self._text())

    def edit_unseen(self) -> None:
        """Change a file and keep its size and its time of change."""
        file = self._file()
        found = file.stat()
        data = bytes(self._random.choices(b"abcdefgh\n", k=found.st_size))
        file.write_bytes(data)
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))

    def edit_rules(self) -> None:
        """Write other rules."""
        folder = self.root if self._random.random() < 0.5 else self._folder()
        (folder / ".gitignore").write_text(self._random.choice(_RULES))

    def switch(self) -> None:
        """Check the other branch out; what stands in its way is overwritten."""
        branch = self._random.choice(["main", "other"])
        run_git(self.root, self._home, "checkout", "-q", "-f", branch, codes=(0, 1, 128))

    def make_odd_name(self) -> None:
        """Make a file whose name is not UTF-8."""
        name = os.fsdecode(b"caf\xe9%d.py" % self._next())
        (self._folder() / name).write_text(self._text())

    def make_nested(self) -> None:
        """Make many folders inside each other at once, each with a file."""
        made = self._folder() / f"nest{self._next()}"
        for _ in range(self._nested):
            made.mkdir()
            (made / "n.py").write_text(self._text())
            made = made / "n"

    def _make(self, branch_files: int) -> None:
        for name in _FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True)
            for ending in _ENDINGS[:3]:
                (self.root / name / f"first{ending}").write_text(self._text())
        run_git(self.root, self._home, "init", "-q")
        run_git(self.root, self._home, "add", "-A")
        run_git(self.root, self._home, "commit", "-q", "-m", "first")
        run_git(self.root, self._home, "checkout", "-q", "-b", "other")
        for number in range(branch_files):
            folder = self.root / _FOLDERS[number % len(_FOLDERS)]
            (folder / f"other{number}.py").write_text(self._text())
        run_git(self.root, self._home, "add", "-A")
        run_git(self.root, self._home, "commit", "-q", "-m", "second")
        run_git(self.root, self._home, "checkout", "-q", "main")

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _text(self) -> str:
        number = self._random.randrange(1 << 40)
        lines = "".join(f"    x{n} = {number + n}\n" for n in range(self._random.randrange(9)))
        return f"def f_{number}():\n{lines}    return {number}\n"

    def _folder(self) -> Path:
        return self._random.choice(self._all()[0])

    def _file(self) -> Path:
        files = self._all()[1]
        return self._random.choice(files) if files else self.root / "first.py"

    def _all(self) -> tuple[list[Path], list[Path]]:
        """Give the folders, the root first, and the files, both in an order of their own."""
        folders, files = [self.root], []
        for place, names_of_folders, names in os.walk(self.root):
            names_of_folders[:] = sorted(set(names_of_folders) - {".git"})
            folders += [
                Path(place, name)
                for name in names_of_folders
                if not os.path.islink(os.path.join(place, name)) and len(name) > 1
            ]
            files += [
                Path(place, name)
                for name in sorted(names)
                if name != ".gitignore" and not os.path.islink(os.path.join(place, name))
            ]
        return folders, files


def _open_all(folder: Path) -> None:
    """Give back the permissions of all that is closed."""
    with os.scandir(folder) as listing:
        entries = list(listing)
    for entry in entries:
        if not entry.is_symlink():
            if not stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode):
                os.chmod(entry.path, 0o755)
            if entry.is_dir():
                _open_all(Path(entry.path))


def held(file: Path) -> dict[str, bytes]:
    """Give what an index holds of the latest branch: path → SHA-256 of the content."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        handle.set_busy_timeout(int(patience(5000)))
        rows = handle.execute(
            """SELECT f.path, b.content_hash FROM files f JOIN blobs b ON b.id = f.blob_id
               WHERE f.branch_id = (SELECT id FROM branches
                                    ORDER BY indexed_at_ms DESC NULLS LAST, id DESC LIMIT 1)"""
        )
        return {os.fsdecode(path): bytes(content_hash) for path, content_hash in rows}
    finally:
        handle.close()


def wanted(root: Path, home: Path, folder: Path) -> dict[str, bytes]:
    """Give what an index of a tree has to hold, by git, the disk, and rules of size and type.

    Which files git would take says git. What a fresh index leaves out of them must have been
    left out for another reason than ignore rules; what it holds must be on the disk. What it shows
    through links is believed.

    Args:
        root: The tree, at rest.
        home: Of git.
        folder: Where the fresh index can be made.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with open_catalog(load_config(folder, workers=1)) as catalog:
        catalog.create(str(root)).index()
    file = folder / f"{project_id_of(str(root))}.db"
    found = held(file)
    listed = {os.fsdecode(path) for path in listed_by_git(root, home)}
    regular = {path for path in listed if os.path.isfile(root / path) and not _is_link(root, path)}
    own = {path for path in found if not _is_link(root, path)}
    assert own <= regular, own - regular
    left_out = _reasons(file)
    for path in regular - own:
        assert left_out.get(path) not in (None, "ignored"), (path, left_out.get(path))
    assert not {path for path, reason in left_out.items() if reason in FAILURES} & regular
    for path in own:
        assert sha256((root / path).read_bytes()).digest() == found[path], path
    return found


def _is_link(root: Path, path: str) -> bool:
    """Say whether a path is a link or leads through one."""
    parts = path.split("/")
    return any(os.path.islink(root / "/".join(parts[:end])) for end in range(1, len(parts) + 1))


def _reasons(file: Path) -> dict[str, str]:
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = handle.execute("SELECT path, reason FROM skips")
        return {os.fsdecode(path): str(reason) for path, reason in rows}
    finally:
        handle.close()
