"""Search by pattern: which texts match, where, what is defined there, and how it ranks.

With patterns alone, a place is a chunk in which all patterns match; definitions come first, then
the factors of paths apply, then path and line decide. With words beside them, patterns filter and
the words rank, as without patterns.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

from engine.config import Config
from engine.search.candidates import RankedCandidates, find_candidates
from engine.search.features import Breakdown, Part, factor_part, path_factors, path_worth
from engine.search.grep import (
    MAX_MATCHES,
    Deadline,
    DeadlineExceeded,
    Span,
    matching_texts,
    places_in,
)
from engine.search.lexical import Lexical, excluded_match, holds_phrases, lexical_of
from engine.search.patterns import Pattern
from engine.search.prepared_query import prepare_query
from engine.search.query import Query
from engine.search.rank import Candidate, rank, sort_diversified
from engine.search.weights import (
    DOCUMENT_FACTOR,
    PATTERN_CROWDING,
    PATTERN_DEFINITION_SHARE,
    PATTERN_MATCH_SHARE,
    PATTERN_PLACES_PER_FILE,
    WORD_WEIGHTS,
)
from engine.search_records import Mode, SearchRequest
from engine.store import blobs, chunks
from engine.store.chunks import ChunkFacts, ChunkSpanRow, ShownFile, SymbolFacts, SymbolSpan
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.syntax.languages import DOCUMENT_LANGUAGES

#: More threads would wait for each other, since Python runs one at a time.
MAX_THREADS = 4
#: Files whose matches are ranked; of more, those with the best paths.
MAX_FILES = 200
#: Matches to examine, divided among the files, and the least for each file.
_MAX_TOTAL_MATCHES = 4_000
_MIN_MATCHES_PER_FILE = 20
# Of more texts, this many with the best paths are searched first.
_FIRST_BATCH = 512
#: Chunks with words of the query on which patterns are tried, best first.
MAX_WORD_CHUNKS = 4000
#: Name of the share for the match, the first in the list.
PATTERN = "pattern"
_DECORATORS = (b"@", b"#", b"[")
# Of the time; the rest is for finding the places in the texts that match.
_SCAN_SHARE = 0.9


#: Returns the ids of the texts that may match all of the patterns, or None for all texts.
CandidateTexts = Callable[[Handle, Sequence[Pattern]], list[int] | None]


class SearchTime:
    """The time of a search by patterns over several projects; the first of them begins it.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None

    def left_s(self, seconds: float) -> float:
        """Return the seconds that are left of so many, 0 if none are."""
        now = self._clock()
        if self._began is None:
            self._began = now
        return max(0.0, self._began + seconds - now)


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The time and threads of a pattern search, and what spares it from reading every text."""

    seconds: float  # of the whole search
    left_s: float  # of them, those that are left for this project
    threads: int
    candidate_texts: CandidateTexts | None = None
    #: Returns all texts, best path first; None if the order is unknown.
    ranked_texts: Callable[[], Sequence[int]] | None = None

    @classmethod
    def of(cls, config: Config, search_time: SearchTime) -> "SearchLimits":
        """Return the limits of the settings.

        Args:
            config: The settings.
            search_time: Of the whole search.
        """
        seconds = config.search_timeout / 1000
        threads = min(config.worker_count, MAX_THREADS)
        return cls(seconds, search_time.left_s(seconds), threads)


def find_places(
    handle: Handle,
    query: Query,
    request: SearchRequest,
    patterns: Sequence[Pattern],
    filters: Filters,
    limits: SearchLimits,
) -> RankedCandidates:
    """Find and rank the places that match all patterns of a query and no negated one."""
    if not limits.left_s:
        return RankedCandidates([], [], True, (_unsearched_note(limits.seconds),))
    mode = request.mode
    search = _Search(handle, query, patterns, filters, limits)
    lexical = lexical_of(query)
    has_words = any(not term.negated for term in (*query.words, *query.phrases))
    if has_words and mode is not Mode.SYMBOL and lexical.chunk_match:
        places = search.by_words(lexical)
    elif has_words or all(pattern.negated for pattern in patterns):
        prepared = prepare_query(query, mode, MAX_WORD_CHUNKS)
        places = search.among(find_candidates(handle, prepared, filters))
    else:
        places = search.by_patterns()
    return search.result(places, request.limit)


class _Search:
    """One search: the handle, the query, and the time it may take."""

    def __init__(
        self,
        handle: Handle,
        query: Query,
        patterns: Sequence[Pattern],
        filters: Filters,
        limits: SearchLimits,
    ) -> None:
        self._handle = handle
        self._query = query
        self._patterns = patterns
        self._required = [pattern for pattern in patterns if not pattern.negated]
        # What else a place must have or not have can be behind the first matches of a text, or in
        # none of the first texts.
        self._is_narrowed = len(patterns) > 1 or bool(query.words or query.phrases)
        self._filters = filters
        self._limits = limits
        self._deadline = Deadline(limits.left_s)
        self._scanning = Deadline(_SCAN_SHARE * limits.left_s)
        self._notes: list[str] = []
        self._is_capped = False

    def by_patterns(self) -> list[Candidate]:
        """Find by patterns alone, in further files as long as those before leave no place."""
        candidates: list[Candidate] = []
        files_left = MAX_FILES
        for files, is_last in self._file_batches():
            found = self._without_excluded(self._find_in_files(files))
            candidates += found
            files_left -= len({each.chunk.blob_id for each in found})
            if files_left <= 0 or not self._is_narrowed or self._deadline.is_over():
                self._is_capped = self._is_capped or not is_last
                break
        _rank(candidates)
        return candidates

    def _without_excluded(self, candidates: list[Candidate]) -> list[Candidate]:
        excluded = excluded_match(self._query)
        if not excluded:
            return candidates
        ids = [candidate.chunk.id for candidate in candidates]
        without = chunks.matching(self._handle, excluded, ids)
        return [each for each in candidates if each.chunk.id not in without]

    def by_words(self, lexical: Lexical) -> list[Candidate]:
        """Find by patterns and words; the words rank."""
        matched = chunks.match_chunks(
            self._handle, lexical.chunk_match, self._filters, MAX_WORD_CHUNKS
        )
        scores = {chunk.id: score for chunk, score in matched}
        best = list(dict.fromkeys(chunk.blob_id for chunk, _ in matched))
        is_all = len(matched) < MAX_WORD_CHUNKS
        if self._required:
            candidate_texts = self._candidate_texts(sorted(best) if is_all else None)
            found = set(chain.from_iterable(self._scan([candidate_texts], candidate_texts)))
            if not is_all and len(found) <= MAX_FILES:
                best, scores = sorted(found), {}
                is_all = True
            best = [blob_id for blob_id in best if blob_id in found]
        self._is_capped = self._is_capped or not is_all or len(best) > MAX_FILES
        best = best[:MAX_FILES]
        files = dict(chunks.shown_files(self._handle, best, self._filters))
        if not scores:
            ids = [row.id for blob_id in best for row in self._chunks_of(blob_id)]
            scores = chunks.scores_among(self._handle, lexical.chunk_match, ids)
        candidates = self._find_in_files({blob_id: files[blob_id] for blob_id in best}, scores)
        names = {name.lower() for name in lexical.names}
        shown = {}
        for candidate in candidates:
            candidate.lexical = scores[candidate.chunk.id]
            if candidate.symbol and candidate.symbol.name.lower() not in names:
                shown[candidate.chunk.id] = candidate.symbol
                candidate.symbol = None
        rank(candidates, lexical, WORD_WEIGHTS)
        for candidate in candidates:
            candidate.symbol = candidate.symbol or shown.get(candidate.chunk.id)
        return candidates

    def among(self, known: RankedCandidates) -> list[Candidate]:
        """Keep the candidates that match, in their order."""
        self._is_capped = known.is_capped
        found = known.shown
        by_blob: dict[int, dict[int, ChunkFacts]] = defaultdict(dict)
        for candidate in found:
            by_blob[candidate.chunk.blob_id][candidate.chunk.id] = candidate.chunk
        spans: dict[int, list[Span]] = {}
        for blob_id, of_blob in by_blob.items():
            pieces = sorted(of_blob.values(), key=lambda chunk: chunk.byte_start)
            try:
                text = self._text(blob_id)
                inside, _ = places_in(text, _spans_of(pieces), self._patterns, self._deadline)
            except DeadlineExceeded:
                self._note_timeout(len(spans), len(found))
                break
            spans.update((pieces[index].id, matches) for index, matches in inside.items())
        kept = [candidate for candidate in found if candidate.chunk.id in spans]
        for candidate in kept:
            candidate.spans = spans[candidate.chunk.id]
        return kept

    def result(self, candidates: list[Candidate], limit: int) -> RankedCandidates:
        """Return the best candidates, and the notes on the search."""
        shown = candidates[:limit]
        for candidate in shown:
            shares = candidate.breakdown.shares
            if candidate.spans and (not shares or shares[0].name != PATTERN):
                # Beside words a pattern only filters, and adds nothing.
                passed = Part(PATTERN, 0.0, _match_count(candidate.spans))
                candidate.breakdown = candidate.breakdown._replace(shares=(passed, *shares))
        scores = [candidate.lexical for candidate in candidates]
        return RankedCandidates(shown, scores, self._is_capped, tuple(self._notes))

    def _matching(self) -> Iterator[list[int]]:
        """Yield the texts that match all patterns, those with the best paths first if need be."""
        candidate_texts = self._candidate_texts(None)
        ranked_texts = self._limits.ranked_texts
        if ranked_texts is None or (
            candidate_texts is not None and len(candidate_texts) <= _FIRST_BATCH
        ):
            return self._scan([candidate_texts], candidate_texts)
        chosen = set(ranked_texts()) if candidate_texts is None else set(candidate_texts)
        best_first = [blob_id for blob_id in ranked_texts() if blob_id in chosen]
        return self._scan(_doubling_batches(best_first), best_first)

    def _scan(
        self, batches: Iterable[Sequence[int] | None], texts: Sequence[int] | None
    ) -> Iterator[list[int]]:
        """Yield the texts in which all required patterns match: more than are ranked, or the last.

        Args:
            batches: Texts to search, batch by batch.
            texts: Those of all batches; None for all there are.
        """
        found: list[int] = []
        searched = 0
        for batch in batches:
            with closing(chunks.read_packed(self._handle, self._filters, batch)) as rows:
                scan = matching_texts(rows, self._required, self._scanning, self._limits.threads)
            found += scan.blob_ids
            searched += scan.bytes_searched
            if not scan.is_complete:
                self._is_capped = True
                size = chunks.count_bytes(self._handle, self._filters, texts)
                self._notes.append(_stopped_note(self._limits.seconds, searched, size))
                break
            if len(found) > MAX_FILES:
                yield found
                found = []
        yield found

    def _candidate_texts(self, among: Sequence[int] | None) -> Sequence[int] | None:
        """Return those of the given texts that may match; None for all texts."""
        find = self._limits.candidate_texts
        candidate_texts = find(self._handle, self._required) if find else None
        if candidate_texts is None or among is None:
            return among if candidate_texts is None else candidate_texts
        return sorted({*candidate_texts}.intersection(among))

    def _file_batches(self) -> Iterator[tuple[Mapping[int, ShownFile], bool]]:
        """Yield files that show the texts that match, best path first, and whether none is left."""
        for blob_ids in self._matching():
            is_whole = len(blob_ids) <= MAX_FILES  # the last texts
            files = self._best_files(blob_ids)
            for at in range(0, len(files), MAX_FILES):
                yield dict(files[at : at + MAX_FILES]), is_whole

    def _best_files(self, blob_ids: Sequence[int]) -> list[tuple[int, ShownFile]]:
        """Return the files that show the texts, best path first; all that can be needed."""
        by_factor: dict[float, list[tuple[int, ShownFile]]] = defaultdict(list)
        for blob_id, file in chunks.shown_files(self._handle, blob_ids, self._filters):
            factor = path_worth(file.path, is_generated=file.is_generated)
            by_factor[factor].append((blob_id, file))
            # No factor is larger.
            if len(by_factor[1.0]) == MAX_FILES and not self._is_narrowed:
                break
        return [item for factor in sorted(by_factor, reverse=True) for item in by_factor[factor]]

    def _find_in_files(
        self, files: Mapping[int, ShownFile], among: Container[int] | None = None
    ) -> list[Candidate]:
        """Find the places in the texts that these files show.

        Args:
            files: By the blobs of the texts.
            among: The chunks that count; None for all.
        """
        candidates: list[Candidate] = []
        most = max(_MIN_MATCHES_PER_FILE, _MAX_TOTAL_MATCHES // max(1, len(files)))
        for number, (blob_id, file) in enumerate(files.items()):
            rows = self._chunks_of(blob_id)
            if among is not None:
                rows = [row for row in rows if row.id in among]
            try:
                candidates += self._find_in_text(
                    blob_id, file, rows, None if self._is_narrowed else most
                )
            except DeadlineExceeded:
                self._note_timeout(number, len(files))
                break
        return candidates

    def _chunks_of(self, blob_id: int) -> list[ChunkSpanRow]:
        return chunks.chunks_of_blob(self._handle, blob_id, self._filters)

    def _find_in_text(
        self, blob_id: int, file: ShownFile, rows: Sequence[ChunkSpanRow], most: int | None
    ) -> list[Candidate]:
        text = self._text(blob_id)
        places, is_whole = places_in(
            text, _spans_of(rows), self._patterns, self._deadline, most=most
        )
        self._is_capped = self._is_capped or not is_whole
        if self._query.phrases:
            places = {
                index: spans
                for index, spans in places.items()
                if holds_phrases(_piece_of(text, rows[index]), self._query)
            }
        ids = [rows[index].id for index in places]
        symbols = chunks.symbols_of_chunks(self._handle, ids, self._filters) if ids else {}
        candidates = []
        for index, spans in places.items():
            row = rows[index]
            symbol, is_defined = _symbol_of(text, spans, row, symbols.get(row.id, ()))
            candidates.append(
                Candidate(
                    chunk=ChunkFacts(
                        row.id,
                        blob_id,
                        file.file_id,
                        file.path,
                        file.language,
                        file.is_generated,
                        row.byte_start,
                        row.byte_end,
                        row.line_start,
                        row.line_end,
                        row.symbol_id,
                    ),
                    symbol=symbol,
                    spans=spans,
                    is_defined=is_defined,
                )
            )
        return candidates

    def _text(self, blob_id: int) -> bytes:
        packed = blobs.read_text(self._handle, blob_id)
        return unpack_text(packed) if packed else b""

    def _note_timeout(self, done: int, total: int) -> None:
        self._is_capped = True
        self._notes.append(
            f"stopped after {self._limits.seconds:g} s: ranked {done:,} of {total:,} matching files"
        )


def _doubling_batches(texts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut texts into batches, each as large as all before it."""
    at, size = 0, _FIRST_BATCH
    while at < len(texts):
        yield texts[at : at + size]
        at, size = at + size, at + size


