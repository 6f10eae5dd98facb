"""Answers as Markdown for prompts: places and signatures first, code in fences."""

import re

from engine.records import Hit, SearchAnswer
from web.console.render import totals_of
from web.notes import notes_on
from web.terminal import printable, printable_block

_BACKTICKS = re.compile("`+")


def search_markdown(answer: SearchAnswer, totals: str = "") -> str:
    """Give the answer to a search as Markdown that can be pasted into a prompt.

    The match of a hit is its score as a share of the best one's. A fence is longer than any run of
    backticks in the code it holds, so that code cannot end it.

    Args:
        answer: What was found.
        totals: The last line; by default that of the terminal.
    """
    several = len({hit.project for hit in answer.hits}) > 1
    blocks = ["## Relevant Code from Index"]
    best = max((hit.score for hit in answer.hits), default=0.0)
    for number, hit in enumerate(answer.hits, 1):
        match = f"{round(100 * hit.score / best) if best > 0 else 0}% match"
        blocks.append(_hit_markdown(f"### {number}. {_name_of(hit)} ({match})", hit, several))
    if not answer.hits:
        blocks.append(f"Nothing found for {_code(answer.query)}.")
    blocks += [f"**Note**: {printable(note)}" for note in notes_on(answer)]
    blocks.append(f"_{totals or totals_of(answer)}_")
    return "\n\n".join(blocks) + "\n"


def _name_of(hit: Hit) -> str:
    return f"{hit.kind or 'symbol'} {_code(hit.symbol)}" if hit.symbol else _code(hit.path)


def _hit_markdown(heading: str, hit: Hit, several: bool) -> str:
    path = f"{hit.project}/{hit.path}" if several else hit.path
    lines = [heading, f"**File**: {_code(path)} L{hit.line_start}-{hit.line_end}"]
    if hit.signature:
        lines.append(f"**Signature**: {_code(hit.signature)}")
    if hit.fresh is False:
        lines.append("**Stale**: the file has changed since it was indexed")
    if hit.snippet:
        lines += ["", _fenced(hit.snippet, hit.language)]
    return "\n".join(lines)


def _fenced(code: str, language: str) -> str:
    text = printable_block(code.rstrip("\r\n"))
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Give text as inline code, whatever backticks it holds."""
    safe = printable(text)
    if "`" not in safe:
        return f"`{safe}`"
    fence = "`" * (_longest_run(safe) + 1)
    return f"{fence} {safe} {fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
