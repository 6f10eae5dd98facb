"""``cairn eval`` as people and continuous integration run it."""

import json
import os
import pty
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.golden import read_golden
from tests.support.command import ROOT, Command
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow

GOLDEN: list[dict[str, Any]] = [
    {"query": "open_session", "relevant": ["app/session.py:7-20"], "category": "names"},
    {"query": "KeyError when there is none", "relevant": [{"path": "app/http/router.py"}]},
    {"query": "ListenAndServe", "relevant": ["gone.go", "cmd/server/main.go"], "note": "two"},
]


def _golden(folder: Path, *queries: dict[str, Any]) -> str:
    file = folder / "golden.jsonl"
    file.write_text("\n\n".join(json.dumps(query) for query in queries) + "\n")
    return str(file)


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed repository; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("eval")
    write_tree(folder / "repository", SAMPLE)
    command = Command(home=folder / "home", folder=folder / "repository", reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


def test_the_object_has_the_documented_keys(cairn: Command, tmp_path: Path) -> None:
    arguments = ("--mode", "keyword", "--against", "symbol", "--rounds", "2", "--json")
    ended = cairn("eval", _golden(tmp_path, *GOLDEN), *arguments)
    assert (ended.code, ended.err) == (0, "")
    shape = ended.json()
    assert list(shape) == [
        "project",
        "queries",
        "targets",
        "limit",
        "rounds",
        "variants",
        "comparisons",
        "lost_targets",
        "notes",
    ]
    assert (shape["queries"], shape["targets"], shape["limit"]) == (3, 4, 10)
    keyword, symbol = shape["variants"]
    assert list(keyword) == [
        "name",
        "mode",
        "settings",
        "overall",
        "by_category",
        "latency",
        "nothing_found",
        "results",
    ]
    assert list(keyword["overall"]) == ["queries", "ndcg", "recall", "mrr", "hit_rate"]
    assert list(keyword["latency"]["warm"]) == ["p50_ms", "p90_ms", "p99_ms"]
    assert set(keyword["by_category"]) == {"names", "(none)"}
    assert list(keyword["results"][0]) == [
        "line",
        "query",
        "category",
        "mode",
        "hits",
        "ranks",
        "ndcg",
        "recall",
        "took_ms",
    ]
    assert [result["line"] for result in keyword["results"]] == [1, 3, 5]
    assert keyword["results"][2]["ranks"] == [None, 1]
    assert symbol["nothing_found"] == ["KeyError when there is none"]
    [comparison] = shape["comparisons"]
    assert list(comparison) == [
        "variant",
        "against",
        "difference",
        "low",
        "high",
        "wins",
        "losses",
        "ties",
        "changes",
    ]
    assert list(comparison["changes"][0]) == [
        "line",
        "query",
        "difference",
        "ranks",
        "ranks_against",
    ]
    [lost] = shape["lost_targets"]
    assert list(lost) == ["path", "line_start", "line_end", "lines", "reason", "detail"]
    assert (lost["path"], lost["lines"], lost["reason"]) == ("gone.go", [5], "missing")


def test_the_text_has_tables_and_lists(cairn: Command, tmp_path: Path) -> None:
    golden = _golden(tmp_path, *GOLDEN, {"query": "zebra", "relevant": ["README.md"]})
    ended = cairn("eval", golden, "--mode", "keyword", "--mode", "symbol")
    assert (ended.code, ended.err) == (0, "")
    assert f"4 queries with 5 targets, on {cairn.folder}\n" in ended.out
    lines = ended.out.splitlines()
    # One of two targets at rank 1 is 1 of a possible 1.631: (1 + 1 + 0.613 + 0) / 4.
    assert "keyword         4    0.653      0.625  0.750       75%" in lines
    assert "  names         1    1.000      1.000  1.000      100%" in lines
    assert re.search(r"^keyword, warm +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms$", ended.out, re.MULTILINE)
    assert "keyword against symbol: NDCG@10 +0.250, 95% interval " in ended.out
    assert "  1 better, 0 worse, 3 equal" in lines
    assert "  +1.00  KeyError when there is none  rank 1 against -" in lines
    assert "keyword found no target for 1 of 4 queries" in lines
    assert "  line 7: zebra  no hits at all" in lines
    assert "1 target is not in the index and cannot be found" in lines
    assert "  line 5: gone.go  missing: there is no such path on disk" in ended.out
    assert "note: fewer than 20 queries say little about a difference" in lines


def test_a_setting_makes_a_variant(cairn: Command, tmp_path: Path) -> None:
    golden = _golden(tmp_path, *GOLDEN)
    shape = cairn("eval", golden, "--set", "search_timeout=100", "--json").json()
    assert [variant["name"] for variant in shape["variants"]] == [
        "hybrid",
        "hybrid, search_timeout=100",
    ]
    assert shape["comparisons"][0]["ties"] == 3
    for given, field in (("speed=1", "speed"), ("workers=x", "workers"), ("model", "set")):
        ended = cairn("eval", golden, "--set", given, "--json")
        assert ended.code == 2
        assert ended.json()["details"]["field"] == field


def test_what_is_below_the_least_ndcg_fails(cairn: Command, tmp_path: Path) -> None:
    golden = _golden(tmp_path, *GOLDEN)
    assert cairn("eval", golden, "--min-ndcg", "0.87").code == 0
    below = cairn("eval", golden, "--min-ndcg", "0.88", "--json")
    assert (below.code, below.json()["queries"]) == (1, 3)
    assert below.err == "NDCG@10 of hybrid is 0.8710, below the required 0.88\n"
    assert cairn("eval", golden, "--min-ndcg", "2").code == 2


def test_queries_come_from_standard_input(cairn: Command) -> None:
    given = b'{"query": "parse", "relevant": ["nothing.py"]}\n'
    assert cairn("eval", "-", "--json", given=given).json()["queries"] == 1


def test_a_bad_file_is_bad_input_with_line_and_field(cairn: Command, tmp_path: Path) -> None:
    golden = _golden(tmp_path, GOLDEN[0], {"query": "q", "relevant": []})
    ended = cairn("eval", golden, "--json")
    assert ended.code == 2
    shape = ended.json()
    assert shape["error"] == "validation_error"
    assert shape["details"] == {"line": 3, "field": "relevant"}
    ended = cairn("eval", golden)
    assert (ended.code, ended.out) == (2, "")
    assert "golden.jsonl, line 3, relevant: wanted a list" in ended.err
    for name in ("none.jsonl", "."):
        assert cairn("eval", str(tmp_path / name)).code == 2


def test_a_query_that_cannot_be_read_names_its_line(cairn: Command, tmp_path: Path) -> None:
    golden = _golden(tmp_path, GOLDEN[0], {"query": "case:vector", "relevant": ["a.py"]})
    ended = cairn("eval", golden, "--json")
    assert ended.code == 2
    assert ended.json()["details"]["line"] == 3


def test_text_from_the_file_cannot_command_the_terminal(cairn: Command, tmp_path: Path) -> None:
    hostile = {"query": "a\x1b[2J", "relevant": ["b\x1b[2J.py"], "category": "c\x1b[2J"}
    ended = cairn("eval", _golden(tmp_path, hostile))
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "b\\x1b[2J.py" in ended.out


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Give our end of a terminal and the one for a process."""
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def _shown(terminal: int) -> bytes:
    """Give all that a terminal has been sent and nobody has read."""
    os.set_blocking(terminal, False)
    shown = b""
    try:
        while True:
            shown += os.read(terminal, 65536)
    except BlockingIOError:
        return shown


def test_a_terminal_gets_a_bar_that_goes_away(
    cairn: Command, tmp_path: Path, terminal: tuple[int, int]
) -> None:
    ours, theirs = terminal
    with cairn.start("eval", _golden(tmp_path, *GOLDEN), stderr=theirs) as process:
        out, _ = process.communicate(timeout=patience(60))
    assert process.returncode == 0
    assert b"\x1b" not in out
    assert b"queries" in _shown(ours)


def test_an_interrupt_ends_it(cairn: Command, tmp_path: Path, terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    golden = _golden(tmp_path, *GOLDEN * 300)
    with cairn.start("eval", golden, "--rounds", "100", stderr=theirs) as process:
        assert os.read(ours, 1)  # the bar: it has begun
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=patience(60))
    assert (process.returncode, out) == (130, b"")
    assert b"interrupted: nothing was left half done" in _shown(ours)


def test_the_golden_queries_of_this_repository_name_its_files() -> None:
    golden = read_golden(ROOT / "tests/benchmark/golden.jsonl")
    assert golden.notes == ()
    targets = [target.path for query in golden.queries for target in query.relevant]
    assert len(targets) >= 20
    assert [path for path in targets if not (ROOT / path).is_file()] == []
