"""The history of a project: what is read of it, kept up to date, and left out."""

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled, InvalidInputError, InvalidQueryError, NotFoundError
from engine.history_records import CommitHit, HistoryRequest
from engine.index_records import IndexOptions
from engine.project import Project
from engine.records import HistoryExtent
from engine.source.git_objects import GitObjects
from tests.support.catalogs import open_catalog
from tests.support.git_history import GitTree, sample_history
from tests.support.git_trees import run_git
from tests.support.history_oracle import check_fresh, find, raw_bytes, stored, subjects
from tests.support.trees import write_tree


@pytest.fixture
def git(tree: Path, tmp_path: Path) -> GitTree:
    return sample_history(tree, tmp_path)


@pytest.fixture
def project(catalog: Catalog, git: GitTree) -> Project:
    project = catalog.create(str(git.root))
    project.index()
    project.read_history()
    return project


def test_a_question_finds_the_commit_by_what_it_says_and_changed(
    project: Project, git: GitTree
) -> None:
    answer = find(project, "when did retries become exponential")
    hit = answer.commits[0]
    assert hit.commit == git.listed()[3]
    assert (hit.author, hit.email) == ("Ada Example", "ada@example.org")
    assert hit.date == "2020-09-15T12:26:40.000Z"
    assert hit.body == "A server that is down got a request each second."
    [file] = hit.files
    assert (file.path, file.change, file.added, file.removed) == ("src/retry.py", "modified", 1, 1)
    assert {"subject", "paths"} <= set(hit.why)
    assert (answer.coverage.commits, answer.coverage.complete) == (5, True)
    assert find(project, "delay attempt base").commits[0].why[0] == "lines"
    assert subjects(project, "AnswerCache") == ["Add a cache of answers"]
    assert subjects(project, '"request each second"') == ["Make retries exponential"]


def test_without_words_the_newest_come_first(project: Project) -> None:
    assert subjects(project) == [
        "Add a cache of answers",
        "Drop the readme",
        "Move retries into a package",
        "Make retries exponential",
        "Begin",
    ]
    assert subjects(project, limit=2) == ["Add a cache of answers", "Drop the readme"]
    assert find(project, limit=2).truncated


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("author:ada", ["Make retries exponential"]),
        ("author:EXAMPLE.ORG after:2020-09-15 before:2020-09-16", ["Make retries exponential"]),
        ("-author:ada path:src/retry.py", ["Move retries into a package", "Begin"]),
        ("path:src/net", ["Move retries into a package"]),
        ("path:*.md", ["Drop the readme", "Begin"]),
        ("path:/src/net/", ["Move retries into a package"]),
        ("path:net/ -path:/net/", ["Move retries into a package"]),
        ("path:/net/", []),
        ("-path:src", ["Drop the readme"]),
        ("after:2020-09-18", ["Add a cache of answers"]),
        ("before:2020-09-15", ["Begin"]),
        ("before:30d -path:src after:2020", ["Drop the readme"]),
        ("type:commit author:ada", ["Make retries exponential"]),
        ("after:yesterday", []),
        ('before:"2 weeks ago" after:2020-09-18', ["Add a cache of answers"]),
        ("before:2.weeks.ago author:ada", ["Make retries exponential"]),
        ("before:last-month author:ada before:today before:12h", ["Make retries exponential"]),
        ("after:2020-09-17T18:00:00Z before:2020-09-18T23:59", ["Add a cache of answers"]),
        ("retries -exponential path:src", ["Move retries into a package", "Begin"]),
        ('retries -"into a package" path:src', ["Make retries exponential", "Begin"]),
        (
            "path:src -exponential",
            ["Add a cache of answers", "Move retries into a package", "Begin"],
        ),
        ('path:src -"the first files" -retries', ["Add a cache of answers"]),
    ],
)
def test_filters_narrow_the_commits(project: Project, query: str, found: list[str]) -> None:
    assert sorted(subjects(project, query)) == sorted(found)


