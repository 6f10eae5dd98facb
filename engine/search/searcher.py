"""Answer requests: from a query to candidates, ranking, snippets, freshness and coverage.

Queries are embedded before the snapshot of the answer is opened. Where that fails, words alone
answer, unless the mode needs the meaning. Modules that only some queries need (numpy, RE2) are
imported by the functions that use them.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from engine.cancellation import CancelToken
from engine.config import Config
from engine.embedding.load import QueryEmbedder
from engine.parameters import check_request
from engine.records import Coverage
from engine.search.branches import (
    Branches,
    branch_notes,
    chosen_branch,
    chosen_branches,
    coverage_of,
    together,
)
from engine.search.cache import Contents, IndexState, MissingName, StateCache, WordCounts
from engine.search.candidates import (
    RankedCandidates,
    find_candidates,
    find_in_branch,
    is_symbol_search,
)
from engine.search.confidence import confidences
from engine.search.file_tags import NO_RULES, FileTags, TagRules
from engine.search.freshness import stale_notes
from engine.search.hits import AnswerContext, hits_of, with_explanations
from engine.search.lexical import MODES_WITH_WORDS, Lexical, lexical_of
from engine.search.merge import ProjectAnswer
from engine.search.missing_paths import nothing_below
from engine.search.prepared_query import (
    PreparedQuery,
    is_filters_only,
    prepare_query,
    read_request,
)
from engine.search.query import Query
from engine.search.query_embedding import (
    QueryEmbeddings,
    embedding_notes,
    for_model,
    no_vectors_error,
)
from engine.search.selection import (
    filters_of,
    has_plain_words,
    has_use_filters,
    is_unfiltered,
)
from engine.search.symbols import find_scored, outline_of, symbol_hit
from engine.search_records import (
    Mode,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
    SymbolRequest,
)
from engine.store.chunks import count_chunks
from engine.store.connection import Handle, Store
from engine.store.files import total_bytes
from engine.store.filters import BranchSet, Filters, build_filters
from engine.store.project import BranchRow
from engine.store.vector_rows import QueryVector
from engine.telemetry.metrics import Span, measured_search, span

if TYPE_CHECKING:
    from engine.search.blob_facts import BlobFacts
    from engine.search.branch_index import BranchIndex
    from engine.search.branch_vectors import BranchVectors, Similarities
    from engine.search.name_uses import FindUses
    from engine.search.ngram_filter import NgramFilter
    from engine.search.pattern_search import SearchLimits, SearchTime
    from engine.search.patterns import Pattern
    from engine.search.usage import Uses

_WARM_UP = "main"
#: An index with more, some 200 MB of text, learns which texts have which n-grams when it is asked.
_MOST_CHUNKS_AHEAD = 200_000
_BY_SPELLING = frozenset({Mode.HYBRID, Mode.KEYWORD})  # modes that find by words


class _Scope(NamedTuple):
    """The part of the index that may answer."""

    state: IndexState
    branches: Branches
    ids: BranchSet  # of the branches
    filters: Filters
    branch_index: "BranchIndex | None" = None  # the cached branch, or the part that filters choose
    uses: "Uses | None" = None  # what filters by use let pass, if there are any
    tags: TagRules = NO_RULES  # of its files
    notes: tuple[str, ...] = ()  # on what the filters know


class Searcher:
    """Answers queries from one project's store.

    Args:
        store: The project's database.
        project_name: The project name in hits.
        root: The resolved root, for freshness.
        config: The settings in force.
        query_embedder: Embeds queries.
        find_uses: Finds the uses of names that filters are about.
    """

    def __init__(
        self,
        store: Store,
        project_name: str,
        root: str,
        config: Config,
        query_embedder: QueryEmbedder,
        find_uses: "FindUses",
    ) -> None:
        self._store = store
        self._project_name = project_name
        self._root = root
        self._config = config
        self._find_uses = find_uses
        self.file_tags = FileTags(config.data_dir)
        self._cache = StateCache()
        self._embeddings = QueryEmbeddings(store, self._cache, query_embedder)
        self._expects_patterns = False  # until then an n-gram filter is no use
        self._ngram_filter: NgramFilter | None = None

    def search(self, request: SearchRequest, checked_out: str) -> SearchAnswer:
        """Answer one request.

        Args:
            request: The request.
            checked_out: The branch that is checked out, searched by default.

        Raises:
            InvalidInputError: The query, a filter or a number is invalid.
            NotFoundError: The branch was never indexed.
            UnavailableError: The mode needs what this index does not have.
        """
        return self.search_for_merge(request, checked_out).answer

    def search_for_merge(
        self, request: SearchRequest, checked_out: str, search_time: "SearchTime | None" = None
    ) -> ProjectAnswer:
        """Answer one request, with what is needed to merge it with answers of other projects.

        Args:
            request: The request.
            checked_out: The branch that is checked out, searched by default.
            search_time: Of the patterns of all projects together; None: this one has its own.

        Raises:
            EngineError: As for ``search``.
        """
        with measured_search(request.mode), span("search.project") as search_span:
            answer = self._search(request, checked_out, search_time)
            _describe(search_span, answer.answer)
            return answer

    def warm(self, checked_out: str) -> None:
        """Fill the caches for the first queries; it is not counted as a query.

        Args:
            checked_out: The branch that queries will be about.
        """
        for mode in (Mode.KEYWORD, Mode.HYBRID):  # the second query caches the branch
            self._search(SearchRequest(query=_WARM_UP, mode=mode, limit=1), checked_out)
        filtered = SearchRequest(query=_WARM_UP, mode=Mode.HYBRID, limit=1, tests=False)
        self._search(filtered, checked_out)  # reads what filters ask of files

    def keep_facts(self) -> None:
        """Keep the facts of blobs once they are asked for, also when the index changes."""
        self._cache.keep_facts()

    def facts(self, handle: Handle) -> "BlobFacts | None":
        """Return the facts of blobs in the state of a read transaction, if they are kept."""
        return self._cache.facts(handle)

    def known_facts(self, handle: Handle) -> "BlobFacts | None":
        """Return the same if they are known of a state much like it: it takes some milliseconds."""
        return self._cache.known_facts(handle)

    def expect_patterns(self, room_bytes: int) -> int:
        """Let the n-gram filter be built now if there is room; else it waits for a first pattern.

        Returns:
            As ``Project.expect_patterns``.
        """
        from engine.search.ngram_filter import size_for  # numpy

        with self._store.read() as handle:
            size_bytes = size_for(total_bytes(handle))
            if count_chunks(handle) > _MOST_CHUNKS_AHEAD or size_bytes > room_bytes:
                return 0
            for branch_index in self._cache.state(handle).cached_branch_indexes:
                branch_index.ranked_texts(handle)
        self._expects_patterns = True
        return size_bytes

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the caches."""
        ngram_filter = self._ngram_filter
        return self._cache.size_bytes + (ngram_filter.size_bytes if ngram_filter else 0)

    @property
    def used_s(self) -> float:
        """When a query last used the caches, on the monotonic clock; 0 if none has."""
        return self._cache.used_s

    def evict(self) -> None:
        """Clear the caches."""
        self._cache.evict()
        self._expects_patterns, self._ngram_filter = False, None

    def update_ngram_filter(self, cancelled: CancelToken) -> None:
        """Update the n-gram filter, so that the next patterns read fewer texts.

        Runs in a background thread of a process that answers many queries.

        Args:
            cancelled: Called some ten times a second.
        """
        if not self._expects_patterns:
            return
        ngram_filter = self._ngram_filter
        if ngram_filter is None:
            from engine.search.ngram_filter import NgramFilter  # numpy

            self._ngram_filter = ngram_filter = NgramFilter()
        ngram_filter.update(self._store, cancelled)

    def _search(
        self, request: SearchRequest, checked_out: str, search_time: "SearchTime | None" = None
    ) -> ProjectAnswer:
        started = time.perf_counter()
        with span("search.question"):
            query = read_request(request)
            patterns = _patterns_of(query)
            self._expects_patterns = self._expects_patterns or bool(patterns)
        with span("search.embed"):
            embedding = self._embeddings.of(query, request.mode)
        with self._store.read() as handle:
            scope = self._scope(handle, query, request, checked_out)
            embedding = for_model(embedding, scope.state.model(handle), request.mode)
            with span("search.find"):
                lexical = lexical_of(query)
                looser: tuple[str, ...] = ()
                if patterns:
                    from engine.search.pattern_search import find_places

                    limits = self._pattern_limits(handle, scope, search_time)
                    found = find_places(handle, query, request, patterns, scope.filters, limits)
                elif is_filters_only(query, request):
                    from engine.search.related import find_by_filters

                    found = find_by_filters(handle, query, request, scope.filters, scope.uses)
                else:
                    read = _find_in_words(handle, query, request, embedding.query_vector, scope)
                    query, lexical, found, looser = read
                if scope.uses:
                    found = scope.uses.shown_in(found, request.mode)
            words = lexical.path_words if found.peaks else ()
            counts = scope.state.count_words(handle, words, scope.branch_index)
            with span("search.snippets"):
                values = confidences(found.shown, words, counts) if found.peaks else ()
                hits, detailed = hits_of(
                    handle,
                    found.shown,
                    request,
                    scope.filters,
                    self._answer_context(scope, checked_out, lexical if found.peaks else None),
                    values,
                )
                if request.explain:
                    hits = with_explanations(
                        handle,
                        lexical,
                        found,
                        hits,
                        detailed,
                        scope.branch_index,
                    )
            is_elsewhere = not (scope.branches.is_named or scope.branches.first.name == checked_out)
            coverage = together(
                [
                    self.coverage(handle, branch, is_elsewhere=is_elsewhere)
                    for branch in scope.branches.wanted
                ]
            )
            with span("search.missing"):
                missing, unknown = _missing_names(handle, query, request, scope)
                below = nothing_below(
                    handle,
                    (branch.id for branch in scope.branches.wanted),
                    None if hits else request.path,
                )
        notes = (
            *query.notes,
            *self._notes_on(scope.branches, checked_out, is_elsewhere=is_elsewhere),
            *embedding_notes(embedding, coverage.embedded),
            *found.notes,
            *scope.notes,
            *(() if hits else scope.tags.notes(query)),
            *below,
            *(each.note for each in (*unknown, *missing) if each.note),
        )
        answer = SearchAnswer(
            query=request.query,
            mode=request.mode,
            took_ms=(time.perf_counter() - started) * 1000,
            total=len(found.scores),
            truncated=found.is_capped or len(found.scores) > len(found.shown),
            coverage=coverage,
            hits=tuple(scope.tags.tagged(hits)),
            notes=notes,
            missing=tuple(dict.fromkeys(each.name for each in missing)),
        )
        parts = [each.breakdown for each in found.shown]
        return ProjectAnswer(answer, parts, found.peaks, counts, looser, missing, unknown, detailed)

    def branch_notes(
        self, branch: BranchRow, checked_out: str, *, is_elsewhere: bool
    ) -> Iterator[str]:
        """Yield sentences on the limits of an answer from a branch."""
        return branch_notes(branch, checked_out, self._root, is_elsewhere=is_elsewhere)

    def stale_notes(
        self, handle: Handle, branch: BranchRow, checked_out: str, paths: Iterable[str]
    ) -> tuple[str, ...]:
        """Say which of the files that an answer shows have changed since they were indexed.

        Nothing is said of a branch that is not checked out.
        """
        if branch.name != checked_out:
            return ()
        return stale_notes(handle, branch.id, self._root, paths)

    def _notes_on(
        self, branches: Branches, checked_out: str, *, is_elsewhere: bool
    ) -> tuple[str, ...]:
        """Return sentences on the limits of the searched branches, each once."""
        notes = (
            note
            for branch in branches.wanted
            for note in self.branch_notes(branch, checked_out, is_elsewhere=is_elsewhere)
        )
        return tuple(dict.fromkeys(notes))

    def related(self, wanted: RelatedRequest, checked_out: str) -> SearchAnswer:
        """Return code similar to a place, by the stored vectors.

        Args:
            wanted: The place.
            checked_out: The branch that is checked out, which is searched.

        Raises:
            InvalidInputError: The file has no such line, or a number is out of range.
            FileNotIndexedError: The file is not in the index.
            UnavailableError: The index, or this place of it, has no vectors.
        """
        with measured_search("related"):
            return self._related(wanted, checked_out)

    def _related(self, wanted: RelatedRequest, checked_out: str) -> SearchAnswer:
        from engine.search.related import find_related, request_of, source_of

        started = time.perf_counter()
        request = request_of(wanted)
        with self._store.read() as handle:
            scope = self._scope(handle, Query(text=""), request, checked_out)
            branch = scope.branches.first
            model = scope.state.model(handle)
            source = source_of(handle, branch.id, wanted)
            if model is None:
                raise no_vectors_error()
            cached = scope.state.vectors(handle, scope.ids, model)
            found = find_related(handle, model, source, scope.filters, wanted.limit, cached)
            context = self._answer_context(scope, checked_out)
            hits, _ = hits_of(handle, found.shown, request, scope.filters, context)
            is_elsewhere = branch.name != checked_out
            coverage = self.coverage(handle, branch, is_elsewhere=is_elsewhere)
        notes = self.branch_notes(branch, checked_out, is_elsewhere=is_elsewhere)
        return SearchAnswer(
            query=request.query,
            mode=Mode.MEANING,
            took_ms=(time.perf_counter() - started) * 1000,
            total=len(found.scores),
            truncated=len(found.scores) > len(hits),
            coverage=coverage,
            hits=tuple(hits),
            notes=tuple(notes),
        )

    def symbols(self, wanted: SymbolRequest, checked_out: str) -> list[SymbolHit]:
        """Find symbols by name, best first.

        Raises:
            InvalidInputError: A field of the request is invalid.
        """
        with measured_search("symbols"):
            check_request(wanted)
            return self._symbols(wanted, checked_out)

    def _symbols(self, wanted: SymbolRequest, checked_out: str) -> list[SymbolHit]:
        request = SearchRequest(query=wanted.name, kind=wanted.kind)
        with self._store.read() as handle:
            similar = self._cache.state(handle).similar_names
            branch = self.branch(handle, None, checked_out)
            filters = filters_of(handle, Query(text=wanted.name), request, BranchSet((branch.id,)))
            found = find_scored(
                handle, wanted.name, filters, similar, match=wanted.match, limit=wanted.limit
            )
        return [symbol_hit(symbol, self._project_name) for symbol in found]

    def outline(self, path: str, checked_out: str, *, requested: str) -> list[SymbolHit]:
        """Return the symbols of a file in text order.

        Args:
            path: The file, relative to the root.
            checked_out: The branch that is checked out, which is searched.
            requested: The path as the caller wrote it.

        Raises:
            FileNotIndexedError: The file is not in the index.
        """
        with self._store.read() as handle:
            branch = self.branch(handle, None, checked_out)
            return outline_of(
                handle, branch.id, path, project=self._project_name, requested=requested
            )

    def branch(self, handle: Handle, requested: str | None, checked_out: str) -> BranchRow:
        """Return the branch to search: the requested one, the one checked out, or the latest.

        Raises:
            NotFoundError: The requested branch was never indexed.
        """
        return chosen_branch(self._cache.state(handle).branches, requested, checked_out)

    def coverage(
        self, handle: Handle, branch: BranchRow, *, is_elsewhere: bool = False
    ) -> Coverage:
        """Return the coverage of the branch; never complete if another was requested."""
        state = self._cache.state(handle)
        return coverage_of(
            branch,
            state.file_count(handle, branch.id),
            state.embedded_share(handle, branch.id),
            is_complete=branch.complete and not is_elsewhere,
        )

    def count_words(self, handle: Handle, words: Sequence[str]) -> WordCounts:
        """Count the chunks, of all branches, that have each of some quoted words."""
        return self._cache.state(handle).count_words(handle, words)

    def contents(self, handle: Handle, branch: BranchRow) -> Contents:
        """Return the counts of a branch."""
        return self._cache.state(handle).contents(handle, branch.id)

    def _tag_rules(self, query: Query, notes: list[str]) -> TagRules:
        """Return the rules that tag files.

        Raises:
            InvalidConfigError: They cannot be read, and the query has a filter by tag; for any
                other query, a note says so.
        """
        if query.values("tag"):
            return self.file_tags.current()
        return self.file_tags.usable(notes.append)

    def _scope(
        self,
        handle: Handle,
        query: Query,
        request: SearchRequest,
        checked_out: str,
    ) -> _Scope:
        """Return the rows that may answer, with the cached branch or its part that may."""
        state = self._cache.state(handle)
        branches = chosen_branches(state.branches, request, query, checked_out)
        chosen = state.prepared(handle, branches.ids)
        notes: list[str] = []
        tags = self._tag_rules(query, notes)
        if is_unfiltered(query, request):
            filters = build_filters(branches=chosen)
            scope = _Scope(state, branches, chosen, filters, tags=tags, notes=tuple(notes))
            if request.mode is Mode.SYMBOL:  # it reads nothing of the cached branch but texts
                return scope._replace(branch_index=state.cached_branch_index(chosen))
            return scope._replace(branch_index=state.branch_index(handle, chosen))
        uses = self._uses(handle, query, state, branches)
        rules = [*uses.rules(query, request)] if uses else []
        if query.values("author"):
            from engine.search.authors import authored_files  # most queries have none

            authored = authored_files(handle, query, branches.ids.ids)
            rules += authored.rules
            notes += authored.notes
        filters = filters_of(handle, query, request, chosen, rules, tags.predicate)
        scope = _Scope(state, branches, chosen, filters, uses=uses, tags=tags, notes=tuple(notes))
        return scope._replace(branch_index=_part_of_branch(handle, query, request, scope))

    def _uses(
        self, handle: Handle, query: Query, state: IndexState, branches: Branches
    ) -> "Uses | None":
        """Return what the filters by use of a query let pass, or None without any."""
        if not has_use_filters(query):
            return None
        from engine.search.name_uses import use_terms, uses_together  # most queries have none
        from engine.search.usage import Uses

        terms = use_terms(query)
        of_branches = [
            state.uses(handle, branch, terms, self._find_uses) for branch in branches.wanted
        ]
        return Uses(uses_together(of_branches))

    def _pattern_limits(
        self, handle: Handle, scope: _Scope, search_time: "SearchTime | None"
    ) -> "SearchLimits":
        """Return the limits of a pattern search.

        From the second one on, texts are searched best path first if their order is known: ranking
        16,000 paths takes 0.1 s, once per state of the index.
        """
        from engine.search.pattern_search import SearchLimits, SearchTime

        limits = SearchLimits.of(self._config, search_time or SearchTime())
        ngram_filter = self._ngram_filter  # another thread may drop it meanwhile
        if ngram_filter is None:
            return limits
        limits = replace(limits, candidate_texts=ngram_filter.candidate_texts)
        branch_index = (
            scope.state.cached_branch_index(scope.ids) if scope.filters.is_branch_only else None
        )
        return (
            replace(limits, ranked_texts=lambda: branch_index.ranked_texts(handle))
            if branch_index
            else limits
        )

    def _answer_context(
        self, scope: _Scope, checked_out: str, ranked_by: Lexical | None = None
    ) -> AnswerContext:
        words = ranked_by.words if ranked_by else ()
        return AnswerContext(
            self._project_name, self._root, scope.branches, checked_out, scope.branch_index, words
        )


