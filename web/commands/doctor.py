"""``cairn doctor``: check an index, mend it, copy it, make it small, or begin it anew."""

import os
import sys
from pathlib import Path

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.job_records import Waits
from engine.records import IndexOptions
from web.commands.index import follow_to_report
from web.commands.options import examples, json_option, print_json, print_text
from web.console.check_progress import checks_on
from web.console.doctor_text import (
    backup_text,
    compaction_text,
    repair_text,
    verification_text,
)
from web.console.interrupt import Interrupt
from web.console.selection import root_for
from web.errors import DAMAGED, OK
from web.schemas import as_json as shape_of
from web.terminal import style_for


@click.command(
    epilog=examples(
        "cairn doctor                             check the project you are in",
        "cairn doctor ~/src/app --repair          mend what is damaged, and only that",
        "cairn doctor --backup ~/app-index.db     copy the index, also while jobs run",
        "cairn doctor --rebuild                   begin the index anew, keep jobs and scope",
    )
)
@click.argument("path", required=False)
@click.option(
    "--repair", "actions", flag_value="repair", multiple=True, help="Mend what is damaged."
)
@click.option(
    "--compact", "actions", flag_value="compact", multiple=True, help="Give unused space back."
)
@click.option(
    "--rebuild", "actions", flag_value="rebuild", multiple=True, help="Empty it and index anew."
)
@click.option("--backup", metavar="FILE", help="Copy the index to FILE, which must not exist.")
@json_option
@click.option("--quiet", "-q", is_flag=True, help="No progress and no text; the exit code tells.")
def command(
    *, path: str | None, actions: tuple[str, ...], backup: str | None, as_json: bool, quiet: bool
) -> int:
    """Check the index of the project at PATH: rows, words, vectors and hashes.

    Nothing is changed without an option. The exit code is 0 when the index is sound and 6 when it
    is damaged. --repair takes out what is damaged, indexes those files again, and checks once more;
    a file that cannot be read at all is kept beside the new one.
    """
    asked = [*dict.fromkeys(actions), *(["backup"] if backup is not None else [])]
    if len(asked) > 1:
        both = " and ".join(f"--{each}" for each in asked)
        raise InvalidInputError(f"{both} exclude each other", field=asked[-1])
    action = actions[0] if actions else None
    with Catalog(load_config()) as catalog:
        root = root_for(catalog, path, destroys=action == "rebuild")
        if action == "rebuild":
            options = IndexOptions(force_clean=True)
            submitted = catalog.jobs.submit(root, options, waits=Waits.ALWAYS)
            follow_to_report(catalog, submitted, quiet=quiet, as_json=as_json)
            return OK
        doctor = catalog.doctor(root)
        if action == "compact":
            compaction = doctor.compact()
            _print(compaction, compaction_text(compaction), as_json=as_json, quiet=quiet)
            return OK
        if backup is not None:
            copied = doctor.back_up(Path(os.path.abspath(os.path.expanduser(backup))))
            _print(copied, backup_text(copied), as_json=as_json, quiet=quiet)
            return OK
        if action == "repair":
            return _repair(catalog, root, as_json=as_json, quiet=quiet)
        return _verify(catalog, root, as_json=as_json, quiet=quiet)


def _verify(catalog: Catalog, root: str, *, as_json: bool, quiet: bool) -> int:
    with Interrupt() as interrupt, checks_on(sys.stderr, quiet=quiet or as_json) as show:
        found = catalog.doctor(root).verify(on_progress=show, cancelled=interrupt.cancelled)
    text = verification_text(found, style_for(sys.stdout))
    _print(found, text, as_json=as_json, quiet=quiet)
    return OK if found.ok else DAMAGED


def _repair(catalog: Catalog, root: str, *, as_json: bool, quiet: bool) -> int:
    with Interrupt() as interrupt, checks_on(sys.stderr, quiet=quiet or as_json) as show:
        repair = catalog.doctor(root).repair(on_progress=show, cancelled=interrupt.cancelled)
    if not as_json and not quiet:
        print_text(repair_text(repair, style_for(sys.stdout)))
        sys.stdout.flush()
    if repair.needs_index:
        submitted = catalog.jobs.submit(root, waits=Waits.ALWAYS)
        follow_to_report(catalog, submitted, quiet=quiet or as_json, as_json=False)
    if as_json:
        print_json(shape_of(repair))
    return OK if repair.ok else DAMAGED


def _print(value: object, text: str, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(value)
    elif not quiet:
        print_text(text)
