"""``cairn index --branch``: a branch or tag that is not checked out, from git's objects."""

import os
import subprocess
import zlib
from contextlib import closing
from pathlib import Path

import apsw
import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidInputError, NotFoundError, UnavailableError
from engine.index_records import IndexOptions, IndexReport
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.source import commit_tree
from engine.state_records import TERMINAL, JobState
from tests.integration.test_branches import commit_all, git
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.jobs import until, wait_for
from tests.support.mcp_clients import ask, called, refused
from tests.support.oracle import check_sound, contents
from tests.support.pages import Page, index_job, site
from tests.support.trees import write_tree

_TREE = {
    "app/main.py": "def only_main():\n    return 1\n",
    "app/shared.py": "def shared_by_all():\n    return 2\n",
    "README.md": "# Readme\n",
}
_OTHER = {
    "app/other.py": "def only_other():\n    return 3\n",
    "node_modules/x/index.js": "function inner() { return 1 }\n",
    "generated/code.py": "def generated():\n    return 1\n",
    ".cairnignore": "generated/\n",
    ".gitignore": "*.log\nkept/\n",
    "kept/tracked.py": "def tracked_anyway():\n    return 1\n",
    ".env": "PASSWORD=hunter2hunter2\n",
    "settings.py": 'AWS = "AKIAIOSFODNN7EXAMPLQ"\n',
    "large.txt": "word " * 300_000,
    "data.bin": "\0\1\2\3" * 200,
    "model.weights.txt": (
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
    ),
    "yarn.lock": "# yarn lockfile v1\n",
}


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    """Make main, which is checked out and indexed, and other, which is not."""
    write_tree(tree, _TREE)
    git(tree, "init", "-q", "-b", "main")
    commit_all(tree, "first")
    git(tree, "checkout", "-q", "-b", "other")
    (tree / "app/main.py").unlink()
    write_tree(tree, _OTHER)
    commit_all(tree, "second")
    git(tree, "tag", "-a", "v1", "-m", "a tag")
    git(tree, "checkout", "-q", "main")
    index = catalog.create(str(tree))
    index.index()
    return index


def index_branch(index: Project, name: str, **more: bool) -> IndexReport:
    return index.index(IndexOptions(branch=name, **more))  # type: ignore[arg-type]


def database_of(index: Project, config: Config) -> Path:
    return config.data_dir / f"{project_id_of(index.root)}.db"


