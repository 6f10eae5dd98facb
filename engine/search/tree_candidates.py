"""Find what may answer a question in what a process keeps of a branch."""

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.search.candidates import Found, one_each
from engine.search.features import Evidence, features_of
from engine.search.lexical import Lexical
from engine.search.question import Question
from engine.search.rank import Candidate, Ranking
from engine.search.tree import Tree, TreeFile
from engine.search.weights import (
    MOST_BY_DEFINITION,
    MOST_BY_PATH,
)
from engine.store import symbols
from engine.store.chunks import ChunkFacts, Span, SymbolFacts
from engine.store.connection import Handle
from engine.telemetry.recording import span

if TYPE_CHECKING:
    from engine.search.meaning import Near  # imports numpy


def find_in_tree(handle: Handle, question: Question, tree: Tree, near: "Near | None") -> Found:
    """Find and rank as ``candidates.find_candidates`` does, for words alone without any filter.

    Args:
        handle: A read transaction on the state that the tree is of.
        question: A question of words.
        tree: The branch.
        near: How near its places are to the question, when that counts.
    """
    with span("search.words"):
        found = _places_of(handle, question, tree, near)
    with span("search.rank"):
        return _ranked(handle, question, tree, found, near)


class _Places(NamedTuple):
    """The places that may answer a question."""

    scores: dict[int, float]  # BM25
    defined: dict[int, SymbolFacts]  # what they define of the names asked for
    is_capped: bool  # more may match


def _places_of(handle: Handle, question: Question, tree: Tree, near: "Near | None") -> _Places:
    lexical, words = question.lexical, question.lexical.alternatives
    scores: dict[int, float] = {}
    defined: dict[int, SymbolFacts] = {}
    is_capped = False
    if question.is_by_words:
        scores.update(zip(*tree.best_places(handle, words, question.most_by_words), strict=True))
        is_capped = len(scores) == question.most_by_words
        known = set(tree.files_at(scores))
        named = tree.best_paths(handle, lexical.path_words, MOST_BY_PATH)
        only_named = list(dict.fromkeys(file for file in named if file not in known))
        scores.update(tree.best_place_of_each(handle, words, only_named))
        defined = _defined_in(handle, lexical, tree)
    more = list(defined.keys() - scores.keys())
    if near:
        more = sorted({*more, *near.nearest(question.least_nearness)} - scores.keys())
    if near and question.is_by_words:
        of_more = tree.scores_at(handle, words, more)
        scores.update(zip(more, of_more, strict=True))
    else:
        scores.update(dict.fromkeys(more, 0.0))
    return _Places(scores, defined, is_capped)


def _ranked(
    handle: Handle, question: Question, tree: Tree, found: _Places, near: "Near | None"
) -> Found:
    places = sorted(found.scores)
    scores = [found.scores[place] for place in places]
    files = tree.files_at(places)
    definitions = {bisect_left(places, place): found.defined[place] for place in found.defined}
    cosines = near.cosines_at(places) if near else None
    words: list[list[float]] = []
    if question.weights.file_words:
        words = tree.word_scores_at(handle, question.lexical.path_words, places)
    evidence = Evidence(files, scores, words, definitions, cosines)
    ranking = Ranking(features_of(question.lexical, evidence, tree.vocabulary), question.weights)
    best = ranking.best(question.limit)
    chunk_ids = [files[ranked.place].chunk_of(places[ranked.place]) for ranked in best]
    spans = tree.spans(handle, chunk_ids)
    shown = [
        Candidate(
            _facts(files[ranked.place], chunk_id, spans[chunk_id]),
            scores[ranked.place],
            (),
            cosines.places[ranked.place] if cosines else None,
            cosines.files[ranked.place] if cosines else None,
            definitions.get(ranked.place, spans[chunk_id].symbol),
            -ranked.negative_score,
            ranking.breakdown(ranked),
        )
        for ranked, chunk_id in zip(best, chunk_ids, strict=True)
    ]
    of_all = cosines.places if cosines else ()
    return Found(shown, scores, found.is_capped, cosines=of_all)


def _facts(file: TreeFile, chunk_id: int, span: Span) -> ChunkFacts:
    return ChunkFacts(
        chunk_id,
        file.blob_id,
        file.file_id,
        file.path,
        file.language,
        file.is_generated,
        *span[:-1],
    )


def _defined_in(handle: Handle, lexical: Lexical, tree: "Tree") -> dict[int, SymbolFacts]:
    """Give the places of a branch that define a name of the question, each with that symbol."""
    names = [name.lower() for name in lexical.names]
    if not names:
        return {}
    rows = symbols.find_definitions(handle, names)
    shown = (
        (place, symbol)
        for chunk_id, symbol in rows
        if (place := tree.place_of(chunk_id)) is not None
    )
    return one_each(islice(shown, MOST_BY_DEFINITION), lexical)
