"""All paths of a branch in one text, in order, so that what is below a folder is found at once."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate


class BranchPaths:
    """The paths of a branch by their characters. For any number of threads.

    A path takes its bytes and four more.

    Args:
        paths: As they are shown, sorted.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        encoded = [path.encode() for path in paths]
        self._text = b"".join(encoded)
        self._starts = array("I", accumulate(map(len, encoded), initial=0))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> str:
        return self._text[self._starts[place] : self._starts[place + 1]].decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    @property
    def size_bytes(self) -> int:
        """How much memory they take."""
        return len(self._text) + len(self._starts) * self._starts.itemsize

    def below(self, start: str) -> Mapping[str, int]:
        """Give what begins so, to the next slash, which folders keep, and how many files it is."""
        found: Counter[str] = Counter()
        at, end = self._first(start), self._first(f"{start}\U0010ffff")
        while at < end:
            path = self[at]
            slash = path.find("/", len(start))
            # "0" comes right after "/".
            after = at + 1 if slash < 0 else self._first(f"{path[:slash]}0", at)
            found[path if slash < 0 else path[: slash + 1]] += after - at
            at = after
        return found

    @cached_property
    def endings(self) -> Mapping[str, int]:
        """How many files there are of each ending, which has its dot."""
        found: Counter[str] = Counter()
        for path in self:
            stem, dot, ending = path.rpartition("/")[2].rpartition(".")
            if dot and stem:
                found[f".{ending}"] += 1
        return found

    def _first(self, text: str, low: int = 0) -> int:
        """Give the first place whose path does not come before a text."""
        return bisect_left(range(len(self)), text, low, key=self.__getitem__)
