"""What a hit calls itself: the symbol that answers, and what its documentation says of it."""

from collections.abc import Mapping, Sequence

from engine.search.rank import Candidate
from engine.store import chunks, symbols
from engine.store.chunks import SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters

_MAX_SUMMARY_CHARS = 120
_DECORATION = " \t#*/-=~_!|<>\"'"  # around the text of a comment
_AROUND_NAMES = "().:;,*&`_ "
_MIN_STEM_CHARS = 3
_ENDING_CHARS = 2  # of a word, which differ between its forms


def summary_of(doc: str, symbol: SymbolFacts) -> str | None:
    """Return the first line of a documentation that says more than the name, or None."""
    names = {name.strip(_AROUND_NAMES) for name in (symbol.name, symbol.qualified_name)}
    for line in doc.splitlines():
        text = line.strip(_DECORATION)
        if any(map(str.isalnum, text)) and text.strip(_AROUND_NAMES) not in names:
            return text if len(text) <= _MAX_SUMMARY_CHARS else f"{text[:_MAX_SUMMARY_CHARS]}…"
    return None


def answering_symbols(
    handle: Handle,
    shown: Sequence[tuple[Candidate, SymbolFacts]],
    words: Sequence[str],
    filters: Filters,
) -> Mapping[int, SymbolFacts]:
    """Return, for chunks that define several symbols, the one that has most words of the query.

    The one that a chunk begins with stays if no other has more words than it and what it contains;
    then the chunk is left out.

    Args:
        handle: The read transaction in which the candidates were found.
        shown: Candidates, each with the symbol that its chunk belongs to or begins with.
        words: Of the query, in lower case.
        filters: Which symbols may be shown.
    """
    open_ones = {
        candidate.chunk.id: owner
        for candidate, owner in shown
        if not (candidate.symbol or candidate.spans)
        and candidate.chunk.line_start <= owner.line_start
        and owner.line_end < candidate.chunk.line_end
    }
    if not open_ones or not words:
        return {}
    stems = [word[: max(_MIN_STEM_CHARS, len(word) - _ENDING_CHARS)] for word in words]
    inside = chunks.symbols_of_chunks(handle, list(open_ones), filters)
    several = {chunk_id: found for chunk_id, found in inside.items() if len(found) > 1}
    docs = symbols.read_docs(
        handle, [each.facts.id for found in several.values() for each in found]
    )

    def worth(symbol: SymbolFacts) -> int:
        told = f"{symbol.qualified_name} {symbol.signature} {docs.get(symbol.id, '')}".lower()
        return sum(map(told.__contains__, stems))

    chosen = {}
    for chunk_id, found in several.items():
        owner = open_ones[chunk_id]
        inside_owner = f"{owner.qualified_name}."
        known = most = worth(owner)
        best = owner
        for symbol in [each.facts for each in found]:
            of_symbol = worth(symbol)
            if symbol.qualified_name.startswith(inside_owner):
                known = max(known, of_symbol)
            elif of_symbol > most:
                best, most = symbol, of_symbol
        if most > known:
            chosen[chunk_id] = best
    return chosen
