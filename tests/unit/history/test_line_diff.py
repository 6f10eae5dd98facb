"""The lines that two versions share, beside what ``git diff`` says of them."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.history.line_diff import matching_runs
from tests.support.git_trees import run_git
from tests.support.line_texts import TEXTS, patient

_WORDS = ["", "", "", "}", "    }", "    return None", "import os", "def f():", "    pass", "# end"]


def written(root: Path, name: str, lines: list[str]) -> list[bytes]:
    text = "".join(f"{line}\n" for line in lines)
    (root / name).write_text(text)
    return text.encode().split(b"\n")[:-1]


def changed_by_git(root: Path) -> set[int]:
    """Give the lines of the new version, from 0, that git shows as added."""
    added: set[int] = set()
    arguments = ("diff", "--no-index", "-U0", "old", "new")
    for line in run_git(root, root, *arguments, codes=(0, 1)).decode().splitlines():
        if line.startswith("@@ "):
            start, _, number = line.split()[2][1:].partition(",")
            added.update(range(int(start) - 1, int(start) - 1 + int(number or 1)))
    return added


def changed_by_us(old: list[bytes], new: list[bytes]) -> set[int]:
    added = set(range(len(new)))
    for run in matching_runs(old, new):
        assert old[run.old : run.old + run.length] == new[run.new : run.new + run.length]
        added -= set(range(run.new, run.new + run.length))
    return added


def edited(chance: random.Random, lines: list[str], edits: int) -> list[str]:
    """Move, copy, remove and add some lines."""
    for _ in range(edits):
        start = chance.randrange(len(lines) + 1)
        end = min(len(lines), start + chance.randrange(6))
        piece = lines[start:end]
        what = chance.randrange(4)
        if what == 0:
            lines = [*lines[:start], *lines[end:]]
        elif what == 1:
            lines = [*lines[:end], *piece, *lines[end:]]
        elif what == 2:
            added = [chance.choice(_WORDS) for _ in range(chance.randrange(1, 6))]
            lines = [*lines[:start], *added, *lines[start:]]
        else:
            rest = [*lines[:start], *lines[end:]]
            at = chance.randrange(len(rest) + 1)
            lines = [*rest[:at], *piece, *rest[at:]]
    return lines


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("size", "edits"), [(12, 2), (60, 5), (400, 20), (1500, 200)])
def test_it_says_what_git_says(tmp_path: Path, seed: int, size: int, edits: int) -> None:
    chance = random.Random(seed)
    if chance.random() < 0.5:  # lines that are told apart, beside repeated ones
        old = [chance.choice([*_WORDS, f"    line {number}"]) for number in range(size)]
    else:
        old = [chance.choice(_WORDS) for _ in range(size)]
    new = edited(chance, old, edits)
    versions = written(tmp_path, "old", old), written(tmp_path, "new", new)
    assert changed_by_us(*versions) == changed_by_git(tmp_path)


def test_a_function_is_added_whole() -> None:
    old = ["def a():", "    return 1", "", "def c():", "    return 1", ""]
    new = [*old[:3], "def b():", "    return 1", "", *old[3:]]
    runs = matching_runs([each.encode() for each in old], [each.encode() for each in new])
    assert [(run.old, run.new, run.length) for run in runs] == [(0, 0, 3), (3, 6, 3)]


def test_texts_that_are_nothing_alike_are_not_compared_to_the_end() -> None:
    chance = random.Random(1)
    old = [b"%d" % chance.randrange(40) for _ in range(20_000)]
    new = [b"%d" % chance.randrange(40) for _ in range(20_000)]
    found = matching_runs(old, new)
    assert 0 < sum(run.length for run in found) < 2000  # a shortest edit keeps more than 6,000


@patient
@given(TEXTS, TEXTS)
def test_runs_are_equal_lines_in_order(old: list[bytes], new: list[bytes]) -> None:
    at = new_at = 0
    for run in matching_runs(old, new):
        assert run.old >= at
        assert run.new >= new_at
        assert run.length > 0
        at, new_at = run.old + run.length, run.new + run.length
        assert old[run.old : at] == new[run.new : new_at]
    assert at <= len(old)
    assert new_at <= len(new)


@patient
@given(TEXTS, st.integers(0, 20), TEXTS)
def test_lines_around_one_change_are_matched(
    text: list[bytes], place: int, added: list[bytes]
) -> None:
    new = [*text[:place], *added, *text[place:]]
    assert sum(run.length for run in matching_runs(text, new)) == len(text)


def test_moved_lines_are_matched_in_the_longest_order() -> None:
    runs = matching_runs([b"1", b"2", b"3", b"4", b"5"], [b"5", b"2", b"x", b"3", b"4"])
    assert [(run.old, run.new) for run in runs] == [(1, 1), (2, 3), (3, 4)] or [
        (run.old, run.new, run.length) for run in runs
    ] == [(1, 1, 1), (2, 3, 2)]


def test_blocks_that_are_alike_are_matched_though_no_line_stands_once() -> None:
    block = [b"items = [", b"]", b"check()", b""]
    old = [b"1", *block, *block, b"2"]
    new = [b"x", *block, *block, *block, b"y"]
    assert sum(run.length for run in matching_runs(old, new)) == 2 * len(block)
