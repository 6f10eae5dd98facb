"""Processes that ask for the same folder to be indexed, all at once, and what they were told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import JobConflictError
from engine.index_records import IndexOptions
from engine.indexing.scope import options_of
from tests.support.jobs import catalog_in
from tests.support.line_servers import LineServer, answer_lines, line_servers

#: What was answered: a job's id, whether it was there already, and who else's it was instead.
Answer = tuple[str, bool, bool]


@contextmanager
def submitters(count: int, home: Path, root: Path) -> Iterator[list[LineServer]]:
    """Start so many processes that ask; each is told how often, and for which options."""
    with line_servers(count, __name__, str(home), str(root)) as started:
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
    """Ask as often as lines say until there is none."""
    answer_lines(
        lambda times, values: answers_of(Path(home), Path(root), times, options_of(values))
    )
