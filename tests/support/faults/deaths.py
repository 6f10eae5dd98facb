"""Processes that die at a named place: ``os._exit``, as the kernel ends a process.

A process is kept ready in which everything is loaded; for each death it makes a copy of itself.
"""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from engine import faults
from tests.support.faults.job_stage import JOB_OPERATIONS
from tests.support.faults.stage import OPERATIONS, Operation, Stage

_ROOT = Path(__file__).resolve().parents[3]
_DIED = 86


class Deaths:
    """Runs operations in processes of their own. Use it as a context manager."""

    def __enter__(self) -> "Deaths":
        code = "from tests.support.faults.deaths import _serve; _serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def dies(self, stage: Stage, operation: Operation, place: str) -> bool:
        """Do an operation; say whether it died at the place, or came to its end.

        Args:
            stage: Prepared and restored.
            operation: One of ``OPERATIONS`` or ``JOB_OPERATIONS``.
            place: As in ``CAIRN_FAULT``, after the action.
        """
        assert self._process.stdin
        assert self._process.stdout
        request = {
            "stage": {"folder": str(stage.folder), "busy_ms": stage.busy_ms},
            "operation": operation.name,
            "place": place,
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, _DIED), f"exit code {code}"
        return code == _DIED


def _serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _run(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(request: dict[str, Any]) -> None:
    known = (*OPERATIONS, *JOB_OPERATIONS)
    [operation] = (each for each in known if each.name == request["operation"])
    found = request["stage"]
    stage = Stage(folder=Path(found["folder"]), busy_ms=found["busy_ms"])
    faults._FAULT = f"die:{request['place']}"
    with stage.catalog(model=operation.model) as catalog:
        operation.act(stage, catalog)
