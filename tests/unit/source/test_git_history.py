"""Commits and their changes are what git says they are; hostile repositories cost little."""

import hashlib
import tracemalloc
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.errors import Cancelled
from engine.source import git_history
from engine.source.git import find_repository
from engine.source.git_history import HistoryReader, Place, newest_first
from engine.source.git_objects import UnreadableObjectError
from tests.support.git_history import GitTree, sample_history


def reader_of(root: Path) -> HistoryReader:
    repository = find_repository(str(root))
    assert repository is not None
    return HistoryReader(repository, never)


def put(root: Path, kind: str, content: bytes) -> bytes:
    """Write an object, however damaged; give its name."""
    data = b"%s %d\0" % (kind.encode(), len(content)) + content
    name = hashlib.sha1(data).digest()
    file = root / ".git" / "objects" / name.hex()[:2] / name.hex()[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(data))
    return name


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    return sample_history(tmp_path / "tree", tmp_path)


def test_commits_are_read_as_git_shows_them(tree: GitTree) -> None:
    with closing(reader_of(tree.root)) as reader:
        for name in tree.listed():
            commit = reader.commit(bytes.fromhex(name))
            shown = tree.git("show", "-s", "--format=%an%n%ae%n%ct%n%T%n%P%n%B", name).split(
                "\n", 5
            )
            assert [commit.author, commit.email, str(commit.committed_at_s)] == shown[:3]
            assert commit.tree.hex() == shown[3]
            assert " ".join(parent.hex() for parent in commit.parents) == shown[4]
            assert commit.message == shown[5].strip("\n")


def test_changes_and_renames_are_those_of_git(tree: GitTree) -> None:
    with closing(reader_of(tree.root)) as reader:
        for name in tree.listed():
            changes = reader.changes(reader.commit(bytes.fromhex(name)))
            told = [
                "\t".join((each.kind, *dict.fromkeys((each.old_path.decode(), each.path.decode()))))
                for each in changes.files
            ]
            raw = tree.git(
                "diff-tree", "--root", "-r", "-M", "--name-status", "--no-commit-id", name
            )
            listed = [line.replace("R100", "R").split("\t") for line in raw.splitlines()]
            assert told == [
                "\t".join(("R" if row[0][0] == "R" else row[0], *row[1:])) for row in listed
            ]
            assert not changes.is_cut


def test_a_file_that_is_moved_and_changed_is_renamed(tree: GitTree) -> None:
    moved = (tree.root / "src/net/retry.py").read_text().replace("attempts(limit)", "tries(limit)")
    name = tree.commit("Move again", {"src/again.py": moved}, gone="src/net/retry.py")
    with closing(reader_of(tree.root)) as reader:
        [change] = reader.changes(reader.commit(bytes.fromhex(name))).files
        lines = reader.lines(change)
    assert (change.kind, change.old_path) == ("R", b"src/net/retry.py")
    assert lines is not None
    assert (lines.added, lines.removed) == ([b"def tries(limit):"], [b"def attempts(limit):"])


def test_a_merge_changes_nothing_and_names_its_parents(tree: GitTree) -> None:
    tree.git("checkout", "-q", "-b", "feature")
    side = tree.commit("On the side", {"side.py": "x = 1\n"})
    tree.git("checkout", "-q", "main")
    main = tree.commit("On main", {"main.py": "y = 1\n"})
    name = tree.merge("feature", "Merge the side")
    with closing(reader_of(tree.root)) as reader:
        commit = reader.commit(bytes.fromhex(name))
        assert [each.hex() for each in commit.parents] == [main, side]
        assert reader.changes(commit).files == []


