"""Find the texts in which patterns match, and the matches in a text.

``ngram_filter`` decides which texts are worth a look, not the index: trigrams in it would slow
indexing down to 15 MB/s and enlarge it by a fifth of the source, while all of 100 MB is unpacked
and searched in 0.2 s. The caller's thread reads and unpacks, another searches a megabyte at a time.
They do not meet more often: two threads that both unpack and search text by text take twice as long
as one, because each has to wait for Python's lock 30,000 times.
"""

import re
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

#: Matches that are returned per piece and pattern; with this many there may be more.
MAX_MATCHES = 100
_BUFFER_BYTES = 1 << 20
_CRLF = re.compile(rb"\r\n")
_COMPRESSION_RATIO = 4  # texts are compressed to a quarter
# Larger packed texts take so long to unpack that waiting for Python's lock does not matter.
_LARGE_BYTES = 8 << 10
# Matching texts of a buffer that a worker thread may find: at each it waits for Python's lock. A
# pattern that matches more is found early in each text, so that the caller's thread loses little.
_MAX_WORKER_MATCHES = 64


class DeadlineExceeded(Exception):  # noqa: N818 - a signal
    """The time is up, or the search was cancelled."""


class Deadline:
    """A point in time after which searching stops.

    Args:
        seconds: From now.
        clock: Returns the time in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._is_cancelled = False

    def stop(self) -> None:
        """End it now, for all threads."""
        self._is_cancelled = True

    def is_over(self) -> bool:
        """Return whether the time is up."""
        return self._is_cancelled or self._clock() > self._end

    def check(self) -> None:
        """Raise an error if the time is up.

        Raises:
            DeadlineExceeded: The time is up.
        """
        if self.is_over():
            raise DeadlineExceeded


class PieceMatches(NamedTuple):
    """The pieces of a text that match."""

    #: By index of the piece, in order: the matches of all patterns together, in order, at most
    #: ``MAX_MATCHES`` of each pattern.
    spans: dict[int, list[Span]]
    is_whole: bool  # the text was searched to its end


@dataclass(slots=True)
class Scan:
    """The result of a search over texts."""

    blob_ids: list[int] = field(default_factory=list)  # texts that match, by id
    bytes_searched: int = 0
    is_complete: bool = True
    is_common: bool = False  # the last texts matched too often for threads to pay off

    def add(self, blob_ids: list[int], size: int) -> None:
        """Add the result of a part of the texts."""
        self.blob_ids += blob_ids
        self.bytes_searched += size


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Several texts joined, each with a line break at its end."""

    ids: list[int]
    starts: list[int]  # one more than texts: the last is the end
    sizes: list[int]  # of the texts as they are
    data: bytes

    def text(self, index: int) -> bytes:
        """Return one text as it is."""
        start = self.starts[index]
        return self.data[start : start + self.sizes[index]]

    def with_lf(self) -> "_Buffer":
        r"""Return the same texts with ``\n`` for each ``\r\n``."""
        if b"\r" not in self.data:
            return self
        texts = map(self.text, range(len(self.ids)))
        return _join(zip(self.ids, (text.replace(b"\r\n", b"\n") for text in texts), strict=True))


class _BufferResult(NamedTuple):
    """A buffer with the ids of its texts that match, or None when there are too many."""

    buffer: _Buffer
    blob_ids: list[int] | None


def matching_texts(
    rows: Iterable[tuple[int, bytes]],
    patterns: Sequence[Pattern],
    deadline: Deadline,
    threads: int,
) -> Scan:
    """Find the texts in which all patterns match; none of the patterns is negated.

    Args:
        rows: Blob ids with their packed texts, read as needed.
        patterns: The patterns.
        deadline: When to stop; what was found until then is returned.
        threads: The number of threads, the caller's included.
    """
    scan = Scan()
    pending: deque[Future[_BufferResult]] = deque()
    # The pool starts a thread when it gets its first job.
    with ThreadPoolExecutor(max_workers=max(1, threads - 1), thread_name_prefix="grep") as pool:
        try:
            for make in _batches(rows, scan, deadline):
                if threads > 1 and len(pending) < 2 * threads and not scan.is_common:
                    pending.append(
                        pool.submit(_search_buffer, make, patterns, deadline, _MAX_WORKER_MATCHES)
                    )
                else:
                    _search_inline(scan, make, patterns, deadline)
                while pending and pending[0].done():
                    _collect(scan, pending.popleft(), patterns, deadline)
            while pending:
                _collect(scan, pending.popleft(), patterns, deadline)
        except BaseException:  # Ctrl-C too: leaving the pool waits for its threads
            deadline.stop()
            raise
    scan.blob_ids.sort()
    return scan


