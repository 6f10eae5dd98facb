"""Validation of memories and queries against the limits of ``records``.

Messages never repeat the input: it may contain a secret.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import InvalidInputError, InvalidQueryError
from engine.memory_records import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_DEPTH,
    MAX_DESCRIPTION_BYTES,
    MAX_SUMMARY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    RESERVED_TAGS,
    NewMemory,
)
from engine.search_records import MAX_QUERY_CHARS

_MAX_CONTEXT_VALUES = 10_000
# Characters that neither stored nor searched text may contain.
_IMPOSSIBLE = re.compile("[\x00\ud800-\udfff]")
# Characters that would make lists of tags unreadable.
_NOT_IN_TAGS = re.compile("[\x00-\x1f\x7f,]")


def check_memory(new: NewMemory) -> None:
    """Validate a memory to be saved.

    Raises:
        InvalidInputError: It cannot; ``details.field`` is summary, description, context or tags.
    """
    _check_text(new.summary, "summary")
    if not new.summary.strip():
        raise InvalidInputError("the summary is empty", field="summary")
    if len(new.summary) > MAX_SUMMARY_CHARS:
        raise InvalidInputError(
            f"the summary has {len(new.summary)} characters, at most {MAX_SUMMARY_CHARS} are kept",
            hint="put the rest into the description",
            field="summary",
            max_allowed=MAX_SUMMARY_CHARS,
        )
    _check_text(new.description, "description")
    size = len(new.description.encode())
    if size > MAX_DESCRIPTION_BYTES:
        raise InvalidInputError(
            f"the description has {size} bytes, at most {MAX_DESCRIPTION_BYTES} are kept",
            field="description",
            max_allowed=MAX_DESCRIPTION_BYTES,
        )
    _check_context(new.context)
    clean_tags(new.tags)


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a memory, stripped and without repeats, in order.

    Raises:
        InvalidInputError: One cannot be a tag, is reserved, or there are too many.
    """
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise InvalidInputError("tags are a list of texts", field="tags")
    clean = tuple(dict.fromkeys(_tag_of(tag, number) for number, tag in enumerate(tags)))
    if len(clean) > MAX_TAGS:
        raise InvalidInputError(
            f"{len(clean)} tags, at most {MAX_TAGS} are kept", field="tags", max_allowed=MAX_TAGS
        )
    for number, tag in enumerate(clean):
        if tag.startswith("!"):
            raise InvalidInputError(
                f"tag {number} begins with !, which excludes a tag from a search", field="tags"
            )
        if tag in RESERVED_TAGS:
            raise InvalidInputError(
                f"the tag {tag} is reserved for indexed files",
                hint="choose another tag",
                field="tags",
            )
    return clean


def read_tags(tags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the tags of a search: those wanted, and those refused, which begin with ``!``.

    Raises:
        InvalidInputError: One cannot be a tag, or there are too many.
    """
    if isinstance(tags, str) or not isinstance(tags, Sequence) or len(tags) > MAX_TAGS:
        raise InvalidInputError(
            f"tags are a list of at most {MAX_TAGS} texts", field="tags", max_allowed=MAX_TAGS
        )
    read = [_tag_of(tag, number) for number, tag in enumerate(tags)]
    refused = [_tag_of(tag[1:], n) for n, tag in enumerate(read) if tag.startswith("!")]
    wanted = [tag for tag in read if not tag.startswith("!")]
    return tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(refused))


def check_limit(limit: int, most: int) -> None:
    """Validate the limit of a request.

    Raises:
        InvalidInputError: It is out of range.
    """
    if not 1 <= limit <= most:
        raise InvalidInputError(
            f"limit is {limit}, wanted 1 to {most}", field="limit", max_allowed=most
        )


def check_query(query: str) -> None:
    """Validate a query.

    Raises:
        InvalidQueryError: It is blank or too long.
    """
    if not isinstance(query, str) or not query.strip():
        raise InvalidQueryError("the query has nothing to search for", position=0)
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidQueryError(
            f"the query has {len(query)} characters, at most {MAX_QUERY_CHARS} are read",
            position=MAX_QUERY_CHARS,
        )


def context_json(context: Mapping[str, Any]) -> str:
    """Write a context that was checked as JSON."""
    return json.dumps(context, ensure_ascii=False, allow_nan=False, default=_plain)


def _check_text(text: str, field: str) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"the {field} is not a text", field=field)
    bad = _IMPOSSIBLE.search(text)
    if bad:
        raise InvalidInputError(
            f"the {field} has the character U+{ord(bad[0]):04X} at {bad.start()},"
            " which no text can hold",
            field=field,
        )


def _tag_of(tag: str, number: int) -> str:
    _check_text(tag, "tags")
    clean = tag.strip()
    if not clean or len(clean) > MAX_TAG_CHARS or _NOT_IN_TAGS.search(clean):
        raise InvalidInputError(
            f"tag {number} is empty, has more than {MAX_TAG_CHARS} characters, or has a comma or a"
            " control character",
            field="tags",
            max_allowed=MAX_TAG_CHARS,
        )
    return clean


def _check_context(context: Mapping[str, Any]) -> None:
    if not isinstance(context, Mapping):
        raise InvalidInputError("the context is not a JSON object", field="context")
    _check_value(context, 1, [_MAX_CONTEXT_VALUES])
    try:
        size = len(context_json(context).encode())
    except ValueError as error:  # not a number, or one of thousands of digits
        raise InvalidInputError(
            f"the context has a value that JSON cannot represent: {error}", field="context"
        ) from error
    if size > MAX_CONTEXT_BYTES:
        raise InvalidInputError(
            f"the context has {size} bytes of JSON, at most {MAX_CONTEXT_BYTES} are kept",
            field="context",
            max_allowed=MAX_CONTEXT_BYTES,
        )


def _check_value(value: object, depth: int, left: list[int]) -> None:
    """Check one value of a context and everything inside it, up to the limit of values."""
    left[0] -= 1
    if left[0] < 0:
        raise InvalidInputError(
            f"the context has more than {_MAX_CONTEXT_VALUES} values", field="context"
        )
    if value is None or isinstance(value, bool | int | float):
        return
    if isinstance(value, str):
        _check_text(value, "context")
        return
    if depth > MAX_CONTEXT_DEPTH:
        raise InvalidInputError(
            f"the context is nested deeper than {MAX_CONTEXT_DEPTH}",
            field="context",
            max_allowed=MAX_CONTEXT_DEPTH,
        )
    if isinstance(value, Mapping):
        for key, inside in value.items():
            _check_text(key, "context")
            _check_value(inside, depth + 1, left)
    elif isinstance(value, list | tuple):
        for inside in value:
            _check_value(inside, depth + 1, left)
    else:
        raise InvalidInputError(
            "the context has a value that JSON cannot represent", field="context"
        )


def _plain(value: object) -> object:
    """Return a dictionary for a mapping of another type, which JSON does not know."""
    assert isinstance(value, Mapping)
    return dict(value)
