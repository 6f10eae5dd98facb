"""``cairn doctor``: what it prints, what it changes, and how it ends."""

import shutil
from pathlib import Path

import pytest

from tests.support import damage
from tests.support.command import Command
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow


@pytest.fixture
def cairn(tmp_path: Path) -> Command:
    """Give a command in an indexed repository."""
    tree = write_tree(tmp_path / "tree", SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree)
    assert command("index", "--quiet").code == 0
    return command


def database(cairn: Command) -> Path:
    [file] = (each for each in cairn.home.glob("*.db") if len(each.stem) == 64)
    return file


def flip(cairn: Command) -> None:
    damage.run(database(cairn), "UPDATE chunks SET hash = zeroblob(16) WHERE id = 2")


def test_a_sound_index(cairn: Command) -> None:
    ended = cairn("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"sound: the index of {cairn.folder}\n  checked 5 files, ")
    shape = cairn("doctor", str(cairn.folder), "--json").json()
    assert list(shape) == [
        "project_id",
        "path",
        "ok",
        "checked",
        "findings",
        "warnings",
        "suggested_fixes",
        "took_ms",
        "log",
    ]
    assert (shape["ok"], shape["findings"], shape["warnings"]) == (True, [], [])
    quiet = cairn("doctor", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_damage_is_told_mended_and_gone(cairn: Command) -> None:
    fresh = contents(database(cairn))
    flip(cairn)
    ended = cairn("doctor")
    assert (ended.code, ended.err) == (6, "")
    assert ended.out.startswith(f"damaged: the index of {cairn.folder}\n")
    assert f"suggested fixes\n  cairn doctor {cairn.folder} --repair\n" in ended.out
    [finding] = cairn("doctor", "--json").json()["findings"]
    assert (finding["code"], finding["severity"], finding["count"]) == ("texts", "damage", 1)
    mended = cairn("doctor", "--repair")
    assert mended.code == 0, mended
    assert "Removed 1 damaged text;" in mended.out
    assert f"sound: the index of {cairn.folder}" in mended.out
    assert "indexed " in mended.out
    assert cairn("doctor", "--json").json()["findings"] == []
    check_sound(database(cairn))
    assert contents(database(cairn)) == fresh


def test_a_repair_as_json(cairn: Command) -> None:
    flip(cairn)
    shape = cairn("doctor", "--repair", "--json").json()
    assert (shape["ok"], shape["needs_index"], shape["aside"]) == (True, True, None)
    assert (shape["before"]["ok"], shape["after"]["ok"]) == (False, True)
    assert cairn("doctor", "--repair", "--json").json()["done"] == []


@pytest.mark.parametrize("is_json", [True, False])
def test_a_repair_is_told_though_nothing_can_be_indexed_after_it(
    cairn: Command, is_json: bool
) -> None:
    flip(cairn)
    cairn.folder.rename(cairn.folder.with_name("moved"))
    elsewhere = Command(home=cairn.home, folder=cairn.home)
    options = ["--json"] if is_json else []
    ended = elsewhere("doctor", str(cairn.folder), "--repair", *options)
    assert ended.code == 2, ended
    if is_json:
        shape = ended.json()
        assert (shape["ok"], shape["needs_index"]) == (True, True)
        assert shape["done"]
        assert shape["indexing_error"]["error"] == "validation_error"
    else:
        assert "Removed 1 damaged text;" in ended.out
        assert ended.err.startswith("error: ")


def test_a_file_that_is_no_database(cairn: Command) -> None:
    fresh = contents(database(cairn))
    damage.break_file(database(cairn))
    found = cairn("doctor", "--json")
    assert (found.code, found.json()["findings"][0]["code"]) == (6, "unreadable")
    searched = cairn("search", "session", "--json")
    assert searched.code == 6
    assert "cairn doctor" in searched.json()["details"]["hint"]
    mended = cairn("doctor", "--repair")
    assert (mended.code, mended.err.count("Traceback")) == (0, 0)
    [aside] = cairn.home.glob("*.damaged-*")
    assert str(aside) in mended.out
    assert contents(database(cairn)) == fresh


def test_damaged_copies_go_with_their_project_alone(cairn: Command, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", {"b.py": "def other(): pass\n"})
    mine = database(cairn)
    assert cairn("index", str(other), "--quiet").code == 0
    [theirs] = (each for each in cairn.home.glob("*.db") if each != mine and len(each.stem) == 64)
    for file, tree in ((mine, cairn.folder), (theirs, other)):
        damage.break_file(file)
        assert cairn("doctor", str(tree), "--repair").code == 0
    [aside] = cairn.home.glob(f"{mine.stem}.damaged-*")
    for suffix in ("-wal", "-shm"):
        aside.with_name(aside.name + suffix).write_bytes(b"def secret(): pass")
    assert cairn("forget", str(cairn.folder), "--yes").code == 0
    assert [path.name for path in cairn.home.rglob(f"{mine.stem}*")] == []
    assert theirs.exists()
    assert len(list(cairn.home.glob(f"{theirs.stem}.damaged-*"))) == 1


@pytest.mark.parametrize("is_readable", [True, False])
def test_rebuild(cairn: Command, is_readable: bool) -> None:
    fresh = contents(database(cairn))
    flip(cairn)
    if not is_readable:
        damage.break_file(database(cairn))
    ended = cairn("doctor", "--rebuild")
    assert ended.code == 0, ended
    assert ended.out.startswith("indexed ")
    assert contents(database(cairn)) == fresh
    assert cairn("doctor").code == 0


def test_backup_and_restore(cairn: Command) -> None:
    ended = cairn("doctor", "--backup", "copy.db")
    assert ended.code == 0
    copy = cairn.folder / "copy.db"
    assert str(copy) in ended.out
    assert copy.stat().st_mode & 0o777 == 0o600
    again = cairn("doctor", "--backup", "copy.db", "--json")
    assert (again.code, again.json()["error"]) == (2, "validation_error")
    file = database(cairn)
    wanted = contents(file)
    file.unlink()
    shutil.move(copy, file)
    assert cairn("doctor").code == 0
    assert contents(file) == wanted


def test_compact(cairn: Command) -> None:
    ended = cairn("doctor", "--compact", "--json")
    assert ended.code == 0
    [file] = cairn.home.glob("*.db")
    assert ended.json()["bytes_after"] == file.stat().st_size


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--repair", "--backup", "x"), 2),
        (("/nonexistent",), 3),
        (("--backup", "/nonexistent/x"), 2),
    ],
)
def test_bad_input(cairn: Command, arguments: tuple[str, ...], code: int) -> None:
    ended = cairn("doctor", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("error: ")


def test_the_only_project_is_meant_outside_of_any(cairn: Command, tmp_path: Path) -> None:
    elsewhere = Command(home=cairn.home, folder=tmp_path)
    assert elsewhere("doctor").out.startswith(f"sound: the index of {cairn.folder}")
    damage.break_file(database(cairn))
    ended = elsewhere("doctor", "--repair")
    assert ended.code == 6
    assert "in the project's folder: cairn doctor --repair" in ended.err
