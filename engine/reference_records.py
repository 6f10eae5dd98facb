"""Records of references: where a name is used, and which definition each use means."""

from enum import StrEnum
from typing import Annotated

from engine.parameters import Parameter
from engine.record_class import record
from engine.records import WHEN_ANY, Coverage
from engine.search_records import MAX_NAME_CHARS, MAX_QUERY_CHARS, SymbolHit

MAX_REFERENCES = 1000  # of an answer
MAX_DEPTH = 5  # of callers of callers
_NAME = "a name, Class.method, module.function, or a place: path:line or path:line:column"


class Use(StrEnum):
    """What a place does with a name."""

    DEFINITION = "definition"
    INHERIT = "inherit"  # extends or implements it
    IMPORT = "import"
    CALL = "call"  # calls or constructs it, or decorates with it
    TYPE = "type"
    USE = "use"  # reads or writes it, or passes it on
    TEXT = "text"  # an occurrence in a language whose references are not read


class Certainty(StrEnum):
    """How certain it is that a place means a definition."""

    EXACT = "exact"  # by the scope, the import or the receiver that stands in the text
    LIKELY = "likely"  # by an inferred type, or because nothing else has the name
    NAME = "name"  # by its name alone


class Direction(StrEnum):
    """Which way to follow calls, or bases of types."""

    CALLERS = "callers"
    CALLEES = "callees"
    IMPLEMENTATIONS = "implementations"  # subtypes too; of a method those that override it
    BASES = "bases"  # of a method those that it overrides


