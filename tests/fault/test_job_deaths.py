"""A process that dies at any named place of a job: no history is broken, and the job is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.faults import JOB_FAULT_POINTS
from engine.state_records import EventType
from tests.support.faults.deaths import Deaths
from tests.support.faults.job_stage import JOB_OPERATIONS
from tests.support.faults.stage import Operation, Stage
from tests.support.job_oracle import Samples, check_jobs
from tests.support.jobs import until
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience

#: The operation that reaches a point; else it is a job as such.
_WHERE = {
    "job checkpoint filled": "job with checkpoints",
    "job blocked": "job that waits",
    "job unblocked": "job that waits",
    "job cancel requested": "job cancelled twice",
    "job stopped": "job that is cancelled",
}
_BY_NAME = {operation.name: operation for operation in JOB_OPERATIONS}
_TIMES = 3
#: Of every transaction of a job: the first ones, and those of its batches.
_TRANSACTIONS = [
    f"transaction {moment}@{number}" for moment in ("filled", "committed") for number in (1, 5, 9)
]


@pytest.fixture(scope="module")
def deaths() -> Iterator[Deaths]:
    """Processes that are ready to die."""
    with Deaths() as deaths:
        yield deaths


@pytest.mark.parametrize("point", [*JOB_FAULT_POINTS, *_TRANSACTIONS])
def test_deaths_at_each_point(tmp_path: Path, deaths: Deaths, point: str) -> None:
    """A process dies three times in a row at the same place, and the next comes to the end."""
    operation = _BY_NAME[_WHERE.get(point, "job")]
    stage = Stage(folder=tmp_path, busy_ms=int(patience(500)))
    operation.prepare(stage)
    wanted = stage.fresh_contents()
    stage.restore()
    samples = Samples()
    for _ in range(_TIMES):
        assert deaths.dies(stage, operation, point), "nothing reaches this point"
        check_sound(stage.database)
        samples.take(stage.database)
        check_jobs(stage.database)
    check_completed(stage, operation, samples)
    assert contents(stage.database) == wanted


def check_completed(stage: Stage, operation: Operation, samples: Samples) -> None:
    """Fail unless doing it again leaves every job ended, with a log that tells of it."""
    with stage.catalog() as catalog:
        operation.act(stage, catalog)
        # A runner that starts writes the logs that others have left unwritten, beside its work.
        until(lambda: _count_logs(stage) == len(check_jobs(stage.database)))
    check_sound(stage.database)
    samples.take(stage.database)
    for job in check_jobs(stage.database):
        assert job.finished_at_ms is not None
        assert job.events[-1].type in (EventType.COMPLETED, EventType.CANCELLED)
        assert not job.suspects


def _count_logs(stage: Stage) -> int:
    return len(list((stage.home / "logs" / stage.database.stem).glob("*.log")))
