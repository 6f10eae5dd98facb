"""Only a user pauses a watcher, and only by cancelling a run over the whole work tree."""

from contextlib import closing
from pathlib import Path

import pytest

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.clock import now_ms
from engine.config import Config
from engine.errors import Cancelled
from engine.index_records import IndexOptions
from engine.locks import runner_lock_file, take_lock
from engine.scheduler.housekeeping import DAY_MS, prune
from engine.state_records import Job, JobFilter, JobOrigin, JobState, WatchState
from engine.store.connection import Store
from engine.watch.listener import Listener, WatchLimitError
from engine.watch.live import _JobSubmitter
from engine.watch.watcher import IndexingPausedError, Watcher
from tests.support.catalogs import open_catalog
from tests.support.embedders import Fakes, HeldEmbedder
from tests.support.git_history import sample_history
from tests.support.jobs import catalog_in, until
from tests.support.trees import SAMPLE, write_tree


def _runs(catalog: Catalog, root: Path) -> _JobSubmitter:
    """Return what runs the jobs of a watcher that a server starts."""
    return _JobSubmitter(catalog.jobs, str(root), lambda _job: None, is_asked=False)


def _newest(catalog: Catalog) -> Job:
    return catalog.jobs.list(JobFilter(limit=1)).jobs[0]


def _check_continues(catalog: Catalog, root: Path) -> None:
    stopped = _newest(catalog)
    assert stopped.status is JobState.CANCELLED
    assert stopped.waiting == "stopped with its watcher; the next one indexes what is left"
    assert _runs(catalog, root)(None, lambda: False)
    assert catalog.open(str(root)).status().coverage.complete


def test_a_watcher_that_is_stopped_pauses_no_run_that_works(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": '"""What is held back."""\n'})
    embedder = HeldEmbedder()
    with catalog_in(tmp_path / "home", opens=Fakes(embedder), model=embedder.name) as catalog:
        catalog.create(str(root))

        def is_stopped() -> bool:
            if embedder.is_holding.is_set():
                embedder.is_free.set()
                return True
            return False

        assert not _runs(catalog, root)(None, is_stopped)
        _check_continues(catalog, root)


def test_a_watcher_that_is_stopped_pauses_no_run_that_waits_for_its_turn(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    catalog.create(str(tree))
    lock = take_lock(runner_lock_file(config.data_dir))
    assert lock
    with lock:
        assert not _runs(catalog, tree)(None, lambda: True)
    _check_continues(catalog, tree)


def test_who_cancels_a_history_pauses_no_watcher(catalog: Catalog, tmp_path: Path) -> None:
    root = sample_history(tmp_path / "tree", tmp_path).root
    catalog.create(str(root)).index()
    catalog.jobs.cancel(catalog.jobs.submit_history(str(root)).job_id)
    assert _runs(catalog, root)(None, lambda: False)


def test_who_cancels_the_run_over_another_branch_pauses_no_watcher(
    catalog: Catalog, tmp_path: Path
) -> None:
    git = sample_history(tmp_path / "tree", tmp_path)
    git.git("branch", "other", "HEAD~1")
    catalog.create(str(git.root)).index()
    other = catalog.jobs.submit(str(git.root), IndexOptions(branch="other"))
    catalog.jobs.cancel(other.job_id)
    assert _runs(catalog, git.root)(None, lambda: False)


@pytest.mark.parametrize("reason", ["a request goes first", "newer changes go first"])
def test_whatever_a_user_gives_as_the_reason_it_is_a_user_who_cancels(
    catalog: Catalog, tree: Path, reason: str
) -> None:
    write_tree(tree, SAMPLE)
    root = catalog.create(str(tree)).root
    job_id = catalog.jobs.submit(root, origin=JobOrigin.WATCH).job_id
    job = catalog.jobs.cancel(job_id, reason=reason)
    assert (job.status, job.waiting) == (JobState.CANCELLED, None)
    with pytest.raises(IndexingPausedError):
        _runs(catalog, tree)(None, lambda: False)


def test_a_pause_lasts_however_old_it_is_and_whatever_is_indexed_meanwhile(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    catalog.jobs.cancel(catalog.jobs.submit(index.root).job_id)
    with closing(Store(index.for_watcher().file, busy_timeout_ms=config.busy_timeout)) as store:
        with store.write(bookkeeping=True) as handle:
            handle.execute(
                """WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
                   INSERT INTO jobs (uuid, kind, origin, parameters, state, created_at_ms,
                                     finished_at_ms, error)
                   SELECT printf('%036d', i), 'index', 'watch', '{"only":["a.py"]}', 'failed',
                          ?1 + i, ?1 + i, '{}'
                   FROM n""",
                (now_ms(),),
            )
        with pytest.raises(IndexingPausedError):
            _runs(catalog, tree)(None, lambda: False)
        later_ms = now_ms() + 99 * DAY_MS
        prune(store, tree, now_ms=later_ms, retention_ms=config.job_retention * DAY_MS)
    assert len(catalog.jobs.list().jobs) == 1
    with pytest.raises(IndexingPausedError):
        _runs(catalog, tree)(None, lambda: False)
    catalog.jobs.follow(catalog.jobs.submit(index.root).job_id)
    assert _runs(catalog, tree)(None, lambda: False)


@pytest.mark.parametrize("state", [WatchState.WATCHING, WatchState.POLLING])
def test_how_a_paused_project_is_watched_hides_no_pause(
    catalog: Catalog,
    config: Config,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: WatchState,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise WatchLimitError

    is_paused = True

    def run(_only: tuple[str, ...] | None, _cancelled: CancelToken) -> bool:
        if is_paused:
            raise IndexingPausedError("indexing was cancelled")
        return True

    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    if state is WatchState.POLLING:
        monkeypatch.setattr(Listener, "listen", refuse)
    watcher = Watcher(index.for_watcher(), run, config)
    watcher.start()
    try:
        until(lambda: watcher.status.paused)
        assert watcher.status.state is state
        assert watcher.status.reason.endswith("indexing was cancelled")
        is_paused = False
        until(lambda: not watcher.status.paused)
        assert "indexing was cancelled" not in watcher.status.reason
    finally:
        watcher.stop()


def test_a_job_of_a_user_that_is_in_the_way_is_told_as_that(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    root = catalog.create(str(tree)).root
    job_id = catalog.jobs.submit(root, IndexOptions(force=True)).job_id
    with pytest.raises(Cancelled, match="another job went first"):
        _runs(catalog, tree)(None, lambda: False)
    assert catalog.jobs.show(job_id).status is JobState.COMPLETED


def test_a_server_that_stops_before_its_first_run_pauses_nothing(
    config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    lock = take_lock(runner_lock_file(config.data_dir))
    assert lock
    with lock, open_catalog(config) as catalog:
        catalog.create(str(tree))
        catalog.watch(str(tree))
        until(lambda: bool(catalog.jobs.list().jobs))
    with open_catalog(config) as catalog:
        watcher = catalog.watch(str(tree), create=False)
        until(lambda: catalog.open(str(tree)).status().coverage.complete)
        assert watcher.status.reason == ""
