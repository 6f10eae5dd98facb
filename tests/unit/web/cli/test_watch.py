"""The line that ``cairn watch`` prints when a job has ended."""

from dataclasses import replace

import pytest

from engine.state_records import JobState
from tests.support.job_records import job
from web.cli.watch import job_line


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"files_indexed": 2}, "2 files indexed in 8.0 ms: a.py"),
        ({"files_removed": 1}, "1 file removed in 8.0 ms: a.py"),
        ({"files_indexed": 1, "files_removed": 2}, "1 file indexed, 2 removed in 8.0 ms: a.py"),
        ({"files_indexed": 1, "files_failed": 1}, "1 file indexed, 1 failed in 8.0 ms: a.py"),
        ({"files_unchanged": 7}, "0 files indexed in 8.0 ms: a.py"),
    ],
)
def test_a_line_counts_what_has_changed(counts: dict[str, int], told: str) -> None:
    ended = replace(
        job(),
        status=JobState.COMPLETED,
        parameters={"only": ["a.py"]},
        result={"duration_ms": 8, **counts},
    )
    assert (job_line(ended) or "").split(" ", 1)[1] == f"{told}\n"