def test_only_files_below_a_folder_are_told(tree: GitTree) -> None:
    with closing(reader_of(tree.root)) as reader:
        first = reader.commit(bytes.fromhex(tree.listed()[-1]))
        assert [each.path for each in reader.changes(first, below=b"src/").files] == [
            b"src/retry.py"
        ]
        assert reader.changes(first, below=b"test/").files == []


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "Grüße"), ("iso-8859-1", "Grüße")])
def test_messages_in_other_encodings(tree: GitTree, encoding: str, text: str) -> None:
    parent = tree.listed()[0]
    tree_name = tree.git("rev-parse", "HEAD^{tree}")
    head = f"tree {tree_name}\nparent {parent}\nauthor {text} <a@b> 1700000000 +0100\n"
    head += f"committer C <c@d> 1700000001 +0100\nencoding {encoding}\n\n{text}\n"
    name = put(tree.root, "commit", head.encode(encoding))
    with closing(reader_of(tree.root)) as reader:
        commit = reader.commit(name)
    assert (commit.author, commit.message) == (text, text)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"tree 123\n\nshort",
        b"author A <a@b> 1 +0000\n\nno tree",
        b"tree " + b"0" * 40 + b"\nparent zz\nauthor A <a@b> 1 +0000\n\nno parent",
    ],
)
def test_damaged_commits_are_refused_or_read_as_far_as_they_go(
    tree: GitTree, content: bytes
) -> None:
    name = put(tree.root, "commit", content)
    with closing(reader_of(tree.root)) as reader:
        try:
            commit = reader.commit(name)
        except UnreadableObjectError:
            return
        assert commit.parents == ()
        assert reader.changes(commit).is_unreadable


def commit_of(root: Path, tree_name: bytes, parent: bytes | None = None, text: str = "x") -> bytes:
    """Write a commit of a tree; give its name."""
    head = f"tree {tree_name.hex()}\n" + (f"parent {parent.hex()}\n" if parent else "")
    who = "A <a@b> 1 +0000"
    return put(root, "commit", f"{head}author {who}\ncommitter {who}\n\n{text}\n".encode())


@pytest.mark.parametrize("text", ["\\ud800 \xff", "Gr\xfc\xdfe \0"])
def test_what_is_decoded_can_be_stored(tree: GitTree, text: str) -> None:
    tree_name = tree.git("rev-parse", "HEAD^{tree}")
    head = f"tree {tree_name}\nauthor {text} <{text}@b> 1 +0000\nencoding unicode_escape\n\n{text}"
    name = put(tree.root, "commit", head.encode("latin-1"))
    with closing(reader_of(tree.root)) as reader:
        commit = reader.commit(name)
    for found in (commit.author, commit.email, commit.message):
        assert found.encode()
        assert "\0" not in found


def test_a_path_that_is_too_long_is_left_out(tree: GitTree) -> None:
    blob = put(tree.root, "blob", b"x\n")
    inner = put(tree.root, "tree", b"100644 " + b"i" * 3000 + b"\0" + blob)
    entries = (b"100644 " + b"a" * 5000, b"100644 b.py", b"40000 " + b"c" * 2000)
    names = (blob, blob, inner)
    top = b"".join(b"%s\0%s" % pair for pair in zip(entries, names, strict=True))
    with closing(reader_of(tree.root)) as reader:
        commit = reader.commit(commit_of(tree.root, put(tree.root, "tree", top)))
        changes = reader.changes(commit)
    assert [each.path for each in changes.files] == [b"b.py"]
    assert changes.is_cut


_A, _B = b"A" * 20, b"B" * 20


@pytest.mark.parametrize(
    ("path", "entries", "blob"),
    [
        (b"x", b"100644 100644 x\0" + _A + b"100644 x\0" + _B, _B),
        (b"x", b"100644 100644 x\0" + _A, b""),
        (b"x", b"100644 100644 a b 100755 x\0" + _A + b"100644 x\0" + _B, _B),
        (b"x", b"100644 a\0" + b"..100644 x\0".ljust(20, b".") + b"100644 x\0" + _B, _B),
        (b"x", b"100644 a\0" + b"100644 x\0".rjust(20, b"0") + _B + b"100644 x\0" + _B, b""),
        (b"x", b"100644 a\0" + b"1" * 20 + b"100644 x\0" + _B, _B),
        (b"x", b"100644 x\0" + b"100644 x\0".ljust(20, b"\0"), b"100644 x\0".ljust(20, b"\0")),
        (b"x", b"40000 x\0" + _A, b""),
        (b"x y", b"100644 y\0" + _A + b"100755 x y\0" + _B, _B),
    ],
)
def test_a_file_is_found_by_its_whole_name(
    tree: GitTree, path: bytes, entries: bytes, blob: bytes
) -> None:
    """Also where other names, or names of objects, look like its mode and name."""
    name = commit_of(tree.root, put(tree.root, "tree", entries))
    with closing(reader_of(tree.root)) as reader:
        assert reader.blob_of(name, path) == blob


