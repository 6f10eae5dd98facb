"""Contexts are made, changed and removed; no change of another process or thread is lost."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.contexts import FILE_NAME, Contexts
from engine.errors import (
    ConflictError,
    ContextNotFoundError,
    DamagedIndexError,
    InvalidInputError,
    UnavailableError,
)
from engine.state_records import ContextChange, ContextProject

ROOT = Path(__file__).resolve().parents[3]
_DIED = 86


def _project(number: int) -> ContextProject:
    return ContextProject(project_id=f"{number:064x}", path=f"/src/{number}")


def _contexts(home: Path, gone: frozenset[str] = frozenset()) -> Contexts:
    return Contexts(home, lambda project_id: project_id not in gone)


def _paths(contexts: Contexts, name: str) -> list[str]:
    return [each.path for each in contexts.get(name).projects]


def test_a_context_is_made_changed_renamed_and_removed(tmp_path: Path) -> None:
    contexts = _contexts(tmp_path / "home")
    assert contexts.all() == ()
    contexts.create("Work", [_project(2), _project(1), _project(2)])
    contexts.create("docs", [_project(3)])
    assert [each.name for each in contexts.all()] == ["docs", "Work"]
    assert _paths(contexts, "WORK") == ["/src/1", "/src/2"]
    change = ContextChange(name="day-job", add=(_project(4),), drop=(_project(1).project_id,))
    assert contexts.change("work", change).name == "day-job"
    assert _paths(contexts, "day-job") == ["/src/2", "/src/4"]
    contexts.change("day-job", ContextChange(name="Day-Job", projects=(_project(5),)))
    assert [(each.name, len(each.projects)) for each in contexts.all()] == [
        ("Day-Job", 1),
        ("docs", 1),
    ]
    contexts.remove("day-job")
    assert [each.name for each in contexts.all()] == ["docs"]
    stored = tmp_path / "home" / FILE_NAME
    assert stored.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in (tmp_path / "home").iterdir() if each.is_file()] == [FILE_NAME]


@pytest.mark.parametrize(
    "name", ["", "-a", ".a", "_a", "a b", "a/b", "a:b", 'a"', "a" * 41, "a\n", "\udcff"]
)
def test_what_no_filter_could_name_is_refused(tmp_path: Path, name: str) -> None:
    contexts = _contexts(tmp_path)
    with pytest.raises(InvalidInputError, match=r"no context can be named .*, wanted 1 to 40"):
        contexts.create(name, [_project(1)])
    contexts.create("fine", [_project(1)])
    with pytest.raises(InvalidInputError, match="no context can be named"):
        contexts.change("fine", ContextChange(name=name))
    assert [each.name for each in contexts.all()] == ["fine"]


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "größe", "9", "a" * 40])
def test_letters_of_any_alphabet_digits_and_some_signs_are_a_name(
    tmp_path: Path, name: str
) -> None:
    assert _contexts(tmp_path).create(name, [_project(1)]).name == name
    assert _contexts(tmp_path).get(name.upper()).name == name


def test_an_unknown_context_is_an_error_that_names_the_closest_and_all(tmp_path: Path) -> None:
    contexts = _contexts(tmp_path)
    with pytest.raises(ContextNotFoundError) as raised:
        contexts.get("work")
    assert raised.value.hint == "there are no contexts yet"
    contexts.create("work", [_project(1)])
    contexts.create("docs", [_project(1)])
    with pytest.raises(ContextNotFoundError) as raised:
        contexts.get("wrok")
    assert raised.value.message == "no context is named 'wrok', did you mean 'work'"
    assert raised.value.hint == "the contexts are docs, work"
    for act in (contexts.remove, lambda name: contexts.change(name, ContextChange())):
        with pytest.raises(ContextNotFoundError):
            act("wrok")


def test_a_taken_name_and_a_context_without_projects_are_refused(tmp_path: Path) -> None:
    contexts = _contexts(tmp_path)
    contexts.create("work", [_project(1)])
    contexts.create("docs", [_project(1)])
    with pytest.raises(ConflictError, match="there is a context named 'work' already"):
        contexts.create("WORK", [_project(2)])
    with pytest.raises(ConflictError):
        contexts.change("docs", ContextChange(name="Work"))
    with pytest.raises(InvalidInputError, match="at least one project"):
        contexts.create("none", [])
    with pytest.raises(InvalidInputError, match="no project would be left"):
        contexts.change("work", ContextChange(drop=(_project(1).project_id,)))
    assert _paths(contexts, "work") == ["/src/1"]


def test_a_forgotten_project_leaves_all_and_a_lost_one_is_said_to_be_gone(tmp_path: Path) -> None:
    contexts = _contexts(tmp_path)
    contexts.create("work", [_project(1), _project(2)])
    contexts.create("docs", [_project(1)])
    contexts.create("rest", [_project(3)])
    assert contexts.drop_project(_project(1).project_id) == ("docs", "work")
    assert contexts.drop_project(_project(1).project_id) == ()
    assert (_paths(contexts, "work"), _paths(contexts, "docs")) == (["/src/2"], [])
    lost = _contexts(tmp_path, frozenset({_project(2).project_id}))
    assert [each.gone for each in lost.get("work").projects] == [True]
    assert lost.missing_note("Work") == "of the context work, /src/2 is no longer indexed"
    assert lost.missing_note("rest") == ""


def test_changes_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    _contexts(tmp_path).create("work", [_project(0)])

    def add(number: int) -> None:
        _contexts(tmp_path).change("work", ContextChange(add=(_project(number),)))

    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.unit.engine.test_contexts import ContextChange, Path, _contexts, _project\n"
        "for n in range(int(sys.argv[3]), int(sys.argv[3]) + 20):\n"
        "    _contexts(Path(sys.argv[2])).change('work', ContextChange(add=(_project(n),)))\n"
    )
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(ROOT), str(tmp_path), str(start)])
        for start in (100, 200)
    ]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(1, 21)))
    assert [each.wait() for each in others] == [0, 0]
    numbers = {int(path.rpartition("/")[2]) for path in _paths(_contexts(tmp_path), "work")}
    assert numbers == {*range(21), *range(100, 120), *range(200, 220)}


def test_a_process_that_dies_while_it_writes_loses_its_own_change_only(tmp_path: Path) -> None:
    _contexts(tmp_path).create("work", [_project(1)])
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.unit.engine.test_contexts import ContextChange, Path, _contexts, _project\n"
        "_contexts(Path(sys.argv[2])).create('docs', [_project(2)])\n"
    )
    environment = dict(os.environ, CAIRN_FAULT="die:file written")
    died = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(tmp_path)], env=environment, check=False
    )
    assert died.returncode == _DIED
    assert [each.name for each in _contexts(tmp_path).all()] == ["work"]
    _contexts(tmp_path).create("docs", [_project(2)])
    assert [each.name for each in _contexts(tmp_path).all()] == ["docs", "work"]


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"[]",
        b'{"contexts": 1}',
        b'{"contexts": [{"name": "a b", "projects": {}}]}',
        b'{"contexts": [{"name": "a", "projects": {"x": "/a"}}]}',
        b'{"contexts": [{"name": "a", "projects": ["x"]}]}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_damaged_file_is_an_error_and_is_not_overwritten(tmp_path: Path, stored: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(stored)
    contexts = _contexts(tmp_path)
    with pytest.raises(DamagedIndexError, match="are damaged"):
        contexts.all()
    with pytest.raises(DamagedIndexError):
        contexts.create("work", [_project(1)])
    assert (tmp_path / FILE_NAME).read_bytes() == stored


def test_a_file_that_is_too_large_is_an_error_that_says_so(tmp_path: Path) -> None:
    _contexts(tmp_path).create("work", [_project(1)])
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(UnavailableError, match="larger than 16,777,216 bytes"):
        _contexts(tmp_path).all()


def test_the_file_can_be_read_by_people(tmp_path: Path) -> None:
    _contexts(tmp_path).create("work", [_project(1)])
    assert json.loads((tmp_path / FILE_NAME).read_text("utf-8")) == {
        "contexts": [{"name": "work", "projects": {_project(1).project_id: "/src/1"}}]
    }