def _part_of_branch(
    handle: Handle, query: Query, request: SearchRequest, scope: _Scope
) -> "BranchIndex | None":
    """Return the files of the cached branch that pass, if all of a file passes or nothing."""
    is_by_words = request.mode is not Mode.SYMBOL and not is_filters_only(query, request)
    if not (is_by_words and has_plain_words(query) and scope.filters.is_by_files):
        return None
    # Words alone are found as fast by the database as the branch is read.
    is_by_meaning = request.mode in (Mode.HYBRID, Mode.MEANING)
    read = scope.state.branch_index(handle, scope.ids) if is_by_meaning else None
    whole = read or scope.state.cached_branch_index(scope.ids)
    return whole.part(handle, scope.filters) if whole else None


def _missing_names(
    handle: Handle, query: Query, request: SearchRequest, scope: _Scope
) -> tuple[list[MissingName], list[MissingName]]:
    """Return the names that no text has, and those of filters that nothing defines or uses."""
    missing: list[MissingName] = []
    if request.mode in MODES_WITH_WORDS:
        missing = scope.state.missing_names(handle, query)
    if not scope.uses:
        return missing, []
    unknown, nowhere = scope.uses.unknown(handle)
    return [*missing, *nowhere], unknown


def _patterns_of(query: Query) -> "tuple[Pattern, ...] | list[Pattern]":
    if not query.patterns:
        return ()
    from engine.search.patterns import patterns_of  # RE2, which other queries do not need

    return patterns_of(query)