@pytest.mark.parametrize("mode", [b"40000", b"040000"])
def test_a_folder_is_found_by_its_whole_name(tree: GitTree, mode: bytes) -> None:
    own = put(tree.root, "tree", b"100644 x\0" + _A)
    other = put(tree.root, "tree", b"100644 x\0" + _B)
    top = b"40000 40000 src\0" + other + b"100644 a\0" + b"0" * 20 + mode + b" src\0" + own
    name = commit_of(tree.root, put(tree.root, "tree", top))
    with closing(reader_of(tree.root)) as reader:
        assert reader.blob_of(name, b"src/x") == _A
        assert reader.blob_of(name, b"40000 src/x") == _B


def test_a_file_that_was_asked_for_as_a_folder_is_found(tree: GitTree) -> None:
    name = commit_of(tree.root, put(tree.root, "tree", b"100644 x\0" + _A))
    with closing(reader_of(tree.root)) as reader:
        assert reader.blob_of(name, b"x/y") == b""
        assert reader.blob_of(name, b"x") == _A


@pytest.mark.parametrize("parents", [["1" * 40] * 1000, ["1" * 41], ["1" * 64], ["1" * 39]])
def test_a_commit_with_odd_parents_is_damaged(tree: GitTree, parents: list[str]) -> None:
    tree_name = tree.git("rev-parse", "HEAD^{tree}")
    lines = "".join(f"parent {each}\n" for each in parents)
    text = f"tree {tree_name}\n{lines}author A <a@b> 1 +0000\n\nx"
    name = put(tree.root, "commit", text.encode())
    with (
        closing(reader_of(tree.root)) as reader,
        pytest.raises(UnreadableObjectError, match="damaged"),
    ):
        reader.commit(name)


def test_many_large_folders_take_little_memory(tree: GitTree) -> None:
    blob = put(tree.root, "blob", b"x\n")
    parent, names = None, []
    entries = [b"100644 file%d\0" % number + blob for number in range(8000)]
    for number in range(60):
        entries[number] = b"100755" + entries[number][6:]
        parent = commit_of(tree.root, put(tree.root, "tree", b"".join(entries)), parent)
        names.append(parent)
    tracemalloc.start()
    try:
        with closing(reader_of(tree.root)) as reader:
            for name in names[1:]:
                assert len(reader.changes(reader.commit(name)).files) == 1
        assert tracemalloc.get_traced_memory()[1] < 110 << 20
    finally:
        tracemalloc.stop()


def test_a_folder_that_is_too_large_is_not_read(tree: GitTree) -> None:
    blob = put(tree.root, "blob", b"x\n")
    large = put(tree.root, "tree", b"".join(b"100644 f%d\0" % n + blob for n in range(160_000)))
    with closing(reader_of(tree.root)) as reader:
        changes = reader.changes(reader.commit(commit_of(tree.root, large)))
    assert (changes.files, changes.is_cut, changes.is_unreadable) == ([], True, False)