def test_a_file_is_not_another_one_whose_name_goes_on(project: Project, git: GitTree) -> None:
    git.commit("Add settings", {"src/cache.pyi": "class AnswerCache: ...\n", "new.js": "x = 1\n"})
    git.commit("Add a list", {"new.json": "{}\n", "src/cache.py.d/a.txt": "one\n"})
    project.read_history()
    assert subjects(project, "path:src/cache.py") == ["Add a cache of answers"]
    assert subjects(project, path="/new.js") == ["Add settings"]
    assert subjects(project, "path:new.js after:2020-09-20") == []
    assert "Add a list" in subjects(project, "path:src/cache.p")
    assert subjects(project, "-path:/new.js -path:*.py -path:*.md") == ["Add a list"]
    (git.root / "src/cache.ts").write_text("let size = 10;\n")
    git.commit("Add a page", {"src/cache.tsx": "<b/>\n"})
    project.read_history()
    assert subjects(project, "path:src/cache.ts") == ["Add a page"]


def test_filters_that_no_stored_commit_can_pass_are_said(project: Project) -> None:
    [note] = find(project, "author:Ada-Exampel retry").notes
    assert note == "no stored commit is by 'Ada-Exampel', did you mean 'Ada Example'"
    assert find(project, author="nobody").notes == ("no stored commit is by 'nobody'",)
    assert find(project, "before:2019").notes == ("the first commit is of 2020-09-14",)
    assert find(project, "before:2021 author:ada -author:nobody").notes == ()


def test_why_there_is_nothing_before_the_oldest_commit(
    config: Config, git: GitTree, tmp_path: Path
) -> None:
    begin = "the commits that were read begin on 2020-09-17"
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth", "2", git.root.as_uri(), str(clone))
    with open_catalog(replace(config, history_commits=2, history_days=1)) as catalog:
        notes = []
        for root in (git.root, clone):
            project = catalog.create(str(root))
            project.index()
            project.read_history()
            notes.append(find(project, "before:2019").notes)
    assert notes == [
        (f"{begin}: the settings history_commits and history_days say how far back they go",),
        (begin, "the clone is shallow: nothing before 2020-09-17 is in it"),
    ]


def test_the_first_commit_of_a_folder_is_told(config: Config, git: GitTree) -> None:
    git.commit("Begin a folder", {"below/new.py": "x = 1\n"})
    with open_catalog(config) as catalog:
        project = catalog.create(str(git.root / "below"))
        project.index()
        project.read_history()
        [note] = find(project, "before:2019").notes
        assert note.startswith("the first commit is of ")


def test_filters_are_options_too(project: Project) -> None:
    assert subjects(project, author="Ada") == ["Make retries exponential"]
    assert subjects(project, author="nobody") == []
    assert subjects(project, after="2020-09-18") == ["Add a cache of answers"]
    assert subjects(project, before="2020-09-15", path="src/") == ["Begin"]


@pytest.mark.parametrize("path", ["src/net", "src/net/", "src/retry.py"])
def test_an_absolute_path_means_what_is_below_the_root(project: Project, path: str) -> None:
    wanted = subjects(project, f"path:/{path}")
    assert wanted
    assert subjects(project, f"path:{project.root}/{path}") == wanted
    assert subjects(project, path=f"{project.root}/{path}") == wanted
    assert subjects(project, f"-path:{project.root}/{path}") == subjects(project, f"-path:/{path}")


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("lang:go retry", 0),
        ("after:soon", 6),
        ("type:file", 5),
        ("retry /a+/", 6),
        ("-after:2020", 7),
    ],
)
def test_what_commits_cannot_be_asked_is_an_error(
    project: Project, query: str, position: int
) -> None:
    with pytest.raises(InvalidQueryError) as error:
        find(project, query)
    assert error.value.details["position"] == position


