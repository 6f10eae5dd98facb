"""Which added files are deleted ones under another name.

Those with equal contents, then those with the same name and most of the same text, if they alone
have it, then those with at least half of their text in common, the most similar first: as ``git``.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from engine.source.git_comparison import PathChange

_SIMILAR: Final = 0.5  # share of common text
_SIMILAR_IF_NAMED: Final = 0.75  # of the only two that have the same name
_MOST_COMPARED: Final = 1000  # deleted and added files
_MAX_BYTES: Final = 8 << 20  # of all of them
_MOST_STEPS: Final = 4_000_000
_MOST_PIECES: Final = 250_000  # kept at once
_MOST_CANDIDATES: Final = 30  # deleted files that an added one may be
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
    best: dict[PathChange, list[_Pair]] = {}
    for pair in _pairs(gone, come, text_of):
        pairs = best.setdefault(pair.new, [])
        pairs.append(pair)
        if len(pairs) > 4 * _MOST_CANDIDATES:
            pairs.sort(key=rank)
            del pairs[_MOST_CANDIDATES:]
    for _, new, old in sorted(chain.from_iterable(best.values()), key=rank):
        if new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    return found


class _Pair(NamedTuple):
    """An added and a deleted file with text in common."""

    share: float  # of the bytes of the larger one
    new: PathChange
    old: PathChange


def _pairs(
    gone: Sequence[PathChange], come: Sequence[PathChange], text_of: TextOf
) -> Iterator[_Pair]:
    """Yield the pairs of files that are similar, as far as there is time to compare them.

    Only the pieces of the fewer files are kept; those of the others are counted one after another.
    """
    left_bytes = _MAX_BYTES

    def texts_of(blobs: Iterable[bytes]) -> list[bytes]:
        nonlocal left_bytes
        texts = []
        for blob in blobs:
            texts.append((text_of(blob) if left_bytes > 0 else None) or b"")
            left_bytes -= len(texts[-1])
        return texts

    is_new_kept = len(come) <= len(gone)
    blobs = [each.new for each in come], [each.old for each in gone]
    kept, others = map(texts_of, blobs if is_new_kept else reversed(blobs))
    having = _index_of(kept, sorted(map(len, others)))
    sizes = sorted(map(len, kept))
    left_steps = _MOST_STEPS
    for at, text in enumerate(others):
        if not _has_similar(sizes, len(text)):
            continue
        common = [0] * len(kept)
        pieces = _pieces_of(text)
        for piece in pieces.keys() & having.keys():
            times, found = pieces[piece], having[piece]
            left_steps -= len(found)
            for number, kept_times in found:
                common[number] += min(times, kept_times) * len(piece)
        if left_steps < 0:
            return
        for number, both in enumerate(common):
            if both and both >= _SIMILAR * (larger := max(len(text), len(kept[number]))):
                new, old = (number, at) if is_new_kept else (at, number)
                yield _Pair(both / larger, come[new], gone[old])


def _index_of(texts: Iterable[bytes], sizes: list[int]) -> dict[bytes, list[tuple[int, int]]]:
    """Return which texts have each piece, by number, and how often.

    Args:
        texts: The texts.
        sizes: Of those that they are compared with, rising.
    """
    having: dict[bytes, list[tuple[int, int]]] = {}
    left = _MOST_PIECES
    for number, text in enumerate(texts):
        if left > 0 and _has_similar(sizes, len(text)):
            pieces = _pieces_of(text)
            left -= len(pieces)
            for piece, times in pieces.items():
                having.setdefault(piece, []).append((number, times))
    return having


def _has_similar(sizes: list[int], size: int) -> bool:
    """Return whether one of some rising sizes allows a text of a size to be similar."""
    at = bisect_left(sizes, _SIMILAR * size)
    return size > 0 and at < len(sizes) and _SIMILAR * sizes[at] <= size


def _pieces_of(text: bytes) -> Counter[bytes]:
    """Return how often a text has each different piece."""
    return Counter(_PIECE.findall(text.replace(b"\r\n", b"\n")))


def _name_of(change: PathChange) -> bytes:
    return change.path.rpartition(b"/")[2]
