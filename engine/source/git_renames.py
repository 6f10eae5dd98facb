"""Which added files are deleted ones under another name.

Those with equal contents, then those with the same name and most of the same text, if they alone
have it, then those with at least half of their text in common, the most similar first: as ``git``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from engine.source.git_comparison import PathChange

_SIMILAR: Final = 0.5  # share of common text
_SIMILAR_IF_NAMED: Final = 0.75  # of the only two that have the same name
_MOST_COMPARED: Final = 1000  # deleted and added files
_MAX_BYTES: Final = 8 << 20  # of all of them
_MOST_STEPS: Final = 4_000_000
#: A line, or a piece of a long one.
_PIECE = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")

#: Returns the text of a blob; None: it is no text, too large, or cannot be read.
TextOf = Callable[[bytes], bytes | None]


def with_renames(files: list[PathChange], text_of: TextOf) -> list[PathChange]:
    """Return changes in which a deleted and an added file with similar texts are one."""
    gone = [each for each in files if each.kind == "D" and each.old]
    come = [each for each in files if each.kind == "A" and each.new]
    if not gone or not come:
        return files
    renamed = renames(gone, come, text_of)
    left = set(renamed.values())
    return [
        each._replace(kind="R", old_path=renamed[each].path, old=renamed[each].old)
        if each in renamed
        else each
        for each in files
        if each not in left
    ]


def renames(
    gone: Sequence[PathChange], come: Sequence[PathChange], text_of: TextOf
) -> dict[PathChange, PathChange]:
    """Return the deleted file of each added one that was renamed."""
    same = dict(_same(gone, come))
    taken = set(same.values())
    return same | _similar(
        [each for each in gone if each not in taken],
        [each for each in come if each not in same],
        text_of,
    )


def _same(
    gone: Iterable[PathChange], come: Iterable[PathChange]
) -> Iterator[tuple[PathChange, PathChange]]:
    """Yield added files with the deleted ones of the same content, each once."""
    by_content: dict[bytes, list[PathChange]] = {}
    for each in gone:
        by_content.setdefault(each.old, []).append(each)
    for each in come:
        if candidates := by_content.get(each.new):
            named = (old for old in candidates if _name_of(old) == _name_of(each))
            old = next(named, candidates[0])
            candidates.remove(old)
            yield each, old


def _similar(
    gone: Sequence[PathChange], come: Sequence[PathChange], text_of: TextOf
) -> dict[PathChange, PathChange]:
    """Pair added files with the deleted ones that have most of their text."""
    if not gone or not come:
        return {}
    old_names, new_names = Counter(map(_name_of, gone)), Counter(map(_name_of, come))

    def rank(pair: _Pair) -> tuple[bool, float, bool, PathChange, PathChange]:
        name = _name_of(pair.new)
        is_named = name == _name_of(pair.old)
        is_alone = is_named and old_names[name] == new_names[name] == 1
        is_first = is_alone and pair.share >= _SIMILAR_IF_NAMED
        return not is_first, -pair.share, not is_named, pair.new, pair.old

    found: dict[PathChange, PathChange] = {}
    taken: set[PathChange] = set()
    gone = sorted(gone, key=lambda each: _name_of(each) not in new_names)[:_MOST_COMPARED]
    come = sorted(come, key=lambda each: _name_of(each) not in old_names)[:_MOST_COMPARED]
    for _, new, old in sorted(_pairs(gone, come, text_of), key=rank):
        if new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    return found


class _Pair(NamedTuple):
    """An added and a deleted file with text in common."""

    share: float  # of the text of the larger one
    new: PathChange
    old: PathChange


def _pairs(
    gone: Sequence[PathChange], come: Sequence[PathChange], text_of: TextOf
) -> Iterator[_Pair]:
    """Yield the pairs of files that are similar, as far as there is time to compare them."""
    left_bytes = _MAX_BYTES

    def pieces_of(name: bytes) -> dict[bytes, int]:
        nonlocal left_bytes
        text = (text_of(name) if left_bytes > 0 else None) or b""
        left_bytes -= len(text)
        pieces = Counter(_PIECE.findall(text.replace(b"\r\n", b"\n")))
        return {piece: number * len(piece) for piece, number in pieces.items()}

    having: dict[bytes, list[tuple[int, int]]] = {}  # deleted files, and bytes, by piece
    old_sizes = []
    for number, each in enumerate(gone):
        pieces = pieces_of(each.old)
        old_sizes.append(sum(pieces.values()))
        for piece, size in pieces.items():
            having.setdefault(piece, []).append((number, size))
    left_steps = _MOST_STEPS
    for new in come:
        pieces = pieces_of(new.new)
        new_size = sum(pieces.values())
        common = [0] * len(gone)
        for piece, size in pieces.items():
            olds = having.get(piece, ())
            left_steps -= len(olds)
            for number, old_size in olds:
                common[number] += min(size, old_size)
        if left_steps < 0:
            return
        for old, both, old_size in zip(gone, common, old_sizes, strict=True):
            if both and both >= _SIMILAR * max(new_size, old_size):
                yield _Pair(both / max(new_size, old_size), new, old)


def _name_of(change: PathChange) -> bytes:
    return change.path.rpartition(b"/")[2]
