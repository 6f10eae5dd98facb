"""The changed lines between two versions of a text, with context."""

from collections.abc import Sequence
from typing import Final

from engine.history.line_diff import Match, matching_runs
from engine.history_records import DiffLine, Hunk

_CONTEXT_LINES: Final = 3
_MAX_CHARS: Final = 1000  # of a line


def hunks_of(
    old: Sequence[bytes],
    new: Sequence[bytes],
    *,
    shown: tuple[Sequence[bytes], Sequence[bytes]] | None = None,
) -> tuple[Hunk, ...]:
    """Return the changes between two versions, near ones together, with the lines around them.

    Args:
        old: The lines before.
        new: The lines after.
        shown: What is shown of the lines of both versions; None: the lines themselves.
    """
    old_shown, new_shown = shown or (old, new)
    hunks: list[Hunk] = []
    lines: list[DiffLine] = []  # of the hunk that is being made
    has_change = False
    at = new_at = 0
    for run in (*matching_runs(old, new), Match(len(old), len(new), 0)):
        lines += [
            DiffLine(text=_text(old_shown[each]), old=each + 1) for each in range(at, run.old)
        ]
        lines += [
            DiffLine(text=_text(new_shown[each]), new=each + 1) for each in range(new_at, run.new)
        ]
        has_change = has_change or at < run.old or new_at < run.new
        at, new_at = run.old + run.length, run.new + run.length
        is_last = at == len(old) and new_at == len(new)
        around = [
            DiffLine(
                text=_text(new_shown[run.new + each]),
                old=run.old + each + 1,
                new=run.new + each + 1,
            )
            for each in _near(run.length, is_first=not has_change, is_last=is_last)
        ]
        if has_change and (is_last or run.length > 2 * _CONTEXT_LINES):
            hunks.append(Hunk(lines=(*lines, *around[:_CONTEXT_LINES])))
            lines, has_change = around[_CONTEXT_LINES:], False
        else:
            lines += around
        if is_last:
            break
    return tuple(hunks)


def _near(length: int, *, is_first: bool, is_last: bool) -> Sequence[int]:
    """Return which of the lines of an unchanged run stand near a change."""
    after = 0 if is_first else min(length, _CONTEXT_LINES)
    before = 0 if is_last else min(length - after, _CONTEXT_LINES)
    return (*range(after), *range(length - before, length))


def cut(hunks: tuple[Hunk, ...], most: int) -> tuple[tuple[Hunk, ...], bool]:
    """Return as much of hunks as may be shown, and whether that is not all."""
    shown: list[Hunk] = []
    for each in hunks:
        if len(each.lines) > most:
            return (*shown, *([Hunk(lines=each.lines[:most])] if most else [])), True
        shown.append(each)
        most -= len(each.lines)
    return hunks, False


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
