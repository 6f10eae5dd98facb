"""Any single call of the file system that fails, and any from which on all do, is survived."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faults.stage import OPERATIONS, Operation, Stage
from tests.support.faults.sweep import Sweep


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_faults_at_many_calls(
    tmp_path: Path, operation: Operation, record_property: Callable[[str, object], None]
) -> None:
    points = Sweep(Stage(folder=tmp_path), operation).run_some()
    assert points > 50 or not operation.is_kept
    record_property("points", points)


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_faults_at_all_calls(tmp_path: Path, operation: Operation) -> None:
    points = Sweep(Stage(folder=tmp_path), operation).run_all()
    print(f"{operation.name}: {points} faults, all survived")
