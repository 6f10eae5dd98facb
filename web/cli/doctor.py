"""``cairn doctor``: check, repair, back up, compact or rebuild an index."""

import os
import sys
from pathlib import Path

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.doctor_records import (
    Backup,
    Compaction,
    Finding,
    FindingCode,
    Repair,
    Severity,
    Verification,
)
from engine.errors import Cancelled, EngineError, InvalidInputError
from engine.index_records import IndexOptions
from engine.state_records import WaitMode
from web.cli.failures import Failure, failure_of
from web.cli.follow import follow_to_report
from web.cli.interrupts import Interrupt
from web.cli.options import examples, json_option, print_json, print_text
from web.cli.progress import checks_on
from web.errors import DAMAGED, OK, JobFailed
from web.project_selection import root_for
from web.schemas import as_json as shape_of
from web.terminal import Style, printable, style_for
from web.wording import CHECKED, count, duration, size

_PLACES_SHOWN = 5


def verification_text(found: Verification, style: Style) -> str:
    """Format the result of a check and the suggested fixes."""
    head = style.good("sound") if found.ok else style.bad("damaged")
    lines = [f"{head}: the index of {printable(found.path)}"]
    counts = [
        count(found.checked[key], noun) for key, noun in CHECKED.items() if found.checked.get(key)
    ]
    if counts:
        lines.append(f"  checked {', '.join(counts)} in {duration(found.took_ms)}")
    for finding in found.findings:
        lines += _finding_lines(finding, style)
    if found.suggested_fixes:
        lines.append("suggested fixes")
        lines += [f"  {printable(fix)}" for fix in found.suggested_fixes]
    if found.log and not found.ok:
        lines.append(style.dim(f"log: {printable(found.log)}"))
    return "\n".join(lines) + "\n"


def repair_text(repair: Repair, style: Style) -> str:
    """Format what a repair found, changed and kept."""
    lines: list[str] = []
    for finding in repair.before.findings:
        lines += _finding_lines(finding, style)
    lines += [f"  {printable(sentence)}" for sentence in repair.done]
    if repair.done and repair.kept:
        lines.append(f"  kept {', '.join(map(printable, repair.kept))}")
    if repair.aside:
        lines.append(f"  the damaged file was kept as {printable(repair.aside)}")
    if not repair.before.findings:
        lines.append("  no damage found; nothing was changed")
    for finding in repair.after.findings:
        if finding.code is FindingCode.UNFINISHED:
            lines += _finding_lines(finding, style)
    head = style.good("sound") if repair.ok else style.bad("still damaged")
    lines.append(f"{head}: the index of {printable(repair.path)}, {duration(repair.took_ms)}")
    return "\n".join(lines) + "\n"


def compaction_text(done: Compaction) -> str:
    """Format how much smaller a database has become."""
    before, after = size(done.bytes_before), size(done.bytes_after)
    return f"compacted the index of {printable(done.path)}: {before} → {after}\n"


def backup_text(done: Backup) -> str:
    """Format where a copy is."""
    return (
        f"copied the index of {printable(done.path)} to {printable(done.file)}"
        f" ({size(done.size_bytes)})\n"
    )


def _finding_lines(finding: Finding, style: Style) -> list[str]:
    mark = style.warning("-") if finding.severity is Severity.NOTE else style.bad("!")
    lines = [f"  {mark} {printable(finding.message)}"]
    lines += [style.dim(f"      {printable(place)}") for place in finding.places[:_PLACES_SHOWN]]
    left = finding.count - _PLACES_SHOWN
    if finding.places and left > 0:
        lines.append(style.dim(f"      and {left:,} more"))
    return lines


@click.command(
    epilog=examples(
        "cairn doctor                             check the project you are in",
        "cairn doctor ~/src/app --repair          repair what is damaged, and only that",
        "cairn doctor --backup ~/app-index.db     copy the index, also while jobs run",
        "cairn doctor --rebuild                   build a new index, keep jobs and scope",
    )
)
@click.argument("path", required=False)
@click.option(
    "--repair",
    "actions",
    flag_value="repair",
    multiple=True,
    help="Repair what is damaged.",
)
@click.option(
    "--compact", "actions", flag_value="compact", multiple=True, help="Return unused disk space."
)
@click.option(
    "--rebuild",
    "actions",
    flag_value="rebuild",
    multiple=True,
    help="Build a new index and then replace this one.",
)
@click.option("--backup", metavar="FILE", help="Copy the index to FILE, which must not exist.")
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; only set the exit code.")
def command(
    *, path: str | None, actions: tuple[str, ...], backup: str | None, as_json: bool, quiet: bool
) -> int:
    """Check the index of the project at PATH: texts, vectors, and the words of a sample.

    PATH is the project's root, a folder in it, or its name.

    Nothing is changed without an option. The exit code is 0 if the index is sound and 6 if it is
    damaged. --repair removes damaged data, indexes those files again and repeats the check. A
    database that cannot be read at all is replaced; the damaged file is kept beside the new one.
    """
    asked = [*dict.fromkeys(actions), *(["backup"] if backup is not None else [])]
    if len(asked) > 1:
        both = " and ".join(f"--{each}" for each in asked)
        raise InvalidInputError(f"{both} cannot be used together", field=asked[-1])
    action = actions[0] if actions else None
    with Catalog(load_config()) as catalog:
        root = root_for(catalog, path, destroys=action == "rebuild")
        if action == "rebuild":
            options = IndexOptions(force_clean=True)
            submitted = catalog.jobs.submit(root, options, waits=WaitMode.ALWAYS)
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
    failure: Failure | None = None
    if repair.needs_index:
        try:
            submitted = catalog.jobs.submit(root, waits=WaitMode.ALWAYS)
            follow_to_report(catalog, submitted, quiet=quiet or as_json, as_json=False)
        except (EngineError, JobFailed, Cancelled) as error:
            if not as_json:
                raise
            failure = failure_of(error)
    if as_json:
        failed = {"indexing_error": failure.as_json()} if failure else {}
        print_json({**shape_of(repair), **failed})
    if failure:
        return failure.exit_code
    return OK if repair.ok else DAMAGED


def _print(value: object, text: str, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(value)
    elif not quiet:
        print_text(text)
