"""Definitions that nothing uses, as text and as Markdown."""

import re
from collections.abc import Mapping

from engine.humanize import count
from engine.reference_records import UnusedAnswer, UnusedDefinition
from web.budget import Shown
from web.markdown import code_of, section
from web.references import counts_text
from web.terminal import Style, printable, shortened

_CODE_COLUMNS = 100
_PLURAL = re.compile(r"s\b(?= of |$)")


def unused_text(answer: UnusedAnswer, shown: Shown, style: Style) -> list[str]:
    """Return the definitions by file, as blocks of lines.

    Args:
        answer: The answer.
        shown: How much of it.
        style: Colours or none.
    """
    found = answer.definitions[: shown.items]
    if shown.is_brief:
        return [f"{printable(e.path)}:{e.line_start} {printable(e.name)}" for e in found]
    blocks = [
        "\n".join([style.place(printable(path)), *(_line(each, style) for each in rows)])
        for path, rows in _by_file(found).items()
    ]
    return [*blocks, *_outside(answer)]


def unused_markdown(answer: UnusedAnswer, shown: Shown) -> list[str]:
    """Return the definitions by file, as blocks of Markdown.

    Args:
        answer: The answer.
        shown: How much of it.
    """
    blocks = ["## Unused definitions"]
    for path, rows in _by_file(answer.definitions[: shown.items]).items():
        lines = (_markdown(each, is_brief=shown.is_brief) for each in rows)
        blocks.append(section(code_of(path), lines))
    return blocks if shown.is_brief else [*blocks, *_outside(answer)]


def _outside(answer: UnusedAnswer) -> list[str]:
    """Say what has callers outside of the code, if anything."""
    return [f"left out: {counts_text(_named(answer.left_out))}"] if answer.left_out else []


def unused_totals(answer: UnusedAnswer) -> str:
    """Count what was found."""
    totals = [count(answer.total, "unused definition")]
    if answer.exported:
        totals.append(f"{answer.exported:,} more that are exported (--exported lists them)")
    return ", ".join(totals)


def _by_file(found: tuple[UnusedDefinition, ...]) -> Mapping[str, list[UnusedDefinition]]:
    by_file: dict[str, list[UnusedDefinition]] = {}
    for each in found:
        by_file.setdefault(each.path, []).append(each)
    return by_file


def _named(left_out: Mapping[str, int]) -> dict[str, int]:
    """Return counts by reason, the reason of one definition in the singular."""
    return {
        reason if number > 1 else _PLURAL.sub("", reason, count=1): number
        for reason, number in left_out.items()
    }


def _line(each: UnusedDefinition, style: Style) -> str:
    about = [each.certainty.value.ljust(6), each.kind, style.bold(printable(each.name))]
    if each.exported:
        about.append("(exported)")
    if each.named_in:
        about.append(f"(may be named in {printable(each.named_in)})")
    code = style.dim(f"| {shortened(printable(each.signature), _CODE_COLUMNS)}")
    return f"  {each.line_start:>5}  {'  '.join(about)}  {code}".rstrip()


def _markdown(each: UnusedDefinition, *, is_brief: bool) -> str:
    parts = [f"{each.line_start} {each.kind} {code_of(each.name)} {each.certainty.value}"]
    parts += ["exported"] if each.exported else []
    parts += [f"may be named in {code_of(each.named_in)}"] if each.named_in else []
    code = f": {code_of(shortened(each.signature, _CODE_COLUMNS))}" if each.signature else ""
    return ", ".join(parts) + ("" if is_brief else code)
