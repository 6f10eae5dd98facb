"""Search filters and path ranges as SQL conditions: the only SQL assembled from parts."""

import json
import os
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.store.connection import Handle

_ON_BRANCH = "f.branch_id = :branch_id"
# Of several branches: a file with the same path and contents on an earlier one stands for both.
_ON_BRANCHES = """f.branch_id IN ({ids}) AND NOT EXISTS (SELECT 1 FROM files g
                  WHERE g.branch_id IN ({ids}) AND g.path = f.path AND +g.blob_id = f.blob_id
                    AND CASE g.branch_id {ranks} END < CASE f.branch_id {ranks} END)"""
_NOT_ON_BRANCHES = """NOT EXISTS (SELECT 1 FROM files g
                      WHERE g.blob_id = f.blob_id AND +g.branch_id IN ({ids}))"""
_NOT_REPEATED = "NOT is_repeated_{0}({1}.id)"
# The end of a symbol's qualified name, whole parts only; its last one is looked up.
_QUALIFIED = """(s.folded_name = :{last}
                 AND substr('.' || folded(s.qualified_name), -length(:{whole})) = :{whole})"""
# Conditions on the symbols that start in a chunk, and the one that it is a part of.
_OF_CHUNK = """EXISTS (SELECT 1 FROM symbols s WHERE {} AND (s.id = c.symbol_id OR s.id BETWEEN
               c.first_symbol_id AND c.first_symbol_id + c.symbol_count - 1))"""

#: Sorts after every name in a folder: a name has at most 255 bytes, of any value.
_BEYOND_A_NAME = b"\xff" * 256


