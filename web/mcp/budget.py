"""How many tokens a text costs, and answers that keep to a budget of them.

The counter is the documented one: a token is 3 bytes of UTF-8, rounded up, which no tokenizer of
today exceeds for code.
"""

from collections.abc import Callable
from dataclasses import replace

from engine.errors import InvalidInputError
from engine.records import Hit, SearchAnswer

_BYTES = 3  # a token
_FIRST_LINES = 5  # of the best hit, which come before other places

#: Writes an answer as the caller wants to read it.
Writer = Callable[[SearchAnswer], str]


def tokens_of(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES)


def within(answer: SearchAnswer, max_tokens: int | None, write: Writer) -> SearchAnswer:
    """Cut an answer until its text fits: code first, from the last hit on, then whole hits.

    The first lines of the best hit stay longer than other places do: they say whether the answer
    is one.

    Args:
        answer: The answer with all its code.
        max_tokens: The budget; None means any.
        write: Makes the text that is measured.

    Raises:
        InvalidInputError: Not even the first hit fits, without its code.
    """
    if max_tokens is None or tokens_of(write(answer)) <= max_tokens:
        return answer
    limit = max_tokens, write
    bare = replace(answer, truncated=True, hits=tuple(_without_code(hit) for hit in answer.hits))
    first = replace(bare, hits=bare.hits[:1])
    least = tokens_of(write(first))
    if least > max_tokens:
        raise _too_small(max_tokens, least, has_hits=bool(first.hits))
    if not first.hits:
        return first
    begun = _with_lines(answer.hits[0], _FIRST_LINES)
    begun = _with_lines(begun, _most_lines(first, list(first.hits), 0, begun, limit))
    places = replace(bare, hits=(begun, *bare.hits[1:]))
    while len(places.hits) > 1 and tokens_of(write(places)) > max_tokens:
        places = replace(places, hits=places.hits[:-1])
    hits = list(places.hits)
    for number, whole in enumerate(answer.hits[: len(hits)]):
        lines = _most_lines(places, hits, number, whole, limit)
        hits[number] = _with_lines(whole, lines)
    return replace(places, hits=tuple(hits))


def _too_small(max_tokens: int, least: int, *, has_hits: bool) -> InvalidInputError:
    what = "the first hit without its code" if has_hits else "an answer without hits"
    return InvalidInputError(
        f"max_tokens is {max_tokens}, and {what} takes {least}",
        hint=f"give {least} or more, or leave max_tokens out",
        field="max_tokens",
        min_allowed=least,
    )


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
