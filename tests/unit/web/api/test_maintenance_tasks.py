"""Maintenance: one a project, told while they go on, stopped when asked, remembered afterwards."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

from engine.cancellation import CancelToken
from engine.doctor_records import CheckProgress, Compaction
from engine.errors import Cancelled, ConflictError, ProjectBusyError
from web.api.executors import BoundedExecutor
from web.api.maintenance import (
    Maintenance,
    MaintenanceKind,
    MaintenanceTask,
    MaintenanceWork,
    Outcome,
)

_DONE = Compaction(project_id="p", path="/p", bytes_before=2, bytes_after=1, took_ms=1)


@pytest.fixture
def executor() -> Iterator[BoundedExecutor]:
    executor = BoundedExecutor("test", threads=2, most_waiting=2)
    yield executor
    executor.close()


def _asking(task: MaintenanceTask, cancelled: CancelToken) -> Outcome:
    task.report(CheckProgress(step="texts", done=1, total=2))
    while not cancelled():
        threading.Event().wait(0.01)
    raise Cancelled


async def _begin(
    maintenance: Maintenance,
    executor: BoundedExecutor,
    work: MaintenanceWork,
    *,
    wait_s: float = 10,
    is_shutting_down: bool = False,
    kind: MaintenanceKind = MaintenanceKind.VERIFY,
) -> MaintenanceTask:
    return await maintenance.start(
        "p", kind, work, executor=executor, cancelled=lambda: is_shutting_down, wait_s=wait_s
    )


async def _until(is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to that within 10 s")


def _run(story: Awaitable[MaintenanceTask]) -> MaintenanceTask:
    async def tell() -> MaintenanceTask:
        return await story

    return asyncio.run(tell())


def test_a_short_one_has_ended_already(executor: BoundedExecutor) -> None:
    maintenance = Maintenance()
    task = _run(_begin(maintenance, executor, lambda _task, _cancelled: _DONE))
    assert (task.outcome, task.error, task.is_active) == (_DONE, None, False)
    assert maintenance.of("p") is task
    assert maintenance.of("q") is None


def test_what_fails_is_remembered(executor: BoundedExecutor) -> None:
    def fail(_task: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        raise ProjectBusyError("it is being indexed")

    task = _run(_begin(Maintenance(), executor, fail))
    assert isinstance(task.error, ProjectBusyError)
    assert not task.is_active


def test_what_nobody_foresaw_is_noted_and_told_as_a_failure(executor: BoundedExecutor) -> None:
    noted: list[BaseException] = []

    def fail(_task: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        raise OSError("no space left on device")

    task = _run(_begin(Maintenance(noted.append), executor, fail))
    assert task.error is not None
    assert task.error.code == "internal_error"
    assert [str(each) for each in noted] == ["no space left on device"]


@pytest.mark.parametrize("how", ["asked", "forgotten"])
def test_a_long_one_goes_on_and_is_the_only_one_until_it_is_stopped(
    executor: BoundedExecutor, how: str
) -> None:
    maintenance = Maintenance()

    async def story() -> MaintenanceTask:
        task = await _begin(maintenance, executor, _asking, wait_s=0)
        assert task.is_active
        await _until(lambda: task.progress is not None)
        again = await _begin(maintenance, executor, lambda _task, _cancelled: _DONE)
        assert again is task
        if how == "asked":
            task.stopping.set()
        else:
            maintenance.forget("p")
        await _until(lambda: not task.is_active)
        return task

    task = _run(story())
    assert task.error is not None
    assert "stopped" in task.error.message
    assert (maintenance.of("p") is task) == (how == "asked")


def test_another_one_meanwhile_is_refused_in_a_sentence(executor: BoundedExecutor) -> None:
    maintenance = Maintenance()

    async def story() -> MaintenanceTask:
        task = await _begin(maintenance, executor, _asking, wait_s=0)
        try:
            with pytest.raises(ConflictError, match="the index is being checked") as refusal:
                await _begin(
                    maintenance,
                    executor,
                    lambda _task, _cancelled: _DONE,
                    kind=MaintenanceKind.REPAIR,
                )
            assert "stop" in refusal.value.hint
            assert maintenance.of("p") is task
        finally:
            task.stopping.set()
        await _until(lambda: not task.is_active)
        return await _begin(
            maintenance, executor, lambda _task, _cancelled: _DONE, kind=MaintenanceKind.REPAIR
        )

    assert _run(story()).outcome is _DONE


def test_the_end_of_the_server_stops_it(executor: BoundedExecutor) -> None:
    task = _run(_begin(Maintenance(), executor, _asking, is_shutting_down=True))
    assert task.error is not None
    assert not task.is_active


def test_a_lane_that_is_full_is_a_failure_like_others() -> None:
    executor = BoundedExecutor("test", threads=1, most_waiting=-1)
    task = _run(_begin(Maintenance(), executor, lambda _task, _cancelled: _DONE))
    executor.close()
    assert task.error is not None
    assert "too many" in task.error.message
