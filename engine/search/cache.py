"""What a process remembers of a project between questions; never an answer.

All of it belongs to one state of the index, told by ``project.changes`` in the very snapshot that
the question reads. Whoever writes, in this process or another, makes a new state, and what was
remembered of the old one is dropped.

Names that code parts in another way than a question does: ``GitHub`` and ``github``.

The keyword index has the words that a name is made of, so ``WebSocket`` is two of them and
``websocket`` is one. Which one a code base writes, only its index knows.
"""

import threading
from typing import TYPE_CHECKING, NamedTuple

from engine.cache import Recent
from engine.search.lexical import Lexical, other_ways, with_spellings
from engine.search.query import Query
from engine.store import blobs, files, fulltext, models, project
from engine.store.connection import Handle
from engine.store.filters import Filters, build_filters
from engine.store.models import ModelRow
from engine.store.project import BranchRow

if TYPE_CHECKING:
    from engine.search.branch_index import Tree
    from engine.search.meaning import TreeVectors

_FEW = 50  # chunks; who finds more has found how the code base writes it


def spellings_of(handle: Handle, alternative: str, tree: "Tree | None") -> tuple[str, ...]:
    """Give what an index writes instead of a word or a name of a question, at least as often.

    What is rarer than the word itself is left out: BM25 takes what is rare for what is meant, so a
    single ``file_name`` would come before all that ``filename`` finds. Words that find enough are
    not looked up (0.1 ms each, else).

    Args:
        handle: A read transaction.
        alternative: A quoted word, or the words of a name as a quoted phrase.
        tree: What is kept of the branch, which knows how common words are.
    """
    ways = other_ways(alternative)
    if not ways or not _is_rare(handle, alternative, tree):
        return ()
    found = [each for each in ways if fulltext.is_in_chunks(handle, each)]
    return tuple(each for each in found if _is_as_common(handle, each, alternative))


def _is_rare(handle: Handle, alternative: str, tree: "Tree | None") -> bool:
    if tree:
        return tree.is_in_few(handle, alternative, _FEW)
    return fulltext.count_chunks_with(handle, alternative, most=_FEW + 1) <= _FEW


def _is_as_common(handle: Handle, spelling: str, alternative: str) -> bool:
    number = fulltext.count_chunks_with(handle, spelling)
    return fulltext.count_chunks_with(handle, alternative, most=number + 1) <= number


#: A branch is read as a whole when so many questions have met the same state of it: the first one
#: of a process, or between two writes of a running indexer, is answered sooner without.
_QUESTIONS_BEFORE = 1
_MOST_TREES = 2
_SPELLINGS_BYTES = 1 << 20
_SPELLING_BYTES = 256  # of memory a word


class Contents(NamedTuple):
    """How much files of a branch hold, each blob once."""

    symbols: int
    chunks: int
    embeddings: int  # chunks that have a vector


