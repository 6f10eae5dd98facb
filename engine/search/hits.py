"""Make hits of candidates: symbols, snippets, freshness and explanations.

A hit shows the lines of its chunk or of its matches. Its file is fresh when it is still as indexed.
An explanation has the numbers of a score, which add up to it.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import IndexCorruptError
from engine.record_class import replaced
from engine.records import display_path
from engine.search.branches import Branches, standing_of
from engine.search.candidates import RankedCandidates
from engine.search.freshness import freshness_of
from engine.search.lexical import Lexical
from engine.search.naming import answering_symbols, summary_of
from engine.search.rank import Candidate
from engine.search_records import Explanation, Hit, MatchSpan, SearchRequest, WordMatch
from engine.store import blobs, chunks, files, fulltext, symbols
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import Filters

if TYPE_CHECKING:
    from engine.search.branch_index import BranchIndex

# Lines around the matches, unless they are too long to read.
_CONTEXT_LINES = 1
_MAX_CONTEXT_BYTES = 300
# Bytes before a match in its line; of more, only the last are shown.
_MAX_LINE_PREFIX = 1000
_SHOWN_PREFIX = 200
_MAX_SNIPPET_BYTES = 4000
_MAX_MATCHES = 100
_CONTINUATION = range(0x80, 0xC0)  # bytes of UTF-8 that start no character
_MAX_LINE_CHARS = 120  # of a match, beside its place


class Excerpt(NamedTuple):
    """The lines of a hit, and its snippet."""

    line_start: int
    line_end: int
    snippet: str
    matches: tuple[MatchSpan, ...] = ()
    snippet_line: int | None = None
    matching_line: str | None = None  # the first one, of a pattern


def excerpt_of(
    text: bytes,
    chunk: ChunkFacts,
    spans: Sequence[tuple[int, int]],
    *,
    with_snippet: bool,
    from_line: int | None = None,
) -> Excerpt:
    """Return what a hit shows.

    Args:
        text: The text, at least up to the end of the chunk; all of it if there are matches.
        chunk: The chunk.
        spans: The pattern matches that start in it, in text order. The lines from the first to the
            last match are shown, or without any the whole chunk.
        with_snippet: Whether to include the code, or the lines only.
        from_line: Of the definition that answers: code before it, apart from lines that are joined
            to it, is left out of the snippet. None for all code of the chunk.
    """
    if spans:
        matches = _matches_of(text, chunk, spans)
        lines = matches[0].line, max(match.line for match in matches)
        matching = _line_at(text, spans[0][0])
        if not with_snippet:
            return Excerpt(*lines, "", matches, matching_line=matching)
        start, end, above = _snippet_range(text, spans)
        snippet = snippet_of(text, start, end)
        return Excerpt(*lines, snippet, matches, lines[0] - above if above else None, matching)
    if not with_snippet:
        return Excerpt(chunk.line_start, chunk.line_end, "")
    snippet = snippet_of(text, chunk.byte_start, chunk.byte_end)
    if from_line is None:
        return Excerpt(chunk.line_start, chunk.line_end, snippet)
    code = snippet.split("\n")
    above = from_line - chunk.line_start
    while above > 0 and code[above - 1].strip():
        above -= 1
    first = chunk.line_start + above if above else None
    return Excerpt(chunk.line_start, chunk.line_end, "\n".join(code[above:]), snippet_line=first)


def _line_at(text: bytes, offset: int) -> str:
    """Return the line of an offset without indentation; of a long one the part behind it."""
    start = max(text.rfind(b"\n", 0, offset) + 1, offset - _MAX_LINE_CHARS // 2)
    line = text[start : min(_line_end(text, offset), start + 4 * _MAX_LINE_CHARS)]
    return line.decode("utf-8", "replace").strip()[:_MAX_LINE_CHARS]


def _matches_of(
    text: bytes, chunk: ChunkFacts, spans: Sequence[tuple[int, int]]
) -> tuple[MatchSpan, ...]:
    """Turn byte spans, in text order, into lines and characters; a long line is read once."""
    matches: list[MatchSpan] = []
    at, line = chunk.byte_start, chunk.line_start
    line_end, column = -1, 0  # of the line of the match before, and the characters up to ``at``
    for start, end in spans:
        if start > line_end:
            line += text.count(b"\n", at, start)
            at, column = text.rfind(b"\n", 0, start) + 1, 0
            line_end = _line_end(text, start)
        column += _characters(text, at, start, line_end)
        at = start
        piece, piece_line, piece_end, before = start, line, line_end, column
        while len(matches) < _MAX_MATCHES:
            through = before + _characters(text, piece, end, piece_end)
            matches.append(MatchSpan(line=piece_line, start=before, end=through))
            if piece_end + 1 >= end:
                break
            piece, piece_line, before = piece_end + 1, piece_line + 1, 0
            piece_end = _line_end(text, piece)
    return tuple(matches)


def _line_end(text: bytes, at: int) -> int:
    """Return where the line break of a line is."""
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)


def _characters(text: bytes, start: int, end: int, line_end: int) -> int:
    """Count the characters of a part of a line, without its line break."""
    if end >= line_end and text[line_end - 1 : line_end] == b"\r":
        line_end -= 1
    return len(text[start : min(end, line_end)].decode())


def _snippet_range(text: bytes, spans: Sequence[tuple[int, int]]) -> tuple[int, int, int]:
    """Return the bytes to show around matches, and how many lines above the first they include."""
    first, last = spans[0][0], max(spans[-1][0] + 1, *(end for _, end in spans))
    start = text.rfind(b"\n", 0, first) + 1
    above = 0
    if first - start > _MAX_LINE_PREFIX:
        start = first - _SHOWN_PREFIX
        while text[start] in _CONTINUATION:
            start += 1
    else:
        while above < _CONTEXT_LINES and start > 0:
            before = text.rfind(b"\n", 0, start - 1) + 1
            if start - before > _MAX_CONTEXT_BYTES:
                break
            start, above = before, above + 1
    end = text.find(b"\n", last - 1) + 1 or len(text)
    for _ in range(_CONTEXT_LINES):
        after = text.find(b"\n", end) + 1 or len(text)
        if after - end <= _MAX_CONTEXT_BYTES:
            end = after
    if end - start > _MAX_SNIPPET_BYTES:
        end = text.rfind(b"\n", first, start + _MAX_SNIPPET_BYTES) + 1 or start + _MAX_SNIPPET_BYTES
        while end < len(text) and text[end] in _CONTINUATION:
            end -= 1
    return start, end, above


def snippet_of(text: bytes, byte_start: int, byte_end: int) -> str:
    """Return the lines of a span, without the line break at its end."""
    return text[byte_start:byte_end].decode("utf-8", "replace").rstrip("\r\n")


class AnswerContext(NamedTuple):
    """The project and the branches that an answer comes from."""

    project: str  # its name in hits
    root: str
    branches: Branches
    checked_out: str  # the branch on disk
    branch_index: "BranchIndex | None"  # the searched branch, if it is one that is cached
    words: Sequence[str] = ()  # of a query by which they are ranked


def hits_of(
    handle: Handle,
    candidates: Sequence[Candidate],
    request: SearchRequest,
    filters: Filters,
    context: AnswerContext,
    confidences: Sequence[float] = (),
) -> tuple[list[Hit], Sequence[int]]:
    """Return hits, and the numbers of those with snippets and all other details.

    Args:
        handle: The read transaction in which the candidates were found.
        candidates: Those that are shown, in their order.
        request: The request, which chooses the hits with details.
        filters: Of the request.
        context: Where they come from.
        confidences: Of the candidates, in their order; empty if they are not ranked.
    """
    maker = _HitMaker(handle, candidates, request, filters, context, confidences)
    everyone = range(len(candidates))
    if request.choose is None:
        detailed: Sequence[int] = everyone[: request.detailed]
        return [*maker.detailed(detailed), *maker.bare(everyone[len(detailed) :])], detailed
    hits = maker.bare(everyone)
    detailed = sorted(request.choose(hits))
    for number, hit in zip(detailed, maker.detailed(detailed), strict=True):
        hits[number] = hit
    return hits, detailed


class _HitMaker:
    """Makes hits of candidates, given by their numbers; parameters as of ``hits_of``."""

    def __init__(
        self,
        handle: Handle,
        candidates: Sequence[Candidate],
        request: SearchRequest,
        filters: Filters,
        context: AnswerContext,
        confidences: Sequence[float],
    ) -> None:
        self._handle, self._candidates, self._request = handle, candidates, request
        self._context, self._confidences, self._filters = context, confidences, filters
        owners = _enclosing_symbols(handle, candidates, filters)
        cached = context.branch_index
        known = cached.branches_of_chunks if cached else {}
        self._standing = standing_of(
            handle, candidates, context.branches, context.checked_out, known
        )
        self._shown = [
            candidate.symbol
            or (None if candidate.is_outside else candidate.owner or owners.get(candidate.chunk.id))
            for candidate in candidates
        ]

    def bare(self, numbers: Sequence[int]) -> list[Hit]:
        """Return hits without details."""
        return [
            self._hit(number, _without_text(self._candidates[number].chunk)) for number in numbers
        ]

    def detailed(self, numbers: Sequence[int]) -> list[Hit]:
        """Return hits with snippets and freshness, and with summaries if they are requested."""
        request, handle, context = self._request, self._handle, self._context
        wanted = [self._candidates[number] for number in numbers]
        begins = self._name_what_answers(numbers)
        excerpts = _excerpts(handle, wanted, context, begins, with_snippet=request.context)
        on_disk = [
            self._candidates[number] for number in numbers if self._standing[number].is_checked_out
        ]
        fresh = _freshness(handle, on_disk, context) if on_disk else {}
        summaries: Sequence[str | None] = [None] * len(numbers)
        if request.summaries:
            owners = [self._shown[number] for number in numbers]
            docs = symbols.read_docs(handle, [owner.id for owner in owners if owner])
            summaries = [
                excerpt.matching_line
                or (summary_of(docs.get(owner.id, ""), owner) if owner else None)
                for excerpt, owner in zip(excerpts, owners, strict=True)
            ]
        of_blobs = {candidate.chunk.blob_id for candidate in wanted} if request.hashes else None
        hashes = blobs.read_content_hashes(handle, of_blobs) if of_blobs else {}
        return [
            self._hit(
                number,
                excerpt,
                fresh.get(candidate.chunk.file_id),
                summary,
                hashes.get(candidate.chunk.blob_id),
            )
            for number, candidate, excerpt, summary in zip(
                numbers, wanted, excerpts, summaries, strict=True
            )
        ]

    def _name_what_answers(self, numbers: Sequence[int]) -> Mapping[int, int]:
        """Of chunks that define several symbols, show the one that the query is about.

        Returns:
            The lines at which those begin that are not the first of their chunks, by chunk.
        """
        owned = [
            (self._candidates[number], owner)
            for number in numbers
            if (owner := self._shown[number])
        ]
        chosen = answering_symbols(self._handle, owned, self._context.words, self._filters)
        for number in numbers if chosen else ():
            chunk_id = self._candidates[number].chunk.id
            self._shown[number] = chosen.get(chunk_id, self._shown[number])
        return {chunk_id: symbol.line_start for chunk_id, symbol in chosen.items()}

    def _hit(
        self,
        number: int,
        excerpt: Excerpt,
        fresh: bool | None = None,
        summary: str | None = None,
        content_hash: bytes | None = None,
    ) -> Hit:
        candidate, owner = self._candidates[number], self._shown[number]
        return Hit(
            project=self._context.project,
            path=candidate.chunk.path,
            line_start=excerpt.line_start,
            line_end=excerpt.line_end,
            language=candidate.chunk.language,
            symbol=owner.qualified_name if owner else None,
            kind=owner.kind if owner else None,
            signature=owner.signature if owner else None,
            score=round(candidate.score, 4),
            why=candidate.breakdown.why,
            fresh=fresh,
            branches=self._standing[number].names,
            snippet=excerpt.snippet,
            matches=excerpt.matches,
            snippet_line=excerpt.snippet_line if excerpt.snippet else None,
            confidence=self._confidences[number] if self._confidences else None,
            summary=summary,
            sha256=content_hash.hex() if content_hash else None,
        )


def _without_text(chunk: ChunkFacts) -> Excerpt:
    """Return the lines of a chunk without its code."""
    return Excerpt(chunk.line_start, chunk.line_end, "")


def _excerpts(
    handle: Handle,
    candidates: Sequence[Candidate],
    context: AnswerContext,
    begins: Mapping[int, int],
    *,
    with_snippet: bool,
) -> list[Excerpt]:
    """Return the excerpt of each candidate; code may begin at a line of its chunk."""
    branch_index = context.branch_index
    read = candidates if with_snippet else [each for each in candidates if each.spans]
    ends: dict[int, int] = {}  # how much of each text is needed; 0 is all
    for candidate in read:
        blob_id, end = candidate.chunk.blob_id, candidate.chunk.byte_end
        is_whole = bool(candidate.spans) or ends.get(blob_id) == 0
        ends[blob_id] = 0 if is_whole else max(end, ends.get(blob_id, 0))
    if branch_index:
        texts = {blob_id: branch_index.text(handle, blob_id) for blob_id in ends}
    else:
        packed = blobs.read_texts(handle, sorted(ends)) if ends else {}
        texts = {blob_id: unpack_text(packed[blob_id], end) for blob_id, end in ends.items()}
    _check_texts(handle, read, texts, context)
    return [
        excerpt_of(
            texts.get(candidate.chunk.blob_id, b""),
            candidate.chunk,
            candidate.spans,
            with_snippet=with_snippet,
            from_line=begins.get(candidate.chunk.id),
        )
        for candidate in candidates
    ]


def _check_texts(
    handle: Handle, shown: Sequence[Candidate], texts: Mapping[int, bytes], context: AnswerContext
) -> None:
    """Verify by hashes that the texts shown are as stored (2 µs per candidate).

    Lines around a match may belong to another chunk, so there the whole text is verified.

    Raises:
        IndexCorruptError: A text does not match its hash.
    """
    hashes = chunks.read_hashes(handle, [each.chunk.id for each in shown])
    whole = {each.chunk.blob_id for each in shown if each.spans}
    of_texts = blobs.read_text_hashes(handle, sorted(whole)) if whole else {}
    for each in shown:
        chunk, text = each.chunk, texts.get(each.chunk.blob_id, b"")
        piece = text[chunk.byte_start : chunk.byte_end]
        is_intact = blake2b(piece, digest_size=16).digest() == hashes.get(chunk.id)
        if is_intact and chunk.blob_id in whole:
            is_intact = sha256(text).digest() == of_texts.get(chunk.blob_id)
        if not is_intact:
            path = display_path(chunk.path)
            raise IndexCorruptError(
                f"the index of {context.project} is damaged: the text of {path} does not"
                " match its hash",
                hint=f"cairn doctor {context.project} --repair",
                path=path,
            )


def _freshness(
    handle: Handle, candidates: Sequence[Candidate], context: AnswerContext
) -> dict[int, bool]:
    """Return, for each file of the candidates, whether it is still as indexed."""
    by_id = {candidate.chunk.file_id: candidate.chunk for candidate in candidates}
    if context.branch_index:
        identities = context.branch_index.identities(handle, by_id)
    else:
        identities = files.read_identities(handle, list(by_id))
    indexed = {file_id: (by_id[file_id].path, known) for file_id, known in identities.items()}
    return freshness_of(context.root, indexed)


def _enclosing_symbols(
    handle: Handle, candidates: Sequence[Candidate], filters: Filters
) -> Mapping[int, SymbolFacts]:
    """Return the symbol to show for each chunk in which the query names none.

    It is the first symbol that passes the filters on symbols, else the one around the chunk.
    """
    open_ones = [each.chunk for each in candidates if not (each.symbol or each.owner)]
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


def with_explanations(
    handle: Handle,
    lexical: Lexical,
    found: RankedCandidates,
    hits: Sequence[Hit],
    numbers: Sequence[int],
    branch_index: "BranchIndex | None" = None,
) -> list[Hit]:
    """Return the hits, some of them with their explanations.

    Args:
        handle: The read transaction in which the candidates were found.
        lexical: The words of the query.
        found: The candidates.
        hits: Of the candidates that are shown, in their order.
        numbers: Of the hits to explain.
        branch_index: The searched branch, if it is cached.
    """
    shown = [found.shown[number] for number in numbers]
    matches = _word_matches(handle, lexical, shown, branch_index)
    scores, cosines = sorted(found.scores), sorted(found.cosines)
    explained = list(hits)
    for number, candidate in zip(numbers, shown, strict=True):
        words = matches.get(candidate.chunk.id, ())
        explanation = _explanation(candidate, scores, cosines, words)
        explained[number] = replaced(hits[number], explain=explanation)
    return explained


def _explanation(
    candidate: Candidate,
    scores: Sequence[float],
    cosines: Sequence[float],
    words: tuple[WordMatch, ...],
) -> Explanation:
    """Return the numbers of a score, with its places among all scores and cosines, which rise."""
    bm25, cosine = candidate.lexical, candidate.cosine
    return Explanation(
        score=candidate.score,
        shares={part.name: part.value for part in candidate.breakdown.shares},
        factors={part.name: part.value for part in candidate.breakdown.factors},
        bm25=bm25,
        keyword_rank=_rank_of(bm25, scores) if bm25 else None,
        words=words,
        meaning=cosine,
        file_meaning=candidate.file_cosine,
        meaning_rank=None if cosine is None else _rank_of(cosine, cosines),
    )


def _rank_of(value: float, rising: Sequence[float]) -> int:
    return 1 + len(rising) - bisect_right(rising, value)


def _word_matches(
    handle: Handle,
    lexical: Lexical,
    shown: Sequence[Candidate],
    branch_index: "BranchIndex | None",
) -> dict[int, tuple[WordMatch, ...]]:
    """Return, for each chunk shown, where the words of the query occur in it."""
    ids = [candidate.chunk.id for candidate in shown]
    matches: dict[int, list[WordMatch]] = {id_: [] for id_ in ids}
    if not any(candidate.lexical for candidate in shown):
        return {}
    for word in lexical.alternatives:
        chunks = (branch_index or fulltext).count_chunks_with(handle, word)
        columns = (
            branch_index.columns_with(handle, word, ids)
            if branch_index
            else fulltext.columns_with(handle, word, ids, chunks)
        )
        for id_, words in matches.items():
            words.append(
                WordMatch(word=word.strip('"'), columns=columns.get(id_, ()), chunks=chunks)
            )
    return {id_: tuple(words) for id_, words in matches.items()}
