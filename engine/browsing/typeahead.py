"""Completions for typed text: symbols, files by fuzzy path, and values of filters.

All paths of a branch lie in one text, in the order in which equal matches are shown, shorter first,
so each tier of matches ends as soon as enough are found, and nothing has to be sorted. For each
path and each name a bit mask of its letters is held: one comparison of numbers rules out most
texts, of 100,000 paths all but a few hundred. A second text has the paths in alphabetical order, so
the contents of a folder are found at once.
"""

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.browse_records import FilterValue, NamedPlace
from engine.records import display_path, folded, is_path
from engine.search.features import path_factors
from engine.search.query import storable
from engine.search.symbols import kind_weight
from engine.store import history, symbols
from engine.store.connection import Handle
from engine.store.symbols import NamedRow
from engine.syntax.languages import LANGUAGES
from engine.syntax.terms import words_of

_PIECE = 1 << 16  # texts whose letters are gathered at a time, at eight bytes a byte
_LETTERS, _DIGITS, _BITS = 26, 10, 64

Letters = NDArray[np.uint64]

_MOST_FUZZY = 400  # that are weighed
_MOST_LETTERS = 100
_BOUNDARY = frozenset("/_-. ")
_SLASH = ord("/")
_END = b"\0"  # of a path; none has it inside
_LONGEST_NAME = 255  # of those whose length is held
#: If more than this share of the paths may match, reading the whole text is faster.
_SHARE_READ = 1 / 16

#: Shorter ones begin too many names.
LEAST_CHARS = 2
_LEAST_INSIDE = 3  # characters of a part of a name
_LISTED_A_NAME = 4  # definitions that are read for each shown name
_NAMES = 24
_FILES = 200
_MOST_CHARS = 200
_JOINTS = ("", "_", "-", " ")  # of the words of a name; headings have spaces


def letters_of(text: bytes) -> np.uint64:
    """Return the letter mask of a text, which is in lower case and not empty."""
    return np.uint64(np.bitwise_or.reduce(_bits_of(text)))


def letters_between(text: bytes, borders: NDArray[np.intp]) -> Letters:
    """Return the letter masks of the parts of a text that begin at these places.

    An empty part gets the letter at its position.
    """
    found = np.zeros(len(borders), np.uint64)
    for first in range(0, len(borders), _PIECE):
        places = borders[first : first + _PIECE]
        last = first + len(places)
        end = len(text) if last == len(borders) else borders[last]
        bits = _bits_of(text[places[0] : end])
        found[first:last] = np.bitwise_or.reduceat(bits, places - places[0])
    return found


def _bits_of(text: bytes) -> Letters:
    return _BIT_OF[np.frombuffer(text, np.uint8)]


def _bit_of(code: int) -> int:
    character = chr(code)
    if "a" <= character <= "z":
        return code - ord("a")
    if "0" <= character <= "9":
        return _LETTERS + code - ord("0")
    others = _LETTERS + _DIGITS
    return others + code % (_BITS - others)


_BIT_OF = np.array([1 << _bit_of(code) for code in range(256)], np.uint64)


