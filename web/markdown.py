"""Markdown for prompts: code, sections, and the lines below an answer."""

import re
from collections.abc import Iterable, Sequence

from web.terminal import printable, printable_block

_BACKTICKS = re.compile("`+")


def code_of(text: str) -> str:
    """Return a text as inline code, even if it contains backticks."""
    safe = printable(text)
    if "`" not in safe:
        return f"`{safe}`"
    fence = "`" * (_longest_run(safe) + 1)
    return f"{fence} {safe} {fence}"


def fenced(code: str, language: str) -> str:
    """Return a block of code; its fence is longer than any run of backticks in the code."""
    text = printable_block(code.rstrip("\r\n"))
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def section(title: str, items: Iterable[str]) -> str:
    """Return a heading with a list below it."""
    return "\n".join([f"### {title}", "", *(f"- {item}" for item in items)])


def closing_markdown(notes: Sequence[str], totals: Sequence[str]) -> str:
    """Return what stands below an answer: its notes, then all totals as one line.

    Args:
        notes: In sentences.
        totals: Numbers with what they count.
    """
    lines = [f"**Note**: {printable(note)}" for note in notes]
    return "\n\n".join([*lines, f"_{', '.join(totals)}_"])


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
