"""What a machine can do to a run: close folders, take the root away, fill the disk, turn the clock.

A case is started as ``python -m tests.support.hostile.environment NAME HOME ROOT``, an indexing run
that prints how it ended as one JSON object.
"""

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.command import ROOT
from tests.support.hostile.case import NotBuiltError
from tests.support.patience import patience

_DAY_S = 86_400
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2
_OK = frozenset({"ok"})
_UNAVAILABLE = frozenset({"unavailable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a run takes place."""

    home: Path  # the data directory, with an index of the tree as it was
    root: Path
    undo: ExitStack  # what makes everything as it was


def _nothing(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentCase:
    """A run that is disturbed.

    Attributes:
        name: Its name, one of a kind.
        right: How it may end: ``ok`` or the code of an error.
        before: Done before the run; raises NotBuiltError where that cannot be done.
        during: Done by the run itself before it reads the second file; gets the root.
        variables: More of the environment.
        limits: Limits of ``resource`` and their values.
        is_stopped_by_permissions: Whether root has to be, too.
    """

    name: str
    right: frozenset[str]
    before: Callable[[Surroundings], None] = _nothing
    during: Callable[[Path], None] = _nothing
    variables: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    is_stopped_by_permissions: bool = False

    def run(self, home: Path, root: Path) -> dict[str, str]:
        """Index once, disturbed, in a process of its own.

        Returns:
            ``outcome``, ``message`` of an error, and what stood on standard error.
        """
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-m", __name__, self.name, home, root],
            cwd=ROOT,
            env={**kept, "LC_ALL": "C.UTF-8", "CAIRN_BUSY_TIMEOUT": "500", **self.variables},
            preexec_fn=self._prepare,
            capture_output=True,
            timeout=patience(120),
            check=False,
        )
        said = done.stderr.decode("utf-8", "replace")
        ended: dict[str, str] = json.loads(done.stdout or '{"outcome": "none"}')
        return {**ended, "stderr": said}

    def _prepare(self) -> None:
        """Make the new process what it has to be, before it begins."""
        for kind, most in self.limits.items():
            resource.setrlimit(kind, (most, most))
        if self.is_stopped_by_permissions and os.geteuid() == 0:
            libc = ctypes.CDLL(None)
            for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
                libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _close_folder(root: Path) -> None:
    (root / "closing").chmod(0)


def _open_folder(place: Surroundings) -> None:
    place.undo.callback((place.root / "closing").chmod, 0o755)


def _move_root(root: Path) -> None:
    root.rename(root.with_name("away"))


def _bring_root_back(place: Surroundings) -> None:
    def back() -> None:
        if place.root.is_file():
            place.root.unlink()
        place.root.with_name("away").rename(place.root)

    place.undo.callback(back)


def _move_root_before(place: Surroundings) -> None:
    _bring_root_back(place)
    _move_root(place.root)


def _replace_root(root: Path) -> None:
    _move_root(root)
    root.write_text("a file\n")


def _close_home(place: Surroundings) -> None:
    def reopen(path: Path, mode: int) -> None:
        with suppress(FileNotFoundError):  # a log of changes that who may do all took away
            path.chmod(mode & 0o7777)

    for path in (*place.home.iterdir(), place.home):
        mode = path.stat().st_mode
        place.undo.callback(reopen, path, mode)
        path.chmod(mode & 0o555)


def _mount_small(place: Surroundings) -> None:
    """Put the data directory on a small file system that has no room left."""
    kept = place.home.with_name("kept")
    place.home.rename(kept)
    place.home.mkdir()
    options = ["-t", "tmpfs", "-o", "size=6m", "tmpfs"]
    try:
        done = subprocess.run(["mount", *options, place.home], capture_output=True, check=False)
        refusal = done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""
    except OSError as error:
        refusal = str(error)
    if refusal:
        place.home.rmdir()
        kept.rename(place.home)
        raise NotBuiltError(f"mount: {refusal}")

    def back() -> None:
        (place.home / "filler").unlink()
        shutil.rmtree(kept)
        shutil.copytree(place.home, kept)
        subprocess.run(["umount", place.home], check=True)
        place.home.rmdir()
        kept.rename(place.home)

    place.undo.callback(back)
    shutil.copytree(kept, place.home, dirs_exist_ok=True)
    with (place.home / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(4096))


def _turn_clock(place: Surroundings) -> None:
    """Give files the times of a clock that was wrong; one is changed under an older time."""
    now = time.time()
    files = sorted(file for file in place.root.rglob("*.py") if file.is_file())
    for number, file in enumerate(files):
        at = (now + _DAY_S, now - _DAY_S, 0, 2**33)[number % 4]
        os.utime(file, (at, at))


def _replace_files(root: Path) -> None:
    """Put something else into the place of the files that come next."""
    for number, file in enumerate(sorted((root / "closing").iterdir())):
        file.unlink()
        if number % 3 == 0:
            os.mkfifo(file)
        elif number % 3 == 1:
            file.symlink_to("/etc/passwd")
        else:
            file.mkdir()


ENVIRONMENT_CASES = (
    EnvironmentCase(
        name="a folder is closed",
        right=_OK,
        before=_open_folder,
        during=_close_folder,
        is_stopped_by_permissions=True,
    ),
    EnvironmentCase(
        name="the root moves away",
        right=frozenset({"ok", "validation_error"}),
        before=_bring_root_back,
        during=_move_root,
    ),
    EnvironmentCase(
        name="the root is gone", right=frozenset({"validation_error"}), before=_move_root_before
    ),
    EnvironmentCase(
        name="the root becomes a file",
        right=frozenset({"ok", "validation_error"}),
        before=_bring_root_back,
        during=_replace_root,
    ),
    EnvironmentCase(
        name="the data directory is closed",
        right=_UNAVAILABLE,
        before=_close_home,
        is_stopped_by_permissions=True,
    ),
    EnvironmentCase(name="the disk is full", right=_UNAVAILABLE, before=_mount_small),
    EnvironmentCase(
        name="files may not grow", right=_UNAVAILABLE, limits={resource.RLIMIT_FSIZE: 64 << 10}
    ),
    EnvironmentCase(
        name="few descriptors",
        right=frozenset({"ok", "unavailable"}),
        limits={resource.RLIMIT_NOFILE: 24},
    ),
    EnvironmentCase(name="the clock was wrong", right=_OK, before=_turn_clock),
    EnvironmentCase(
        name="locale C",
        right=_OK,
        variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    EnvironmentCase(name="files are replaced", right=_OK, during=_replace_files),
)


def _index(name: str, home: Path, root: Path) -> dict[str, str]:
    from engine.catalog import Catalog
    from engine.config import load_config
    from engine.errors import EngineError

    case = next(case for case in ENVIRONMENT_CASES if case.name == name)
    calls_of_walk = sum(1 for _ in os.walk(root)) - 1  # it asks once for each folder it enters
    calls = 0

    def disturb() -> bool:
        nonlocal calls
        calls += 1
        if calls == calls_of_walk + 3:
            case.during(root)
        return False

    try:
        with Catalog(load_config(home, workers=1)) as catalog:
            report = catalog.open(str(root)).index(cancelled=disturb)
    except EngineError as error:
        return {"outcome": error.code, "message": error.message}
    return {"outcome": "ok", "message": "; ".join(each.error for each in report.errors)}


if __name__ == "__main__":
    print(json.dumps(_index(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
