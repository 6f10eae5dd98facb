"""Filters by what code does with a name: ``calls:`` ``uses:`` ``extends:`` ``imports:``.

``engine.references``, which is above this package, knows where a name is used: the searcher is
given a function that asks it. Here its answers become conditions on chunks, definitions and files,
so that they apply before any limit does, and hits show the lines that they are about.

``calls:`` and ``uses:`` choose the chunks in which the name stands, ``extends:`` all chunks of the
classes, and ``imports:`` all of the files.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.humanize import count
from engine.reference_records import Certainty
from engine.search.cache import MissingName
from engine.search.candidates import RankedCandidates
from engine.search.features import Breakdown, Part, factor_part, path_factors
from engine.search.lexical import last_name_of
from engine.search.name_uses import NameUses, UsedAt, UseTerm
from engine.search.names import is_indexed, similar_name
from engine.search.prepared_query import is_filters_only
from engine.search.query import Query
from engine.search.rank import Candidate
from engine.search.weights import DOCUMENT_FACTOR, USE_FACTORS
from engine.search_records import Mode, SearchRequest
from engine.store import chunks, symbols
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters, IdRule
from engine.syntax.languages import DOCUMENT_LANGUAGES

_MAX_SPANS = 100  # shown of a hit
_FILES = "imports"  # the filter that chooses whole files
_BY_CERTAINTY = {
    Certainty.EXACT: "{}",
    Certainty.LIKELY: "{}, likely",
    Certainty.NAME: "{}, by its name",
}


class _Shown(NamedTuple):
    """What a candidate shows of a filter."""

    term: UseTerm
    places: Sequence[UsedAt]


class Uses:
    """What the filters by use of one query let pass.

    Args:
        found: The filters with what was found for each.
    """

    def __init__(self, found: Sequence[tuple[UseTerm, NameUses]]) -> None:
        self._found = found
        self._wanted = [(term, uses) for term, uses in found if not term.is_negated]

    @property
    def lists_places(self) -> bool:
        """Whether a query of filters alone lists places, not files."""
        return any(term.filter != _FILES for term, _ in self._wanted)

    def rules(self, query: Query, request: SearchRequest) -> list[IdRule]:
        """Return the conditions.

        A definition passes if it is the innermost around a use; one of a wanted kind or name also
        if the use is deeper in it. Where files are listed, those with a refused place are refused.
        """
        is_narrowed = wants_kind(query, request) or any(
            not term.negated for term in query.values("sym")
        )
        lists_definitions = is_narrowed or request.mode is Mode.SYMBOL
        are_files_listed = not (
            self.lists_places or lists_definitions or not is_filters_only(query, request)
        )
        return [_rule(term, uses, is_narrowed, are_files_listed) for term, uses in self._found]

    def list_places(self, handle: Handle, filters: Filters, limit: int) -> RankedCandidates:
        """List the places that pass: the most certain first, plain code before tests, by path.

        With one filter, definitions that share a chunk are a place each.
        """
        of_places = [uses for term, uses in self._wanted if term.filter != _FILES]
        passing = frozenset.intersection(*[uses.chunk_ids for uses in of_places])
        ids = passing & {id_ for uses in of_places for id_ in uses.places}
        facts = chunks.read_chunks(handle, sorted(ids), filters)
        listed = [
            _listed(chunk, shown) for chunk in facts.values() for shown in self._groups(chunk.id)
        ]
        listed.sort(key=_order)
        best = listed[:limit]
        read = chunks.read_symbols(handle, {each.first.symbol_id for each in best})
        for place in best:
            place.candidate.symbol = read.get(place.first.symbol_id)
            _add(place.candidate, place.shown)
        return RankedCandidates(
            [place.candidate for place in best], [0.0] * len(listed), is_capped=False
        )

    def _groups(self, chunk_id: int) -> Iterator[list[_Shown]]:
        """Yield what each place of a chunk shows."""
        shown = [
            _Shown(term, () if term.filter == _FILES else uses.places.get(chunk_id, ()))
            for term, uses in self._wanted
        ]
        used = [each for each in shown if each.places]
        if len(used) > 1 or any(len(uses.chunk_ids) > len(uses.places) for _, uses in self._wanted):
            yield shown
            return
        for symbol_id in dict.fromkeys(place.symbol_id for each in used for place in each.places):
            yield [
                each._replace(
                    places=[place for place in each.places if place.symbol_id == symbol_id]
                )
                for each in shown
            ]

    def importing_chunks(self, handle: Handle, filters: Filters) -> dict[int, ChunkFacts]:
        """Return, for each blob, the first chunk with a wanted import that passes."""
        ids = {id_ for term, uses in self._wanted if term.filter == _FILES for id_ in uses.places}
        facts = chunks.read_chunks(handle, sorted(ids), filters)
        return {chunk.blob_id: chunk for _, chunk in sorted(facts.items(), reverse=True)}

    def shown_in(self, found: RankedCandidates, mode: Mode) -> RankedCandidates:
        """Return candidates that show where they use the names, and say so; with notes."""
        for candidate in found.shown:
            self._show(candidate)
        notes = dict.fromkeys(note for _, uses in self._found for note in uses.notes)
        if not found.scores and not found.is_capped:
            notes.update(dict.fromkeys(self._notes_on_nothing(mode)))
        is_capped = found.is_capped or any(uses.is_cut for _, uses in self._found)
        return found._replace(is_capped=is_capped, notes=(*found.notes, *notes))

    def unknown(self, handle: Handle) -> tuple[list[MissingName], list[MissingName]]:
        """Return the names that are neither defined nor used, and those that no text has."""
        filters: dict[str, set[str]] = {}
        for term, uses in self._found:
            if not uses.is_known:
                filters.setdefault(term.name, set()).add(term.filter)
        unknown: list[MissingName] = [
            (UnknownModule if of_name == {_FILES} else UnknownName)(
                name, _similar_name(handle, name)
            )
            for name, of_name in filters.items()
        ]
        return unknown, [MissingName(name, "") for name in filters if not is_indexed(handle, name)]

    def _show(self, candidate: Candidate) -> None:
        known = {part.name for part in candidate.breakdown.shares}  # of a place that is listed
        shown = [
            _Shown(term, _places_of(candidate, uses))
            for term, uses in self._wanted
            if term.filter not in known
        ]
        _add(candidate, shown)

    def _notes_on_nothing(self, mode: Mode) -> Iterator[str]:
        """Yield how many places there are for each filter alone, when none passes all of them."""
        where = "no definition around" if mode is Mode.SYMBOL else "nothing there"
        for term, uses in self._wanted:
            number = len(uses.file_ids if term.filter == _FILES else uses.places)
            noun = "file" if term.filter == _FILES else "place"
            verb = term.filter if number == 1 else term.filter.removesuffix("s")
            if number:
                yield (
                    f"{count(number, noun)} {verb} {term.name}, but {where} matches the rest of"
                    " the query"
                )


class UnknownName(MissingName):
    """A name in a filter that nothing searched defines or uses."""

    _WHAT = "no definition and no use of"

    @property
    def note(self) -> str:
        """What to say of it."""
        suggestion = f", did you mean {self.similar!r}?" if self.similar else ""
        return f"{self._WHAT} {self.name!r}{suggestion}"


class UnknownModule(UnknownName):
    """A name that is only asked for as a module, and that nothing imports."""

    _WHAT = "no import of"


def wants_kind(query: Query, request: SearchRequest) -> bool:
    """Return whether a query is about definitions of a kind."""
    return bool(request.kind) or any(not term.negated for term in query.values("kind"))


def _rule(term: UseTerm, uses: NameUses, is_narrowed: bool, are_files_listed: bool) -> IdRule:
    if term.filter == _FILES:
        return IdRule(term.is_negated, files=uses.file_ids)
    if term.is_negated:
        return IdRule(
            is_refusal=True,
            files=uses.file_ids if are_files_listed else None,
            chunks=uses.chunk_ids,
            symbols=uses.symbol_places.keys(),
        )
    symbol_ids: Collection[int] = uses.symbol_places.keys() if is_narrowed else uses.innermost
    return IdRule(is_refusal=False, files=uses.file_ids, chunks=uses.chunk_ids, symbols=symbol_ids)


def _places_of(candidate: Candidate, uses: NameUses) -> Sequence[UsedAt]:
    """Return the uses that a candidate shows: of its definition, else of its chunk."""
    in_chunk = uses.places.get(candidate.chunk.id, ())
    in_symbol = uses.symbol_places.get(candidate.symbol.id, ()) if candidate.symbol else ()
    of_symbol = set(in_symbol)
    return [place for place in in_chunk if place in of_symbol] or in_symbol or in_chunk


def _why(term: UseTerm, places: Sequence[UsedAt]) -> str:
    why = f"{term.filter} {term.name}"
    if not places:
        return why
    if len(places) > 1:
        why += f" ×{len(places)}"
    return _BY_CERTAINTY[_best(places)].format(why)


def _best(places: Iterable[UsedAt]) -> Certainty:
    order = list(Certainty)
    return min((place.certainty for place in places), key=order.index)


def _add(candidate: Candidate, shown: Sequence[_Shown]) -> None:
    """Add to a candidate what it shows of filters."""
    places = [place for each in shown for place in each.places]
    spans = {(place.start, place.end) for place in places}
    if places and not candidate.spans:
        candidate.is_outside = not any(place.symbol_id for place in places)
    candidate.spans = sorted(spans.union(candidate.spans))[:_MAX_SPANS]
    parts: dict[str, Part] = {}  # their names are unique
    for each in shown:
        name, why = each.term.filter, _why(each.term, each.places)
        known = parts.get(name)
        parts[name] = Part(name, 0.0, f"{known.why}, {why}" if known else why)
    breakdown = candidate.breakdown
    candidate.breakdown = breakdown._replace(shares=(*breakdown.shares, *parts.values()))


class _Listed(NamedTuple):
    """A place of a list."""

    candidate: Candidate
    first: UsedAt
    shown: Sequence[_Shown]


def _listed(chunk: ChunkFacts, shown: Sequence[_Shown]) -> _Listed:
    """Return a place that is listed, with its score."""
    factors = path_factors(chunk.path, is_generated=bool(chunk.is_generated))
    if chunk.language in DOCUMENT_LANGUAGES:
        factors = (*factors, factor_part("document", DOCUMENT_FACTOR))
    used = [each.places for each in shown if each.places]
    factor = min(USE_FACTORS[_best(places).value] for places in used)
    if factor < 1:
        factors = (*factors, factor_part("certainty", factor))
    breakdown = Breakdown((Part("listed", 1.0),), factors)
    candidate = Candidate(chunk, score=breakdown.score, breakdown=breakdown)
    return _Listed(candidate, min(places[0] for places in used), shown)


def _order(place: _Listed) -> tuple[float, str, int]:
    candidate = place.candidate
    return -candidate.score, candidate.chunk.path, place.first.start


def _similar_name(handle: Handle, name: str) -> str:
    """Return a name of the index that may be meant: in another case, or without a typing error."""
    last = last_name_of(name)
    folded = last.lower()
    alike = symbols.names_like(handle, folded, len(last), 0)
    return next((each for each in alike if each != last and each.lower() == folded), "") or (
        similar_name(handle, last)
    )