def _stopped_note(seconds: float, searched: int, size: int) -> str:
    done, total = f"{searched / 1e6:,.0f}", f"{size / 1e6:,.0f}"
    return (
        f"stopped after {seconds:g} s: searched {done} of {total} MB; narrow the query with path:"
        " or lang:, or raise search_timeout"
    )


def _unsearched_note(seconds: float) -> str:
    return (
        f"not searched, as the search had taken {seconds:g} s by then; narrow the query with"
        " project:, path: or lang:, or raise search_timeout"
    )


def _spans_of(pieces: Iterable[ChunkFacts | ChunkSpanRow]) -> list[Span]:
    return [(piece.byte_start, piece.byte_end) for piece in pieces]


def _piece_of(text: bytes, row: ChunkSpanRow) -> str:
    return text[row.byte_start : row.byte_end].decode("utf-8", "replace")


def _symbol_of(
    text: bytes, spans: Sequence[Span], chunk: ChunkSpanRow, symbols: Sequence[SymbolSpan]
) -> tuple[SymbolFacts | None, bool]:
    """Return the symbol that a match defines, else the innermost around the first match.

    Returns:
        The symbol, and whether a match is on the line that defines it.
    """
    if not spans:
        return None, False
    around = None
    for symbol in symbols:
        line = _defining_line(text, symbol) if symbol.byte_start >= chunk.byte_start else None
        if line and any(start < line[1] and end > line[0] for start, end in spans):
            return symbol.facts, True
        if symbol.byte_start <= spans[0][0] < symbol.byte_end:
            around = symbol.facts
    return around, False