def rows_of(file: Path, branch: str) -> dict[str, list[tuple[object, ...]]]:
    """Give the files with their contents, and the skips of a branch."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = handle.execute(
            """SELECT s.path, s.reason, s.is_folder FROM skips s
               JOIN branches r ON r.id = s.branch_id WHERE r.name = :branch ORDER BY s.path""",
            {"branch": branch},
        ).fetchall()
    finally:
        handle.close()
    files = contents(file)["files"]
    assert isinstance(files, list)
    return {"files": [row for row in files if row[0] == branch], "skips": list(rows)}


def _text(path: object) -> str:
    assert isinstance(path, bytes)
    return os.fsdecode(path)


def paths(index: Project, query: str) -> list[str]:
    return [hit.path for hit in index.search(SearchRequest(query=query, mode=Mode.KEYWORD)).hits]


def test_the_status_names_all_branches(index: Project, tree: Path, config: Config) -> None:
    assert index.status().branches == ("main",)
    index_branch(index, "v1")
    index_branch(index, "other")
    status = index.status()
    assert (status.branch, status.branches) == ("main", ("main", "other", "v1"))
    text = Command(home=config.data_dir, folder=tree, reads_here=True)("status").out
    assert "\nbranch    main; also indexed: other, v1\n" in text


def test_other_branches_stand_behind_the_one_that_is_searched(
    index: Project, tree: Path, tmp_path: Path
) -> None:
    def is_shown(words: str) -> bool:
        text = Command(home=tmp_path / "data", folder=tmp_path, reads_here=True)(
            "status", str(tree)
        ).out
        page = Page.of(client.get(f"/p/{index.project_id}")).text
        return f"\nbranch    {words}\n" in text and f" Branch {words} Commits " in page

    with site(tmp_path, tree) as server, server.client() as client:
        until(lambda: is_shown("main"))  # commits are read by a job of their own
        index_job(client, tree, branch="v1")
        assert is_shown("main; also indexed: v1")
        (tree / ".git/HEAD").write_text("no commit and no branch\n")
        index_job(client, tree)
        assert is_shown("none; also indexed: main, v1")


def test_a_folder_that_is_gone_leaves_the_order_of_the_status(
    index: Project, tree: Path, config: Config
) -> None:
    index_branch(index, "v1")
    tree.rename(tree.with_name("elsewhere"))
    text = Command(home=config.data_dir, folder=tree.parent, reads_here=True)(
        "status", str(tree)
    ).out
    names = [line.partition(" ")[0] for line in text.splitlines()]
    assert names[:4] == ["project", "folder", "branch", "indexed"]


def test_it_holds_what_a_run_over_the_disk_would_hold(
    index: Project, tree: Path, config: Config
) -> None:
    report = index_branch(index, "other")
    assert report.errors == ()
    assert index.status().branch == "main"
    file = database_of(index, config)
    check_sound(file)
    from_objects = rows_of(file, "other")
    assert paths(index, "sym:only_other branch:other") == ["app/other.py"]
    assert paths(index, "sym:tracked_anyway branch:other") == ["kept/tracked.py"]
    assert paths(index, "generated branch:other path:generated/") == []
    assert paths(index, "sym:only_other") == []
    git(tree, "checkout", "-q", "other")
    index.index()
    from_disk = rows_of(file, "other")
    from_disk["skips"].remove((b".git", "default_excluded", 1))
    assert from_disk == from_objects


def test_skips_and_secrets_are_as_on_the_disk(index: Project, config: Config) -> None:
    index_branch(index, "other")
    rows = rows_of(database_of(index, config), "other")
    reasons = {_text(path): reason for path, reason, _ in rows["skips"]}
    assert reasons == {
        ".env": "secret_file",
        "data.bin": "binary",
        "generated": "ignored",
        "large.txt": "too_large",
        "model.weights.txt": "lfs_pointer",
        "node_modules": "default_excluded",
        "yarn.lock": "lock_file",
    }
    hits = index.search(SearchRequest(query="AWS branch:other")).hits
    assert hits
    assert not any("AKIAIOSFODNN7EXAMPLQ" in hit.snippet for hit in hits)


def test_a_second_run_reads_only_what_changed(index: Project, tree: Path) -> None:
    index_branch(index, "other")
    again = index_branch(index, "other")
    assert (again.files_indexed, again.files_unchanged) == (0, 7)
    git(tree, "checkout", "-q", "other")
    (tree / "app/other.py").write_text("def only_other():\n    return 4\n")
    commit_all(tree, "third")
    name = _object_of(tree, "HEAD:app/shared.py")
    git(tree, "checkout", "-q", "main")
    _damage(tree, name)  # what is not read cannot fail
    third = index_branch(index, "other")
    assert third.errors == ()
    assert (third.files_indexed, third.files_unchanged) == (1, 6)


def test_tags_and_names_of_remotes_are_indexed_and_stay(index: Project, tree: Path) -> None:
    git(tree, "update-ref", "refs/remotes/origin/work", "other")
    index_branch(index, "v1")
    index_branch(index, "origin/work")
    index.index()  # deletes what is gone
    hit = index.search(SearchRequest(query="sym:only_other branch:*")).hits[0]
    assert set(hit.branches) == {"v1", "origin/work"}
    git(tree, "tag", "-d", "v1")
    index.index()
    with pytest.raises(NotFoundError, match="is not indexed"):
        paths(index, "sym:only_other branch:v1")
    assert paths(index, "sym:only_other branch:origin/work") == ["app/other.py"]


def test_the_branch_that_is_checked_out_is_read_from_the_disk(index: Project, tree: Path) -> None:
    (tree / "new.py").write_text("def not_committed():\n    pass\n")
    index_branch(index, "main")
    assert paths(index, "sym:not_committed") == ["new.py"]


def test_what_cannot_be_indexed_is_told(
    index: Project, catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="no branch and no tag 'nowhere'"):
        index_branch(index, "nowhere")
    git(tree, "update-ref", "refs/remotes/origin/work", "other")
    with pytest.raises(NotFoundError) as of_remote:
        index_branch(index, "work")
    assert of_remote.value.hint == "it has 'origin/work': write that"
    for name in ("", "../x", "a b", "refs/heads/..", "HEAD^", "-x"):
        with pytest.raises((NotFoundError, InvalidInputError)):
            index_branch(index, name)
    with pytest.raises(InvalidInputError, match="not by a rebuild"):
        index_branch(index, "other", force_clean=True)
    with pytest.raises(InvalidInputError, match="as a whole"):
        index.index(IndexOptions(branch="other", only=("app",)))
    plain = write_tree(tmp_path / "plain", {"a.py": "x = 1\n"})
    with pytest.raises(NotFoundError, match="no git repository"):
        catalog.create(str(plain)).index(IndexOptions(branch="main"))
    assert len(catalog.roots()) == 1  # it is not left behind empty
    git(tree, "update-ref", "refs/heads/broken", "main")
    (tree / ".git/refs/heads/broken").write_text(f"{'ab' * 20}\n")
    with pytest.raises(UnavailableError, match="'broken' cannot be read: the object abab"):
        index_branch(index, "broken")


def test_objects_that_are_missing_or_damaged_are_failures(index: Project, tree: Path) -> None:
    _damage(tree, _object_of(tree, "other:app/other.py"))
    (tree / ".git/objects" / _split(_object_of(tree, "other:settings.py"))).unlink()
    _damage(tree, _object_of(tree, "other:kept"))
    report = index_branch(index, "other")
    assert [error.file for error in report.errors] == ["app/other.py", "kept", "settings.py"]
    assert "is damaged" in report.errors[0].error
    assert "is missing" in report.errors[2].error
    assert paths(index, "sym:shared_by_all branch:other") == ["app/shared.py"]


def test_files_that_are_too_large_are_not_unpacked(
    index: Project, tree: Path, config: Config
) -> None:
    git(tree, "checkout", "-q", "other")
    (tree / "huge.py").write_text(" " * 40_000_000)
    commit_all(tree, "huge")
    git(tree, "checkout", "-q", "main")
    index_branch(index, "other")
    with closing(apsw.Connection(str(database_of(index, config)))) as handle:
        details = handle.execute("SELECT detail FROM skips WHERE path = ?", (b"huge.py",))
        assert details.fetchall() == [("40,000,000 bytes, the limit is 1,048,576",)]


def _tree_of(tree: Path, entries: list[tuple[bytes, str]]) -> str:
    """Write a folder as an object that git itself would refuse, and give its name."""
    data = b"".join(name + b"\0" + bytes.fromhex(of) for name, of in entries)
    return _written(tree, "tree", data)


def _written(tree: Path, kind: str, data: bytes) -> str:
    arguments = ("hash-object", "-w", "-t", kind, "--stdin", "--literally")
    return run_git(tree, tree.parent, *arguments, given=data).decode().strip()


def _add_branch(tree: Path, name: str, folder: str) -> None:
    who = "A <a@example.org> 1700000000 +0000"
    text = f"tree {folder}\nauthor {who}\ncommitter {who}\n\nx\n"
    commit = _written(tree, "commit", text.encode())
    (tree / ".git/refs/heads" / name).write_text(f"{commit}\n")


@pytest.mark.parametrize(
    "names",
    [
        (b"100644 a.py", b"100644 a.py"),
        (b"100644 a.py", b"40000 a.py"),
        (b"100644 .", b"100644 a.py"),
        (b"40000 ..", b"100644 a.py"),
    ],
)
def test_folders_with_names_that_git_refuses_are_failures(
    index: Project, tree: Path, config: Config, names: tuple[bytes, ...]
) -> None:
    blob = _object_of(tree, "main:app/main.py")
    inside = _tree_of(tree, [(b"100644 inner.py", blob)])
    odd = _tree_of(tree, [(name, inside if name[0] == ord("4") else blob) for name in names])
    _add_branch(tree, "hostile", _tree_of(tree, [(b"40000 odd", odd), (b"100644 sound.py", blob)]))
    for _ in range(2):
        report = index_branch(index, "hostile")
        assert [(error.file, error.error) for error in report.errors] == [
            ("odd", "unreadable: a folder of the commit has names that git refuses")
        ]
    assert paths(index, "sym:only_main branch:hostile") == ["sound.py"]
    check_sound(database_of(index, config))


def test_a_commit_that_repeats_itself_a_million_times_is_refused(
    index: Project, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_tree, "MOST_FILES", 2000)
    folder = _tree_of(tree, [(b"100644 a.py", _object_of(tree, "main:app/main.py"))])
    for _ in range(6):
        folder = _tree_of(tree, [(b"40000 d%d" % number, folder) for number in range(10)])
    _add_branch(tree, "hostile", folder)
    with pytest.raises(UnavailableError, match="cannot be read: it has more than 2,000 files"):
        index_branch(index, "hostile")
    assert index_branch(index, "other").errors == ()


def test_shallow_clones_submodules_links_and_packs(
    catalog: Catalog, index: Project, tree: Path, tmp_path: Path, config: Config
) -> None:
    git(tree, "checkout", "-q", "other")
    (tree / "link.py").symlink_to("app/other.py")
    git(tree, "update-index", "--add", "--cacheinfo", f"160000,{'ab' * 20},module")
    git(tree, "add", "link.py")
    git(tree, "commit", "-q", "-m", "third")
    git(tree, "checkout", "-q", "main")
    clone = tmp_path / "clone"
    git(tree, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{tree}", str(clone))
    shallow = catalog.create(str(clone))
    report = index_branch(shallow, "origin/other")
    assert report.errors == ()
    assert paths(shallow, "sym:only_other branch:origin/other") == ["app/other.py"]
    git(tree, "gc", "-q")
    index_branch(index, "other")
    for name, reason in (("link.py", "not_regular"), ("module", "not_regular")):
        rows = rows_of(database_of(index, config), "other")["skips"]
        assert (name, reason) in [(_text(path), why) for path, why, _ in rows]


def test_sha256_repositories_and_folders_below_the_top(
    catalog: Catalog, tree: Path, config: Config
) -> None:
    write_tree(tree, _TREE)
    git(tree, "init", "-q", "-b", "main", "--object-format=sha256")
    commit_all(tree, "first")
    git(tree, "checkout", "-q", "-b", "other")
    write_tree(tree, {"app/other.py": "def only_other():\n    return 3\n"})
    commit_all(tree, "second")
    git(tree, "checkout", "-q", "main")
    index = catalog.create(str(tree / "app"))
    index.index()
    assert index_branch(index, "other").files_indexed == 3
    assert paths(index, "sym:only_other branch:other") == ["other.py"]
    check_sound(database_of(index, config))


def test_the_command_line_and_the_api_take_a_branch(
    index: Project, tree: Path, tmp_path: Path
) -> None:
    cairn = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert cairn("index", "--quiet").code == 0
    report = cairn("index", "--branch", "other", "--json").json()
    assert report["files_indexed"] == 7
    unknown = cairn("index", "--branch", "nowhere")
    assert (unknown.code, "no branch and no tag 'nowhere'" in unknown.err) == (3, True)
    served = tmp_path / "served"
    served.mkdir()
    with site(served, tree) as server, server.client() as client:
        asked = {"path": str(tree), "branch": "v1"}
        assert index_job(client, tree, branch="v1")["result"]["files_indexed"] == 7
        found = _found(client, "sym:only_other branch:v1")
        assert [hit["path"] for hit in found] == ["app/other.py"]
        refused = client.post("/api/v1/projects", json=asked | {"branch": "nowhere"})
        assert refused.status_code == 404


def test_agents_can_index_a_branch(catalog: Catalog, index: Project) -> None:
    async def body(client: Client) -> None:
        here = {"path": index.root}
        found = await called(client, "index_repository", **here, branch="other")
        assert found["status"] == "completed"
        assert "skipped" not in found  # those of the disk say nothing about it
        wanted = {"query": "only_other", "project_path": index.root}
        hits = (await called(client, "search_code", **wanted, branch="other"))["hits"]
        assert hits[0]["path"] == "app/other.py"
        error = await refused(client, "index_repository", **here, branch="nothing")
        assert "no branch and no tag 'nothing'" in error["message"]
        started = await called(
            client, "start_indexing_background", repo_path=index.root, branch="v1"
        )
        assert wait_for(catalog, str(started["job_id"]), *TERMINAL).status is JobState.COMPLETED
        hits = (await called(client, "search_code", **wanted, branch="v1"))["hits"]
        assert hits[0]["path"] == "app/other.py"

    ask(catalog, body)


def _found(client: httpx.Client, query: str) -> list[dict[str, object]]:
    answer = client.get("/api/v1/search", params={"query": query, "mode": "keyword"})
    found: list[dict[str, object]] = answer.json()["hits"]
    return found


def _object_of(tree: Path, revision: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree)}
    found = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", revision],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    return found.stdout.strip()


def _split(name: str) -> str:
    return f"{name[:2]}/{name[2:]}"


def _damage(tree: Path, name: str) -> None:
    file = tree / ".git/objects" / _split(name)
    file.chmod(0o600)
    file.write_bytes(zlib.compress(b"blob 3\0no!"))
