"""No file holds up a run for long, and none keeps the other threads of the process waiting."""

import time
from pathlib import Path

import pytest

from engine.config import load_config
from engine.indexing.fork_server import WorkerLimits
from engine.indexing.parse_records import Task
from engine.indexing.workers import WorkerPool
from engine.records import Skip
from engine.syntax.languages import language_of
from tests.support.command import Command
from tests.support.hostile import TREE_CASES, hostile_corpus
from tests.support.hostile.measured import run_measured
from tests.support.patience import patience

_CONTENT = tuple(case for case in TREE_CASES if case.class_ == "content")
_MOST_S = 5.0  # the deadline of the parser, then what cannot be stopped: a query, lines and words
_MOST_STALL_S = 0.1
_TRIES = 3  # the least of them counts: other programs hold up threads too


@pytest.mark.soak
def test_how_long_each_content_takes(tmp_path: Path) -> None:
    times: dict[str, float] = {}
    results: dict[str, str] = {}
    config = load_config(tmp_path / "home")
    with (
        hostile_corpus(tmp_path, _CONTENT) as corpus,
        WorkerPool(1, WorkerLimits(deadline_ms=config.parse_timeout)) as pool,
        pool.channel() as channel,
    ):
        for case in corpus.built:
            (name,) = case.expect
            data = (corpus.root / case.path / name).read_bytes()
            started = time.monotonic()
            channel.submit([Task(1, name, language_of(name) or "text", data)])
            outcomes = channel.poll(60)
            times[case.name] = time.monotonic() - started
            result = outcomes[0].result
            results[case.name] = (
                result.reason if isinstance(result, Skip) else result.analysis.parse_result
            )
    slowest = sorted(times, key=lambda name: -times[name])
    for name in slowest[:8]:
        print(f"{times[name]:5.2f} s  {name}: {results[name]}")
    assert len(times) == len(_CONTENT)
    assert times[slowest[0]] < patience(_MOST_S)


@pytest.mark.soak
@pytest.mark.parametrize("class_", ["content", "ignore_rules", "names", "sizes"])
def test_no_thread_waits_long(tmp_path: Path, class_: str) -> None:
    cases = tuple(case for case in TREE_CASES if case.class_ == class_)
    with hostile_corpus(tmp_path, cases) as corpus:
        command = Command(home=tmp_path / "home", folder=tmp_path)
        stalls = [
            run_measured(command, "index", "--force", "--quiet", str(corpus.root)).measured.stall_s
            for _ in range(_TRIES)
        ]
    print(f"{class_}: longest stalls {', '.join(f'{stall * 1e3:.0f} ms' for stall in stalls)}")
    assert min(stalls) < _MOST_STALL_S
