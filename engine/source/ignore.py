"""Ignore rules with git's semantics, ``.cairnignore``, and the include and exclude globs.

A rule file is parsed once into ``IgnoreRules``; an ``IgnoreChain`` holds the files that apply in
one folder of a walk, highest precedence first. The last matching rule of the first file that has
one decides about a name. The walk itself takes care that an ignored folder hides everything below
it. Names and rules are compared byte by byte, as in git.

``Globs`` uses git's wildcards over characters: a glob without a slash is matched against the name
at any depth, one with a slash against the path from the root, and ``folder/**`` means that folder
at any depth. A folder that matches an exclude glob is excluded with everything below it. An include
glob that ends in a plain name, a slash or ``**`` includes a whole folder; ``*.py`` applies to files
alone, even if a folder is called ``x.py``.
"""

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from engine.errors import InvalidInputError
from engine.records import display_path
from engine.source.wildmatch import (
    BYTES,
    CHARACTERS,
    BadPatternError,
    Pattern,
    PatternSet,
    Sets,
    components_of,
)

_MAX_RULE_BYTES: Final = 1 << 16  # no path of a walk is longer
_MAX_SHOWN_CHARACTERS: Final = 200
_BOM: Final = b"\xef\xbb\xbf"

MAX_PATTERNS: Final = 1000
MAX_PATTERN_CHARACTERS: Final = 4096


class IgnoreRules:
    """The rules of one file.

    Args:
        data: The content of the file; lines without a rule are ignored.
        fold_case: Ignore the case of ASCII letters, as with ``core.ignoreCase``.

    Attributes:
        patterns: The rules; of equal ones only the last, which decides.
        negated: Whether each rule re-includes what earlier ones ignore.
        size_bytes: Size of the file.
    """

    __slots__ = ("_data", "_lines", "_starts", "negated", "patterns", "size_bytes")

    def __init__(self, data: bytes, *, fold_case: bool = False) -> None:
        self._data = data
        self._lines = array("I")  # 1-based, by number
        self._starts = array("I")  # bytes into the file, by number
        self.negated = bytearray()
        self.size_bytes = len(data)
        self.patterns = PatternSet(self._read(fold_case=fold_case), BYTES)

    def __len__(self) -> int:
        """Count the rules."""
        return len(self.negated)

    def line(self, number: int) -> tuple[int, str]:
        """Return the 1-based line of a rule and its text."""
        start = self._starts[number]
        end = self._data.find(b"\n", start)
        text = _text_of(self._data[start : len(self._data) if end < 0 else end])
        return self._lines[number], text.encode("latin-1").decode("utf-8", "replace")

    def _read(self, *, fold_case: bool) -> Iterator[Pattern]:
        for text, (line, start) in _rule_lines(self._data).items():
            try:
                pattern = _pattern_of(text.removeprefix("!"), fold_case=fold_case)
            except BadPatternError:
                continue  # git ignores it as well
            self._lines.append(line)
            self._starts.append(start)
            self.negated.append(text.startswith("!"))
            yield pattern


class IgnoreFile(NamedTuple):
    """The rules of a file and its path."""

    rules: IgnoreRules
    label: str  # the file's path as a user would write it
    is_cairn: bool = False  # a .cairnignore
    shows_text: bool = True  # the text of a rule may be shown

    def is_negated(self, number: int) -> bool:
        """Return whether the rule re-includes what earlier ones ignore."""
        return bool(self.rules.negated[number])

    def describe(self, number: int) -> str:
        """Return the place and text of a rule: ``.gitignore:3: *.log``."""
        line, text = self.rules.line(number)
        if not self.shows_text:
            return f"{self.label}:{line}"
        return f"{self.label}:{line}: {text[:_MAX_SHOWN_CHARACTERS]}"


#: A file and the number of its rule that decides.
Decision = tuple[IgnoreFile, int]


