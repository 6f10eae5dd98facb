"""Answers as text for people."""

from dataclasses import replace

import pytest

from engine.records import Coverage
from engine.search_records import Hit, MatchSpan, Mode, SearchAnswer, SearchRequest, SymbolHit
from web.answers import hit_blocks, related_text, search_text
from web.terminal import Style
from web.text import coverage_text, outline_text, symbols_text

_PLAIN = Style()
_COVERAGE = Coverage.of(files=1200, found=1200, embedded=0.0, complete=True)


def _hit(
    *,
    project: str = "/repo",
    path: str = "src/app.py",
    symbol: str | None = "App.run",
    fresh: bool | None = True,
    snippet: str = "def run(self):\r\n    pass\r\n",
    line_start: int = 9,
) -> Hit:
    return Hit(
        project=project,
        path=path,
        line_start=line_start,
        line_end=line_start + 1,
        language="python",
        symbol=symbol,
        kind="method" if symbol else None,
        signature="def run(self)" if symbol else None,
        score=0.876,
        why=("name", "exact"),
        fresh=fresh,
        snippet=snippet,
    )


def _answer(
    *hits: Hit,
    coverage: Coverage = _COVERAGE,
    truncated: bool = False,
    mode: Mode = Mode.HYBRID,
    notes: tuple[str, ...] = (),
) -> SearchAnswer:
    return SearchAnswer(
        query="run it",
        mode=mode,
        took_ms=3.21,
        total=34,
        truncated=truncated,
        coverage=coverage,
        hits=hits,
        notes=notes,
    )


def _text(hit: Hit, style: Style = _PLAIN) -> str:
    return "\n\n".join(hit_blocks(_answer(hit), style))


@pytest.mark.parametrize(
    ("hits", "limit", "max_tokens", "helps"),
    [
        (10, 10, None, "raise --limit"),
        (7, 10, None, "narrow the query"),
        (10, 10, 4000, "raise --limit"),
        (9, 10, 300, "raise --max-tokens"),
        (60, 100, 300, "raise --max-tokens"),
        (100, 100, None, "narrow the query, as 100 is the most"),
    ],
)
def test_only_what_helps_is_advised(
    hits: int, limit: int, max_tokens: int | None, helps: str
) -> None:
    answer = _answer(*[_hit()] * hits, truncated=True)
    request = SearchRequest(query="run it", limit=limit, max_tokens=max_tokens)
    assert search_text(answer, request, _PLAIN).endswith(f", truncated; {helps}\n")


def test_what_is_related_has_no_query_to_narrow() -> None:
    answer = _answer(*[_hit()] * 100, truncated=True)
    assert related_text(answer, _PLAIN, 100).endswith(", truncated\n")


def test_all_places_come_first_then_the_code_of_each_file() -> None:
    hits = (
        replace(_hit(), confidence=0.456, summary="Run it all."),
        _hit(path="src/b.py", symbol=None, snippet="x = 1\n", line_start=3),
        _hit(line_start=31, snippet="def run(self):\n"),
        _hit(path="src/c.py", snippet=""),
    )
    request = SearchRequest(query="run it", limit=4)
    text = search_text(_answer(*hits, truncated=True), request, _PLAIN)
    assert text == (
        "src/app.py:9-10 46% method App.run: Run it all.\n"
        "src/b.py:3-4\n"
        "src/app.py:31-32 method App.run\n"
        "src/c.py:9-10 method App.run: def run(self)\n"
        "\n"
        "src/app.py\n"
        " 9 | def run(self):\n"
        "10 |     pass\n"
        " …\n"
        "31 | def run(self):\n"
        "\n"
        "src/b.py\n"
        "3 | x = 1\n"
        "\n"
        "4 hits of 34 or more, 3.2 ms, coverage 100% of 1,200 files, "
        "truncated; raise --limit\n"
    )


