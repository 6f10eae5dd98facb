"""The entry point of ``cairn``: the command group and the last exception handler.

Each subcommand is a module of ``web.cli`` that is imported only when it is called, so that
``cairn --help`` imports neither the engine nor any heavy library.
"""

import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

from web.cli.interrupts import EarlyInterrupt, uninstall_early_interrupt

#: Subcommands and their lines in the help of the group; ``web.cli.<name>`` has the ``command``,
#: except for those that share a module.
COMMANDS: dict[str, str] = {
    "index": "Index a folder, or bring its index up to date.",
    "search": "Find code by meaning, word, symbol or pattern.",
    "research": "Collect the best passages for a question.",
    "symbols": "Find definitions by name, or list those of a file.",
    "outline": "List the symbols of a file, or the files of a folder.",
    "refs": "Find who uses a name.",
    "callers": "List the functions that call a function.",
    "callees": "List the functions that a function calls.",
    "implementations": "List the subtypes of a type, or what overrides a method.",
    "bases": "List the bases of a type, or what a method overrides.",
    "impact": "List what a change affects, and the tests that reach it.",
    "map": "List the most central definitions.",
    "unused": "List definitions that nothing uses.",
    "imports": "List which folders or files import which, and cycles.",
    "log": "Find commits by meaning and word.",
    "blame": "Show which commit changed each line of a file last.",
    "related": "Find code similar to the code at a place.",
    "watch": "Keep the index equal to the folder while you work.",
    "serve": "Answer over HTTP, for browsers and programs.",
    "jobs": "List, follow, cancel and retry indexing jobs.",
    "status": "Show what is indexed and what is not.",
    "why": "Explain why a file is or is not indexed.",
    "projects": "List all indexed projects.",
    "context": "Name sets of projects, to search them together.",
    "model": "List, download and test embedding models.",
    "config": "Show the settings, and where each comes from.",
    "doctor": "Check, repair, back up, compact or rebuild an index.",
    "clear": "Empty a project's index.",
    "forget": "Remove a project: delete its index and its memories.",
    "mcp": "Connect coding agents over the Model Context Protocol.",
    "eval": "Measure search quality with your own queries.",
}

_OBJECTS_PER_GC = 20_000
_OBJECTS_PER_GC_OF_RUNS = 200_000  # what a run makes stays, a few objects for each file

_MODULES = dict.fromkeys(("callers", "callees", "implementations", "bases"), "calls")

_EPILOG = """\b
Examples:
  cairn index                        index the folder you are in
  cairn search "parse the config"    search it
  cairn search QUERY --json          the same as JSON
  cairn index --background           index in the background; cairn jobs shows progress
  cairn SUBCOMMAND --help            options and examples

Exit codes: 0 ok, 1 failure, 2 bad input, 3 not found, 4 conflict, 5 unavailable,
6 damaged index, 130 interrupted.
"""


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is called or asked for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, which is the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand; return None if there is none with that name."""
        if cmd_name not in COMMANDS:
            return None
        shared = _MODULES.get(cmd_name)
        module = importlib.import_module(f"web.cli.{shared or cmd_name}")
        command: click.Command = getattr(module, cmd_name if shared else "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or suggest the closest name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from engine.did_you_mean import did_you_mean  # only after a typo

            ctx.fail(f"no command {name!r}" + did_you_mean(name, COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand; raise a closed pipe as ``ReaderGone``."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


class ReaderGone(Exception):  # noqa: N818 - a signal, not an error
    """Standard output was closed by its reader (``cairn search … | head``)."""


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib import metadata  # 20 ms that no other command needs to spend

    try:
        version = metadata.version("codecairn")
    except metadata.PackageNotFoundError:
        version = "(not installed, run from its source)"
    click.echo(f"cairn {version}")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},  # of subcommands too
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def cairn(ctx: click.Context) -> None:
    """Search code locally: by meaning, by word, by symbol or by pattern."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code.

    Args:
        arguments: The arguments after ``cairn``.
    """
    _prepare_streams()
    try:
        result = cairn.main(args=list(arguments), prog_name="cairn", standalone_mode=False)
        sys.stdout.flush()
    except (ReaderGone, BrokenPipeError):
        _silence_output()
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last handler
        uninstall_early_interrupt()
        from web.cli.failures import report

        code = report(error, arguments)
        _silence_if_unwritable()
        return code
    return result if isinstance(result, int) else 0


def main() -> None:
    """Run ``cairn`` with the arguments of the process and exit."""
    _open_streams()
    if sys.argv[1:2] != ["mcp"]:  # whose event loop replaces no handler but Python's own
        EarlyInterrupt().install()
    # numpy takes 25 ms to start the threads of its BLAS. Searches gain nothing from them, and
    # embedding loses: its products are too small to be shared.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports, and the rows of an index, are many objects and hardly any cycles: with the default
    # of 700, collections are a twentieth of the time of starting.
    is_run = sys.argv[1:2] == ["index"]
    gc.set_threshold(_OBJECTS_PER_GC_OF_RUNS if is_run else _OBJECTS_PER_GC)
    code = run(sys.argv[1:])
    uninstall_early_interrupt()
    gc.freeze()  # else the interpreter collects all objects once more before it ends: 25 ms
    sys.exit(code)


def _open_streams() -> None:
    """Open the standard streams that the caller has closed.

    The lowest free descriptors are theirs; a database would get them otherwise.
    """
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _prepare_streams() -> None:
    """Escape characters that the terminal cannot encode instead of raising errors."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _silence_if_unwritable() -> None:
    """Drop what cannot be written, such as the answer on a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence_output()


def _silence_output() -> None:
    """Prevent the interpreter from reporting a failed flush at exit."""
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    main()
