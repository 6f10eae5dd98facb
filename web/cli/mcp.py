"""``cairn mcp``: serve agents over standard input and output, and install the server in agents."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from engine.config import load_config
from engine.errors import EngineError, InvalidInputError
from web.agent_clients import EDITED, AgentClient
from web.agent_entries import NAME, server_command, server_variables
from web.cli import agents
from web.cli.agents import Change, editor_of
from web.cli.options import Group, examples, json_option, print_json, print_text
from web.project_selection import current_folder
from web.terminal import printable

_URL = "http://127.0.0.1:7331/mcp"
_NAMES = [agent.name for agent in EDITED]

agent_argument = click.argument("names", metavar="[AGENT]...", nargs=-1, type=click.Choice(_NAMES))
scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="For all your projects, or for the folder you are in.",
)


@click.group(
    cls=Group,
    default="serve",
    epilog=examples(
        "cairn mcp                        serve the agent that started this command",
        "cairn mcp install                add it to the agents on this machine",
        "cairn mcp install codex --print  print what to paste instead",
        "cairn mcp uninstall              remove it again",
    ),
)
def command() -> None:
    """Connect coding agents over the Model Context Protocol.

    Without a subcommand, serve.
    """


@command.command("serve", epilog=examples("cairn mcp serve", "cairn mcp serve ~/src/app"))
@click.argument("paths", metavar="[PATH]...", nargs=-1)
def serve_command(paths: tuple[str, ...]) -> None:
    """Serve an agent over standard input and output until it disconnects.

    PATH is the project for calls that name none. By default it is the one you are in, or the only
    one there is. Jobs continue without this process.
    """
    from web.mcp.stdio import run  # takes half a second, which install does not need

    run(load_config(), served=paths)


@command.command(
    "install",
    epilog=examples(
        "cairn mcp install",
        "cairn mcp install claude-code --scope project",
        "cairn mcp install cursor --http",
        "cairn mcp install vscode --print",
    ),
)
@agent_argument
@scope_option
@click.option(
    "--http",
    "url",
    is_flag=False,
    flag_value=_URL,
    metavar="URL",
    help=f"Connect to a running server, like cairn serve ({_URL}).",
)
@click.option("--print", "only_print", is_flag=True, help="Write nothing; print what to paste.")
@json_option
def install_command(
    names: tuple[str, ...], *, scope: str, url: str | None, only_print: bool, as_json: bool
) -> None:
    """Add this server to the configuration of AGENT: claude-code, codex, cursor or vscode.

    Without AGENT, all agents found on this machine. The rest of their configuration files is not
    changed, and a backup is kept beside each.
    """
    _check_url(url)
    home, project = Path.home(), Path(current_folder())
    chosen = _chosen(names, home)
    entries = {
        agent.name: agent.http_entry(url)
        if url is not None
        else agent.stdio_entry(_command(scope), server_variables(str(load_config().data_dir)))
        for agent in chosen
    }
    if only_print:
        _print_snippets(chosen, entries, scope, as_json=as_json)
        return
    within = home if scope == "user" else project

    def install(agent: AgentClient) -> Change:
        file = agent.config_file(scope, home, project)
        return agents.install(agent, file, entries[agent.name], within=within)

    _change_each(chosen, install, as_json=as_json)


@command.command(
    "uninstall",
    epilog=examples("cairn mcp uninstall", "cairn mcp uninstall codex --scope user"),
)
@agent_argument
@scope_option
@json_option
def uninstall_command(names: tuple[str, ...], *, scope: str, as_json: bool) -> None:
    """Remove this server from the configuration of AGENT, by default of all agents."""
    home, project = Path.home(), Path(current_folder())
    chosen = [agent for agent in EDITED if not names or agent.name in names]
    within = home if scope == "user" else project

    def uninstall(agent: AgentClient) -> Change:
        return agents.uninstall(agent, agent.config_file(scope, home, project), within=within)

    _change_each(chosen, uninstall, as_json=as_json)


def _check_url(url: str | None) -> None:
    """Refuse what agents could not connect to, such as the name of an agent after ``--http``.

    Raises:
        InvalidInputError: It is no address.
    """
    if url is None or url.startswith(("http://", "https://")):
        return
    raise InvalidInputError(
        f"--http is {url!r}, wanted a URL that begins with http:// or https://",
        hint=f"cairn mcp install {url} --http" if url in _NAMES else f"--http {_URL}",
        field="http",
    )


def _chosen(names: Sequence[str], home: Path) -> list[AgentClient]:
    if names:
        return [agent for agent in EDITED if agent.name in names]
    found = [agent for agent in EDITED if agent.is_installed(home)]
    if not found:
        raise InvalidInputError(
            "no coding agent found on this machine",
            hint=f"name one: {', '.join(_NAMES)}; or add --print",
            field="agent",
        )
    return found


def _command(scope: str) -> list[str]:
    """Return the command that an agent starts: just its name in a file that others share."""
    if scope == "project" and shutil.which("cairn"):
        return ["cairn", "mcp"]
    return server_command()


def _print_snippets(
    chosen: Sequence[AgentClient],
    entries: dict[str, dict[str, object]],
    scope: str,
    *,
    as_json: bool,
) -> None:
    home, project = Path("~"), Path(".")
    shown = [
        {
            "agent": agent.name,
            "file": str(agent.config_file(scope, home, project)),
            "text": editor_of(agent).write(agent.section, NAME, entries[agent.name]),
        }
        for agent in chosen
    ]
    if as_json:
        print_json({"agents": shown})
        return
    titles = {agent.name: agent.title for agent in chosen}
    blocks = [f"{titles[each['agent']]}, {each['file']}:\n\n{each['text']}" for each in shown]
    print_text("\n".join(blocks))


def _change_each(
    chosen: Sequence[AgentClient], change: Callable[[AgentClient], Change], *, as_json: bool
) -> None:
    """Change the files of all agents; those that cannot be changed are told after the others."""
    changes: list[Change] = []
    failures: list[EngineError] = []
    for agent in chosen:
        try:
            changes.append(change(agent))
        except EngineError as error:
            failures.append(error)
    if not failures:
        _print_changes(changes, as_json=as_json)
        return
    if as_json:
        failures[0].details["agents"] = changes
    else:
        _print_changes(changes, as_json=False)
    raise _together(failures)


def _together(failures: Sequence[EngineError]) -> EngineError:
    """Return the first failure, with the messages of all."""
    first, *others = failures
    if not others:
        return first
    return type(first)("; ".join(map(str, failures)), hint=first.hint, **first.details)


def _print_changes(changes: Sequence[Change], *, as_json: bool) -> None:
    if as_json:
        print_json({"agents": changes})
        return
    for change in changes:
        backup = f" (backup: {printable(change.backup)})" if change.backup else ""
        print_text(f"{change.agent}: {change.outcome} in {printable(change.file)}{backup}\n")
