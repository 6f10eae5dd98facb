"""From a request to an answer: candidates, ranking, snippets, freshness and coverage."""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import (
    InvalidInputError,
    InvalidQueryError,
    NotFoundError,
    UnavailableError,
)
from engine.records import Coverage, Mode, SearchAnswer, SearchRequest
from engine.search.candidates import Found, find_candidates, find_in_tree
from engine.search.hits import Place, hits_of
from engine.search.lexical import lexical_of
from engine.search.memory import Memory, State
from engine.search.patterns import Pattern, patterns_of
from engine.search.places import Effort, find_places
from engine.search.query import PatternTerm, Query, Term, parse_query
from engine.search.selection import filters_of, is_plain
from engine.store.connection import Handle, Store
from engine.store.filters import Filters
from engine.store.project import BranchRow
from engine.syntax.terms import words_of

if TYPE_CHECKING:
    from engine.search.tree import Tree

MAX_LIMIT = 100
NO_BRANCH = -1  # the id of a branch that has no row
_BY_WORDS = frozenset({Mode.HYBRID, Mode.KEYWORD})


class _Scope(NamedTuple):
    """What may answer a question."""

    filters: Filters
    tree: "Tree | None"  # the branch, when the filters let all of it pass and it is kept


class Searcher:
    """Answers questions from one project's store.

    Args:
        store: The project's database.
        project_name: What hits say as their project.
        root: The resolved root, for freshness.
        effort: What a search by pattern may take.
    """

    def __init__(self, store: Store, project_name: str, root: str, effort: Effort) -> None:
        self._store = store
        self._project_name = project_name
        self._root = root
        self._effort = effort
        self._memory = Memory()

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
        started = time.perf_counter()
        query = _checked(request)
        patterns = patterns_of(query)
        asked = _branch_asked(request, query)
        with self._store.read() as handle:
            state = self._memory.state(handle)
            branch = _chosen(state.branches, asked, checked_out)
            scope = _scope_of(handle, query, request, state, branch)
            found = self._found(handle, query, request, scope, patterns)
            is_here = branch.name == checked_out
            place = Place(self._project_name, self._root, is_here, scope.tree)
            hits, is_cut = hits_of(handle, found.shown, request, scope.filters, place)
            if request.explain:
                from engine.search.explanation import explained

                hits = explained(handle, query, found, hits)
            indexed = state.file_count(handle, branch.id)
            embedded = state.embedded_share(handle, branch.id)
        is_elsewhere = asked is None and not is_here
        return SearchAnswer(
            query=request.query,
            mode=request.mode,
            took_ms=(time.perf_counter() - started) * 1000,
            total=len(found.scores),
            truncated=is_cut or found.is_capped or len(found.scores) > len(found.shown),
            coverage=_coverage(
                branch, indexed, embedded, is_complete=branch.complete and not is_elsewhere
            ),
            hits=tuple(hits),
            notes=(*_notes(branch, checked_out, is_elsewhere=is_elsewhere), *found.notes),
        )

    def _found(
        self,
        handle: Handle,
        query: Query,
        request: SearchRequest,
        scope: _Scope,
        patterns: Sequence[Pattern],
    ) -> Found:
        """Find candidates the shortest way: from what is kept, when there are words alone."""
        if patterns:
            return find_places(handle, query, request, patterns, scope.filters, self._effort)
        if scope.tree and request.mode in _BY_WORDS:
            lexical = lexical_of(query)
            if lexical.chunk_match:
                return find_in_tree(handle, lexical, scope.tree, request.limit)
        return find_candidates(handle, query, request.mode, scope.filters, request.limit)

    def branch(self, handle: Handle, asked: str | None, checked_out: str) -> BranchRow:
        """Give the branch to search: the one asked for, the one checked out, or the latest.

        Raises:
            NotFoundError: The branch that was asked for was never indexed.
        """
        return _chosen(self._memory.state(handle).branches, asked, checked_out)

    def coverage(self, handle: Handle, branch: BranchRow) -> Coverage:
        """Say how much of the branch the index holds."""
        state = self._memory.state(handle)
        indexed = state.file_count(handle, branch.id)
        embedded = state.embedded_share(handle, branch.id)
        return _coverage(branch, indexed, embedded, is_complete=branch.complete)


