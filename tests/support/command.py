"""Runs the command line as a process of its own, as people and programs do."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.patience import patience

ROOT = Path(__file__).resolve().parents[2]
CODE = "import sys; from web.cli.main import main; main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Give the one object that was printed."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self
        shape: dict[str, Any] = json.loads(lines[0])
        return shape


class StartedProcess(subprocess.Popen[bytes]):
    """A process that a test waits for, but not after it has failed."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, traceback)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command ``cairn`` with its own data directory.

    Args:
        home: The data directory.
        folder: Where it runs.
        variables: More of the environment.
    """

    home: Path
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment that it runs in."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        places = {"CAIRN_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        return {**kept, "LC_ALL": "C.UTF-8", **places, **self.variables}

    def start(self, *arguments: str, **streams: Any) -> StartedProcess:
        """Start it and return at once."""
        return StartedProcess(
            [sys.executable, "-c", CODE, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=streams.get("stdin", subprocess.DEVNULL),
            stdout=streams.get("stdout", subprocess.PIPE),
            stderr=streams.get("stderr", subprocess.PIPE),
        )

    def __call__(self, *arguments: str, given: bytes = b"") -> Ended:
        """Run it to its end, with ``given`` on standard input."""
        with self.start(*arguments, stdin=subprocess.PIPE) as process:
            out, err = process.communicate(given, timeout=patience(60))
        return Ended(
            code=process.returncode,
            out=out.decode("utf-8", "surrogateescape"),
            err=err.decode("utf-8", "surrogateescape"),
        )
