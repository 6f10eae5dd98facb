"""Processes that ask for the same folder to be indexed, all at once, and say what they were told.

Run as a program it waits for a line on standard input, asks, and prints one JSON array a line.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from engine.errors import JobConflictError
from engine.indexing.scope import options_of
from engine.records import IndexOptions
from tests.support.command import ROOT
from tests.support.jobs import catalog_in

#: What was answered: a job's id, whether it was there already, and who else's it was instead.
Answer = tuple[str, bool, bool]


class Submitter:
    """One such process.

    Args:
        process: Started, and not ready yet.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def wait_until_ready(self) -> None:
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def ask(self, times: int, options: dict[str, Any] | None = None) -> None:
        """Begin to ask so often, from as many threads."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps([times, options or {}]) + "\n")
        self._process.stdin.flush()

    def answers(self) -> list[Answer]:
        """Wait for what was answered."""
        assert self._process.stdout
        return [tuple(each) for each in json.loads(self._process.stdout.readline())]


@contextmanager
def submitters(count: int, home: Path, root: Path) -> Iterator[list[Submitter]]:
    """Start so many processes; all are ready."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        f"from tests.support.submitters import serve; serve({str(home)!r}, {str(root)!r})"
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
            started.append(Submitter(process))
        for each in started:
            each.wait_until_ready()
        yield started


def answers_of(home: Path, root: Path, times: int, options: IndexOptions) -> list[Answer]:
    """Ask so often at once, from threads that share a catalog which knows the project not yet."""
    with catalog_in(home) as catalog:
        return asked_of(catalog, root, times, options)


def asked_of(catalog: Any, root: Path, times: int, options: IndexOptions) -> list[Answer]:
    """Ask a catalog so often at once; an exception other than a conflict is one here too."""
    found: list[Answer] = []
    errors: list[BaseException] = []
    begin = threading.Barrier(times)

    def ask() -> None:
        begin.wait()
        try:
            submitted = catalog.jobs.submit(str(root), options)
        except JobConflictError as conflict:
            found.append((str(conflict.details["job_id"]), True, True))
        except BaseException as error:
            errors.append(error)
        else:
            found.append((submitted.job_id, submitted.duplicate, False))

    threads = [threading.Thread(target=ask) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def serve(home: str, root: str) -> None:
    """Answer lines until there is none."""
    print("ready", flush=True)
    for line in sys.stdin:
        times, values = json.loads(line)
        options = options_of(values)
        print(json.dumps(answers_of(Path(home), Path(root), times, options)), flush=True)
