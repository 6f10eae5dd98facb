"""The frozen records of an index's contents, page by page. Times are ISO 8601, UTC."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Final, NamedTuple

from engine.parameters import Parameter
from engine.record_class import record
from engine.search_records import MAX_NAME_CHARS, MAX_SYMBOLS

MIN_MAPPED_FILES: Final = 3  # with vectors; fewer have no shape that a map could show


@record
class ListRequest:
    """A page of the list of files or skips."""

    folder: str = ""  # only what is below it, from the root; empty for all
    limit: int = 100  # 1 to 1,000
    cursor: str | None = None  # of the page before


@record
class FileSummary:
    """An indexed file in short."""

    path: str
    language: str
    size_bytes: Annotated[int, "of the file"]
    lines: int
    symbols: int
    generated: bool
    updated_at: str  # when the indexed contents last changed


@record
class SkipSummary:
    """A file or folder that is not indexed, and why."""

    path: str
    reason: str  # a ``SkipReason``
    detail: str
    advice: Annotated[str, "what to do about it"]
    folder: Annotated[bool, "whether it stands for everything below it"]
    size_bytes: int | None


@record
class FilePage:
    """Some files of a branch, by path."""

    branch: str
    files: tuple[FileSummary, ...]
    total: Annotated[int, "on all pages"]
    next_cursor: str | None


@record
class SkipPage:
    """Some files and folders of a branch that are not indexed, by path."""

    branch: str
    skips: tuple[SkipSummary, ...]
    total: Annotated[int, "on all pages"]
    next_cursor: str | None


@record
class FileContent:
    """The text of a file as it was indexed: secrets redacted, notebooks as their cells."""

    project: Annotated[str, "the root"]
    path: str
    branch: str
    language: str
    text: str
    lines: int
    size_bytes: Annotated[int, "of the text in UTF-8"]
    sha256: Annotated[str, "hash of the file when it was read"]
    redactions: Annotated[int, "number of redacted secrets"]
    generated: bool
    licence: Annotated[str | None, "an SPDX expression"]
    updated_at: str


@record
class BranchSummary:
    """A branch that is indexed."""

    name: str  # empty outside of git
    files: int
    is_here: bool  # the one that a query without a branch searches


@record
class FilterValue:
    """A value that a filter of a query can take."""

    value: str
    number: int | None = None  # of files, or of symbols, that have it; None: not counted


@record
class NamedPlace:
    """A symbol or file whose name begins with the typed text."""

    path: str
    name: str  # of a symbol, with its containers; empty for a file
    kind: str  # of the symbol; the language of a file
    line: int  # where the symbol starts; 1 for a file


@record
class FolderShare:
    """The indexed share of a folder with everything below it."""

    path: str  # from the root; empty for the root
    name: str  # relative to the parent folder: ``src/main`` if ``src`` holds nothing else
    files: int  # that are indexed
    size_bytes: int  # of these
    skipped: int  # files that are not; a folder that is left out as a whole counts as one
    folders: tuple["FolderShare", ...]  # in it, the largest first; none on the last level

    @property
    def share(self) -> float:
        """The share of its files that are indexed; 1 for an empty folder."""
        found = self.files + self.skipped
        return self.files / found if found else 1.0


@record
class FileSize:
    """An indexed file and its size."""

    path: str
    size_bytes: int


@record
class FolderView:
    """A folder, what is in it, and the largest files that are directly in it."""

    branch: str
    folder: FolderShare
    files: tuple[FileSize, ...]  # the largest first


@record
class FilePoint:
    """The position of a file on the map of meaning."""

    path: str
    language: str
    x: float  # 0 to 1, from the left
    y: float  # 0 to 1, from the top


@record
class MeaningMap:
    """Files laid out by meaning: similar ones lie close together."""

    branch: str
    model: str | None  # None: there are no vectors
    points: tuple[FilePoint, ...]  # by path
    files: int  # that have vectors; of very many, only some are points
    fidelity: float  # how much of the differences between files the two axes show, 0 to 1


@record
class IndexFile:
    """The database file of an index, and its last check."""

    path: str
    size_bytes: int  # with its WAL
    schema_version: int
    fingerprint: str
    model: str | None
    dimension: int | None  # numbers in a vector
    checked_at: str | None  # the last complete check; None: never, long ago, or before a rebuild
    was_sound: bool  # at that check


@record
class FolderEntry:
    """A folder or file that lies directly in a folder."""

    name: str
    path: str
    is_folder: bool
    files: int  # indexed: below a folder, 1 for a file
    skipped: int  # skipped: below a folder, and itself
    size_bytes: int | None  # of the indexed files, or of a skipped one; None: unknown
    changed_at: str | None  # on the disk, the latest of its files; None: nothing is indexed
    language: str | None  # of an indexed file, as are lines and symbols
    lines: int | None
    symbols: int | None
    reason: str | None  # a ``SkipReason``, when it is skipped itself
    detail: str
    advice: str  # what to do about it


@record
class FolderPage:
    """A page of the entries of a folder: folders first, each kind by the bytes of its names."""

    branch: str
    path: str
    entries: tuple[FolderEntry, ...]
    total: int  # on all pages
    updated_at: str | None  # when the branch was last indexed


class FolderName(NamedTuple):
    """An entry of a folder in a file tree."""

    name: str  # with slashes for a chain of folders that hold nothing else
    path: str
    is_folder: bool


class FoundPath(NamedTuple):
    """A path that matches typed letters; tier, cost and length order those of several projects."""

    path: str
    tier: int  # the quality of the match, 0: the name itself … 5: nothing was typed
    cost: int
    marks: tuple[tuple[int, int], ...]  # the matched spans, half-open, in characters


@record
class PathExplanation:
    """Why a path is found or not; ``cairn why PATH``."""

    path: str
    outcome: Annotated[str, "indexed, skipped, not_seen, missing or folder"]
    reason: str | None  # a SkipReason when skipped
    detail: Annotated[str, "in words, with what to do"]
    rule_path: Annotated[str | None, "the skipped folder that stands for it"]
    fresh: bool | None
    facts: dict[str, object] = field(default_factory=dict)  # size, language, chunks, symbols, …


@record
class SymbolListRequest:
    """A filter of the list of symbols; all conditions must hold."""

    name: Annotated[
        str,
        Parameter(
            "start of the name, or any part of it from three characters", max_length=MAX_NAME_CHARS
        ),
    ] = ""
    kind: Annotated[str | None, Parameter("e.g. function or type")] = None
    language: Annotated[str | None, Parameter("e.g. python or py")] = None
    path: Annotated[str, Parameter("part of the path, or a glob", max_length=MAX_NAME_CHARS)] = ""
    limit: Annotated[int, Parameter("maximum number per page", minimum=1, maximum=MAX_SYMBOLS)] = (
        100
    )
    cursor: Annotated[str | None, Parameter("`next_cursor` of the previous page")] = None


@record
class ListedSymbol:
    """A definition."""

    path: str
    name: str
    scope: Annotated[str, "the enclosing definition; empty at top level"]
    kind: str
    signature: str
    language: str
    line_start: int
    line_end: int
    exported: bool


@record
class SymbolPage:
    """Some symbols of a branch, by name; those that begin with the requested name come first."""

    branch: str
    symbols: tuple[ListedSymbol, ...]
    total: Annotated[int, "on all pages"]
    kinds: Annotated[Mapping[str, int], "number of each kind, whatever kind is asked for"]
    languages: Annotated[Mapping[str, int], "number in each language, likewise"]
    next_cursor: str | None
    complete: Annotated[bool, "whether the last run over the branch came to its end"]
