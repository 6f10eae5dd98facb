"""What a commit changed in its files: told as it is, within limits, without what is left out."""

import os
from itertools import count
from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.history.commit_diff import MAX_READ_BYTES, CommitDiffer
from engine.history.shown_scope import ShownScope
from engine.history.versions import MAX_FILE_BYTES, StoredHistory, opened_versions
from engine.history_records import FileDiff
from engine.source.ignore import Globs
from engine.source.reader import TreeReader
from engine.store import history
from tests.support.git_history import GitTree, index_with_history
from tests.support.jobs import catalog_in

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
OTHER = "ghp_9bQ2x81LmZs04TyUe6RrKv3NcWp7Jd5HfG1o"


@pytest.fixture
def git(tmp_path: Path) -> GitTree:
    return GitTree(tmp_path / "tree", tmp_path)


def changed(git: GitTree, **bytes_of: bytes) -> FileDiff:
    """Commit two versions of a file, and return what the second commit changed."""
    path = git.root / "a.txt"
    path.write_bytes(bytes_of["old"])
    git.commit("Old")
    path.write_bytes(bytes_of["new"])
    git.commit("New")
    return diffs(git)["a.txt"]


def diffs(git: GitTree, name: str = "HEAD") -> dict[str, FileDiff]:
    """Return what a commit changed, by path."""
    index_with_history(git.home / "home", git)
    with catalog_in(git.home / "home") as catalog:
        found = catalog.open(str(git.root)).history
        commit = found.commit(git.git("rev-parse", name))
        return {each.path: each for each in found.diff(commit)}


def shown(diff: FileDiff) -> str:
    return "\n".join(line.text for hunk in diff.hunks for line in hunk.lines)


def test_a_rotated_secret_is_a_change_without_its_value(git: GitTree) -> None:
    old, new = (f'TOKEN = "{value}"\n'.encode() for value in (SECRET, OTHER))
    diff = changed(git, old=old, new=new)
    assert (diff.added, diff.removed) == (1, 1)
    assert diff.note == "values of secrets are redacted"
    assert shown(diff).count('TOKEN = "****') == 2
    assert SECRET not in shown(diff)
    assert OTHER not in shown(diff)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (b"a\r\nb\r\n", b"a\nb\n", "line endings: CRLF → LF"),
        (b"a\nb\n", b"a\nb\r\n", "line endings: LF → LF and CRLF"),
        (b"a\nb\r\nc\r\n", b"a\nb\nc\r\n", "line endings: 2 CRLF → 1 CRLF"),
        (b"a\nb", b"a\nb\n", "line break at the end: added"),
        (b"a\nb\n", b"a\nb", "line break at the end: removed"),
        (b"\xef\xbb\xbfa\n", b"a\n", "encoding: utf-8-sig → utf-8"),
    ],
)
def test_what_is_no_change_of_lines_is_told(
    git: GitTree, old: bytes, new: bytes, note: str
) -> None:
    diff = changed(git, old=old, new=new)
    assert (diff.note, diff.added, diff.removed, diff.hunks) == (note, 0, 0, ())


def test_a_change_of_mode_is_told(git: GitTree) -> None:
    git.commit("Add", {"run.sh": "echo\n"})
    (git.root / "run.sh").chmod(0o755)
    git.commit("Executable")
    assert diffs(git)["run.sh"].note == "only the mode was changed"


@pytest.mark.parametrize("old", [b"", b"a\n"])
def test_an_emptied_file_and_a_filled_one_are_changes(git: GitTree, old: bytes) -> None:
    diff = changed(git, old=old, new=b"" if old else b"a\n")
    assert (diff.added, diff.removed) == ((0, 1) if old else (1, 0))
    assert diff.note == ""


def test_text_in_utf_16_is_shown_and_binary_content_is_not(git: GitTree) -> None:
    wide = changed(git, old="a\n".encode("utf-16"), new="a\nbé\n".encode("utf-16"))
    assert shown(wide) == "a\nbé"
    noise = bytes(range(1, 256)) * 20
    binary = changed(git, old=noise, new=noise + b"more")
    assert (binary.note, binary.hunks) == ("not shown: binary", ())


def test_each_reason_is_told_for_itself(git: GitTree) -> None:
    os.symlink("a", git.root / "link")
    (git.root / "bad.png").write_bytes(b"text\n")
    files = {"big.txt": "x" * MAX_FILE_BYTES + "\n", "package-lock.json": "{}\n", "void.txt": ""}
    git.commit("Add", files)
    assert {path: each.note for path, each in diffs(git).items()} == {
        "link": "not shown: a link or submodule",
        "bad.png": "not shown: binary",
        "big.txt": "not shown: larger than 2 MB",
        "package-lock.json": "not shown: a lock file",
        "void.txt": "an empty file",
    }


def test_a_name_that_is_not_utf_8_is_found(git: GitTree) -> None:
    (git.root / os.fsdecode(b"bad\xff.txt")).write_bytes(b"one\n")
    git.commit("Add")
    assert shown(diffs(git)["bad\N{REPLACEMENT CHARACTER}.txt"]) == "one"


