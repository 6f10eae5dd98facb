"""The history of one file, under its former names too, on all faces."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.history import former_names
from engine.history_records import HistoryAnswer, HistoryRequest
from engine.project import Project
from tests.support.command import Command
from tests.support.git_history import GitTree, index_with_history
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called
from tests.support.server import serving

Trace = Callable[[FrameType, str, Any], Any]
NOTE = "with the commits of former names of src/app/net/retry.py: app/retry.py, retry.py"


def text_of_file(number: int) -> str:
    """Give a file of which a line differs for each number."""
    lines = [f"def attempt_{each}():\n    return {each}\n\n" for each in range(12)]
    return "".join(lines) + f"LAST = {number}\n"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTree:
    """A repository in which a file is renamed twice, and others take its former names."""
    folder = tmp_path_factory.mktemp("former")
    git = GitTree(folder / "tree", folder)
    git.commit("Begin", {"retry.py": text_of_file(1), "README.md": "# Sample\n"})
    git.commit("Change it at the top", {"retry.py": text_of_file(2)})
    git.commit("Move it into app", {"app/retry.py": text_of_file(2)}, gone="retry.py")
    git.commit("Change it in app", {"app/retry.py": text_of_file(3), "a.py": "x = 1\n"})
    git.commit("Take the first name", {"retry.py": "print('another file')\n"})
    git.commit("Move it below src", {"src/app/net/retry.py": text_of_file(3)}, gone="app/retry.py")
    git.commit("Change the other file", {"retry.py": "print('another file', 2)\n"})
    git.commit("Change it below src", {"src/app/net/retry.py": text_of_file(4)})
    index_with_history(folder / "home", git)
    return git


OF_THE_FILE = [
    "Change it below src",
    "Move it below src",
    "Change it in app",
    "Move it into app",
    "Change it at the top",
    "Begin",
]


@pytest.fixture
def catalog(git: GitTree) -> Iterator[Catalog]:
    with catalog_in(git.home / "home") as catalog:
        yield catalog


@pytest.fixture
def project(catalog: Catalog, git: GitTree) -> Project:
    return catalog.open(str(git.root))


def find(project: Project, query: str = "", **options: object) -> HistoryAnswer:
    return project.history.search(HistoryRequest(query=query, **options))  # type: ignore[arg-type]


def subjects(project: Project, query: str = "") -> list[str]:
    return [hit.subject for hit in find(project, query).commits]


def test_a_file_is_followed_under_its_former_names(project: Project) -> None:
    answer = find(project, "path:/src/app/net/retry.py")
    assert [hit.subject for hit in answer.commits] == OF_THE_FILE
    assert answer.notes == (NOTE,)
    assert answer.commits[2].files[0].path == "app/retry.py"  # before a.py, which is first by path
    assert find(project, path="src/app/net/retry.py").commits == answer.commits
    assert subjects(project, "path:src/app/net/retry.py after:2020-09-19") == OF_THE_FILE[:2]
    assert subjects(project, "path:src/app/net/retry.py top")[0] == "Change it at the top"


def test_another_file_that_takes_a_name_has_its_own_history(project: Project) -> None:
    answer = find(project, "path:/retry.py")
    assert {"Take the first name", "Change the other file"} <= {
        hit.subject for hit in answer.commits
    }
    assert "Change it below src" not in {hit.subject for hit in answer.commits}
    assert answer.notes == ()


def test_folders_and_globs_are_not_followed(project: Project) -> None:
    for path in ("src/app", "/src/", "src/app/net/*.py", "net/retry.py"):
        assert subjects(project, f"path:{path}") == OF_THE_FILE[:2], path


def test_a_former_name_can_be_left_out(project: Project) -> None:
    query = "path:/src/app/net/retry.py -path:/app/retry.py"
    assert subjects(project, query) == ["Change it below src", "Change it at the top", "Begin"]


def test_other_filters_by_path_hold_too(project: Project) -> None:
    assert subjects(project, "path:/src/app/net/retry.py path:src") == OF_THE_FILE
    assert subjects(project, "path:/src/app/net/retry.py path:docs") == []


def test_the_authors_of_a_file_are_those_of_its_history(project: Project) -> None:
    authors = project.why("src/app/net/retry.py").facts["authors"]
    assert isinstance(authors, list)
    assert [each["commits"] for each in authors] == [len(OF_THE_FILE)]


def test_names_that_go_round_in_a_circle_end(tmp_path: Path) -> None:
    git = GitTree(tmp_path / "tree", tmp_path)
    git.commit("Begin", {"a.py": text_of_file(0)})
    names = ["b.py", "a.py", "c.py", "a.py", "b.py", "a.py"]
    before = "a.py"
    for number, name in enumerate(names):
        git.commit(f"Move {number}", {name: text_of_file(0)}, gone=before)
        git.commit(f"Change {number}", {name: text_of_file(0)[:-2] + "7\n"})
        git.commit(f"Undo {number}", {name: text_of_file(0)})
        before = name
    index_with_history(tmp_path / "home", git)
    with catalog_in(tmp_path / "home") as catalog:
        answer = find(catalog.open(str(git.root)), "path:/a.py", limit=100)
    assert answer.total == 1 + 3 * len(names)
    assert answer.notes == ("with the commits of former names of a.py: b.py, c.py",)


@pytest.mark.parametrize("days", [(2, 3), (2, 2), (5, 4), (9, 1)])
def test_the_graph_says_when_another_file_takes_a_name(
    tmp_path: Path, days: tuple[int, int]
) -> None:
    moved, taken = days
    git = GitTree(tmp_path / "tree", tmp_path)
    git.commit("Begin", {"retry.py": text_of_file(1)})
    git.commit("Move it", {"app/retry.py": text_of_file(1)}, gone="retry.py", day=moved)
    git.commit("Take its name", {"retry.py": "print(1)\n"}, day=taken)
    git.commit("Change the other file", {"retry.py": "print(2)\n"})
    git.commit("Change it again", {"retry.py": "print(3)\n"})
    index_with_history(tmp_path / "home", git)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.open(str(git.root))
        found = subjects(project, "path:/app/retry.py")
        authors = project.why("app/retry.py").facts["authors"]
    by_git = git.git("log", "--follow", "--format=%s", "--", "app/retry.py").splitlines()
    assert set(found) == set(by_git) == {"Begin", "Move it"}
    assert isinstance(authors, list)
    assert [each["commits"] for each in authors] == [2]


@pytest.mark.parametrize("days", [(2, 3), (2, 2), (5, 4)])
def test_a_name_that_another_file_had_before_is_not_followed_further(
    tmp_path: Path, days: tuple[int, int]
) -> None:
    one, other = text_of_file(1), "".join(f"print({each} * 7)\n" for each in range(40))
    git = GitTree(tmp_path / "tree", tmp_path)
    git.commit("Begin", {"a.py": one, "b.py": other})
    git.commit("Move b", {"c.py": other}, gone="b.py", day=days[0])
    git.commit("Move a to b", {"b.py": one}, gone="a.py", day=days[1])
    index_with_history(tmp_path / "home", git)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.open(str(git.root))
        assert set(subjects(project, "path:/c.py")) == {"Begin", "Move b"}
        assert find(project, "path:/c.py").notes == (
            "with the commits of former names of c.py: b.py",
        )


def test_names_that_go_back_and_forth_take_linear_time(tmp_path: Path) -> None:
    def lines_run(number: int) -> int:
        folder = tmp_path / str(number)
        git = GitTree(folder / "tree", folder)
        git.commit("Begin", {"a.py": text_of_file(0)})
        moves = [("a", "b"), *[("b", "c"), ("c", "b")] * number, ("b", "d")]
        stream = "".join(
            f"commit refs/heads/moved\ncommitter A <a@b> {1_700_000_000 + at} +0000\n"
            f"data 4\nMove\n{'' if at else 'from HEAD^0' + chr(10)}R {old}.py {new}.py\n"
            for at, (old, new) in enumerate(moves)
        )
        git.feed("fast-import", "--quiet", given=stream.encode())
        with catalog_in(folder / "home") as catalog:
            project = catalog.create(str(git.root))
            project.index()
            for name in git.git("rev-list", "--reverse", "moved").splitlines():
                git.git("update-ref", "HEAD", name)  # so that the oldest are stored first
                project.read_history()
            lines = 0

            def happened(frame: FrameType, event: str, _value: object) -> Trace | None:
                nonlocal lines
                lines += event == "line"
                is_wanted = frame.f_code.co_filename == former_names.__file__
                return happened if is_wanted else None

            sys.settrace(happened)
            try:
                answer = find(project, "path:/d.py", limit=1)
            finally:
                sys.settrace(None)
        assert answer.total == 1 + len(moves)
        assert answer.notes == ("with the commits of former names of d.py: b.py, c.py, a.py",)
        return lines

    assert lines_run(24) < 3 * lines_run(12)


def test_the_number_of_former_names_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former_names, "MOST_NAMES", 6)
    git = GitTree(tmp_path / "tree", tmp_path)
    git.commit("Begin", {"at0.py": text_of_file(0)})
    for number in range(8):
        git.commit("Move", {f"at{number + 1}.py": text_of_file(0)}, gone=f"at{number}.py")
    index_with_history(tmp_path / "home", git)
    with catalog_in(tmp_path / "home") as catalog:
        answer = find(catalog.open(str(git.root)), "path:/at8.py")
    assert answer.notes == (
        "with the commits of former names of at8.py: at7.py, at6.py, at5.py, at4.py, at3.py,"
        " and 1 more",
        "at8.py has more than 6 former names",
    )
    assert answer.total == 7  # the renames to it and to its six former names


def test_a_terminal_shows_the_history_of_a_file(git: GitTree) -> None:
    for folder, file in (("", "src/app/net/retry.py"), ("src/app/net", "retry.py")):
        cairn = Command(home=git.home / "home", folder=git.root / folder, reads_here=True)
        for arguments in (("log", file), ("log", "--path", file)):
            out = cairn(*arguments, "--limit", "9").out
            assert [each for each in OF_THE_FILE if f"\n    {each}\n" in out] == OF_THE_FILE
            assert NOTE in out
            assert "6 of 6 commits" in out


def test_a_word_that_is_no_file_is_still_a_question(git: GitTree) -> None:
    cairn = Command(home=git.home / "home", folder=git.root, reads_here=True)
    assert "Change it at the top" in cairn("log", "top").out
    assert "Move it below src" in cairn("log", "src").out  # a folder


def test_the_page_of_a_file_and_the_api_follow_it(git: GitTree) -> None:
    command = Command(home=git.home / "home", folder=git.root, reads_here=True)
    with serving(command, "--no-watch") as server, server.client() as client:
        [known] = client.get("/api/v1/projects").json()["projects"]
        base = f"/api/v1/projects/{known['project_id']}"
        found = client.get(f"{base}/commits", params={"path": "src/app/net/retry.py"}).json()
        assert [each["subject"] for each in found["commits"]] == OF_THE_FILE
        assert found["notes"] == [NOTE]
        page = client.get(f"/p/{known['project_id']}/f/src/app/net/retry.py").text
        [address] = re.findall(r'href="([^"]+)" title="Commits that changed this file"', page)
        shown = client.get(address.replace("&amp;", "&")).text
        assert "Change it at the top" in shown
        assert NOTE[1:] in shown


def test_agents_are_given_the_history_of_a_file(catalog: Catalog, git: GitTree) -> None:
    async def body(client: Client) -> None:
        query = "type:commit path:src/app/net/retry.py"
        found = await called(client, "search_code", query=query, project_path=str(git.root))
        assert [hit["summary"].split(" ", 1)[1] for hit in found["hits"]] == OF_THE_FILE
        assert NOTE in found["notes"]

    ask(catalog, body)