class _Found(NamedTuple):
    """What was found, and by which reading of the query."""

    query: Query
    lexical: Lexical
    candidates: RankedCandidates
    looser: tuple[str, ...] = ()  # notes on the looser reading, if it is one


def _find_in_words(
    handle: Handle,
    query: Query,
    request: SearchRequest,
    query_vector: QueryVector | None,
    scope: _Scope,
) -> _Found:
    """Find candidates for words and phrases; where there are none, by looser readings."""

    def found_by(query: Query, lexical: Lexical) -> _Found:
        if request.mode in _BY_SPELLING:
            lexical = scope.state.with_index_spellings(handle, query, lexical, scope.branch_index)
        prepared = prepare_query(query, request.mode, request.limit, query_vector, lexical)
        prepared = _with_changes(handle, prepared, scope)
        return _Found(query, lexical, _find(handle, prepared, scope))

    found = found_by(query, lexical_of(query))
    if found.candidates.shown or request.mode not in MODES_WITH_WORDS:
        return found
    from engine.search.relaxed import relaxed  # most queries find something

    for reading in relaxed(query):
        looser = found_by(*reading)
        if looser.candidates.shown:
            return looser._replace(looser=looser.query.notes[len(query.notes) :])
    return found


def _with_changes(handle: Handle, prepared: PreparedQuery, scope: _Scope) -> PreparedQuery:
    """Add what past commits say of files, if the query describes something."""
    if not prepared.weights.history or not prepared.is_descriptive:
        return prepared
    past = scope.state.past_changes(handle)
    if past is None:
        return prepared
    words, keeps_words = prepared.lexical.path_words, scope.branch_index is not None
    return replace(prepared, changed=past.shares(handle, words, keeps_words=keeps_words))


