"""``cairn forget``: delete a project's index file."""

import dataclasses

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import Cancelled, EngineError, ProjectNotFoundError
from engine.roots import project_id_of, resolve
from engine.state_records import ProjectSummary
from web.cli.options import (
    confirmed,
    examples,
    json_option,
    print_json,
    print_text,
    yes_option,
)
from web.project_selection import check_is_no_name
from web.terminal import printable
from web.wording import count, left_contexts, size


@click.command(epilog=examples("cairn forget ~/src/app", "cairn forget ~/src/app --yes"))
@click.argument("path")
@yes_option
@json_option
def command(path: str, *, yes: bool, as_json: bool) -> None:
    """Remove the project whose root is PATH: delete its index and its memories.

    Your files are not touched. The folder itself need not exist any more.
    """
    with Catalog(load_config()) as catalog:
        project = _project_at(catalog, path)
        root = printable(project.path)
        question = "" if yes else question_about(catalog, project)
        if not confirmed(question, yes=yes):
            raise Cancelled("nothing was changed")
        left = catalog.forget(project.path)
    if as_json:
        shape = {"project_id": project.project_id, "path": project.path, "contexts": left}
        print_json({**shape, "forgotten": True})
    else:
        print_text(f"removed {root}: its index and its memories are deleted{left_contexts(left)}\n")


def question_about(catalog: Catalog, project: ProjectSummary) -> str:
    """Return the question before a project is deleted, with what cannot be made again."""
    what = f"Delete the index of {printable(project.path)} ({size(project.size_bytes)})"
    try:
        page = catalog.open(project.path).checkpoints.list(limit=1, only_memories=True)
    except EngineError:  # it is damaged
        memories = "any memories in it"
    else:
        memories = f"its {count(page.total, 'memory')}" if page.total else ""
    return f"{what} and {memories}, which cannot be made again?" if memories else f"{what}?"


def _project_at(catalog: Catalog, path: str) -> ProjectSummary:
    """Find a project by its exact root, so that a folder inside it cannot delete the whole.

    A project with a damaged database is found too, because its id is derived from the root.

    Raises:
        ProjectNotFoundError: No project has this root; the hint lists all roots, or that of the
            project with this name.
    """
    root = resolve(path)
    project_id = project_id_of(root)
    projects = catalog.projects()
    for project in projects:
        if project.project_id == project_id:
            return dataclasses.replace(project, path=root)
    check_is_no_name(catalog, path, "forget")
    paths = [project.path for project in projects if project.path]
    known = f"the indexed roots are {', '.join(paths)}" if paths else "nothing is indexed yet"
    raise ProjectNotFoundError(f"no project has the root {root}", hint=known, path=root)