def test_a_brief_answer_names_places_and_further_files() -> None:
    answer = replace(_answer(_hit(snippet=""), truncated=True), more_files=("src/z\x1b.py",))
    text = search_text(answer, SearchRequest(query="run it"), _PLAIN, is_brief=True)
    assert text == (
        "src/app.py:9-10 App.run\n\nalso:\nsrc/z\\x1b.py\n\n"
        "1 hit of 34 or more, cut to the budget\n"
    )


def test_a_signature_stands_for_the_name_that_it_has() -> None:
    hit = replace(_hit(symbol="run", snippet=""), kind="function", signature="def run(self)")
    assert _text(hit) == "src/app.py:9-10 def run(self)"


def test_passages_that_follow_each_other_are_not_parted() -> None:
    hits = (_hit(line_start=2, snippet="b = 2"), _hit(line_start=1, snippet="a = 1"))
    assert "1 | a = 1\n2 | b = 2" in "\n".join(hit_blocks(_answer(*hits), _PLAIN))


def test_agents_read_code_as_it_is_below_its_place() -> None:
    hit = replace(_hit(snippet="\treturn 1\n"), snippet_line=12)
    blocks = list(hit_blocks(_answer(hit), _PLAIN, numbered=False))
    assert blocks[1] == "src/app.py:12\n\treturn 1"


def test_an_answer_without_a_good_match_says_so() -> None:
    for confidence, is_said in ((0.04, True), (0.4, False), (None, False)):
        answer = _answer(replace(_hit(), confidence=confidence))
        text = search_text(answer, SearchRequest(query="run it"), _PLAIN)
        assert ("nothing matches well" in text) is is_said


def test_lines_with_matches_have_a_sign_and_a_terminal_sees_the_matches() -> None:
    matches = (MatchSpan(line=9, start=4, end=7), MatchSpan(line=9, start=8, end=12))
    hit = replace(_hit(snippet="class\x1b\n\tdef run(self)\r\n"), matches=matches, snippet_line=8)
    assert "8 | class\\x1b\n9 > \tdef run(self)" in _text(hit)
    coloured = _text(hit, Style(color=True))
    assert "\tdef\x1b[1;31m ru\x1b[0mn\x1b[1;31m(sel\x1b[0mf)" in coloured


def test_matches_that_are_not_in_the_snippet_are_not_coloured() -> None:
    matches = (MatchSpan(line=9, start=90, end=99), MatchSpan(line=70, start=0, end=1))
    hit = replace(_hit(snippet="cut line"), matches=matches)
    assert "\x1b[1;31m" not in _text(hit, Style(color=True))


def test_the_total_is_exact_when_nothing_is_left_out() -> None:
    text = search_text(_answer(_hit()), SearchRequest(query="run it"), _PLAIN)
    assert text.endswith("\n\n1 hit of 34, 3.2 ms, coverage 100% of 1,200 files\n")


def test_each_note_is_a_line_above_the_totals() -> None:
    notes = ("feat is not indexed yet", "odd\x1b[2J\nname")
    for hits in ((), (_hit(),)):
        text = search_text(_answer(*hits, notes=notes), SearchRequest(query="run it"), _PLAIN)
        lines = text.splitlines()
        assert lines[-4:-1] == ["", "note: feat is not indexed yet", "note: odd\\x1b[2J\\nname"]
        assert "coverage 100%" in lines[-1]
    plain = search_text(_answer(_hit()), SearchRequest(query="run it"), _PLAIN)
    assert "note" not in plain


def test_notes_replace_the_guess_why_the_coverage_is_not_complete() -> None:
    coverage = Coverage.of(files=1, found=2, embedded=0.0, complete=False)
    request = SearchRequest(query="run it")
    noted = search_text(_answer(coverage=coverage, notes=("it goes on",)), request, _PLAIN)
    assert noted.endswith("note: it goes on\n0 hits of 34, 3.2 ms, coverage 50% of 2 files\n")
    assert "did not finish" in search_text(_answer(coverage=coverage), request, _PLAIN)


def test_a_hit_without_symbol_and_code_is_one_place() -> None:
    assert _text(_hit(symbol=None, snippet="")) == "src/app.py:9-10"


