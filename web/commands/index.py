"""``cairn index``: a job that makes or refreshes the index of a folder, waited for or not."""

from collections.abc import Mapping, Sequence

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import ProjectNotFoundError
from engine.job_records import Submitted, Waits
from engine.records import IndexOptions
from web.commands.options import examples, json_option, print_json, print_text
from web.console.following import completed, follow
from web.console.job_wording import short_id
from web.console.selection import current_folder
from web.schemas import report_json
from web.terminal import printable
from web.wording import count, duration

_ERRORS_SHOWN = 10


@click.command(
    epilog=examples(
        "cairn index                                  the folder you are in",
        "cairn index ~/src/app --exclude 'vendor/**'  a folder, without a part of it",
        "cairn index --include '*.go' --include docs/ only some files",
        "cairn index --exclude ''                     forget the stored excludes, keep the rest",
        "cairn index --force                          read and parse every file again",
        "cairn index --background ~/src/linux         go on at once, look later: cairn jobs",
    )
)
@click.argument("path", required=False)
@click.option("--include", metavar="GLOB", multiple=True, help="Only these files (repeatable).")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Not these; wins (repeatable).")
@click.option("--max-size", metavar="BYTES", type=int, help="Skip larger files; 0 means 10 MB.")
@click.option("--force", is_flag=True, help="Read and parse unchanged files too.")
@click.option("--background", "-b", is_flag=True, help="Do not wait for it; print the job's id.")
@json_option
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def command(
    *, path: str | None, background: bool, as_json: bool, quiet: bool, **scope: object
) -> None:
    """Index the folder PATH, or bring its index up to date.

    Without PATH it is the project you are in, or the current folder. Only new and changed files are
    read. The globs and the size limit become the project's scope, which later calls keep: each of
    --include, --exclude and --max-size replaces only its own part, and --include '' or --exclude ''
    forgets that part. Nothing is written into the folder.

    It is done by a job: Ctrl-C stops it and keeps what it did, a crash only holds it up. With
    --background it goes on by itself. When the same job is active already, it is followed.
    """
    options = _options_of(**scope)  # type: ignore[arg-type]
    with Catalog(load_config()) as catalog:
        folder = path if path is not None else _here(catalog)
        submitted = catalog.jobs.submit(
            folder, options, waits=Waits.NEVER if background else Waits.ALWAYS
        )
        if not background:
            follow_to_report(catalog, submitted, quiet=quiet, as_json=as_json)
            return
        catalog.jobs.start_detached()
    print_submitted(submitted, quiet=quiet, as_json=as_json)


def _options_of(
    *, include: tuple[str, ...], exclude: tuple[str, ...], max_size: int | None, force: bool
) -> IndexOptions:
    return IndexOptions(
        include_patterns=_patterns_of(include),
        exclude_patterns=_patterns_of(exclude),
        max_file_size=max_size,
        force=force,
    )


def _patterns_of(given: tuple[str, ...]) -> tuple[str, ...] | None:
    """Give globs: ``None`` keeps the stored ones, a single empty one drops them."""
    if given == ("",):
        return ()
    return given or None


def _here(catalog: Catalog) -> str:
    folder = current_folder()
    try:
        return catalog.open(folder).root
    except ProjectNotFoundError:
        return folder


def follow_to_report(catalog: Catalog, submitted: Submitted, *, quiet: bool, as_json: bool) -> None:
    """Wait for a job and print what it did.

    Args:
        catalog: Whose job it is.
        submitted: What became of the request: a duplicate is not this command's to stop.
        quiet: No progress and no text.
        as_json: No progress, and the keys of ``IndexReport``.

    Raises:
        JobFailed: It failed.
        Cancelled: It was cancelled, or not followed any more.
    """
    already = (
        f"already {submitted.status} as job {short_id(submitted.job_id)}, following it"
        " (Ctrl-C stops the watching, not the job)\n"
    )
    job = follow(
        catalog,
        submitted.job_id,
        quiet=quiet or as_json,
        owns=not submitted.duplicate,
        notice=already if submitted.duplicate else "",
    )
    report = report_json(completed(job).result or {})
    if as_json:
        print_json(report)
    elif not quiet:
        print_text(report_text(report))


def print_submitted(submitted: Submitted, *, quiet: bool, as_json: bool) -> None:
    """Print what is needed to look for a job later.

    Args:
        submitted: What became of the request.
        quiet: Print no text.
        as_json: Print one object.
    """
    if as_json:
        names = ("job_id", "status", "duplicate", "estimated_seconds")
        print_json({name: getattr(submitted, name) for name in names})
    elif not quiet:
        print_text(submitted_text(submitted))


def submitted_text(submitted: Submitted) -> str:
    """Say that a job goes on by itself, how long it may take, and how to look."""
    seconds = submitted.estimated_seconds
    expected = "" if seconds is None else f", about {duration(seconds * 1000)}"
    already = f"already {submitted.status} as " if submitted.duplicate else ""
    name = short_id(submitted.job_id)
    return (
        f"{already}job {submitted.job_id}{expected}\n"
        f"  cairn jobs show {name} --follow   watch it\n"
        f"  cairn jobs cancel {name}          stop it\n"
    )


def report_text(report: Mapping[str, object]) -> str:
    """Say what an indexing run did, and what to do next.

    Args:
        report: By the names of ``IndexReport``.
    """
    seen = _number(report, "files_indexed") + _number(report, "files_unchanged")
    lines = [
        f"indexed {_text(report['path'])} in {duration(_number(report, 'duration_ms'))}",
        f"  files    {_number(report, 'files_indexed'):,} new or changed, "
        f"{_number(report, 'files_unchanged'):,} unchanged, "
        f"{_number(report, 'files_skipped'):,} skipped, "
        f"{_number(report, 'files_failed'):,} failed",
        f"  content  {count(_number(report, 'symbols_extracted'), 'symbol')}, "
        f"{count(_number(report, 'chunks'), 'chunk')}, "
        f"{count(_number(report, 'embeddings_generated'), 'vector')}",
    ]
    errors = _list(report, "errors")
    lines += [
        f"  failed   {_text(each['file'])}: {_text(each['error'])}"
        for each in errors[:_ERRORS_SHOWN]
        if isinstance(each, Mapping)
    ]
    if len(errors) > _ERRORS_SHOWN:
        lines.append(f"  failed   and {len(errors) - _ERRORS_SHOWN:,} more: cairn status")
    lines += [f"  note     {_text(note)}" for note in _list(report, "notes")]
    if not seen:
        lines.append("  nothing here can be searched; cairn status counts the reasons")
    return "\n".join(lines) + "\n"


def _number(report: Mapping[str, object], name: str) -> int:
    value = report.get(name)
    return value if isinstance(value, int) else 0


def _list(report: Mapping[str, object], name: str) -> Sequence[object]:
    value = report.get(name)
    return value if isinstance(value, list | tuple) else ()


def _text(value: object) -> str:
    return printable(str(value))
