"""What to do about an error, in the words of who is told: the engine's hints are for a terminal."""

import re
from collections.abc import Mapping

from engine.errors import EngineError

_WHERE = r"(?:, where PATH is the project's folder)?"
#: What hints name, as the engine writes it.
_NAMED: Mapping[str, re.Pattern[str]] = {
    "new": re.compile(r"index it: cairn index (.+)", re.DOTALL),
    "why": re.compile(r"cairn why PATH\b"),
    "cancel": re.compile(r"cairn jobs cancel (\S+)"),
    "jobs": re.compile(r"cairn jobs list\b"),
    "repair": re.compile(rf"cairn doctor .+? --repair\b{_WHERE}", re.DOTALL),
    "index": re.compile(r"\bcairn index\b"),
}


def translate(error: EngineError, words: Mapping[str, str]) -> EngineError:
    """Give an error with its hint in other words; the same error.

    Args:
        error: The error.
        words: By what is named (``new``, ``why``, ``cancel``, ``jobs``, ``repair``, ``index``) how
            it is called where the error goes, as ``re.sub`` takes it.
    """
    for name, pattern in _NAMED.items():
        if name in words:
            error.hint = pattern.sub(words[name], error.hint)
    return error
