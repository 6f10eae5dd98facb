"""Search answers as JSON and as text, and their sizes, by which a budget measures them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import Coverage
from engine.search_records import Hit, Mode, ProjectError, SearchAnswer
from web.answers import once_per_hit
from web.compact_json import compact_json, measured_json
from web.mcp.search import answer_text, measured_text
from web.text import compact_text, size_of

_TEXT = st.text(max_size=12)
_HITS = st.builds(
    Hit,
    project=st.sampled_from(["/a", "/b \N{SNOWMAN}"]),
    path=_TEXT,
    line_start=st.integers(1, 99),
    line_end=st.integers(100, 999),
    language=st.just("python"),
    symbol=st.none() | _TEXT,
    kind=st.none() | st.just("function"),
    signature=st.none() | _TEXT,
    score=st.floats(0, 1),
    why=st.just(()),
    fresh=st.sampled_from([None, True, False]),
    snippet=_TEXT,
    branches=st.sampled_from([(), ("main", "other")]),
    snippet_line=st.none() | st.integers(1, 999),
    confidence=st.none() | st.floats(0, 1),
    summary=st.none() | _TEXT,
)
_ANSWERS = st.builds(
    SearchAnswer,
    query=_TEXT,
    mode=st.sampled_from(Mode),
    took_ms=st.floats(0, 1e5),
    total=st.integers(0, 999),
    truncated=st.booleans(),
    coverage=st.just(Coverage.of(files=3, found=4, embedded=0.5, complete=False)),
    hits=st.lists(_HITS, max_size=4).map(tuple),
    errors=st.just(()) | st.just((ProjectError(project="/c", error="busy", message="later"),)),
    notes=st.lists(_TEXT, max_size=2).map(tuple),
    more_files=st.lists(_TEXT, max_size=2).map(tuple),
)
_FOLLOWING = st.fixed_dictionaries({"next_cursor": st.none() | _TEXT}, optional={"notes": _TEXT})


@given(_ANSWERS, _FOLLOWING, st.booleans())
def test_what_is_measured_has_the_size_of_what_is_sent(
    answer: SearchAnswer, following: dict[str, object], is_brief: bool
) -> None:
    measure = measured_json(lambda _answer, _is_brief: following)
    for number in range(len(answer.hits), -1, -1):
        shown = replace(answer, hits=answer.hits[:number])
        sent = compact_text(compact_json(shown, is_brief=is_brief, following=following))
        assert measure(answer, shown.hits, is_brief=is_brief) == size_of(sent)


@given(_ANSWERS, st.booleans(), st.booleans())
def test_a_text_that_is_measured_has_the_size_of_what_is_sent(
    answer: SearchAnswer, is_brief: bool, has_more: bool
) -> None:
    def next_cursor(answer: SearchAnswer) -> str | None:
        return f"after {len(answer.hits)}" if has_more else None

    measure = measured_text(next_cursor)
    for number in range(len(answer.hits), -1, -1):
        shown = replace(answer, hits=answer.hits[:number])
        for sent in (
            shown,
            replace(shown, hits=tuple([replace(h, snippet="") for h in shown.hits])),
        ):
            text = answer_text(sent, "text", next_cursor(sent), is_brief=is_brief)
            assert measure(answer, sent.hits, is_brief=is_brief) == size_of(text)


@given(_ANSWERS, st.booleans())
def test_an_answer_that_is_changed_does_not_change_the_next(
    answer: SearchAnswer, is_brief: bool
) -> None:
    first = compact_json(answer, is_brief=is_brief)
    text = compact_text(first)
    for hit in first["hits"]:
        hit.clear()
    assert compact_text(compact_json(answer, is_brief=is_brief)) == text


@given(_HITS)
def test_a_value_of_a_hit_is_computed_once_while_the_hit_exists(hit: Hit) -> None:
    asked: list[tuple[int, bool]] = []

    @once_per_hit
    def path_of(hit: Hit, is_short: bool) -> str:
        asked.append((id(hit), is_short))
        return hit.path

    equal = replace(hit)
    for each in (hit, equal, hit):
        assert [path_of(each, True), path_of(each, False)] == [hit.path] * 2
    assert asked == [(id(each), is_short) for each in (hit, equal) for is_short in (True, False)]
    with pytest.raises(TypeError):
        path_of(hit, is_short=True)  # type: ignore[call-arg]
    del equal, each
    again = [replace(hit, path=f"{number}") for number in range(3)]
    assert [path_of(each, True) for each in again] == ["0", "1", "2"]
