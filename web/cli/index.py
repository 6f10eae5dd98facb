"""``cairn index``: start a job that indexes a folder, and follow it unless ``--background`` is set.

A folder that is indexed for the first time needs the parsers and the built-in model: they are
loaded in another process while this one loads the rest, which is therefore imported late.
"""

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from engine.config import load_config
from engine.first_run import start_fork_server
from web.cli.options import confirmed_folder, examples, json_option, yes_option

if TYPE_CHECKING:
    from engine.index_records import IndexOptions

_SIZE = re.compile(r"(-?\d{1,15}) *(?:([km]?)(?:i?b)?|bytes)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def _size(text: str) -> int:
    """Return a number of bytes; kilobytes and megabytes are powers of 1,024, as in the settings."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no size, such as 500000, 200k or 2M")
    return int(found[1]) * _FACTORS[(found[2] or "").lower()]


@click.command(
    epilog=examples(
        "cairn index                                  the folder you are in",
        "cairn index ~/src/app --exclude 'vendor/**'  a folder, without a part of it",
        "cairn index --include '*.go' --include docs/ only some files",
        "cairn index --exclude ''                     drop the stored excludes, keep the rest",
        "cairn index --force                          read and parse every file again",
        "cairn index --branch v2.1                    a branch or tag that is not checked out",
        "cairn index --background ~/src/linux         return at once; see cairn jobs later",
    )
)
@click.argument("path", required=False)
@click.option("--include", metavar="GLOB", multiple=True, help="Only these files (repeatable).")
@click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Not these files; takes precedence (repeatable).",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    type=_size,
    help="Skip larger files: 500000, 200k, 2M (1k is 1,024); 0 means 10M, the maximum.",
)
@click.option("--force", is_flag=True, help="Read and parse unchanged files too.")
@click.option(
    "--branch",
    metavar="NAME",
    help="A branch or tag, read from git's objects; the disk stays as it is.",
)
@click.option("--background", "-b", is_flag=True, help="Do not wait; print the job's id.")
@yes_option
@json_option
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def command(
    *, path: str | None, background: bool, yes: bool, as_json: bool, quiet: bool, **scope: object
) -> None:
    """Index the folder PATH, or bring its index up to date.

    The default PATH is the project you are in, or the current folder. Only new and changed files
    are read. The globs and the size limit are stored with the project and apply to later calls:
    each of --include, --exclude and --max-size replaces only its own part, and --include '' or
    --exclude '' clears that part. Nothing is written into the folder.

    With --branch, a branch or tag that is not checked out is indexed beside it, for searches with
    branch:NAME; it stays until the repository has it no more. Run it again to follow the branch.

    The work is done by a job: Ctrl-C stops it but keeps what it has done, and after a crash it
    continues. If the same job is already active, it is followed; if it was already running, it may
    have missed the latest changes, so another one follows it.

    A folder that hardly anybody means to index, such as a home directory, must be confirmed, and on
    a terminal also one in or around a project.
    """
    config = load_config()
    server = None if background else start_fork_server(config, path or os.curdir)
    from engine.catalog import Catalog
    from engine.state_records import SubmittedJob, WaitMode
    from web.cli.follow import follow_to_report, print_submitted, print_warnings

    options = _options_of(**scope)  # type: ignore[arg-type]
    with Catalog(config, fork_server=server) as catalog:
        if path is None:
            from web.project_selection import root_here  # a folder that is named does not need it

            path = root_here(catalog)
        if confirmed_folder(catalog, path, yes=yes):
            options = replace(options, confirmed=True)
        submitted = catalog.jobs.submit(
            path, options, waits=WaitMode.NEVER if background else WaitMode.ALWAYS
        )
        if not options.confirmed:
            print_warnings(submitted, quiet=quiet)
        if not background:

            def again() -> SubmittedJob:
                unforced = replace(options, force=False)  # what was read before is not read again
                return catalog.jobs.submit(path, unforced, waits=WaitMode.ALWAYS)

            follow_to_report(catalog, submitted, quiet=quiet, as_json=as_json, again=again)
            return
        catalog.jobs.start_detached()
    print_submitted(submitted, quiet=quiet, as_json=as_json)


def _options_of(
    *,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    max_size: int | None,
    force: bool,
    branch: str | None,
) -> "IndexOptions":
    from engine.index_records import IndexOptions

    return IndexOptions(
        include_patterns=_patterns_of(include),
        exclude_patterns=_patterns_of(exclude),
        max_file_size=max_size,
        force=force,
        branch=branch,
    )


def _patterns_of(given: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return globs: None keeps the stored ones, a single empty one clears them."""
    if given == ("",):
        return ()
    return given or None
