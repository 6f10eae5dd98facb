"""Operations on jobs that a process can die of at a named place, and that can be done again."""

from engine.catalog import Catalog
from engine.errors import JobConflictError
from engine.index_records import IndexOptions
from engine.jobs import context
from engine.state_records import TERMINAL, JobState
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.faults.stage import Operation, Stage, prepare_changes, prepare_index
from tests.support.jobs import until
from tests.support.trees import write_tree

_SLOW_S = 1.5  # a request: a cancellation comes before the last of them


def _model_of(stage: Stage, catalog: Catalog) -> FakeEmbedder:
    fakes = catalog._open_embedder
    assert isinstance(fakes, Fakes)
    return fakes.named(stage.model)


def _complete(stage: Stage, catalog: Catalog) -> None:
    """Do what is left of an earlier job, and then all that the tree holds."""
    catalog.jobs.follow(catalog.jobs.submit(str(stage.tree)).job_id)
    job = catalog.jobs.follow(catalog.jobs.submit(str(stage.tree)).job_id)
    assert job.status is JobState.COMPLETED


def _run(stage: Stage, catalog: Catalog) -> None:
    _complete(stage, catalog)


def _run_with_checkpoints(stage: Stage, catalog: Catalog) -> None:
    usual = context._CHECKPOINT_FILES
    context._CHECKPOINT_FILES = 1
    try:
        _complete(stage, catalog)
    finally:
        context._CHECKPOINT_FILES = usual


def _wait_for_the_model(stage: Stage, catalog: Catalog) -> None:
    """Run a job that has to wait: its model is away, and comes back."""
    model = _model_of(stage, catalog)
    model.fail_after = 0
    job_id = catalog.jobs.submit(str(stage.tree)).job_id
    tries = catalog.jobs.show(job_id).attempt

    def waits() -> bool:
        job = catalog.jobs.show(job_id)
        return job.attempt > tries and job.status in (*TERMINAL, JobState.BLOCKED)

    catalog.jobs.run_here()
    until(waits)
    model.fail_after = None
    catalog.jobs.follow(job_id)
    _complete(stage, catalog)


def _cancel(stage: Stage, catalog: Catalog) -> None:
    _stop(stage, catalog, asks_again=False)


def _cancel_again(stage: Stage, catalog: Catalog) -> None:
    _stop(stage, catalog, asks_again=True)


def _stop(stage: Stage, catalog: Catalog, *, asks_again: bool) -> None:
    """Run a job and stop it midway; ask first if an earlier process has asked."""
    model = _model_of(stage, catalog)
    model.delay_s = _SLOW_S
    job_id = catalog.jobs.submit(str(stage.tree)).job_id
    if asks_again and catalog.jobs.show(job_id).cancel_requested:
        catalog.jobs.cancel(job_id)
    catalog.jobs.run_here()
    until(lambda: model.requests > 0 or catalog.jobs.show(job_id).status in TERMINAL)
    try:
        catalog.jobs.cancel(job_id, reason="a test")
    except JobConflictError:
        assert catalog.jobs.show(job_id).status in TERMINAL
    ended = catalog.jobs.follow(job_id)
    assert ended.status is JobState.CANCELLED
    model.delay_s = 0.0
    _complete(stage, catalog)


def _rebuild(stage: Stage, catalog: Catalog) -> None:
    """Do what is left of an earlier rebuilding, and rebuild."""
    clean = IndexOptions(force_clean=True)
    job = catalog.jobs.follow(catalog.jobs.submit(str(stage.tree), clean).job_id)
    assert job.status is JobState.COMPLETED


def _prepare_more(stage: Stage) -> None:
    """An index, and a tree with twenty more files."""
    prepare_index(stage)
    write_tree(stage.tree, {f"more{n}.py": f"def more_{n}(): pass\n" * 30 for n in range(20)})


JOB_OPERATIONS = (
    Operation(name="job", prepare=prepare_changes, act=_run),
    Operation(name="job with checkpoints", prepare=prepare_changes, act=_run_with_checkpoints),
    Operation(name="job that waits", prepare=_prepare_more, act=_wait_for_the_model),
    Operation(name="job that is cancelled", prepare=_prepare_more, act=_cancel),
    Operation(name="job that rebuilds", prepare=prepare_changes, act=_rebuild),
    Operation(name="job cancelled twice", prepare=_prepare_more, act=_cancel_again),
)
