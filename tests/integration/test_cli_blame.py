"""The last commit of each line, on the command line."""

from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.git_history import GitTree, index_with_history, sample_history

_RETRY = "src/net/retry.py"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTree:
    folder = tmp_path_factory.mktemp("blame")
    git = sample_history(folder / "tree", folder)
    index_with_history(folder / "home", git)
    return git


@pytest.fixture
def cairn(git: GitTree) -> Command:
    return Command(home=git.home / "home", folder=git.root, reads_here=True)


def test_each_line_has_its_commit(cairn: Command, git: GitTree) -> None:
    made = git.git("log", "--format=%h", "--abbrev=10", "--follow", "--", _RETRY).split()
    ended = cairn("blame", _RETRY)
    assert (ended.code, ended.err) == (0, "")
    *lines, _, total = ended.out.splitlines()
    assert total == "12 lines"
    text = (git.root / _RETRY).read_text().splitlines()
    assert len(lines) == len(text)
    for number, (line, code) in enumerate(zip(lines, text, strict=True), 1):
        assert line.split()[0] in made
        assert line.endswith(f"  {number:>2}  {code}")
    assert len({line.split()[0] for line in lines}) == 2


def test_code_is_as_it_stands(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "tabs.go").write_bytes(b"package tabs\r\n\tfunc\x1b f() {}\r\n")
    cairn = Command(home=tmp_path / "home", folder=tree)
    assert cairn("index").code == 0
    first, second, *_ = cairn("blame", "tabs.go").out.splitlines()
    assert first.endswith("  1  package tabs")
    assert second.endswith("  2  \tfunc\\x1b f() {}")


def test_some_lines_and_json(cairn: Command, git: GitTree) -> None:
    found = cairn("blame", _RETRY, "--lines", "5:7", "--json").json()
    assert [(run["line_start"], run["line_end"]) for run in found["runs"]] == [
        (5, 5),
        (6, 6),
        (7, 7),
    ]
    assert found["runs"][1]["commit"]["subject"] == "Make retries exponential"
    assert cairn("blame", f"{_RETRY}:5-7", "--json").json() == found
    one = cairn("blame", _RETRY, "--lines", "6").out.splitlines()
    assert one[-1] == "1 line"
    assert len(one) == 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [("7:5", "names no lines"), ("x", "names no lines"), ("1:99", "has 12 lines, not 99")],
)
def test_lines_that_are_not_there_are_refused(cairn: Command, lines: str, message: str) -> None:
    ended = cairn("blame", _RETRY, "--lines", lines)
    assert ended.code == 2
    assert message in ended.err


def test_a_file_that_is_not_indexed(cairn: Command) -> None:
    ended = cairn("blame", "nothing.py")
    assert ended.code == 3
    assert "nothing.py is not in the index" in ended.err


def test_lines_of_a_file_of_a_named_project_wherever_it_is_asked(
    git: GitTree, tmp_path: Path
) -> None:
    namesake = tmp_path / f"{_RETRY}:5-7"
    namesake.parent.mkdir(parents=True)
    namesake.touch()
    elsewhere = Command(home=git.home / "home", folder=tmp_path, reads_here=True)
    ended = elsewhere("blame", f"{_RETRY}:5-7", "--project", str(git.root))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "3 lines"


def test_a_file_whose_name_ends_like_lines(tmp_path: Path) -> None:
    git = GitTree(tmp_path / "tree", tmp_path)
    git.commit("Add both", {"a.py": "one = 1\ntwo = 2\n", "a.py:2": "three = 3\n"})
    index_with_history(tmp_path / "home", git)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Command(home=tmp_path / "home", folder=tmp_path / "elsewhere", reads_here=True)
    ended = elsewhere("blame", "a.py:2", "--project", str(git.root))
    assert (ended.code, ended.err) == (0, "")
    assert "three = 3" in ended.out
    assert "two = 2" not in ended.out
