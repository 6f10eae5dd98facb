"""What is done at every start of a runner and once a day: jobs of long ago are forgotten."""

from contextlib import closing

from engine.clock import now_ms
from engine.config import Config
from engine.errors import EngineError
from engine.jobs.retention import DAY_MS, prune, prune_logs_of_others
from engine.jobs.watchlist import database_files
from engine.store.connection import Store


def keep_house(config: Config) -> None:
    """Prune the jobs of all projects; one that cannot be written now is left for the next time."""
    logs = config.data_dir / "logs"
    retention_ms = config.job_retention * DAY_MS
    files = database_files(config.data_dir)
    for file in files:
        try:
            with closing(Store(file, busy_timeout_ms=config.busy_timeout)) as store:
                prune(store, logs / file.stem, now_ms=now_ms(), retention_ms=retention_ms)
        except EngineError:
            continue
    project_ids = frozenset(file.stem for file in files)
    prune_logs_of_others(logs, project_ids, before_ms=now_ms() - retention_ms)
