"""Answers about references within a budget, as JSON and as text."""

import sys
from collections.abc import Callable
from typing import Any

from engine.records import bytes_within
from engine.reference_records import ImpactAnswer, ReferenceAnswer
from web.compact_json import compact_text
from web.references import Shown, most_within
from web.terminal import Style, style_for
from web.text import closing_text, coverage_text, size_of

_MORE = "truncated; raise --limit or --max-tokens for more"


def json_within(
    whole: Shown, content: Callable[[Shown], dict[str, Any]], max_tokens: int
) -> dict[str, Any]:
    """Return an answer as JSON within a budget.

    Args:
        whole: All of it.
        content: Returns so much of it.
        max_tokens: The budget.
    """

    def size(shown: Shown) -> int:
        return size_of(compact_text(content(shown))) + 1

    return content(most_within(whole, size, bytes_within(max_tokens)))


def text_within(
    answer: ReferenceAnswer | ImpactAnswer,
    whole: Shown,
    write: Callable[[Shown, Style], tuple[list[str], str]],
    max_tokens: int | None,
) -> str:
    """Return an answer as text within a budget, if there is one.

    Args:
        answer: The answer.
        whole: All of it.
        write: Returns so much of it as blocks of lines, and the line of its totals.
        max_tokens: The budget.
    """

    def written(shown: Shown, style: Style) -> str:
        blocks, totals = write(shown, style)
        below = [totals]
        if not (shown.is_brief and answer.coverage.complete):
            below.append(coverage_text(answer.coverage))
        if answer.truncated or shown[:2] != whole[:2]:
            below.append(_MORE)
        blocks.append(closing_text(() if shown.is_brief else answer.notes, below, style))
        return ("\n" if shown.is_brief else "\n\n").join(blocks) + "\n"

    def size(shown: Shown) -> int:
        return size_of(written(shown, Style()))

    shown = most_within(whole, size, bytes_within(max_tokens)) if max_tokens else whole
    return written(shown, style_for(sys.stdout))