def test_files_that_are_not_compared_hide_no_others(git: GitTree) -> None:
    lines = [f"{number}\n" for number in range(20_000)]
    files = {"a.txt": "".join(lines), "package-lock.json": "".join(lines) * 3, "z.txt": "z\n"}
    git.commit("Add", files)
    git.commit("Change", {"a.txt": "".join(reversed(lines)), "z.txt": "y\n"})
    found = diffs(git)
    assert found["a.txt"].note == "not shown: too many lines were changed"
    assert (found["z.txt"].added, found["z.txt"].removed) == (1, 1)
    assert shown(diffs(git, "HEAD~1")["z.txt"]) == "z"


def test_a_long_file_with_one_change_is_compared(git: GitTree) -> None:
    lines = [b"%d\n" % number for number in range(60_000)]
    diff = changed(git, old=b"".join(lines), new=b"".join([*lines[:-9], b"x\n", *lines[-8:]]))
    assert (diff.added, diff.removed, diff.note) == (1, 1, "")


def test_a_new_long_file_is_counted_whole_and_shown_in_part(git: GitTree) -> None:
    git.commit("Add", {"a.txt": "a\n" * 50_000})
    diff = diffs(git)["a.txt"]
    assert (diff.added, diff.removed) == (50_000, 0)
    assert shown(diff).count("a") == 400
    assert diff.note == "only the first changes are shown"


def test_bytes_of_a_page_are_limited_and_small_files_still_shown(git: GitTree) -> None:
    fits = MAX_READ_BYTES // (MAX_FILE_BYTES - 1000)
    large = {f"{at}.txt": f"{at}" * (MAX_FILE_BYTES - 1000) for at in range(fits + 2)}
    git.commit("Add", {**large, "z.txt": "z\n"})
    notes = [each.note for each in diffs(git).values()]
    assert notes == [*[""] * fits, *["not shown: the commit is too large"] * 2, ""]


def test_an_unreadable_object_loses_its_own_file_alone(git: GitTree) -> None:
    git.commit("Add", {"sub/a.txt": "a\n", "top.txt": "t\n"})
    git.commit("Change", {"sub/a.txt": "b\n", "top.txt": "u\n"})
    index_with_history(git.home / "home", git)
    folder = git.git("rev-parse", "HEAD~1:sub")
    (git.root / ".git" / "objects" / folder[:2] / folder[2:]).unlink()
    with catalog_in(git.home / "home") as catalog:
        found = catalog.open(str(git.root)).history
        lost, kept = found.diff(found.commit(git.git("rev-parse", "HEAD")))
    assert lost.note == "not shown: cannot be read"
    assert (kept.note, kept.added, kept.removed) == ("", 1, 1)


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_cairnignore_leaves_out_is_not_shown(git: GitTree, is_committed: bool) -> None:
    rules = {".cairnignore": "private/\n"}
    files = {"private/deep/a.txt": "hidden\n", "b.txt": "b\n", ".gitignore": "b.txt\n"}
    git.commit("Add", {"b.txt": ""})
    git.commit("Change", {**files, **(rules if is_committed else {})})
    if is_committed:
        git.commit("Allow", gone=".cairnignore")
    else:
        (git.root / ".cairnignore").write_text(rules[".cairnignore"])
    found = diffs(git, "HEAD~1" if is_committed else "HEAD")
    hidden = found["private/deep/a.txt"]
    assert hidden.note == "not shown: left out by .cairnignore:1: private/"
    assert hidden.hunks == ()
    assert shown(found["b.txt"]) == "b"


def test_a_file_that_came_from_a_folder_that_is_left_out_is_not_shown(git: GitTree) -> None:
    text = "".join(f"{number}\n" for number in range(20))
    git.commit("Add", {"private/a.txt": text, ".cairnignore": "private/\n"})
    git.commit("Move", {"a.txt": f"{text}more\n"}, gone="private/a.txt")
    assert diffs(git)["a.txt"].note == "not shown: left out by .cairnignore:1: private/"


def test_it_ends_when_it_is_cancelled(git: GitTree) -> None:
    git.commit("Add", {f"{at}.txt": "a\n" for at in range(5)})
    index_with_history(git.home / "home", git)
    polled = count()
    with catalog_in(git.home / "home") as catalog:
        found = catalog.open(str(git.root)).history
        commit = found.commit(git.git("rev-parse", "HEAD"))
        with pytest.raises(Cancelled):
            found.diff(commit, lambda: next(polled) >= 9)
    assert next(polled) == 10


def test_no_file_is_begun_after_the_time_is_up(git: GitTree) -> None:
    git.commit("Add", {f"{at}.txt": "a\n" for at in range(4)})
    index_with_history(git.home / "home", git)
    seconds = (each * 0.4 for each in count())
    with catalog_in(git.home / "home") as catalog:
        store = catalog.open(str(git.root))._store
        stored = StoredHistory.read(store)
        name = bytes.fromhex(git.git("rev-parse", "HEAD"))
        nothing = Globs.compile((), field="exclude_patterns")
        with store.read() as handle:
            files = history.read_files(handle, [stored.known[name].id])[stored.known[name].id]
        with (
            opened_versions(store, str(git.root), stored) as versions,
            TreeReader(str(git.root)) as on_disk,
        ):
            assert versions is not None
            scope = ShownScope(str(git.root), (nothing, nothing), on_disk, versions, name)
            differ = CommitDiffer(versions, scope, name, b"", lambda: next(seconds))
            notes = [differ.diff(each).note for each in files]
    assert notes == ["", "", *["not shown: the commit is too large"] * 2]
