"""Names that code parts in another way than a question does: ``GitHub`` and ``github``.

The keyword index has the words that a name is made of, so ``WebSocket`` is two of them and
``websocket`` is one. Which one a code base writes, only its index knows.
"""

from typing import TYPE_CHECKING

from engine.search.lexical import other_ways
from engine.store import fulltext
from engine.store.connection import Handle

if TYPE_CHECKING:
    from engine.search.tree import Tree

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
