"""What a process keeps of a project never outlives the state that it was read from."""

import threading
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import ProjectNotFoundError
from engine.project import Project
from engine.search_records import SearchAnswer, SearchRequest
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def elsewhere(config: Config, tree: Path) -> Command:
    """The command line: another process on the same data directory."""
    return Command(home=config.data_dir, folder=tree)


def answer(index: Project, query: str) -> SearchAnswer:
    """Ask often enough that the last answer comes from what is kept."""
    request = SearchRequest(query=query)
    answers = [index.search(request) for _ in range(3)]
    assert answers[0].hits == answers[1].hits == answers[2].hits
    return answers[2]


def paths(index: Project, query: str) -> list[str]:
    return [hit.path for hit in answer(index, query).hits]


def test_what_another_process_writes_is_seen_at_once(
    index: Project, elsewhere: Command, tree: Path
) -> None:
    assert paths(index, "quasar") == []
    (tree / "app/quasar.py").write_text("def quasar() -> int:\n    return 1\n")
    (tree / "README.md").unlink()
    assert elsewhere("index", "--quiet").code == 0
    found = index.search(SearchRequest(query="quasar"))
    assert [hit.path for hit in found.hits] == ["app/quasar.py"]
    assert found.coverage.files == len(SAMPLE)
    assert "README.md" not in paths(index, "session")


def test_a_file_that_was_indexed_again_shows_its_new_text(
    index: Project, elsewhere: Command, tree: Path
) -> None:
    assert "token-" in answer(index, "open_session").hits[0].snippet
    file = tree / "app/session.py"
    file.write_text(file.read_text().replace("token-", "ticket-"))
    assert answer(index, "open_session").hits[0].fresh is False
    assert elsewhere("index", "--quiet").code == 0
    hit = index.search(SearchRequest(query="open_session")).hits[0]
    assert hit.fresh is True
    assert "ticket-" in hit.snippet


def test_a_file_that_became_binary_is_told_as_removed(index: Project, tree: Path) -> None:
    write_tree(tree, {"plain.txt": "words\n"})
    index.index()
    write_tree(tree, {"plain.txt": b"\0\1\2" * 100})
    report = index.index()
    assert (report.files_removed, report.files_indexed) == (1, 0)


def test_a_name_decides_for_no_other_file_of_the_same_text(index: Project, tree: Path) -> None:
    write_tree(tree, {"lib/a.min.js": "run()\n", "src/a.js": "run()\n"})
    index.index()
    assert index.status().skips["minified"] == 1


def test_this_process_sees_its_own_writes(index: Project, tree: Path) -> None:
    assert paths(index, "quasar") == []
    (tree / "quasar.py").write_text("quasar = 1\n")
    index.index()
    assert paths(index, "quasar") == ["quasar.py"]


def test_a_switch_of_the_branch_is_seen_at_once(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    home = tmp_path / "git-home"
    home.mkdir()
    write_tree(tree, SAMPLE)
    run_git(tree, home, "init", "-q", "-b", "main")
    run_git(tree, home, "add", ".")
    run_git(tree, home, "commit", "-qm", "first")
    index = catalog.create(str(tree))
    index.index()
    run_git(tree, home, "checkout", "-qb", "feature")
    (tree / "quasar.py").write_text("quasar = 1\n")
    run_git(tree, home, "add", ".")
    run_git(tree, home, "commit", "-qm", "second")
    index.index()
    for _ in range(2):
        assert paths(index, "quasar") == ["quasar.py"]
        assert answer(index, "session").hits[0].fresh is True
        run_git(tree, home, "checkout", "-q", "main")
        assert paths(index, "quasar") == []
        assert paths(index, "quasar branch:feature") == ["quasar.py"]
        assert answer(index, "session branch:feature").hits[0].fresh is None
        run_git(tree, home, "checkout", "-q", "feature")


def test_a_cleared_index_answers_nothing(index: Project, elsewhere: Command) -> None:
    assert paths(index, "session")
    assert elsewhere("clear", "--yes").code == 0
    found = index.search(SearchRequest(query="session"))
    assert (found.hits, found.total, found.coverage.files) == ((), 0, 0)
    assert "nothing is indexed yet" in found.notes[0]
    index.index()
    assert paths(index, "session")
    index.clear()
    assert paths(index, "session") == []


def test_a_project_forgotten_elsewhere_is_gone(
    catalog: Catalog, index: Project, elsewhere: Command, tree: Path
) -> None:
    request = SearchRequest(query="session")
    assert answer(index, "session").hits
    assert elsewhere("forget", str(tree), "--yes").code == 0
    with pytest.raises(ProjectNotFoundError):
        catalog.search([str(tree)], request)
    (tree / "quasar.py").write_text("quasar = 1\n")
    assert elsewhere("index", "--quiet").code == 0
    hits = catalog.search([str(tree)], SearchRequest(query="quasar")).hits
    assert [hit.path for hit in hits] == ["quasar.py"]


@pytest.mark.slow
def test_threads_share_what_is_kept_while_another_process_writes(
    index: Project, elsewhere: Command, tree: Path
) -> None:
    strange: list[object] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            found = index.search(SearchRequest(query="open session quasar"))
            if not found.hits or found.coverage.files < len(SAMPLE):
                strange.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(3):
        (tree / f"quasar{number}.py").write_text(f"quasar = {number}\n")
        assert elsewhere("index", "--quiet").code == 0
    done.set()
    for thread in threads:
        thread.join()
    assert strange == []
    assert len(paths(index, "quasar")) == 3


def test_a_branch_without_text_answers_nothing(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    home = tmp_path / "git-home"
    home.mkdir()
    write_tree(tree, {"app.py": "def quasar():\n    return 1\n", "empty.py": ""})
    run_git(tree, home, "init", "-q", "-b", "main")
    run_git(tree, home, "add", ".")
    run_git(tree, home, "commit", "-qm", "first")
    index = catalog.create(str(tree))
    index.index()
    run_git(tree, home, "checkout", "-qb", "bare")
    run_git(tree, home, "rm", "-q", "app.py")
    run_git(tree, home, "commit", "-qm", "second")
    index.index()
    assert paths(index, "quasar app Quasar") == []
    assert paths(index, "quasar branch:main") == ["app.py"]
