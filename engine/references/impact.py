"""What depends on a definition, on a file, or on the uncommitted changes."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import InvalidInputError
from engine.humanize import count
from engine.records import Coverage
from engine.reference_records import (
    Certainty,
    Change,
    ChangedDefinition,
    Dependent,
    ImpactAnswer,
    ImpactRequest,
)
from engine.references.dependents import Dependents, Key
from engine.references.lookup import RANK, Lookup
from engine.references.test_blocks import LANGUAGES as LANGUAGES_OF_BLOCKS
from engine.search.features import is_test
from engine.store.symbols import SymbolRow
from engine.syntax.references import has_references

_MOST_START = 400  # definitions that are followed, of a file or of the changes
#: What test runners run, by the last part of a name.
_TEST_NAMES = {
    "python": re.compile(
        r"test|Test|\w+Tests?$|\w+TestCase$"
        r"|(?:async)?(?:setUp|tearDown|SetUp|TearDown)|(?:setup|teardown)_"
    ),
    "go": re.compile(
        r"(?:Test|Benchmark|Fuzz|Example|Setup(?:Test|Suite|SubTest)|(?:Before|After)Test)(?![a-z])"
        r"|TearDown"
    ),
}
_NO_TESTS = frozenset({"conftest"})  # a file of fixtures


@dataclass(slots=True)
class Start:
    """What changes, or may."""

    definitions: list[ChangedDefinition] = field(default_factory=list)
    rows: list[SymbolRow] = field(default_factory=list)
    quiet: set[Key] = field(default_factory=set)  # rows whose uses by name alone are left out
    files: list[str] = field(default_factory=list)  # whose importing tests reach it
    notes: list[str] = field(default_factory=list)
    is_cut: bool = False


def check_one(wanted: ImpactRequest) -> None:
    """Refuse a request that asks for none or for several of a name, a file and the changes.

    Raises:
        InvalidInputError: It does; the details name the field.
    """
    given = [wanted.name is not None, wanted.path is not None, wanted.changed]
    if sum(given) == 1:
        return
    field_name = "name" if not any(given) else "changed" if wanted.changed else "path"
    raise InvalidInputError(
        "name a definition, or a path, or ask for what is changed: one of the three",
        field=field_name,
    )


def start_of(lookup: Lookup, wanted: ImpactRequest) -> Start:
    """Return the definitions of the name or the file of a request."""
    if wanted.path is not None:
        rows = lookup.outline(wanted.path)
        return Start(definitions=[_unchanged(row) for row in rows], rows=rows, files=[wanted.path])
    rows = lookup.asked(wanted.name or "")
    code = [row for row in rows if has_references(row.language)]  # rather than sections of prose
    return start_at(lookup, code or rows)


def start_at(lookup: Lookup, rows: Sequence[SymbolRow]) -> Start:
    """Return some definitions, classes with their members."""
    found = Start()
    for row in rows:
        found.definitions.append(_unchanged(row))
        found.rows.append(row)
        inner = f"{row.qualified_name}."
        for each in lookup.outline(row.path):
            if each.qualified_name.startswith(inner):
                found.rows.append(each)
                found.quiet.add((each.path, each.qualified_name))
    return found


def answer_from(
    start: Start,
    wanted: ImpactRequest,
    lookup: Lookup,
    *,
    coverage: Coverage,
    notes: Sequence[str],
) -> ImpactAnswer:
    """Return what depends on a change.

    Args:
        start: What changes.
        wanted: The request.
        lookup: Definitions and uses.
        coverage: Of the branch.
        notes: On the branch.
    """
    rows = list({(row.path, row.qualified_name): row for row in start.rows}.values())
    walk = Dependents(lookup)
    found = walk.reach(
        rows[:_MOST_START],
        wanted.depth,
        test_depth=wanted.test_depth,
        quiet=frozenset(start.quiet),
    )
    if wanted.name is not None and not rows and wanted.name.isidentifier():
        found = walk.by_name(wanted.name)
    surely = {each.path for each in found if each.certainty is not Certainty.NAME}
    for path in start.files:
        if not is_test(path):
            importing = [each for each in walk.importing_tests(path) if each.path not in surely]
            surely.update(each.path for each in importing)
            found += importing
    found.sort(key=_order)
    files = _files_of(start, [each for each in found if each.is_test])
    others = [each for each in found if not each.is_test]
    tests = [each for each in found if each.is_test]
    # Without any test, what may run by itself (a fixture for all tests) stays.
    tests = [each for each in tests if _is_run(each, lookup)] or tests
    found = others + tests
    told = [*notes, *start.notes, *lookup.notes, *_unnamed(tests, lookup)]
    if walk.is_cut or len(rows) > _MOST_START:
        told.append(
            f"only the first {count(len(found), 'dependent')} were looked for: ask for a part of"
            " it, or a smaller depth"
        )
    is_short = max(len(others), len(tests), len(start.definitions)) > wanted.limit
    is_cut = walk.is_cut or lookup.is_cut or start.is_cut or len(rows) > _MOST_START
    return ImpactAnswer(
        name=wanted.name,
        path=wanted.path,
        definitions=tuple(start.definitions[: wanted.limit]),
        dependents=tuple(others[: wanted.limit]),
        tests=tuple(tests[: wanted.limit]),
        test_files=files,
        total=len(found),
        total_tests=len(tests),
        files=len({each.path for each in found}),
        depths={
            str(depth): many for depth, many in sorted(Counter(e.depth for e in found).items())
        },
        certainties=dict(Counter(each.certainty.value for each in found)),
        truncated=is_short or is_cut,
        coverage=coverage,
        notes=tuple(told),
    )


def _language_of(path: str, lookup: Lookup) -> str:
    source = lookup.source(path)
    return source.language if source else ""


def _is_run(each: Dependent, lookup: Lookup) -> bool:
    """Return whether a test runner runs a dependent in a test file, and not only its callers.

    It runs tests and what prepares them, as ``setUp`` does. Where names do not tell, all in test
    files is taken for tests.
    """
    language = _language_of(each.path, lookup)
    if each.is_titled or each.via == each.via_path:  # that is a file, which the test imports
        return True
    if language in LANGUAGES_OF_BLOCKS:
        return each.name == each.path  # code outside of functions
    named = _TEST_NAMES.get(language)
    return named is None or named.match(each.name.rpartition(".")[2]) is not None


def _unnamed(tests: Sequence[Dependent], lookup: Lookup) -> list[str]:
    """Return a note on the languages whose tests are not known by their names."""
    languages = {_language_of(each.path, lookup) for each in tests}
    others = sorted(languages - _TEST_NAMES.keys() - LANGUAGES_OF_BLOCKS - {""})
    if not others:
        return []
    return [f"each definition in a test file counts as a test in {', '.join(others)}"]


def _files_of(start: Start, tests: Sequence[Dependent]) -> tuple[str, ...]:
    """Return the files to run, the likeliest to break first.

    These are changed tests, then those with the nearest, then the surest, then the most tests.
    """
    changed = [
        each.path
        for each in start.definitions
        if each.change not in (None, Change.DELETED) and is_test(each.path)
    ]
    nearest: dict[str, Dependent] = {}
    for each in tests:  # in their order
        nearest.setdefault(each.path, each)
    numbers = Counter(each.path for each in tests if each.depth == nearest[each.path].depth)

    def order(path: str) -> tuple[int, int, int, str]:
        first = nearest[path]
        return first.depth, RANK[first.certainty], -numbers[path], path

    paths = dict.fromkeys([*changed, *sorted(nearest, key=order)])
    return tuple(
        path for path in paths if os.path.splitext(os.path.basename(path))[0] not in _NO_TESTS
    )


def _order(each: Dependent) -> tuple[int, int, str, int, str]:
    return each.depth, RANK[each.certainty], each.path, each.line, each.name


def _unchanged(row: SymbolRow) -> ChangedDefinition:
    return ChangedDefinition(
        name=row.qualified_name, path=row.path, line=row.line_start, kind=row.kind
    )
