"""What a job will take, said before it exists, and what those that completed have taught."""

import json
import threading

from engine.config import Config
from engine.dispatch.survey import survey, survey_of_paths
from engine.job_records import JobState
from engine.jobs.context import JobContext
from engine.jobs.estimate import Estimate, check_room, estimate
from engine.jobs.pace import Outlook
from engine.jobs.rates import load_rates, save_rates
from engine.records import IndexOptions
from engine.store.connection import Store
from engine.store.jobs import JobRow

_ROOM_BYTES = 64 << 20  # asked for where the tree was not looked at


class Foresight:
    """Knows how fast this machine is.

    Args:
        config: The settings in force.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()

    def before(
        self, store: Store, root: str, options: IndexOptions, *, is_surveyed: bool
    ) -> Estimate | None:
        """Estimate a job, and make sure that it can begin.

        Args:
            store: The project's database.
            root: The resolved folder.
            options: What the job will be told.
            is_surveyed: Whether to look at the tree for it, at most half a second; else None.

        Raises:
            InvalidInputError: The folder cannot be read.
            UnavailableError: The data directory cannot be written, or has no room.
        """
        config = self._config
        if options.only:
            found = survey_of_paths(root, options.only)
        elif is_surveyed:
            found = survey(store, root, options, config.model)
        else:
            check_room(config.data_dir, root, _ROOM_BYTES)
            return None
        rates = load_rates(config.data_dir, config.worker_count)
        foreseen = estimate(found, rates, config.model)
        check_room(config.data_dir, root, foreseen.needed_bytes)
        return foreseen

    def outlook(self, row: JobRow) -> Outlook:
        """Give what to expect of a job that begins."""
        seconds = None if row.estimated_ms is None else row.estimated_ms / 1000
        rates = load_rates(self._config.data_dir, self._config.worker_count)
        parameters = json.loads(row.parameters)
        is_rebuild = bool(parameters.get("force") or parameters.get("force_clean"))
        return rates.outlook(self._config.model, seconds=seconds, is_rebuild=is_rebuild)

    def learn(self, row: JobRow, context: JobContext) -> None:
        """Take in what a job measured, if it has completed in one try."""
        if row.state != JobState.COMPLETED or row.attempt > 1:
            return
        with self._lock:
            rates = load_rates(self._config.data_dir, self._config.worker_count)
            save_rates(self._config.data_dir, rates.learn(context.measured(self._config.model)))
