"""Runs the command line as a process of its own, as people and programs do, or in this one."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.patience import patience
from web.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
CODE = "import sys; from web.cli.main import main; main()"
#: The main thread and those of pytest; any other might notice that folder and environment change.
_THREADS = frozenset(threading.enumerate())
#: Subcommands that change nothing but what they keep in the data directory.
_READERS = frozenset(
    "bases blame callees callers eval impact implementations imports log map outline projects refs"
    " related research search status symbols unused why".split()
)
#: The variables that are passed on; the one of the loader puts a slow disk below all processes.
_KEPT = ("PATH", "HOME", "LD_PRELOAD", "TZ")


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

    def abort(self) -> str:
        """End it, and give what it said last: with Python's fault handler, the threads' stacks."""
        self.send_signal(signal.SIGABRT)
        _, err = self.communicate()
        return err.decode("utf-8", "replace") if err else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command ``cairn`` with its own data directory.

    Args:
        home: The data directory.
        folder: Where it runs.
        variables: More of the environment.
        reads_here: Whether what only reads runs in this process, as a start is most of its time,
            unless other threads are running.
    """

    home: Path
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    reads_here: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment that it runs in."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        places = {"CAIRN_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        fixed = {"LC_ALL": "C.UTF-8", "PYTHONFAULTHANDLER": "1"}
        return {**kept, **fixed, **places, **self.variables}

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
        is_reader = not _READERS.isdisjoint(arguments[:1]) or "--help" in arguments
        if self.reads_here and is_reader and _THREADS.issuperset(threading.enumerate()):
            return self._run_here(arguments, given)
        with self.start(*arguments, stdin=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(given, timeout=patience(60))
            except subprocess.TimeoutExpired as error:
                error.add_note(f"where it stands:\n{process.abort()}")
                raise
        return Ended(
            code=process.returncode,
            out=out.decode("utf-8", "surrogateescape"),
            err=err.decode("utf-8", "surrogateescape"),
        )

    def _run_here(self, arguments: Sequence[str], given: bytes) -> Ended:
        before = dict(os.environ)
        streams = sys.stdin, sys.stdout, sys.stderr
        within = self.environment
        out, err = io.BytesIO(), io.BytesIO()
        try:
            sys.stdin, sys.stdout, sys.stderr = (
                io.TextIOWrapper(each, encoding="utf-8", errors="surrogateescape")
                for each in (io.BytesIO(given), out, err)
            )
            _set_environment(within)
            with chdir(self.folder):
                code = run(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            told, said = (each.getvalue().decode() for each in (out, err))
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            _set_environment(before)
        return Ended(code=code, out=told, err=said)


def _set_environment(wanted: Mapping[str, str]) -> None:
    """Set and remove the variables that differ."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