def test_the_project_is_named_when_there_are_several() -> None:
    answer = _answer(_hit(project="/a"), _hit(project="/b"))
    text = search_text(answer, SearchRequest(query="run it"), _PLAIN)
    assert "/a/src/app.py:9-10" in text
    assert "/b/src/app.py:9-10" in text


def test_a_changed_file_is_marked_and_an_unknown_one_is_not() -> None:
    assert "changed since" in _text(_hit(fresh=False))
    assert "changed since" not in _text(_hit(fresh=None))


def test_colours_only_when_asked_for() -> None:
    hit = _hit(fresh=False)
    assert "\x1b[" not in _text(hit)
    colored = _text(hit, Style(color=True))
    assert "\x1b[36msrc/app.py:9-10\x1b[0m" in colored
    assert "\x1b[2m 9 |\x1b[0m def run" in colored


def test_a_repository_cannot_command_the_terminal() -> None:
    hit = _hit(path="a\x1b[2J\n.py", symbol="f\x07", snippet="x\x1b]0;owned\x07\ry")
    text = search_text(_answer(hit), SearchRequest(query="x"), _PLAIN)
    assert not set("\x1b\x07\r") & set(text)
    assert "a\\x1b[2J\\n.py:9-10" in text


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (_COVERAGE, "coverage 100% of 1,200 files"),
        (
            Coverage.of(files=1, found=2, embedded=0.25, complete=False),
            "coverage 50% of 2 files, 25% with vectors, "
            "the last indexing run did not finish or is still running; cairn index completes it",
        ),
    ],
)
def test_coverage(coverage: Coverage, said: str) -> None:
    assert coverage_text(coverage) == said


@pytest.mark.parametrize(
    ("mode", "request_", "tries"),
    [
        (Mode.HYBRID, SearchRequest(query="q"), ["other or fewer words"]),
        (Mode.SYMBOL, SearchRequest(query="q"), ["the same query without --mode"]),
        (Mode.REGEX, SearchRequest(query="q"), ["\\ before"]),
        (
            Mode.KEYWORD,
            SearchRequest(query="q", kind="class", path="src/\x1b"),
            ["without --path src/\\x1b --kind class", "other or fewer words"],
        ),
    ],
)
def test_nothing_found_says_what_was_searched_and_what_to_try(
    mode: Mode, request_: SearchRequest, tries: list[str]
) -> None:
    text = search_text(_answer(mode=mode), request_, _PLAIN)
    assert f"nothing found for 'run it' in mode {mode}, in 1,200 files\n" in text
    for hint in (*tries, "cairn why FILE"):
        assert f"  try: {hint}" in text


def _symbol(
    name: str, line_start: int, line_end: int, *, kind: str = "function", project: str = "/repo"
) -> SymbolHit:
    return SymbolHit(
        project=project,
        path="src/app.py",
        name=name,
        qualified_name=f"App.{name}",
        kind=kind,
        signature=f"def {name}()",
        doc="",
        language="python",
        line_start=line_start,
        line_end=line_end,
        exported=True,
        score=1.0,
    )


def test_symbols_are_a_place_and_a_signature() -> None:
    text = symbols_text([_symbol("run", 3, 4)], _PLAIN, nothing="")
    assert text == "src/app.py:3-4  function App.run\n  def run()\n"
    assert symbols_text([], _PLAIN, nothing="no such symbol") == "no such symbol\n"
    several = [_symbol("a", 1, 1, project="/a"), _symbol("b", 1, 1, project="/b")]
    assert "/b/src/app.py:1-1" in symbols_text(several, _PLAIN, nothing="")


def test_an_outline_is_a_tree_by_line() -> None:
    hits = [
        _symbol("after", 12, 13),
        _symbol("inner", 4, 5),
        _symbol("run", 3, 6, kind="method"),
        _symbol("App", 1, 10, kind="class"),
        _symbol("stop", 8, 10, kind="method"),
    ]
    assert outline_text(hits, _PLAIN) == (
        "     1-10     class App\n"
        "     3-6        method run\n"
        "     4-5          function inner\n"
        "     8-10       method stop\n"
        "    12-13     function after\n"
    )