def _scope_of(
    handle: Handle, query: Query, request: SearchRequest, state: State, branch: BranchRow
) -> _Scope:
    """Say which rows may answer; with what is kept of the branch when all of it may."""
    if is_plain(query, request):
        return _Scope(state.no_filters(branch.id), state.tree(handle, branch.id))
    return _Scope(filters_of(handle, query, request, branch.id), None)


def _coverage(branch: BranchRow, indexed: int, embedded: float, *, is_complete: bool) -> Coverage:
    share = min(1.0, indexed / branch.found_files) if branch.found_files else 1.0
    return Coverage(
        files=indexed,
        indexed=share if branch.found_files or branch.complete else 0.0,
        embedded=embedded,
        complete=is_complete,
    )


def _checked(request: SearchRequest) -> Query:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit is {request.limit}, wanted 1 to {MAX_LIMIT}", field="limit")
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInputError(
            f"max_tokens is {request.max_tokens}, wanted 1 or more", field="max_tokens"
        )
    query = parse_query(request.query, as_pattern=request.mode is Mode.REGEX)
    terms: tuple[Term | PatternTerm, ...] = (*query.words, *query.phrases, *query.patterns)
    wanted_names = [term for term in query.values("sym") if not term.negated]
    if not wanted_names and all(term.negated for term in terms):
        raise InvalidQueryError(
            "the query has nothing to search for",
            position=0,
            hint="give a word, a phrase, a /pattern/ or sym: to find; a leading - only leaves out",
        )
    for phrase in query.phrases:
        if not phrase.negated and not words_of(phrase.text):
            raise InvalidQueryError(
                f"the phrase {phrase.text!r} has no word to look up",
                position=phrase.position,
                hint="add a neighbouring word of two letters or more",
            )
    if request.mode is Mode.MEANING:
        raise UnavailableError(
            "this index has no vectors", hint="use --mode keyword, which needs none"
        )
    return query


def _chosen(branches: Sequence[BranchRow], asked: str | None, checked_out: str) -> BranchRow:
    wanted = checked_out if asked is None else asked
    for branch in branches:
        if branch.name == wanted:
            return branch
    if asked is not None:
        known = ", ".join(branch.name or "(none)" for branch in branches)
        raise NotFoundError(
            f"branch {asked!r} is not indexed", hint=f"indexed: {known}", branch=asked
        )
    if branches:
        return branches[0]
    return BranchRow(NO_BRANCH, checked_out, None, 0, complete=False, indexed_at_ms=None)


def _branch_asked(request: SearchRequest, query: Query) -> str | None:
    """Give the branch that is asked for, None for the one checked out.

    Raises:
        InvalidQueryError: Two different branches are asked for.
    """
    asked = request.branch
    for term in query.values("branch"):
        if asked is not None and asked != term.value:
            raise InvalidQueryError(
                f"one branch at a time: {asked!r} and {term.value!r} are asked for",
                position=term.position,
            )
        asked = term.value
    return asked


def _notes(branch: BranchRow, checked_out: str, *, is_elsewhere: bool) -> Iterator[str]:
    """Say in sentences what a reader of the answer may not expect."""
    if branch.id == NO_BRANCH:
        yield "nothing is indexed yet: cairn index does it"
    elif is_elsewhere:
        here, there = checked_out or "(none)", branch.name or "(none)"
        yield f"branch {here} is not indexed yet, this is {there} as last seen: run cairn index"
    elif not branch.complete:
        yield "the last indexing run did not finish or still goes on: cairn index completes it"
