"""What this machine does a second, and how it is learned and kept."""

import json
import math
from pathlib import Path

import pytest

from engine.jobs.pace import (
    FILE_BYTES,
    Measured,
    Rate,
    Rates,
    Stopwatch,
    load_rates,
    save_rates,
    usual_rates,
)
from engine.records import Phase, Progress

MB = 1_000_000
USUAL = usual_rates(2)


def long_job(seconds: float = 100.0, mb: int = 1000) -> Measured:
    return Measured(
        model="static",
        files=100_000,
        walk_s=2.0,
        changed_files=mb * 100,
        changed_bytes=mb * MB,
        parse_s=seconds,
        chunks=mb * 500,
    )


def progress(
    phase: Phase, done: int = 0, total: int | None = None, bytes_total: int = 0
) -> Progress:
    return Progress(
        phase=phase,
        done=done,
        total=total,
        current_path="",
        bytes_done=0,
        bytes_total=bytes_total,
        elapsed_ms=0,
    )


def test_a_long_job_teaches_the_rates() -> None:
    learned = USUAL.learn(long_job())
    weight = 1000 * MB + 100_000 * FILE_BYTES
    assert learned.parse.a_second == pytest.approx(weight / 99.6, rel=0.15)
    assert 50_000 < learned.walk.a_second < 80_000  # 50,000 were seen
    assert learned.chunk.a_second == pytest.approx(2000)
    assert (learned.read, learned.start, learned.models) == (USUAL.read, USUAL.start, {})


def test_what_was_learned_fades_as_new_work_comes() -> None:
    fast = USUAL.learn(long_job(100)).parse.a_second
    slowing = USUAL.learn(long_job(100))
    seen = []
    for _ in range(3):
        slowing = slowing.learn(long_job(40, mb=100))
        seen.append(slowing.parse.a_second)
    assert fast > seen[0] > seen[1] > seen[2]
    once = USUAL.learn(long_job(100)).learn(long_job(400))
    assert once.parse.a_second == pytest.approx(long_job().changed_bytes * 1.2 / 399.6, rel=1e-3)


def test_a_short_job_hardly_moves_what_is_known() -> None:
    known = USUAL.learn(long_job())
    after = known.learn(long_job(1.5, mb=1))
    assert after.parse.a_second == pytest.approx(known.parse.a_second, rel=0.02)
    tiny = Measured(model="static", files=20, walk_s=5.0, changed_files=1, changed_bytes=9)
    assert known.learn(tiny).walk == known.walk
    assert known.learn(tiny).parse == known.parse


