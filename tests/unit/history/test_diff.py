"""The lines that came and went between two versions, with those around them."""

from hypothesis import given
from hypothesis import strategies as st

from engine.history.diff import hunks_of
from engine.history_records import Hunk

_LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"d"]), max_size=40)


def _text(hunk: Hunk) -> str:
    signs = ("+" if each.old is None else "-" if each.new is None else " " for each in hunk.lines)
    return " ".join(sign + each.text for sign, each in zip(signs, hunk.lines, strict=True))


def test_far_changes_are_hunks_of_their_own_with_three_lines_around() -> None:
    old = list(b"abcdefghijklmnopqrs")
    lines = [bytes([each]) for each in old]
    changed = [*lines[:3], b"D", *lines[4:17], b"R", b"s", b"t"]
    assert [_text(each) for each in hunks_of(lines, changed)] == [
        " a  b  c -d +D  e  f  g",
        " o  p  q -r +R  s +t",
    ]


def test_near_changes_are_one_hunk() -> None:
    lines = [bytes([each]) for each in b"abcdefghijklmnop"]
    six_between = [*lines[:4], b"E", *lines[5:11], b"L", *lines[12:]]
    assert len(hunks_of(lines, six_between)) == 1
    seven_between = [*lines[:4], b"E", *lines[5:12], b"M", *lines[13:]]
    assert len(hunks_of(lines, seven_between)) == 2


def test_nothing_changed_is_no_hunk() -> None:
    assert hunks_of([b"a", b"b"], [b"a", b"b"]) == ()
    assert hunks_of([], []) == ()


@given(_LINES, _LINES)
def test_applied_to_the_old_version_they_make_the_new_one(
    old: list[bytes], new: list[bytes]
) -> None:
    made: list[bytes] = []
    at = 0
    for hunk in hunks_of(old, new):
        for line in hunk.lines:
            if line.old is None:
                made.append(line.text.encode())
                assert line.new == len(made)
                continue
            made += old[at : line.old - 1]
            at = line.old
            assert old[at - 1] == line.text.encode()
            if line.new is not None:
                made.append(line.text.encode())
                assert line.new == len(made)
    assert [*made, *old[at:]] == new