class State:
    """A project in one state. For any number of threads."""

    def __init__(self, changes: int | None, branches: list[BranchRow]) -> None:
        self.changes = changes
        self.branches = branches
        self._file_counts: dict[int, int] = {}
        self._filters: dict[int, Filters] = {}
        self._questions: dict[int, int] = {}
        self._trees: dict[int, Tree] = {}
        self._vectors: dict[int, TreeVectors | None] = {}
        self._model: ModelRow | None = None
        self._knows_model = False
        self._embedded: dict[int, float] = {}
        self._contents: dict[int, Contents] = {}
        self._spellings: Recent[str, tuple[str, ...]] = Recent(_SPELLINGS_BYTES)
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """What the branches take that are kept as a whole; all else is little."""
        kept = [*self._trees.values(), *self._vectors.values()]
        return sum(each.size_bytes for each in kept if each)

    def file_count(self, handle: Handle, branch_id: int) -> int:
        """Give the number of indexed files of a branch."""
        number = self._file_counts.get(branch_id)
        if number is None:
            number = self._file_counts[branch_id] = files.count_files(handle, branch_id)
        return number

    def model(self, handle: Handle) -> ModelRow | None:
        """Give the model whose vectors answer."""
        if not self._knows_model:
            self._model = models.read_current_model(handle)
            self._knows_model = True
        return self._model

    def embedded_share(self, handle: Handle, branch_id: int) -> float:
        """Give the share of the chunks of a branch that have a vector; 0 without a model."""
        share = self._embedded.get(branch_id)
        if share is None:
            model = self.model(handle)
            share = models.embedded_share(handle, model, branch_id) if model else 0.0
            self._embedded[branch_id] = share
        return share

    def contents(self, handle: Handle, branch_id: int) -> Contents:
        """Give how much files of a branch hold (100,000 chunks in some 30 ms, the first time)."""
        contents = self._contents.get(branch_id)
        if contents is None:
            symbols, chunks = blobs.count_contents(handle, branch_id)
            embeddings, model = 0, self.model(handle)
            if model is not None:
                has_all = self.embedded_share(handle, branch_id) == 1.0
                embeddings = chunks if has_all else models.count_vectors(handle, model, branch_id)
            contents = self._contents[branch_id] = Contents(symbols, chunks, embeddings)
        return contents

    def respelled(
        self, handle: Handle, query: Query, lexical: Lexical, tree: "Tree | None"
    ) -> Lexical:
        """Give the words of a query, also as this index writes them.

        Args:
            handle: A read transaction.
            query: The query.
            lexical: Its words.
            tree: What is kept of the branch that is asked, if all of it is.
        """
        spellings: list[str] = []
        for alternative in lexical.alternatives:
            found = self._spellings.get(alternative)
            if found is None:
                found = spellings_of(handle, alternative, tree)
                self._spellings.put(alternative, found, _SPELLING_BYTES + len(alternative))
            spellings += found
        return with_spellings(lexical, spellings, query)

    def no_filters(self, branch_id: int) -> Filters:
        """Give the conditions that only the branch sets."""
        filters = self._filters.get(branch_id)
        if filters is None:
            filters = self._filters[branch_id] = build_filters(branch_id=branch_id)
        return filters

    def tree(self, handle: Handle, branch_id: int) -> "Tree | None":
        """Give the branch as a whole; None while it is not worth reading."""
        with self._lock:
            tree = self._trees.get(branch_id)
            if tree is None:
                questions = self._questions.get(branch_id, 0)
                self._questions[branch_id] = questions + 1
                if self.changes is None or questions < _QUESTIONS_BEFORE:
                    return None
                while len(self._trees) >= _MOST_TREES:
                    oldest = next(iter(self._trees))
                    del self._trees[oldest]
                    self._vectors.pop(oldest, None)
                from engine.search.branch_index import tree_of

                tree = self._trees[branch_id] = tree_of(handle, branch_id)
            return tree

    def kept_tree(self, branch_id: int) -> "Tree | None":
        """Give the branch as a whole if it was read for others."""
        return self._trees.get(branch_id)

    def vectors(
        self, handle: Handle, branch_id: int, model: ModelRow, tree: "Tree"
    ) -> "TreeVectors | None":
        """Give the vectors of a branch that is kept; None when they are too many to be kept."""
        with self._lock:
            if branch_id not in self._vectors:
                from engine.search.meaning import read_tree_vectors  # numpy

                self._vectors[branch_id] = read_tree_vectors(handle, model, tree)
            return self._vectors[branch_id]


class Memory:
    """Holds the latest state that a question has met. For any number of threads."""

    def __init__(self) -> None:
        self._state: State | None = None

    @property
    def size_bytes(self) -> int:
        """What is held, more or less."""
        state = self._state
        return state.size_bytes if state else 0

    def let_go(self) -> None:
        """Hold nothing, until the next question."""
        self._state = None

    def state(self, handle: Handle) -> State:
        """Give the state that a read transaction sees."""
        changes = project.count_changes(handle)
        state = self._state
        if state is None or state.changes != changes or changes is None:
            state = self._state = State(changes, project.read_branches(handle))
        return state
