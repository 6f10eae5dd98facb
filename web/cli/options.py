"""Shared by subcommands: common options, printing and confirmation."""

import sys
from collections.abc import Callable, Collection
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, TypeVar

import click

from engine.errors import Cancelled, InvalidInputError, UnavailableError
from engine.parameters import RequestField, parameters_of
from engine.records import MIN_TOKENS
from web.terminal import printable, rejoined

if TYPE_CHECKING:
    from engine.catalog import Catalog
    from web.budget import Cuttable

Function = TypeVar("Function", bound=Callable[..., Any])

#: Options that turn a parameter off which is on by default, with their help.
_SWITCHES = {
    "context": ("--no-snippets", "Show places only, without code."),
    "tests": ("--no-tests", "Leave out tests, as -is:test does."),
    "vendored": ("--no-vendored", "Leave out code from elsewhere, as -is:vendored does."),
    "generated": ("--no-generated", "Leave out files that tools wrote, as -is:generated does."),
}

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
project_option = click.option(
    "--project",
    metavar="PATH",
    help="The project's root, a folder in it, or its name (default: the one you are in).",
)


def _checked_budget(
    _context: click.Context, _parameter: click.Parameter, tokens: int | None
) -> int | None:
    if tokens is not None and tokens < MIN_TOKENS:
        raise InvalidInputError(
            f"max_tokens is {tokens}, wanted {MIN_TOKENS} or more", field="max_tokens"
        )
    return tokens


max_tokens_option = click.option(
    "--max-tokens",
    type=int,
    callback=_checked_budget,
    help=f"Budget for the whole answer: one token per 3.5 bytes, {MIN_TOKENS} or more.",
)


def format_option(
    *graphs: str,
    text: str = "text (default), Markdown for prompts, or a graph for Mermaid or Graphviz.",
) -> Callable[[Function], Function]:
    """Return a decorator that adds ``--format``, received as ``output``."""
    formats = click.Choice(["text", "markdown", *graphs])
    return click.option("--format", "output", type=formats, help=text)


markdown_option = format_option(text="text (default), or Markdown for prompts.")


def check_format(output: str | None, *, as_json: bool, max_tokens: int | None = None) -> None:
    """Check that ``--format`` goes with the other options.

    Raises:
        InvalidInputError: It comes with ``--json``, or a graph is to fit a budget.
    """
    if as_json and output is not None:
        raise InvalidInputError(f"--json cannot be used with --format {output}", field="format")
    if max_tokens is not None and output not in (None, "text", "markdown"):
        raise InvalidInputError(
            f"--max-tokens cannot be used with --format {output}", field="max_tokens"
        )


def request_options(
    request: type, *, without: Collection[str] = ()
) -> Callable[[Function], Function]:
    """Return a decorator that adds an option for each optional parameter of a request.

    The command receives each value by the name of the request's field. Bounds are checked by the
    engine.

    Args:
        request: The request, which declares its parameters.
        without: Fields of it that the command reads in another way.
    """
    options = [
        _option_of(each)
        for each in parameters_of(request)
        if each.default is not MISSING and each.field not in without
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _option_of(asked: RequestField) -> Callable[[Function], Function]:
    if asked.default is True:
        flag, text = _SWITCHES[asked.field]
        return click.option(flag, asked.field, flag_value=False, default=True, help=text)
    declared = asked.parameter
    bounds = "" if declared.maximum is None else f", {declared.minimum} to {declared.maximum}"
    text = f"{declared.description[:1].upper()}{declared.description[1:]}{bounds}"
    names = ("--" + asked.name.replace("_", "-"), asked.field)
    text += "" if text.endswith("…") else "."
    if asked.kind is bool:
        return click.option(*names, is_flag=True, help=text)
    return click.option(
        *names,
        type=_Choice(asked) if asked.choices else asked.kind,
        metavar=asked.name.upper() if asked.kind is str and not asked.choices else None,
        default=str(asked.default) if asked.choices and asked.default else asked.default,
        show_default=asked.default is not None,
        help=text,
    )


class _Choice(click.Choice[str]):
    """A choice between words that become values of a request's field."""

    def __init__(self, asked: RequestField) -> None:
        super().__init__(asked.choices)
        self._kind = asked.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a word."""
        return self._kind(super().convert(value, param, ctx))


class Group(click.Group):
    """A group with a default subcommand.

    Args:
        default: The name of that subcommand, which also gets options that follow the group.
        settings: The parameters of ``click.Group``.
    """

    def __init__(self, *, default: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default if the arguments name no subcommand and do not ask for help."""
        is_help = bool(args) and args[0] in self.get_help_option_names(ctx)
        if not args or (args[0].startswith("-") and not is_help):
            args = [self._default, *args]
        return super().parse_args(ctx, args)


def examples(*lines: str) -> str:
    """Format examples as the epilog of a help page, unwrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def unwritten(error: OSError) -> Exception:
    """Return the error for an answer that cannot be written; a reader that has gone is none."""
    if isinstance(error, BrokenPipeError):
        return error
    return UnavailableError(f"cannot write the answer: {error.strerror}")


def print_json(value: object) -> None:
    """Print one object as one line and flush."""
    from web.schemas import json_line

    print_text(json_line(value, sys.stdout))
    sys.stdout.flush()


def print_record(answer: "Cuttable", max_tokens: int | None) -> None:
    """Print an answer of the code graph as one line of JSON, within a budget if there is one."""
    from web.budget import record_within  # the records of the code graph: other commands need none

    print_json(answer if max_tokens is None else record_within(answer, max_tokens))


def print_text(text: str) -> None:
    """Print text as it is, without an added newline.

    Raises:
        UnavailableError: It cannot be written, as on a full disk.
        BrokenPipeError: Nobody reads it any more.
    """
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise unwritten(error) from error


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask for confirmation and return whether it was given.

    Args:
        question: The question.
        yes: Whether the command line confirms already.

    Raises:
        InvalidInputError: There is no terminal to ask on.
    """
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInputError(
            "no terminal to ask for confirmation on",
            hint="add --yes to confirm",
            field="yes",
        )
    return click.confirm(question, err=True)


def confirmed_folder(catalog: "Catalog", path: str, *, yes: bool) -> bool:
    """Ask about a folder that hardly anybody means to index; return whether it is confirmed.

    Without a terminal nobody can answer: the engine refuses what must be confirmed, and only tells
    that the folder overlaps a project.

    Raises:
        Cancelled: The answer is no.
        InvalidPathError: No folder is there, or it cannot be read.
    """
    question = "" if yes else catalog.check_folder(path).question
    if not question or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return yes
    shown = printable(path)
    if not click.confirm(f"{shown}: {printable(question)}. Index it anyway?", err=True):
        raise Cancelled("nothing was indexed")
    return True


def argument_text(text: str) -> str:
    """Return an argument as valid text: bytes that are not UTF-8 become U+FFFD."""
    return rejoined(text, "replace")
