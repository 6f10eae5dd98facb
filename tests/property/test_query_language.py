"""The query parser raises nothing but its own error, with a position inside the query."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidQueryError
from engine.search.lexical import lexical_of
from engine.search.patterns import patterns_of
from engine.search.query import Query, parse_query
from tests.support.budget import examples

_PIECES = st.sampled_from(
    ['"', "/", "-", ":", "lang:", "path:", "kind:", "case:", "sym:", "a", " ", "\\", "(", "[", "\0"]
)
_QUERIES = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4))).map("".join))


@settings(max_examples=examples(1500), deadline=None)
@given(_QUERIES, st.booleans())
def test_any_text_is_read_or_refused(text: str, as_pattern: bool) -> None:
    position = 0
    query = Query(text="")
    try:
        query = parse_query(text, as_pattern=as_pattern)
        patterns_of(query)
    except InvalidQueryError as error:
        position = error.position
    assert 0 <= position <= len(text)
    positions = [term.position for term in (*query.words, *query.phrases)]
    for term in query.patterns:
        positions.append(term.position)
        positions += [term.position_of(offset) for offset in range(len(term.text))]
    assert all(0 <= each < len(text) for each in positions)
    assert not (as_pattern and (query.words or query.phrases))
    lexical_of(query)
