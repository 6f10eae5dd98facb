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
    """Which way to follow calls, or bases of types."""

    CALLERS = "callers"
    CALLEES = "callees"
    IMPLEMENTATIONS = "implementations"  # subtypes too; of a method those that override it
    BASES = "bases"  # of a method those that it overrides


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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What is found in one direction from a name: by depth, then the most certain first."""

    name: str
    direction: Direction
    definitions: tuple[SymbolHit, ...]
    edges: tuple[CallEdge, ...]
    total: Annotated[int, "of all found; a lower bound when truncated"]
    truncated: bool
    coverage: Coverage
    notes: Annotated[tuple[str, ...], WHEN_ANY] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportEdge:
    """The imports of one folder or file by another."""

    source: Annotated[str, "folder, or file; with a slash at its end it is a folder"]
    target: str
    imports: Annotated[int, "how many statements"]
    path: Annotated[str, "the file of the first one"]
    line: int
    deferred: Annotated[bool, "whether none of them runs when its file is loaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCycle:
    """Folders or files that import each other, directly or through others."""

    members: tuple[str, ...]
    edges: Annotated[tuple[ImportEdge, ...], "between them, those with the fewest imports first"]
    deferred: Annotated[bool, "whether it is no cycle when files are loaded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalModule:
    """A module of another project that is imported."""

    name: str
    imports: int


@dataclass(frozen=True, slots=True, kw_only=True)
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
