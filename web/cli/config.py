"""``cairn config``: show the settings, with values, origins and defaults."""

from dataclasses import replace

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.settings import SettingState, unknown_setting
from engine.tag_rules import TagRule
from web.cli.options import examples, json_option, print_json, print_text
from web.terminal import printable

_NONE = "none"  # for an empty value


@click.command(epilog=examples("cairn config", "cairn config jobs", "cairn config --json"))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def command(names: tuple[str, ...], *, as_json: bool) -> None:
    """Show the settings in force, where each comes from, its default and its meaning.

    Change them in config.toml, whose path is printed, or on the page /settings of cairn serve.
    """
    with Catalog(load_config()) as catalog:
        found = catalog.settings.list()
    known = {*(each.name for each in found.settings), "tags"}
    for name in names:
        if name not in known:
            raise unknown_setting(name)
    shown = [each for each in found.settings if not names or each.name in names]
    rules = found.tags if not names or "tags" in names else ()
    if as_json:
        print_json(replace(found, settings=tuple(shown), tags=rules))
    else:
        print_text(_text(shown, found.file) + _tags_text(rules))


def _text(settings: list[SettingState], file: str) -> str:
    """Format settings by group, each with its meaning below."""
    lines = [f"{printable(file)}\n"]
    group = ""
    for each in settings:
        if each.group != group:
            group = each.group
            lines.append(f"\n{group}\n")
        default = f", default {each.default or _NONE}" if each.value != each.default else ""
        unit = "" if each.unit in ("text", "port") or not each.value else f" {each.unit}"
        lines.append(
            f"  {each.name} = {printable(each.value) or _NONE}{unit} ({each.origin}{default})\n"
        )
        lines.append(f"    {each.help}\n")
    return "".join(lines)


def _tags_text(rules: tuple[TagRule, ...]) -> str:
    """Format the rules that tag files."""
    if not rules:
        return ""
    lines = ["\nTags of files, by rules\n"]
    for rule in rules:
        files = " in ".join(filter(None, (rule.path, rule.language)))
        lines.append(f"  {printable(', '.join(rule.tags))}: {printable(files)}\n")
    return "".join(lines)
