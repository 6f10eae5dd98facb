"""Counts what a process of the command line does: modules, SQL, pages and files.

    python -m tests.support.work_done FILE ARGUMENT…

runs ``cairn ARGUMENT…`` and writes the counts of this one process to FILE. Nothing of the program
is replaced: apsw calls a hook for each connection, and the interpreter one for each file.
"""

import atexit
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True, kw_only=True)
class WorkDone:
    """What a process has done."""

    modules: list[str] = field(default_factory=list)
    statements: int = 0
    #: Instructions of SQLite's virtual machine: what statements cost, however few they are.
    sql_steps: int = 0
    #: Pages that a connection did not have in its cache.
    pages_read: int = 0
    #: What was opened, by the name that it was opened by.
    opened: list[str] = field(default_factory=list)
    processes: int = 0

    def own_modules(self) -> list[str]:
        """Give those modules that are the project's own."""
        return [name for name in self.modules if name.partition(".")[0] in ("engine", "web")]


def count_sql(work: WorkDone, thread: str) -> None:
    """Count what a thread does on the connections that are opened from now on.

    What waits beside it, and asks now and then how far it is, does the more the slower it is.
    """
    import apsw

    def watch(handle: apsw.Connection) -> None:
        events = apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE
        handle.trace_v2(events, _counter(work, handle, thread))

    apsw.connection_hooks.append(watch)


def _counter(work: WorkDone, handle: Any, thread: str) -> Callable[[dict[str, Any]], None]:
    """Make what counts the events of a connection that a thread causes.

    Only statements of the program count: those that SQLite's virtual tables run inside them begin
    with an event of their trigger, end with one of the same id, and have counters of their lives.
    """
    import apsw

    running: dict[int, str] = {}
    seen = 0

    def happened(event: dict[str, Any]) -> None:
        nonlocal seen
        if event["code"] == apsw.SQLITE_TRACE_STMT:
            if not event["trigger"]:
                running[event["id"]] = event["sql"]
            return
        if running.get(event["id"]) != event["sql"]:
            return
        del running[event["id"]]
        misses = handle.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
        if threading.current_thread().name == thread:
            work.statements += 1
            work.sql_steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]
            work.pages_read += misses - seen
        seen = misses

    return happened


def count_files(work: WorkDone) -> None:
    """Count the processes and remember the files that this process opens from now on."""

    def happened(event: str, values: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.fork"):
            work.processes += 1
        elif event == "open":
            path, _, flags = values
            if isinstance(path, str | bytes) and not (flags or 0) & os.O_DIRECTORY:
                work.opened.append(os.fsdecode(path))

    sys.addaudithook(happened)


def main() -> None:
    """Run one command line; its counts are written when the process ends."""
    target, arguments = Path(sys.argv[1]), sys.argv[2:]
    before = set(sys.modules)
    work = WorkDone()

    def write() -> None:
        work.modules = sorted(set(sys.modules) - before)
        target.write_text(json.dumps(asdict(work)), "utf-8")

    atexit.register(write)
    count_files(work)
    if "--help" not in arguments:  # which imports no apsw
        count_sql(work, "job" if arguments[0] == "index" else "MainThread")
    sys.argv = ["cairn", *arguments]
    from web.cli.main import main as cairn

    cairn()


if __name__ == "__main__":
    main()
