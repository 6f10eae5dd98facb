"""Symbols by name: exact, by prefix, and fuzzy."""

from dataclasses import dataclass

from engine.errors import FileNotIndexedError, InvalidInputError
from engine.records import SymbolHit, display_path
from engine.search.features import NOT_SCORED, Breakdown, Part, path_factors
from engine.search.lexical import last_name_of, qualified_form
from engine.search.query import storable
from engine.store import files, symbols
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.symbols import SymbolRow
from engine.syntax.languages import DOCUMENT_LANGUAGES

MATCHES = ("exact", "prefix", "fuzzy")
MAX_LIMIT = 1000
MAX_NAME_CHARS = 1000

_ROWS = 400  # read at most before ranking
_NAMES = 100  # fuzzy names looked up at most
_LEAST_LIKENESS = 72.0  # of 100; below, names differ in more than a typing error

# Definitions that people look for first. A name is a class more often than a variable.
KIND_WEIGHT = {
    "class": 1.0,
    "struct": 1.0,
    "interface": 1.0,
    "trait": 1.0,
    "enum": 1.0,
    "type": 0.97,
    "module": 0.95,
    "namespace": 0.93,
    "function": 0.97,
    "method": 0.93,
    "macro": 0.93,
    "constructor": 0.9,
    "constant": 0.9,
    "property": 0.88,
    "field": 0.85,
    "variable": 0.85,
    "section": 0.6,
}
_OTHER_KIND_WEIGHT = 0.8
OTHER_CASE_FACTOR = 0.9
PRIVATE_FACTOR = 0.95


@dataclass(frozen=True, slots=True)
class ScoredSymbol:
    """A symbol that matches, with how well and why."""

    row: SymbolRow
    score: float
    breakdown: Breakdown


def find_scored(
    handle: Handle, name: str, filters: Filters, *, match: str, limit: int
) -> list[ScoredSymbol]:
    """Find symbols by name, best first.

    Args:
        handle: A read transaction.
        name: A name, or a qualified one; then the containers must match too. NUL and halves of
            surrogate pairs, which no name holds, count as blanks.
        filters: Conditions that hold for all of them.
        match: One of ``MATCHES``; each includes the ones before it.
        limit: How many to give.
    """
    name = storable(name)
    last = last_name_of(name)
    folded = last.lower()
    if not folded:
        return []
    rows = max(_ROWS, limit)
    qualifier = qualified_form(name).lower() if last != name else ""
    found = {
        row.id: row
        for row in symbols.find_symbols(handle, [folded], filters, rows, qualifier=qualifier)
    }
    likeness = {row.name.lower(): 1.0 for row in found.values()}
    if match != "exact" and not qualifier:
        for row in symbols.find_symbols_by_prefix(handle, folded, filters, rows):
            found.setdefault(row.id, row)
            lower = row.name.lower()
            likeness.setdefault(lower, 0.7 + 0.2 * len(folded) / len(lower))
    if match == "fuzzy" and len(found) < limit:
        near = _near_names(handle, folded)
        for row in symbols.find_symbols(handle, list(near), filters, rows):
            found.setdefault(row.id, row)
            likeness.setdefault(row.name.lower(), near[row.name.lower()])
    scored = [_scored(row, last, likeness[row.name.lower()]) for row in found.values()]
    scored.sort(key=lambda symbol: (-symbol.score, symbol.row.path, symbol.row.line_start))
    return scored[:limit]


def outline_of(
    handle: Handle, branch_id: int, path: str, *, project: str, asked: str
) -> list[SymbolHit]:
    """Give the symbols of a file in text order.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        path: Relative to the root.
        project: What the symbols say as their project.
        asked: The path as the caller wrote it, for the error.

    Raises:
        FileNotIndexedError: The file is not in the index.
    """
    if files.read_file(handle, branch_id, path) is None:
        raise FileNotIndexedError(
            f"{display_path(asked)} is not in the index",
            hint="cairn why PATH says the reason",
            path=display_path(asked),
        )
    rows = symbols.outline(handle, branch_id, path)
    return [symbol_hit(ScoredSymbol(row, 1.0, NOT_SCORED), project) for row in rows]


def symbol_hit(symbol: ScoredSymbol, project: str) -> SymbolHit:
    """Make the record that goes out."""
    row = symbol.row
    return SymbolHit(
        project=project,
        path=row.path,
        name=row.name,
        qualified_name=row.qualified_name,
        kind=row.kind,
        signature=row.signature,
        doc=row.doc,
        language=row.language,
        line_start=row.line_start,
        line_end=row.line_end,
        exported=bool(row.is_exported),
        score=round(symbol.score, 4),
    )


def check_match(name: str, match: str, limit: int) -> None:
    """Refuse a name without end, an unknown way of matching, or a limit out of range.

    Raises:
        InvalidInputError: Names the field.
    """
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(
            f"the name has {len(name)} characters, at most {MAX_NAME_CHARS} are read", field="name"
        )
    if match not in MATCHES:
        raise InvalidInputError(
            f"match is {match!r}, wanted one of {', '.join(MATCHES)}", field="match"
        )
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit is {limit}, wanted 1 to {MAX_LIMIT}", field="limit")


def kind_weight(kind: str) -> float:
    """Give how often a name that people look for is a definition of a kind, 1 for classes."""
    return KIND_WEIGHT.get(kind, _OTHER_KIND_WEIGHT)


def _near_names(handle: Handle, folded: str) -> dict[str, float]:
    """Give names that hold the text or differ by typing errors, with a likeness below 0.7."""
    from rapidfuzz import fuzz, process  # costs more than any other way to find a symbol

    names = symbols.read_names(handle)
    near = process.extract(
        folded, names, scorer=fuzz.WRatio, limit=_NAMES, score_cutoff=_LEAST_LIKENESS
    )
    return {name: 0.7 * likeness / 100 for name, likeness, _ in near}


def _scored(row: SymbolRow, last: str, likeness: float) -> ScoredSymbol:
    factors = []
    if row.name == last:
        how = "exact name"
    elif row.name.lower() == last.lower():
        how = "name in another case"
        factors.append(Part("case", OTHER_CASE_FACTOR))
    elif row.name.lower().startswith(last.lower()):
        how = "name starts so"
    else:
        how = "similar name"
    weight = kind_weight(row.kind)
    if row.language in DOCUMENT_LANGUAGES:  # the keys of data define nothing
        weight = min(weight, KIND_WEIGHT["section"])
    if weight != 1.0:
        factors.append(Part(row.kind, weight))
    if not row.is_exported:
        factors.append(Part("not exported", PRIVATE_FACTOR))
    of_path = path_factors(row.path, is_generated=bool(row.is_generated))
    breakdown = Breakdown((Part("name", likeness, how),), (*factors, *of_path))
    return ScoredSymbol(row, breakdown.score, breakdown)
