"""What depends on the uncommitted changes of a work tree; git itself makes the repositories."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.reference_records import ImpactAnswer, ImpactRequest
from tests.support.git_trees import run_git
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "app/core.py": """import os

LIMIT = 1


def kept():
    return LIMIT


def gone():
    return 2


class Box:
    def lift(self):
        return 1

    def drop(self):
        return 2
""",
    "app/use.py": """from app.core import Box, gone, kept


def uses_kept():
    return kept()


def uses_gone():
    return gone()


def uses_box():
    return Box().lift()
""",
    "tests/test_use.py": """from app.use import uses_gone, uses_kept


def test_kept():
    assert uses_kept()


def test_gone():
    assert uses_gone()
""",
    "README.md": "# App\n",
}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with catalog_in(tmp_path / "home") as catalog:
        yield catalog


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", _TREE)


def _git(root: Path, *arguments: str) -> None:
    run_git(root, root.parent, *arguments)


def _committed(root: Path, *options: str) -> None:
    _git(root, "init", "-q", *options)
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "first")


def _indexed(catalog: Catalog, root: Path) -> Project:
    project = catalog.create(str(root))
    project.index()
    return project


def _impact(project: Project) -> ImpactAnswer:
    return project.impact(ImpactRequest(changed=True))


def _changes(answer: ImpactAnswer) -> dict[str, str]:
    return {each.name: each.change.value if each.change else "" for each in answer.definitions}


def _edit(root: Path, path: str, old: str, new: str) -> None:
    file = root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_nothing_changed(catalog: Catalog, root: Path) -> None:
    _committed(root)
    answer = _impact(_indexed(catalog, root))
    assert (answer.definitions, answer.total, answer.notes) == ((), 0, ())


@pytest.mark.parametrize("is_staged", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_modified_definition(
    catalog: Catalog, root: Path, is_staged: bool, is_packed: bool
) -> None:
    _committed(root)
    if is_packed:
        _edit(root, "app/use.py", "Box().lift()", "Box().lift()  # once")
        _git(root, "commit", "-qam", "second")
        _git(root, "gc", "-q")
    project = _indexed(catalog, root)
    _edit(root, "app/core.py", "return LIMIT", "return LIMIT + 1")
    if is_staged:
        _git(root, "add", ".")
    project.index()
    answer = _impact(project)
    assert _changes(answer) == {"kept": "modified"}
    assert [each.name for each in answer.dependents] == ["uses_kept"]
    assert [each.name for each in answer.tests] == ["test_kept"]
    assert answer.test_files == ("tests/test_use.py",)
    assert answer.notes == ()


def test_definitions_that_moved_are_not_changed(catalog: Catalog, root: Path) -> None:
    _committed(root)
    _edit(root, "app/core.py", "LIMIT = 1\n", "\n\n\nLIMIT = 1\n")
    assert _changes(_impact(_indexed(catalog, root))) == {}


@pytest.mark.parametrize("is_fresh", [False, True])
def test_uses_of_a_deleted_definition_are_affected(
    catalog: Catalog, root: Path, is_fresh: bool
) -> None:
    _committed(root)
    project = _indexed(catalog, root)
    _edit(root, "app/core.py", "def gone():\n    return 2\n", "")
    if is_fresh:
        project.index()
    answer = _impact(project)
    assert _changes(answer) == {"gone": "deleted"}
    assert [(each.name, each.certainty.value) for each in answer.dependents] == [
        ("uses_gone", "exact")
    ]
    assert [each.name for each in answer.tests] == ["test_gone"]
    assert bool(answer.notes) is not is_fresh
    if not is_fresh:
        assert answer.notes[0].startswith("the index has another text of 1 changed file")


def test_methods_are_told_apart_and_classes_too(catalog: Catalog, root: Path) -> None:
    _committed(root)
    _edit(root, "app/core.py", "    def drop(self):\n        return 2", "    def drop(self): ...")
    _edit(root, "app/core.py", "import os\n", "import sys\n")
    answer = _impact(_indexed(catalog, root))
    assert _changes(answer) == {"Box.drop": "modified", "app/core.py": "modified"}
    assert "uses_box" not in {each.name for each in answer.dependents}


def test_added_and_deleted_files(catalog: Catalog, root: Path) -> None:
    _committed(root)
    (root / "app/core.py").unlink()
    (root / "app/new.py").write_text("def fresh():\n    return 1\n")  # not even staged
    (root / "README.md").write_text("# Another\n")
    answer = _impact(_indexed(catalog, root))
    assert _changes(answer) == {
        "README.md": "modified",
        "LIMIT": "deleted",
        "kept": "deleted",
        "gone": "deleted",
        "Box": "deleted",
        "Box.lift": "deleted",
        "Box.drop": "deleted",
        "app/core.py": "deleted",
        "fresh": "added",
    }
    assert {each.name for each in answer.dependents} == {"uses_kept", "uses_gone", "uses_box"}


def test_a_changed_test_is_to_be_run(catalog: Catalog, root: Path) -> None:
    _committed(root)
    _edit(root, "tests/test_use.py", "assert uses_kept()", "assert uses_kept() == 1")
    answer = _impact(_indexed(catalog, root))
    assert answer.test_files == ("tests/test_use.py",)


def test_a_folder_of_a_repository(catalog: Catalog, root: Path) -> None:
    _committed(root)
    _edit(root, "app/core.py", "return LIMIT", "return LIMIT + 1")
    (root / "README.md").write_text("# Another\n")
    answer = _impact(_indexed(catalog, root / "app"))
    assert _changes(answer) == {"kept": "modified"}
    assert [each.path for each in answer.dependents] == ["use.py"]


def test_line_ends_do_not_count_nor_does_a_submodule(catalog: Catalog, root: Path) -> None:
    _committed(root)
    text = (root / "app/use.py").read_bytes()
    (root / "app/use.py").write_bytes(text.replace(b"\n", b"\r\n"))
    write_tree(root / "nested", {"inner.py": "def inner(): pass\n"})
    _committed(root / "nested")
    answer = _impact(_indexed(catalog, root))
    assert (_changes(answer), answer.notes) == ({}, ())


def test_a_repository_without_a_commit(catalog: Catalog, root: Path) -> None:
    _git(root, "init", "-q")
    answer = _impact(_indexed(catalog, root))
    assert set(_changes(answer).values()) == {"added"}
    assert answer.notes == ("there is no commit yet: every file counts as added",)


def test_a_repository_with_longer_hashes(catalog: Catalog, root: Path) -> None:
    _committed(root, "--object-format=sha256")
    _git(root, "gc", "-q")
    _edit(root, "app/core.py", "return LIMIT", "return LIMIT + 1")
    assert _changes(_impact(_indexed(catalog, root))) == {"kept": "modified"}


def _break_pack(root: Path) -> None:
    _git(root, "gc", "-q")
    [pack] = (root / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(b"\0" * 1000)


def _borrow(root: Path) -> None:
    (root / ".git/objects").rename(root.parent / "elsewhere")
    (root / ".git/objects/info").mkdir(parents=True)
    (root / ".git/objects/info/alternates").write_text(f"{root.parent}/elsewhere\n")


def _link(root: Path) -> None:
    (root / ".git/objects").rename(root.parent / "elsewhere")
    (root / ".git/objects").symlink_to(root.parent / "elsewhere")


def _block(root: Path) -> None:
    _git(root, "gc", "-q")
    for file in (root / ".git/objects/pack").iterdir():
        file.unlink()
        os.mkfifo(file)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_break_pack, "is damaged"),
        (_borrow, "(alternates)"),
        (_link, "cannot be opened"),
        (_block, "is missing"),
    ],
)
def test_without_the_commit_files_are_compared_with_the_index(
    catalog: Catalog, root: Path, spoil: object, reason: str
) -> None:
    assert callable(spoil)
    _committed(root)
    spoil(root)
    _edit(root, "app/core.py", "return LIMIT", "return LIMIT + 1")
    answer = _impact(_indexed(catalog, root))
    [note] = answer.notes
    assert note.startswith("the last commit cannot be read (")
    assert reason in note
    assert {each.path for each in answer.definitions} == {"app/core.py"}
    assert _changes(answer)["kept"] == "modified"
    assert "uses_kept" in {each.name for each in answer.dependents}
