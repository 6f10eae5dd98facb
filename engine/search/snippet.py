"""What a hit shows: the lines of its chunk or of its matches, cut to a budget of tokens."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.records import MatchSpan
from engine.store.chunks import ChunkFacts
from engine.syntax.analysis import tokens_of

# A line around the matches, when it is a line that people read.
_CONTEXT_LINES = 1
_LONGEST_CONTEXT = 300  # bytes
# A match farther inside its line is shown without the line's start.
_FAR = 1000  # bytes
_BEFORE_FAR = 200  # bytes
_MOST_BYTES = 4000
_MOST_MATCHES = 100
_CONTINUATION = range(0x80, 0xC0)  # bytes inside a character of UTF-8


class Excerpt(NamedTuple):
    """The lines that a hit is about, and its text."""

    line_start: int
    line_end: int
    snippet: str
    matches: tuple[MatchSpan, ...] = ()
    snippet_line: int | None = None


def excerpt_of(
    text: bytes, chunk: ChunkFacts, spans: Sequence[tuple[int, int]], *, with_snippet: bool
) -> Excerpt:
    """Give what a hit shows.

    Args:
        text: The text, up to the end of the chunk at least; all of it where there are matches.
        chunk: The place.
        spans: The matches of patterns that start in it, in text order; without any, the whole
            chunk is shown, and else the lines from the first to the last match.
        with_snippet: Whether code is wanted, or the lines only.
    """
    if spans:
        matches = _matches_of(text, chunk, spans)
        lines = matches[0].line, max(match.line for match in matches)
        if not with_snippet:
            return Excerpt(*lines, "", matches)
        start, end, above = _around(text, spans)
        snippet = snippet_of(text, start, end)
        return Excerpt(*lines, snippet, matches, lines[0] - above if above else None)
    snippet = snippet_of(text, chunk.byte_start, chunk.byte_end) if with_snippet else ""
    return Excerpt(chunk.line_start, chunk.line_end, snippet)


def _matches_of(
    text: bytes, chunk: ChunkFacts, spans: Sequence[tuple[int, int]]
) -> tuple[MatchSpan, ...]:
    """Turn bytes into lines and characters."""
    matches: list[MatchSpan] = []
    at, line = chunk.byte_start, chunk.line_start
    for start, end in spans:
        line += text.count(b"\n", at, start)
        at = start
        first = line
        while len(matches) < _MOST_MATCHES:
            line_start = text.rfind(b"\n", 0, at) + 1
            line_end = text.find(b"\n", at)
            line_end = len(text) if line_end < 0 else line_end
            readable = text[line_start:line_end].removesuffix(b"\r")
            before, through = (readable[: each - line_start].decode() for each in (at, end))
            matches.append(MatchSpan(line=line, start=len(before), end=len(through)))
            if line_end + 1 >= end:
                break
            at, line = line_end + 1, line + 1
        at, line = start, first
    return tuple(matches)


def _around(text: bytes, spans: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """Give the bytes to show around matches, and how many lines above the first are among them."""
    first, last = spans[0][0], max(spans[-1][0] + 1, *(end for _, end in spans))
    start = text.rfind(b"\n", 0, first) + 1
    above = 0
    if first - start > _FAR:
        start = first - _BEFORE_FAR
        while text[start] in _CONTINUATION:
            start += 1
    else:
        while above < _CONTEXT_LINES and start > 0:
            before = text.rfind(b"\n", 0, start - 1) + 1
            if start - before > _LONGEST_CONTEXT:
                break
            start, above = before, above + 1
    end = text.find(b"\n", last - 1) + 1 or len(text)
    for _ in range(_CONTEXT_LINES):
        after = text.find(b"\n", end) + 1 or len(text)
        if after - end <= _LONGEST_CONTEXT:
            end = after
    if end - start > _MOST_BYTES:
        end = text.rfind(b"\n", first, start + _MOST_BYTES) + 1 or start + _MOST_BYTES
        while end < len(text) and text[end] in _CONTINUATION:
            end -= 1
    return start, end, above


def snippet_of(text: bytes, byte_start: int, byte_end: int) -> str:
    """Give the lines of a span, without the line break at its end."""
    return text[byte_start:byte_end].decode("utf-8", "replace").rstrip("\r\n")


def cut_to_tokens(snippet: str, max_tokens: int) -> tuple[str, int]:
    """Cut a snippet at a line end so that it costs at most so many tokens.

    Returns:
        The piece (may be empty) and what it costs.
    """
    cost = tokens_of(len(snippet.encode()))
    if cost <= max_tokens:
        return snippet, cost
    kept: list[str] = []
    size_bytes = 0
    for line in snippet.split("\n"):
        line_bytes = len(line.encode()) + (1 if kept else 0)
        if tokens_of(size_bytes + line_bytes) > max_tokens:
            break
        kept.append(line)
        size_bytes += line_bytes
    return "\n".join(kept), tokens_of(size_bytes)
