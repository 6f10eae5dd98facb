"""Which branch a question is put to, and what to know of it."""

from collections.abc import Iterator, Sequence

from engine.errors import InvalidQueryError, NotFoundError
from engine.records import Coverage, SearchRequest
from engine.search.query import Query
from engine.store.project import BranchRow

NO_BRANCH = -1  # the id of a branch that has no row


def branch_asked(request: SearchRequest, query: Query) -> str | None:
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


def chosen_branch(branches: Sequence[BranchRow], asked: str | None, checked_out: str) -> BranchRow:
    """Give the branch asked for, the one checked out, or the latest; one without a row for none.

    Raises:
        NotFoundError: The branch that was asked for was never indexed.
    """
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


def coverage_of(branch: BranchRow, indexed: int, embedded: float, *, is_complete: bool) -> Coverage:
    """Say how much of a branch an answer could see.

    Args:
        branch: The branch.
        indexed: Its files that are indexed.
        embedded: The share of its chunks that have vectors.
        is_complete: Nothing is under way, and it is the branch that was meant.
    """
    share = min(1.0, indexed / branch.found_files) if branch.found_files else 1.0
    return Coverage(
        files=indexed,
        indexed=share if branch.found_files or branch.complete else 0.0,
        embedded=embedded,
        complete=is_complete,
    )


def branch_notes(branch: BranchRow, checked_out: str, *, is_elsewhere: bool) -> Iterator[str]:
    """Say in sentences what a reader of the answer may not expect."""
    if branch.id == NO_BRANCH:
        yield "nothing is indexed yet: cairn index does it"
    elif is_elsewhere:
        here, there = checked_out or "(none)", branch.name or "(none)"
        yield f"branch {here} is not indexed yet, this is {there} as last seen: run cairn index"
    elif not branch.complete:
        yield "the last indexing run did not finish or still goes on: cairn index completes it"
