"""The frozen records of the list of all symbols, a page at a time."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolListRequest:
    """Which symbols to list; all conditions hold."""

    name: str = ""  # begins so, in whatever case; from three characters on, has it anywhere
    kind: str | None = None  # one of syntax.languages.KINDS, and not a group of them
    language: str | None = None  # one of syntax.languages.LANGUAGES
    path: str = ""  # has it anywhere, in whatever case; with wildcards a glob, as in ``path:``
    limit: int = 100  # 1 to 1,000
    cursor: str | None = None  # of the page before


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSymbol:
    """A definition."""

    path: str
    name: str
    scope: str  # qualified name of what is around it; empty at top level
    kind: str
    signature: str
    language: str
    line_start: int
    line_end: int
    exported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolPage:
    """Some symbols of a branch, by name; those that begin with what is asked for come first."""

    branch: str
    complete: bool  # the last run over the branch came to its end
    items: tuple[ListedSymbol, ...]
    total: int  # on all pages
    kinds: Mapping[str, int]  # how many there are of each, whatever kind is asked for; most first
    languages: Mapping[str, int]  # likewise, whatever language
    next_cursor: str | None
