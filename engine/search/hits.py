"""From candidates to hits: the symbol and snippet of each, and whether its file is fresh.

What a hit shows: the lines of its chunk or of its matches, cut to a budget of tokens.

Says how the scores of hits came about, in numbers that add up.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, NamedTuple

from engine.config import LARGEST_FILE_BYTES
from engine.errors import IndexCorruptError, InvalidPathError
from engine.records import (
    Explanation,
    FileStat,
    Hit,
    MatchSpan,
    SearchRequest,
    WordMatch,
    display_path,
    tokens_of,
)
from engine.search.candidates import Found
from engine.search.lexical import Lexical
from engine.search.rank import Candidate
from engine.source.open_folders import stat_beneath
from engine.source.reader import TreeReader
from engine.store import blobs, chunks, files, fulltext
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import Filters

if TYPE_CHECKING:
    from engine.search.branch_index import Tree

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


class Place(NamedTuple):
    """Where an answer comes from."""

    project: str  # what hits say
    root: str
    is_checked_out: bool  # the branch that is searched is the one on disk
    tree: "Tree | None"  # what is kept of that branch


def hits_of(
    handle: Handle,
    candidates: Sequence[Candidate],
    request: SearchRequest,
    filters: Filters,
    place: Place,
) -> tuple[list[Hit], bool]:
    """Make hits, with snippets inside the token budget; True when something was cut."""
    detailed = candidates[: request.detailed]
    owners = _owners(handle, candidates, filters)
    excerpts = _excerpts(handle, detailed, place, with_snippet=request.context)
    excerpts += [_bare(candidate.chunk) for candidate in candidates[len(detailed) :]]
    fresh = _freshness(handle, detailed, place) if place.is_checked_out and detailed else {}
    budget = request.max_tokens
    is_cut = False
    hits = []
    for number, candidate in enumerate(candidates):
        chunk = candidate.chunk
        excerpt = excerpts[number]
        snippet = excerpt.snippet
        if budget is not None:
            whole = snippet
            snippet, cost = cut_to_tokens(snippet, budget)
            budget -= cost
            is_cut = is_cut or snippet != whole
        owner = candidate.symbol or owners.get(chunk.id)
        hits.append(
            Hit(
                project=place.project,
                path=chunk.path,
                line_start=excerpt.line_start,
                line_end=excerpt.line_end,
                language=chunk.language,
                symbol=owner.qualified_name if owner else None,
                kind=owner.kind if owner else None,
                signature=owner.signature if owner else None,
                score=round(candidate.score, 4),
                why=candidate.breakdown.why,
                fresh=fresh.get(chunk.file_id),
                snippet=snippet,
                matches=excerpt.matches,
                snippet_line=excerpt.snippet_line if snippet else None,
            )
        )
    return hits, is_cut


def _bare(chunk: ChunkFacts) -> Excerpt:
    """Give the lines of a place whose text nobody reads."""
    return Excerpt(chunk.line_start, chunk.line_end, "")


def _excerpts(
    handle: Handle, candidates: Sequence[Candidate], place: Place, *, with_snippet: bool
) -> list[Excerpt]:
    """Give the lines and the code of each candidate."""
    tree = place.tree
    read = candidates if with_snippet else [each for each in candidates if each.spans]
    ends: dict[int, int] = {}  # how much of a text is needed; 0 is all
    for candidate in read:
        blob_id, end = candidate.chunk.blob_id, candidate.chunk.byte_end
        is_whole = bool(candidate.spans) or ends.get(blob_id) == 0
        ends[blob_id] = 0 if is_whole else max(end, ends.get(blob_id, 0))
    if tree:
        texts = {blob_id: tree.text(handle, blob_id) for blob_id in ends}
    else:
        packed = blobs.read_texts(handle, sorted(ends)) if ends else {}
        texts = {blob_id: unpack_text(packed[blob_id], end) for blob_id, end in ends.items()}
    _check_texts(handle, read, texts, place)
    return [
        excerpt_of(
            texts.get(candidate.chunk.blob_id, b""),
            candidate.chunk,
            candidate.spans,
            with_snippet=with_snippet,
        )
        for candidate in candidates
    ]


def _check_texts(
    handle: Handle, shown: Sequence[Candidate], texts: Mapping[int, bytes], place: Place
) -> None:
    """Make sure that what is shown is what was stored, by its hashes (2 µs a place).

    Lines around a match can be those of another chunk, so its whole text is compared.

    Raises:
        IndexCorruptError: It is not.
    """
    hashes = chunks.read_hashes(handle, [each.chunk.id for each in shown])
    whole = {each.chunk.blob_id for each in shown if each.spans}
    of_texts = blobs.read_text_hashes(handle, sorted(whole)) if whole else {}
    for each in shown:
        chunk, text = each.chunk, texts.get(each.chunk.blob_id, b"")
        piece = text[chunk.byte_start : chunk.byte_end]
        is_sound = blake2b(piece, digest_size=16).digest() == hashes.get(chunk.id)
        if is_sound and chunk.blob_id in whole:
            is_sound = sha256(text).digest() == of_texts.get(chunk.blob_id)
        if not is_sound:
            path = display_path(chunk.path)
            raise IndexCorruptError(
                f"the index of {place.project} is damaged: the text of {path} is not"
                " what was stored",
                hint=f"cairn doctor {place.project} --repair",
                path=path,
            )


def _freshness(handle: Handle, candidates: Sequence[Candidate], place: Place) -> dict[int, bool]:
    """Say, for each file of the candidates, whether it is what was indexed."""
    by_id = {candidate.chunk.file_id: candidate.chunk for candidate in candidates}
    if place.tree:
        identities = place.tree.identities(handle, by_id)
    else:
        identities = files.read_identities(handle, list(by_id))
    fresh = {
        file_id: stat_beneath(place.root, by_id[file_id].path) == stat
        for file_id, (stat, _) in identities.items()
    }
    doubtful = [file_id for file_id, is_same in fresh.items() if not is_same]
    if doubtful:
        with ExitStack() as stack:
            reader = _reader_of(place.root, stack)
            for file_id in doubtful:
                fresh[file_id] = _is_fresh(reader, by_id[file_id], identities[file_id])
    return fresh


def _reader_of(root: str, stack: ExitStack) -> TreeReader | None:
    """Open the root to compare with; None when it is gone or closed, and nothing is fresh then."""
    try:
        return stack.enter_context(TreeReader(root))
    except InvalidPathError:
        return None


def _is_fresh(
    reader: TreeReader | None, chunk: ChunkFacts, identity: tuple[FileStat, bytes]
) -> bool:
    """Compare a file with what was indexed: by its stat, and by its hash when that differs."""
    stat, content_hash = identity
    now = reader.stat_of(chunk.path) if reader else None
    if reader is None or now is None:
        return False
    return now == stat or reader.hash_of(chunk.path, LARGEST_FILE_BYTES) == content_hash


def _owners(
    handle: Handle, candidates: Sequence[Candidate], filters: Filters
) -> Mapping[int, SymbolFacts]:
    """Give the symbol that each chunk shows where the question names none in it.

    It is the first that passes the filters on symbols, else the one that the chunk is a part of.
    """
    open_ones = [candidate.chunk for candidate in candidates if candidate.symbol is None]
    passing: dict[int, SymbolFacts] = {}
    if filters.symbol_condition != "TRUE":
        passing = chunks.read_passing_symbols(handle, [c.id for c in open_ones], filters)
    wanted = {chunk.symbol_id for chunk in open_ones if chunk.symbol_id is not None}
    read = chunks.read_symbols(handle, wanted) if wanted else {}
    parts = {
        chunk.id: read[chunk.symbol_id]
        for chunk in open_ones
        if chunk.symbol_id is not None and chunk.symbol_id in read
    }
    return parts | passing


def explained(
    handle: Handle, lexical: Lexical, found: Found, hits: Sequence[Hit], *, most: int | None = None
) -> list[Hit]:
    """Give the hits, made of what was found, each with its explanation.

    Args:
        handle: The read transaction in which all was found.
        lexical: The words of the question.
        found: What answers it.
        hits: Of the candidates that are shown, in their order.
        most: Only the first so many are explained; None: all of them.
    """
    shown = found.shown[:most]
    matches = _word_matches(handle, lexical, shown)
    first = [
        replace(hit, explain=_explanation(candidate, found, matches.get(candidate.chunk.id, ())))
        for hit, candidate in zip(hits, shown, strict=False)
    ]
    return [*first, *hits[len(first) :]]


def _explanation(candidate: Candidate, found: Found, words: tuple[WordMatch, ...]) -> Explanation:
    bm25, cosine = candidate.lexical, candidate.cosine
    return Explanation(
        score=candidate.score,
        shares={part.name: part.value for part in candidate.breakdown.shares},
        factors={part.name: part.value for part in candidate.breakdown.factors},
        bm25=bm25,
        keyword_rank=1 + sum(score > bm25 for score in found.scores) if bm25 else None,
        words=words,
        meaning=cosine,
        file_meaning=candidate.file_cosine,
        meaning_rank=None if cosine is None else 1 + sum(each > cosine for each in found.cosines),
    )


def _word_matches(
    handle: Handle, lexical: Lexical, shown: Sequence[Candidate]
) -> dict[int, tuple[WordMatch, ...]]:
    """Give, for each chunk that is shown, where it has the words that brought chunks in."""
    ids = [candidate.chunk.id for candidate in shown]
    matches: dict[int, list[WordMatch]] = {id_: [] for id_ in ids}
    if not any(candidate.lexical for candidate in shown):
        return {}
    for word in lexical.alternatives:
        chunks = fulltext.count_chunks_with(handle, word)
        columns = fulltext.columns_with(handle, word, ids, chunks)
        for id_, words in matches.items():
            words.append(
                WordMatch(word=word.strip('"'), columns=columns.get(id_, ()), chunks=chunks)
            )
    return {id_: tuple(words) for id_, words in matches.items()}
