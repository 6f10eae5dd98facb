"""Records of the filters by use, and the function that the searcher is given to ask with.

Here they are apart from what is done with them, so that ``cache`` can hold them.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from engine.errors import InvalidQueryError
from engine.record_class import record
from engine.reference_records import Certainty
from engine.search.query import Query
from engine.search.query_pieces import BY_USE
from engine.search_records import MAX_NAME_CHARS
from engine.store.connection import Handle
from engine.store.project import BranchRow

#: Different names in the filters of a query; the files of each are read.
MAX_NAMES = 8


class UseTerm(NamedTuple):
    """A filter by use."""

    filter: str  # one of ``BY_USE``
    name: str
    is_negated: bool


class UsedAt(NamedTuple):
    """Where a name is used: bytes of the text, and how certain it is that the name is meant."""

    start: int
    end: int
    certainty: Certainty
    symbol_id: int = 0  # of the innermost definition around it; 0 outside of all


@record
class NameUses:
    """Where a branch does with a name what a filter says."""

    places: Mapping[int, Sequence[UsedAt]]  # by chunk, in text order
    chunk_ids: frozenset[int]  # that pass
    symbol_places: Mapping[int, Sequence[UsedAt]]  # by definition with such a place in it
    innermost: frozenset[int]  # of these definitions
    file_ids: frozenset[int] = frozenset()
    is_known: bool = True  # the name has a definition or a use
    is_cut: bool = False
    notes: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        lists = [*self.places.values(), *self.symbol_places.values()]
        return 1000 + 200 * (len(lists) + len(self.chunk_ids)) + 150 * sum(map(len, lists))


def uses_together(
    of_branches: "Sequence[list[tuple[UseTerm, NameUses]]]",
) -> "list[tuple[UseTerm, NameUses]]":
    """Return the uses on several branches together; of equal places those on the first."""
    if len(of_branches) == 1:
        return of_branches[0]
    return [
        (same[0][0], _together([uses for _, uses in same]))
        for same in zip(*of_branches, strict=True)
    ]


def _together(found: Sequence[NameUses]) -> NameUses:
    return NameUses(
        places=ChainMap(*[dict(each.places) for each in found]),
        chunk_ids=frozenset().union(*[each.chunk_ids for each in found]),
        symbol_places=ChainMap(*[dict(each.symbol_places) for each in found]),
        innermost=frozenset().union(*[each.innermost for each in found]),
        file_ids=frozenset().union(*[each.file_ids for each in found]),
        is_known=any(each.is_known for each in found),
        is_cut=any(each.is_cut for each in found),
        notes=tuple(dict.fromkeys(note for each in found for note in each.notes)),
    )


#: Finds the uses that filters are about; what is injected.
FindUses = Callable[[Handle, BranchRow, Sequence[UseTerm]], Sequence[NameUses]]


def use_terms(query: Query) -> list[UseTerm]:
    """Return the filters by use of a query, each once.

    Raises:
        InvalidQueryError: A name is too long, or they name too many.
    """
    terms: list[UseTerm] = []
    for name, term in query.filters:
        if name not in BY_USE:
            continue
        if len(term.value) > MAX_NAME_CHARS:
            raise InvalidQueryError(
                f"the name has {len(term.value)} characters, at most {MAX_NAME_CHARS} are allowed",
                position=term.position,
            )
        terms.append(UseTerm(name, term.value.strip(), term.negated))
        if len({each.name for each in terms}) > MAX_NAMES:
            raise InvalidQueryError(
                f"the filters {', '.join(f'{each}:' for each in BY_USE)} can have at most"
                f" {MAX_NAMES} different names",
                position=term.position,
            )
    return list(dict.fromkeys(terms))
