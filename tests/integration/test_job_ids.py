"""Ids of jobs as people and agents shorten them."""

from pathlib import Path
from typing import Any

import pytest

from engine.errors import InvalidInputError, JobNotFoundError
from engine.index_records import IndexOptions
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree
from web.job_ids import job_id_of


def test_ids_that_match_many_jobs_are_not_all_named(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"app.py": "a = 1\n"})
    with catalog_in(tmp_path / "home") as catalog:
        job_id = ""
        for _ in range(8):
            job_id = catalog.jobs.submit(str(tree), IndexOptions()).job_id
            catalog.jobs.cancel(job_id)
        with pytest.raises(InvalidInputError, match=r"matches 8 jobs: .* and 3 more") as raised:
            job_id_of(catalog, job_id[:8])
        details: dict[str, Any] = raised.value.details
        assert (len(details["job_ids"]), details["field"]) == (5, "id")
        with pytest.raises(JobNotFoundError) as missing:
            job_id_of(catalog, "zzzz")
        assert missing.value.details["job_id"] == "zzzz"


def test_the_end_alone_can_be_asked_for(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"app.py": "a = 1\n"})
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(tree), IndexOptions()).job_id
        catalog.jobs.cancel(job_id)
        assert job_id_of(catalog, job_id[:8]) == job_id
        assert job_id_of(catalog, job_id[-8:], is_end=True) == job_id
        assert job_id_of(catalog, job_id, is_end=True) == job_id
        with pytest.raises(JobNotFoundError, match="no job id ends with"):
            job_id_of(catalog, job_id[:8], is_end=True)
        with pytest.raises(InvalidInputError, match="too short") as raised:
            job_id_of(catalog, job_id[-7:], field="job_id", is_end=True)
        assert raised.value.details["field"] == "job_id"
