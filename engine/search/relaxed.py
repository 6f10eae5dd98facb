"""Looser readings of a query that found nothing: phrases by their words, and common words."""

from collections.abc import Iterator
from dataclasses import replace

from engine.search.lexical import Lexical, lexical_of
from engine.search.query import Query

_MAX_QUOTED_CHARS = 60


def relaxed(query: Query) -> Iterator[tuple[Query, Lexical]]:
    """Yield looser readings, the least loose first, each with a note that says so.

    Filters and what is excluded stay. A query of phrases alone asks for just these.

    Args:
        query: A query without patterns that found nothing.
    """
    required = [term for term in query.phrases if not term.negated]
    if required and (query.mentions or any(not term.negated for term in query.words)):
        shown = " and ".join(f'"{term.text[:_MAX_QUOTED_CHARS]}"' for term in required[:3])
        query = replace(
            query,
            phrases=tuple(term for term in query.phrases if term.negated),
            mentions=(*query.mentions, *required),
            notes=(*query.notes, f"nothing has {shown}, so its words were searched for"),
        )
        yield query, lexical_of(query)
    elif required:
        return
    found, lexical = lexical_of(query).words, lexical_of(query, with_common=True)
    if lexical.words != found:
        note = "only common words of the query were found"
        yield replace(query, notes=(*query.notes, note)), lexical
