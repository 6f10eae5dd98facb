"""Suggest the closest known name."""

from collections.abc import Collection, Iterable

from engine.errors import InvalidInputError


def did_you_mean(typed: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Give the end of a sentence that says a name is not known: the nearest one, or "".

    Args:
        typed: The name.
        known: All that would do.
        cutoff: How like it has to be: 0 to 1, as ``difflib`` measures.
    """
    from difflib import get_close_matches  # only for a typing error

    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(typed.lower(), by_lower, n=1, cutoff=cutoff)
    return f", did you mean {by_lower[near[0]]!r}" if near else ""


def unknown(what: str, typed: str, known: Collection[str]) -> InvalidInputError:
    """Give the error that refuses a name: what is near to it, and all that is known.

    Args:
        what: What is named, which is also the field: ``kind``.
        typed: The name.
        known: All that would do.
    """
    return InvalidInputError(
        f"unknown {what} {typed!r}" + did_you_mean(typed, known),
        hint="known: " + ", ".join(sorted(known)),
        field=what,
    )
