"""Texts → which of them match, and where in them.

Which texts are worth a look is not said here (``sieve``), nor by the index: trigrams in it would
slow indexing down to 15 MB/s and make it larger by a fifth of the source, while all of 100 MB is
unpacked and searched in 0.2 s. The caller's thread reads and unpacks, another searches a megabyte
at a time. Not more often than that do they meet: two threads that both unpack and search text by
text take twice as long as one, because each has to wait for Python's lock 30,000 times.
"""

import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

from engine.search.patterns import Pattern
from engine.store.compression import unpack_text

#: Half-open bytes of a text.
Span = tuple[int, int]

#: Matches of a place that are told; more are there when it has so many.
MOST_MATCHES = 100
_BUFFER_BYTES = 1 << 20
_PACKED_SHARE = 4  # texts are packed to a quarter
# Packed texts from here on take so long to unpack that waiting for Python's lock does not count.
_LARGE_BYTES = 8 << 10
# Texts of a buffer that the other thread may find: with each it waits for Python's lock. A pattern
# that matches more texts is found soon in each, so that the caller's thread loses little.
_MOST_FOUND = 64


class OutOfTime(Exception):  # noqa: N818 - a signal
    """The time is up, or nobody waits any more."""


class Deadline:
    """A point in time after which searching stops.

    Args:
        seconds: From now on.
        clock: What tells the time, in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._is_stopped = False

    def stop(self) -> None:
        """End it now, for all threads."""
        self._is_stopped = True

    def is_over(self) -> bool:
        """Say whether the time is up."""
        return self._is_stopped or self._clock() > self._end

    def check(self) -> None:
        """Go on, or not.

        Raises:
            OutOfTime: The time is up.
        """
        if self.is_over():
            raise OutOfTime


class Inside(NamedTuple):
    """The pieces of a text that match."""

    #: Index of a piece, in order: its matches, in order, of all patterns together, at most
    #: ``MOST_MATCHES`` of each.
    spans: dict[int, list[Span]]
    is_whole: bool  # whether all of the text was looked at


@dataclass(slots=True)
class Scan:
    """What a search over texts came to."""

    blob_ids: list[int] = field(default_factory=list)  # texts that match, by id
    bytes_searched: int = 0
    is_complete: bool = True
    is_common: bool = False  # the last texts looked at match so often that threads do not pay

    def add(self, blob_ids: list[int], size: int) -> None:
        """Add what a part of the texts came to."""
        self.blob_ids += blob_ids
        self.bytes_searched += size


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Some texts in one, each with a line break at its end."""

    ids: list[int]
    starts: list[int]  # one more than texts: where the next one would start
    sizes: list[int]  # of the texts as they are
    data: bytes

    def text(self, index: int) -> bytes:
        """Give one text as it is."""
        start = self.starts[index]
        return self.data[start : start + self.sizes[index]]


class _Searched(NamedTuple):
    """A buffer with the ids of its texts that match; None when they are too many."""

    buffer: _Buffer
    blob_ids: list[int] | None


def matching_texts(
    rows: Iterable[tuple[int, bytes]],
    patterns: Sequence[Pattern],
    deadline: Deadline,
    threads: int,
) -> Scan:
    """Find the texts in which each pattern matches; none of the patterns is a negated one.

    Args:
        rows: Blob ids with their packed texts, read as they are needed.
        patterns: What has to match.
        deadline: When to stop; what was found until then is given.
        threads: How many work on it, the caller's thread among them.
    """
    scan = Scan()
    pending: deque[Future[_Searched]] = deque()
    # A thread of the pool starts with its first job.
    with ThreadPoolExecutor(max_workers=max(1, threads - 1), thread_name_prefix="grep") as pool:
        try:
            for make in _batches(rows, scan, deadline):
                if threads > 1 and len(pending) < 2 * threads and not scan.is_common:
                    pending.append(pool.submit(_search, make, patterns, deadline, _MOST_FOUND))
                else:
                    _search_here(scan, make, patterns, deadline)
                while pending and pending[0].done():
                    _take(scan, pending.popleft(), patterns, deadline)
            while pending:
                _take(scan, pending.popleft(), patterns, deadline)
        except BaseException:  # Ctrl-C too: leaving the pool waits for its threads
            deadline.stop()
            raise
    scan.blob_ids.sort()
    return scan


