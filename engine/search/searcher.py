"""From a request to an answer: candidates, ranking, snippets, freshness and coverage."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from engine.config import LARGEST_FILE_BYTES
from engine.errors import (
    InvalidInputError,
    InvalidPathError,
    InvalidQueryError,
    NotFoundError,
    UnavailableError,
)
from engine.records import Coverage, FileStat, Hit, Mode, SearchAnswer, SearchRequest
from engine.search.candidates import find_candidates
from engine.search.query import Query, parse_query
from engine.search.rank import Candidate
from engine.search.selection import filters_of
from engine.search.snippet import cut_to_tokens, snippet_of
from engine.source.reader import TreeReader
from engine.store import blobs, chunks, files, project
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.store.connection import Handle, Store
from engine.store.filters import Filters
from engine.store.project import BranchRow
from engine.syntax.packing import unpack_text
from engine.syntax.terms import words_of

MAX_LIMIT = 100
NO_BRANCH = -1  # the id of a branch that has no row


class Searcher:
    """Answers questions from one project's store.

    Args:
        store: The project's database.
        project_name: What hits say as their project.
        root: The resolved root, for freshness.
    """

    def __init__(self, store: Store, project_name: str, root: str) -> None:
        self._store = store
        self._project_name = project_name
        self._root = root

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
        with self._store.read() as handle:
            branch = self.branch(handle, _branch_asked(request, query), checked_out)
            filters = filters_of(handle, query, request, branch.id)
            candidates, is_capped = find_candidates(handle, query, request.mode, filters)
            shown = candidates[: request.limit]
            owners = _owners(handle, shown, filters)
            hits, is_cut = self._hits(
                handle, shown, request, owners, compare=branch.name == checked_out
            )
            coverage = self.coverage(handle, branch)
        asked = _branch_asked(request, query)
        is_elsewhere = asked is None and branch.name != checked_out
        return SearchAnswer(
            query=request.query,
            mode=request.mode,
            took_ms=(time.perf_counter() - started) * 1000,
            total=len(candidates),
            truncated=is_cut or is_capped or len(candidates) > len(shown),
            coverage=replace(coverage, complete=coverage.complete and not is_elsewhere),
            hits=tuple(hits),
            notes=tuple(_notes(branch, checked_out, is_elsewhere=is_elsewhere)),
        )

    def branch(self, handle: Handle, asked: str | None, checked_out: str) -> BranchRow:
        """Give the branch to search: the one asked for, the one checked out, or the latest.

        Raises:
            NotFoundError: The branch that was asked for was never indexed.
        """
        branches = project.read_branches(handle)
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

    def coverage(self, handle: Handle, branch: BranchRow) -> Coverage:
        """Say how much of the branch the index holds."""
        indexed = files.count_files(handle, branch.id)
        share = min(1.0, indexed / branch.found_files) if branch.found_files else 1.0
        return Coverage(
            files=indexed,
            indexed=share if branch.found_files or branch.complete else 0.0,
            embedded=0.0,
            complete=branch.complete,
        )

    def _hits(
        self,
        handle: Handle,
        candidates: Sequence[Candidate],
        request: SearchRequest,
        owners: Mapping[int, SymbolFacts],
        *,
        compare: bool,
    ) -> tuple[list[Hit], bool]:
        """Make hits, with snippets inside the token budget; True when something was cut."""
        texts = blobs.read_texts(handle, sorted({c.chunk.blob_id for c in candidates}))
        identities = files.read_identities(handle, [c.chunk.file_id for c in candidates])
        budget = request.max_tokens
        is_cut = False
        hits = []
        with ExitStack() as stack:
            reader = None
            if compare:
                reader = _reader_of(self._root, stack)
            for candidate in candidates:
                chunk = candidate.chunk
                snippet = ""
                if request.context:
                    text = unpack_text(texts[chunk.blob_id], chunk.byte_end)
                    snippet = snippet_of(text, chunk.byte_start, chunk.byte_end)
                if budget is not None:
                    whole = snippet
                    snippet, cost = cut_to_tokens(snippet, budget)
                    budget -= cost
                    is_cut = is_cut or snippet != whole
                owner = owners.get(chunk.id)
                hits.append(
                    Hit(
                        project=self._project_name,
                        path=chunk.path,
                        line_start=chunk.line_start,
                        line_end=chunk.line_end,
                        language=chunk.language,
                        symbol=owner.qualified_name if owner else None,
                        kind=owner.kind if owner else None,
                        signature=owner.signature if owner else None,
                        score=round(candidate.score, 4),
                        why=tuple(candidate.why),
                        fresh=_is_fresh(reader, chunk, identities) if compare else None,
                        snippet=snippet,
                    )
                )
        return hits, is_cut


def _checked(request: SearchRequest) -> Query:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit is {request.limit}, wanted 1 to {MAX_LIMIT}", field="limit")
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInputError(
            f"max_tokens is {request.max_tokens}, wanted 1 or more", field="max_tokens"
        )
    query = parse_query(request.query)
    terms = (*query.words, *query.phrases, *query.patterns)
    wanted_names = [term for term in query.values("sym") if not term.negated]
    if not wanted_names and all(term.negated for term in terms):
        raise InvalidQueryError(
            "the query has nothing to search for",
            position=0,
            hint="give a word, a phrase or sym: to find; a leading - only leaves out",
        )
    for phrase in query.phrases:
        if not phrase.negated and not words_of(phrase.text):
            raise InvalidQueryError(
                f"the phrase {phrase.text!r} has no word to look up",
                position=phrase.position,
                hint="add a neighbouring word of two letters or more",
            )
    if request.mode is Mode.REGEX or query.patterns:
        raise UnavailableError(
            "searching by pattern is not built yet", hint="search for the words of the pattern"
        )
    if request.mode is Mode.MEANING:
        raise UnavailableError(
            "this index has no vectors", hint="use --mode keyword, which needs none"
        )
    return query


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


def _reader_of(root: str, stack: ExitStack) -> TreeReader | None:
    """Open the root to compare with; None when it is gone or closed, and nothing is fresh then."""
    try:
        return stack.enter_context(TreeReader(root))
    except InvalidPathError:
        return None


def _is_fresh(
    reader: TreeReader | None, chunk: ChunkFacts, identities: Mapping[int, tuple[FileStat, bytes]]
) -> bool:
    """Compare a file with what was indexed: by its stat, and by its hash when that differs."""
    stat, content_hash = identities[chunk.file_id]
    now = reader.stat_of(chunk.path) if reader else None
    if reader is None or now is None:
        return False
    return now == stat or reader.hash_of(chunk.path, LARGEST_FILE_BYTES) == content_hash


def _owners(
    handle: Handle, candidates: Sequence[Candidate], filters: Filters
) -> dict[int, SymbolFacts]:
    """Give the symbol that each hit shows.

    It is the one that the question names, else the first that passes the filters on symbols, else
    the one that the chunk is a part of.
    """
    open_ones = [candidate.chunk for candidate in candidates if candidate.symbol is None]
    passing: dict[int, SymbolFacts] = {}
    if filters.symbol_condition != "TRUE":
        passing = chunks.read_passing_symbols(handle, [c.id for c in open_ones], filters)
    wanted = {chunk.symbol_id for chunk in open_ones if chunk.symbol_id is not None}
    read = chunks.read_symbols(handle, wanted)
    owners = {}
    for candidate in candidates:
        chunk = candidate.chunk
        owner = candidate.symbol or passing.get(chunk.id)
        if owner is None and chunk.symbol_id is not None:
            owner = read.get(chunk.symbol_id)
        if owner:
            owners[chunk.id] = owner
    return owners
