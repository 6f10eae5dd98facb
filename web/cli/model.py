"""``cairn model``: which models can find by meaning, the chosen one tried, one downloaded."""

import sys
import time
from collections.abc import Sequence
from typing import TextIO

import click

from engine.config import load_config
from engine.models import (
    ModelEntry,
    ModelState,
    PulledModel,
    list_models,
    model_forms,
    pull_model,
    show_model,
)
from web.cli.options import examples, json_option, print_json, print_text
from web.errors import OK, UNAVAILABLE
from web.terminal import Style, printable, style_for
from web.wording import duration, size

_LINE_INTERVAL_S = 10.0


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "cairn model list                          the models to choose from",
        "cairn model pull BAAI/bge-small-en-v1.5   download one",
        "CAIRN_MODEL=onnx:BAAI/bge-small-en-v1.5 cairn model show",
    ),
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List, download and test embedding models, which are used to search by meaning.

    The setting "model" chooses one. The built-in model needs nothing else. Only "cairn model pull"
    downloads anything.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command("list", epilog=examples("cairn model list", "cairn model list --json"))
@json_option
def list_command(*, as_json: bool) -> None:
    """List the models that can be chosen; * marks the chosen one."""
    models = list_models(load_config())
    if as_json:
        print_json({"models": models, "forms": model_forms()})
    else:
        print_text(models_text(models, model_forms(), style_for(sys.stdout)))


@command.command("pull", epilog=examples("cairn model pull BAAI/bge-small-en-v1.5"))
@click.argument("name")
@json_option
def pull_command(name: str, *, as_json: bool) -> None:
    """Download the model NAME into the data directory."""
    download = _Download(name, sys.stderr)
    try:
        pulled = pull_model(name, load_config(), download.came)
    finally:
        download.end()
    if as_json:
        print_json(pulled)
    else:
        print_text(pulled_text(pulled))


@command.command("show", epilog=examples("cairn model show", "cairn model show --json"))
@json_option
def show_command(*, as_json: bool) -> int:
    """Show the chosen model and test it with one question.

    The exit code is 5 when it does not answer.
    """
    state = show_model(load_config())
    if as_json:
        print_json(state)
    else:
        print_text(state_text(state, style_for(sys.stdout)))
    return UNAVAILABLE if state.error else OK


def models_text(models: Sequence[ModelEntry], forms: Sequence[str], style: Style) -> str:
    """Give a line a model, then how others are written."""
    width = max(len(entry.model) for entry in models)
    lines = []
    for entry in models:
        name = printable(entry.model).ljust(width)
        facts = [
            "" if entry.dimension is None else f"{entry.dimension:,}",
            "" if entry.size_bytes is None else size(entry.size_bytes),
            "here" if entry.here else "",
        ]
        row = f"{facts[0]:>6}  {facts[1]:>9}  {facts[2]:<4}  {entry.licence}"
        mark = "*" if entry.chosen else " "
        lines.append(f"{mark} {style.bold(name) if entry.chosen else name}  {row}".rstrip())
    lines.append(style.dim(f"  the setting model takes: {'; '.join(forms)}"))
    lines.append(style.dim("  cairn model pull NAME downloads one that is not here"))
    return "\n".join(lines) + "\n"


def state_text(state: ModelState, style: Style) -> str:
    """Give the chosen model as lines of name and value."""
    rows = [("model", style.bold(printable(state.model))), ("from", printable(state.source))]
    if state.answers:
        rows += [
            ("dimension", f"{state.dimension:,}"),
            ("identity", printable(state.identity or "")),
            ("opened in", duration(state.open_ms or 0)),
            ("question", duration(state.query_ms or 0)),
        ]
    elif state.error:
        rows += [("answers", style.warning(f"no: {printable(state.error)}"))]
        rows += [("try", printable(state.hint))] if state.hint else []
    else:
        rows = [rows[0], ("answers", "no: words, names and patterns only")]
    return "".join(f"{name:<9}  {value}\n" for name, value in rows)


def pulled_text(pulled: PulledModel) -> str:
    """Say where a model is now, and how to choose it."""
    came = f", {size(pulled.size_bytes)}" if pulled.size_bytes else ""
    return (
        f"{printable(pulled.model)} is here{came} ({duration(pulled.duration_ms)})\n"
        f"  {printable(pulled.path)}\n"
        f'  choose it: model = "{printable(pulled.model)}" in config.toml of the data directory,'
        f" or CAIRN_MODEL={printable(pulled.model)}\n"
    )


class _Download:
    """How much has come: a line that is written anew on a terminal, now and then a line elsewhere.

    Args:
        name: What is downloaded.
        stream: Where the lines go.
    """

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = printable(name)
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._said_at_s = time.monotonic()
        self._is_open = False

    def came(self, number_of_bytes: int) -> None:
        """Take note of the bytes that have come."""
        text = f"downloading {self._name}: {size(number_of_bytes)}"
        if self._is_terminal:
            self._is_open = True
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
        elif time.monotonic() - self._said_at_s >= _LINE_INTERVAL_S:
            self._said_at_s = time.monotonic()
            self._stream.write(f"{text}\n")

    def end(self) -> None:
        """Take the line away."""
        if self._is_open:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
