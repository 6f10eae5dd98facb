"""How many tokens a text costs, and answers that keep to a budget of them.

The counter is the documented one: a token is 3 bytes of UTF-8, rounded up, which no tokenizer of
today exceeds for code.
"""

from collections.abc import Callable
from dataclasses import replace

from engine.errors import InvalidInputError
from engine.records import Hit, SearchAnswer

_BYTES = 3  # a token

#: Writes an answer as the caller wants to read it.
Writer = Callable[[SearchAnswer], str]


def tokens_of(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


def within(answer: SearchAnswer, max_tokens: int | None, write: Writer) -> SearchAnswer:
    """Cut an answer until its text fits: code first, from the last hit on, then whole hits.

    Args:
        answer: The answer with all its code.
        max_tokens: The budget; None means any.
        write: Makes the text that is measured.

    Raises:
        InvalidInputError: Not even an answer without hits fits.
    """
    if max_tokens is None or tokens_of(write(answer)) <= max_tokens:
        return answer
    bare = replace(answer, truncated=True, hits=tuple(_without_code(hit) for hit in answer.hits))
    while bare.hits and tokens_of(write(bare)) > max_tokens:
        bare = replace(bare, hits=bare.hits[:-1])
    left = max_tokens - tokens_of(write(bare))
    if left < 0:
        raise InvalidInputError(
            f"max_tokens is {max_tokens}, and an answer without hits takes {max_tokens - left}",
            field="max_tokens",
            min_allowed=max_tokens - left,
        )
    hits = list(bare.hits)
    for number, whole in enumerate(answer.hits[: len(hits)]):
        lines = _most_lines(bare, hits, number, whole, (max_tokens, write))
        hits[number] = _with_lines(whole, lines)
    return replace(bare, hits=tuple(hits))


def _most_lines(
    answer: SearchAnswer, hits: list[Hit], number: int, whole: Hit, limit: tuple[int, Writer]
) -> int:
    """Find how many lines of a hit's code still fit."""
    max_tokens, write = limit
    low, high = 0, whole.snippet.count("\n") + 1 if whole.snippet else 0
    while low < high:
        middle = (low + high + 1) // 2
        tried = [*hits]
        tried[number] = _with_lines(whole, middle)
        if tokens_of(write(replace(answer, hits=tuple(tried)))) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _without_code(hit: Hit) -> Hit:
    return _with_lines(hit, 0)


def _with_lines(hit: Hit, number: int) -> Hit:
    if number == 0:
        return replace(hit, snippet="", snippet_line=None)
    return replace(hit, snippet="\n".join(hit.snippet.split("\n")[:number]))
