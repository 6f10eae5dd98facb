"""From patterns to ranked places: which texts match, where, what is defined there, what counts.

Patterns alone: a place is a chunk in which each pattern matches; definitions come first, then the
rules of ``pathrules``, then path and line. With words beside them, patterns filter and the words
rank, as without patterns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from engine.config import Config
from engine.records import Mode, SearchRequest
from engine.search.candidates import Found, find_candidates
from engine.search.features import (
    DOCUMENT_FACTOR,
    Breakdown,
    Part,
    lowered,
    path_factors,
    path_worth,
)
from engine.search.grep import (
    MOST_MATCHES,
    Deadline,
    OutOfTime,
    Span,
    matching_texts,
    places_in,
)
from engine.search.lexical import Lexical, holds_phrases, lexical_of, refused_match
from engine.search.patterns import Pattern
from engine.search.query import Query
from engine.search.question import question_of
from engine.search.rank import Candidate, rank, sort_spread
from engine.search.weights import BY_WORDS
from engine.store import blobs, chunks
from engine.store.chunks import ChunkFacts, ChunkSpanRow, ShownFile, SymbolFacts, SymbolSpan
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.syntax.languages import DOCUMENT_LANGUAGES

#: More threads than this wait for each other, Python running one at a time.
MOST_THREADS = 4
#: Files whose matches are ranked; of more, those with the best paths are.
MOST_FILES = 200
#: Matches that are looked at, shared out over the files, each of which gets so many at least.
_MOST_MATCHES = 4_000
_LEAST_MATCHES = 20
# Texts that are searched whatever their paths are worth; of more, so many first.
_MOST_AT_ONCE = 512
#: Chunks with words of the question that patterns are tried on, best first, when there are more.
MOST_WORD_CHUNKS = 4000
#: The share that stands for the match, and leads the list.
PATTERN = "pattern"
#: Matching where something is defined counts 1, elsewhere less.
USE_SHARE = 0.5
#: Of each file, so many places count in full; so many after them by this factor, and so on.
PLACES_A_FILE = 3
CROWDING = 0.5
_DECORATORS = (b"@", b"#", b"[")
# The rest is for looking into the texts that match.
_SCAN_SHARE = 0.9


#: Gives the ids of the texts that each of some patterns may match; None is all texts.
Passing = Callable[[Handle, Sequence[Pattern]], list[int] | None]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a search by pattern may take, and what spares it a look into each text."""

    seconds: float
    threads: int
    passing: Passing | None = None
    #: All texts that may be searched, best path first; None when that is not known.
    ranked: Callable[[], Sequence[int]] | None = None

    @classmethod
    def of(cls, config: Config) -> "Effort":
        """Return what the settings allow."""
        return cls(config.search_timeout / 1000, min(config.worker_count, MOST_THREADS))


def find_places(
    handle: Handle,
    query: Query,
    request: SearchRequest,
    patterns: Sequence[Pattern],
    filters: Filters,
    effort: Effort,
) -> Found:
    """Find and rank the places that match each pattern of a query and no negated one."""
    mode = request.mode
    search = _Search(handle, query, patterns, filters, effort)
    lexical = lexical_of(query)
    has_words = any(not term.negated for term in (*query.words, *query.phrases))
    if has_words and mode is not Mode.SYMBOL and lexical.chunk_match:
        places = search.by_words(lexical)
    elif has_words or all(pattern.negated for pattern in patterns):
        question = question_of(query, mode, MOST_WORD_CHUNKS)
        places = search.among(find_candidates(handle, question, filters))
    else:
        places = search.by_patterns()
    return search.found(places, request.limit)


