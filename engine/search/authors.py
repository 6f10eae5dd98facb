"""The filter ``author:`` of code: the files that an author has changed, by the stored commits.

A file counts under its former names too. Names are compared as those of commits are: a part of
``Ada Example <ada@example.org>``, in any case.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from engine.did_you_mean import did_you_mean
from engine.search.query import FilterTerm, Query
from engine.store import history
from engine.store.connection import Handle
from engine.store.filters import IdRule


class AuthoredFiles(NamedTuple):
    """What the filters by author let pass, and what to know about them."""

    rules: tuple[IdRule, ...]
    notes: tuple[str, ...]


def authored_files(handle: Handle, query: Query, branch_ids: Sequence[int]) -> AuthoredFiles:
    """Return the rules of the filters by author of a query; of several wanted ones, any counts.

    Args:
        handle: A read transaction.
        query: The query, with such a filter.
        branch_ids: The branches with the files.
    """
    terms = query.values("author")
    known = history.read_authors(handle)
    rules: list[IdRule] = []
    for negated in (False, True):
        wanted = [term for term in terms if term.negated is negated]
        if wanted:
            authors = {author for term in wanted for author in _matching(known, term.value)}
            ids = history.read_files_by(handle, branch_ids, sorted(authors))
            rules.append(IdRule(negated, files=ids))
    return AuthoredFiles(tuple(rules), tuple(_notes(handle, terms, known)))


def _matching(known: Collection[str], asked: str) -> list[str]:
    part = asked.casefold()
    return [author for author in known if part in author.casefold()]


def _notes(handle: Handle, terms: Collection[FilterTerm], known: Collection[str]) -> list[str]:
    state = history.read_state(handle)
    if state is None or not known:
        why = state.note if state and state.note else "a job reads it after cairn index"
        return [f"author: knows no commit, as no history is read: {why}"]
    notes = [f"author: knows the stored commits alone: {state.note}"] if state.note else []
    return notes + unknown_authors((term.value for term in terms), known)


def unknown_authors(asked: Iterable[str], known: Collection[str]) -> list[str]:
    """Say which of these no stored commit is by, each with the closest name.

    Args:
        asked: Parts of names or addresses.
        known: All authors, as ``read_authors`` gives them.
    """
    names = [author.partition(" <")[0] for author in known]
    return [
        f"no stored commit is by {part!r}{did_you_mean(part, names)}"
        for part in asked
        if not _matching(known, part)
    ]
