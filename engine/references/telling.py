"""The uses of a name that say most about it, for an answer that shows but a few.

Calls say more than bases, these more than types, and these more than other uses; of each kind what
is certain comes before what is likely. What a use means is found only when it is its turn, for a
common name can have thousands.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from engine.reference_records import Certainty, Reference, Use
from engine.references.lookup import RANK, Found, Lookup, reference_of
from engine.references.overriding import uses_that_may_mean
from engine.search.features import is_test

#: The kinds of uses that are told, those that say most first, and what such a use does.
VERBS = {
    Use.CALL: "calls",
    Use.INHERIT: "extends",
    Use.TYPE: "is typed with",
    Use.USE: "uses",
}
_KINDS = tuple(VERBS)
_MOST_COMPARED = 300  # uses, in code and in tests, whose meaning is looked for
_MOST_BY_NAME = 12  # uses by name alone, of which more are of something else


class TellingUses:
    """Yields the uses of one name, those that say most first, within one snapshot.

    Args:
        lookup: Of the snapshot.
        name: The name.
    """

    def __init__(self, lookup: Lookup, name: str) -> None:
        self._lookup = lookup
        self._name = name
        self._asked = lookup.asked(name)
        self._last = lookup.last_name(name, self._asked)
        #: Of a kind, in code or in tests: the uses that can mean the name, by place.
        self._known: dict[tuple[Use, bool], list[Found]] = {}

    def of(self, *, tests: bool) -> Iterator[Reference]:
        """Yield the uses in code, or those in tests; by name alone if all are so, and few."""
        has_sure = False
        for found in self._sure(tests=tests):
            has_sure = True
            yield reference_of(found)
        if has_sure or any(self._sure(tests=not tests)):
            return
        by_name = self._all_meant(tests=tests)
        if len(by_name) + len(self._all_meant(tests=not tests)) <= _MOST_BY_NAME:
            yield from map(reference_of, by_name)

    def _sure(self, *, tests: bool) -> Iterator[Found]:
        for kind in _KINDS:
            found = (
                each
                for each in self._meant(kind, tests=tests)
                if each.resolution.certainty is not Certainty.NAME
            )
            yield from sorted(found, key=lambda each: RANK[each.resolution.certainty])

    def _meant(self, kind: Use, *, tests: bool) -> list[Found]:
        """Return the uses of a kind that can mean the name, by place."""
        uses = self._known.get((kind, tests))
        if uses is None:
            uses = [each for each in self._first(tests=tests) if each.occurrence.use is kind]
            if self._last != self._name:
                uses = list(uses_that_may_mean(uses, self._asked, self._lookup))
            self._known[kind, tests] = uses
        return uses

    def _all_meant(self, *, tests: bool) -> list[Found]:
        return [each for kind in _KINDS for each in self._meant(kind, tests=tests)]

    def _first(self, *, tests: bool) -> list[Found]:
        uses = (each for each in self._uses if is_test(each.source.path) is tests)
        return list(islice(uses, _MOST_COMPARED))

    @cached_property
    def _uses(self) -> list[Found]:
        uses = [each for each in self._lookup.uses(self._last) if each.occurrence.use in VERBS]
        return sorted(
            uses,
            key=lambda each: (
                _KINDS.index(each.occurrence.use),
                each.source.path,
                each.occurrence.offset,
            ),
        )
