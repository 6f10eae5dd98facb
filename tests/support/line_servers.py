"""Processes that wait for a line of JSON, do what it says all at once, and answer with a line."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.support.command import ROOT


class LineServer:
    """One such process.

    Args:
        process: Started, and not ready yet.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def wait_until_ready(self) -> None:
        """Wait until it has loaded what it needs."""
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def tell(self, *values: object) -> None:
        """Have it begin."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(values) + "\n")
        self._process.stdin.flush()

    def told(self) -> list[Any]:
        """Wait for its answers."""
        assert self._process.stdout
        found: list[Any] = json.loads(self._process.stdout.readline())
        return found


@contextmanager
def line_servers(count: int, module: str, *arguments: str) -> Iterator[list[LineServer]]:
    """Start so many processes that call ``serve`` of a module; all are ready."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        f"from {module} import serve; serve(*{arguments!r})"
    )
    with ExitStack() as stack:
        started = []
        for _ in range(count):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            started.append(LineServer(process))
        for each in started:
            each.wait_until_ready()
        yield started


def answer_lines(answer: Callable[..., list[Any]]) -> None:
    """Say that this process is ready, and answer lines until there is none."""
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)
