"""The graph of imports between the files or folders of a branch, and its cycles."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.cancellation import CancelToken
from engine.errors import Cancelled
from engine.reference_records import ExternalModule, ImportCycle, ImportEdge, ImportsRequest
from engine.references.components import cycles_of
from engine.references.import_statements import declared_in, has_imports
from engine.references.import_targets import Import, Targets, imports_in, is_manifest, node_of
from engine.search.selection import path_passes
from engine.store import references
from engine.store.compression import unpack_marks, unpack_text
from engine.store.connection import Handle
from engine.syntax.references import Marks

_MOST_SECONDS = 60
_MOST_EXTERNAL = 10  # unless all are asked for
_MOST_IN_CYCLE = 100  # edges that are shown
_POLLED = 200  # files between two looks at the clock


class FoundImports(NamedTuple):
    """What was found on a branch, all of it."""

    edges: list[ImportEdge]
    cycles: list[ImportCycle]
    imports: int
    external: list[ExternalModule]
    external_imports: int
    missing: int
    is_whole: bool  # all texts were read in time


class _Read(NamedTuple):
    """What the texts of a branch say."""

    files: list[tuple[str, int, str]]  # path, blob, language
    statements: dict[int, list[Import]]  # by blob
    targets: Targets
    is_whole: bool


class _Sum:
    """The statements that make an edge."""

    def __init__(self) -> None:
        self.imports = 0
        self.parts = 0  # of them that only declare a part of a module
        self.deferred = 0
        self.path = ""
        self.line = 0

    def add(self, path: str, statement: Import) -> None:
        """Add a statement."""
        if not self.imports:
            self.path, self.line = path, statement.line
        self.imports += 1
        self.parts += statement.is_part
        self.deferred += statement.is_deferred

    def edge(self, source: str, target: str) -> ImportEdge:
        """Return the edge."""
        return ImportEdge(
            source=source,
            target=target,
            imports=self.imports,
            path=self.path,
            line=self.line,
            deferred=self.deferred == self.imports,
        )


def find_imports(
    handle: Handle, branch_id: int, wanted: ImportsRequest, cancelled: CancelToken
) -> FoundImports:
    """Return the imports of a branch.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        wanted: Which.
        cancelled: Polled every few files.

    Raises:
        Cancelled: ``cancelled`` returned true.
        InvalidInputError: The glob is invalid.
    """
    passes = path_passes(handle, wanted.path)
    read = _read(handle, branch_id, cancelled)
    sums: dict[tuple[str, str], _Sum] = {}
    external: Counter[str] = Counter()
    imports = missing = 0
    name = _files_name if wanted.files else _folder_name(wanted.depth)
    for path, blob_id, language in read.files:
        is_from = passes is None or passes(path, language)
        source = name(node_of(path, language))
        for statement in read.statements.get(blob_id, ()):
            target = read.targets.of(path, language, statement)
            paths = [
                each for each in target.paths if is_from or (passes and passes(each, language))
            ]
            imports += bool(paths)
            if is_from:
                missing += target.is_missing
                if target.outside:
                    external[target.outside] += 1
            for each in dict.fromkeys(map(name, paths)):
                if each != source:
                    sums.setdefault((source, each), _Sum()).add(path, statement)
    edges = [found.edge(*ends) for ends, found in sums.items()]
    edges.sort(key=lambda each: (each.source, -each.imports, each.target))
    listed = external.most_common(None if wanted.external else _MOST_EXTERNAL)
    return FoundImports(
        edges,
        list(_cycles(sums)),
        imports,
        [ExternalModule(name=name, imports=number) for name, number in listed],
        external.total(),
        missing,
        read.is_whole,
    )


def _read(handle: Handle, branch_id: int, cancelled: CancelToken) -> _Read:
    """Read the statements of all texts, and what files say of their own names."""
    files = references.read_file_languages(handle, branch_id)
    paths_of: dict[int, list[str]] = {}
    for path, blob_id, _ in files:
        paths_of.setdefault(blob_id, []).append(path)
    statements: dict[int, list[Import]] = {}
    declared: dict[tuple[str, str], list[str]] = {}
    manifests: dict[str, bytes] = {}
    ends_at = time.monotonic() + _MOST_SECONDS
    is_whole = True
    for number, row in enumerate(references.iterate_texts(handle, branch_id)):
        if number % _POLLED == 0:
            if cancelled():
                raise Cancelled("reading imports was stopped")
            if time.monotonic() > ends_at:
                is_whole = False
                break
        if is_manifest(row.path):
            text = unpack_text(row.packed_text)
            manifests |= dict.fromkeys(paths_of[row.blob_id], text)
        elif has_imports(row.language):
            text = unpack_text(row.packed_text)
            marks = Marks(() if row.packed_marks is None else unpack_marks(row.packed_marks))
            statements[row.blob_id] = imports_in(text, row.language, marks)
            for name in declared_in(text, row.language):
                declared.setdefault((row.language, name), []).extend(paths_of[row.blob_id])
    languages = {path: language for path, _, language in files}
    return _Read(files, statements, Targets(languages, declared, manifests), is_whole)


def _files_name(node: str) -> str:
    return node


def _folder_name(depth: int | None) -> Callable[[str], str]:
    """Return what names the folder of a file, down to a depth; the root is a dot."""

    def name(node: str) -> str:
        folder = os.path.dirname(node)
        if depth is not None:
            folder = "/".join(folder.split("/")[:depth])
        return folder.removeprefix("./").rstrip(".") or "."

    return name


def _cycles(sums: dict[tuple[str, str], _Sum]) -> Iterator[ImportCycle]:
    """Yield the cycles, the largest first; ``mod x;`` of Rust imports nothing yet."""
    real = {ends: found for ends, found in sums.items() if found.imports > found.parts}
    loaded = [ends for ends, found in real.items() if found.imports > found.deferred]
    at_load = {member for members in cycles_of(_graph(loaded)) for member in members}
    for members in cycles_of(_graph(real)):
        inside = set(members)
        edges = [found.edge(*ends) for ends, found in real.items() if inside.issuperset(ends)]
        edges.sort(key=lambda each: (each.imports, each.source, each.target))
        yield ImportCycle(
            members=tuple(members),
            edges=tuple(edges[:_MOST_IN_CYCLE]),
            deferred=inside.isdisjoint(at_load),
        )


def _graph(pairs: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    graph: dict[str, list[str]] = {}
    for source, target in pairs:
        graph.setdefault(source, []).append(target)
    return dict(graph)
