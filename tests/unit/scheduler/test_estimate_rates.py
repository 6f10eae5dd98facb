"""What a machine does a second: learned from jobs, kept in a file, and expected of the next one."""

import json
from pathlib import Path

import pytest

from engine.config import load_config
from engine.jobs.progress import Measured
from engine.scheduler.estimate import Estimator, Rates, load_rates, save_rates
from tests.support.ledger import FakeClock, claimed, ledger_in

MB = 1_000_000
USUAL = Rates(4.4e6, {})


def measured(
    parse_s: float = 100.0, mb: int = 1000, reused: float = 0, embedded: int = 0, embed_s: float = 0
) -> Measured:
    return Measured(parse_s, mb * MB, mb * 100, int(mb * 100 * reused), embedded, embed_s)


def test_a_long_job_teaches_the_rate_and_a_short_one_hardly_moves_it() -> None:
    learned = USUAL.learn(measured(), "static")
    assert learned.parse_bytes == pytest.approx(1200 * MB / 99.65, rel=0.1)
    after = learned.learn(measured(1.5, mb=1), "static")
    assert learned.parse_bytes > after.parse_bytes > learned.parse_bytes * 0.7
    assert learned.learn(measured(0.9, mb=1), "static") == learned
    assert USUAL.learn(measured(reused=0.9), "static") == USUAL
    assert USUAL.learn(Measured(9.0, 0, 0, 0, 0, 0.0), "static") == USUAL
    hung = USUAL.learn(measured(100_000, mb=1), "static")
    assert hung.parse_bytes > USUAL.parse_bytes / 9


def test_a_slowing_machine_is_believed_more_with_each_job() -> None:
    rates = fast = USUAL.learn(measured(), "static")
    seen = []
    for _ in range(4):
        rates = rates.learn(measured(40, mb=100), "static")
        seen.append(rates.parse_bytes)
    assert fast.parse_bytes > seen[0] > seen[1] > seen[2] > seen[3]
    assert seen[3] == pytest.approx(120 * MB / 39.65, rel=0.05)


def test_each_model_has_a_rate_of_its_own() -> None:
    assert USUAL.chunks_a_second("none") is None
    usual = USUAL.chunks_a_second("onnx:some")
    assert usual
    seen = measured(0, 0, embedded=2000, embed_s=200.0)
    learned = USUAL.learn(seen, "onnx:some")
    assert learned.chunks_a_second("onnx:some") == pytest.approx(10, rel=0.1)
    assert learned.chunks_a_second("onnx:other") == usual
    assert learned.chunks_a_second("openai:m@http://127.0.0.1:1/v1") == USUAL.chunks_a_second("x:")
    for number in range(60):
        learned = learned.learn(seen, f"onnx:{number}")
    assert len(learned.chunks) == 50
    assert "onnx:some" not in learned.chunks


def test_rates_are_kept(tmp_path: Path) -> None:
    usual = load_rates(tmp_path / "missing", 2)
    learned = usual.learn(measured(embedded=500, embed_s=9.0), "tei:@x")
    for _ in range(2):
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
        "null",
        "[" * 5000,
        '{"parse_bytes": 1e400, "chunks": 3}',
        '{"parse_bytes": 0, "chunks": {"a": -1, "b": "2", "c": NaN, "d": null, "e": []}}',
        '{"parse_bytes": [9e6, 2], "chunks": []}',
        '{"parse_bytes": 1%s}' % ("0" * 4000),
        " " * 70_000 + '{"parse_bytes": 9e6}',
        "\udcff",
    ],
)
def test_damage_gives_what_is_usual(tmp_path: Path, text: str) -> None:
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "rates.json").write_text(text, "utf-8", "surrogateescape")
    assert load_rates(tmp_path, 2) == load_rates(tmp_path / "missing", 2)


def test_damage_of_a_part_leaves_the_rest(tmp_path: Path) -> None:
    stored = {"parse_bytes": "?", "chunks": {"a": 50, "b": []}}
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "rates.json").write_text(json.dumps(stored))
    assert load_rates(tmp_path, 2) == Rates(load_rates(tmp_path / "no", 2).parse_bytes, {"a": 50.0})


def test_more_cores_parse_more_up_to_a_point(tmp_path: Path) -> None:
    speeds = [load_rates(tmp_path, cores).parse_bytes for cores in (1, 2, 4, 64)]
    assert speeds[0] < speeds[1] < speeds[2] == speeds[3]


def test_what_is_expected_of_a_job_that_begins_or_goes_on(tmp_path: Path) -> None:
    clock = FakeClock()
    slow = Estimator(load_config(tmp_path / "home", model="onnx:some"))
    built_in = Estimator(load_config(tmp_path / "home"))
    with ledger_in(tmp_path, clock) as ledger:
        row = claimed(ledger)
    assert built_in.expected(row).seconds is None
    row = row._replace(estimated_ms=80_000)
    assert built_in.expected(row).seconds == 80
    resumed = row._replace(files_done=75, files_total=100)
    assert built_in.expected(resumed).seconds == 20  # what is done is not done again
    assert built_in.expected(row).chunks_a_second is None
    assert slow.expected(row).chunks_a_second == 30
    again = row._replace(parameters='{"force": true}')
    assert slow.expected(again).chunks_a_second is None  # vectors of equal texts are kept
    assert slow.expected(again).finish_share > 0.2
    anew = row._replace(parameters='{"force": false, "force_clean": true}')
    assert (slow.expected(anew).chunks_a_second, slow.expected(anew).finish_share) == (30, 0)