class BranchPaths:
    """The sorted paths of a branch. For any number of threads.

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
        """The memory that they take."""
        return len(self._text) + len(self._starts) * self._starts.itemsize

    def below(self, start: str) -> Mapping[str, int]:
        """Count the files by their next path segment after a prefix; folders end in a slash."""
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
        """The number of files by ending, which includes its dot."""
        found: Counter[str] = Counter()
        for path in self:
            stem, dot, ending = path.rpartition("/")[2].rpartition(".")
            if dot and stem:
                found[f".{ending}"] += 1
        return found

    def _first(self, text: str, low: int = 0) -> int:
        """Return the first place whose path does not sort before a text."""
        return bisect_left(range(len(self)), text, low, key=self.__getitem__)


Span = tuple[int, int]


class Match(NamedTuple):
    """A matching path; smaller is better."""

    tier: int  # 0 to 5: how well it fits
    cost: int  # within the tier
    path: str
    marks: tuple[Span, ...]  # what of it was typed, half-open, in characters


class Pathfinder:
    """A fuzzy finder for the paths of a branch. For any number of threads.

    A path takes twice its bytes and 34 more, some 190 in large trees.

    Args:
        paths: As they are shown.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        shown = sorted(paths)
        #: The paths in their order.
        self.paths = BranchPaths(shown)
        lengths = np.fromiter(map(len, shown), np.uint32, len(shown))
        self._order = np.argsort(lengths, kind="stable").astype(np.uint32)
        ordered = [shown[place] for place in self._order.tolist()]
        self._text = folded("\0".join([*ordered, ""])).encode()
        characters = np.frombuffer(self._text, np.uint8)
        starts = np.append(0, np.flatnonzero(characters == ord(_END)) + 1)
        slashes = np.append(-1, np.flatnonzero(characters == _SLASH))
        last_slashes = slashes[np.searchsorted(slashes, starts[1:]) - 1]
        names = np.maximum(starts[:-1], last_slashes + 1)
        parts = letters_between(self._text, np.column_stack((starts[:-1], names)).ravel())
        self._in_names = np.ascontiguousarray(parts[1::2])
        self._in_paths = parts[::2] | self._in_names  # and those of folders
        self._name_bytes = np.minimum(starts[1:] - names, _LONGEST_NAME).astype(np.uint8)
        self._first_bytes = characters[names]
        self._starts, self._names = array("I", starts.tolist()), array("I", names.tolist())

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        letters = (self._in_names, self._in_paths, self._name_bytes, self._first_bytes)
        held = sum(each.nbytes for each in (*letters, self._order))
        places = sum(len(each) * each.itemsize for each in (self._starts, self._names))
        return held + places + len(self._text) + self.paths.size_bytes

    def find(self, typed: str, limit: int) -> list[Match]:
        """Return the best matches, best first.

        Each word must occur. A path whose name is the text comes first, then names that begin with
        it or hold it, then paths that hold it, then those that have its letters in this order.
        """
        words = folded(typed[:_MOST_LETTERS]).split()
        if not words:
            shortest = map(self._path, range(min(limit, len(self.paths))))
            return [Match(5, len(path), path, ()) for path in shortest]
        letters = "".join(words)
        if "\0" in letters:
            return []
        found: dict[int, int] = {}  # tiers, by places in the order
        for tier, places in enumerate(self._tiers([_encoded(word) for word in words])):
            for place in places:
                found.setdefault(place, tier)
                if len(found) >= limit:
                    break
            if len(found) >= limit:
                break
        matches = [self._match(place, tier, words) for place, tier in found.items()]
        if len(matches) < limit:
            matches += self._fuzzy(letters, found, limit - len(matches))
        return matches

    def _tiers(self, words: list[bytes]) -> Iterator[Iterable[int]]:
        """Yield places, tier by tier; later tiers repeat those of earlier ones."""
        text, starts, names = self._text, self._starts, self._names
        last, others = words[-1], words[:-1]
        in_name = _with_letters(self._in_names, last)
        if others:
            yield ()
            yield ()
        elif b"/" in last:
            likely = _places(_with_letters(self._in_paths, last))
            yield (each for each in likely if self._ends(each, last))
            yield (each for each in likely if text.startswith(last, starts[each]))
        else:
            begin = in_name & (self._first_bytes == last[0])
            whole = begin & (self._name_bytes == min(len(last) + len(_END), _LONGEST_NAME))
            yield (each for each in _places(whole) if text.startswith(last + _END, names[each]))
            yield (each for each in _places(begin) if text.startswith(last, names[each]))
        likely = _places(in_name & _with_letters(self._in_paths, b"".join(words)))
        holding = (each for each in likely if text.find(last, names[each], starts[each + 1]) >= 0)
        yield self._holding(holding, others)
        longest, *rest = sorted(words, key=len, reverse=True)
        yield self._holding(self._with(longest, b"".join(words)), rest)

    def _ends(self, place: int, end: bytes) -> bool:
        """Return whether a path ends with these parts."""
        start, at = self._starts[place], self._starts[place + 1] - len(end) - len(_END)
        is_cut = at == start or (at > start and self._text[at - 1] == _SLASH)
        return is_cut and self._text.startswith(end + _END, at)

    def _with(self, word: bytes, letters: bytes) -> Iterable[int]:
        """Return the places of paths that may hold a word: those with all of its letters."""
        likely = _with_letters(self._in_paths, letters)
        if np.count_nonzero(likely) > _SHARE_READ * len(likely):
            return self._read_for(word)
        return self._holding(_places(likely), [word])

    def _read_for(self, word: bytes) -> Iterator[int]:
        at = self._text.find(word)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            yield place
            at = self._text.find(word, self._starts[place + 1])

    def _holding(self, places: Iterable[int], words: Iterable[bytes]) -> Iterable[int]:
        """Return the places whose paths hold all words."""
        text, starts = self._text, self._starts

        def only(places: Iterable[int], word: bytes) -> Iterator[int]:
            return (each for each in places if text.find(word, starts[each], starts[each + 1]) >= 0)

        return reduce(only, words, places)

    def _path(self, place: int) -> str:
        return self.paths[int(self._order[place])]

    def _match(self, place: int, tier: int, words: list[str]) -> Match:
        path = self._path(place)
        lower = folded(path)
        spans = []
        for word in words:
            start = lower.rfind(word)
            spans.append((start, start + len(word)))
        return Match(tier, len(path), path, _joined(spans))

    def _fuzzy(self, letters: str, found: Container[int], limit: int) -> list[Match]:
        pattern = re.compile(b"".join(map(_up_to, letters)), re.DOTALL)
        text, starts = self._text, self._starts
        fits = (
            place
            for place in _places(_with_letters(self._in_paths, _encoded(letters)))
            if pattern.match(text, starts[place], starts[place + 1]) and place not in found
        )
        matches = []
        for place in islice(fits, _MOST_FUZZY):
            path = self._path(place)
            lower = folded(path)
            marks = _from_the_end(lower, letters)
            cost = 4 * len(marks) + sum(
                start > 0 and lower[start - 1] not in _BOUNDARY for start, _ in marks
            )
            matches.append(Match(4, cost, path, marks))
        return sorted(matches, key=lambda match: (match.cost, len(match.path), match.path))[:limit]


