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
from engine.search.lexical import last_name_of
from engine.search.query import storable

#: The kinds of uses that are told, those that say most first.
KINDS = (Use.CALL, Use.INHERIT, Use.TYPE, Use.USE)
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
        for kind in KINDS:
            found = (
                each
                for each in self._meant(kind, tests=tests)
                if each.resolution.certainty is not Certainty.NAME
            )
            yield from sorted(found, key=lambda each: RANK[each.resolution.certainty])

    def _meant(self, kind: Use, *, tests: bool) -> Iterator[Found]:
        """Yield the uses of a kind that can mean the name, by place."""
        uses = [each for each in self._first(tests=tests) if each.occurrence.use is kind]
        if self._last == self._name:
            return iter(uses)
        return uses_that_may_mean(uses, self._asked, self._lookup)

    def _all_meant(self, *, tests: bool) -> list[Found]:
        return [each for kind in KINDS for each in self._meant(kind, tests=tests)]

    def _first(self, *, tests: bool) -> list[Found]:
        uses = (each for each in self._uses if is_test(each.source.path) is tests)
        return list(islice(uses, _MOST_COMPARED))

    @property
    def _last(self) -> str:
        name = self._name
        return self._asked[0].name if self._asked else last_name_of(storable(name).strip())

    @cached_property
    def _uses(self) -> list[Found]:
        uses = [each for each in self._lookup.uses(self._last) if each.occurrence.use in KINDS]
        return sorted(
            uses,
            key=lambda each: (
                KINDS.index(each.occurrence.use),
                each.source.path,
                each.occurrence.offset,
            ),
        )
