"""Dependents of definitions: uses of every kind, followed from definition to definition.

Besides the uses of its name, a definition reaches: what constructs its class, if it is a
constructor or a method that Python calls by itself; the callers of the methods that it overrides;
the methods that override it; and, as a fixture of pytest, the functions with a parameter of its
name. A function in a function counts as part of the outer one. Uses by name alone are told of what
was asked for only: those of its dependents would be guesses about guesses.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.reference_records import MAX_DEPTH, Certainty, Dependent, Direction, Use
from engine.references.calls import lines_of
from engine.references.candidates import CALLABLES
from engine.references.fixtures import Fixtures
from engine.references.imports import Module, likeness, module_of, path_segments
from engine.references.inheritance import InheritanceWalk
from engine.references.lookup import RANK, Found, Lookup, can_mean, row_of
from engine.references.resolve import scope_of
from engine.references.sources import Source
from engine.references.test_blocks import Block, block_at, blocks_of
from engine.search.features import is_test
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import Role, name_pattern

_MOST_REACHED = 2000
_MOST_FOLLOWED = 400  # definitions whose names are read

_NO_USES = frozenset({Use.DEFINITION, Use.TEXT})
_USES = {use: place for place, use in enumerate((Use.CALL, Use.INHERIT, Use.TYPE, Use.USE))}
_OF_CONSTRUCTORS = frozenset({Use.CALL, Use.INHERIT})
_OF_SUBCLASSING = frozenset({"__init_subclass__", "__class_getitem__", "__set_name__"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "initialize", "__construct"})
_BY_THEMSELVES = re.compile(r"__\w+__")  # methods that Python calls by itself
_SET_UPS = frozenset(
    """setUp setUpClass asyncSetUp tearDown setup_method setup_class setUpTestData
    SetUp SetupTest SetupSuite""".split()
)
_NAMED = 2  # the likeness of a module and the file that is called so
_RUN = re.compile(r"test_|Test[A-Z_]|test[A-Z]")
_WORDS = re.compile(r"\w+")
_OWN = frozenset({b"self", b"cls", b"this"})
#: Here a name of another file must be imported.
_NEEDS_IMPORT = frozenset({"python"})
#: A statement that imports a name, or all names. A list in parentheses goes over several lines.
_IMPORTED = (
    rb"(?m)^[ \t]*(?:import[ \t].*\b%s\b"
    rb"|from[ \t].*?\bimport[ \t]*(?:\*|\([^)]*\b%s\b|[^\n(]*\b%s\b))"
)
_RECEIVER = re.compile(rb"([\w\x80-\xff]+)\s*\.\s*$")
_RECEIVER_BYTES = 100
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([\w.]+)", re.MULTILINE)

Key = tuple[str, str]


class _Group:
    """The uses of a definition in one other."""

    def __init__(self, found: Found, owner: SpanRow | None, block: Block | None) -> None:
        self.source = found.source
        self.owner = owner
        self.block = block
        self.certainty = Certainty.NAME
        self.use = Use.IMPORT
        self._offsets: dict[int, Certainty] = {}

    def add(self, found: Found, certainty: Certainty) -> None:
        """Add a use; the surest ones decide how certain the group is, and what it does."""
        offset, use = found.occurrence
        self._offsets[offset] = certainty
        if RANK[certainty] < RANK[self.certainty]:
            self.certainty, self.use = certainty, use
        elif certainty is self.certainty and _USES.get(use, 9) < _USES.get(self.use, 9):
            self.use = use

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of its uses, those by name alone only if there are no others."""
        sure = [offset for offset, each in self._offsets.items() if each is not Certainty.NAME]
        return lines_of(self.source, sure or self._offsets)

    @property
    def line(self) -> int:
        """The line where it begins."""
        if self.owner:
            return self.owner.line_start
        return self.source.line_of(self.block.start) if self.block else self.lines[0]

    def dependent(self, certainty: Certainty, depth: int, via: Key) -> Dependent:
        """Return what uses the definition, whose file and name are given."""
        path = self.source.path
        named = self.owner.qualified_name if self.owner else self.block.title if self.block else ""
        return Dependent(
            name=named or path,
            path=path,
            line=self.line,
            depth=depth,
            certainty=certainty,
            use=self.use,
            via=via[1],
            via_path=via[0],
            lines=self.lines,
            is_test=is_test(path),
            is_titled=self.block is not None,
        )


