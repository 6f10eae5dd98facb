"""The query parser raises nothing but its own error, with a position inside the query."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidQueryError
from engine.search.lexical import lexical_of
from engine.search.query import Query, parse_query

_PIECES = st.sampled_from(
    ['"', "/", "-", ":", "lang:", "path:", "kind:", "case:", "sym:", "a", " ", "\\", "(", "[", "\0"]
)
_QUERIES = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4))).map("".join))


@settings(max_examples=1500, deadline=None)
@given(_QUERIES)
def test_any_text_is_read_or_refused(text: str) -> None:
    position = 0
    query = Query(text="")
    try:
        query = parse_query(text)
    except InvalidQueryError as error:
        position = error.position
    assert 0 <= position <= len(text)
    for term in (*query.words, *query.phrases, *query.patterns):
        assert 0 <= term.position < len(text)
    lexical_of(query)
