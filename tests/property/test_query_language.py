"""The query parser raises nothing but its own error, with a position inside the query."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidQueryError
from engine.search.lexical import lexical_of
from engine.search.name_uses import use_terms
from engine.search.patterns import patterns_of
from engine.search.query import Query, parse_query
from tests.support.budget import examples

_BY_USE = ("calls:", "uses:", "extends:", "imports:")
_PIECES = st.sampled_from(
    [*'"/-:a \\([.\0', "lang:", "path:", "kind:", "case:", "sym:", "()", "::", *_BY_USE]
)
_QUERIES = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4))).map("".join))


@settings(max_examples=examples(1500))
@given(_QUERIES, st.booleans())
def test_any_text_is_read_or_refused(text: str, as_pattern: bool) -> None:
    position = 0
    query = Query(text="")
    try:
        query = parse_query(text, as_pattern=as_pattern)
        patterns_of(query)
        use_terms(query)
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


_NAMES = st.from_regex(r"[a-z_]\w{0,8}([.](\w{1,8}))?", fullmatch=True)
_USES = st.lists(st.tuples(st.booleans(), st.sampled_from(_BY_USE), _NAMES), min_size=1, max_size=8)


@settings(max_examples=examples(500))
@given(_USES, st.sampled_from(["", "lang:go", "/a+/"]), st.booleans())
def test_filters_by_use_are_read_as_they_are_written(
    uses: list[tuple[bool, str, str]], more: str, as_pattern: bool
) -> None:
    written = [f"{'-' * negated}{name}{value}" for negated, name, value in uses]
    query = parse_query(" ".join([*written, more]), as_pattern=as_pattern)
    read = [
        f"{'-' * term.negated}{name}:{term.value}" for name, term in query.filters if name != "lang"
    ]
    assert read == written
    assert query.words == query.phrases == ()
    terms = [f"{'-' * term.is_negated}{term.filter}:{term.name}" for term in use_terms(query)]
    assert terms == list(dict.fromkeys(written))
