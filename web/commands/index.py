"""``cairn index``: make or refresh the index of a folder, with progress; a clean end on Ctrl-C."""

import sys

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import Cancelled, ProjectNotFoundError
from engine.index import Index
from engine.records import IndexOptions, IndexReport
from web.commands.options import examples, json_option, print_json, print_text
from web.interrupt import Interrupt
from web.progress import progress_on
from web.schemas import report_json
from web.selection import current_folder
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
    )
)
@click.argument("path", required=False)
@click.option("--include", metavar="GLOB", multiple=True, help="Only these files (repeatable).")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Not these; wins (repeatable).")
@click.option("--max-size", metavar="BYTES", type=int, help="Skip larger files; 0 means 10 MB.")
@click.option("--force", is_flag=True, help="Read and parse unchanged files too.")
@json_option
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def command(*, path: str | None, as_json: bool, quiet: bool, **scope: object) -> None:
    """Index the folder PATH, or bring its index up to date.

    Without PATH it is the project you are in, or the current folder. Only new and changed files are
    read. The globs and the size limit become the project's scope, which later calls keep: each of
    --include, --exclude and --max-size replaces only its own part, and --include '' or --exclude ''
    forgets that part. Nothing is written into the folder.
    """
    options = _options_of(**scope)  # type: ignore[arg-type]
    with Catalog(load_config()) as catalog:
        index = catalog.create(path) if path is not None else _here(catalog)
        report = _run(index, options, quiet=quiet or as_json)
    if as_json:
        print_json(report_json(report))
    elif not quiet:
        print_text(report_text(report))


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


def _here(catalog: Catalog) -> Index:
    folder = current_folder()
    try:
        return catalog.open(folder)
    except ProjectNotFoundError:
        return catalog.create(folder)


def _run(index: Index, options: IndexOptions, *, quiet: bool) -> IndexReport:
    with Interrupt() as interrupt:
        try:
            with progress_on(sys.stderr, quiet=quiet) as on_progress:
                return index.index(options, on_progress=on_progress, cancelled=interrupt.cancelled)
        except Cancelled as signal:
            kept = count(index.status().files, "file")
            raise Cancelled(
                f"{kept} indexed so far can be searched; the same command goes on from there"
            ) from signal


def report_text(report: IndexReport) -> str:
    """Say what an indexing run did, and what to do next."""
    seen = report.files_indexed + report.files_unchanged
    lines = [
        f"indexed {printable(report.path)} in {duration(report.duration_ms)}",
        f"  files    {report.files_indexed:,} new or changed, "
        f"{report.files_unchanged:,} unchanged, "
        f"{report.files_skipped:,} skipped, {report.files_failed:,} failed",
        f"  content  {count(report.symbols_extracted, 'symbol')}, {count(report.chunks, 'chunk')}, "
        f"{count(report.embeddings_generated, 'vector')}",
    ]
    lines += [
        f"  failed   {printable(each.file)}: {printable(each.error)}"
        for each in report.errors[:_ERRORS_SHOWN]
    ]
    if len(report.errors) > _ERRORS_SHOWN:
        lines.append(f"  failed   and {len(report.errors) - _ERRORS_SHOWN:,} more: cairn status")
    lines += [f"  note     {printable(note)}" for note in report.notes]
    if not seen:
        lines.append("  nothing here can be searched; cairn status counts the reasons")
    return "\n".join(lines) + "\n"