#: Of several files ``f`` with the same content the first in this order stands for all.
COPY_ORDER = "f.is_linked, length(f.path), f.path"


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions over files (``f``), chunks (``c``) and symbols (``s``), with their values.

    ``shown_file`` is the id of the file that stands for a blob (of an alias to be filled in): the
    one with the shortest path of those that pass, one behind a link only if there is no other. A
    blob without such a file is not seen.
    """

    file_condition: str
    shown_file: str
    chunk_condition: str
    symbol_condition: str
    values: Mapping[str, object] = field(default_factory=dict)
    branch_condition: str = _ON_BRANCH
    branch_chunks: str = "TRUE"  # the condition that several branches add for chunks
    path_terms: "PathTerms | None" = ()  # as in ``PathRule``
    by_traits: "TraitRule | None" = None  # what files pass, if their traits alone decide

    @property
    def files_key(self) -> Hashable:
        """What files pass in one state of the index depends on; None if that cannot be told."""
        if self.path_terms is None:
            return None
        return self.file_condition, tuple(sorted(self.values.items())), self.path_terms

    @property
    def chooses_files(self) -> bool:
        """Whether a file passes with all of its chunks, or with none."""
        return self.chunk_condition == "TRUE"

    @property
    def is_by_files(self) -> bool:
        """Whether a file passes with all that the searched branches show of it, or with nothing."""
        return self.chunk_condition == self.branch_chunks

    @property
    def is_branch_only(self) -> bool:
        """Whether everything on the searched branches passes."""
        return self.file_condition == self.branch_condition and self.is_by_files


class BranchSet(NamedTuple):
    """Branches to search, by their ids."""

    ids: tuple[int, ...]  # the first that has a file with some path and contents shows it
    refused: tuple[int, ...] = ()  # files with contents that these have too do not pass
    #: Whether ``register_repeated`` says what of other files stands on several of them.
    has_repeated: bool = False

    @property
    def is_one(self) -> bool:
        """Whether one branch is searched, all of it."""
        return len(self.ids) == 1 and not self.refused


#: Name, value and negation of the terms that a function on paths answers.
PathTerms = tuple[tuple[str, str, bool], ...]


class TraitRule(NamedTuple):
    """A rule on what is known of all files of a branch."""

    languages: tuple[frozenset[str], frozenset[str]]  # wanted, if any, and refused
    properties: frozenset[tuple[str, bool]]  # names of properties, and whether files have them


class PathRule(NamedTuple):
    """A rule on the paths that pass."""

    function: str | None = None  # name of an SQL function registered by ``register_path_filter``
    file: str | None = None  # the only one
    #: Endings that a path must have (all of them), and endings it must not have.
    endings: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    #: Whether a tool must have written a file (true), or must not (false).
    generated: frozenset[bool] = frozenset()
    terms: PathTerms | None = None  # all that the function depends on; None: on other things too
    #: The same as properties of files, if it tells nothing but these; else None.
    properties: frozenset[tuple[str, bool]] | None = None


_ALL_PATHS = PathRule()


class IdRule(NamedTuple):
    """Files, chunks and symbols that pass by their ids, or that do not; None says nothing."""

    is_refusal: bool
    files: Collection[int] | None = None
    chunks: Collection[int] | None = None
    symbols: Collection[int] | None = None


def build_filters(
    *,
    branches: BranchSet,
    paths: PathRule = _ALL_PATHS,
    languages: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
    kinds: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
    symbol_names: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
    ids: Sequence[IdRule] = (),
) -> Filters:
    """Put conditions together from constant fragments.

    Args:
        branches: The branches to search.
        paths: Which paths to search.
        languages: Names wanted (any of them; empty means all) and names refused.
        kinds: Symbol kinds wanted and refused; a chunk passes by the symbols that start in it
            and the one that it is a part of.
        symbol_names: Lower-case symbol names wanted and refused, likewise; one with dots may
            be the end of the qualified name.
        ids: Rules that must all hold. A wanted symbol must be the one that has the kind and name.
    """
    values: dict[str, object] = {}
    on_branches = _of_branches(branches, values)
    file_parts = [on_branches, *_of_paths(paths, values)]
    of_blob = "EXISTS (SELECT 1 FROM blobs b WHERE b.id = f.blob_id AND {})"
    if wanted := _members("b.language", "language_wanted", languages[0], values):
        file_parts.append(of_blob.format(wanted))
    if refused := _members("b.language", "language_refused", languages[1], values):
        file_parts.append("NOT " + of_blob.format(refused))
    of_ids = _of_ids(ids, values)
    repeated_chunk = _NOT_REPEATED.format("chunk", "c") if branches.has_repeated else ""
    if branches.has_repeated:
        of_ids.chunks.append(repeated_chunk)
        of_ids.refused_symbols.append(_NOT_REPEATED.format("symbol", "s"))
    file_condition = " AND ".join(file_parts + of_ids.files)
    wanted_symbol, refused_symbol = [], []
    for condition_of, name, (named, unnamed) in (
        (_of_kinds, "kind", kinds),
        (_of_names, "symbol", symbol_names),
    ):
        if condition := condition_of(f"{name}_wanted", named, values):
            wanted_symbol.append(condition)
        if condition := condition_of(f"{name}_refused", unnamed, values):
            refused_symbol.append(condition)
    # One and the same symbol must have the kind and the name that are wanted.
    symbol_parts = [*wanted_symbol, *(f"NOT ({condition})" for condition in refused_symbol)]
    chunk_parts = [f"NOT {_OF_CHUNK.format(condition)}" for condition in refused_symbol]
    if wanted_symbol:
        chunk_parts.append(_OF_CHUNK.format(" AND ".join(wanted_symbol + of_ids.wanted_symbols)))
    symbol_parts += of_ids.wanted_symbols + of_ids.refused_symbols
    chunk_parts += of_ids.chunks
    return Filters(
        file_condition,
        f"""(SELECT f.id FROM files f WHERE f.blob_id = {{}}.blob_id AND {file_condition}
             ORDER BY {COPY_ORDER} LIMIT 1)""",  # noqa: S608 - constant fragments
        " AND ".join(chunk_parts) or "TRUE",
        " AND ".join(symbol_parts) or "TRUE",
        values,
        on_branches,
        repeated_chunk or "TRUE",
        paths.terms if paths.function else (),
        _by_traits(paths, languages, has_more=bool(of_ids.files)),
    )


def _by_traits(
    paths: PathRule, languages: tuple[frozenset[str], frozenset[str]], *, has_more: bool
) -> TraitRule | None:
    has_paths = paths.file is not None or any(paths.endings)
    if has_more or has_paths or (paths.function and paths.properties is None):
        return None
    generated = frozenset(("generated", is_wanted) for is_wanted in paths.generated)
    return TraitRule(languages, (paths.properties or frozenset()) | generated)


def _of_branches(branches: BranchSet, values: dict[str, object]) -> str:
    if len(branches.ids) == 1:
        values["branch_id"] = branches.ids[0]
        condition = _ON_BRANCH
    else:
        keys = [_key(f"branch_{at}", id_, values) for at, id_ in enumerate(branches.ids)]
        ranks = " ".join(f"WHEN {key} THEN {at}" for at, key in enumerate(keys))
        condition = _ON_BRANCHES.format(ids=", ".join(keys), ranks=ranks)
    if branches.refused:
        keys = [_key(f"refused_{at}", id_, values) for at, id_ in enumerate(branches.refused)]
        condition += f" AND {_NOT_ON_BRANCHES.format(ids=', '.join(keys))}"
    return condition


def _key(name: str, value: object, values: dict[str, object]) -> str:
    values[name] = value
    return f":{name}"


class _IdConditions(NamedTuple):
    """Conditions of rules on ids."""

    files: list[str]
    chunks: list[str]
    wanted_symbols: list[str]
    refused_symbols: list[str]


def _of_ids(rules: Sequence[IdRule], values: dict[str, object]) -> _IdConditions:
    """Return the conditions of rules; with a plus, SQLite looks up no ids one by one."""
    conditions = _IdConditions([], [], [], [])
    for number, rule in enumerate(rules):
        of_symbols = conditions.refused_symbols if rule.is_refusal else conditions.wanted_symbols
        for column, name, ids, parts in (
            ("+f.id", "files", rule.files, conditions.files),
            ("+c.id", "chunks", rule.chunks, conditions.chunks),
            ("+s.id", "symbols", rule.symbols, of_symbols),
        ):
            if ids is not None:
                key = f"ids_{name}_{number}"
                values[key] = json.dumps(sorted(ids))
                verdict = "NOT IN" if rule.is_refusal else "IN"
                members = f"(SELECT value FROM json_each(:{key}))"  # noqa: S608 - constants
                parts.append(f"{column} {verdict} {members}")
    return conditions


def _of_paths(paths: PathRule, values: dict[str, object]) -> Iterator[str]:
    if paths.file is not None:
        values["file"] = os.fsencode(paths.file)
        yield "f.path = :file"
    if paths.function:
        language = "(SELECT language FROM blobs WHERE id = f.blob_id)"
        yield f"{paths.function}(f.path, {language})"
    for is_wanted in sorted(paths.generated):
        condition = "(SELECT is_generated FROM blobs WHERE id = f.blob_id)"
        yield condition if is_wanted else f"NOT {condition}"
    wanted, refused = paths.endings
    for name, ends, verdict in (("wanted", wanted, ""), ("refused", refused, "NOT ")):
        for number, ending in enumerate(sorted(ends)):
            key = f"ending_{name}_{number}"
            values[key] = os.fsencode(ending)
            yield f"{verdict}substr(f.path, -length(:{key})) = :{key}"


def register_path_filter(handle: Handle, name: str, accepts: Callable[[str, str], bool]) -> None:
    """Make a Python predicate over (path, language) callable from conditions, under this name.

    Its answers are remembered until the reader that has the handle ends, as is the predicate.
    """
    known: dict[tuple[object, ...], bool] = {}

    def passes(*arguments: object) -> bool:
        answer = known.get(arguments)
        if answer is None:
            path, language = arguments
            assert isinstance(path, bytes)
            answer = known[arguments] = accepts(os.fsdecode(path), str(language))
        return answer

    handle.create_scalar_function(name, passes, 2, deterministic=True)


def register_repeated(handle: Handle, chunks: Set[int], symbols: Set[int]) -> None:
    """Make known which chunks and symbols stand on an earlier or on a refused branch too.

    As a list in a statement they would be read again by each one (2 ms for 20,000). They are kept
    until the reader that has the handle ends.
    """
    for name, ids in (("chunk", chunks), ("symbol", symbols)):
        is_repeated: Callable[..., bool] = ids.__contains__
        handle.create_scalar_function(f"is_repeated_{name}", is_repeated, 1, deterministic=True)


def _of_kinds(name: str, kinds: frozenset[str], values: dict[str, object]) -> str:
    return _members("s.kind", name, kinds, values)


def _of_names(name: str, names: frozenset[str], values: dict[str, object]) -> str:
    """Return the condition on the names of symbols, qualified or not; empty for none."""
    conditions = [_members("s.folded_name", name, names, values)]
    for number, qualified in enumerate(sorted(each for each in names if "." in each)):
        last, whole = f"{name}_last_{number}", f"{name}_qualified_{number}"
        values[last] = qualified.rpartition(".")[2]
        values[whole] = f".{qualified}"
        conditions.append(_QUALIFIED.format(last=last, whole=whole))
    conditions = list(filter(None, conditions))
    return f"({' OR '.join(conditions)})" if len(conditions) > 1 else "".join(conditions)


def _members(column: str, name: str, members: frozenset[str], values: dict[str, object]) -> str:
    """Return ``column IN (:name_0, …)`` and add its values; empty for no members."""
    keys = []
    for number, member in enumerate(sorted(members)):
        values[f"{name}_{number}"] = member
        keys.append(f":{name}_{number}")
    return f"{column} IN ({', '.join(keys)})" if keys else ""


def parts_of(
    branch_id: int, within: Iterable[str] | None
) -> Iterator[tuple[str, dict[str, int | bytes]]]:
    """Yield conditions on branch and path, with their values, that together cover the paths."""
    if within is None:
        yield "branch_id = :branch_id", {"branch_id": branch_id}
        return
    for path in within:
        name = os.fsencode(path)
        yield "branch_id = :branch_id AND path = :path", {"branch_id": branch_id, "path": name}
        yield (
            "branch_id = :branch_id AND path >= :low AND path < :high",
            {"branch_id": branch_id, **range_below(name)},
        )


def range_below(folder: bytes) -> dict[str, bytes]:
    """Return the bounds of all paths in a folder: "/" and "0" are neighbours."""
    return {"low": folder + b"/", "high": folder + b"0"}


def range_in(folder: str) -> dict[str, bytes]:
    """Return the bounds of all paths in a folder of a branch; empty is the root."""
    return range_below(os.fsencode(folder)) if folder else {"low": b"", "high": _BEYOND_A_NAME}


def hexadecimal(paths: Sequence[str]) -> str:
    """Return paths, which can hold any byte, as JSON."""
    return json.dumps([os.fsencode(path).hex() for path in paths])
