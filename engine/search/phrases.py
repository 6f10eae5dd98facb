"""Exact phrases: what the keyword index found by words is checked against the text."""

from engine.search.query import Case, Query


def holds_phrases(text: str, query: Query) -> bool:
    """Say whether a text holds every quoted phrase, and none of the negated ones.

    ``case:auto`` compares exactly when the phrase has an upper-case letter. Runs of white space
    count as one space, so that a phrase is found across a line break.
    """
    spaced = " ".join(text.split())
    folded = spaced.lower()
    for phrase in query.phrases:
        wanted = " ".join(phrase.text.split())
        exact = query.case is Case.YES or (query.case is Case.AUTO and wanted != wanted.lower())
        is_there = wanted in spaced if exact else wanted.lower() in folded
        if is_there == phrase.negated:
            return False
    return True