def test_contents_that_were_stored_already_teach_another_rate() -> None:
    seen = long_job(10)
    half = USUAL.learn(seen._replace(reused_files=seen.changed_files // 2))
    assert (half.parse, half.read) == (USUAL.parse, USUAL.read)
    all_ = USUAL.learn(seen._replace(reused_files=seen.changed_files))
    assert all_.parse == USUAL.parse
    assert all_.read.a_second > 2 * USUAL.read.a_second


def test_small_jobs_teach_what_starting_costs() -> None:
    rates = USUAL
    for _ in range(20):
        rates = rates.learn(Measured(model="static", files=100, walk_s=0.04, finish_s=0.01))
    assert 0.05 < rates.start.a_second < 0.1
    assert rates.learn(Measured(model="static")).start.a_second > 0


def test_each_model_has_a_rate_of_its_own() -> None:
    assert USUAL.chunks_a_second("none") is None
    usual = USUAL.chunks_a_second("onnx:some")
    assert usual
    seen = Measured(model="onnx:some", embedded=2000, embed_s=20.0)
    learned = USUAL.learn(seen)
    assert learned.chunks_a_second("onnx:some") == pytest.approx(100, rel=0.05)
    assert learned.chunks_a_second("onnx:other") == usual
    assert learned.chunks_a_second("openai:m@http://127.0.0.1:1/v1") == USUAL.chunks_a_second("x:")
    for number in range(60):
        learned = learned.learn(seen._replace(model=f"onnx:{number}"))
    assert len(learned.models) == 50
    assert "onnx:some" not in learned.models


def test_the_outlook_of_a_model_that_comes_later() -> None:
    built_in = USUAL.outlook("static", seconds=5.0)
    assert (built_in.seconds, built_in.chunks_a_second) == (5.0, None)
    later = USUAL.outlook("onnx:some", seconds=None, chunks_lacking=7)
    assert later.chunks_a_second == USUAL.chunks_a_second("onnx:some")
    assert (later.chunks_lacking, later.bytes_a_chunk) == (7, USUAL.chunk.a_second)
    filling = USUAL.outlook("static", seconds=None, chunks_lacking=7)
    assert filling.chunks_a_second == USUAL.chunks_a_second("static")
    assert filling.bytes_a_chunk == math.inf  # new chunks bring their vectors
    assert filling.finish_share == 0
    assert USUAL.outlook("static", seconds=None, is_rebuild=True).finish_share > 0.2


def test_rates_are_kept(tmp_path: Path) -> None:
    assert load_rates(tmp_path / "missing", 2) == USUAL
    learned = USUAL.learn(long_job()).learn(Measured(model="tei:@x", embedded=500, embed_s=9.0))
    save_rates(tmp_path, learned)
    save_rates(tmp_path, learned)
    assert load_rates(tmp_path, 8) == learned
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["rates.json"]
    save_rates(tmp_path / "missing", learned)  # no reason to fail


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "7",
        "[" * 5000,
        '{"walk": [0, 0], "parse": [1e400, 1], "models": 3}',
        '{"walk": [-5, 1], "parse": ["a", 1], "chunk": [true, 1], "models": {"x": [NaN, 1]}}',
        '{"walk": [1, 2, 3], "read": {}, "start": null}',
        '{"walk": [1]}' + " " * 70_000,
        "\udcff",
    ],
)
def test_damage_gives_what_is_usual(tmp_path: Path, text: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/rates.json").write_text(text, "utf-8", "surrogateescape")
    assert load_rates(tmp_path, 2) == USUAL


def test_damage_of_a_part_leaves_the_rest(tmp_path: Path) -> None:
    stored = {"walk": [9000, 3], "parse": [0, 1], "models": {"a": [50, 2], "b": []}}
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/rates.json").write_text(json.dumps(stored))
    rates = load_rates(tmp_path, 2)
    assert (rates.walk, rates.parse) == (Rate(9000, 3), USUAL.parse)
    assert rates.models == {"a": Rate(50, 2)}


def test_more_cores_parse_more_up_to_a_point() -> None:
    def speed(rates: Rates) -> float:
        return rates.parse.a_second

    assert speed(usual_rates(1)) < speed(usual_rates(2)) < speed(usual_rates(4))
    assert speed(usual_rates(4)) == speed(usual_rates(64))


def test_a_stopwatch_tells_the_phases_apart() -> None:
    watch = Stopwatch(1_000)
    watch.observe(1_500, progress(Phase.SCANNING))
    watch.observe(3_000, progress(Phase.PARSING, bytes_total=500))
    watch.observe(7_000, progress(Phase.PARSING, done=10, bytes_total=500))
    watch.observe(8_000, progress(Phase.FINISHING, bytes_total=500))
    watch.observe(8_200, progress(Phase.EMBEDDING, total=90))
    watch.observe(9_000, progress(Phase.EMBEDDING, done=60, total=90))
    watch.waited(60_000)  # the server was away
    watch.observe(61_000, progress(Phase.EMBEDDING, done=90, total=90))
    counts = {"files": 30, "changed_files": 12, "reused_files": 1, "chunks": 90}
    assert watch.measured(61_500, counts, "onnx:some") == Measured(
        model="onnx:some",
        files=30,
        walk_s=2.0,
        changed_files=12,
        changed_bytes=500,
        reused_files=1,
        parse_s=5.0,
        finish_s=0.2,
        chunks=90,
        embedded=90,
        embed_s=2.3,
    )