@pytest.mark.parametrize("options", [{"after": "soon"}, {"limit": 0}, {"limit": 101}])
def test_bad_options_are_errors(project: Project, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        find(project, "retry", **options)


def test_a_commit_is_found_by_its_name(project: Project, git: GitTree) -> None:
    name = git.listed()[3]
    assert subjects(project, name[:7]) == subjects(project, name) == ["Make retries exponential"]
    assert project.history.commit(name[:5]).commit == name
    for wrong in ("abc", "zzzz", "0" * 40, ""):
        with pytest.raises(NotFoundError):
            project.history.commit(wrong)


def test_a_name_is_found_among_the_commits_that_pass(project: Project, git: GitTree) -> None:
    name = git.listed()[3]
    for query in (
        f"type:commit {name}",
        f"author:ada {name[:8]}",
        f"{name[:7].upper()} after:2020",
    ):
        assert subjects(project, query) == ["Make retries exponential"]
    assert subjects(project, name, author="nobody") == []
    assert subjects(project, f"author:nobody {name}") == []
    assert "Make retries exponential" not in subjects(project, f"-author:ada {name}")


def test_authors_are_found_in_any_case(project: Project, git: GitTree) -> None:
    git.commit("Traduire", {"fr.py": "x = 1\n"}, "--author=\u00c9lodie <e@example.org>")
    project.read_history()
    for author in ("\u00e9lodie", "\u00c9LODIE"):
        assert subjects(project, f"author:{author}") == ["Traduire"]
        assert subjects(project, author=author) == ["Traduire"]
        assert "Traduire" not in subjects(project, f"-author:{author}")


def test_the_total_counts_all_that_match(project: Project, git: GitTree) -> None:
    git.git("branch", "-M", "main")
    git.add_empty_commits(650, "pelican")
    project.read_history()
    assert project.history.search(HistoryRequest(query="pelican"), by_meaning=False).total == 650


def test_only_new_commits_are_read(project: Project, git: GitTree, config: Config) -> None:
    git.commit("Halve the cache", {"src/cache.py": "class AnswerCache:\n    size = 5\n"})
    assert find(project).notes == (
        "newer commits are not read yet; a job reads them after the next cairn index",
    )
    report = project.read_history()
    assert (report.commits, report.commits_added, report.commits_removed) == (6, 1, 0)
    assert project.read_history().commits_added == 0
    assert not project.is_history_due()
    check_fresh(config, git)


def test_a_read_that_is_cancelled_goes_on_where_it_was(
    catalog: Catalog, git: GitTree, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.git("branch", "-M", "main")
    git.add_empty_commits(2995)
    project = catalog.create(str(git.root))
    project.index()
    reads: Counter[bytes] = Counter()
    read_object = GitObjects.read

    def read(objects: GitObjects, name: bytes, kind: bytes, **limits: int) -> bytes:
        reads.update([name] if kind == b"commit" else [])
        return read_object(objects, name, kind, **limits)

    monkeypatch.setattr(GitObjects, "read", read)
    with pytest.raises(Cancelled):
        project.read_history(cancelled=lambda: reads.total() >= 2900)
    kept = find(project).coverage.commits
    assert find(project).coverage.extent is HistoryExtent.SO_FAR
    assert project.why("src/cache.py").facts["authors_among"] == f"{kept:,} commits so far"
    names = [bytes.fromhex(name) for name in git.listed()]
    assert 100 <= kept < 3000
    assert {bytes.fromhex(hit.commit) for hit in find(project, limit=100).commits} == set(
        names[:100]
    )
    assert set(reads.values()) == {1}
    reads.clear()
    totals: list[int | None] = []
    report = project.read_history(on_progress=lambda progress: totals.append(progress.total))
    assert (report.commits, report.commits_added) == (3000, 3000 - kept)
    assert find(project).coverage.extent is HistoryExtent.ALL
    assert set(reads) == set(names[kept:])
    assert set(reads.values()) == {1}
    assert set(totals) <= {None, 3000 - kept}  # it is told at times
    check_fresh(config, git)


def test_rewritten_history_leaves_nothing(project: Project, git: GitTree, config: Config) -> None:
    git.commit("Add the zebrafish", {"zebrafish.py": "quagga = 1\n"})
    project.read_history()
    git.git("reset", "-q", "--hard", "HEAD~2")
    git.commit("Another end", {"end.py": "z = 1\n"})
    report = project.read_history()
    assert (report.commits, report.commits_added, report.commits_removed) == (5, 1, 2)
    assert subjects(project, "zebrafish quagga") == []
    project.close()
    for word in (b"zebrafish", b"quagga"):
        assert word not in raw_bytes(config)
    check_fresh(config, git)


def test_the_files_of_a_commit_are_those_of_the_project(
    catalog: Catalog, git: GitTree, config: Config
) -> None:
    git.commit("Vendored", {"node_modules/x.js": "pelican\n", "gen/a.py": "ibis\n", "b.py": "c\n"})
    project = catalog.create(str(git.root))
    project.index(IndexOptions(exclude_patterns=("gen/",)))
    project.read_history()
    [hit] = find(project, "vendored").commits
    assert [file.path for file in hit.files] == ["b.py"]
    assert hit.file_count == 1
    assert subjects(project, "pelican ibis") == []
    project.index(IndexOptions(exclude_patterns=()))
    assert project.is_history_due()
    assert project.read_history().commits == 6
    assert subjects(project, "ibis") == ["Vendored"]


def test_commits_are_read_again_by_a_program_with_other_words(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = project.read_history().commits
    assert project.read_history().commits_added == 0
    monkeypatch.setattr("engine.history.reading._code", lambda: "another")
    assert project.is_history_due()
    report = project.read_history()
    assert (report.commits_added, report.commits) == (number, number)
    assert not project.is_history_due()


def test_a_project_below_the_top_has_the_commits_of_its_folder(
    catalog: Catalog, git: GitTree
) -> None:
    project = catalog.create(str(git.root / "src"))
    project.index()
    report = project.read_history()
    assert report.commits == 4
    assert "Drop the readme" not in subjects(project)
    assert [file.path for file in find(project, path="net/").commits[0].files] == ["net/retry.py"]
    assert project.read_history().commits_added == 0


def test_the_number_of_commits_is_bounded(catalog: Catalog, git: GitTree, config: Config) -> None:
    catalog.create(str(git.root)).index()
    few = replace(config, history_commits=2, history_days=1)
    with open_catalog(few) as other:
        project = other.open(str(git.root))
        assert project.read_history().commits == 2
        git.commit("One more")
        assert project.read_history().commits_removed == 1
        check_fresh(few, git)
        answer = find(project, "path:/src/cache.py")
        assert answer.coverage.extent is HistoryExtent.NEWEST
        among = "found among the newest 2 commits; the setting history_commits says how many are"
        assert answer.notes == (f"{among} read",)
        assert project.why("src/cache.py").facts["authors_among"] == "newest 2 commits"
        assert project.status().history is HistoryExtent.NEWEST
    with open_catalog(replace(config, history_commits=1, history_days=2)) as other:
        assert other.open(str(git.root)).read_history().commits == 3
    with open_catalog(replace(config, history_commits=0)) as other:
        project = other.open(str(git.root))
        report = project.read_history()
        assert (report.commits, report.notes) == (0, ("the setting history_commits is 0",))
        assert not project.is_history_due()


def test_another_model_makes_its_own_vectors(config: Config, git: GitTree) -> None:
    with open_catalog(replace(config, model="none")) as catalog:
        project = catalog.create(str(git.root))
        project.index()
        project.read_history()
        assert stored(config, git.root)["vectors"] == []
        assert "meaning" not in find(project, "exponential retries").commits[0].why
    with open_catalog(config) as catalog:
        project = catalog.open(str(git.root))
        project.index()
        assert project.is_history_due()
        project.read_history()
        assert "meaning" in find(project, "exponential retries").commits[0].why
        check_fresh(config, git)


def test_rebuilding_an_index_keeps_its_history(
    config: Config, project: Project, git: GitTree
) -> None:
    before = find(project, "retries")
    assert before.total
    project.index(IndexOptions(force_clean=True))
    after = find(project, "retries")
    assert (after.total, after.coverage) == (before.total, before.coverage)
    assert not project.is_history_due()
    check_fresh(config, git)


def test_rebuilding_an_index_reads_no_history_that_was_not_read(
    config: Config, git: GitTree
) -> None:
    with open_catalog(config) as catalog:
        project = catalog.create(str(git.root))
        project.index()
        project.index(IndexOptions(force_clean=True))
        assert find(project, "retries").coverage.commits == 0


def test_a_commit_with_too_many_files_is_read_once(project: Project, git: GitTree) -> None:
    git.commit("Import the data", {f"data/{number}.txt": "x\n" for number in range(2001)})
    report = project.read_history()
    assert (report.commits_added, report.notes) == (1, ())
    report = project.read_history()
    assert (report.commits, report.commits_added, report.notes) == (6, 0, ())
    assert find(project).coverage.complete
    assert find(project, "import data").commits[0].file_count == 2000


# Repositories that are not whole, or not to be trusted: each ends in a sentence.


def read(config: Config, root: Path) -> tuple[int, tuple[str, ...], list[CommitHit]]:
    """Index a folder and read its history; the commits, the notes, and what can be found."""
    with open_catalog(config) as catalog:
        project = catalog.create(str(root))
        project.index()
        report = project.read_history()
        again = project.read_history()
        assert (again.commits, again.notes) == (report.commits, report.notes)
        return report.commits, report.notes, list(find(project).commits)


def test_a_folder_without_git_has_no_history(config: Config, tree: Path) -> None:
    assert read(config, tree)[:2] == (0, ("the folder is not in a git repository",))


def test_a_repository_without_commits(config: Config, tree: Path, tmp_path: Path) -> None:
    run_git(tree, tmp_path, "init", "-q")
    assert read(config, tree)[:2] == (0, ("there is no commit yet",))


def test_a_shallow_clone_says_where_it_ends(config: Config, git: GitTree, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth", "2", git.root.as_uri(), str(clone))
    number, notes, commits = read(config, clone)
    assert number == 2
    assert notes == ("the clone is shallow: nothing before 2020-09-17 is in it",)
    assert [hit.file_count for hit in commits] == [1, 0]  # not all files, as git shows it
    run_git(clone, tmp_path, "fetch", "-q", "--unshallow")
    number, notes, commits = read(config, clone)
    assert (number, notes) == (5, ())
    assert [hit.file_count for hit in commits] == [1, 1, 1, 1, 2]


def test_a_time_ahead_of_the_clock_makes_no_history_due(
    catalog: Catalog, git: GitTree, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth", "2", git.root.as_uri(), str(clone))
    project = catalog.create(str(clone))
    project.index()
    os.utime(clone / ".git/objects/pack", (4e9, 4e9))
    project.read_history()
    assert not project.is_history_due()
    run_git(clone, tmp_path, "fetch", "-q", "--deepen", "1")
    os.utime(clone / ".git/objects/pack", (4e9, 4e9))
    assert project.is_history_due()


def test_a_worktree_has_the_history_of_its_branch(
    config: Config, git: GitTree, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git.git("worktree", "add", "-q", "-b", "feature", str(other), "HEAD~2")
    number, notes, commits = read(config, other)
    assert (number, notes) == (3, ())
    assert commits[0].subject == "Move retries into a package"


def test_a_submodule_has_its_own_history(config: Config, git: GitTree, tmp_path: Path) -> None:
    outer = GitTree(tmp_path / "outer", tmp_path)
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(git.root), "sub")
    outer.commit("Add the submodule")
    number, notes, commits = read(config, outer.root)
    assert (number, notes) == (1, ())
    assert [(file.path, file.added) for file in commits[0].files] == [
        (".gitmodules", 3),
        ("sub", 0),
    ]
    number, notes, _ = read(config, outer.root / "sub")
    assert (number, notes) == (5, ())


def test_objects_of_another_repository_are_not_opened(
    config: Config, git: GitTree, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--shared", str(git.root), str(clone))
    number, [note], _ = read(config, clone)
    assert number == 0
    assert note.startswith("no commit can be read: its objects lie in another repository")


def test_a_repository_of_sha_256(config: Config, tmp_path: Path) -> None:
    git = GitTree(tmp_path / "long", tmp_path, "--object-format=sha256")
    names = [git.commit(f"Change {number}", {"a.py": f"x = {number}\n"}) for number in range(3)]
    git.git("gc", "-q")
    number, notes, commits = read(config, git.root)
    assert (number, notes) == (3, ())
    assert [hit.commit for hit in commits] == names[::-1]
    assert len(names[0]) == 64


def test_a_commit_that_is_missing_ends_the_history_there(config: Config, git: GitTree) -> None:
    name = git.listed()[2]
    (git.root / ".git/objects" / name[:2] / name[2:]).unlink()
    number, [note], _ = read(config, git.root)
    assert number == 2
    assert note == (
        f"what is before it is unknown: the object {name[:12]} is missing;"
        " the files of 1 commit cannot all be read"
    )


def test_a_damaged_pack_keeps_what_can_be_read(config: Config, git: GitTree) -> None:
    git.git("gc", "-q")
    [pack] = (git.root / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[12:-40] = bytes(len(data) - 52)
    pack.write_bytes(data)
    number, [note], _ = read(config, git.root)
    assert number == 0
    assert "is damaged" in note


def test_a_history_that_cannot_be_read_any_more_stays(project: Project, git: GitTree) -> None:
    shutil.rmtree(git.root / ".git/objects/pack", ignore_errors=True)
    for folder in (git.root / ".git/objects").glob("??"):
        shutil.rmtree(folder)
    git.root.joinpath(".git/refs/heads/main").write_text("1" * 40 + "\n")
    report = project.read_history()
    assert report.commits == 5
    assert "is missing" in report.notes[0]


@pytest.mark.parametrize(
    ("file", "content", "note"),
    [
        ("HEAD", "nonsense\n", "git's HEAD cannot be read"),
        (
            "refs/heads/main",
            "ref: refs/heads/main\n",
            "git's file refs/heads/main cannot be read",
        ),
        ("refs/heads/main", "x" * 100_000, "git's file refs/heads/main cannot be read"),
        (
            "reftable/tables.list",
            "",
            "git keeps the branches in a reftable, which is not read",
        ),
        ("packed-refs", "nonsense\n", "git's file packed-refs cannot be read"),
        ("packed-refs", f"{'g' * 40} refs/heads/main\n", "git's file packed-refs cannot be read"),
        ("packed-refs/folder", "", "git's file packed-refs cannot be read"),
    ],
)
def test_a_commit_that_cannot_be_told_keeps_the_history(
    project: Project, git: GitTree, file: str, content: str, note: str
) -> None:
    git.git("branch", "-M", "main")
    if file.startswith("reftable"):
        (git.root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    if file.startswith("packed-refs"):
        git.git("pack-refs", "--all")
        (git.root / ".git/packed-refs").unlink()
    write_tree(git.root / ".git", {file: content})
    report = project.read_history()
    assert (report.commits, report.notes) == (5, (note,))


def test_an_unreadable_new_commit_keeps_what_was_read(project: Project, git: GitTree) -> None:
    lost = git.commit("Lost", {"a.py": "1\n"})
    git.commit("Kept", {"a.py": "2\n"})
    (git.root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    report = project.read_history()
    assert report.commits == 6
    assert "Lost" not in (found := subjects(project))
    assert len(found) == 6
    assert any("is missing" in note for note in report.notes)


def test_an_unread_history_says_why(config: Config, git: GitTree) -> None:
    git.root.joinpath(".git/HEAD").write_text("nonsense\n")
    with open_catalog(config) as catalog:
        project = catalog.create(str(git.root))
        project.index()
        [note] = find(project).notes
        assert note == "no commit can be found: git's HEAD cannot be read"


def test_links_out_of_the_repository_are_not_followed(
    config: Config, git: GitTree, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(git.root / ".git/objects", elsewhere)
    (git.root / ".git/objects").symlink_to(elsewhere)
    assert read(config, git.root)[:2] == (0, ("the folder of git's objects cannot be opened",))


def test_a_missing_file_of_a_partial_clone_costs_its_lines(config: Config, git: GitTree) -> None:
    blob = git.git("rev-parse", "HEAD:src/cache.py")
    (git.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    number, notes, commits = read(config, git.root)
    assert (number, notes) == (5, ())
    assert [(file.path, file.added) for file in commits[0].files] == [("src/cache.py", None)]


def test_the_files_that_were_asked_about_come_first(catalog: Catalog, tree: Path) -> None:
    git = GitTree(tree / "many", tree)
    git.commit("Add many", {f"a/{number:02}.py": "x = 1\n" for number in range(40)})
    git.commit("Add more", {f"b/{number:02}.py": "x = 1\n" for number in range(40)})
    project = catalog.create(str(git.root))
    project.index()
    project.read_history()
    for request in (
        HistoryRequest(query="path:a/39.py"),
        HistoryRequest(path="a/39.py"),
        HistoryRequest(lines="a/39.py:1"),
    ):
        [hit] = project.history.search(request).commits
        assert [file.path for file in hit.files][:2] == ["a/39.py", "a/00.py"]


def test_words_of_what_cairnignore_leaves_out_are_not_kept(
    catalog: Catalog, git: GitTree, config: Config
) -> None:
    secret, rules = "peculiarity", git.root / "notes" / ".cairnignore"
    files = {"notes/private/deep/a.txt": f"{secret}\n", "notes/b.txt": "publicity\n"}
    git.commit("Write down", {**files, "notes/.cairnignore": "private/\n"})
    git.commit("Move", {"moved.txt": f"{secret}\nmoreover\n"}, gone="notes/private/deep/a.txt")
    project = catalog.create(str(git.root))

    def found(word: str) -> list[str]:
        project.index()
        if project.is_history_due():
            project.read_history()
        return subjects(project, word)

    (git.root / "moved.txt").unlink()
    assert found(secret) == found("moreover") == []
    assert secret.encode() not in raw_bytes(config)
    assert found("publicity") == ["Write down"]
    assert project.history.search(HistoryRequest(query="path:private")).commits
    rules.unlink()
    assert (found(secret), found("moreover")) == (["Write down"], ["Move"])
    assert not project.is_history_due()
    rules.write_text("private/\n")
    assert found(secret) == found("moreover") == []
    check_fresh(config, git)


@pytest.mark.parametrize("include", [(), ("*.txt",)], ids=["ignored", "not included"])
def test_rules_that_are_not_indexed_themselves_hold(
    catalog: Catalog, git: GitTree, config: Config, include: tuple[str, ...]
) -> None:
    files = {"notes/private/a.txt": "peculiarity\n", ".gitignore": ".cairnignore\n"}
    git.commit("Write down", files)
    project = catalog.create(str(git.root))
    project.index(IndexOptions(include_patterns=include))
    project.read_history()
    assert subjects(project, "peculiarity") == ["Write down"]
    (git.root / "notes/.cairnignore").write_text("private/\n")
    project.index()
    assert project.is_history_due()
    project.read_history()
    assert subjects(project, "peculiarity") == []
    assert not project.is_history_due()
