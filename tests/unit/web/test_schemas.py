"""JSON shapes: keys, their order, and text that is always valid."""

import io
import json
from dataclasses import replace
from typing import Any

from engine.records import Coverage
from engine.search_records import Hit, MatchSpan, Mode, ProjectError, SearchAnswer
from web.schemas import as_json, json_line

_COVERAGE = Coverage.of(files=3, found=3, embedded=0.0, complete=True)


def _stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def _hit(path: str = "src/app.py", snippet: str = "x = 1") -> Hit:
    return Hit(
        project="/repo",
        path=path,
        line_start=1,
        line_end=2,
        language="python",
        symbol=None,
        kind=None,
        signature=None,
        score=0.123456789,
        why=("name",),
        fresh=None,
        snippet=snippet,
    )


def _answer(
    *hits: Hit, errors: tuple[ProjectError, ...] = (), notes: tuple[str, ...] = ()
) -> SearchAnswer:
    return SearchAnswer(
        query="q",
        mode=Mode.HYBRID,
        took_ms=1.23456789,
        total=len(hits),
        truncated=False,
        coverage=_COVERAGE,
        hits=hits,
        errors=errors,
        notes=notes,
    )


def test_an_answer_has_the_documented_keys_in_order() -> None:
    shape = as_json(_answer(_hit()))
    assert list(shape) == ["query", "mode", "took_ms", "total", "truncated", "coverage", "hits"]
    hits = shape["hits"]
    assert isinstance(hits, list)
    assert list(hits[0]) == [
        "project",
        "path",
        "line_start",
        "line_end",
        "language",
        "symbol",
        "kind",
        "signature",
        "score",
        "why",
        "fresh",
        "snippet",
    ]
    assert shape["mode"] == "hybrid"
    assert hits[0]["score"] == 0.123457
    assert hits[0]["why"] == ["name"]


def test_errors_are_there_only_when_a_project_failed() -> None:
    failed = ProjectError(project="/gone", error="not_found", message="no index")
    shape = as_json(_answer(errors=(failed,)))
    assert shape["errors"] == [{"project": "/gone", "error": "not_found", "message": "no index"}]
    assert "errors" not in as_json(_answer())


def test_notes_are_there_only_when_there_are_any() -> None:
    assert as_json(_answer(notes=("feat is new",)))["notes"] == ["feat is new"]
    assert "notes" not in as_json(_answer())


def test_names_are_missing_only_when_there_are_any() -> None:
    answer = replace(_answer(), missing=("frobnicate",))
    assert as_json(answer)["missing"] == ["frobnicate"]
    assert "missing" not in as_json(_answer())


def test_a_hit_has_matches_only_when_there_are_any() -> None:
    found = replace(_hit(), matches=(MatchSpan(line=3, start=0, end=2),), snippet_line=2)
    shape: dict[str, Any] = as_json(_answer(found, _hit()))
    assert shape["hits"][0]["matches"] == [{"line": 3, "start": 0, "end": 2}]
    assert shape["hits"][0]["snippet_line"] == 2
    assert not {"matches", "snippet_line"} & shape["hits"][1].keys()


def test_a_line_is_one_line_of_valid_json() -> None:
    hit = _hit(path="caf\udce9\n\udcc3\udcaf.py", snippet="a\n\u2028\x9b2J\x7f\u202e\ud83d")
    line = json_line(as_json(_answer(hit)), _stream("utf-8"))
    line.encode("utf-8")
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert not set("\x9b\x7f\u2028\u202e") & set(line)
    shape = json.loads(line)["hits"][0]
    assert shape["path"] == "caf\ufffd\nï.py"
    assert shape["snippet"] == "a\n\u2028\x9b2J\x7f\u202e\ufffd"


def test_the_stream_decides_whether_letters_stay_letters() -> None:
    assert json_line("naïve", _stream("utf-8")) == '"naïve"\n'
    assert json_line("naïve", _stream("ascii")) == '"na\\u00efve"\n'


def test_everything_has_a_form() -> None:
    assert as_json({"a": (1, None, True), 2: {"b": Mode.REGEX}, "c": object}) == {
        "a": [1, None, True],
        "2": {"b": "regex"},
        "c": "<class 'object'>",
    }