def _batches(
    rows: Iterable[tuple[int, bytes]], scan: Scan, deadline: Deadline
) -> Iterator[Callable[[], _Buffer]]:
    """Give what makes buffers, until the time is up.

    Small texts are unpacked here, since threads would wait for each other at each of them; large
    ones by whoever searches them.
    """
    small: list[tuple[int, bytes]] = []
    large: list[tuple[int, bytes]] = []
    small_bytes = large_bytes = 0
    for blob_id, packed in rows:
        if deadline.is_over() or not scan.is_complete:
            scan.is_complete = False
            return
        if len(packed) < _LARGE_BYTES:
            text = unpack_text(packed)
            small.append((blob_id, text))
            small_bytes += len(text)
            if small_bytes >= _BUFFER_BYTES:
                yield partial(_joined, small)
                small, small_bytes = [], 0
        else:
            large.append((blob_id, packed))
            large_bytes += len(packed)
            if large_bytes >= _BUFFER_BYTES // _PACKED_SHARE:
                yield partial(_unpacked, large)
                large, large_bytes = [], 0
    if small:
        yield partial(_joined, small)
    if large:
        yield partial(_unpacked, large)


def _joined(texts: Iterable[tuple[int, bytes]]) -> _Buffer:
    ids: list[int] = []
    pieces: list[bytes] = []
    starts = [0]
    sizes: list[int] = []
    for blob_id, text in texts:
        if not text:
            continue
        ids.append(blob_id)
        pieces.append(text if text.endswith(b"\n") else text + b"\n")
        starts.append(starts[-1] + len(pieces[-1]))
        sizes.append(len(text))
    return _Buffer(ids, starts, sizes, b"".join(pieces))


def _unpacked(rows: Iterable[tuple[int, bytes]]) -> _Buffer:
    return _joined((blob_id, unpack_text(packed)) for blob_id, packed in rows)


def _take(
    scan: Scan, job: "Future[_Searched]", patterns: Sequence[Pattern], deadline: Deadline
) -> None:
    """Add what another thread has found; when that is too much, find it here."""
    try:
        buffer, found = job.result()
    except OutOfTime:
        scan.is_complete = False
        return
    if found is None:
        scan.is_common = True
        _search_here(scan, lambda: buffer, patterns, deadline)
    else:
        scan.add(found, sum(buffer.sizes))


def _search_here(
    scan: Scan, make: Callable[[], _Buffer], patterns: Sequence[Pattern], deadline: Deadline
) -> None:
    try:
        buffer, found = _search(make, patterns, deadline, None)
    except OutOfTime:
        scan.is_complete = False
    else:
        assert found is not None
        scan.is_common = scan.is_common and len(found) > _MOST_FOUND
        scan.add(found, sum(buffer.sizes))


def _search(
    make: Callable[[], _Buffer], patterns: Sequence[Pattern], deadline: Deadline, most: int | None
) -> _Searched:
    """Give the ids of the texts in which each pattern matches; None when they are too many.

    Raises:
        OutOfTime: The time is up.
    """
    deadline.check()
    buffer = make()
    candidates = list(range(len(buffer.ids)))
    few = len(candidates) // 4
    most = len(candidates) if most is None else most
    for pattern in patterns:
        if pattern.literals:
            holding: set[int] = set()
            for literal in pattern.literals:
                holding.update(_walk(literal, buffer, candidates, deadline, few + 1))
            if len(holding) <= few:  # else the pattern itself has as much to look at
                candidates = sorted(holding)
        candidates = _walk(pattern, buffer, candidates, deadline, most + 1)
        if len(candidates) > most:
            return _Searched(buffer, None)
    return _Searched(buffer, [buffer.ids[index] for index in candidates])


