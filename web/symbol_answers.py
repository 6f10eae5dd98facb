"""Definitions by name, with how many there are besides those that are shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.index import Index
from engine.records import SymbolHit
from web.wording import count

_MOST = 1000  # that are asked for at once
_COUNTED = 400  # as many are read in any case, so that to count them costs nothing


@dataclass(frozen=True, slots=True)
class FoundSymbols:
    """Symbols, best first."""

    symbols: tuple[SymbolHit, ...]
    total: int  # at least, when ``is_more``
    is_more: bool  # not all of them are counted

    @property
    def truncated(self) -> bool:
        """Whether there are others."""
        return self.is_more or self.total > len(self.symbols)

    def as_json(self) -> dict[str, object]:
        """Give the shape of every face."""
        return {"symbols": self.symbols, "total": self.total, "truncated": self.truncated}

    def says_more(self, advice: str) -> str:
        """Say how many there are and how to see others; "" when all are shown."""
        if not self.truncated:
            return ""
        more = " or more" if self.is_more else ""
        return f"{count(len(self.symbols), 'symbol')} of {self.total:,}{more}: {advice}"


def find_symbols(
    index: Index, name: str, *, limit: int, kind: str | None = None, match: str = "exact"
) -> FoundSymbols:
    """Find definitions by name, as ``Index.symbols`` does.

    Raises:
        InvalidInputError: An argument is out of range.
    """
    most = limit
    if 1 <= limit <= _MOST:
        counted = 0 if match == "fuzzy" else _COUNTED  # likely names are looked for, and costly
        most = min(max(limit + 1, counted), _MOST)
    found = index.symbols(name, kind=kind, match=match, limit=most)
    return FoundSymbols(tuple(found[:limit]), len(found), is_more=len(found) >= most)


def joined(found: Sequence[FoundSymbols], limit: int) -> FoundSymbols:
    """Give what several projects have as one answer."""
    symbols = [symbol for each in found for symbol in each.symbols]
    symbols.sort(key=lambda symbol: -symbol.score)
    return FoundSymbols(
        tuple(symbols[:limit]),
        sum(each.total for each in found),
        is_more=any(each.is_more for each in found),
    )
