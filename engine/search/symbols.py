"""Find symbols by name: exact, by prefix, and fuzzy."""

from dataclasses import dataclass

from engine.search.features import NOT_SCORED, Breakdown, Part, path_factors
from engine.search.lexical import last_name_of, qualified_form
from engine.search.missing_paths import missing_file
from engine.search.query import storable
from engine.search.similar_names import FindSimilar
from engine.search.weights import (
    EXACT_LIKENESS,
    FUZZY_LIKENESS,
    KIND_WEIGHTS,
    MAX_SYMBOL_ROWS,
    NAME_CASE_FACTOR,
    NOT_EXPORTED_FACTOR,
    OTHER_KIND_WEIGHT,
    PREFIX_LENGTH_LIKENESS,
    PREFIX_LIKENESS,
)
from engine.search_records import SymbolHit, SymbolMatch
from engine.store import files, symbols
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.symbols import SymbolRow
from engine.syntax.languages import DOCUMENT_LANGUAGES


@dataclass(frozen=True, slots=True)
class ScoredSymbol:
    """A symbol that matches, with its score and the reasons."""

    row: SymbolRow
    score: float
    breakdown: Breakdown


def find_scored(
    handle: Handle,
    name: str,
    filters: Filters,
    similar: FindSimilar,
    *,
    match: SymbolMatch,
    limit: int,
) -> list[ScoredSymbol]:
    """Find symbols by name, best first.

    Args:
        handle: A read transaction.
        name: A name, or a qualified one; then the containers must match too. NUL and halves of
            surrogate pairs, which no name has, count as blanks.
        filters: Conditions on all of them.
        similar: Finds names that are like a text.
        match: How names are compared.
        limit: How many to return.
    """
    name = storable(name)
    last = last_name_of(name)
    folded = last.lower()
    if not folded:
        return []
    rows = max(MAX_SYMBOL_ROWS, limit)
    qualifier = qualified_form(name).lower() if last != name else ""
    found = {
        row.id: row
        for row in symbols.find_symbols(handle, [folded], filters, rows, qualifier=qualifier)
    }
    likeness = {row.name.lower(): EXACT_LIKENESS for row in found.values()}
    if match != "exact" and not qualifier:
        for row in symbols.find_symbols_by_prefix(handle, folded, filters, rows):
            found.setdefault(row.id, row)
            lower = row.name.lower()
            likeness.setdefault(
                lower, PREFIX_LIKENESS + PREFIX_LENGTH_LIKENESS * len(folded) / len(lower)
            )
    if match == "fuzzy" and len(found) < limit:
        near = {name: FUZZY_LIKENESS * like / 100 for name, like in similar(handle, folded)}
        for row in symbols.find_symbols(handle, list(near), filters, rows):
            found.setdefault(row.id, row)
            likeness.setdefault(row.name.lower(), near[row.name.lower()])
    scored = [_scored(row, last, likeness[row.name.lower()]) for row in found.values()]
    scored.sort(key=lambda symbol: (-symbol.score, symbol.row.path, symbol.row.line_start))
    return scored[:limit]


def outline_of(
    handle: Handle, branch_id: int, path: str, *, project: str, requested: str
) -> list[SymbolHit]:
    """Return the symbols of a file in text order.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        path: Relative to the root.
        project: The project name in the symbols.
        requested: The path as the caller wrote it, for the error.

    Raises:
        FileNotIndexedError: The file is not in the index.
    """
    if files.read_file(handle, branch_id, path) is None:
        raise missing_file(handle, branch_id, path, requested)
    rows = symbols.outline(handle, branch_id, path)
    return [symbol_hit(ScoredSymbol(row, 1.0, NOT_SCORED), project) for row in rows]


def symbol_hit(symbol: ScoredSymbol, project: str) -> SymbolHit:
    """Return the public record of a symbol."""
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


def kind_weight(kind: str) -> float:
    """Return what a definition of a kind counts, 1 for classes."""
    return KIND_WEIGHTS.get(kind, OTHER_KIND_WEIGHT)


def _scored(row: SymbolRow, last: str, likeness: float) -> ScoredSymbol:
    factors = []
    if row.name == last:
        how = "exact name"
    elif row.name.lower() == last.lower():
        how = "name in another case"
        factors.append(Part("case", NAME_CASE_FACTOR))
    elif row.name.lower().startswith(last.lower()):
        how = "name prefix"
    else:
        how = "similar name"
    weight = kind_weight(row.kind)
    if row.language in DOCUMENT_LANGUAGES:  # keys of data files define nothing
        weight = min(weight, KIND_WEIGHTS["section"])
    if weight != 1.0:
        factors.append(Part(row.kind, weight))
    if not row.is_exported:
        factors.append(Part("not exported", NOT_EXPORTED_FACTOR))
    of_path = path_factors(row.path, is_generated=bool(row.is_generated))
    breakdown = Breakdown((Part("name", likeness, how),), (*factors, *of_path))
    return ScoredSymbol(row, breakdown.score, breakdown)
