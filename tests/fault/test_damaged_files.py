"""Whatever becomes of a file of the data directory is healed, or refused in words and healed."""

import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import load_config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.command import Command, Ended
from tests.support.jobs import until
from tests.support.killing import processes_of
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree

_FILES = {
    **SAMPLE,
    "app/more.py": "".join(f"def more_{n}():\n    return {n}\n" for n in range(300)),
}
_NEW = {"app/new.py": "def brand_new(session):\n    return session\n"}
_QUESTIONS = ("open session", "sym:brand_new", "/def more_2\\d/")

Damage = Callable[[Path], None]


def _rewrite(change: Callable[[bytes], bytes]) -> Damage:
    """Return a damage that changes the content of a file, or makes one."""

    def damage(file: Path) -> None:
        file.write_bytes(change(file.read_bytes() if file.exists() else b""))

    return damage


def _replace(make: Callable[[Path], object]) -> Damage:
    """Return a damage that puts something else in the place of a file."""

    def damage(file: Path) -> None:
        file.unlink(missing_ok=True)
        make(file)

    return damage


def _flipped(data: bytes, at: float) -> bytes:
    place = int(at * max(0, len(data) - 1))
    return data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :] if data else b"@"


def _noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


DAMAGES: dict[str, Damage] = {
    "is gone": lambda file: file.unlink(missing_ok=True),
    "is empty": _rewrite(lambda _: b""),
    "has one byte": _rewrite(lambda data: data[:1] or b"x"),
    "is cut in half": _rewrite(lambda data: data[: len(data) // 2]),
    "lost its end": _rewrite(lambda data: data[:-100]),
    "has noise behind": _rewrite(lambda data: data + _noise(5000)),
    "is doubled": _rewrite(lambda data: data + data),
    "is zeros": _rewrite(lambda data: bytes(len(data) or 100)),
    "is noise": _rewrite(lambda data: _noise(len(data) or 100)),
    "is text": _rewrite(lambda _: b"something else entirely\n" * 300),
    "has zeros at the start": _rewrite(lambda data: bytes(100) + data[100:]),
    "has noise in the middle": _rewrite(
        lambda data: data[: len(data) // 2] + _noise(200) + data[len(data) // 2 + 200 :]
    ),
    "has a bit flipped early": _rewrite(lambda data: _flipped(data, 0.02)),
    "has a bit flipped late": _rewrite(lambda data: _flipped(data, 0.8)),
    "is a folder": _replace(Path.mkdir),
    "is a folder with files": _replace(lambda file: write_tree(file, {"a": "a", "b": "b"})),
    "is a link to nothing": _replace(lambda file: file.symlink_to("nowhere/at/all")),
    "is a link to itself": _replace(lambda file: file.symlink_to(file.name)),
    "is a pipe": _replace(os.mkfifo),
}
#: What lies in a data directory, by its name there; ID is the project's.
PLACES = (
    "ID.db",
    "ID.db-wal",
    "ID.db-shm",
    "locks/ID.lock",
    "locks/ID.watch",
    "locks/ID.inflight",
    "locks/ID.wait",
    "locks/runner.lock",
    "locks/server.lock",
    "logs/rates.json",
)


class Site:
    """A project with a write-ahead log, and what an undamaged one answers.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._pristine, self.home = folder / "pristine", folder / "home"
        self.tree = write_tree(folder / "tree", _FILES)
        self.project_id = project_id_of(str(self.tree))
        self.cairn = Command(home=self.home, folder=self.tree, variables={"CAIRN_WORKERS": "1"})
        assert self.cairn("index", "--quiet").code == 0
        with open_catalog(load_config(self.home, workers=1)) as catalog:
            write_tree(self.tree, _NEW)
            catalog.open(str(self.tree)).index(IndexOptions(only=("app/new.py",)))
            shutil.copytree(self.home, self._pristine)  # as if it were killed now
        (self._pristine / "locks").mkdir(exist_ok=True)
        assert (self._pristine / f"{self.project_id}.db-wal").stat().st_size > 0
        self.wanted = contents(self.home / f"{self.project_id}.db")
        self.answers = self.asked()
        assert all(self.answers)

    def restore(self) -> None:
        """Undo all damage, once nobody runs jobs in the background."""
        until(lambda: not processes_of(self.home))
        shutil.rmtree(self.home)
        shutil.copytree(self._pristine, self.home)

    def asked(self) -> list[list[tuple[str, int]]]:
        """Ask; each answer has to be there."""
        found = []
        for question in _QUESTIONS:
            ended = self.checked("search", question, "--json")
            assert ended.code == 0, ended
            found.append([(hit["path"], hit["line_start"]) for hit in ended.json()["hits"]])
        return found

    def checked(self, *arguments: str) -> Ended:
        """Run a command, which may fail in words alone."""
        ended = self.cairn(*arguments)
        assert ended.code in range(7), ended
        assert "Traceback" not in ended.out + ended.err, ended
        if ended.code and "--json" not in arguments:
            assert ended.err.startswith("error: "), ended
            assert "hint: " in ended.err, ended
        return ended


def heal(site: Site, place: Path) -> str:
    """Use a damaged data directory until all is well; what that took."""
    how = "by itself"
    first = site.checked("search", _QUESTIONS[0], "--json")
    if first.code == 0:
        for hit in first.json()["hits"]:  # older perhaps, but never wrong
            assert hit["snippet"] in (site.tree / hit["path"]).read_text("utf-8"), hit
    site.checked("status")
    ended = site.checked("index", "--quiet")
    is_sound = site.checked("doctor", "--json").code == 0
    if ended.code or not is_sound:
        how = "repaired"
        ended = site.checked("doctor", "--repair")
        if ended.code:  # what stands there is nothing of ours, and is named
            how = "refused"
            assert place.name in ended.err or "data directory" in ended.err, ended
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        assert site.checked("index", "--quiet").code == 0
    assert site.checked("doctor").code == 0
    assert site.asked() == site.answers
    file = site.home / f"{site.project_id}.db"
    check_sound(file)
    assert contents(file) == site.wanted
    assert not (site.home / "logs" / "cairn.log").exists()
    return how


def damage_each(site: Site, places: tuple[str, ...], names: tuple[str, ...]) -> Counter[str]:
    """Damage each of the places in each way; how each was healed."""
    found = Counter[str]()
    failures = []
    for where in places:
        for name in names:
            site.restore()
            place = site.home / where.replace("ID", site.project_id)
            place.parent.mkdir(exist_ok=True)
            DAMAGES[name](place)
            try:
                found[heal(site, place)] += 1
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                failures.append(f"{where} {name}: {error}"[:1500])
    assert failures == [], "\n\n".join(failures)
    return found


def test_some_damage_to_some_files(tmp_path: Path) -> None:
    names = ("is cut in half", "is noise", "is a folder", "is a link to itself")
    found = damage_each(Site(tmp_path), ("ID.db", "ID.db-wal", "locks/ID.lock"), names)
    assert found.total() == 12
    assert found["repaired"]


@pytest.mark.soak
@pytest.mark.parametrize("where", PLACES)
def test_each_kind_of_damage_to_each_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    found = damage_each(Site(tmp_path), (where,), tuple(DAMAGES))
    with capsys.disabled():
        print(f"\n{found.total()} kinds of damage to {where}: {dict(found)}")