class IgnoreChain:
    """The rule files that apply in one folder, highest precedence first.

    Attributes:
        is_empty: Whether no rule can match here or below.
        size_bytes: Total size of the files.
    """

    __slots__ = ("_entries", "is_empty", "size_bytes")

    def __init__(self, entries: Iterable[tuple[IgnoreFile, bytes]] = ()) -> None:
        # The path of this folder relative to the rule file's, between slashes.
        self._entries = [
            (file, path, *_open_in(path, file.rules.patterns)) for file, path in entries
        ]
        self.is_empty = not self._entries
        self.size_bytes = sum(entry[0].rules.size_bytes for entry in self._entries)

    def of_file(self, key: bytes) -> Decision | None:
        """Return the rule that decides about a file of the folder, or None."""
        for file, path, names, sets in self._entries:
            number = names.get(key, -1)
            for numbers, match in sets:
                found = match(path + key)
                if found:
                    number = max(number, numbers[max(found)])
                    break
            if number >= 0:
                return file, number
        return None

    def of_folder(self, key: bytes) -> Decision | None:
        """Return the rule that decides about a folder in this one, or None."""
        return self.of_file(key + b"/")

    def enter(self, key: bytes) -> "IgnoreChain":
        """Return the chain of a subfolder, without its own rule files."""
        if self.is_empty:
            return self
        below = key + b"/"
        return IgnoreChain(
            (file, path + below) for file, path, *is_open in self._entries if any(is_open)
        )

    def with_files(self, files: Iterable[IgnoreFile]) -> "IgnoreChain":
        """Return the chain with the rule files of this folder, highest precedence last."""
        entries = [(file, path) for file, path, *_ in self._entries]
        for file in files:
            at = 0
            if not file.is_cairn:
                at = sum(old.is_cairn for old, _ in entries)
            if len(file.rules):
                entries.insert(at, (file, b"/"))
        return IgnoreChain(entries)

    def only_cairn(self) -> "IgnoreChain":
        """Return the chain without git's rules, for a nested repository."""
        return IgnoreChain((file, path) for file, path, *_ in self._entries if file.is_cairn)

    def reopens(self, key: bytes) -> bool:
        """Return whether a ``!`` rule of a ``.cairnignore`` names something in a folder."""
        return any(
            file.is_cairn
            and any(map(file.is_negated, file.rules.patterns.naming(path + key + b"/")))
            for file, path, *_ in self._entries
        )


def _open_in(folder: bytes, patterns: PatternSet) -> tuple[dict[bytes, int], Sets]:
    """Return the patterns that can match in a folder or below."""
    return patterns.names, patterns.sets if folder.count(b"/") <= patterns.depth else []


def match_key(name: str, *, fold_case: bool = False) -> bytes:
    """Return the bytes of a name that rules are matched against."""
    data = name.encode() if name.isascii() else os.fsencode(name)
    return data.lower() if fold_case else data


def label_of(folder: str, name: str) -> str:
    """Name a rule file by its path from the root."""
    return display_path(f"{folder}{name}")


def _rule_lines(data: bytes) -> dict[str, tuple[int, int]]:
    """Yield the text of each rule in order, with its line number and offset."""
    rules: dict[str, tuple[int, int]] = {}
    start = len(_BOM) if data.startswith(_BOM) else 0
    for line, raw in enumerate(data[start:].split(b"\n"), 1):
        text = _text_of(raw)
        if text:
            rules.pop(text, None)
            rules[text] = (line, start)
        start += len(raw) + 1
    return rules


def _text_of(raw: bytes) -> str:
    """Return the rule in a line, one character per byte, or an empty string for a comment."""
    if raw.startswith(b"#"):
        return ""
    text = raw.removesuffix(b"\r").partition(b"\0")[0].decode("latin-1")
    return _without_trailing_spaces(text) if text.endswith(" ") else text


def _without_trailing_spaces(text: str) -> str:
    stripped = text.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 else stripped  # "\ " keeps one space


def _pattern_of(text: str, *, fold_case: bool) -> Pattern:
    if len(text) > _MAX_RULE_BYTES:
        raise BadPatternError("it is too long")
    folders_only = text.endswith("/")
    body = text[:-1] if folders_only else text
    is_path = "/" in body
    components = components_of(body.removeprefix("/"), fold_case=fold_case)
    if not is_path and components[0] is not None:
        components = (None, *components)
    return Pattern(components, folders_only=folders_only)