def _encoded(word: str) -> bytes:
    """Return the bytes of a word; lone surrogates, which no path has, match nothing."""
    return word.encode("utf-8", "surrogatepass")


def _with_letters(held: Letters, letters: bytes) -> NDArray[np.bool_]:
    required = letters_of(letters)
    has_all: NDArray[np.bool_] = (held & required) == required
    return has_all


def _places(chosen: NDArray[np.bool_]) -> list[int]:
    places: list[int] = np.flatnonzero(chosen).tolist()
    return places


def _up_to(letter: str) -> bytes:
    """Return an atomic pattern for everything up to and including a letter."""
    escaped = re.escape(_encoded(letter))
    return b"[^%b]*+%b" % (escaped, escaped) if letter.isascii() else b"(?>.*?%b)" % escaped


def _from_the_end(path: str, letters: str) -> tuple[Span, ...]:
    """Return the spans of the letters, matched from the end: names end paths."""
    spans = []
    end = len(path)
    for letter in reversed(letters):
        end = path.rfind(letter, 0, end)
        spans.append((end, end + 1))
    return _joined(spans)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def symbols_beginning(
    handle: Handle, branch_id: int, text: str, limit: int
) -> tuple[NamedPlace, ...]:
    """Return symbols by name prefix, one for each name: short names and definitions first.

    Several words match one name, however it joins them: ``open sess``, ``open_session``.
    """
    folded = storable(text).strip().lower()
    if not LEAST_CHARS <= len(folded) <= _MOST_CHARS:
        return ()
    forms = {joint.join(folded.split()) for joint in _JOINTS}
    found = (symbols.complete_names(handle, form, _NAMES) for form in sorted(forms))
    best: list[NamedRow] = []
    for name in {name: None for names in found for name in names}:
        rows = symbols.find_named(handle, branch_id, name)
        if rows:
            best.append(min(rows, key=_least_likely))
    best.sort(key=lambda row: (not _matches_name(row, forms), _least_likely(row)))
    return tuple(map(_place, best[:limit]))


def symbols_containing(
    handle: Handle, branch_id: int, text: str, limit: int
) -> tuple[NamedPlace, ...]:
    """Return symbols with a text of at least three characters in their names, one for each name."""
    folded = storable(text).strip().lower()
    if not _LEAST_INSIDE <= len(folded) <= _MOST_CHARS or len(folded.split()) > 1:
        return ()
    choice = symbols.Choice(branch_id, folded)
    rows = symbols.list_symbols(handle, choice, symbols.FROM_THE_FIRST, limit * _LISTED_A_NAME)
    named = {row.name: row for _, row in reversed(rows)}
    return tuple(
        NamedPlace(path=display_path(row.path), name=row.name, kind=row.kind, line=row.line_start)
        for row in list(reversed(named.values()))[:limit]
    )


