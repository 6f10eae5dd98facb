"""What the command says of a job that it has followed to its end."""

from dataclasses import replace

import pytest

from engine.errors import Cancelled
from engine.state_records import JobState
from tests.support.job_records import job
from web.cli.follow import completed


def test_a_stopped_job_can_be_retried_but_not_one_that_gave_way() -> None:
    stopped = replace(job(), status=JobState.CANCELLED)
    with pytest.raises(Cancelled, match="cairn jobs retry"):
        completed(stopped)
    with pytest.raises(Cancelled) as told:
        completed(replace(stopped, waiting="gave way to indexing; continues later"))
    assert str(told.value).endswith(" gave way to indexing; continues later")
