"""Jobs for tests: a data directory to run them in, and waiting until something is so."""

import faulthandler
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.state_records import Job, JobState
from tests.support.catalogs import open_catalog
from tests.support.patience import patience

_LEAST_PAUSE_S = 0.01
_MOST_PAUSE_S = 0.05  # what is asked takes computing, which what is waited for may need


@contextmanager
def catalog_in(
    home: Path, *, opens: OpenEmbedder = open_embedder, **settings: int | str
) -> Iterator[Catalog]:
    """Open a data directory; one worker unless a setting says otherwise."""
    config = load_config(home, **{"workers": 1, **settings})
    with open_catalog(config, open_embedder=opens) as catalog:
        yield catalog


def until(
    is_so: Callable[[], bool], *, within_s: float = 30.0, tells: Callable[[], object] = str
) -> float:
    """Wait until something is so and give how long it took; fail when it never is.

    Beside other tests the time is longer: see `patience`.

    Args:
        is_so: Asked again and again.
        within_s: How long to wait on an idle machine.
        tells: Called for what a failure is to say.
    """
    started = time.monotonic()
    while not is_so():
        waited_s = time.monotonic() - started
        if waited_s > patience(within_s):
            faulthandler.dump_traceback()
            pytest.fail(f"it never came to be so: {tells()}")
        time.sleep(min(max(waited_s / 20, _LEAST_PAUSE_S), _MOST_PAUSE_S))
    return time.monotonic() - started


def without_log(job: Job) -> Job:
    """Give a job without the name of its log, which is written when it has ended already."""
    return replace(job, log=None)


def wait_for(catalog: Catalog, job_id: str, *states: JobState, within_s: float = 30.0) -> Job:
    """Wait until a job is in one of some states."""
    seen: list[Job] = []

    def is_in_one() -> bool:
        seen[:] = [catalog.jobs.show(job_id)]
        return seen[0].status in states

    until(is_in_one, within_s=within_s, tells=lambda: (seen, catalog.jobs.events(job_id)))
    return seen[0]
