"""The commits that touched lines of a file: followed through changes, renames and merges."""

import shutil
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidInputError, InvalidQueryError
from engine.history_records import HistoryAnswer, HistoryRequest
from engine.project import Project
from engine.source.git_history import HistoryReader
from tests.support.catalogs import open_catalog
from tests.support.git_history import GitTree, sample_history
from tests.support.git_trees import run_git

_DELAY = 6  # the line of the wait in the sample


def asked(project: Project, lines: str, query: str = "") -> HistoryAnswer:
    return project.history.search(HistoryRequest(query=query, lines=lines, limit=100))


def subjects(project: Project, lines: str, query: str = "") -> list[str]:
    return [hit.subject for hit in asked(project, lines, query).commits]


def read(catalog: Catalog, git: GitTree) -> Project:
    project = catalog.create(str(git.root))
    project.index()
    project.read_history()
    return project


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    return sample_history(tree, tmp_path)


@pytest.fixture
def project(catalog: Catalog, git: GitTree) -> Project:
    return read(catalog, git)


def test_lines_are_followed_through_changes_and_renames(project: Project) -> None:
    changed = ["Make retries exponential", "Begin"]
    assert subjects(project, f"src/net/retry.py:{_DELAY}") == changed
    assert subjects(project, f"src/net/retry.py:{_DELAY - 2}-{_DELAY + 1}") == changed
    assert subjects(project, "src/net/retry.py:10-12") == ["Begin"]
    assert subjects(project, "src/cache.py:1-2") == ["Add a cache of answers"]


def test_other_filters_and_words_hold_too(project: Project, git: GitTree) -> None:
    place = f"src/net/retry.py:{_DELAY}"
    assert subjects(project, place, "author:ada") == ["Make retries exponential"]
    found = project.history.search(HistoryRequest(query=f"type:commit lines:{place} exponential"))
    assert [hit.subject for hit in found.commits] == ["Make retries exponential"]
    assert subjects(project, f"{git.root}/src/cache.py:1") == ["Add a cache of answers"]


def test_lines_that_moved_keep_their_history(project: Project, git: GitTree) -> None:
    text = (git.root / "src/net/retry.py").read_text()
    git.commit("Add a licence", {"src/net/retry.py": f"# Licence\n# of two lines\n{text}"})
    project.read_history()
    assert subjects(project, f"src/net/retry.py:{_DELAY + 2}") == [
        "Make retries exponential",
        "Begin",
    ]
    assert subjects(project, "src/net/retry.py:1-2") == ["Add a licence"]


def test_a_line_removed_between_others_counts(project: Project, git: GitTree) -> None:
    git.commit("Three", {"list.txt": "one\ntwo\nthree\n"})
    git.commit("Drop two", {"list.txt": "one\nthree\n"})
    project.read_history()
    assert subjects(project, "list.txt:1-2") == ["Drop two", "Three"]
    assert subjects(project, "list.txt:1") == ["Three"]


def test_both_sides_of_a_merge_are_followed(project: Project, git: GitTree) -> None:
    lines = [f"line {number}" for number in range(20)]
    git.git("branch", "-M", "main")
    git.commit("Base", {"m.txt": "\n".join(lines)})
    git.git("checkout", "-q", "-b", "side")
    git.commit("Side", {"m.txt": "\n".join(["side", *lines[1:]])})
    git.git("checkout", "-q", "main")
    git.commit("Main", {"m.txt": "\n".join([*lines[:-1], "main"])})
    git.merge("side", "Merge side")
    project.read_history()
    assert subjects(project, "m.txt:1-20") == ["Main", "Side", "Base"]
    assert subjects(project, "m.txt:1") == ["Side", "Base"]
    assert subjects(project, "m.txt:20") == ["Main", "Base"]
    assert subjects(project, "m.txt:10") == ["Base"]


def test_a_merge_that_writes_lines_itself_is_told(project: Project, git: GitTree) -> None:
    git.git("branch", "-M", "main")
    git.commit("Base", {"m.txt": "one\ntwo\n"})
    git.git("checkout", "-q", "-b", "side")
    git.commit("Side", {"side.txt": "x\n"})
    git.git("checkout", "-q", "main")
    git.commit("Main", {"main.txt": "x\n"})
    git.merge("side", "Merge side")
    (git.root / "m.txt").write_text("one\nneither\n")
    git.git("add", "-A")
    git.git("commit", "-q", "--amend", "--no-edit")
    project.read_history()
    assert subjects(project, "m.txt:2") == ["Merge side"]
    assert subjects(project, "m.txt:1") == ["Base"]


def test_lines_that_are_not_committed_are_said(project: Project, git: GitTree) -> None:
    file = git.root / "src/cache.py"
    file.write_text(file.read_text() + "\nnew = 1\n")
    answer = asked(project, "src/cache.py:1-4")
    assert [hit.subject for hit in answer.commits] == ["Add a cache of answers"]
    assert answer.notes == ("lines 3-4 are not in the last commit that was read",)
    (git.root / "new.py").write_text("x = 1\n")
    answer = asked(project, "new.py:1")
    assert (answer.commits, len(answer.notes)) == ((), 1)
    assert "new.py is not in the last commit" in answer.notes[0]


