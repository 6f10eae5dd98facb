"""The branches that a query searches, and on which of them a place stands.

Of several branches, each file is searched once for all that have it with the same contents. Where
they have a path with different contents, the places that did not change are searched once too. So
``branch:main -branch:feature`` finds only what the two do not share.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from itertools import groupby
from typing import NamedTuple

from engine.errors import InvalidQueryError, NotFoundError
from engine.records import Coverage
from engine.search.query import FilterTerm, Query
from engine.search.rank import Candidate
from engine.search_records import UNFINISHED, SearchRequest
from engine.source.git import why_no_branch
from engine.source.reader import is_folder_there
from engine.store import branches as stored
from engine.store.branches import Version
from engine.store.connection import Handle
from engine.store.filters import BranchSet
from engine.store.project import BranchRow

NO_BRANCH = -1  # the id of a branch that has no row
_WILDCARDS = frozenset("*?[")  # which no name of a branch can have


class Branches(NamedTuple):
    """The branches to search."""

    wanted: tuple[BranchRow, ...]  # the one checked out first
    refused: tuple[BranchRow, ...] = ()  # what stands on these too is left out
    is_named: bool = False  # the query says which

    @property
    def first(self) -> BranchRow:
        """The branch that is searched, or the first of several."""
        return self.wanted[0]

    @property
    def is_one(self) -> bool:
        """Whether one branch is searched, all of it."""
        return self.ids.is_one

    @property
    def ids(self) -> BranchSet:
        """Their ids."""
        return BranchSet(
            tuple(each.id for each in self.wanted), tuple(each.id for each in self.refused)
        )


def chosen_branches(
    known: Sequence[BranchRow], request: SearchRequest, query: Query, checked_out: str
) -> Branches:
    """Return the branches that a query names, else the one checked out, or the latest.

    Args:
        known: The branches of the index, the latest first.
        request: The request; its branch and those of the query must both hold.
        query: The query.
        checked_out: The branch that is checked out.

    Raises:
        InvalidQueryError: The request and the query name different branches.
        NotFoundError: A branch was never indexed.
    """
    terms = query.values("branch")
    refused = [each for term in terms if term.negated for each in _named(known, term)]
    terms = tuple(term for term in terms if not term.negated)
    if request.branch is None and not terms:
        wanted = [chosen_branch(known, None, checked_out)]
        return Branches(tuple(wanted), tuple(dict.fromkeys(refused)))
    of_query = {each.id for term in terms for each in _named(known, term)}
    wanted = list(known)
    if request.branch is not None:
        wanted = _named(known, FilterTerm(request.branch, -1, False))
    if terms:
        wanted = [each for each in wanted if each.id in of_query]
    if not wanted:
        raise InvalidQueryError(
            f"the branch {request.branch!r} of the request and {terms[0].value!r} of the query"
            " cannot both be searched",
            position=terms[0].position,
        )
    left = [each for each in wanted if each not in refused] or wanted[:1]
    left.sort(key=lambda each: each.name != checked_out)
    return Branches(tuple(left), tuple(dict.fromkeys(refused)), is_named=True)


def _named(known: Sequence[BranchRow], term: FilterTerm) -> list[BranchRow]:
    """Return the branches that have a name, or whose names fit a glob.

    Raises:
        NotFoundError: There is none.
    """
    if _WILDCARDS.isdisjoint(term.value):
        found = [each for each in known if each.name == term.value]
    else:
        found = [each for each in known if fnmatchcase(each.name, term.value)]
    if found:
        return found
    place = {} if term.position < 0 else {"position": term.position}
    raise NotFoundError(
        f"branch {term.value!r} is not indexed",
        hint="indexed: " + ", ".join(each.name or "(none)" for each in known),
        branch=term.value,
        **place,
    )


def chosen_branch(
    branches: Sequence[BranchRow], requested: str | None, checked_out: str
) -> BranchRow:
    """Return the requested branch, the one checked out, or the latest; one without a row for none.

    Raises:
        NotFoundError: The requested branch was never indexed.
    """
    if requested is not None:
        return _named(branches, FilterTerm(requested, -1, False))[0]
    for branch in branches:
        if branch.name == checked_out:
            return branch
    if branches:
        return branches[0]
    return BranchRow(NO_BRANCH, checked_out, None, 0, complete=False, indexed_at_ms=None)


def coverage_of(branch: BranchRow, indexed: int, embedded: float, *, is_complete: bool) -> Coverage:
    """Return how much of a branch an answer covers.

    Args:
        branch: The branch.
        indexed: The number of its indexed files.
        embedded: The share of its chunks that have vectors.
        is_complete: Whether no indexing is under way, and it is the branch that was meant.
    """
    is_counted = branch.found_files > 0 or branch.complete
    return Coverage.of(
        files=indexed,
        found=branch.found_files if is_counted else None,
        embedded=embedded,
        complete=is_complete,
    )


def together(coverages: Sequence[Coverage]) -> Coverage:
    """Return the coverage of several branches; of the vectors that of the least embedded one."""
    found = [each.found for each in coverages if each.found is not None]
    return Coverage.of(
        files=sum(each.files for each in coverages),
        found=sum(found) if len(found) == len(coverages) else None,
        embedded=min(each.embedded for each in coverages),
        complete=all(each.complete for each in coverages),
    )


def branch_notes(
    branch: BranchRow, checked_out: str, root: str, *, is_elsewhere: bool
) -> Iterator[str]:
    """Yield sentences on the limits of an answer."""
    if branch.id == NO_BRANCH:
        yield "nothing is indexed yet: run cairn index"
    elif is_elsewhere and not checked_out:
        this = f"this is {branch.name} as last indexed"
        if is_folder_there(root, 1):
            yield f"{why_no_branch(root)}, {this}: run cairn index"
        else:
            yield f"the folder is gone, {this}"
    elif is_elsewhere:
        there = branch.name or "(none)"
        yield (
            f"branch {checked_out} is not indexed yet, this is {there} as last indexed:"
            " run cairn index"
        )
    elif not branch.complete:
        yield UNFINISHED


class Repeated(NamedTuple):
    """Places that stand on an earlier or on a refused branch too, by their ids."""

    chunks: frozenset[int]
    symbols: frozenset[int]


def repeated_places(handle: Handle, branches: BranchSet) -> Repeated:
    """Return the chunks, with their symbols, that stand on an earlier or on a refused branch too.

    Only in files whose contents differ between branches; equal ones are told apart by their files.
    """
    versions, pieces = _changed(handle, [*branches.ids, *branches.refused])
    # A chunk of contents with two paths may be asked for by either.
    of_paths = stored.read_repeated_blobs(handle, branches.ids)
    rank = {id_: at for at, id_ in enumerate(branches.ids)}
    repeated: list[stored.Piece] = []
    for _, group in groupby(versions, key=lambda each: each.path):
        same_path = list(group)
        refused = {
            piece.hash
            for each in same_path
            if each.branch_id in branches.refused
            for piece in pieces.get(each.blob_id, ())
        }
        earlier: dict[tuple[str, bool], set[bytes]] = {}
        for each in _first_of_each(same_path, rank):
            seen = earlier.setdefault(each.kind, set())
            own = pieces.get(each.blob_id, ())
            known = refused if each.blob_id in of_paths else refused | seen
            repeated += [piece for piece in own if piece.hash in known]
            seen.update(piece.hash for piece in own)
    return Repeated(
        frozenset(piece.chunk_id for piece in repeated),
        frozenset(
            id_
            for piece in repeated
            for id_ in range(piece.first_symbol_id, piece.first_symbol_id + piece.symbol_count)
        ),
    )


def _changed(
    handle: Handle, branch_ids: Sequence[int]
) -> tuple[list[Version], dict[int, list[stored.Piece]]]:
    """Return the files whose contents differ between branches, and the chunks of each blob."""
    versions = stored.read_versions(handle, branch_ids)
    pieces: dict[int, list[stored.Piece]] = {}
    for piece in stored.read_pieces(handle, {each.blob_id for each in versions}):
        pieces.setdefault(piece.blob_id, []).append(piece)
    return versions, pieces


def branches_of_chunks(handle: Handle, branch_ids: Sequence[int]) -> dict[int, frozenset[int]]:
    """Return the branches on which the chunks stand whose files differ between branches.

    A chunk whose contents have two paths is left out: where it stands depends on the path.
    """
    versions, pieces = _changed(handle, branch_ids)
    of_paths = stored.read_repeated_blobs(handle, branch_ids)
    found: dict[int, frozenset[int]] = {}
    known: dict[frozenset[int], frozenset[int]] = {}  # equal ones once
    for _, group in groupby(versions, key=lambda each: each.path):
        there: dict[bytes, set[int]] = {}
        blobs: set[int] = set()
        for each in group:
            blobs.add(each.blob_id)
            for piece in pieces.get(each.blob_id, ()):
                there.setdefault(piece.hash, set()).add(each.branch_id)
        for blob_id in blobs - of_paths:
            for piece in pieces.get(blob_id, ()):
                ids = frozenset(there[piece.hash])
                found[piece.chunk_id] = known.setdefault(ids, ids)
    return found


def _first_of_each(versions: Sequence[Version], rank: dict[int, int]) -> list[Version]:
    """Return the first version with each contents on the searched branches, in their order."""
    first: dict[int, Version] = {}
    searched = [each for each in versions if each.branch_id in rank]
    for each in sorted(searched, key=lambda version: rank[version.branch_id]):
        first.setdefault(each.blob_id, each)
    return list(first.values())


class Standing(NamedTuple):
    """Where a hit stands."""

    names: tuple[str, ...]  # of the searched branches, the one whose file is shown first
    is_checked_out: bool  # its file is one on disk


def standing_of(
    handle: Handle,
    candidates: Sequence[Candidate],
    branches: Branches,
    checked_out: str,
    known: Mapping[int, frozenset[int]],
) -> list[Standing]:
    """Return, for each candidate, where it stands; without names if one branch is searched.

    Args:
        handle: A read transaction.
        candidates: The places.
        branches: The searched branches.
        checked_out: The one that is checked out.
        known: What ``branches_of_chunks`` returned of them, if it was asked.
    """
    if branches.is_one:
        return [Standing((), branches.first.name == checked_out)] * len(candidates)
    ids = branches.ids.ids
    places = [(each.chunk.id, each.chunk.file_id) for each in candidates]
    unknown = [place for place in places if place[0] not in known]
    found = dict(zip(unknown, stored.read_branches_of(handle, unknown, ids), strict=True))
    rest = [place for place in places if place not in found]
    of_blobs = stored.read_branches_of_blobs(handle, [file_id for _, file_id in rest], ids)
    for place, (of_file, there) in zip(rest, of_blobs, strict=True):
        found[place] = of_file, there | known[place[0]]
    return [_standing(*found[place], branches, checked_out) for place in places]


def _standing(of_file: int, ids: Set[int], branches: Branches, checked_out: str) -> Standing:
    there = [each for each in branches.wanted if each.id in ids]
    there.sort(key=lambda each: each.id != of_file)
    names = tuple(each.name for each in there)
    return Standing(names, names[:1] == (checked_out,))
