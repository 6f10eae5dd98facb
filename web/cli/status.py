"""``cairn status``: show what an index contains, and what was skipped."""

import sys

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.state_records import ProjectStatus, WatchState
from web.cli.job_text import View, job_line, view_of
from web.cli.options import examples, json_option, print_json, print_text
from web.cli.watch import status_text as watch_text
from web.project_selection import index_of
from web.terminal import printable
from web.text import coverage_text
from web.wording import FOLDER_GONE, branch_text, short_id, size, stored_commits


@click.command(
    epilog=examples(
        "cairn status               the project you are in",
        "cairn status ~/src/app     another one",
        "cairn status --json",
    )
)
@click.argument("path", required=False)
@json_option
def command(path: str | None, *, as_json: bool) -> None:
    """Show what is indexed in the project at PATH, and why the rest is not.

    PATH is the project's root, a folder in it, or its name.
    """
    with Catalog(load_config()) as catalog:
        status = index_of(catalog, path, by_name=True).status()
    if as_json:
        print_json(status)
    else:
        print_text(status_text(status, view_of(sys.stdout)))


def status_text(status: ProjectStatus, view: View) -> str:
    """Format a project's status as lines of name and value, then its jobs and skipped files.

    Args:
        status: The status.
        view: The output to format for.
    """
    style = view.style
    rows = [
        ("project", style.bold(printable(status.path))),
        ("branch", branch_text(status)),
        ("indexed", status.last_indexed_at or "not finished yet"),
        ("files", f"{status.files:,}"),
        ("symbols", f"{status.symbols:,}"),
        ("chunks", f"{status.chunks:,}"),
        ("vectors", f"{status.embeddings:,} ({status.model or 'no model'})"),
        ("seen", coverage_text(status.coverage)),
        ("commits", stored_commits(status.commits, status.history, is_figure=True)),
        ("on disk", size(status.size_bytes)),
        ("index id", status.project_id),
    ]
    if not status.folder_exists:
        rows.insert(1, ("folder", f"{FOLDER_GONE}; what was indexed can still be searched"))
    lines = [f"{name:<9} {value}" for name, value in rows]
    if status.watch:
        since = status.watch.since if status.watch.state is WatchState.BLOCKED else ""
        lines.append(
            f"{'watched':<9} {watch_text(status.watch)}{f', since {since}' if since else ''}"
        )
    if status.jobs:
        lines.append("jobs")
        lines += [f"  {job_line(job, view)}" for job in status.jobs]
        lines.append(style.dim(f"  cairn jobs show {short_id(status.jobs[0].job_id)} has details"))
    if status.skips:
        lines.append("not indexed")
        ordered = sorted(status.skips.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"  {number:>8,}  {reason.replace('_', ' ')}" for reason, number in ordered]
        lines.append(style.dim("  cairn why PATH explains one of them"))
    return "\n".join(lines) + "\n"