class Globs:
    """Compiled globs; the first one given wins where several match.

    Attributes:
        all: All globs, by number.
        named: The globs that name a path, not just a name at any depth.
    """

    __slots__ = ("_compiled", "_patterns", "all", "named")

    def __init__(self, patterns: Sequence[str], compiled: Sequence[Pattern]) -> None:
        self._patterns = tuple(reversed(patterns))  # the highest number wins in a set
        self._compiled = backwards = list(reversed(compiled))
        self.all = PatternSet(backwards, CHARACTERS)
        self.named = PatternSet(filter(_names_a_path, backwards), CHARACTERS)

    @classmethod
    def compile(cls, patterns: Sequence[str], *, field: str) -> "Globs":
        """Check and compile globs.

        Args:
            patterns: The globs, at most 1,000 of at most 4,096 characters each.
            field: The caller's name for them: ``include_patterns``, ``exclude_patterns``, …

        Raises:
            InvalidInputError: One is malformed, empty or too long, or there are too many;
                ``details`` has ``field`` and ``pattern``.
        """
        kind = field.removesuffix("_patterns")
        if len(patterns) > MAX_PATTERNS:
            raise InvalidInputError(
                f"{len(patterns):,} {kind} patterns, wanted at most {MAX_PATTERNS:,}", field=field
            )
        compiled = []
        for pattern in patterns:
            try:
                compiled.append(_compiled(pattern, is_include=kind == "include"))
            except BadPatternError as error:
                shown = pattern if len(pattern) <= 100 else f"{pattern[:100]}…"
                raise InvalidInputError(
                    f"invalid {kind} pattern",
                    about=f"{shown!r}: {error}",
                    field=field,
                    pattern=pattern,
                ) from None
        return cls(patterns, compiled)

    def __len__(self) -> int:
        """Count the globs."""
        return len(self._patterns)

    def pattern(self, number: int) -> str:
        """Return the glob with a number."""
        return self._patterns[number]

    def compiled(self, number: int) -> Pattern:
        """Return the compiled glob with a number."""
        return self._compiled[number]

    def match(self, path: str, is_dir: bool) -> str | None:
        """Return the glob that matches a path or a folder above it, or None.

        Args:
            path: Relative to the root.
            is_dir: Whether it is a folder.
        """
        folder = b"/"
        *folders, name = glob_key(path).split(b"/")
        for above in folders:
            number = self.all.last(folder, above + b"/")
            if number >= 0:
                return self._patterns[number]
            folder += above + b"/"
        number = self.all.last(folder, name + b"/" if is_dir else name)
        return self._patterns[number] if number >= 0 else None


def glob_key(name: str) -> bytes:
    """Return the bytes of a name that globs are matched against."""
    return name.encode(CHARACTERS, "surrogatepass")


def _compiled(pattern: str, *, is_include: bool) -> Pattern:
    if not pattern:
        raise BadPatternError("it is empty")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise BadPatternError(f"it is longer than {MAX_PATTERN_CHARACTERS:,} characters")
    if "\0" in pattern:
        raise BadPatternError("it contains NUL")
    folders_only = pattern.endswith("/")
    body = pattern[:-1] if folders_only else pattern
    is_path = "/" in body
    components = components_of(body.removeprefix("./").removeprefix("/"))
    if len(components) > 1 and components[-1] is None:  # all in a folder: the folder itself
        components, folders_only = components[:-1], True
        is_path = len(components) > 1
    if not is_path and components[0] is not None and not body.startswith(("/", "./")):
        components = (None, *components)
    last = components[-1]
    files_only = is_include and not folders_only and last is not None and last.literal is None
    return Pattern(components, folders_only=folders_only, files_only=files_only)


def _names_a_path(pattern: Pattern) -> bool:
    is_at_any_depth = pattern.components[0] is None
    return not (is_at_any_depth and len(pattern.components) <= 2)
