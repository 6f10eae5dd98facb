"""Prepare a request for an index: parse it, check it, and add its words, vector and weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.errors import InvalidQueryError
from engine.parameters import check_request
from engine.search.lexical import Lexical, lexical_of
from engine.search.query import FilterTerm, PatternTerm, Query, Term, parse_query
from engine.search.query_pieces import BY_USE
from engine.search.weights import (
    ANY_SIMILARITY,
    MAX_BY_WORDS,
    MAX_BY_WORDS_WITH_MEANING,
    MIN_SIMILARITY,
    Weights,
    weights_of,
)
from engine.search_records import Mode, SearchRequest
from engine.store.vector_rows import QueryVector
from engine.syntax.terms import words_of

#: Modes that compare meanings; hybrid also works without.
MODES_WITH_VECTORS = frozenset({Mode.HYBRID, Mode.MEANING})
#: Filters that choose what to list.
_CHOOSING = ("is", "lang", "path", "kind", "tag", "author", *BY_USE)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query, prepared for an index."""

    query: Query
    mode: Mode
    limit: int  # candidates at most
    query_vector: QueryVector | None  # None: by words alone
    lexical: Lexical
    weights: Weights
    #: How much past commits speak for files, by path; the best has 1.
    changed: Mapping[str, float] = field(default_factory=dict)

    @property
    def max_by_words(self) -> int:
        """The most places that words contribute; fewer if meaning contributes others."""
        return MAX_BY_WORDS_WITH_MEANING if self.query_vector else MAX_BY_WORDS

    @property
    def is_by_words(self) -> bool:
        """Whether words find places; otherwise only their meaning does."""
        return self.query_vector is None or self.mode is not Mode.MEANING

    @property
    def is_descriptive(self) -> bool:
        """Whether at least two plain words say what is wanted, and no phrase."""
        names = set(self.lexical.names.values())
        plain = [word for word in self.query.words if not word.negated and word.text not in names]
        return len(plain) > 1 and len(self.lexical.words) > 1 and not self.query.phrases

    @property
    def min_similarity(self) -> float:
        """The similarity that a place needs to be found; in mode ``meaning`` the best do anyway."""
        return MIN_SIMILARITY if self.mode is Mode.HYBRID else ANY_SIMILARITY


def prepare_query(
    query: Query,
    mode: Mode,
    limit: int,
    query_vector: QueryVector | None = None,
    lexical: Lexical | None = None,
) -> PreparedQuery:
    """Prepare a parsed query; its words too, unless they are given."""
    lexical = lexical or lexical_of(query)
    weights = weights_of(lexical, mode, has_meaning=query_vector is not None)
    return PreparedQuery(query, mode, limit, query_vector, lexical, weights)


def text_of(query: Query) -> str:
    """Return the words and quoted texts of a query, in order: the text to embed."""
    terms = [term for term in (*query.words, *query.phrases, *query.mentions) if not term.negated]
    return " ".join(term.text for term in sorted(terms, key=_position))


def read_request(request: SearchRequest) -> Query:
    """Parse and check a request.

    Raises:
        InvalidInputError: The query or a number of the request is invalid.
    """
    query = parse_query(request.query, as_pattern=request.mode is Mode.REGEX)
    check_request(request)
    query = _without_empty_phrases(query)
    terms: tuple[Term | PatternTerm, ...] = (
        *query.words,
        *query.phrases,
        *query.mentions,
        *query.patterns,
    )
    has_terms = bool(_wanted_names(query)) or any(not term.negated for term in terms)
    if not has_terms and not is_filters_only(query, request):
        raise InvalidQueryError(
            "the query has nothing to search for",
            position=0,
            hint="add a word, a phrase, a /pattern/ or sym: to search, or lang: path: kind: tag:"
            " author: calls: uses: extends: imports: is: to list; terms with a leading - only"
            " exclude",
        )
    return query


def _without_empty_phrases(query: Query) -> Query:
    """Return the query without phrases that have no word; a note says so.

    Raises:
        InvalidQueryError: There is nothing else to search for.
    """
    empty = [term for term in query.phrases if not term.negated and not words_of(term.text)]
    if not empty:
        return query
    phrases = tuple(term for term in query.phrases if term not in empty)
    if not (query.words or phrases or query.mentions or query.patterns or query.filters):
        raise InvalidQueryError(
            f"the phrase {empty[0].text!r} has no searchable word",
            position=empty[0].position,
            hint="add a neighbouring word of two letters or more, or search with --mode regex",
        )
    notes = tuple(f'"{term.text}" has no searchable word and was left out' for term in empty)
    return replace(query, phrases=phrases, notes=(*query.notes, *notes))


def is_filters_only(query: Query, request: SearchRequest) -> bool:
    """Return whether a query has only filters, which list everything that passes."""
    chosen = [term for name in _CHOOSING for term in query.values(name) if not term.negated]
    chosen += [term for term in query.values("branch") if term.negated]  # lists what differs
    has_terms = (
        query.words or query.phrases or query.mentions or query.patterns or _wanted_names(query)
    )
    return not has_terms and (request.has_filters or bool(chosen))


def _wanted_names(query: Query) -> list[FilterTerm]:
    return [term for term in query.values("sym") if not term.negated]


def _position(term: Term) -> int:
    return term.position
