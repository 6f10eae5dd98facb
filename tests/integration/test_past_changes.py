"""Files that past commits connect with the words of a query rank higher."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.search_records import Mode, SearchAnswer, SearchRequest
from tests.support.git_history import GitTree
from tests.support.jobs import catalog_in

QUERY = "slow login of customers"


def _module(number: int) -> str:
    return f'"""Slow login notes."""\n\n\ndef step(value):\n    return value + {number}\n'


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    git = GitTree(tree, tmp_path)
    git.commit("Begin", {f"src/step_{number}.py": _module(number) for number in range(1, 5)})
    git.commit("Rename the argument", {"src/step_2.py": _module(7)})
    git.commit(
        "Repair the slow login of customers", {"src/step_3.py": _module(8) + "\n\nlast = 3\n"}
    )
    return git


@pytest.fixture
def project(catalog: Catalog, git: GitTree) -> Project:
    project = catalog.create(str(git.root))
    project.index()
    return project


def ask(project: Project, query: str = QUERY, mode: Mode = Mode.HYBRID) -> SearchAnswer:
    return project.search(SearchRequest(query=query, mode=mode, explain=True))


def paths(answer: SearchAnswer) -> list[str]:
    return [hit.path for hit in answer.hits]


def shares(answer: SearchAnswer) -> dict[str, float]:
    found = {}
    for hit in answer.hits:
        assert hit.explain
        if "history" in hit.explain.shares:
            found[hit.path] = hit.explain.shares["history"]
    return found


def test_a_file_that_a_commit_connects_with_the_query_comes_first(project: Project) -> None:
    before = ask(project)
    assert paths(before)[0] != "src/step_3.py"
    assert not shares(before)
    project.read_history()
    after = ask(project)
    assert paths(after)[0] == "src/step_3.py"
    assert any(part.startswith("history +") for part in after.hits[0].why)
    assert set(paths(after)) == set(paths(before))


def test_the_first_query_of_a_process_and_later_ones_agree(project: Project) -> None:
    project.read_history()
    first, *later = (ask(project) for _ in range(3))
    assert shares(first)
    for answer in later:
        assert paths(answer) == paths(first)
        assert shares(answer) == pytest.approx(shares(first))


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("step_3", Mode.HYBRID),
        ("login", Mode.HYBRID),
        ('"slow login" notes', Mode.HYBRID),
        (QUERY, Mode.KEYWORD),
        (QUERY, Mode.MEANING),
    ],
)
def test_names_single_words_phrases_and_other_modes_do_without(
    project: Project, query: str, mode: Mode
) -> None:
    before = ask(project, query, mode)
    project.read_history()
    after = ask(project, query, mode)
    assert before.hits
    assert [(hit.path, hit.score) for hit in after.hits] == [
        (hit.path, hit.score) for hit in before.hits
    ]


def test_a_commit_of_very_many_files_says_nothing_of_them(project: Project, git: GitTree) -> None:
    many = {f"src/other_{number}.py": f"step = {number}\n" for number in range(60)}
    git.commit("Slow login of customers", {**many, "src/step_4.py": _module(9)})
    project.index()
    project.read_history()
    found = shares(ask(project))
    assert found["src/step_3.py"] == max(found.values())
    assert found["src/step_4.py"] == found["src/step_1.py"] < 0.2


def test_new_commits_count_after_they_are_read(project: Project, git: GitTree) -> None:
    project.read_history()
    assert paths(ask(project))[0] == "src/step_3.py"
    for number in range(3):
        git.commit("Repair the slow login of customers", {"src/step_4.py": _module(10 + number)})
    project.index()
    project.read_history()
    found = shares(ask(project))
    assert found["src/step_4.py"] == max(found.values()) > found["src/step_3.py"]


def test_commits_count_alike_in_whatever_order_they_were_read(
    project: Project, git: GitTree, tmp_path: Path
) -> None:
    project.read_history()
    for number in (1, 2, 4):
        git.commit("Repair the slow login of customers", {f"src/step_{number}.py": _module(20)})
        project.index()
        project.read_history()
    with catalog_in(tmp_path / "another") as another:
        fresh = another.create(str(git.root))
        fresh.index()
        fresh.read_history()
        asked = [shares(ask(each)) for each in (project, fresh) for _ in range(3)]
    assert len(asked[0]) > 1
    assert asked == [pytest.approx(asked[0])] * len(asked)
