"""The globs that a caller includes or excludes paths by.

Git's wildcards, over characters: a glob without a slash is compared with the name at any depth, one
with a slash with the path from the root, and ``folder/**`` means that folder at any depth. A folder
that an exclude glob matches is out with all below it. An include glob that ends in a plain name, a
slash or ``**`` takes in a whole folder; ``*.py`` is about files alone, whatever folder is called
``x.py``.

Numbered path patterns below one folder, evaluated folder by folder.

The patterns form a tree by their components, and a walk carries the nodes of it that are open in
the present folder (a ``Level``). So a pattern is only compared with names, one component at a time;
entering a folder costs what matches its name, however many ``**`` a pattern has, and most folders
share one level. Of several patterns that match, the one with the highest number counts.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from engine.errors import InvalidInputError
from engine.source.wildmatch import (
    BadPatternError,
    Buckets,
    Component,
    NamePattern,
    NameTable,
    Numbered,
    components_of,
)

#: Gives the highest number of the patterns that match a name, -1 when none does.
LastMatch = Callable[[str], int]


class Pattern(NamedTuple):
    """A pattern that was read."""

    components: tuple[Component, ...]
    folders_only: bool = False
    files_only: bool = False


class _Node:
    """A place in patterns: what comes before it was matched by the folders on the way."""

    __slots__ = (
        "any_folders",
        "everything",
        "files",
        "finals",
        "folders",
        "numbers",
        "stays_open",
        "steps",
        "wild",
        "wild_steps",
    )

    def __init__(self, *, stays_open: bool) -> None:
        self.stays_open = stays_open  # it stands behind a "**"
        self.numbers: list[int] = []  # of the patterns that go on from here or end here
        self.steps: dict[str, _Node] = {}  # by the folder's name
        self.wild_steps: dict[str, tuple[NamePattern, _Node]] = {}  # by the pattern's source
        self.wild: tuple[Buckets, list[_Node]] | None = None  # made from wild_steps when needed
        self.any_folders: _Node | None = None  # behind the "**" that may follow
        self.finals: list[Numbered] = []  # last components
        self.everything: list[int] = []  # numbers of the patterns that end in this "**"
        self.files: LastMatch | None = None
        self.folders: LastMatch | None = None

    @property
    def leads_on(self) -> bool:
        """Whether it says anything itself, apart from what stands behind a ``**``."""
        return bool(
            self.steps
            or self.wild_steps
            or self.finals
            or self.everything
            or self.files is not None
            or self.folders is not None
        )

    def child(self, component: Component) -> "_Node":
        """Give the node behind a component that is not the last one, made when it is missing."""
        if component is None:
            if self.any_folders is None:
                self.any_folders = _Node(stays_open=True)
            return self.any_folders
        if component.literal is not None:
            if component.literal not in self.steps:
                self.steps[component.literal] = _Node(stays_open=False)
            return self.steps[component.literal]
        if component.source not in self.wild_steps:
            self.wild_steps[component.source] = (component, _Node(stays_open=False))
        return self.wild_steps[component.source][1]

    def step(self, name: str, found: "list[_Node]", *, by_name: bool) -> None:
        """Add the nodes that a folder's name leads to.

        Args:
            name: The folder's name.
            found: Where to add them.
            by_name: Only those whose pattern says something about the name.
        """
        if name in self.steps:
            found.append(self.steps[name])
        if not self.wild_steps:
            return
        if self.wild is None:
            patterns = (pattern for pattern, _ in self.wild_steps.values())
            nodes = [node for _, node in self.wild_steps.values()]
            self.wild = (Buckets(enumerate(patterns)), nodes)
        buckets, nodes = self.wild
        for place, pattern in buckets.matching(name):
            if pattern.inner or not by_name:
                found.append(nodes[place])


class PatternSet:
    """Numbered patterns below one folder.

    Args:
        patterns: The patterns; their numbers are their places.

    Attributes:
        root: The level of that folder.
    """

    __slots__ = ("_files_only", "_folders_only", "_levels", "root")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._files_only = bytearray()
        self._folders_only = bytearray()
        self._levels: dict[frozenset[_Node], Level] = {}
        root = _Node(stays_open=False)
        for number, (components, folders_only, files_only) in enumerate(patterns):
            self._folders_only.append(folders_only)
            self._files_only.append(files_only)
            node = root
            for component in components[:-1]:
                node = node.child(component)
                node.numbers.append(number)
            last = components[-1]
            if last is None:
                node = node.child(None)
                node.numbers.append(number)
                node.everything.append(number)
            else:
                node.finals.append((number, last))
        self.root = self.level([root])

    def level(self, nodes: list[_Node]) -> "Level":
        """Give the level where those nodes are open; equal ones are the same object."""
        behind_any = [node.any_folders for node in nodes if node.any_folders is not None]
        key = frozenset(node for node in nodes + behind_any if node.leads_on)
        level = self._levels.get(key)
        if level is None:
            for node in key:
                self._prepare(node)
            level = self._levels[key] = Level(self, key)
        return level

    def _prepare(self, node: _Node) -> None:
        """Make the tables of a node; then its patterns are not needed any more."""
        if not node.finals and not node.everything:
            return
        node.files = self._table(node, self._folders_only)
        same = not any(
            self._folders_only[number] or self._files_only[number]
            for number in (*node.everything, *(number for number, _ in node.finals))
        )
        node.folders = node.files if same else self._table(node, self._files_only)
        node.finals = []
        node.everything = []

    def _table(self, node: _Node, leaves_out: bytearray) -> LastMatch | None:
        finals = [entry for entry in node.finals if not leaves_out[entry[0]]]
        floor = max((number for number in node.everything if not leaves_out[number]), default=-1)
        if not finals:
            return (lambda _: floor) if floor >= 0 else None
        last = NameTable(finals).last
        return last if floor < 0 else lambda name: max(last(name), floor)


class Level:
    """The patterns of a set that are open in one folder.

    Attributes:
        files: What matches a file of the folder; None when nothing can.
        folders: What matches a folder in it; None when nothing can.
        is_closed: Whether no pattern is open here, nor in any folder below.
    """

    __slots__ = ("_loop", "_nodes", "_set", "files", "folders", "is_closed")

    def __init__(self, owner: PatternSet, nodes: frozenset[_Node]) -> None:
        self._set = owner
        self._nodes = nodes
        self._loop: Level | None = None  # of a folder whose name leads nowhere
        self.is_closed = not nodes
        self.files = _last_of([node.files for node in nodes if node.files is not None])
        self.folders = _last_of([node.folders for node in nodes if node.folders is not None])

    def enter(self, name: str) -> "Level":
        """Give the level of a folder in this one."""
        if self.is_closed:
            return self
        found = self._steps(name, by_name=False)
        if found:
            return self._set.level(found + [node for node in self._nodes if node.stays_open])
        if self._loop is None:
            self._loop = self._set.level([node for node in self._nodes if node.stays_open])
        return self._loop

    def naming(self, name: str) -> list[int]:
        """Give the numbers of the patterns that reach into a folder and say something of its name.

        ``vendor/lib/**`` does for ``vendor``; ``**/*.c`` and ``*/x`` reach into every folder.
        """
        return [number for node in self._steps(name, by_name=True) for number in node.numbers]

    def has_step(self, name: str) -> bool:
        """Tell whether a pattern takes that folder for one of its components other than ``**``."""
        return bool(self._steps(name, by_name=False))

    def _steps(self, name: str, *, by_name: bool) -> list[_Node]:
        found: list[_Node] = []
        for node in self._nodes:
            node.step(name, found, by_name=by_name)
        return found


def _last_of(matches: list[LastMatch]) -> LastMatch | None:
    if not matches:
        return None
    if len(matches) == 1:
        return matches[0]
    if len(matches) == 2:  # the usual case: some patterns of this folder, some of any depth
        first, second = matches
        return lambda name: max(first(name), second(name))
    return lambda name: max([match(name) for match in matches])


MAX_PATTERNS: Final = 1000
MAX_PATTERN_CHARACTERS: Final = 4096


class Globs:
    """Compiled globs; the first one given wins where several match.

    Attributes:
        root: What is open in the root, for a walk.
        named_root: The same of those globs alone that name a path, not just a name at any depth.
    """

    __slots__ = ("_compiled", "_patterns", "named_root", "root")

    def __init__(self, patterns: Sequence[str], compiled: Sequence[Pattern]) -> None:
        self._patterns = tuple(reversed(patterns))  # the highest number wins in a set
        self._compiled = backwards = list(reversed(compiled))
        self.root = PatternSet(backwards).root
        self.named_root = PatternSet([p for p in backwards if _names_a_path(p)]).root

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
        """Give the glob of a number that a level gave."""
        return self._patterns[number]

    def compiled(self, number: int) -> Pattern:
        """Give what was read from the glob of a number that a level gave."""
        return self._compiled[number]

    def match(self, path: str, is_dir: bool) -> str | None:
        """Give the glob that matches a path or a folder above it, None when none does.

        Args:
            path: Relative to the root.
            is_dir: Whether it is a folder.
        """
        level: Level = self.root
        *folders, name = path.split("/")
        for folder in folders:
            number = level.folders(folder) if level.folders is not None else -1
            if number >= 0:
                return self._patterns[number]
            level = level.enter(folder)
        last = level.folders if is_dir else level.files
        number = last(name) if last is not None else -1
        return self._patterns[number] if number >= 0 else None


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
