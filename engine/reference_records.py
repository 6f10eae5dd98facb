"""Records of references: where a name is used, and which definition each use means."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from engine.parameters import Parameter
from engine.records import MAX_NAME_CHARS, WHEN_ANY, Coverage, SymbolHit

MAX_REFERENCES = 1000  # of an answer
MAX_DEPTH = 5  # of callers of callers


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
    """Which way to follow calls."""

    CALLERS = "callers"
    CALLEES = "callees"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRequest:
    """A name whose uses are looked for."""

    name: Annotated[
        str,
        Parameter(
            "a name, or Class.method", brief="Name or Class.method", max_length=MAX_NAME_CHARS
        ),
    ]
    use: Annotated[Use | None, Parameter("only this use", example="call")] = None
    path: Annotated[str | None, Parameter("only in files below this folder, or of this glob")] = (
        None
    )
    limit: Annotated[
        int, Parameter("maximum number of references", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A function whose callers or callees are looked for."""

    name: Annotated[
        str,
        Parameter(
            "a name, or Class.method", brief="Name or Class.method", max_length=MAX_NAME_CHARS
        ),
    ]
    depth: Annotated[
        int,
        Parameter("1: direct ones only; 2: those of these too; …", minimum=1, maximum=MAX_DEPTH),
    ] = 1
    limit: Annotated[
        int, Parameter("maximum number of functions", minimum=1, maximum=MAX_REFERENCES)
    ] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition that a name at a place can mean."""

    symbol: SymbolHit
    certainty: Certainty


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEdge:
    """A function that calls, or is called."""

    name: Annotated[str, "qualified name; of code outside of functions the path"]
    path: str
    line: Annotated[int, "of the definition"]
    depth: Annotated[int, "1 for a direct caller or callee"]
    certainty: Annotated[Certainty, "of the least certain call on the way"]
    via: Annotated[str, "qualified name of the function nearer to the asked one"]
    via_path: Annotated[str, "its file"]
    call_path: str
    call_lines: Annotated[tuple[int, ...], "of the calls, in call_path"]
    is_test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """Callers or callees of a function: by depth, then the most certain first."""

    name: str
    direction: Direction
    definitions: tuple[SymbolHit, ...]
    edges: tuple[CallEdge, ...]
    total: Annotated[int, "functions found; a lower bound when truncated"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


class Change(StrEnum):
    """How a definition differs from the last commit."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRequest:
    """What may change: one of a name, a file and the uncommitted changes."""

    name: Annotated[
        str | None,
        Parameter(
            "a name, or Class.method", brief="Name or Class.method", max_length=MAX_NAME_CHARS
        ),
    ] = None
    path: Annotated[str | None, Parameter("all definitions of this file")] = None
    changed: Annotated[bool, Parameter("what differs from the last commit, staged or not")] = False
    depth: Annotated[
        int,
        Parameter(
            "1: direct dependents only; 2: those of these too; … (tests: always all)",
            minimum=1,
            maximum=MAX_DEPTH,
        ),
    ] = 3
    limit: Annotated[
        int,
        Parameter("maximum number of dependents, and of tests", minimum=1, maximum=MAX_REFERENCES),
    ] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDefinition:
    """A definition that changes, or may."""

    name: Annotated[str, "qualified name; of code outside of definitions the path"]
    path: str
    line: Annotated[int, "of a deleted one in the last commit"]
    kind: str
    change: Annotated[Change | None, WHEN_ANY, "how it differs from the last commit"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A definition that uses what changes, directly or through others."""

    name: Annotated[str, "qualified name; of code outside of definitions the path"]
    path: str
    line: Annotated[int, "of the definition; of code outside of one that of the first use"]
    depth: Annotated[int, "1 for a direct dependent"]
    certainty: Annotated[Certainty, "of the least certain use on the way"]
    use: Annotated[Use, "what it does with via; import without a name: of its file"]
    via: Annotated[str, "qualified name of the definition that it uses"]
    via_path: Annotated[str, "its file"]
    lines: Annotated[tuple[int, ...], "of the uses, in path"]
    is_test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
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
