"""``cairn projects``: list all indexed projects."""

from collections.abc import Sequence

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.state_records import ProjectSummary
from web.cli.options import examples, json_option, print_json, print_text
from web.terminal import printable
from web.wording import FOLDER_GONE, count, size


@click.command(epilog=examples("cairn projects", "cairn projects --json"))
@json_option
def command(*, as_json: bool) -> None:
    """List all indexed projects with their size and age."""
    with Catalog(load_config()) as catalog:
        projects = catalog.projects()
    if as_json:
        print_json({"projects": projects})
    else:
        print_text(projects_text(projects))


def projects_text(projects: Sequence[ProjectSummary]) -> str:
    """Format projects: the path of each, then its size and age."""
    if not projects:
        return "nothing is indexed yet: cairn index PATH\n"
    return "".join(_project_text(project) for project in projects)


def _project_text(project: ProjectSummary) -> str:
    facts = [count(project.files, "file"), size(project.size_bytes)]
    when = project.last_indexed_at
    facts.append(f"indexed {when}" if when else "first indexing not finished")
    if not project.folder_exists:
        facts.append(FOLDER_GONE)
    if project.error:
        facts.append(f"error: {printable(project.error)}")
    path = project.path or f"unknown folder, index file {project.project_id}.db"
    return f"{printable(path)}\n  {', '.join(facts)}\n"