def test_beside_a_folder_that_is_too_large_changes_and_renames_are_found(
    tree: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    tree.commit("Many", {f"large/{n}.txt": "x\n" for n in range(100)} | {"z/old.txt": text})
    (tree.root / "z/old.txt").unlink()
    tree.commit("Move", {"large/0.txt": "y\n", "z/new.txt": text + "more\n"})
    monkeypatch.setattr(git_history, "_MAX_TREE_BYTES", 2000)
    new, old = (bytes.fromhex(name) for name in tree.listed()[:2])
    with closing(reader_of(tree.root)) as reader:
        changes = reader.changes(reader.commit(new))
        assert [(each.kind, each.path) for each in changes.files] == [("R", b"z/new.txt")]
        assert changes.is_cut
        assert reader.renamed_from(new, old, b"z/new.txt") == b"z/old.txt"


def test_large_files_are_not_all_compared_to_find_renamed_ones(tree: GitTree) -> None:
    lines = [f"line {number}\n" for number in range(30_000)]
    texts = {f"old/{name}.txt": "".join(lines) + name for name in "abcdefghijklmnopqrstuvwxyz"}
    tree.commit("Old", texts)
    for path in texts:
        (tree.root / path).unlink()
    new = tree.commit(
        "New", {path.replace("old", "new"): text + "!" for path, text in texts.items()}
    )
    with closing(reader_of(tree.root)) as reader:
        kinds = [each.kind for each in reader.changes(reader.commit(bytes.fromhex(new))).files]
    assert {"A", "D"} <= set(kinds)


@pytest.mark.parametrize("date", ["99999999999999", "-5", "", "x"])
def test_impossible_dates_are_bounded(tree: GitTree, date: str) -> None:
    tree_name = tree.git("rev-parse", "HEAD^{tree}")
    text = f"tree {tree_name}\nauthor A <a@b> {date} +0000\ncommitter A <a@b> {date} +0000\n\nx\n"
    name = put(tree.root, "commit", text.encode())
    with closing(reader_of(tree.root)) as reader:
        assert 0 <= reader.commit(name).committed_at_s < 1 << 40


def test_a_tree_that_repeats_itself_a_million_times_is_cut(tree: GitTree) -> None:
    blob = put(tree.root, "blob", b"x\n")
    inner = put(tree.root, "tree", b"".join(b"100644 f%d\0" % n + blob for n in range(20)))
    for _ in range(8):
        inner = put(tree.root, "tree", b"".join(b"40000 d%d\0" % n + inner for n in range(20)))
    text = f"tree {inner.hex()}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nbomb\n"
    name = put(tree.root, "commit", text.encode())
    with closing(reader_of(tree.root)) as reader:
        changes = reader.changes(reader.commit(name))
    assert changes.is_cut
    assert len(changes.files) <= 20_000


def test_binary_and_huge_files_have_no_lines(tree: GitTree) -> None:
    name = tree.commit("Data", {"a.bin": "a\0b\n", "b.txt": "line\n" * 200_000, "c.py": "x = 1\n"})
    with closing(reader_of(tree.root)) as reader:
        changes = reader.changes(reader.commit(bytes.fromhex(name)))
        lines = {each.path: reader.lines(each) for each in changes.files}
    assert [path for path, found in lines.items() if found is None] == [b"a.bin", b"b.txt"]


def test_packs_made_meanwhile_are_found(tree: GitTree) -> None:
    with closing(reader_of(tree.root)) as reader:
        newest, *others = map(bytes.fromhex, tree.listed())
        assert reader.commit(newest).message == "Add a cache of answers"
        tree.git("gc", "-q", "--prune=now")
        assert [reader.commit(name).name for name in others] == others


def test_reading_stops_when_it_is_to(tree: GitTree) -> None:
    repository = find_repository(str(tree.root))
    assert repository is not None
    with closing(HistoryReader(repository, lambda: True)) as reader, pytest.raises(Cancelled):
        reader.changes(reader.commit(bytes.fromhex(tree.listed()[0])))


def test_the_newest_come_first_until_there_are_enough() -> None:
    day = 86_400
    graph = {
        b"e": Place((b"d", b"c"), 10 * day),
        b"d": Place((b"a",), 9 * day),
        b"c": Place((b"b",), 8 * day),
        b"b": Place((b"a",), 7 * day),
        b"a": Place((), 1 * day),
    }

    def walked(least: int, days: int) -> bytes:
        return b"".join(newest_first(b"e", graph.get, least=least, span_s=days * day))

    assert walked(100, 0) == b"edcba"
    assert walked(2, 0) == b"ed"
    assert walked(0, 3) == b"edcb"
    assert walked(1, 2) == b"edc"
    del graph[b"c"]
    assert walked(100, 0) == b"eda"
