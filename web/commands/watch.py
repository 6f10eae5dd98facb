"""``cairn watch``: keep indexes equal to their folders until Ctrl-C."""

import sys
import threading
import time
from collections.abc import Callable

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import ProjectNotFoundError
from engine.job_records import Job
from engine.watch_records import WatchState, WatchStatus
from web.commands.options import examples, json_option, print_json, print_text
from web.console.interrupt import Interrupt
from web.console.selection import current_folder
from web.console.watch_text import StatusLines, job_json, job_line, status_json

_LOOK_S = 0.2


@click.command(
    epilog=examples(
        "cairn watch                     the project you are in, or the current folder",
        "cairn watch ~/src/app ~/src/lib several folders",
        "cairn watch --json              an object a line, for programs",
    )
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Say only what is wrong.")
def command(*, paths: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Keep the index of each PATH equal to its folder, until Ctrl-C.

    What is saved is found within two seconds. At the start and every few minutes all is compared,
    so that nothing is missed. A folder that is not indexed yet is indexed first. Where the system
    cannot watch, the folders are looked at now and then instead, and that is said.
    """
    with Catalog(load_config()) as catalog, Interrupt(notice="") as interrupt:
        tellers = [
            _Teller(folder, as_json=as_json, quiet=quiet) for folder in (paths or (_here(catalog),))
        ]
        watchers = [
            catalog.watch(teller.path, on_status=teller.hear_status, on_job=teller.hear_job)
            for teller in tellers
        ]
        while not interrupt.cancelled():
            if all(watcher.status.state is WatchState.STOPPED for watcher in watchers):
                return
            time.sleep(_LOOK_S)


def _here(catalog: Catalog) -> str:
    folder = current_folder()
    try:
        return catalog.open(folder).root
    except ProjectNotFoundError:
        return folder


class _Teller:
    """Prints what a watcher does; one a folder, used from the watcher's thread."""

    _printing = threading.Lock()

    def __init__(self, path: str, *, as_json: bool, quiet: bool) -> None:
        self.path = path
        self._as_json = as_json
        self._quiet = quiet
        self._lines = StatusLines(path)

    def hear_status(self, status: WatchStatus) -> None:
        """Print a state that is new, and why."""
        line = self._lines.line_of(status)
        if line is None:
            return
        is_wrong = status.state in (WatchState.POLLING, WatchState.WAITING) or bool(status.reason)
        if self._as_json:
            self._print(lambda: print_json(status_json(self.path, status)))
        elif is_wrong or not self._quiet:
            self._print(lambda: print_text(line))

    def hear_job(self, job: Job) -> None:
        """Print what a job did when it has ended."""
        if self._as_json:
            shape = job_json(job)
            if shape is not None:
                self._print(lambda: print_json(shape))
            return
        line = job_line(job)
        if line is not None and (not self._quiet or job.error is not None):
            self._print(lambda: print_text(line))

    def _print(self, act: Callable[[], None]) -> None:
        with self._printing:
            act()
            sys.stdout.flush()