def test_a_folder_outside_of_git_has_no_history(catalog: Catalog, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.py").write_text("x = 1\n")
    project = catalog.create(str(root))
    project.index()
    project.read_history()
    answer = asked(project, "a.py:1")
    assert (answer.commits, answer.notes) == ((), ("the folder is not in a git repository",))


def test_a_shallow_clone_says_what_it_lacks(catalog: Catalog, git: GitTree, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth=2", f"file://{git.root}", str(clone))
    project = read(catalog, GitTree(clone, tmp_path))
    answer = asked(project, f"src/net/retry.py:{_DELAY}")
    assert answer.commits == ()
    assert any("older than the commits that were read" in note for note in answer.notes)
    assert subjects(project, "src/cache.py:1") == ["Add a cache of answers"]


def test_beyond_the_limit_lines_are_older(git: GitTree, config: Config) -> None:
    from dataclasses import replace

    with open_catalog(replace(config, history_commits=2, history_days=1)) as catalog:
        answer = asked(read(catalog, git), f"src/net/retry.py:{_DELAY}")
    assert answer.commits == ()
    assert any("older than the commits that were read" in note for note in answer.notes)


def test_objects_that_are_gone_are_said(catalog: Catalog, git: GitTree, project: Project) -> None:
    shutil.rmtree(git.root / ".git/objects")
    (git.root / ".git/objects").mkdir()
    answer = asked(project, f"src/net/retry.py:{_DELAY}")
    assert answer.commits == ()
    assert any("cannot be followed" in note for note in answer.notes)


def test_a_version_that_is_gone_is_said(catalog: Catalog, git: GitTree, project: Project) -> None:
    blob = git.git("rev-parse", "HEAD^:src/net/retry.py")
    (git.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    text = (git.root / "src/net/retry.py").read_text()
    git.commit("Grow", {"src/net/retry.py": f"{text}x = 1\n"})
    project.read_history()
    answer = asked(project, f"src/net/retry.py:{_DELAY}")
    assert answer.commits == ()
    assert any("older changes are unknown" in note for note in answer.notes)


@pytest.mark.parametrize(
    "lines",
    [
        "src/cache.py",
        "src/cache.py:0",
        "src/cache.py:2-1",
        "src/cache.py:1-99",
        "no.py:1",
        "../outside:1",
        "src:1",
    ],
)
def test_places_that_do_not_exist_are_refused(project: Project, lines: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        asked(project, lines)
    assert caught.value.details["field"] == "lines"


def test_lines_cannot_be_negated(project: Project) -> None:
    with pytest.raises(InvalidQueryError):
        subjects(project, "src/cache.py:1", "-lines:src/cache.py:2")


def test_a_project_in_a_folder_of_the_repository(catalog: Catalog, git: GitTree) -> None:
    project = catalog.create(str(git.root / "src"))
    project.index()
    project.read_history()
    assert subjects(project, f"net/retry.py:{_DELAY}") == ["Make retries exponential", "Begin"]


def test_dates_that_fall_do_not_multiply_the_work(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.git("checkout", "-q", "--orphan", "main2")
    git.feed("fast-import", "--quiet", "--force", given=_diamonds(30))
    git.git("reset", "-q", "--hard", "main2")
    project = read(catalog, git)
    looked_up = 0
    blob_of = HistoryReader.blob_of

    def counted(reader: HistoryReader, commit: bytes, path: bytes) -> bytes:
        nonlocal looked_up
        looked_up += 1
        return blob_of(reader, commit, path)

    monkeypatch.setattr(HistoryReader, "blob_of", counted)
    answer = asked(project, "m.txt:3")
    assert [hit.subject for hit in answer.commits] == ["0 base"]
    assert answer.notes == ()
    assert 30 < looked_up < 1000


def _diamonds(number: int) -> bytes:
    """Give branches that part and join again and again; each commit is dated before its parents."""
    texts = ["a\n", "b\n"]
    marks = 0
    stream = b""

    def commit(what: str, *parents: int) -> int:
        nonlocal marks, stream
        marks += 1
        origin = "".join(
            f"{'merge' if place else 'from'} :{parent}\n" for place, parent in enumerate(parents)
        )
        text = f"{texts[0]}between\nkept\nand\n{texts[1]}"
        stream += (
            f"commit refs/heads/main2\nmark :{marks}\n"
            f"committer A <a@b> {1_700_000_000 - marks} +0000\ndata {len(what)}\n{what}\n{origin}"
            f"M 644 inline m.txt\ndata {len(text)}\n{text}\n"
        ).encode()
        return marks

    last = commit("0 base")
    for each in range(1, number + 1):
        before = texts[0]
        texts[0] = changed = f"a {each}\n"
        one = commit(f"{each} one", last)
        texts[:] = before, f"b {each}\n"
        other = commit(f"{each} other", last)
        texts[0] = changed
        last = commit(f"{each} join", one, other)
    return stream
