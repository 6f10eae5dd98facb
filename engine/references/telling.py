"""The uses of a name that say most about it, for an answer that shows but a few.

Calls say more than bases, these more than types, and these more than other uses; of each kind what
is certain comes before what is likely. A file is read, and what a use means is found, only when it
is its turn, for a common name can have thousands.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import count, islice
from operator import itemgetter

from engine.reference_records import Certainty, Reference, Use
from engine.references.kept import KeptBranch, ToldUses
from engine.references.lookup import Found, Lookup, reference_of
from engine.references.overriding import languages_of, uses_that_may_mean
from engine.search.features import is_test
from engine.store.symbols import SymbolRow

#: The kinds of uses that are told, those that say most first, and what such a use does.
VERBS = {
    Use.CALL: "calls",
    Use.INHERIT: "extends",
    Use.TYPE: "is typed with",
    Use.USE: "uses",
}
_KINDS = tuple(VERBS)
_MOST_COMPARED = 300  # uses, in code and in tests, whose meaning is looked for
_TOLD_BYTES = 600  # of a use that is kept, roughly
_MOST_BY_NAME = 12  # uses by name alone, of which more are of something else


class _LazyUses:
    """Uses that are read once, each when it is its turn, for what it means is found then."""

    def __init__(self, unread: Iterator[Found]) -> None:
        self._unread = unread
        self._read: list[Found] = []

    def __iter__(self) -> Iterator[Found]:
        for at in count():
            if at == len(self._read):
                self._read += islice(self._unread, 1)
            if at == len(self._read):
                return
            yield self._read[at]


class _Places:
    """The files that may have a name, looked up when they are asked for.

    Args:
        lookup: Of the snapshot.
        name: As it is written.
        languages: The only ones; None: all.
    """

    def __init__(self, lookup: Lookup, name: str, languages: frozenset[str] | None) -> None:
        self._lookup = lookup
        self._name = name
        self._languages = languages

    @cached_property
    def all(self) -> Sequence[tuple[str, int]]:
        """Path and text of all of them, by path."""
        return self._lookup.in_languages(self._lookup.places_with(self._name), self._languages)

    @cached_property
    def marked(self) -> Sequence[tuple[str, int]]:
        """Those that may do more than mention it, if that is known."""
        found = self._lookup.places_marked(self._name)
        if found is None:
            return self.all
        found = self._lookup.first_of(found, self._name)
        return self._lookup.in_languages(found, self._languages)


class _FirstUses:
    """The first uses of a name, in code or in tests: by kind, then by place.

    Files are read when it is their turn, and those that only mention the name after the others.

    Args:
        lookup: Of the snapshot.
        name: As it is written.
        places: The files that may have it.
        tests: Whether tests are asked, or else other code.
    """

    def __init__(self, lookup: Lookup, name: str, places: _Places, *, tests: bool) -> None:
        self._lookup = lookup
        self._name = name
        self._places = places
        self._tests = tests
        self._left = _MOST_COMPARED
        self._asked: set[str] = set()  # paths
        self._read: dict[str, list[Found]] = {}  # by path

    def of(self, kind: Use) -> Iterator[Found]:
        """Yield the uses of a kind, after all those of the kinds that say more."""
        if kind is _KINDS[0]:
            unread = self._uses_at(self._places.marked)
        elif kind is Use.USE and self._left:
            unread = self._uses_at(self._places.all)
        else:
            unread = iter(())
        for _, found in merge(sorted(self._read.items()), unread, key=itemgetter(0)):
            for each in found:
                if not self._left:
                    return
                if each.occurrence.use is kind:
                    self._left -= 1
                    yield each

    def _uses_at(self, places: Sequence[tuple[str, int]]) -> Iterator[tuple[str, list[Found]]]:
        new = [
            place
            for place in places
            if place[0] not in self._asked and is_test(place[0]) is self._tests
        ]
        self._asked.update(path for path, _ in new)
        for found in self._lookup.uses_at(new, self._name):
            if found:
                found.sort(key=lambda each: each.occurrence.offset)
                path = found[0].source.path
                self._read[path] = found
                yield path, found


class TellingUses:
    """Yields the uses of one name, those that say most first, within one snapshot.

    Args:
        lookup: Of the snapshot.
        name: The name.
        kept: What the process keeps of the branch; that remembers what is told.
    """

    def __init__(self, lookup: Lookup, name: str, kept: KeptBranch) -> None:
        self._lookup = lookup
        self._name = name
        self._kept = kept
        self._told = kept.told.get(name) or (ToldUses(), ToldUses())
        #: Of a kind, in code or in tests: the uses that can mean the name, by place.
        self._known: dict[tuple[Use, bool], _LazyUses] = {}

    def of(self, *, tests: bool) -> Iterator[Reference]:
        """Yield the uses in code, or those in tests; by name alone if all are so, and few."""
        told = self._told[tests]
        is_whole = told.is_whole
        at = 0
        while at in told.references:
            yield told.references[at]
            at += 1
        if is_whole:
            return
        try:
            for number, found in enumerate(self._found(tests=tests)):
                if number >= at:
                    told.references[number] = reference = reference_of(found)
                    yield reference
            told.is_whole = True
        finally:  # also when the caller wants no more
            self._keep()

    def _keep(self) -> None:
        uses = sum(len(each.references) for each in self._told)
        self._kept.told.put(self._name, self._told, _TOLD_BYTES * (1 + uses))

    def _found(self, *, tests: bool) -> Iterator[Found]:
        has_sure = False
        for found in self._sure(tests=tests):
            has_sure = True
            yield found
        if has_sure or any(self._sure(tests=not tests)):
            return
        by_name = self._all_meant(tests=tests)
        if len(by_name) + len(self._all_meant(tests=not tests)) <= _MOST_BY_NAME:
            yield from by_name

    def _sure(self, *, tests: bool) -> Iterator[Found]:
        for kind in _KINDS:
            likely = []
            for each in self._meant(kind, tests=tests):
                certainty = each.resolution.certainty
                if certainty is Certainty.EXACT:
                    yield each
                elif certainty is Certainty.LIKELY:
                    likely.append(each)
            yield from likely

    def _meant(self, kind: Use, *, tests: bool) -> Iterable[Found]:
        """Return the uses of a kind that can mean the name, by place."""
        meant = self._known.get((kind, tests))
        if meant is None:
            uses = self._first[tests].of(kind)
            is_sure = self._last == self._name
            found = uses if is_sure else uses_that_may_mean(uses, self._asked, self._lookup)
            meant = self._known[kind, tests] = _LazyUses(iter(found))
        return meant

    def _all_meant(self, *, tests: bool) -> list[Found]:
        return [each for kind in _KINDS for each in self._meant(kind, tests=tests)]

    @cached_property
    def _asked(self) -> list[SymbolRow]:
        return self._lookup.asked(self._name)

    @cached_property
    def _last(self) -> str:
        return self._lookup.last_name(self._name, self._asked)

    @cached_property
    def _first(self) -> tuple[_FirstUses, _FirstUses]:
        # What stands in other languages can mean no definition of a name with what is around it.
        languages = None if self._last == self._name else languages_of(self._asked)
        places = _Places(self._lookup, self._last, languages)
        return (
            _FirstUses(self._lookup, self._last, places, tests=False),
            _FirstUses(self._lookup, self._last, places, tests=True),
        )
