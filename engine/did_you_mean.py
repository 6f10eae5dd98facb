"""Suggest the closest known name."""

from collections.abc import Collection, Iterable

from engine.errors import InvalidInputError


def did_you_mean(typed: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the closest known name as the end of a message, or "".

    Args:
        typed: The name.
        known: The known names.
        cutoff: The required similarity, 0 to 1, by ``difflib``.
    """
    from difflib import get_close_matches  # only for a typing error

    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(typed.lower(), by_lower, n=1, cutoff=cutoff)
    return f", did you mean {by_lower[near[0]]!r}" if near else ""


def unknown(what: str, typed: str, known: Collection[str]) -> InvalidInputError:
    """Return the error for an unknown name, with the closest and all known names.

    Args:
        what: The kind of name, which is also the field: ``kind``.
        typed: The name.
        known: The known names.
    """
    return InvalidInputError(
        f"unknown {what} {typed!r}" + did_you_mean(typed, known),
        hint="known: " + ", ".join(sorted(known)),
        field=what,
    )