def _batches(
    rows: Iterable[tuple[int, bytes]], scan: Scan, deadline: Deadline
) -> Iterator[Callable[[], _Buffer]]:
    """Yield functions that make buffers, until the time is up.

    Small texts are unpacked here, since threads would wait for each other at each of them; large
    ones by the thread that searches them.
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
                yield partial(_join, small)
                small, small_bytes = [], 0
        else:
            large.append((blob_id, packed))
            large_bytes += len(packed)
            if large_bytes >= _BUFFER_BYTES // _COMPRESSION_RATIO:
                yield partial(_unpack, large)
                large, large_bytes = [], 0
    if small:
        yield partial(_join, small)
    if large:
        yield partial(_unpack, large)


def _join(texts: Iterable[tuple[int, bytes]]) -> _Buffer:
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


def _unpack(rows: Iterable[tuple[int, bytes]]) -> _Buffer:
    return _join((blob_id, unpack_text(packed)) for blob_id, packed in rows)


def _collect(
    scan: Scan, job: "Future[_BufferResult]", patterns: Sequence[Pattern], deadline: Deadline
) -> None:
    """Add the result of another thread, or search here when there were too many matches."""
    try:
        buffer, found = job.result()
    except DeadlineExceeded:
        scan.is_complete = False
        return
    if found is None:
        scan.is_common = True
        _search_inline(scan, lambda: buffer, patterns, deadline)
    else:
        scan.add(found, sum(buffer.sizes))


def _search_inline(
    scan: Scan, make: Callable[[], _Buffer], patterns: Sequence[Pattern], deadline: Deadline
) -> None:
    try:
        buffer, found = _search_buffer(make, patterns, deadline, None)
    except DeadlineExceeded:
        scan.is_complete = False
    else:
        assert found is not None
        scan.is_common = scan.is_common and len(found) > _MAX_WORKER_MATCHES
        scan.add(found, sum(buffer.sizes))


def _search_buffer(
    make: Callable[[], _Buffer], patterns: Sequence[Pattern], deadline: Deadline, most: int | None
) -> _BufferResult:
    """Return the ids of the texts in which all patterns match, or None when there are too many.

    Raises:
        DeadlineExceeded: The time is up.
    """
    deadline.check()
    buffer = make()
    candidates = list(range(len(buffer.ids)))
    few = len(candidates) // 4
    most = len(candidates) if most is None else most
    with_lf = buffer.with_lf() if any(each.reads_crlf_as_lf for each in patterns) else buffer
    for pattern in patterns:
        if pattern.literals:
            with_literal: set[int] = set()
            for literal in pattern.literals:
                with_literal.update(
                    _matching_indexes(literal, buffer, candidates, deadline, few + 1)
                )
            if len(with_literal) <= few:  # else the pattern has as much to search
                candidates = sorted(with_literal)
        searched = with_lf if pattern.reads_crlf_as_lf else buffer
        candidates = _matching_indexes(pattern, searched, candidates, deadline, most + 1)
        if len(candidates) > most:
            return _BufferResult(buffer, None)
    return _BufferResult(buffer, [buffer.ids[index] for index in candidates])


def _matching_indexes(
    pattern: Pattern, buffer: _Buffer, candidates: list[int], deadline: Deadline, most: int
) -> list[int]:
    """Return the indexes of the candidates in which a pattern matches, at most ``most`` of them."""
    check = deadline.check
    starts, data = buffer.starts, buffer.data
    if pattern.has_text_anchors or pattern.is_multiline:
        # One text at a time: in a buffer .* would run on to its end. But a pattern without a match
        # in the buffer has none in its texts.
        if not pattern.has_text_anchors and pattern.search(data, 0, check) is None:
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
) -> PieceMatches:
    """Find the pieces of a text in which all patterns match and no negated one does.

    A match belongs to the piece in which it starts.

    Args:
        text: The whole text; patterns see what is around a piece.
        pieces: In text order, without overlaps.
        patterns: The patterns, negated ones included.
        deadline: When to stop.
        most: Matches of a pattern after which the rest of the text is skipped.

    Raises:
        DeadlineExceeded: The time is up.
    """
    found: dict[int, list[Span]] = {index: [] for index in range(len(pieces))}
    is_whole = True
    for pattern in patterns:
        matches: dict[int, list[Span]] = {}
        in_piece = 1 if pattern.negated else MAX_MATCHES
        walk = matches_in(text, pieces, pattern, deadline, in_piece)
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
    return PieceMatches(found, is_whole)


def matches_in(
    text: bytes, pieces: Sequence[Span], pattern: Pattern, deadline: Deadline, most: int
) -> Iterator[tuple[int, Span]]:
    r"""Yield the matches that start in pieces, at most ``most`` per piece.

    Those of a pattern that takes ``\r\n`` for ``\n`` end before the ``\r`` of their line.
    """
    if pattern.reads_crlf_as_lf and b"\r\n" in text:
        crlf = _CrLf.of(text)
        inside = [(crlf.to_lf(start), crlf.to_lf(end)) for start, end in pieces]
        lf = text.replace(b"\r\n", b"\n")
        for index, (start, end) in _matches_in(lf, inside, pattern, deadline, most):
            yield index, (crlf.from_lf(start), crlf.from_lf(end))
    else:
        yield from _matches_in(text, pieces, pattern, deadline, most)


class _CrLf(NamedTuple):
    r"""Where the places of a text with ``\r\n`` are in the same text with ``\n``, and back."""

    removed: list[int]  # each ``\r`` of the first that the second lacks
    breaks: list[int]  # each ``\n`` of the second that it stood before

    @classmethod
    def of(cls, text: bytes) -> "_CrLf":
        """Find the places of the first text."""
        removed = [each.start() for each in _CRLF.finditer(text)]
        return cls(removed, [at - number for number, at in enumerate(removed)])

    def to_lf(self, at: int) -> int:
        """Return where a place of the first text is in the second."""
        return at - bisect_left(self.removed, at)

    def from_lf(self, at: int) -> int:
        r"""Return where a place of the second text is in the first; of ``\n``, that of ``\r``."""
        return at + bisect_left(self.breaks, at)


def _matches_in(
    text: bytes, pieces: Sequence[Span], pattern: Pattern, deadline: Deadline, most: int
) -> Iterator[tuple[int, Span]]:
    """Yield the matches in the text as it is."""
    starts = [start for start, _ in pieces]
    at, last, count, previous_end = 0, -1, 0, -1
    while span := pattern.search(text, at, deadline.check):
        start, end = span
        index = bisect_right(starts, start) - 1
        # A line can still end after the last character.
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
        else:  # an empty match stands for its line; one is enough
            at = text.find(b"\n", start) + 1 or len(text) + 1