class _Way(NamedTuple):
    """A definition that was reached, and how certain that is."""

    row: SymbolRow
    certainty: Certainty
    is_quiet: bool = False  # no uses by name alone


class Dependents:
    """Finds what depends on definitions, each dependent once, by the shortest way.

    Args:
        lookup: Definitions and uses.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._followed = 0
        self._fixtures = Fixtures(lookup)
        self._blocks: dict[str, Sequence[Block]] = {}  # of tests, by file
        self._imports: dict[Key, bool] = {}  # whether a file imports a name
        self.is_cut = False

    def reach(
        self,
        start: Sequence[SymbolRow],
        depth: int,
        *,
        test_depth: int = MAX_DEPTH,
        quiet: frozenset[Key] = frozenset(),
    ) -> list[Dependent]:
        """Return the dependents of some definitions, without these; in no order.

        Args:
            start: The definitions.
            depth: How many steps dependents outside of tests may be away.
            test_depth: How many steps tests may be away.
            quiet: Those whose uses by name alone are left out.
        """
        seen = {_key_of(row) for row in start}
        reached: dict[Key, Dependent] = {}
        level = [_Way(row, Certainty.EXACT, _is_quiet(row, quiet)) for row in start]
        for distance in range(1, max(depth, test_depth) + 1):
            following: dict[Key, _Way] = {}
            for way in level:
                if self._followed >= _MOST_FOLLOWED or len(reached) >= _MOST_REACHED:
                    self.is_cut = True
                    break
                self._followed += 1
                for dependent, target in self._step(way, distance):
                    key = (dependent.path, dependent.name)
                    if key in seen or not _is_news(dependent, reached.get(key)):
                        continue
                    reached[key] = dependent
                    if target and not _is_last(dependent):
                        following[key] = _Way(target, dependent.certainty, is_quiet=True)
            level = [following[key] for key in sorted(following)]
        return [
            each
            for each in reached.values()
            if each.depth <= (test_depth if each.is_test else depth)
        ]

    def importing_tests(self, path: str) -> Iterator[Dependent]:
        """Yield the test files that import a file as a module, whatever they use of it."""
        module = path_segments(path)
        for source in self._lookup.sources_with(module[-1]):
            if source.path == path or not is_test(source.path):
                continue
            offsets = _imports_of(source, path)
            if offsets:
                yield Dependent(
                    name=source.path,
                    path=source.path,
                    line=source.line_of(offsets[0]),
                    depth=1,
                    certainty=Certainty.LIKELY,
                    use=Use.IMPORT,
                    via=path,
                    via_path=path,
                    lines=lines_of(source, offsets),
                    is_test=True,
                )

    def _step(self, way: _Way, depth: int) -> Iterator[tuple[Dependent, SymbolRow | None]]:
        """Yield the direct dependents of a definition, each with its own definition."""
        row = way.row
        groups = self._grouped(
            (found, certainty)
            for found, certainty in self._uses_of(row)
            if not (way.is_quiet and certainty is Certainty.NAME)
        )
        # An import is the use of a file that has no other.
        used = {path for (path, name), group in groups.items() if name and _is_sure(group)}
        for (path, name), group in groups.items():
            if group.use is Use.IMPORT and not name and path in used:
                continue
            certainty = max(group.certainty, way.certainty, key=RANK.__getitem__)
            dependent = group.dependent(certainty, depth, _key_of(row))
            yield dependent, row_of(group.owner, group.source) if group.owner else None
        for each in self._overriding(row):
            yield _override_of(each, way, depth), each

    def by_name(self, name: str) -> list[Dependent]:
        """Return what uses a name whose definition is not known."""
        uses = (
            (each, Certainty.NAME)
            for each in self._lookup.uses(name)
            if each.occurrence.use not in _NO_USES
        )
        groups = self._grouped(uses).values()
        return [group.dependent(Certainty.NAME, 1, ("", name)) for group in groups]

    def _grouped(self, uses: Iterable[tuple[Found, Certainty]]) -> dict[Key, _Group]:
        """Return uses by the definition, or the block of tests, that they stand in."""
        groups: dict[Key, _Group] = {}
        for found, certainty in uses:
            owner = _owner_of(found.source, found.occurrence.offset)
            block = None if owner else self._block_of(found)
            name = owner.qualified_name if owner else block.title if block else ""
            key = (found.source.path, name)
            if key not in groups:
                groups[key] = _Group(found, owner, block)
            groups[key].add(found, certainty)
        return groups

    def _block_of(self, found: Found) -> Block | None:
        """Return the block of tests around a use."""
        source = found.source
        if not is_test(source.path):
            return None
        if source.path not in self._blocks:
            self._blocks[source.path] = blocks_of(source)
        return block_at(self._blocks[source.path], found.occurrence.offset)

    def _uses_of(self, row: SymbolRow) -> Iterator[tuple[Found, Certainty]]:
        """Yield the uses that can mean a definition, each with its certainty."""
        above = self._overridden(row)
        for found in self._lookup.uses(row.name):
            if found.occurrence.use in _NO_USES:
                continue
            certainty = found.resolution.certainty
            if can_mean(found.resolution, row):
                if certainty is Certainty.NAME and self._fixtures.is_made(found, row):
                    certainty = Certainty.LIKELY
                if self._is_in_reach(found, row):
                    yield found, certainty
            elif any(can_mean(found.resolution, each) for each in above):
                yield found, max(certainty, Certainty.LIKELY, key=RANK.__getitem__)
        yield from self._constructions_of(row)
        if row.language == "python" and is_test(row.path):
            for found in self._fixtures.uses_of(row):
                yield found, Certainty.LIKELY

    def _is_in_reach(self, found: Found, row: SymbolRow) -> bool:
        """Return whether a use can mean a definition that is no member and of another file.

        Its file must import the name; of a name behind a dot, the one before the dot.
        """
        source, (offset, use) = found.source, found.occurrence
        if source.path == row.path or use is Use.IMPORT or scope_of(row):
            return True
        receiver = _RECEIVER.search(source.text, max(0, offset - _RECEIVER_BYTES), offset)
        if receiver and receiver[1] in _OWN:
            return False
        if source.language not in _NEEDS_IMPORT or found.resolution.certainty is Certainty.EXACT:
            return True
        wanted = receiver[1].decode("utf-8", "replace") if receiver else row.name
        key = (source.path, wanted)
        if key not in self._imports:
            said = re.escape(wanted.encode())
            self._imports[key] = re.search(_IMPORTED % (said, said, said), source.text) is not None
        return self._imports[key]

    def _constructions_of(self, row: SymbolRow) -> Iterator[tuple[Found, Certainty]]:
        """Yield what makes an object of the class around a method that runs by itself."""
        is_constructor = row.name in _CONSTRUCTORS or row.kind == "constructor"
        if not (is_constructor or _BY_THEMSELVES.fullmatch(row.name)):
            return
        least = Certainty.EXACT if is_constructor else Certainty.LIKELY
        uses = frozenset({Use.INHERIT}) if row.name in _OF_SUBCLASSING else _OF_CONSTRUCTORS
        around = self._class_of(row)
        if around is None or around.name == row.name:
            return
        for found in self._lookup.uses(around.name):
            if found.occurrence.use in uses and can_mean(found.resolution, around):
                yield found, max(found.resolution.certainty, least, key=RANK.__getitem__)

    def _class_of(self, row: SymbolRow) -> SymbolRow | None:
        """Return the definition of the class around a method."""
        scope = scope_of(row)
        return next(
            (
                each
                for each in self._lookup.definitions(scope.rpartition(".")[2])
                if (each.path, each.qualified_name) == (row.path, scope)
            ),
            None,
        )

    def _overridden(self, row: SymbolRow) -> list[SymbolRow]:
        """Return the methods of the bases of its class that a method overrides."""
        scope = scope_of(row)
        if not scope or row.name in _CONSTRUCTORS:
            return []
        source = self._lookup.source(row.path)
        span = source.span_of(scope) if source else None
        bases = set(_WORDS.findall(span.signature)) - {scope.rpartition(".")[2]} if span else set()
        return [
            each
            for each in self._lookup.definitions(row.name)
            if bases and scope_of(each).rpartition(".")[2] in bases
        ]

    def _overriding(self, row: SymbolRow) -> list[SymbolRow]:
        """Return the methods of subclasses that override a method."""
        around = self._class_of(row) if scope_of(row) and row.name not in _CONSTRUCTORS else None
        rows = self._lookup.definitions(row.name) if around and row.kind in CALLABLES else []
        if around is None or len(rows) <= 1:
            return []
        if around.kind == "interface" and around.language == "go":
            edges = InheritanceWalk(self._lookup, Direction.IMPLEMENTATIONS).edges([row], 1)
            places = {(edge.path, edge.name) for edge in edges}
            return [each for each in rows if _key_of(each) in places]
        below = set()
        for found in self._lookup.uses(around.name):
            if found.occurrence.use is Use.INHERIT and can_mean(found.resolution, around):
                span = found.source.enclosing(found.occurrence.offset)
                below.add((found.source.path, span.qualified_name if span else ""))
        return [each for each in rows if (each.path, scope_of(each)) in below]


def _key_of(row: SymbolRow) -> Key:
    return row.path, row.qualified_name


def _is_last(dependent: Dependent) -> bool:
    """Return whether a dependent is not followed: found by name alone, or run by a test runner."""
    name = dependent.name.rpartition(".")[2]
    is_run = dependent.is_test and _RUN.match(name) is not None
    return is_run or dependent.certainty is Certainty.NAME


def _is_quiet(row: SymbolRow, quiet: frozenset[Key]) -> bool:
    return _key_of(row) in quiet or _BY_THEMSELVES.fullmatch(row.name) is not None


def _is_sure(group: _Group) -> bool:
    return group.certainty is not Certainty.NAME


def _is_news(dependent: Dependent, known: Dependent | None) -> bool:
    """Return whether a way to a dependent is better than the known one."""
    if known is None:
        return True
    is_surer = RANK[dependent.certainty] < RANK[known.certainty]
    return is_surer and (known.certainty is Certainty.NAME or dependent.depth == known.depth)


def _owner_of(source: Source, offset: int) -> SpanRow | None:
    """Return the definition that a use belongs to; what sets tests up belongs to their class."""
    owner = source.owner(offset)
    if owner is not None and owner.name in _SET_UPS and is_test(source.path):
        return source.parent_of(owner) or owner
    return owner


def _imports_of(source: Source, path: str) -> list[int]:
    """Return where a file imports another one, or names out of it."""
    offsets = []
    pattern = name_pattern(source.language)
    for offset, role in source.marks.within(0, len(source.text)):
        name = pattern.match(source.text, offset)
        if role is not Role.IMPORT or name is None:
            continue
        module = module_of(source.text, offset, source.language, source.path)
        if module is None:
            continue
        word = name.group().decode("utf-8", "replace")
        inner = module._replace(segments=(*module.segments, word))
        if _NAMED in (likeness(module, path), likeness(inner, path)):
            offsets.append(offset)
    if source.language == "python":
        for found in _IMPORT.finditer(source.text):
            dotted = Module(tuple(found[1].decode("utf-8", "replace").split(".")))
            if likeness(dotted, path) == _NAMED:
                offsets.append(found.start(1))
    return sorted(offsets)


def _override_of(row: SymbolRow, way: _Way, depth: int) -> Dependent:
    return Dependent(
        name=row.qualified_name,
        path=row.path,
        line=row.line_start,
        depth=depth,
        certainty=max(way.certainty, Certainty.LIKELY, key=RANK.__getitem__),
        use=Use.INHERIT,
        via=way.row.qualified_name,
        via_path=way.row.path,
        lines=(row.line_start,),
        is_test=is_test(row.path),
    )
