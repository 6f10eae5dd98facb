"""Renamed files are those that git says are renamed."""

import random
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.source import git_renames
from engine.source.git import find_repository
from engine.source.git_comparison import PathChange
from engine.source.git_history import HistoryReader
from engine.source.git_renames import renames
from tests.support.git_history import GitTree

_LICENCE = "".join(f"// {word} is licensed to everybody\n" for word in ("This", "That", "All"))


def reader_of(tree: GitTree) -> HistoryReader:
    repository = find_repository(str(tree.root))
    assert repository is not None
    return HistoryReader(repository, never)


def told_by_git(tree: GitTree) -> list[str]:
    said = tree.git("show", "--format=", "-M", "--name-status", "HEAD").splitlines()
    return sorted(line[0] + line[line.index("\t") :] for line in said)


def told(tree: GitTree) -> list[str]:
    with closing(reader_of(tree)) as reader:
        changes = reader.changes(reader.commit(bytes.fromhex(tree.listed()[0])))
    return sorted(
        "\t".join((each.kind, *dict.fromkeys((each.old_path.decode(), each.path.decode()))))
        for each in changes.files
    )


def text_of(chance: random.Random, number: int) -> str:
    return _LICENCE + "".join(f"value_{chance.random()}\n" for _ in range(number))


@pytest.mark.parametrize("seed", range(6))
def test_files_that_are_moved_and_changed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tree = GitTree(tmp_path / "tree", tmp_path)
    files = {
        f"{chance.choice('abc')}/{chance.choice('xyz')}{number}.c": text_of(chance, 20)
        for number in range(70)
    }
    tree.commit("Begin", files)
    moved = {}
    for path, text in files.items():
        lines = text.splitlines(keepends=True)
        for _ in range(chance.choice([0, 2, 6, 20])):
            lines[chance.randrange(len(lines))] = f"other_{chance.random()}\n"
        name = path[2:] if chance.random() < 0.5 else f"new_{path[2:]}"
        moved[f"{chance.choice('bd')}/{name}"] = "".join(lines)
        (tree.root / path).unlink()
    tree.commit("Move all", moved)
    found = told(tree)
    assert found == told_by_git(tree)
    assert sum(line.startswith("R") for line in found) > 30


def test_the_only_file_of_the_same_name_comes_before_a_more_similar_one(tmp_path: Path) -> None:
    tree = GitTree(tmp_path / "tree", tmp_path)
    lines = [f"line {number}\n" for number in range(40)]
    tree.commit("Begin", {"old/a.c": "".join(lines), "old/b.c": "".join((*lines[:38], "b\n"))})
    for name in "ab":
        (tree.root / f"old/{name}.c").unlink()
    tree.commit("Move one", {"new/a.c": "".join((*lines[:37], "b\n", "c\n"))})
    assert told(tree) == told_by_git(tree) == ["D\told/b.c", "R\told/a.c\tnew/a.c"]


def test_work_is_bounded() -> None:
    asked = []

    def text(name: bytes) -> bytes:
        asked.append(name)
        return b"x" * 63 + b"\n" + name * (1 << 20)

    gone = [PathChange("D", b"old%d" % n, b"old%d" % n, b"", b"%d" % n) for n in range(1500)]
    come = [PathChange("A", b"new%d" % n, b"new%d" % n, b"+%d" % n, b"") for n in range(1500)]
    assert renames(gone, come, text) == {}
    assert len(asked) < 20


def test_many_files_of_the_same_lines_cost_little() -> None:
    same = b"".join(b"%d\n" % number for number in range(500))
    texts: dict[bytes, int] = {}

    def text(name: bytes) -> bytes:
        texts[name] = texts.get(name, 0) + 1
        return same + name

    gone = [PathChange("D", b"old%d" % n, b"old%d" % n, b"", b"%d" % n) for n in range(900)]
    come = [PathChange("A", b"new%d" % n, b"new%d" % n, b"+%d" % n, b"") for n in range(900)]
    assert 0 < len(renames(gone, come, text)) < 900  # as many as there was time for
    assert max(texts.values()) == 1


def test_a_pair_that_cannot_be_similar_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    small = b"".join(b"%d\n" % number for number in range(100))
    texts = {b"+": small, b"same": small[1:]} | {b"%d" % n: small * 3 for n in range(500)}
    gone = [PathChange("D", b"old" + name, b"old" + name, b"", name) for name in sorted(texts)[1:]]
    come = [PathChange("A", b"new", b"new", b"+", b"")]
    monkeypatch.setattr(git_renames, "_MOST_STEPS", 150)
    assert renames(gone, come, texts.get) == {come[0]: gone[-1]}


def test_one_file_is_compared_with_many_in_little_memory() -> None:
    chance = random.Random(0)
    lines = [b"%03x\n" % number for number in range(4000)]
    texts = {b"%d" % number: b"".join(chance.sample(lines, 1500)) for number in range(400)}
    texts[b"+"] = texts[b"7"][6:]
    gone = [PathChange("D", b"old%d" % n, b"old%d" % n, b"", b"%d" % n) for n in range(400)]
    come = [PathChange("A", b"new", b"new", b"+", b"")]
    tracemalloc.start()
    try:
        assert renames(gone, come, texts.get) == {come[0]: gone[7]}
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_line_ends_of_windows_count_only_as_bytes(tmp_path: Path) -> None:
    tree = GitTree(tmp_path / "tree", tmp_path)
    tree.commit("Begin", {"old.txt": "".join(f"{number}\r\n" for number in range(10, 99))})
    (tree.root / "old.txt").unlink()
    tree.commit("Move", {"new.txt": "".join(f"{number}\r\n" for number in range(40, 129))})
    assert told(tree) == told_by_git(tree) == ["A\tnew.txt", "D\told.txt"]