def files_beginning(
    handle: Handle, branch_id: int, text: str, limit: int
) -> tuple[NamedPlace, ...]:
    """Return files whose path has all the words, the last one as a prefix."""
    words = words_of(storable(text[:_MOST_CHARS]))
    if not words or len("".join(words)) < LEAST_CHARS:
        return ()
    match = " AND ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}" *'])
    rows = symbols.files_with_words(handle, branch_id, match, _FILES)
    rows.sort(key=lambda row: (not _in_name(row.path, words[-1]), len(row.path), row.path))
    return tuple(
        NamedPlace(path=display_path(row.path), name="", kind=row.kind, line=1)
        for row in rows[:limit]
    )


def names_beginning(handle: Handle, branch_id: int, start: str) -> tuple[FilterValue, ...]:
    """Return the unqualified symbol names with this prefix."""
    if not is_path(start):
        return ()
    places = symbols_beginning(handle, branch_id, start, _NAMES)
    return tuple(FilterValue(value=place.name.rpartition(".")[2]) for place in places)


def kinds_beginning(kinds: Mapping[str, int], start: str) -> tuple[FilterValue, ...]:
    """Return the symbol kinds in use with this prefix, most frequent first."""
    return _counted({kind: n for kind, n in kinds.items() if kind.startswith(start.lower())})


def languages_beginning(counts: Mapping[str, int], start: str) -> tuple[FilterValue, ...]:
    """Return the languages with this prefix, the most frequent first."""
    found = {name: number for name, number in counts.items() if name in LANGUAGES}
    return _counted({name: n for name, n in found.items() if name.startswith(start.lower())})


def paths_beginning(paths: BranchPaths, start: str) -> tuple[FilterValue, ...]:
    """Return the folders and files directly in the last typed folder, folders first."""
    return _counted(paths.below(start), folders_first=True)


def tags_beginning(tags: Iterable[str], start: str) -> tuple[FilterValue, ...]:
    """Return the tags of rules with this prefix, in the order of the rules."""
    return tuple(FilterValue(value=tag) for tag in tags if tag.lower().startswith(start.lower()))


def authors_beginning(handle: Handle, start: str) -> tuple[FilterValue, ...]:
    """Return the names of authors of stored commits with a word that has this prefix."""
    wanted = f" {start.casefold()}"
    names = {author.rpartition(" <")[0] for author in history.read_authors(handle)}
    return tuple(
        FilterValue(value=name) for name in sorted(names) if wanted in f" {name.casefold()}"
    )


def endings_beginning(paths: BranchPaths, start: str) -> tuple[FilterValue, ...]:
    """Return the file extensions with this prefix, with or without the dot."""
    dotted = start if start[:1] == "." else f".{start}"
    fits = {each: n for each, n in paths.endings.items() if each.startswith(dotted)}
    return _counted(fits)


def _counted(found: Mapping[str, int], *, folders_first: bool = False) -> tuple[FilterValue, ...]:
    def order(item: tuple[str, int]) -> tuple[bool, int, str]:
        return folders_first and not item[0].endswith("/"), -item[1], item[0]

    return tuple(
        FilterValue(value=value, number=number)
        for value, number in sorted(found.items(), key=order)
    )


def _place(row: NamedRow) -> NamedPlace:
    return NamedPlace(path=display_path(row.path), name=row.name, kind=row.kind, line=row.line)


def _matches_name(row: NamedRow, forms: Iterable[str]) -> bool:
    return row.name.lower().endswith(tuple(forms))


def _least_likely(row: NamedRow) -> tuple[float, bool, int, str]:
    lowered = math.prod(part.value for part in path_factors(row.path, is_generated=False))
    own = row.name.rpartition(".")[2]  # of a qualified name
    return -kind_weight(row.kind) * lowered, not row.is_exported, len(own), row.path


def _in_name(path: str, word: str) -> bool:
    return any(each.startswith(word) for each in words_of(path.rpartition("/")[2]))
