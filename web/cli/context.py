"""``cairn context``: list, create, change, rename and remove named sets of projects."""

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidInputError
from engine.state_records import ContextChange, ProjectContext
from web.cli.options import Group, argument_text, examples, json_option, print_json, print_text
from web.project_selection import as_members, member_ids, open_chosen
from web.terminal import printable
from web.wording import count

_NO_CONTEXTS = "there are no contexts yet: cairn context create NAME PROJECT…\n"


@click.group(
    cls=Group,
    default="list",
    epilog=examples(
        "cairn context create work ~/src/app ~/src/api   name a set of projects",
        "cairn search 'retry context:work'               search it",
        "cairn context change work --add web --drop api",
        "cairn context rename work day-job",
        "cairn context remove day-job                    its projects stay indexed",
    ),
)
def command() -> None:
    """Name sets of projects, to search them together with context:NAME.

    A name has 1 to 40 letters, digits, dots, hyphens and underscores, and begins with a letter or
    digit; case does not matter. PROJECT is a root, a folder in it, or a name as in project:. A
    project that is removed leaves all contexts.
    """


@command.command("list", epilog=examples("cairn context list", "cairn context --json"))
@json_option
def list_command(*, as_json: bool) -> None:
    """List all contexts with their projects."""
    with Catalog(load_config()) as catalog:
        contexts = catalog.contexts.all()
    if as_json:
        print_json({"contexts": contexts})
    else:
        print_text("".join(map(context_text, contexts)) or _NO_CONTEXTS)


@command.command("create", epilog=examples("cairn context create work ~/src/app ~/src/api"))
@click.argument("name")
@click.argument("projects", metavar="PROJECT…", nargs=-1, required=True)
@json_option
def create_command(name: str, projects: tuple[str, ...], *, as_json: bool) -> None:
    """Name some PROJECTs."""
    with Catalog(load_config()) as catalog:
        members = as_members([open_chosen(catalog, each, by_part=False) for each in projects])
        _print(catalog.contexts.create(argument_text(name), members), as_json=as_json)


@command.command("change", epilog=examples("cairn context change work --add web --drop api"))
@click.argument("name")
@click.option("--add", metavar="PROJECT", multiple=True, help="Add a project (repeatable).")
@click.option("--drop", metavar="PROJECT", multiple=True, help="Take one out (repeatable).")
@json_option
def change_command(
    name: str, *, add: tuple[str, ...], drop: tuple[str, ...], as_json: bool
) -> None:
    """Add projects to a context, or take some out."""
    if not (add or drop):
        raise InvalidInputError("nothing to change", hint="--add PROJECT, --drop PROJECT")
    with Catalog(load_config()) as catalog:
        contexts = catalog.contexts
        change = ContextChange(
            add=as_members([open_chosen(catalog, each, by_part=False) for each in add]),
            drop=member_ids(contexts.get(argument_text(name)), drop),
        )
        _print(contexts.change(argument_text(name), change), as_json=as_json)


@command.command("rename", epilog=examples("cairn context rename work day-job"))
@click.argument("name")
@click.argument("new_name", metavar="NEW")
@json_option
def rename_command(name: str, new_name: str, *, as_json: bool) -> None:
    """Give a context another name."""
    with Catalog(load_config()) as catalog:
        change = ContextChange(name=argument_text(new_name))
        _print(catalog.contexts.change(argument_text(name), change), as_json=as_json)


@command.command("remove", epilog=examples("cairn context remove work"))
@click.argument("name")
@json_option
def remove_command(name: str, *, as_json: bool) -> None:
    """Remove a context; its projects stay indexed."""
    with Catalog(load_config()) as catalog:
        removed = catalog.contexts.get(argument_text(name))
        catalog.contexts.remove(removed.name)
    if as_json:
        print_json({"name": removed.name, "removed": True})
    else:
        projects = count(len(removed.projects), "project")
        stay = "stays" if len(removed.projects) == 1 else "stay"
        print_text(f"removed the context {removed.name}; its {projects} {stay} indexed\n")


def _print(context: ProjectContext, *, as_json: bool) -> None:
    if as_json:
        print_json(context)
    else:
        print_text(context_text(context))


def context_text(context: ProjectContext) -> str:
    """Format a context: its name, then the paths of its projects."""
    lines = [f"{printable(context.name)}: {count(len(context.projects), 'project')}"]
    lines += [
        f"  {printable(each.path)}{', no longer indexed' if each.gone else ''}"
        for each in context.projects
    ]
    return "\n".join(lines) + "\n"