@record
class ReferenceRequest:
    """A name whose uses are looked for."""

    name: Annotated[
        str,
        Parameter(_NAME, brief="Name, Class.method or path:line", max_length=MAX_NAME_CHARS),
    ]
    use: Annotated[Use | None, Parameter("only this use", example="call")] = None
    path: Annotated[str | None, Parameter("only in files below this folder, or of this glob")] = (
        None
    )
    limit: Annotated[
        int, Parameter("maximum number of references", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@record
class CallRequest:
    """A function whose callers or callees are looked for."""

    name: Annotated[
        str,
        Parameter(_NAME, brief="Name, Class.method or path:line", max_length=MAX_NAME_CHARS),
    ]
    depth: Annotated[
        int,
        Parameter("1: direct ones only; 2: those of these too; …", minimum=1, maximum=MAX_DEPTH),
    ] = 1
    limit: Annotated[
        int, Parameter("maximum number of functions", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@record
class InheritanceRequest:
    """A type or method whose implementations or bases are looked for."""

    name: Annotated[
        str,
        Parameter(
            "a type, or Class.method", brief="Type or Class.method", max_length=MAX_NAME_CHARS
        ),
    ]
    depth: Annotated[
        int,
        Parameter("1: direct ones only; 2: those of these too; …", minimum=1, maximum=MAX_DEPTH),
    ] = MAX_DEPTH
    limit: Annotated[
        int, Parameter("maximum number of definitions", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@record
class UnusedRequest:
    """Which definitions that nothing uses are looked for."""

    path: Annotated[str | None, Parameter("only in files below this folder, or of this glob")] = (
        None
    )
    kind: Annotated[
        str | None,
        Parameter("only this kind, such as function; fields are looked for by their kind alone"),
    ] = None
    exported: Annotated[bool, Parameter("list those too that code elsewhere can use")] = False
    limit: Annotated[
        int, Parameter("maximum number of definitions", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@record
class ImportsRequest:
    """Which imports between folders or files are looked for."""

    path: Annotated[
        str | None, Parameter("only imports from or of files below this folder, or of this glob")
    ] = None
    depth: Annotated[
        int | None,
        Parameter("join folders below this many levels; else each is one", minimum=1, maximum=20),
    ] = None
    files: Annotated[bool, Parameter("imports between files, not folders")] = False
    external: Annotated[bool, Parameter("list all modules of other projects, not the first 10")] = (
        False
    )
    limit: Annotated[
        int,
        Parameter("maximum number of imports, and of cycles", minimum=1, maximum=MAX_REFERENCES),
    ] = 200


@record
class Reference:
    """A place where a name is defined or used."""

    path: str
    line: int
    column: Annotated[int, "number of characters before it in the line, plus 1"]
    use: Use
    certainty: Certainty
    symbol: Annotated[str | None, "qualified name of the definition around it"]
    text: Annotated[str, "the line, without indentation"]
    is_test: bool
    target: Annotated[str | None, WHEN_ANY, "qualified name of the definition that it means"] = None
    target_place: Annotated[str | None, WHEN_ANY, "path:line of that definition"] = None


@record
class Definition:
    """A definition that a name at a place can mean."""

    symbol: SymbolHit
    certainty: Certainty


@record
class ReferenceAnswer:
    """The uses of a name: the most certain first, then by path and line."""

    name: str
    definitions: Annotated[tuple[SymbolHit, ...], "that the name can mean"]
    references: tuple[Reference, ...]
    total: Annotated[int, "references found; a lower bound when files were left out"]
    uses: Annotated[dict[str, int], "how many of each use"]
    certainties: Annotated[dict[str, int], "how many of each certainty"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@record
class CallEdge:
    """A function that calls or is called, or a type or method that implements or is a base."""

    name: Annotated[str, "qualified name; of code outside of functions the path"]
    path: str
    line: Annotated[int, "of the definition"]
    depth: Annotated[int, "1 for a direct one"]
    certainty: Annotated[Certainty, "of the least certain step on the way"]
    via: Annotated[str, "qualified name of the one nearer to the asked one"]
    via_path: Annotated[str, "its file"]
    call_path: str
    call_lines: Annotated[
        tuple[int, ...], "in call_path: of the calls, or where the base is named or implemented"
    ]
    is_test: bool


@record
class CallAnswer:
    """What is found in one direction from a name: by depth, then the most certain first."""

    name: str
    direction: Direction
    definitions: tuple[SymbolHit, ...]
    edges: tuple[CallEdge, ...]
    total: Annotated[int, "of all found; a lower bound when truncated"]
    certainties: Annotated[dict[str, int], "how many of each certainty"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@record
class Relations:
    """The names that a definition refers to, of those that the project defines."""

    symbol: Annotated[str, "qualified name"]
    line: int
    calls: tuple[str, ...]
    extends: tuple[str, ...]
    types: tuple[str, ...]


@record
class MapRequest:
    """What a map of the code is about."""

    query: Annotated[
        str | None,
        Parameter(
            "what the reader is looking for: what answers it, and what that uses, comes first",
            brief="what you are working on",
            max_length=MAX_QUERY_CHARS,
        ),
    ] = None
    path: Annotated[
        str | None,
        Parameter(
            "a file, a folder or a glob: its definitions, and those that it uses, come first",
            brief="file or folder to start from",
        ),
    ] = None
    limit: Annotated[
        int, Parameter("maximum number of definitions", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@record
class MappedSymbol:
    """A definition of a map."""

    path: str
    line: int
    name: Annotated[str, "qualified name"]
    kind: str
    signature: str
    rank: Annotated[float, "share of the attention of a reader who follows references"]
    users: Annotated[int, "other files that refer to its name"]


@record
class MapAnswer:
    """The most central definitions of a project, by rank."""

    symbols: tuple[MappedSymbol, ...]
    total: Annotated[int, "definitions that could be shown"]
    files: Annotated[int, "files that were looked at"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@record
class UsesRequest:
    """Which uses of a definition are looked for."""

    use: Use | None = None
    in_tests: bool = False  # only those in tests
    limit: int = 100
    offset: int = 0


@record
class FoundUses:
    """Uses that can mean a definition, by place: tests after code, those by name alone last."""

    references: tuple[Reference, ...]
    total: int  # that pass the request; a lower bound when truncated
    uses: dict[str, int]  # how many of each use, whatever was asked for
    in_tests: int  # how many of all are in tests
    by_name: int  # how many of all are found by name alone
    truncated: bool  # files were left out
    coverage: Coverage
    notes: tuple[str, ...] = ()


@record
class NameAtPlace:
    """The name at a place of a file: what it means, and who uses that."""

    name: str
    line: int
    column: int  # of its first character, counted from 1
    use: Use
    definitions: tuple[Definition, ...]  # the likeliest first
    found: FoundUses


@record
class SymbolBrief:
    """A definition without what is around it."""

    symbol: SymbolHit
    overloads: tuple[SymbolHit, ...]  # other definitions of its qualified name
    is_common: bool  # its name stands in so many places that what is around it takes a while


@record
class SymbolRelations:
    """A definition with what is around it."""

    symbol: SymbolHit
    callers: CallAnswer
    callees: CallAnswer
    implementations: CallAnswer  # subtypes too; of a method those that override it
    bases: CallAnswer  # of a method those that it overrides
    found: FoundUses


class Change(StrEnum):
    """How a definition differs from the last commit."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@record
class ImpactRequest:
    """What may change: one of a name, a file and the uncommitted changes."""

    name: Annotated[
        str | None,
        Parameter(_NAME, brief="Name, Class.method or path:line", max_length=MAX_NAME_CHARS),
    ] = None
    path: Annotated[str | None, Parameter("all definitions of this file")] = None
    changed: Annotated[bool, Parameter("what differs from the last commit, staged or not")] = False
    depth: Annotated[
        int,
        Parameter(
            "1: direct dependents only; 2: those of these too; … (of tests: test_depth)",
            minimum=1,
            maximum=MAX_DEPTH,
        ),
    ] = 3
    test_depth: Annotated[
        int,
        Parameter("the same for tests: 1: only those that use it", minimum=1, maximum=MAX_DEPTH),
    ] = MAX_DEPTH
    limit: Annotated[
        int,
        Parameter("maximum number of dependents, and of tests", minimum=1, maximum=MAX_REFERENCES),
    ] = 100


@record
class ChangedDefinition:
    """A definition that changes, or may."""

    name: Annotated[str, "qualified name; of code outside of definitions the path"]
    path: str
    line: Annotated[int, "of a deleted one in the last commit"]
    kind: str
    change: Annotated[Change | None, WHEN_ANY, "how it differs from the last commit"] = None


@record
class Dependent:
    """A definition that uses what changes, directly or through others."""

    name: Annotated[str, "qualified name; of a test without one its titles; of other code the path"]
    path: str
    line: Annotated[int, "of the definition or test; of other code that of the first use"]
    depth: Annotated[int, "1 for a direct dependent"]
    certainty: Annotated[Certainty, "of the least certain use on the way"]
    use: Annotated[Use, "what it does with via; import without a name: of its file"]
    via: Annotated[str, "qualified name of the definition that it uses"]
    via_path: Annotated[str, "its file"]
    lines: Annotated[tuple[int, ...], "of the uses, in path"]
    is_test: bool
    is_titled: Annotated[bool, "whether name has the titles of a test, such as `it`"] = False


@record
class ImpactAnswer:
    """What depends on a change: by depth, then the most certain first; tests apart."""

    name: Annotated[str | None, WHEN_ANY, "the name that was asked for"] = None
    path: Annotated[str | None, WHEN_ANY, "the file that was asked for"] = None
    definitions: Annotated[tuple[ChangedDefinition, ...], "what changes, or may"]
    dependents: Annotated[tuple[Dependent, ...], "outside of tests"]
    tests: Annotated[tuple[Dependent, ...], "that reach what changes"]
    test_files: Annotated[
        tuple[str, ...], "changed ones, then those with such tests, the nearest first"
    ]
    total: Annotated[int, "dependents and tests found; a lower bound when truncated"]
    total_tests: Annotated[int, "tests among these"]
    files: Annotated[int, "in which they are"]
    depths: Annotated[dict[str, int], "how many at each depth"]
    certainties: Annotated[dict[str, int], "how many of each certainty"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@record
class UnusedDefinition:
    """A definition whose name stands nowhere else in the code of the project."""

    name: Annotated[str, "qualified name"]
    kind: str
    path: str
    line_start: int
    line_end: int
    signature: str
    exported: Annotated[bool, "whether code outside of the project can use it"]
    certainty: Annotated[Certainty, "likely; name if it is exported, or a literal may name it"]
    named_in: Annotated[
        str | None, WHEN_ANY, "a file in which a literal or a setting may name it"
    ] = None


@record
class UnusedAnswer:
    """Definitions that nothing uses: the most certain first, then by place."""

    definitions: tuple[UnusedDefinition, ...]
    total: Annotated[int, "of those that were asked for"]
    exported: Annotated[int, "how many more there are that are exported"]
    left_out: Annotated[
        dict[str, int], "how many have no other use of their name, but callers outside of the code"
    ]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@record
class ImportEdge:
    """The imports of one folder or file by another."""

    source: Annotated[str, "folder, or file; with a slash at its end it is a folder"]
    target: str
    imports: Annotated[int, "how many statements"]
    path: Annotated[str, "the file of the first one"]
    line: int
    deferred: Annotated[bool, "whether none of them runs when its file is loaded"]


@record
class ImportCycle:
    """Folders or files that import each other, directly or through others."""

    members: tuple[str, ...]
    edges: Annotated[tuple[ImportEdge, ...], "between them, those with the fewest imports first"]
    deferred: Annotated[bool, "whether it is no cycle when files are loaded"]


@record
class ExternalModule:
    """A module of another project that is imported."""

    name: str
    imports: int


@record
class ImportGraph:
    """Which folders or files import which, and their cycles."""

    edges: Annotated[tuple[ImportEdge, ...], "by source, then those with the most imports first"]
    total: Annotated[int, "of edges"]
    cycles: Annotated[tuple[ImportCycle, ...], "the largest first"]
    total_cycles: int
    imports: Annotated[int, "statements that import files of the project"]
    external: Annotated[tuple[ExternalModule, ...], "the most imported first"]
    external_imports: Annotated[int, "statements that import modules of other projects"]
    missing: Annotated[int, "statements that name files which the project does not have"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()
