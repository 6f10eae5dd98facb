"""Git's wildcards as sets of regular expressions, each searched in one pass with RE2.

A path is written relative to the folder of its patterns, with a leading slash, and a trailing one
for a folder: ``/src/a.c``, ``/src/``. Each pattern becomes one expression; RE2 finds which of
thousands match in time linear in the path, whatever their form.

The package ``pathspec`` has such sets too, but does not fit (1.1.1, measured against git 2.39). Of
300 random rule files with all wildcards it reads 73 differently, malformed lines left out: classes
with ``[:alpha:]`` or an escape, ``[!a]`` and a slash, tabs and the byte A0 at the end, names with a
newline. Of 400 plain files with negations it reads 2 differently, as a pattern also matches what
lies below: ``b`` and ``!/a/`` re-include ``a/b``. It also compiles each rule for ``re``, 0.7 s for
10,000; its single set holds some 2,000; and it cannot tell which patterns reach into a folder.

Where git up to 2.51 deviates from its own manual (``foo**/bar`` also across folders), this module
follows the manual and git 2.52.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

import re2

#: Encodings of paths: names are compared byte by byte, or by characters, among them those by which
#: ``os.fsdecode`` stands for other bytes.
BYTES: Final = "latin-1"
CHARACTERS: Final = "utf-8"

#: Longest name in common file systems, in bytes; a component that needs more never matches.
_NAME_MAX: Final = 255

#: Expressions in one set, and its memory at most. Each set costs 0.5 µs a name; with rules such as
#: ``?*1*`` a larger one costs more than several. The worst rule file of 2 MiB, 230,000 of those,
#: takes 1.4 ms a name.
_SET_SIZE: Final = 4000
_SET_BYTES: Final = 16 << 20

#: POSIX classes as the first and last characters of ranges; git considers ASCII only.
_POSIX_CLASSES: Final = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "xdigit": "09AFaf",
}

_TOKEN: Final = re.compile(
    r"(?P<slash>\\?/)|(?P<stars>\*+)|(?P<one>\?)|(?P<open>\[[!^]?)"
    r"|\\(?P<escaped>.)|(?P<text>[^*?\[\\/]+)",
    re.DOTALL,
)
_CLASS_ITEM: Final = re.compile(r"\[:([^\]]*):\]|\\?(.)(?:-(?!\])\\?(.))?", re.DOTALL)
_ASCII_LOWER: Final = {capital: capital + 32 for capital in range(65, 91)}
_NEVER: Final = r"\z."
_STAR: Final = "[^/]*"
_ANY_FOLDERS: Final = "(?:/.*)?"


class BadPatternError(ValueError):
    """A pattern that cannot match anything; the message says why."""


class NamePattern(NamedTuple):
    """A pattern over one name."""

    regex: str
    literal: str | None  # the one name that it matches; None with wildcards
    spells_out: bool  # a character, where "*" and "?[ab]" name nothing in particular


#: A pattern over one name, or None for ``**``, any number of names.
Component = NamePattern | None


class Pattern(NamedTuple):
    """A compiled pattern."""

    components: tuple[Component, ...]
    folders_only: bool = False
    files_only: bool = False


class _Piece(NamedTuple):
    """A piece of a pattern over one name."""

    regex: str
    length: int  # characters that it matches; 0 for a star
    text: str = ""  # the characters, when it matches no others
    stars: int = 0


def components_of(pattern: str, *, fold_case: bool = False) -> tuple[Component, ...]:
    """Parse a pattern without its anchoring slash and its trailing slash.

    Args:
        pattern: Git's wildcards; one character stands for one character of a name.
        fold_case: The names that will be matched are in lower case (ASCII letters only).

    Raises:
        BadPatternError: It is malformed or, like ``a//b``, can match no path.
    """
    components: list[Component] = []
    pieces: list[_Piece] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise BadPatternError("its last backslash escapes nothing")
        at = token.end()
        match token.lastgroup:
            case "slash":
                _close(components, pieces, before_escaped_slash=len(token[0]) > 1)
                pieces = []
            case "stars":  # inside a name, several stars are one star
                pieces.append(_Piece(_STAR, 0, stars=len(token[0])))
            case "one":
                pieces.append(_Piece("[^/]", 1))
            case "open":
                regex, at = _class_at(pattern, at, len(token[0]) > 1, fold_case=fold_case)
                pieces.append(_Piece(regex, 1))
            case _:
                text = token["escaped"] or token["text"]
                if fold_case:
                    text = text.translate(_ASCII_LOWER)
                pieces.append(_Piece(re.escape(text), len(text), text))
    _close(components, pieces, before_escaped_slash=False)
    return tuple(components)


def _close(
    components: list[Component], pieces: list[_Piece], *, before_escaped_slash: bool
) -> None:
    if not pieces:
        raise BadPatternError("a name in it is empty")
    length = sum(piece.length for piece in pieces)
    if length > _NAME_MAX:
        raise BadPatternError("no name is that long")
    is_double_star = len(pieces) == 1 and pieces[0].stars > 1
    if is_double_star and (not components or components[-1] is not None):
        components.append(None)
    # Only a plain slash lets ** stand for no folder at all.
    if not is_double_star or before_escaped_slash:
        regex = "".join(piece.regex for piece in pieces) if length else "[^/]+"
        texts = [piece.text for piece in pieces]
        literal = "".join(texts) if all(texts) else None
        components.append(NamePattern(regex, literal, any(texts)))


def _class_at(pattern: str, at: int, is_negated: bool, *, fold_case: bool) -> tuple[str, int]:
    """Parse a character class from its first item into a regular expression and its end."""
    ranges: list[tuple[str, str]] = []
    start = at
    while at == start or not pattern.startswith("]", at):
        item = _CLASS_ITEM.match(pattern, at)
        if item is None:
            raise BadPatternError("its [ is never closed")
        at = item.end()
        posix, low, high = item.groups()
        if posix is None:
            ranges += ((low, low), (low, high or low))
        elif posix in _POSIX_CLASSES:
            ends = _POSIX_CLASSES[posix]
            ranges += zip(ends[::2], ends[1::2], strict=True)
        else:
            raise BadPatternError(f"the class [:{posix[:20]}:] does not exist")
    return _class_regex(ranges, is_negated=is_negated, fold_case=fold_case), at + 1


def _class_regex(ranges: list[tuple[str, str]], *, is_negated: bool, fold_case: bool) -> str:
    wanted = {(ord(low), ord(high)) for low, high in ranges if low <= high}
    if fold_case:
        wanted |= {
            (max(low, 65) + 32, min(high, 90) + 32)
            for low, high in wanted
            if low <= 90 and high >= 65
        }
    slash = ord("/")
    if is_negated:
        wanted.add((slash, slash))
    else:  # no name has a slash in it
        below = {(low, min(high, slash - 1)) for low, high in wanted if low < slash}
        wanted = below | {(max(low, slash + 1), high) for low, high in wanted if high > slash}
    if not wanted:
        return _NEVER
    inside = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in sorted(wanted))
    return f"[{'^' if is_negated else ''}{inside}]"


#: Returns the places of the expressions in a set that match a path, None when none does.
Match = Callable[[bytes], list[int] | None]

#: The numbers of the expressions in each set and what searches for them, the highest in front.
Sets = list[tuple[list[int], Match]]


class _Expressions:
    """Numbered regular expressions that are searched together.

    Args:
        numbered: The expressions, the lowest number first.
        encoding: Of the paths.

    Attributes:
        sets: The numbers of the expressions in each set and what searches for them, the highest
            numbers in front.
    """

    def __init__(self, numbered: Iterable[tuple[int, str]], encoding: str) -> None:
        self._options = re2.Options()
        self._options.dot_nl = self._options.never_capture = True
        self._options.log_errors = False
        self._options.max_mem = _SET_BYTES
        if encoding == BYTES:
            self._options.encoding = re2.Options.Encoding.LATIN1
        entries = [(number, regex.encode(encoding, "surrogatepass")) for number, regex in numbered]
        self.sets: Sets = []
        for first in reversed(range(0, len(entries), _SET_SIZE)):
            self._add(entries[first : first + _SET_SIZE])

    def last(self, path: bytes) -> int:
        """Return the highest number of the expressions that match a path, or -1."""
        for numbers, match in self.sets:
            found = match(path)
            if found:
                return numbers[max(found)]
        return -1

    def all(self, path: bytes) -> list[int]:
        """Return the numbers of the expressions that match a path."""
        return [numbers[place] for numbers, match in self.sets for place in match(path) or ()]

    def _add(self, entries: list[tuple[int, bytes]]) -> None:
        together = re2.Set.SearchSet(self._options)
        try:
            for _, regex in entries:
                together.Add(regex)
            together.Compile()
        except re2.error:  # they need more memory
            half = len(entries) // 2
            if half:
                self._add(entries[half:])
                self._add(entries[:half])
        else:
            self.sets.append(([number for number, _ in entries], together.Match))


class PatternSet:
    """Numbered patterns of one folder; the highest number that matches a path wins.

    Args:
        patterns: The patterns, numbered by position.
        encoding: Of the paths: ``BYTES`` when each character of a pattern stands for a byte, or
            ``CHARACTERS``.

    Attributes:
        names: Numbers of patterns that are plain names at any depth; a slash marks folders.
        sets: Of the other patterns the numbers in each set and what searches for them, the highest
            numbers in front.
        depth: The maximum number of names in a matching path.
    """

    def __init__(self, patterns: Iterable[Pattern], encoding: str) -> None:
        self._patterns = list(patterns)
        self._encoding = encoding
        self.names: dict[bytes, int] = {}
        self.depth = 0.0
        self.sets = _Expressions(self._expressions(), encoding).sets

    def __len__(self) -> int:
        """Count the patterns."""
        return len(self._patterns)

    def last(self, folder: bytes, name: bytes) -> int:
        """Return the highest number of the patterns that match a path, or -1.

        Args:
            folder: The folder's path, between slashes.
            name: A name in it, with a trailing slash for a folder.
        """
        number = self.names.get(name, -1)
        for numbers, match in self.sets:
            found = match(folder + name)
            if found:
                return max(number, numbers[max(found)])
        return number

    def naming(self, folder: bytes) -> list[int]:
        """Return the numbers of the patterns that reach into a folder and spell out its name.

        ``vendor/lib/**`` does for ``/vendor/``; ``**/*.c`` and ``*/x`` reach into every folder.
        """
        return self._naming.all(folder)

    def has_step(self, folder: bytes) -> bool:
        """Return whether a folder matches a component of a pattern other than ``**``."""
        return self._steps.last(folder) >= 0

    def reaches_into(self, folder: bytes) -> bool:
        """Return whether a pattern can match anything in a folder or below."""
        return self._reach.last(folder) >= 0

    @cached_property
    def _naming(self) -> _Expressions:
        return self._ways(lambda component: component is not None and component.spells_out)

    @cached_property
    def _steps(self) -> _Expressions:
        return self._ways(lambda component: component is not None)

    @cached_property
    def _reach(self) -> _Expressions:
        return self._ways(lambda _component: True)

    def _ways(self, may_end: Callable[[Component], bool]) -> _Expressions:
        regexes = (_way_regex(pattern, may_end) for pattern in self._patterns)
        return _Expressions(enumerate(regexes), self._encoding)

    def _expressions(self) -> Iterator[tuple[int, str]]:
        """Yield the expressions to search for; plain names are looked up instead."""
        for number, pattern in enumerate(self._patterns):
            name = _name_at_any_depth(pattern)
            if name is None:
                depth = math.inf if None in pattern.components else len(pattern.components)
                self.depth = max(self.depth, depth)
                yield number, _whole_regex(pattern)
                continue
            key = name.encode(self._encoding, "surrogatepass")
            self.names[key + b"/"] = number
            if not pattern.folders_only:
                self.names[key] = number


def _name_at_any_depth(pattern: Pattern) -> str | None:
    match pattern.components:
        case (None, NamePattern(literal=name)):
            return name
    return None


def _whole_regex(pattern: Pattern) -> str:
    """Return the expression for the paths that a pattern matches."""
    *before, last = pattern.components
    regex = "".join(map(_step_regex, before)) + ("/.+" if last is None else _step_regex(last))
    end = "$" if pattern.files_only else "/$" if pattern.folders_only else "/?$"
    if pattern.components[0] is not None:
        return f"^{regex}{end}"
    # It may begin anywhere; a star at the start of a name adds nothing.
    return regex.removeprefix(_ANY_FOLDERS).removeprefix(f"/{_STAR}") + end


def _way_regex(pattern: Pattern, may_end: Callable[[Component], bool]) -> str:
    """Return the expression for the parent folders of what a pattern matches.

    Args:
        pattern: The pattern.
        may_end: Whether the path may end at a component.
    """
    regex = ""
    *before, last = pattern.components
    for component in reversed(pattern.components if last is None else before):
        if may_end(component):
            regex = _step_regex(component) + (f"(?:{regex})?" if regex else "")
        elif regex:
            regex = _step_regex(component) + regex
    return f"^{regex}/$" if regex else _NEVER


def _step_regex(component: Component) -> str:
    return _ANY_FOLDERS if component is None else f"/{component.regex}"
