"""The globs that a caller includes or excludes paths by.

Git's wildcards, over characters: a glob without a slash is compared with the name at any depth, one
with a slash with the path from the root, and ``folder/**`` means that folder at any depth. A folder
that an exclude glob matches is out with all below it. An include glob that ends in a plain name, a
slash or ``**`` takes in a whole folder; ``*.py`` is about files alone, whatever folder is called
``x.py``.
"""

from collections.abc import Sequence
from typing import Final

from engine.errors import InvalidInputError
from engine.source.wildmatch import CHARACTERS, BadPatternError, Pattern, PatternSet, components_of

MAX_PATTERNS: Final = 1000
MAX_PATTERN_CHARACTERS: Final = 4096


class Globs:
    """Compiled globs; the first one given wins where several match.

    Attributes:
        all: All of them, by number.
        named: Those alone that name a path, not just a name at any depth.
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
                    f"invalid {kind} pattern {shown!r}: {error}", field=field, pattern=pattern
                ) from None
        return cls(patterns, compiled)

    def __len__(self) -> int:
        """Count the globs."""
        return len(self._patterns)

    def pattern(self, number: int) -> str:
        """Give the glob of a number."""
        return self._patterns[number]

    def compiled(self, number: int) -> Pattern:
        """Give what was read from the glob of a number."""
        return self._compiled[number]

    def match(self, path: str, is_dir: bool) -> str | None:
        """Give the glob that matches a path or a folder above it, None when none does.

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
    """Return what globs compare of a name."""
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
