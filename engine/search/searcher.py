"""From a request to an answer: candidates, ranking, snippets, freshness and coverage.

What a question means; or why words alone answer it, though its meaning was wanted.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from engine.config import Config
from engine.embedding.load import QuestionEmbedder
from engine.errors import UnavailableError
from engine.records import (
    Coverage,
    Mode,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
)
from engine.search.cache import Contents, Memory, State
from engine.search.candidates import Found, find_candidates, is_by_name
from engine.search.hits import Place, hits_of
from engine.search.lexical import BY_WORDS, lexical_of, missing_from
from engine.search.query import Query
from engine.search.question import (
    BY_MEANING,
    Question,
    asks_what_passes,
    question_of,
    read_request,
    text_of,
)
from engine.search.selection import (
    branch_asked,
    branch_notes,
    chosen_branch,
    coverage_of,
    filters_of,
    is_plain,
)
from engine.search.symbols import check_match, find_scored, outline_of, symbol_hit
from engine.store.connection import Handle, Store
from engine.store.filters import Filters
from engine.store.project import BranchRow
from engine.telemetry.metrics import Span, asking, span

if TYPE_CHECKING:
    from engine.search.branch_index import Tree
    from engine.search.meaning import Asked, Near, TreeVectors
    from engine.search.ngram_filter import Sieve
    from engine.search.pattern_search import Effort
    from engine.search.patterns import Pattern
    from engine.store.models import ModelRow

_PATTERN_NOTE = "beside a pattern words rank, not their meaning"


class Intent(NamedTuple):
    """What a question means."""

    asked: "Asked | None" = None  # None: it is answered by words
    notes: tuple[str, ...] = ()  # why, when meaning was wanted


class Intents:
    """Embeds questions with the model of a project's vectors.

    Args:
        store: The project's database.
        memory: What is kept of its states.
        questions: Embeds.
    """

    def __init__(self, store: Store, memory: Memory, questions: QuestionEmbedder) -> None:
        self._store = store
        self._memory = memory
        self._questions = questions

    def of(self, query: Query, mode: Mode) -> Intent:
        """Embed a question, before the snapshot of the answer: a server may take its time.

        Raises:
            UnavailableError: It cannot be embedded, and the mode is nothing without.
        """
        text = text_of(query)
        if mode not in BY_MEANING or not text:
            return Intent()
        if query.patterns:
            return Intent(notes=(_PATTERN_NOTE,) if mode is Mode.MEANING else ())
        with self._store.read() as handle:
            state = self._memory.state(handle)
            if not state.branches:
                return Intent()
            model = state.model(handle)
        try:
            if model is None:
                raise no_vectors()
            vector = self._questions.embed(text, model.identity)
        except UnavailableError as error:
            if mode is Mode.MEANING:
                raise
            return Intent(notes=(_note_of(error),))
        from engine.search.meaning import Asked  # numpy

        return Intent(Asked.of(model, vector))


def still(intent: Intent, model: "ModelRow | None", mode: Mode) -> Intent:
    """Forget what a question means when the vectors of another model answer by now.

    Args:
        intent: What it meant before the snapshot.
        model: The one whose vectors are there now.
        mode: Of the question.

    Raises:
        UnavailableError: There is another model, and the mode is nothing without.
    """
    if intent.asked is None or model == intent.asked.model:
        return intent
    error = UnavailableError("another model was chosen just now", hint="search again")
    if mode is Mode.MEANING:
        raise error
    return Intent(notes=(_note_of(error),))


def notes_of(intent: Intent, embedded: float) -> tuple[str, ...]:
    """Say what a reader may not expect of an answer by meaning.

    Args:
        intent: What the question means.
        embedded: The share of chunks that have vectors.
    """
    if intent.asked and embedded < 1:
        return (f"{1 - embedded:.1%} of the code has no vectors yet, and is found by words alone",)
    return intent.notes


def no_vectors() -> UnavailableError:
    """Make the error of an index without vectors."""
    return UnavailableError("this index has no vectors", hint="cairn index makes them")


def _note_of(error: UnavailableError) -> str:
    return f"searched by words alone: {error.message}" + (f" ({error.hint})" if error.hint else "")


_WARM_UP = "main"
_BY_SPELLING = frozenset({Mode.HYBRID, Mode.KEYWORD})  # modes in which words find


class _Scope(NamedTuple):
    """What may answer a question."""

    state: State
    branch: BranchRow
    filters: Filters
    tree: "Tree | None"  # the branch, when the filters let all of it pass and it is kept


class Searcher:
    """Answers questions from one project's store.

    Args:
        store: The project's database.
        project_name: What hits say as their project.
        root: The resolved root, for freshness.
        config: The settings in force.
        questions: Embeds questions.
    """

    def __init__(
        self,
        store: Store,
        project_name: str,
        root: str,
        config: Config,
        questions: QuestionEmbedder,
    ) -> None:
        self._store = store
        self._project_name = project_name
        self._root = root
        self._config = config
        self._memory = Memory()
        self._intents = Intents(store, self._memory, questions)
        self._has_patterns = False  # somebody has asked by pattern
        self._sieve: Sieve | None = None

    def search(self, request: SearchRequest, checked_out: str) -> SearchAnswer:
        """Answer one request.

        Args:
            request: The question.
            checked_out: The branch that is checked out, searched by default.

        Raises:
            InvalidInputError: The query, a filter or a number cannot be read.
            NotFoundError: The branch was never indexed.
            UnavailableError: The mode needs what this index does not have.
        """
        with asking(request.mode), span("search.project") as told:
            answer = self._search(request, checked_out)
            _describe(told, answer)
            return answer

    def warm(self, checked_out: str) -> None:
        """Read what the first questions would wait for; nothing counts this as a question.

        Args:
            checked_out: The branch that questions will be about.
        """
        for mode in (Mode.KEYWORD, Mode.HYBRID):  # the second question of a process reads the tree
            self._search(SearchRequest(query=_WARM_UP, mode=mode, limit=1), checked_out)

    @property
    def size_bytes(self) -> int:
        """What is kept between questions, more or less."""
        sieve = self._sieve
        return self._memory.size_bytes + (sieve.size_bytes if sieve else 0)

    def let_go(self) -> None:
        """Keep nothing, until the next question."""
        self._memory.let_go()
        self._has_patterns, self._sieve = False, None

    def learn(self, is_stopped: Callable[[], bool]) -> None:
        """Get to know what patterns were asked about since, so that the next look into few texts.

        For a thread of a process that answers many.

        Args:
            is_stopped: Asked some ten times a second.
        """
        if not self._has_patterns:
            return
        sieve = self._sieve
        if sieve is None:
            from engine.search.ngram_filter import Sieve  # numpy

            self._sieve = sieve = Sieve()
        sieve.learn(self._store, is_stopped)

    def _search(self, request: SearchRequest, checked_out: str) -> SearchAnswer:
        started = time.perf_counter()
        with span("search.question"):
            query = read_request(request)
            patterns = _patterns_of(query)
            self._has_patterns = self._has_patterns or bool(patterns)
            named = branch_asked(request, query)
        with span("search.embed"):
            intent = self._intents.of(query, request.mode)
        with self._store.read() as handle:
            scope = self._scope(handle, query, request, named, checked_out)
            intent = still(intent, scope.state.model(handle), request.mode)
            with span("search.find"):
                lexical = lexical_of(query)
                if request.mode in _BY_SPELLING and not patterns:
                    lexical = scope.state.respelled(handle, query, lexical, scope.tree)
                if patterns:
                    from engine.search.pattern_search import find_places

                    effort = self._effort_in(scope)
                    found = find_places(handle, query, request, patterns, scope.filters, effort)
                elif asks_what_passes(query, request):
                    from engine.search.related import find_passing

                    found = find_passing(handle, query, request, scope.filters)
                else:
                    asked = intent.asked
                    question = question_of(query, request.mode, request.limit, asked, lexical)
                    found = _found(handle, question, scope)
            place = self._place(scope, checked_out)
            with span("search.snippets"):
                hits, is_cut = hits_of(handle, found.shown, request, scope.filters, place)
            if request.explain:
                from engine.search.hits import explained

                hits = explained(handle, lexical, found, hits, most=request.detailed)
            is_elsewhere = named is None and not place.is_checked_out
            coverage = self.coverage(handle, scope.branch, is_elsewhere=is_elsewhere)
            with span("search.missing"):
                missing = missing_from(handle, query) if request.mode in BY_WORDS else ()
        notes = [*branch_notes(scope.branch, checked_out, is_elsewhere=is_elsewhere)]
        notes += [*notes_of(intent, coverage.embedded), *found.notes]
        return SearchAnswer(
            query=request.query,
            mode=request.mode,
            took_ms=(time.perf_counter() - started) * 1000,
            total=len(found.scores),
            truncated=is_cut or found.is_capped or len(found.scores) > len(found.shown),
            coverage=coverage,
            hits=tuple(hits),
            notes=tuple(notes),
            missing=missing,
        )

    def related(self, wanted: RelatedRequest, checked_out: str) -> SearchAnswer:
        """Give code like that of a place, by the vectors that are stored.

        Args:
            wanted: The place.
            checked_out: The branch that is checked out, which is searched.

        Raises:
            InvalidInputError: The file has no such line, or a number is out of range.
            FileNotIndexedError: The file is not in the index.
            UnavailableError: The index, or this place of it, has no vectors.
        """
        with asking("related"):
            return self._related(wanted, checked_out)

    def _related(self, wanted: RelatedRequest, checked_out: str) -> SearchAnswer:
        from engine.search.related import find_related, request_of, source_of

        started = time.perf_counter()
        request = request_of(wanted)
        with self._store.read() as handle:
            scope = self._scope(handle, Query(text=""), request, None, checked_out)
            model = scope.state.model(handle)
            source = source_of(handle, scope.branch.id, wanted)
            if model is None:
                raise no_vectors()
            found = find_related(handle, model, source, scope.filters, wanted.limit)
            place = self._place(scope, checked_out)
            hits, _ = hits_of(handle, found.shown, request, scope.filters, place)
            coverage = self.coverage(handle, scope.branch, is_elsewhere=not place.is_checked_out)
        notes = branch_notes(scope.branch, checked_out, is_elsewhere=not place.is_checked_out)
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

    def symbols(
        self, name: str, *, kind: str | None, match: str, limit: int, checked_out: str
    ) -> list[SymbolHit]:
        """Find symbols by name, best first; the arguments are those of ``Index.symbols``.

        Raises:
            InvalidInputError: An argument is not one of those.
        """
        with asking("symbols"):
            check_match(name, match, limit)
            request = SearchRequest(query=name, kind=kind)
            return self._symbols(request, match, limit, checked_out)

    def _symbols(
        self, request: SearchRequest, match: str, limit: int, checked_out: str
    ) -> list[SymbolHit]:
        name = request.query
        with self._store.read() as handle:
            branch = self.branch(handle, None, checked_out)
            filters = filters_of(handle, Query(text=name), request, branch.id)
            found = find_scored(handle, name, filters, match=match, limit=limit)
        return [symbol_hit(symbol, self._project_name) for symbol in found]

    def outline(self, path: str, checked_out: str, *, asked: str) -> list[SymbolHit]:
        """Give the symbols of a file in text order.

        Args:
            path: The file, relative to the root.
            checked_out: The branch that is checked out, which is looked at.
            asked: How the caller wrote the path.

        Raises:
            FileNotIndexedError: The file is not in the index.
        """
        with self._store.read() as handle:
            branch = self.branch(handle, None, checked_out)
            return outline_of(handle, branch.id, path, project=self._project_name, asked=asked)

    def branch(self, handle: Handle, asked: str | None, checked_out: str) -> BranchRow:
        """Give the branch to search: the one asked for, the one checked out, or the latest.

        Raises:
            NotFoundError: The branch that was asked for was never indexed.
        """
        return chosen_branch(self._memory.state(handle).branches, asked, checked_out)

    def coverage(
        self, handle: Handle, branch: BranchRow, *, is_elsewhere: bool = False
    ) -> Coverage:
        """Say how much of the branch the index holds; not all, when another one was meant."""
        state = self._memory.state(handle)
        return coverage_of(
            branch,
            state.file_count(handle, branch.id),
            state.embedded_share(handle, branch.id),
            is_complete=branch.complete and not is_elsewhere,
        )

    def contents(self, handle: Handle, branch: BranchRow) -> Contents:
        """Say how much the files of a branch hold."""
        return self._memory.state(handle).contents(handle, branch.id)

    def _scope(
        self,
        handle: Handle,
        query: Query,
        request: SearchRequest,
        named: str | None,
        checked_out: str,
    ) -> _Scope:
        """Say which rows may answer; with what is kept of the branch when all of it may."""
        state = self._memory.state(handle)
        branch = chosen_branch(state.branches, named, checked_out)
        if is_plain(query, request):
            filters = state.no_filters(branch.id)
            return _Scope(state, branch, filters, state.tree(handle, branch.id))
        return _Scope(state, branch, filters_of(handle, query, request, branch.id), None)

    def _effort_in(self, scope: _Scope) -> "Effort":
        """Say how patterns are searched: from the second one on best path first, if that is known.

        To rank 16,000 paths takes 0.1 s, once a state of the index: the first does without.
        """
        from engine.search.pattern_search import Effort

        effort = Effort.of(self._config)
        sieve = self._sieve  # another thread may let go of it meanwhile
        if sieve is None:
            return effort
        effort = replace(effort, passing=sieve.passing)
        tree = scope.state.kept_tree(scope.branch.id) if scope.filters.is_branch_only else None
        return replace(effort, ranked=lambda: tree.ranked_texts) if tree else effort

    def _place(self, scope: _Scope, checked_out: str) -> Place:
        is_here = scope.branch.name == checked_out
        return Place(self._project_name, self._root, is_here, scope.tree)


def _patterns_of(query: Query) -> "tuple[Pattern, ...] | list[Pattern]":
    if not query.patterns:
        return ()
    from engine.search.patterns import patterns_of  # RE2, which other questions do without

    return patterns_of(query)


def _found(handle: Handle, question: Question, scope: _Scope) -> Found:
    """Find candidates the shortest way: from what is kept, when there are words alone."""
    if scope.tree is None or is_by_name(question):
        return find_candidates(handle, question, scope.filters, _kept(handle, question, scope))
    with span("search.vectors"):
        near = _near(handle, question.asked, scope, scope.tree) if question.asked else None
    from engine.search.candidates import find_in_tree  # not for the one question of a command

    return find_in_tree(handle, question, scope.tree, near)


def _kept(handle: Handle, question: Question, scope: _Scope) -> "TreeVectors | None":
    """Give the vectors that are kept of the branch, when the filters choose whole files."""
    if question.asked is None or not scope.filters.chooses_files:
        return None
    tree = scope.state.tree(handle, scope.branch.id)
    if tree is None:
        return None
    return scope.state.vectors(handle, scope.branch.id, question.asked.model, tree)


def _near(handle: Handle, asked: "Asked", scope: _Scope, tree: "Tree") -> "Near":
    """Compare a question with the places of a branch that is kept."""
    from engine.search.meaning import StoredPlaces  # numpy

    kept = scope.state.vectors(handle, scope.branch.id, asked.model, tree)
    return kept.near(asked) if kept else StoredPlaces(handle, asked, scope.filters, tree)


def _describe(told: Span, answer: SearchAnswer) -> None:
    """Tell of an answer what quotes nothing."""
    told.tell(
        mode=str(answer.mode),
        hits=len(answer.hits),
        total=answer.total,
        truncated=answer.truncated,
        embedded=answer.coverage.embedded,
    )
