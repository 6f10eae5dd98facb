"""Bounds on answers: no answer is longer than its budget, of 1,500 tokens by default.

A budget holds for the structured content and for the text, each alone, because clients pass on only
one of them. A tool with a list answers with as many records as fit, and a cursor or advice for the
others. What is too long even so, such as one record with a huge text, is cut by ``sent``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, TypeVar

from mcp.types import CallToolResult, TextContent
from msgspec import Meta

from engine import cursors
from engine.records import MIN_TOKENS, bytes_within, tokens_of
from web.budget import GraphAnswer, Shown, most_within
from web.mcp.failures import in_tools
from web.mcp.tool import Answer
from web.schemas import as_json
from web.terminal import printable
from web.text import compact_text, coverage_text, size_of

DEFAULT_TOKENS = 1500  # of an answer
MaxTokens = Annotated[int, Meta(ge=MIN_TOKENS)]

#: What is left of texts, in characters, and of lists; tried until the answer fits.
_LEFT = [(2000 >> step, max(200 >> step, 1)) for step in range(9)]
#: Fields that are wrong if they are cut.
_WHOLE = ("id", "job_id", "task_id", "path", "next_cursor", "log_resource", "operation_resource")
#: Ends of the names of fields that are left out rather than cut: times and paths.
_UNCUT = ("_at", "_path", "_log")
#: Lists whose items are left out rather than cut.
_UNCUT_ITEMS = ("notes", "projects")
_MIN_FIELDS = 12  # of an object, that are left
_CUT = "…"

Record = TypeVar("Record")


def size_of_answer(answer: Answer) -> int:
    """Return the size of the structured content or of the text, whichever is larger."""
    return max(size_of(answer.text), size_of(compact_text(as_json(answer.content))))


def notes_of(answer: GraphAnswer, nothing: str = "") -> list[str]:
    """Return what to know of an answer of the code graph, in the words of tools.

    Args:
        answer: The answer.
        nothing: What it did not find, if that is to be said.
    """
    notes = [in_tools(note) for note in (nothing, *answer.notes) if note]
    if not answer.coverage.complete:
        notes.append(in_tools(coverage_text(answer.coverage)))
    return notes


def with_notes(content: dict[str, Any], text: str, notes: Sequence[str], totals: str) -> Answer:
    """Return an answer with notes in both its structured content and its text."""
    lines = [text, *(f"note: {printable(note)}" for note in notes), totals]
    return Answer(
        content={**content, **({"notes": notes} if notes else {})},
        text="\n".join(filter(None, lines)),
    )


def fits(answer: Answer, max_tokens: int) -> bool:
    """Return whether both the structured content and the text fit a budget."""
    return size_of_answer(answer) <= bytes_within(max_tokens)


def most_that_fit(number: int, write: Callable[[int], Answer], max_tokens: int) -> int:
    """Return how many records fit a budget; 1 if none does and there are some.

    Args:
        number: How many records there are.
        write: Writes the answer with so many of them, the first ones.
        max_tokens: The budget.
    """
    if number <= 1 or fits(write(number), max_tokens):
        return number
    low, high = 1, number - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(write(middle), max_tokens):
            low = middle
        else:
            high = middle - 1
    return low


def most_of(number: int, write: Callable[[int], Answer], max_tokens: int) -> Answer:
    """Return the answer with the most records that fit; arguments as for ``most_that_fit``."""
    return write(most_that_fit(number, write, max_tokens))


def most_shown(whole: Shown, write: Callable[[Shown], Answer], max_tokens: int) -> Answer:
    """Return the answer with the most definitions and items that fit a budget.

    Args:
        whole: All of them.
        write: Writes the answer with so much of it.
        max_tokens: The budget.
    """
    return write(
        most_within(whole, lambda shown: size_of_answer(write(shown)), bytes_within(max_tokens))
    )


def page_of(
    records: Sequence[Record],
    cursor: str | None,
    write: Callable[[Sequence[Record], str | None], Answer],
    max_tokens: int,
) -> Answer:
    """Return the answer with the records behind a cursor that fit a budget.

    Args:
        records: All of them.
        cursor: Of the page before.
        write: Writes the answer with some records and the cursor of the next page.
        max_tokens: The budget.

    Raises:
        InvalidInputError: The cursor cannot be read.
    """
    start = cursors.place_of(cursor, lambda place: max(0, int(place))) or 0
    left = records[start:]

    def written(number: int) -> Answer:
        end = start + number
        following = cursors.cursor_of(str(end).encode()) if end < len(records) else None
        return write(left[:number], following)

    return most_of(len(left), written, max_tokens)


class Sent(NamedTuple):
    """What is sent to a client."""

    result: CallToolResult
    tokens: int  # that the client gives its model: structured content, or the text of an error


def sent(answer: Answer, max_tokens: int) -> Sent:
    """Return an answer as a protocol result, cut to a budget if nothing else has cut it."""
    content: dict[str, Any] = as_json(answer.content)
    size = size_of(compact_text(content))
    if max(size, size_of(answer.text)) > bytes_within(max_tokens):
        answer = _cut(answer, content, max_tokens)
        content = dict(answer.content)
        size = size_of(compact_text(content))
    result = CallToolResult(
        content=[TextContent(type="text", text=answer.text)],
        structured_content=content,
        is_error=answer.is_error,
    )
    return Sent(result, tokens_of(size_of(answer.text) if answer.is_error else size))


def _cut(answer: Answer, content: dict[str, Any], max_tokens: int) -> Answer:
    """Cut an answer until it fits: its long texts and lists first; ``truncated`` tells it."""
    text = _first_lines(answer.text, bytes_within(max_tokens))
    cut = replace(answer, content=content, text=text)
    for chars, items in _LEFT:
        if fits(cut, max_tokens):
            break
        cut = replace(cut, content=_marked(_cut_fields(content, chars, items), answer))
    return cut


def _marked(content: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if answer.is_error:
        content["details"] = {**content["details"], "truncated": True}
        return content
    return {**content, "truncated": True}


def _cut_fields(content: Mapping[str, Any], chars: int, items: int) -> dict[str, Any]:
    return {
        name: _shortened(name, value, chars, items)
        for name, value in content.items()
        if not (name.endswith(_UNCUT) and _is_longer(value, chars))
    }


def _is_longer(value: Any, chars: int) -> bool:
    return isinstance(value, str) and len(value) > chars


def _shortened(name: str, value: Any, chars: int, items: int) -> Any:
    if isinstance(value, str):
        is_kept = name in _WHOLE or not _is_longer(value, chars)
        return value if is_kept else value[: chars - 1] + _CUT
    if isinstance(value, list):
        if name in _UNCUT_ITEMS:
            value = [each for each in value if not _is_longer(each, chars)]
        return [_shortened("", each, chars, items) for each in value[:items]]
    if isinstance(value, Mapping):
        kept = dict([*value.items()][: max(items, _MIN_FIELDS)])
        return _cut_fields(
            {name[: max(chars, 20)]: each for name, each in kept.items()}, chars, items
        )
    return value


def _first_lines(text: str, max_bytes: int) -> str:
    """Return the beginning of a text, whole lines if there is one."""
    if size_of(text) <= max_bytes:
        return text
    start = text.encode("utf-8", "replace")[: max_bytes - len(_CUT.encode())].decode(
        "utf-8", "ignore"
    )
    lines, _, _ = start.rpartition("\n")
    return (f"{lines}\n" if lines else start)[: max(len(start), 1)] + _CUT
