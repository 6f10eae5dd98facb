"""A server as a process of its own, and clients for it."""

import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.command import Command
from tests.support.patience import ANSWER_S, patience

_READY_S = 60.0  # the first start after an installation compiles all it imports
_END_S = 20.0
_URL = re.compile(r"(http://\S+?:\d+)(/\?token=(\S+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that answers."""

    url: str
    token: str  # empty: none is wanted
    process: "subprocess.Popen[bytes]"
    home: Path

    @property
    def port(self) -> int:
        """Give the port that it listens on."""
        return int(self.url.rpartition(":")[2])

    def client(self, **options: Any) -> httpx.Client:
        """Give a client that knows the token."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=ANSWER_S, **options)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(patience(_END_S))


@contextmanager
def serving(command: Command, *arguments: str, port: int = 0) -> Iterator[Server]:
    """Start ``cairn serve`` on a port, by default a free one, and end it.

    If it gives no answer in time, the error tells what each of its threads was doing.
    """
    process = command.start("serve", *arguments, "--port", str(port))
    assert process.stdout
    try:
        line = _line_of(process)
        found = _URL.search(line)
        assert found, line
        yield Server(url=found[1], token=found[3] or "", process=process, home=command.home)
    except httpx.TimeoutException as error:
        error.add_note(f"where the server stands:\n{process.abort()}")
        raise
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=patience(_END_S))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


def ask_until(client: httpx.Client, path: str, **wanted: object) -> dict[str, Any]:
    """Ask until the answer has these values."""
    deadline_s = time.monotonic() + patience(_READY_S)
    while True:
        answer: dict[str, Any] = client.get(path).json()
        if all(answer.get(name) == value for name, value in wanted.items()):
            return answer
        assert time.monotonic() < deadline_s, answer
        time.sleep(0.05)


def _line_of(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], patience(_READY_S))
    return process.stdout.readline().decode() if ready else ""