class _Search:
    """One search: the handle, what is asked, and the time it may take."""

    def __init__(
        self,
        handle: Handle,
        query: Query,
        patterns: Sequence[Pattern],
        filters: Filters,
        effort: Effort,
    ) -> None:
        self._handle = handle
        self._query = query
        self._patterns = patterns
        self._wanted = [pattern for pattern in patterns if not pattern.negated]
        self._filters = filters
        self._effort = effort
        self._deadline = Deadline(effort.seconds)
        self._scanning = Deadline(_SCAN_SHARE * effort.seconds)
        self._notes: list[str] = []
        self._is_capped = False

    def by_patterns(self) -> list[Candidate]:
        """Find by patterns alone."""
        candidates = self._look_into(self._best_files(self._matching()))
        refused = refused_match(self._query)
        if refused:
            ids = [candidate.chunk.id for candidate in candidates]
            without = chunks.matching(self._handle, refused, ids)
            candidates = [each for each in candidates if each.chunk.id not in without]
        _rank(candidates)
        return candidates

    def by_words(self, lexical: Lexical) -> list[Candidate]:
        """Find by patterns and words; the words rank."""
        matched = chunks.match_chunks(
            self._handle, lexical.chunk_match, self._filters, MOST_WORD_CHUNKS
        )
        scores = {chunk.id: score for chunk, score in matched}
        best = list(dict.fromkeys(chunk.blob_id for chunk, _ in matched))
        is_all = len(matched) < MOST_WORD_CHUNKS
        if self._wanted:
            passing = self._passing(sorted(best) if is_all else None)
            found = set(self._scan([passing], passing))
            if not is_all and len(found) <= MOST_FILES:
                best, scores = sorted(found), {}
                is_all = True
            best = [blob_id for blob_id in best if blob_id in found]
        self._is_capped = self._is_capped or not is_all or len(best) > MOST_FILES
        best = best[:MOST_FILES]
        files = dict(chunks.shown_files(self._handle, best, self._filters))
        candidates = self._look_into({blob_id: files[blob_id] for blob_id in best})
        if not scores:
            ids = [candidate.chunk.id for candidate in candidates]
            scores = chunks.scores_among(self._handle, lexical.chunk_match, ids)
        candidates = [each for each in candidates if each.chunk.id in scores]
        names = {name.lower() for name in lexical.names}
        shown = {}
        for candidate in candidates:
            candidate.lexical = scores[candidate.chunk.id]
            if candidate.symbol and candidate.symbol.name.lower() not in names:
                shown[candidate.chunk.id] = candidate.symbol
                candidate.symbol = None
        rank(candidates, lexical, BY_WORDS)
        for candidate in candidates:
            candidate.symbol = candidate.symbol or shown.get(candidate.chunk.id)
        return candidates

    def among(self, known: Found) -> list[Candidate]:
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
            except OutOfTime:
                self._stop_looking(len(spans), len(found))
                break
            spans.update((pieces[index].id, matches) for index, matches in inside.items())
        kept = [candidate for candidate in found if candidate.chunk.id in spans]
        for candidate in kept:
            candidate.spans = spans[candidate.chunk.id]
        return kept

    def found(self, candidates: list[Candidate], limit: int) -> Found:
        """Give the best of the places, and what is to be known of the search."""
        shown = candidates[:limit]
        for candidate in shown:
            shares = candidate.breakdown.shares
            if candidate.spans and (not shares or shares[0].name != PATTERN):
                # Beside words a pattern lets a place pass, and adds nothing.
                passed = Part(PATTERN, 0.0, _counted(candidate.spans))
                candidate.breakdown = candidate.breakdown._replace(shares=(passed, *shares))
        scores = [candidate.lexical for candidate in candidates]
        return Found(shown, scores, self._is_capped, tuple(self._notes))

    def _matching(self) -> list[int]:
        """Give the texts in which each pattern matches: all, or enough of those with best paths."""
        passing = self._passing(None)
        ranked = self._effort.ranked
        if ranked is None or (passing is not None and len(passing) <= _MOST_AT_ONCE):
            return self._scan([passing], passing)
        chosen = set(ranked()) if passing is None else set(passing)
        best_first = [blob_id for blob_id in ranked() if blob_id in chosen]
        return self._scan(_growing(best_first), best_first)

    def _scan(
        self, batches: Iterable[Sequence[int] | None], texts: Sequence[int] | None
    ) -> list[int]:
        """Give the texts in which each wanted pattern matches.

        Args:
            batches: Texts to search, batch by batch, until more match than are ranked.
            texts: Those of all batches; None is all there are.
        """
        found: list[int] = []
        searched = 0
        for batch in batches:
            with closing(chunks.read_packed(self._handle, self._filters, batch)) as rows:
                scan = matching_texts(rows, self._wanted, self._scanning, self._effort.threads)
            found += scan.blob_ids
            searched += scan.bytes_searched
            if not scan.is_complete:
                self._is_capped = True
                size = chunks.count_bytes(self._handle, self._filters, texts)
                self._notes.append(_stopped_note(self._effort.seconds, searched, size))
            if not scan.is_complete or len(found) > MOST_FILES:
                break
        return found

    def _passing(self, among: Sequence[int] | None) -> Sequence[int] | None:
        """Give those of some texts that are worth a look; None is all texts."""
        find = self._effort.passing
        passing = find(self._handle, self._wanted) if find else None
        if passing is None or among is None:
            return among if passing is None else passing
        return sorted({*passing}.intersection(among))

    def _best_files(self, blob_ids: Sequence[int]) -> Mapping[int, ShownFile]:
        """Give the files that show the texts, best path first, at most ``MOST_FILES`` of them."""
        by_factor: dict[float, list[tuple[int, ShownFile]]] = defaultdict(list)
        for blob_id, file in chunks.shown_files(self._handle, blob_ids, self._filters):
            factor = path_worth(file.path, is_generated=file.is_generated)
            by_factor[factor].append((blob_id, file))
            if len(by_factor[1.0]) == MOST_FILES:  # no factor is larger
                break
        best = [item for factor in sorted(by_factor, reverse=True) for item in by_factor[factor]]
        self._is_capped = self._is_capped or len(blob_ids) > MOST_FILES
        return dict(best[:MOST_FILES])

    def _look_into(self, files: Mapping[int, ShownFile]) -> list[Candidate]:
        """Find the places in the texts that these files show."""
        candidates: list[Candidate] = []
        most = max(_LEAST_MATCHES, _MOST_MATCHES // max(1, len(files)))
        for number, (blob_id, file) in enumerate(files.items()):
            try:
                candidates += self._look_into_text(blob_id, file, most)
            except OutOfTime:
                self._stop_looking(number, len(files))
                break
        return candidates

    def _look_into_text(self, blob_id: int, file: ShownFile, most: int) -> list[Candidate]:
        rows = chunks.chunks_of_blob(self._handle, blob_id, self._filters)
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
            symbol, is_defined = _symbol_at(text, spans, row, symbols.get(row.id, ()))
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

    def _stop_looking(self, done: int, total: int) -> None:
        self._is_capped = True
        self._notes.append(
            f"stopped to answer within {self._effort.seconds:g} s: {done:,} of {total:,} files that"
            " match were ranked"
        )


def _growing(texts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut texts into batches, each as large as all before it."""
    at, size = 0, _MOST_AT_ONCE
    while at < len(texts):
        yield texts[at : at + size]
        at, size = at + size, at + size


def _stopped_note(seconds: float, searched: int, size: int) -> str:
    done, total = f"{searched / 1e6:,.0f}", f"{size / 1e6:,.0f}"
    return (
        f"stopped to answer within {seconds:g} s: {done} of {total} MB were searched; narrow it by"
        " path: or lang:, or raise search_timeout"
    )


def _spans_of(pieces: Iterable[ChunkFacts | ChunkSpanRow]) -> list[Span]:
    return [(piece.byte_start, piece.byte_end) for piece in pieces]


def _piece_of(text: bytes, row: ChunkSpanRow) -> str:
    return text[row.byte_start : row.byte_end].decode("utf-8", "replace")


def _symbol_at(
    text: bytes, spans: Sequence[Span], chunk: ChunkSpanRow, symbols: Sequence[SymbolSpan]
) -> tuple[SymbolFacts | None, bool]:
    """Give the symbol that matches define, else the innermost around the first match.

    Returns:
        The symbol, and whether a match stands on the line that defines it.
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
    """Give the first line of a definition that has its name and is no decorator."""
    name = symbol.facts.name.encode()
    at = symbol.byte_start
    while (at := text.find(name, at, symbol.byte_end)) >= 0:
        start = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at) + 1 or len(text)
        if not text[start:end].lstrip().startswith(_DECORATORS):
            return start, end
        at = end
    return None


def _counted(spans: Sequence[Span]) -> str:
    return f"pattern ×{len(spans)}" + (" or more" if len(spans) >= MOST_MATCHES else "")


def _rank(candidates: list[Candidate]) -> None:
    """Score places of patterns alone, and sort them: best first, then by path and line."""
    for candidate in candidates:
        chunk = candidate.chunk
        shares = [Part(PATTERN, USE_SHARE, _counted(candidate.spans))]
        if candidate.is_defined and candidate.symbol:
            why = f"defines {candidate.symbol.name}"
            shares.append(Part("definition", 1 - USE_SHARE, why))
        factors = path_factors(chunk.path, is_generated=bool(chunk.is_generated))
        if chunk.language in DOCUMENT_LANGUAGES:
            factors = (*factors, lowered("document", DOCUMENT_FACTOR))
        candidate.breakdown = Breakdown(tuple(shares), factors)
        candidate.score = candidate.breakdown.score
    sort_spread(candidates, lambda before: CROWDING ** (before // PLACES_A_FILE))
