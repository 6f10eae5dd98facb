"""Maintenance: one a project, told while they go on, stopped when asked, remembered afterwards."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

from engine.cancellation import CancelToken
from engine.errors import Cancelled, ConflictError, ProjectBusyError
from engine.state_records import CheckProgress, Compaction
from web.api.executors import BoundedExecutor
from web.api.maintenance import Act, Maintenance, MaintenanceKind, MaintenanceTask, Outcome

_DONE = Compaction(project_id="p", path="/p", bytes_before=2, bytes_after=1, took_ms=1)


@pytest.fixture
def lane() -> Iterator[BoundedExecutor]:
    lane = BoundedExecutor("test", threads=2, most_waiting=2)
    yield lane
    lane.close()


def _asking(treatment: MaintenanceTask, cancelled: CancelToken) -> Outcome:
    treatment.tell(CheckProgress(step="texts", done=1, total=2))
    while not cancelled():
        threading.Event().wait(0.01)
    raise Cancelled


async def _begin(
    treatments: Maintenance,
    lane: BoundedExecutor,
    act: Act,
    *,
    wait_s: float = 10,
    is_shutting_down: bool = False,
    care: MaintenanceKind = MaintenanceKind.VERIFY,
) -> MaintenanceTask:
    return await treatments.begin(
        "p", care, act, lane=lane, cancelled=lambda: is_shutting_down, wait_s=wait_s
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


def test_a_short_one_has_ended_already(lane: BoundedExecutor) -> None:
    treatments = Maintenance()
    treatment = _run(_begin(treatments, lane, lambda _treatment, _cancelled: _DONE))
    assert (treatment.outcome, treatment.error, treatment.is_active) == (_DONE, None, False)
    assert treatments.of("p") is treatment
    assert treatments.of("q") is None


def test_what_fails_is_remembered(lane: BoundedExecutor) -> None:
    def fail(_treatment: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        raise ProjectBusyError("it is being indexed")

    treatment = _run(_begin(Maintenance(), lane, fail))
    assert isinstance(treatment.error, ProjectBusyError)
    assert not treatment.is_active


def test_what_nobody_foresaw_is_noted_and_told_as_a_failure(lane: BoundedExecutor) -> None:
    noted: list[BaseException] = []

    def fail(_treatment: MaintenanceTask, _cancelled: CancelToken) -> Outcome:
        raise OSError("no space left on device")

    treatment = _run(_begin(Maintenance(noted.append), lane, fail))
    assert treatment.error is not None
    assert treatment.error.code == "internal_error"
    assert [str(each) for each in noted] == ["no space left on device"]


@pytest.mark.parametrize("how", ["asked", "forgotten"])
def test_a_long_one_goes_on_and_is_the_only_one_until_it_is_stopped(
    lane: BoundedExecutor, how: str
) -> None:
    treatments = Maintenance()

    async def story() -> MaintenanceTask:
        treatment = await _begin(treatments, lane, _asking, wait_s=0)
        assert treatment.is_active
        await _until(lambda: treatment.progress is not None)
        again = await _begin(treatments, lane, lambda _treatment, _cancelled: _DONE)
        assert again is treatment
        if how == "asked":
            treatment.stopping.set()
        else:
            treatments.forget("p")
        await _until(lambda: not treatment.is_active)
        return treatment

    treatment = _run(story())
    assert treatment.error is not None
    assert "stopped" in treatment.error.message
    assert (treatments.of("p") is treatment) == (how == "asked")


def test_another_one_meanwhile_is_refused_in_a_sentence(lane: BoundedExecutor) -> None:
    treatments = Maintenance()

    async def story() -> MaintenanceTask:
        treatment = await _begin(treatments, lane, _asking, wait_s=0)
        try:
            with pytest.raises(ConflictError, match="the index is being checked") as refusal:
                await _begin(
                    treatments,
                    lane,
                    lambda _treatment, _cancelled: _DONE,
                    care=MaintenanceKind.REPAIR,
                )
            assert "stop" in refusal.value.hint
            assert treatments.of("p") is treatment
        finally:
            treatment.stopping.set()
        await _until(lambda: not treatment.is_active)
        return await _begin(
            treatments, lane, lambda _treatment, _cancelled: _DONE, care=MaintenanceKind.REPAIR
        )

    assert _run(story()).outcome is _DONE


def test_the_end_of_the_server_stops_it(lane: BoundedExecutor) -> None:
    treatment = _run(_begin(Maintenance(), lane, _asking, is_shutting_down=True))
    assert treatment.error is not None
    assert not treatment.is_active


def test_a_lane_that_is_full_is_a_failure_like_others() -> None:
    lane = BoundedExecutor("test", threads=1, most_waiting=-1)
    treatment = _run(_begin(Maintenance(), lane, lambda _treatment, _cancelled: _DONE))
    lane.close()
    assert treatment.error is not None
    assert "too many" in treatment.error.message
