"""Which lines two versions of a text have in common, so that ``git`` would say the same.

The shortest edit is looked for from both ends at once (E. Myers, "An O(ND) Difference Algorithm and
Its Variations", 1986), among the lines that both versions have and that are not too common. Most
edits have several places: a line added to a list of equal ones can be any of them. Each is then
moved to where the other version changed too, else to where the indentation and the blank lines
around it suit a reader best, as ``git`` does since 2016 (``diff.indentHeuristic``). Where an edit
becomes too long to be worth the search, a good one is taken.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from typing import Final, NamedTuple, TypeVar

from engine.history.line_slides import Group, slid

_BLOCK_BYTES: Final = 1024  # a common end is left out of the comparison in whole blocks
_MOST_COMMON: Final = 1024  # how often a line may be there to help in the comparison
_NEIGHBOURS: Final = 100  # that are looked at to know whether a common line helps
_NEIGHBOURS_SHARE: Final = 4
_LONG_EDIT: Final = 256  # after so many edits, a good place to divide the texts will do
_LONG_RUN: Final = 20  # equal lines that make a place good
_GAIN: Final = 4  # lines for each edit that make a place good
_STEPS: Final = 64  # in search of an edit, for each line of both versions, and a first
_MORE_STEPS: Final = 200_000  # number of them; what is not compared by then counts as changed
_FAR: Final = 1 << 60

Item = TypeVar("Item")


class Match(NamedTuple):
    """A run of lines that both versions have."""

    old: int  # where it begins
    new: int
    length: int


def matching_runs(old: Sequence[bytes], new: Sequence[bytes]) -> list[Match]:
    """Return the runs of lines that both versions have, in order."""
    head = _common_start(old, new)
    tail = _common_end(old, new, min(len(old), len(new)) - head)
    end = _left_out(old, new, tail)
    old_end, new_end = len(old) - end, len(new) - end
    one, other = old[:old_end], new[:new_end]
    old_groups, new_groups = _changes(one, other, head, tail - end)
    old_groups = slid(one, old_groups, {each.gap for each in new_groups})
    new_groups = slid(other, new_groups, {each.gap for each in old_groups})
    runs = _runs_between(old_groups, new_groups, old_end, new_end)
    return _joined((*runs, Match(old_end, new_end, end)) if end else runs)


def compared_lines(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    """Return how many lines of two versions stand between what is equal at both ends."""
    head = _common_start(old, new)
    tail = _common_end(old, new, min(len(old), len(new)) - head)
    return len(old) + len(new) - 2 * (head + tail)


def _common_start(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    return _equal_from(old, new, 0, 0, min(len(old), len(new)))


def _equal_from(old: Sequence[Item], new: Sequence[Item], at: int, new_at: int, most: int) -> int:
    """Return how many lines from two places on are equal."""
    found, step = 0, 1  # slices are compared many times faster than lines one by one
    while found < most:
        size = min(step, most - found)
        if old[at : at + size] == new[new_at : new_at + size]:
            found, at, new_at, step = found + size, at + size, new_at + size, step * 2
        elif size == 1:
            break
        else:
            step = size // 2
    return found


def _common_end(old: Sequence[bytes], new: Sequence[bytes], most: int) -> int:
    return _equal_from(old[::-1], new[::-1], 0, 0, most)


def _left_out(old: Sequence[bytes], new: Sequence[bytes], tail: int) -> int:
    """Return how many of the last lines, which are equal, nothing is compared with."""
    at = 0  # of the first line of the common end, behind the common end of the lines before it
    if tail < min(len(old), len(new)):
        line, other = old[len(old) - 1 - tail], new[len(new) - 1 - tail]
        while at < min(len(line), len(other)) and line[-1 - at] == other[-1 - at]:
            at += 1
    lines = old[len(old) - tail :]
    rest = (at + sum(map(len, lines)) + tail) % _BLOCK_BYTES  # before the first whole block
    for place, line in enumerate(lines):
        if at >= rest:
            return tail - place - (at == rest)
        at += len(line) + 1
    return 0


def _changes(
    old: Sequence[bytes], new: Sequence[bytes], head: int, tail: int
) -> tuple[list[Group], list[Group]]:
    """Return the lines of both that a shortest edit changes, between a common head and tail."""
    old_inside, new_inside = range(head, len(old) - tail), range(head, len(new) - tail)
    if not old_inside or not new_inside:
        return _groups(old_inside), _groups(new_inside)
    old_counts, new_counts = Counter(old), Counter(new)
    old_kept = _compared(old, old_inside, new_counts)
    new_kept = _compared(new, new_inside, old_counts)
    edit = _Edit(_of(old, old_kept), _of(new, new_kept))
    old_same, new_same = _of(old_kept, edit.old_same), _of(new_kept, edit.new_same)
    return _groups_without(old_inside, old_same), _groups_without(new_inside, new_same)


def _of(items: Sequence[Item], places: Iterable[int]) -> list[Item]:
    return list(map(items.__getitem__, places))


def _groups(changed: range) -> list[Group]:
    return [Group(changed.start, changed.start, changed.stop)] if changed else []


def _groups_without(inside: range, same: Sequence[int]) -> list[Group]:
    """Return the groups of lines that are changed; all but some are."""
    groups: list[Group] = []
    for before, line in enumerate(sorted(set(inside).difference(same))):
        if groups and groups[-1].end == line:
            groups[-1] = groups[-1]._replace(end=line + 1)
        else:
            groups.append(Group(line - before, line, line + 1))
    return groups


def _compared(lines: Sequence[bytes], inside: range, others: Counter[bytes]) -> Sequence[int]:
    """Return the lines worth comparing: those that the other version has, unless too often.

    Common lines, such as blank ones, would only mislead among lines that the other one lacks.
    """
    most = min(_rough_root(len(lines)), _MOST_COMMON)
    counts = list(map(others.get, lines[inside.start : inside.stop], repeat(0)))
    if min(counts) > 0:
        return inside
    return [
        inside.start + at
        for at, (number, before) in enumerate(zip(counts, (1, *counts), strict=False))
        if number and (number < most or 0 < before < most or not _misleads(counts, at, most))
    ]


def _misleads(counts: Sequence[int], at: int, most: int) -> bool:
    """Return whether a common line stands among lines that the other version lacks."""
    lacking, common = 0, 0
    for side in (
        range(at - 1, max(at - _NEIGHBOURS, 0) - 1, -1),
        range(at + 1, min(at + _NEIGHBOURS, len(counts) - 1) + 1),
    ):
        common += 1
        before = lacking
        for place in side:
            if not counts[place]:
                lacking += 1
            elif counts[place] >= most:
                common += 1
            else:
                break
        if lacking == before:
            return False
    return common * _NEIGHBOURS_SHARE < common + lacking


def _rough_root(number: int) -> int:
    """Return a power of two near the square root of a number."""
    root = 1
    while number > 0:
        root <<= 1
        number >>= 2
    return root


class _Box(NamedTuple):
    """Parts of two texts to compare."""

    start: int
    end: int
    new_start: int
    new_end: int
    is_exact: bool  # the shortest edit is wanted, however long


class _Split(NamedTuple):
    """Where to divide two texts, so that both halves can be compared for themselves."""

    at: int
    new_at: int
    is_exact: bool = True  # for the first halves
    is_exact_after: bool = True


class _Edit:
    """The lines that a shortest edit keeps.

    Args:
        old: The text before.
        new: The text after.
    """

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        numbers = dict(zip(dict.fromkeys((*old, *new)), count(), strict=False))
        self._old = list(map(numbers.__getitem__, old))
        self._new = list(map(numbers.__getitem__, new))
        self._shift = len(new) + 1  # of diagonals, which begin below 0
        diagonals = len(old) + len(new) + 3
        self._most = max(_rough_root(diagonals), _LONG_EDIT)
        self._ahead, self._behind = [0] * diagonals, [0] * diagonals
        self._steps = _MORE_STEPS + _STEPS * diagonals
        self._has_long_run = False  # was found by the last edit
        self.old_same: list[int] = []
        self.new_same: list[int] = []
        boxes = [_Box(0, len(old), 0, len(new), is_exact=False)]
        while boxes:
            self._compare(boxes.pop(), boxes)

    def _compare(self, box: _Box, rest: list[_Box]) -> None:
        """Note what is equal at the start of two texts, and divide what is left."""
        start, end, new_start, new_end, is_exact = box
        old, new = self._old, self._new
        same = _equal_from(old, new, start, new_start, min(end - start, new_end - new_start))
        self.old_same += range(start, start + same)
        self.new_same += range(new_start, new_start + same)
        start, new_start = start + same, new_start + same
        last, new_last = end, new_end
        while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
        if end < last:  # comes after what is inside
            rest.append(_Box(end, last, new_end, new_last, is_exact=True))
        if start < end and new_start < new_end and self._steps > 0:
            box = _Box(start, end, new_start, new_end, is_exact)
            at, new_at, is_exact_before, is_exact_after = self._split(box)
            rest.append(_Box(at, end, new_at, new_end, is_exact_after))
            rest.append(_Box(start, at, new_start, new_at, is_exact_before))

    def _split(self, box: _Box) -> _Split:
        """Find where the ways from both ends of two texts meet."""
        shift = self._shift
        least, most = box.start - box.new_end + shift, box.end - box.new_start + shift
        first, last = box.start - box.new_start + shift, box.end - box.new_end + shift
        is_odd = (first - last) % 2 == 1
        self._ahead[first], self._behind[last] = box.start, box.end
        low = high = first
        low_back = high_back = last
        for edits in count(1):
            self._has_long_run = False
            self._steps -= edits
            low, high = _widened(self._ahead, -1, low, high, least, most)
            reached = range(high, low - 1, -2)
            meeting = range(low_back, high_back + 1) if is_odd else range(0)
            split = self._go_on(box, reached, meeting)
            if split:
                return split
            low_back, high_back = _widened(self._behind, _FAR, low_back, high_back, least, most)
            reached_back = range(high_back, low_back - 1, -2)
            split = self._go_back(box, reached_back, range(0) if is_odd else range(low, high + 1))
            if split is None and self._steps <= 0:
                split = self._farthest(box, reached, reached_back)
            if split is None and not box.is_exact and edits >= _LONG_EDIT:
                if self._has_long_run and edits > _LONG_EDIT:
                    split = self._good_split(box, edits, first, reached)
                    split = split or self._good_split_back(box, edits, last, reached_back)
                if split is None and edits >= self._most:
                    split = self._farthest(box, reached, reached_back)
            if split:
                return split
        raise AssertionError

    def _go_on(self, box: _Box, reached: range, meeting: range) -> _Split | None:
        """Go on by one edit from the start; return where a way from the end is met."""
        old, new, ahead = self._old, self._new, self._ahead
        end, new_end = box.end, box.new_end
        for diagonal in reached:
            removed, added = ahead[diagonal - 1], ahead[diagonal + 1]
            at = begin = removed + 1 if removed >= added else added
            to = self._shift - diagonal
            while at < end and at + to < new_end and old[at] == new[at + to]:
                at += 1
                if at - begin == _LONG_RUN:
                    at += _equal_from(old, new, at, at + to, min(end - at, new_end - at - to))
                    break
            if at - begin > _LONG_RUN:
                self._has_long_run = True
            ahead[diagonal] = at
            if diagonal in meeting and self._behind[diagonal] <= at:
                return _Split(at, at + to)
        return None

    def _go_back(self, box: _Box, reached: range, meeting: range) -> _Split | None:
        """Go back by one edit from the end, likewise."""
        old, new, behind = self._old, self._new, self._behind
        start, new_start = box.start, box.new_start
        for diagonal in reached:
            removed, added = behind[diagonal - 1], behind[diagonal + 1]
            at = begin = removed if removed < added else added - 1
            to = self._shift - diagonal
            while at > start and at + to > new_start and old[at - 1] == new[at - 1 + to]:
                at -= 1
            if begin - at > _LONG_RUN:
                self._has_long_run = True
            behind[diagonal] = at
            if diagonal in meeting and at <= self._ahead[diagonal]:
                return _Split(at, at + to)
        return None

    def _good_split(self, box: _Box, edits: int, middle: int, reached: range) -> _Split | None:
        """Return the best place after a long run of equal lines that was reached with few edits."""
        best, split = _GAIN * edits, None
        for diagonal in reached:
            at = self._ahead[diagonal]
            new_at = at - diagonal + self._shift
            gain = at - box.start + new_at - box.new_start - abs(diagonal - middle)
            if (
                gain > best
                and box.start + _LONG_RUN <= at < box.end
                and box.new_start + _LONG_RUN <= new_at < box.new_end
                and self._old[at - _LONG_RUN : at] == self._new[new_at - _LONG_RUN : new_at]
            ):
                best, split = gain, _Split(at, new_at, is_exact_after=False)
        return split

    def _good_split_back(self, box: _Box, edits: int, middle: int, reached: range) -> _Split | None:
        """Return the best place before a long run, likewise, reached from the end."""
        best, split = _GAIN * edits, None
        for diagonal in reached:
            at = self._behind[diagonal]
            new_at = at - diagonal + self._shift
            gain = box.end - at + box.new_end - new_at - abs(diagonal - middle)
            if (
                gain > best
                and box.start < at <= box.end - _LONG_RUN
                and box.new_start < new_at <= box.new_end - _LONG_RUN
                and self._old[at : at + _LONG_RUN] == self._new[new_at : new_at + _LONG_RUN]
            ):
                best, split = gain, _Split(at, new_at, is_exact=False)
        return split

    def _farthest(self, box: _Box, reached: range, reached_back: range) -> _Split:
        """Return the place that is farthest from either end."""
        shift = self._shift
        far, far_at = -1, -1
        for diagonal in reached:
            at = min(self._ahead[diagonal], box.end, box.new_end + diagonal - shift)
            total = 2 * at - diagonal + shift
            if far < total:
                far, far_at = total, at
        near, near_at = _FAR, _FAR
        for diagonal in reached_back:
            at = max(self._behind[diagonal], box.start, box.new_start + diagonal - shift)
            total = 2 * at - diagonal + shift
            if total < near:
                near, near_at = total, at
        if box.end + box.new_end - near < far - box.start - box.new_start:
            return _Split(far_at, far - far_at, is_exact_after=False)
        return _Split(near_at, near - near_at, is_exact=False)


def _widened(
    reached: list[int], never: int, low: int, high: int, least: int, most: int
) -> tuple[int, int]:
    """Return the diagonals that one more edit reaches, within bounds."""
    if low > least:
        low -= 1
        reached[low - 1] = never
    else:
        low += 1
    if high < most:
        high += 1
        reached[high + 1] = never
    else:
        high -= 1
    return low, high


def _runs_between(
    old_groups: Sequence[Group], new_groups: Sequence[Group], old_end: int, new_end: int
) -> Iterator[Match]:
    """Yield the lines between groups of changed ones; both texts have as many of them."""
    sizes: dict[int, list[int]] = {}  # of the groups of both, by how many lines stay before them
    for which, groups in enumerate((old_groups, new_groups)):
        for gap, start, end in groups:
            sizes.setdefault(gap, [0, 0])[which] += end - start
    at = new_at = same = 0
    for gap, (removed, added) in sorted(sizes.items()):
        if gap > same:
            yield Match(at, new_at, gap - same)
        at, new_at, same = at + gap - same + removed, new_at + gap - same + added, gap
    if at < old_end:
        yield Match(at, new_at, old_end - at)
    assert old_end - at == new_end - new_at


def _joined(runs: Sequence[Match] | Iterator[Match]) -> list[Match]:
    """Return runs, those that go on with one another as one."""
    found: list[Match] = []
    for each in runs:
        last = found[-1] if found else None
        if last and last.old + last.length == each.old and last.new + last.length == each.new:
            found[-1] = last._replace(length=last.length + each.length)
        else:
            found.append(each)
    return found