def _defining_line(text: bytes, symbol: SymbolSpan) -> Span | None:
    """Return the first line of a definition that has its name and is not a decorator."""
    name = symbol.facts.name.encode()
    at = symbol.byte_start
    while (at := text.find(name, at, symbol.byte_end)) >= 0:
        start = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at) + 1 or len(text)
        if not text[start:end].lstrip().startswith(_DECORATORS):
            return start, end
        at = end
    return None


def _match_count(spans: Sequence[Span]) -> str:
    return f"pattern ×{len(spans)}" + (" or more" if len(spans) >= MAX_MATCHES else "")


def _rank(candidates: list[Candidate]) -> None:
    """Score places of patterns alone, and sort them: best first, then by path and line."""
    for candidate in candidates:
        chunk = candidate.chunk
        shares = [Part(PATTERN, PATTERN_MATCH_SHARE, _match_count(candidate.spans))]
        if candidate.is_defined and candidate.symbol:
            why = f"defines {candidate.symbol.name}"
            shares.append(Part("definition", PATTERN_DEFINITION_SHARE, why))
        factors = path_factors(chunk.path, is_generated=bool(chunk.is_generated))
        if chunk.language in DOCUMENT_LANGUAGES:
            factors = (*factors, factor_part("document", DOCUMENT_FACTOR))
        candidate.breakdown = Breakdown(tuple(shares), factors)
        candidate.score = candidate.breakdown.score
    sort_diversified(
        candidates, lambda before: PATTERN_CROWDING ** (before // PATTERN_PLACES_PER_FILE)
    )
