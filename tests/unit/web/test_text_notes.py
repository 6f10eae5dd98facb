"""Names that are nowhere are a note like others."""

from dataclasses import replace

from engine.records import Coverage
from engine.search_records import Hit, Mode, SearchAnswer
from web.answers import notes_on

_ANSWER = SearchAnswer(
    query="q",
    mode=Mode.HYBRID,
    took_ms=1.0,
    total=0,
    truncated=False,
    coverage=Coverage.of(files=1, found=1, embedded=1.0, complete=True),
    hits=(),
    notes=("feat is new",),
)
_HIT = Hit(
    project="/p",
    path="a.py",
    line_start=1,
    line_end=1,
    language="python",
    symbol=None,
    kind=None,
    signature=None,
    score=1.0,
    why=(),
    fresh=True,
    snippet="",
)


def test_what_is_nowhere_follows_the_notes() -> None:
    assert notes_on(_ANSWER) == ["feat is new"]
    answer = replace(_ANSWER, missing=("getFoo", "Bar::baz"))
    assert notes_on(answer) == ["feat is new", "nothing that is indexed has getFoo or Bar::baz"]
    assert notes_on(replace(answer, hits=(_HIT,)))[1].endswith("; what is found is the nearest")
