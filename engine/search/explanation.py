"""Says how the scores of hits came about, in numbers that add up."""

from collections.abc import Sequence
from dataclasses import replace

from engine.records import Explanation, Hit, WordMatch
from engine.search.candidates import Found
from engine.search.lexical import Lexical
from engine.search.rank import Candidate
from engine.store import fulltext
from engine.store.connection import Handle


def explained(
    handle: Handle, lexical: Lexical, found: Found, hits: Sequence[Hit], *, most: int | None = None
) -> list[Hit]:
    """Give the hits, made of what was found, each with its explanation.

    Args:
        handle: The read transaction in which all was found.
        lexical: The words of the question.
        found: What answers it.
        hits: Of the candidates that are shown, in their order.
        most: Only the first so many are explained; None: all of them.
    """
    shown = found.shown[:most]
    matches = _word_matches(handle, lexical, shown)
    first = [
        replace(hit, explain=_explanation(candidate, found, matches.get(candidate.chunk.id, ())))
        for hit, candidate in zip(hits, shown, strict=False)
    ]
    return [*first, *hits[len(first) :]]


def _explanation(candidate: Candidate, found: Found, words: tuple[WordMatch, ...]) -> Explanation:
    bm25, cosine = candidate.lexical, candidate.cosine
    return Explanation(
        score=candidate.score,
        shares={part.name: part.value for part in candidate.breakdown.shares},
        factors={part.name: part.value for part in candidate.breakdown.factors},
        bm25=bm25,
        keyword_rank=1 + sum(score > bm25 for score in found.scores) if bm25 else None,
        words=words,
        meaning=cosine,
        file_meaning=candidate.file_cosine,
        meaning_rank=None if cosine is None else 1 + sum(each > cosine for each in found.cosines),
    )


def _word_matches(
    handle: Handle, lexical: Lexical, shown: Sequence[Candidate]
) -> dict[int, tuple[WordMatch, ...]]:
    """Give, for each chunk that is shown, where it has the words that brought chunks in."""
    ids = [candidate.chunk.id for candidate in shown]
    matches: dict[int, list[WordMatch]] = {id_: [] for id_ in ids}
    if not any(candidate.lexical for candidate in shown):
        return {}
    for word in lexical.alternatives:
        chunks = fulltext.count_chunks_with(handle, word)
        columns = fulltext.columns_with(handle, word, ids, chunks)
        for id_, words in matches.items():
            words.append(
                WordMatch(word=word.strip('"'), columns=columns.get(id_, ()), chunks=chunks)
            )
    return {id_: tuple(words) for id_, words in matches.items()}
