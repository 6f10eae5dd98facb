"""``runner.log``: all that happens to jobs, also to those that no runner ever had."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.jobs import operation_log
from engine.state_records import JobState
from engine.telemetry.metrics import on_behalf_of
from tests.support.jobs import catalog_in, wait_for
from tests.support.killing import runner_of
from tests.support.logs import logged
from tests.support.trees import SAMPLE, write_tree


def lines_of(home: Path, job_id: str) -> list[dict[str, Any]]:
    return [line for line in logged(home, "runner.log") if line["job_id"] == job_id]


def test_a_job_that_was_cancelled_before_it_began_is_told_of(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        with on_behalf_of("http", "request-1"):
            job_id = catalog.jobs.submit(str(tree)).job_id
        assert catalog.jobs.cancel(job_id, reason="enough").status is JobState.CANCELLED
    lines = lines_of(tmp_path / "home", job_id)
    assert [line["event"] for line in lines] == ["created", "cancel_requested", "cancelled"]
    assert {line["project"] for line in lines} == {str(tree)}
    assert lines[0]["request_id"] == "request-1"
    assert lines[-1]["reason"] == "enough"
    assert all(line["timestamp"].endswith("Z") for line in lines)


def test_a_job_whose_runner_died_is_told_of_once(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"def f{n}(): ...\n" for n in range(50)})
    home = tmp_path / "home"
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with runner_of(home, CAIRN_FAULT="hang:job list stored") as runner:
            wait_for(catalog, job_id, JobState.RUNNING)
            runner.kill()
        assert catalog.jobs.cancel(job_id).status is JobState.CANCELLED
    events = [line["event"] for line in lines_of(home, job_id)]
    assert events[-2:] == ["cancel_requested", "cancelled"]
    assert len(set(events)) == len(events)


def test_a_job_that_ends_during_housekeeping_has_one_operation_log(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write the logs that jobs lack, and look first whether there is one."""
    write_tree(tree, SAMPLE)
    both_look = threading.Barrier(2)
    look = operation_log._written_log

    def look_together(folder: Path, stem: str, uuid: str) -> Path | None:
        found = look(folder, stem, uuid)
        with suppress(threading.BrokenBarrierError):
            both_look.wait(2)
        return found

    with catalog_in(tmp_path / "home") as catalog:
        job = catalog.jobs.follow(catalog.jobs.submit(str(tree)).job_id)
        keeper = catalog.jobs._keeper
        project = catalog.jobs._projects.open(str(tree)).for_jobs()
        [log] = (tmp_path / "home" / "logs" / job.project_id).iterdir()
        log.unlink()
        with project.ledger.store.write(bookkeeping=True) as handle:
            handle.execute("UPDATE jobs SET log = NULL")
        monkeypatch.setattr(operation_log, "_written_log", look_together)
        tidy = threading.Thread(target=keeper.run_housekeeping, args=[lambda: False])
        tidy.start()
        keeper.keep_log(project, job.job_id)
        tidy.join()
        assert len(list(log.parent.iterdir())) == 1
