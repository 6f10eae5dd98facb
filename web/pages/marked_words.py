"""Which words are marked in what a question found."""

import re
from collections.abc import Iterable

from engine.records import Hit, Mode

_PHRASE = re.compile(r'(?<!\S)"((?:[^"\\]|\\.)+)"')


def words_to_mark(query: str, mode: Mode, hits: Iterable[Hit]) -> list[str]:
    """Give the phrases of a question, the words that hits hold, and the names of symbols."""
    words = dict.fromkeys(match[1] for match in _PHRASE.finditer(query))
    for hit in hits:
        if hit.explain:
            words |= dict.fromkeys(match.word for match in hit.explain.words if match.columns)
        if mode is Mode.SYMBOL and hit.symbol:
            words[hit.symbol.rpartition(".")[2]] = None
    return list(words)