def _walk(
    pattern: Pattern, buffer: _Buffer, candidates: list[int], deadline: Deadline, most: int
) -> list[int]:
    """Give those of some texts, by index and at most so many, in which a pattern matches."""
    check = deadline.check
    starts, data = buffer.starts, buffer.data
    if pattern.is_bound_to_text or pattern.crosses_lines:
        # One text at a time: from others, .* would run on to the end of them all. But what is
        # nowhere in all of them is in none.
        if not pattern.is_bound_to_text and pattern.search(data, 0, check) is None:
            return []
        matching = (i for i in candidates if pattern.search(buffer.text(i), 0, check))
        return list(islice(matching, most))
    found: list[int] = []
    are_few = 4 * len(candidates) < len(buffer.ids)
    at = 0
    while at < len(candidates) and len(found) < most:
        index = candidates[at]
        end = starts[index + 1] if are_few else len(data)
        span = pattern.search(data, starts[index], check, end)
        if span is None:
            if not are_few:
                break
            at += 1
            continue
        at = bisect_left(candidates, bisect_right(starts, span[0]) - 1, at)
        if at < len(candidates) and starts[candidates[at]] <= span[0]:
            found.append(candidates[at])
            at += 1
    return found


def places_in(
    text: bytes,
    pieces: Sequence[Span],
    patterns: Sequence[Pattern],
    deadline: Deadline,
    *,
    most: int | None = None,
) -> Inside:
    """Find the pieces of a text in which each pattern matches and no negated one does.

    A match belongs to the piece in which it starts.

    Args:
        text: The whole text; patterns see what is around a piece.
        pieces: In text order, without overlaps.
        patterns: What has to match, and what must not.
        deadline: When to stop.
        most: Matches of a pattern after which the rest of the text is left out.

    Raises:
        OutOfTime: The time is up.
    """
    found: dict[int, list[Span]] = {index: [] for index in range(len(pieces))}
    is_whole = True
    for pattern in patterns:
        matches: dict[int, list[Span]] = {}
        in_piece = 1 if pattern.negated else MOST_MATCHES
        walk = _matches(text, pieces, pattern, deadline, in_piece)
        for number, (index, span) in enumerate(walk, 1):
            matches.setdefault(index, []).append(span)
            if number == most and not pattern.negated:
                is_whole = False
                break
        if pattern.negated:
            found = {index: spans for index, spans in found.items() if index not in matches}
        else:
            found = {
                index: sorted({*spans, *matches[index]})
                for index, spans in found.items()
                if index in matches
            }
    return Inside(found, is_whole)


def _matches(
    text: bytes, pieces: Sequence[Span], pattern: Pattern, deadline: Deadline, most: int
) -> Iterator[tuple[int, Span]]:
    """Walk through the matches that start in pieces, at most so many a piece."""
    starts = [start for start, _ in pieces]
    at, last, count, previous_end = 0, -1, 0, -1
    while span := pattern.search(text, at, deadline.check):
        start, end = span
        index = bisect_right(starts, start) - 1
        # Behind the last character a line can still end.
        is_inside = index >= 0 and (start < pieces[index][1] or start == end == len(text))
        if not is_inside:
            if index + 1 == len(starts):
                return
            at = starts[index + 1]
            continue
        if start < end or start > previous_end:
            yield index, span
            count = count + 1 if index == last else 1
            last, previous_end = index, end
        if count == most:
            at = max(pieces[index][1], start + 1)
        elif end > start:
            at = end
        else:  # an empty match says that the line matches; one is enough
            at = text.find(b"\n", start) + 1 or len(text) + 1
