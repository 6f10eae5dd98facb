"""From a request to a question: read, checked, and ready to be put to an index."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import InvalidInputError, InvalidQueryError
from engine.records import Mode, SearchRequest
from engine.search.lexical import Lexical, lexical_of
from engine.search.query import FilterTerm, PatternTerm, Query, Term, parse_query
from engine.search.weights import (
    LEAST_NEARNESS,
    MOST_BY_WORDS,
    MOST_BY_WORDS_BESIDE_MEANING,
    NO_NEARNESS,
    Weights,
    weights_of,
)
from engine.syntax.terms import words_of

if TYPE_CHECKING:
    from engine.search.meaning import Asked  # imports numpy, which a question of words does without

MAX_LIMIT = 100
#: Modes that compare meanings; the first one does without when it has to.
BY_MEANING = frozenset({Mode.HYBRID, Mode.MEANING})
_CHOOSING = ("lang", "path", "kind", "tag")  # filters that say what to list


@dataclass(frozen=True, slots=True)
class Question:
    """A question, ready to be put to an index."""

    query: Query
    mode: Mode
    limit: int  # how many candidates to give at most
    asked: "Asked | None"  # what it means; None: by words alone
    lexical: Lexical
    weights: Weights

    @property
    def most_by_words(self) -> int:
        """How many places words bring in at most; fewer where meaning brings in others."""
        return MOST_BY_WORDS_BESIDE_MEANING if self.asked else MOST_BY_WORDS

    @property
    def is_by_words(self) -> bool:
        """Whether words bring places in; else only their meaning does."""
        return self.asked is None or self.mode is not Mode.MEANING

    @property
    def least_nearness(self) -> float:
        """How near a place has to be to be brought in; whoever asks for meaning wants the best."""
        return LEAST_NEARNESS if self.mode is Mode.HYBRID else NO_NEARNESS


def question_of(
    query: Query,
    mode: Mode,
    limit: int,
    asked: "Asked | None" = None,
    lexical: Lexical | None = None,
) -> Question:
    """Prepare a query that was read; its words too, unless they are given."""
    lexical = lexical or lexical_of(query)
    weights = weights_of(lexical, mode, has_meaning=asked is not None)
    return Question(query, mode, limit, asked, lexical, weights)


def text_of(query: Query) -> str:
    """Give the words and phrases of a query, in order: what a model is asked."""
    terms = [term for term in (*query.words, *query.phrases) if not term.negated]
    return " ".join(term.text for term in sorted(terms, key=_position))


def read_request(request: SearchRequest) -> Query:
    """Read the query of a request.

    Raises:
        InvalidInputError: The query or a number of the request cannot be read.
    """
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit is {request.limit}, wanted 1 to {MAX_LIMIT}", field="limit")
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInputError(
            f"max_tokens is {request.max_tokens}, wanted 1 or more", field="max_tokens"
        )
    query = parse_query(request.query, as_pattern=request.mode is Mode.REGEX)
    terms: tuple[Term | PatternTerm, ...] = (*query.words, *query.phrases, *query.patterns)
    has_terms = bool(_wanted_names(query)) or any(not term.negated for term in terms)
    if not has_terms and not asks_what_passes(query, request):
        raise InvalidQueryError(
            "the query has nothing to search for",
            position=0,
            hint="give a word, a phrase, a /pattern/ or sym: to find, or lang: path: kind: tag: to"
            " list what passes; a leading - only leaves out",
        )
    for phrase in query.phrases:
        if not phrase.negated and not words_of(phrase.text):
            raise InvalidQueryError(
                f"the phrase {phrase.text!r} has no word to look up",
                position=phrase.position,
                hint="add a neighbouring word of two letters or more",
            )
    return query


def asks_what_passes(query: Query, request: SearchRequest) -> bool:
    """Say whether a question is filters and nothing else: it asks for all that passes them."""
    chosen = [term for name in _CHOOSING for term in query.values(name) if not term.negated]
    fields = (request.language, request.path, request.file, request.kind)
    has_terms = query.words or query.phrases or query.patterns or _wanted_names(query)
    return not has_terms and bool(chosen or any(fields))


def _wanted_names(query: Query) -> list[FilterTerm]:
    return [term for term in query.values("sym") if not term.negated]


def _position(term: Term) -> int:
    return term.position