def _find(handle: Handle, prepared: PreparedQuery, scope: _Scope) -> RankedCandidates:
    """Find candidates the fastest way: in the cached branch, if there are plain words."""
    if scope.branch_index is None or is_symbol_search(prepared):
        cached = _cached_vectors(handle, prepared, scope)
        return find_candidates(handle, prepared, scope.filters, cached, scope.state.similar_names)
    with span("search.vectors"):
        similarities = (
            _similarities(handle, prepared.query_vector, scope, scope.branch_index)
            if prepared.query_vector
            else None
        )
    return find_in_branch(handle, prepared, scope.branch_index, similarities)


def _cached_vectors(
    handle: Handle, prepared: PreparedQuery, scope: _Scope
) -> "BranchVectors | None":
    """Return the cached vectors of the branch, if filters choose whole files."""
    filters = scope.filters
    if prepared.query_vector is None or filters.is_branch_only or not filters.is_by_files:
        return None
    # Plain words have been counted already, and would be counted as a second query.
    if has_plain_words(prepared.query) or not scope.state.branch_index(handle, scope.ids):
        return None
    return scope.state.vectors(handle, scope.ids, prepared.query_vector.model)


def _similarities(
    handle: Handle, query_vector: QueryVector, scope: _Scope, branch_index: "BranchIndex"
) -> "Similarities":
    """Compare a query with the places of a cached branch."""
    from engine.search.branch_vectors import StoredSimilarities  # numpy

    cached = scope.state.vectors(handle, scope.ids, query_vector.model)
    return (
        cached.similarities(query_vector, branch_index)
        if cached
        else StoredSimilarities(handle, query_vector, scope.filters, branch_index)
    )


def _describe(search_span: Span, answer: SearchAnswer) -> None:
    """Record facts about an answer in its span, without any text."""
    search_span.set_attributes(
        mode=str(answer.mode),
        hits=len(answer.hits),
        total=answer.total,
        truncated=answer.truncated,
        embedded=answer.coverage.embedded,
    )
