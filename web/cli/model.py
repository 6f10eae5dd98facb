"""``cairn model``: list, download and test embedding models."""

import sys
from collections.abc import Sequence

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
from web.cli.progress import download_on
from web.errors import OK, UNAVAILABLE
from web.terminal import Style, printable, style_for
from web.wording import duration, size


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
    with download_on(sys.stderr, name) as on_progress:
        pulled = pull_model(name, load_config(), on_progress)
    if as_json:
        print_json(pulled)
    else:
        print_text(pulled_text(pulled))


@command.command("show", epilog=examples("cairn model show", "cairn model show --json"))
@json_option
def show_command(*, as_json: bool) -> int:
    """Show the chosen model and test it with one query.

    The exit code is 5 if it does not answer.
    """
    state = show_model(load_config())
    if as_json:
        print_json(state)
    else:
        print_text(state_text(state, style_for(sys.stdout)))
    return UNAVAILABLE if state.error else OK


def models_text(models: Sequence[ModelEntry], forms: Sequence[str], style: Style) -> str:
    """Format models, one per line, then the forms of the setting."""
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
    lines.append(style.dim(f"  values of the setting model: {'; '.join(forms)}"))
    lines.append(style.dim("  cairn model pull NAME downloads a model"))
    return "\n".join(lines) + "\n"


def state_text(state: ModelState, style: Style) -> str:
    """Format the chosen model as lines of name and value."""
    rows = [("model", style.bold(printable(state.model))), ("from", printable(state.source))]
    if state.answers:
        rows += [
            ("dimension", f"{state.dimension:,}"),
            ("identity", printable(state.identity or "")),
            ("loaded in", duration(state.open_ms or 0)),
            ("question", duration(state.query_ms or 0)),
        ]
    elif state.error:
        rows += [("answers", style.warning(f"no: {printable(state.error)}"))]
        rows += [("try", printable(state.hint))] if state.hint else []
    else:
        rows = [rows[0], ("answers", "no: search by word, name and pattern only")]
    return "".join(f"{name:<9}  {value}\n" for name, value in rows)


def pulled_text(pulled: PulledModel) -> str:
    """Format where a model is and how to choose it."""
    downloaded = f", {size(pulled.size_bytes)}" if pulled.size_bytes else ""
    return (
        f"{printable(pulled.model)} is downloaded{downloaded} ({duration(pulled.duration_ms)})\n"
        f"  {printable(pulled.path)}\n"
        f'  to use it: model = "{printable(pulled.model)}" in config.toml of the data directory,'
        f" or CAIRN_MODEL={printable(pulled.model)}\n"
    )
