"""Files of golden queries: what a line may say, and errors that name line and field."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import InvalidInputError
from engine.evaluation.golden import GoldenQuery, Target, parse_golden, read_golden
from engine.search_records import Mode


def _line(**keys: Any) -> bytes:
    return json.dumps({"query": "q", "relevant": ["a.py"], **keys}).encode()


def _query(**keys: Any) -> GoldenQuery:
    [query] = parse_golden([_line(**keys)], "golden.jsonl").queries
    return query


def test_a_line_becomes_a_query() -> None:
    assert _query(
        query="where are sessions",
        category="names",
        mode="keyword",
        language="python",
        path="src/",
        kind="function",
        note="because of the outage",
    ) == GoldenQuery(
        query="where are sessions",
        relevant=(Target(path="a.py"),),
        category="names",
        mode=Mode.KEYWORD,
        language="python",
        path="src/",
        kind="function",
        line=1,
    )


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("src/a.py", Target(path="src/a.py")),
        ("./src/a.py", Target(path="src/a.py")),
        ("src/a.py:10", Target(path="src/a.py", line_start=10, line_end=10)),
        ("src/a.py:10-40", Target(path="src/a.py", line_start=10, line_end=40)),
        ("a:b.py", Target(path="a:b.py")),
        ({"path": "a.py"}, Target(path="a.py")),
        ({"path": "a:3"}, Target(path="a:3")),
        ({"path": "a.py", "start_line": 5}, Target(path="a.py", line_start=5)),
        ({"path": "a.py", "end_line": 9}, Target(path="a.py", line_end=9)),
        (
            {"path": "a.py", "start_line": 1, "end_line": 9},
            Target(path="a.py", line_start=1, line_end=9),
        ),
    ],
)
def test_targets_are_files_or_lines_of_them(given: object, target: Target) -> None:
    assert _query(relevant=[given]).relevant == (target,)


def test_a_target_reads_as_it_was_written() -> None:
    for text in ("src/a.py", "src/a.py:10-40"):
        assert str(*_query(relevant=[text]).relevant) == text
    assert str(Target(path="a.py", line_start=3)) == "a.py:3-"


def test_blank_lines_count_but_say_nothing() -> None:
    lines = [b"\xef\xbb\xbf" + _line(query="one"), b"\n", b"  \r\n", _line(query="two") + b"\r\n"]
    assert [(each.query, each.line) for each in parse_golden(lines, "g").queries] == [
        ("one", 1),
        ("two", 4),
    ]


def test_a_target_named_twice_counts_once_and_is_told() -> None:
    golden = parse_golden([_line(relevant=["a.py", "./a.py", "b.py"])], "g")
    assert golden.queries[0].relevant == (Target(path="a.py"), Target(path="b.py"))
    assert golden.notes == ("line 1 names a target twice; it counts once",)


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        (b"{", "golden", "not JSON"),
        (b"{} // later", "golden", "not JSON"),
        (b"[" * 100_000, "golden", "nested too deep"),
        (b'{"query": ' + b"9" * 5000 + b"}", "golden", "number too long"),
        (b'{"query": "\xff"}', "golden", "byte 12 is not UTF-8"),
        (b"x" * (1 << 21), "golden", "longer than"),
        (b"[]", "golden", "wanted an object, got an empty list"),
        (b'"q"', "golden", "wanted an object, got a text"),
        (b'{"query": "a", "query": "b"}', "query", "is given twice"),
        (b'{"relevant": ["a.py"]}', "query", "is missing"),
        (b'{"query": "q"}', "relevant", "it is missing"),
        (_line(query=" "), "query", "got an empty text"),
        (_line(query=7), "query", "got a number"),
        (_line(query="\ud800"), "query", "surrogate"),
        (_line(relevant=[]), "relevant", "got an empty list"),
        (_line(relevant="a.py"), "relevant", "got a text"),
        (_line(relevant=[7]), "relevant", "got a number as a target"),
        (_line(relevant=[""]), "relevant", "no path can be"),
        (_line(relevant=["a\0b"]), "relevant", "no path can be"),
        (_line(relevant=["/etc/passwd"]), "relevant", "is not a path below the project's root"),
        (_line(relevant=["../a.py"]), "relevant", "is not a path below the project's root"),
        (_line(relevant=["a.py:9-3"]), "relevant", "a.py has lines 9 to 3"),
        (_line(relevant=["a.py:0"]), "relevant", "a.py has lines 0 to 0"),
        (_line(relevant=[{"start_line": 3}]), "relevant", "a target has no path"),
        (_line(relevant=[{"path": "a", "start_line": 0}]), "relevant", "start_line is 0"),
        (_line(relevant=[{"path": "a", "end_line": True}]), "relevant", "end_line is True"),
        (_line(relevant=[{"path": "a", "line": 3}]), "line", "is not a key"),
        (_line(relevent=["a.py"]), "relevent", "is not a key"),
        (_line(mode="fast"), "mode", "got 'fast', wanted one of hybrid"),
        (_line(category=[]), "category", "got an empty list"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_its_field(
    line: bytes, field: str, message: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_golden([_line(), b"", line], "golden.jsonl")
    assert caught.value.message.startswith("golden.jsonl, line 3")
    assert message in caught.value.message
    assert caught.value.details == {"line": 3, "field": field}


def test_a_file_without_queries_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    file.write_text("\n\n")
    with pytest.raises(InvalidInputError, match="has no queries"):
        read_golden(file)
    with pytest.raises(InvalidInputError, match="No such file"):
        read_golden(tmp_path / "none.jsonl")
    file.write_bytes(_line())
    assert len(read_golden(file).queries) == 1
