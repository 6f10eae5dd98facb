"""The data of a project that a process caches between queries; never an answer.

All of it belongs to one state of the index, identified by the change counter of the database in the
snapshot that the query reads. A write by any process makes a new state, and what was cached of the
old one is dropped.

Spellings are cached too. The keyword index has the words of which a name is made, so ``WebSocket``
is two of them and ``websocket`` is one. Only the index knows which of them a code base writes.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.cache import LruCache
from engine.search.lexical import Lexical, alternative_spellings, with_spellings
from engine.search.names import is_indexed, names_in, similar_name
from engine.search.query import Query
from engine.search.similar_names import SimilarNames
from engine.search.weights import MAX_CHUNKS_TO_RESPELL
from engine.store import blobs, files, fulltext, history, models, project, symbols
from engine.store.chunks import count_chunks
from engine.store.connection import Handle
from engine.store.filters import BranchSet, build_filters, register_repeated
from engine.store.models import ModelRow
from engine.store.project import BranchRow
from engine.store.vector_rows import has_few_vectors

if TYPE_CHECKING:
    from engine.search.blob_facts import BlobFacts, KeptFacts
    from engine.search.branch_index import BranchIndex
    from engine.search.branch_vectors import BranchVectors
    from engine.search.branches import Repeated
    from engine.search.name_uses import FindUses, NameUses, UseTerm
    from engine.search.past_changes import PastChanges
    from engine.search.traits import ToldPaths

#: A branch is cached after this many queries in the same state: the first one of a process, or
#: between two writes of a running indexer, is answered sooner without, unless it is large.
_QUERIES_BEFORE_CACHING = 1
_MAX_BRANCHES = 2
_SPELLINGS_BYTES = 1 << 20
_SPELLING_BYTES = 256  # of memory per word
_USES_BYTES = 8 << 20
_REPEATED_BYTES = 32 << 20
_ID_BYTES = 64  # of memory per id in a set
_MAX_SUGGESTED = 3  # names for which a similar one is looked up; that can take 4 ms a name


def spellings_of(
    handle: Handle, alternative: str, branch_index: "BranchIndex | None"
) -> tuple[str, ...]:
    """Return the other spellings of a word or name in an index that are at least as common.

    Rarer ones are left out: BM25 prefers rare terms, so a single ``file_name`` would come before
    all that ``filename`` finds. Words with enough matches are not looked up (0.1 ms each
    otherwise).

    Args:
        handle: A read transaction.
        alternative: A quoted word, or the words of a name as a quoted phrase.
        branch_index: The cached branch, which knows how common words are.
    """
    ways = alternative_spellings(alternative)
    if not ways or not _is_rare(handle, alternative, branch_index):
        return ()
    found = [each for each in ways if fulltext.is_in_chunks(handle, each)]
    return tuple(each for each in found if _is_as_common(handle, each, alternative))


def _is_rare(handle: Handle, alternative: str, branch_index: "BranchIndex | None") -> bool:
    if branch_index:  # scoring the word, which comes next, reads as much
        return branch_index.count_chunks_with(handle, alternative) <= MAX_CHUNKS_TO_RESPELL
    return (
        fulltext.count_chunks_with(handle, alternative, most=MAX_CHUNKS_TO_RESPELL + 1)
        <= MAX_CHUNKS_TO_RESPELL
    )


def _is_as_common(handle: Handle, spelling: str, alternative: str) -> bool:
    number = fulltext.count_chunks_with(handle, spelling)
    return fulltext.count_chunks_with(handle, alternative, most=number + 1) <= number


class Contents(NamedTuple):
    """Counts of what the files of a branch contain, each blob once."""

    symbols: int
    chunks: int
    embeddings: int  # chunks that have a vector


class WordCounts(NamedTuple):
    """How common the words of a query are in a project."""

    chunks: int
    with_word: Mapping[str, int]  # chunks that have it; only words that are there


class MissingName(NamedTuple):
    """A name in a query that nothing in the index has."""

    name: str
    similar: str  # that it may be misspelt for, or ""

    @property
    def note(self) -> str:
        """What to say of it, if anything."""
        return f"nothing has {self.name}, did you mean {self.similar!r}?" if self.similar else ""


class IndexState:
    """A project in one state. Thread-safe."""

    def __init__(
        self,
        changes: int | None,
        branches: list[BranchRow],
        facts_of: "Callable[[Handle], BlobFacts | None]",
        told_paths: "ToldPaths | None",
    ) -> None:
        self.changes = changes
        self._facts_of = facts_of
        #: What is known of paths, once a branch has been cached in this state or an earlier one.
        self.told_paths = told_paths
        self.branches = branches
        self._file_counts: dict[int, int] = {}
        self._query_counts: dict[BranchSet, int] = {}
        self._branch_indexes: dict[BranchSet, BranchIndex] = {}
        self._vectors: dict[BranchSet, BranchVectors | None] = {}
        self._model: ModelRow | None = None
        self._has_read_model = False
        self._embedded: dict[int, float] = {}
        self._contents: dict[int, Contents] = {}
        self._spellings: LruCache[str, tuple[str, ...]] = LruCache(_SPELLINGS_BYTES)
        self._words: LruCache[str, int] = LruCache(_SPELLINGS_BYTES)  # how many chunks have them
        self._has_name: LruCache[str, bool] = LruCache(_SPELLINGS_BYTES)
        self._similar: LruCache[str, str] = LruCache(_SPELLINGS_BYTES)
        self._likenesses: LruCache[str, list[tuple[str, float]]] = LruCache(_SPELLINGS_BYTES)
        self._uses: LruCache[tuple[int, str, str], NameUses] = LruCache(_USES_BYTES)
        self._repeated: LruCache[BranchSet, Repeated] = LruCache(_REPEATED_BYTES)
        self._names: SimilarNames | None = None
        self._chunk_count: int | None = None
        self._past_changes: PastChanges | None = None
        self._history_version: tuple[int, bytes | None] | None = None
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """The memory of the cached branches, names, uses and paths; all else is small."""
        cached = [
            *self._branch_indexes.values(),
            *self._vectors.values(),
            self._past_changes,
            self._names,
        ]
        of_branches = self._uses.size_bytes + self._repeated.size_bytes
        of_branches += self.told_paths.size_bytes if self.told_paths else 0
        return sum(each.size_bytes for each in cached if each) + of_branches

    def file_count(self, handle: Handle, branch_id: int) -> int:
        """Return the number of indexed files of a branch."""
        number = self._file_counts.get(branch_id)
        if number is None:
            number = self._file_counts[branch_id] = files.count_files(handle, branch_id)
        return number

    def model(self, handle: Handle) -> ModelRow | None:
        """Return the model whose vectors are searched."""
        if not self._has_read_model:
            self._model = models.read_current_model(handle)
            self._has_read_model = True
        return self._model

    def embedded_share(self, handle: Handle, branch_id: int) -> float:
        """Return the share of the chunks of a branch that have a vector; 0 without a model."""
        share = self._embedded.get(branch_id)
        if share is None:
            model = self.model(handle)
            share = models.embedded_share(handle, model, branch_id) if model else 0.0
            self._embedded[branch_id] = share
        return share

    def contents(self, handle: Handle, branch_id: int) -> Contents:
        """Return the counts of a branch (the first time, some 30 ms for 100,000 chunks)."""
        contents = self._contents.get(branch_id)
        if contents is None:
            symbols, chunks = self._count_contents(handle, branch_id)
            embeddings, model = 0, self.model(handle)
            if model is not None:
                has_all = self.embedded_share(handle, branch_id) == 1.0
                embeddings = chunks if has_all else models.count_vectors(handle, model, branch_id)
            contents = self._contents[branch_id] = Contents(symbols, chunks, embeddings)
        return contents

    def _count_contents(self, handle: Handle, branch_id: int) -> tuple[int, int]:
        facts = self._facts_of(handle)
        if facts is None:
            return blobs.count_contents(handle, branch_id)
        chosen = facts.of_branch(handle, branch_id)
        return int(facts.symbols[chosen].sum()), int(facts.chunk_counts[chosen].sum())

    def count_words(
        self, handle: Handle, words: Sequence[str], branch_index: "BranchIndex | None" = None
    ) -> WordCounts:
        """Count the chunks, of all branches, that have each of some quoted words.

        Args:
            handle: A read transaction.
            words: The quoted words.
            branch_index: A cached branch, which knows where words are that were searched.
        """
        if self._chunk_count is None:
            self._chunk_count = count_chunks(handle)
        found: dict[str, int] = {}
        for word in words:
            number = self._words.get(word)
            if number is None:
                number = (branch_index or fulltext).count_chunks_with(handle, word)
                self._words.put(word, number, _SPELLING_BYTES + len(word))
            if number:
                found[word] = number
        return WordCounts(self._chunk_count, found)

    def with_index_spellings(
        self, handle: Handle, query: Query, lexical: Lexical, branch_index: "BranchIndex | None"
    ) -> Lexical:
        """Return the words of a query with the spellings of this index added.

        Args:
            handle: A read transaction.
            query: The query.
            lexical: Its words.
            branch_index: What is searched of a cached branch, if whole files of it are.
        """
        spellings: list[str] = []
        for alternative in lexical.alternatives:
            found = self._spellings.get(alternative)
            if found is None:
                found = spellings_of(handle, alternative, branch_index)
                self._spellings.put(alternative, found, _SPELLING_BYTES + len(alternative))
            spellings += found
        return with_spellings(lexical, spellings, query)

    def missing_names(self, handle: Handle, query: Query) -> list[MissingName]:
        """Return the names in a query that no indexed text or path has, on any branch, in order.

        A process looks each up once.
        """
        missing = [name for name in names_in(query) if not self._is_indexed(handle, name)]
        suggested = missing[:_MAX_SUGGESTED]
        return [
            MissingName(name, self._similar_name(handle, name) if name in suggested else "")
            for name in missing
        ]

    def _is_indexed(self, handle: Handle, name: str) -> bool:
        is_there = self._has_name.get(name)
        if is_there is None:
            is_there = is_indexed(handle, name)
            self._has_name.put(name, is_there, _SPELLING_BYTES + len(name))
        return is_there

    def _similar_name(self, handle: Handle, name: str) -> str:
        similar = self._similar.get(name)
        if similar is None:
            similar = similar_name(handle, name)
            self._similar.put(name, similar, _SPELLING_BYTES + len(name))
        return similar

    def similar_names(self, handle: Handle, text: str) -> list[tuple[str, float]]:
        """Return the names that are like a lower-case text with their likeness, of 100."""
        found = self._likenesses.get(text)
        if found is None:
            names = self._names
            if names is None:
                names = self._names = SimilarNames(symbols.read_names(handle))
            found = names.find(text)
            self._likenesses.put(
                text, found, _SPELLING_BYTES + len(text) + 2 * _ID_BYTES * len(found)
            )
        return found

    def uses(
        self,
        handle: Handle,
        branch: BranchRow,
        terms: "Sequence[UseTerm]",
        find_uses: "FindUses",
    ) -> "list[tuple[UseTerm, NameUses]]":
        """Return what filters by use are about on a branch; a process looks each up once."""
        known = {term: self._uses.get((branch.id, term.filter, term.name)) for term in terms}
        wanted = [term for term, uses in known.items() if uses is None]
        if wanted:
            known.update(zip(wanted, find_uses(handle, branch, wanted), strict=True))
        for term in wanted:
            uses = known[term]
            if uses:
                self._uses.put((branch.id, term.filter, term.name), uses, uses.size_bytes)
        return [(term, uses) for term, uses in known.items() if uses]

    def repeated_places(self, handle: Handle, branches: BranchSet) -> "Repeated":
        """Return what stands on several branches in files that differ there."""
        branches = branches._replace(has_repeated=False)
        repeated = self._repeated.get(branches)
        if repeated is None:
            from engine.search.branches import repeated_places  # most queries search one branch

            repeated = repeated_places(handle, branches)
            number = len(repeated.chunks) + len(repeated.symbols)
            self._repeated.put(branches, repeated, _ID_BYTES * (1 + number))
        return repeated

    def prepared(self, handle: Handle, branches: BranchSet) -> BranchSet:
        """Return branches as filters of the same handle need them to find each place once."""
        if branches.is_one:
            return branches
        repeated = self.repeated_places(handle, branches)
        register_repeated(handle, *repeated)
        return branches._replace(has_repeated=bool(repeated.chunks))

    def past_changes(self, handle: Handle) -> "PastChanges | None":
        """Return the commits of the project, or None if none was read."""
        version = history.read_version(handle)  # reading commits makes no new state of the index
        with self._lock:
            if version is None:
                self._past_changes = None
            elif self._past_changes is None or version != self._history_version:
                from engine.search.past_changes import PastChanges  # not every project has any

                self._past_changes = PastChanges()
            self._history_version = version
            return self._past_changes

    def branch_index(self, handle: Handle, branches: BranchSet) -> "BranchIndex | None":
        """Return the cached branches, read when it is worth it, else None."""
        with self._lock:
            branch_index = self._branch_indexes.get(branches)
            if branch_index is None:
                queries = self._query_counts.get(branches, 0)
                self._query_counts[branches] = queries + 1
                is_early = queries < _QUERIES_BEFORE_CACHING and not self._is_large(handle)
                if self.changes is None or is_early:
                    return None
                while len(self._branch_indexes) >= _MAX_BRANCHES:
                    oldest = next(iter(self._branch_indexes))
                    del self._branch_indexes[oldest]
                    self._vectors.pop(oldest, None)
                from engine.search.branch_index import read_branch_index

                hidden: Collection[int] = ()
                if branches.has_repeated:
                    hidden = self.repeated_places(handle, branches).chunks
                filters = build_filters(branches=branches)
                branch_index = read_branch_index(handle, filters, hidden)
                if branches.has_repeated:
                    from engine.search.branches import branches_of_chunks

                    branch_index.branches_of_chunks = branches_of_chunks(handle, branches.ids)
                self.told_paths = self.told_paths or branch_index.told_paths
                branch_index.told_paths = self.told_paths
                self._branch_indexes[branches] = branch_index
            return branch_index

    def _is_large(self, handle: Handle) -> bool:
        """Return whether a first query takes longer than to read the branch and to answer then."""
        model = self.model(handle)
        return model is not None and not has_few_vectors(handle, model)

    def cached_branch_index(self, branches: BranchSet) -> "BranchIndex | None":
        """Return the cached branches if other queries have read them."""
        return self._branch_indexes.get(branches)

    @property
    def cached_branch_indexes(self) -> "list[BranchIndex]":
        """All cached branches."""
        return list(self._branch_indexes.values())

    def vectors(
        self, handle: Handle, branches: BranchSet, model: ModelRow
    ) -> "BranchVectors | None":
        """Return the vectors of cached branches, or None when they are too large to cache."""
        with self._lock:
            branch_index = self._branch_indexes.get(branches)
            if branches not in self._vectors and branch_index:
                from engine.search.branch_vectors import read_branch_vectors  # numpy

                self._vectors[branches] = read_branch_vectors(handle, model, branch_index)
            return self._vectors.get(branches)


class StateCache:
    """Holds the latest state that a query has seen. Thread-safe."""

    def __init__(self) -> None:
        self._state: IndexState | None = None
        self._facts: KeptFacts | None = None
        self._keeps_facts = False
        #: When a query last asked for it, on the monotonic clock.
        self.used_s = 0.0

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the state."""
        state, facts = self._state, self._facts
        return (state.size_bytes if state else 0) + (facts.size_bytes if facts else 0)

    def evict(self) -> None:
        """Drop the state; the next query reads it again."""
        self._state = self._facts = None

    def keep_facts(self) -> None:
        """Keep the facts of blobs once they are asked for, also when the index changes."""
        self._keeps_facts = True

    def facts(self, handle: Handle) -> "BlobFacts | None":
        """Return the facts of blobs in the state that a read transaction sees, if they are kept."""
        if not self._keeps_facts:
            return None
        facts = self._facts
        if facts is None:
            from engine.search.blob_facts import KeptFacts  # numpy

            facts = self._facts = KeptFacts()
        return facts.get(handle)

    def known_facts(self, handle: Handle) -> "BlobFacts | None":
        """Return the same if they are known of a state much like it: it takes some milliseconds."""
        facts = self._facts
        return facts.get_soon(handle) if facts else None

    def state(self, handle: Handle) -> IndexState:
        """Return the state that a read transaction sees."""
        self.used_s = time.monotonic()
        changes = project.count_changes(handle)
        state = self._state
        if state is None or state.changes != changes or changes is None:
            if state is not None:
                self.keep_facts()
            told_paths = state.told_paths if state else None
            branches = project.read_branches(handle)
            state = self._state = IndexState(changes, branches, self.known_facts, told_paths)
        return state
