"""Which files refer to which definitions, by name: a graph of a whole branch.

A file refers to a definition if it calls, imports, extends or names as a type what is called so, in
a language that can refer to the definition's. Nothing is resolved: the definitions of a name share
its weight. How central a file is, is its PageRank; a definition has the share of it that comes by
its name. Source: L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank Citation Ranking", 1999.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.references.candidates import family_of
from engine.references.members import EVERYDAY_NAMES
from engine.search.features import is_test, path_worth
from engine.store import references, symbols
from engine.store.compression import unpack_hashes
from engine.store.connection import Handle
from engine.syntax.references import name_hash

#: What a map can show.
KINDS = (
    "class",
    "enum",
    "function",
    "interface",
    "macro",
    "method",
    "struct",
    "trait",
    "type",
)
_MOST_DEFINITIONS = 20  # of a name; one with more says little about any of them
_EVERYDAY_WEIGHT = 0.1
_SHORT_WEIGHT = 0.3
_SHORT = 3  # characters
#: A method called by one plain word is as likely one of the language or of a library.
_PLAIN_METHOD_WEIGHT = 0.2
_NOT_EXPORTED_WEIGHT = 0.3
_TEST_WEIGHT = 0.2  # of a reference in a test
_FEWEST = 5.0  # references: a file with fewer passes on less than its whole rank
_DAMPING = 0.85
_DAMPING_WHEN_WANTED = 0.5  # stay near to where the reader begins
_ROUNDS = 20
_PRECISION = 1e-4
_FAMILY_SALT = 0x9E3779B1

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class NameGraph:
    """The graph of one branch in one state. Files and definitions are numbered from 0, by path."""

    paths: Sequence[str]  # of files; of those with equal contents the shortest
    is_test: NDArray[np.bool_]  # by file
    worth: Floats  # by file: what the ranking of searches makes of its path; 1 for plain code
    symbol_ids: Integers  # by definition
    file_of: Integers  # by definition
    users: Integers  # by definition: how many other files refer to its name
    # A reference: from a file to a definition in another. The weights of a file's references sum up
    # to 1 at most.
    sources: Integers
    targets: Integers
    weights: Floats
    # The same between files, each pair once.
    links_from: Integers
    links_to: Integers
    link_weights: Floats

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        arrays = (
            self.is_test,
            self.worth,
            self.symbol_ids,
            self.file_of,
            self.users,
            self.sources,
            self.targets,
            self.weights,
            self.links_from,
            self.links_to,
            self.link_weights,
        )
        return sum(array.nbytes for array in arrays) + 100 * len(self.paths)

    def file_ranks(self, wanted: Floats | None = None) -> Floats:
        """Return the PageRank of each file; they sum up to 1.

        Args:
            wanted: How much each file is wanted, any of them above 0: a reader who follows
                references begins and begins again there. None: everywhere alike, but not in tests.
        """
        damping = _DAMPING if wanted is None else _DAMPING_WHEN_WANTED
        start = np.where(self.is_test, _TEST_WEIGHT, 1.0) if wanted is None else wanted
        start = (start / max(float(start.sum()), 1e-12)).astype(np.float32)
        size = len(self.paths)
        ranks = start
        for _ in range(_ROUNDS):
            flow = self.link_weights * ranks[self.links_from]
            moved = np.bincount(self.links_to, weights=flow, minlength=size).astype(np.float32)
            # What a file does not pass on begins again.
            after = damping * moved
            after += (1.0 - float(after.sum())) * start
            change = float(np.abs(after - ranks).sum())
            ranks = after
            if change < _PRECISION:
                break
        return ranks

    def definition_ranks(self, file_ranks: Floats) -> Floats:
        """Return what each definition gets of the ranks of the files that refer to it."""
        flow = self.weights * file_ranks[self.sources]
        size = len(self.symbol_ids)
        return np.bincount(self.targets, weights=flow, minlength=size).astype(np.float32)


def read_name_graph(handle: Handle, branch_id: int) -> NameGraph:
    """Read the graph of a branch."""
    files = references.read_code_files(handle, branch_id)
    file_number = {blob_id: number for number, (blob_id, _, _) in enumerate(files)}
    paths = [path for _, path, _ in files]
    tests = np.fromiter(map(is_test, paths), dtype=bool, count=len(paths))
    salts = _salts_of([language for _, _, language in files])

    rows = symbols.read_definitions(handle, KINDS)
    rows = [row for row in rows if row[1] in file_number]
    rows.sort(key=lambda row: file_number[row[1]])  # not by when they were indexed: ties, and sums
    file_of = np.array([file_number[row[1]] for row in rows], dtype=np.int32)
    keys = np.array([name_hash(row[2]) for row in rows], dtype=np.uint32) ^ salts[file_of]

    sources, names = _read_references(handle, branch_id, file_number)
    targets, sources, shared = _joined(keys, names ^ salts[sources], sources)
    is_foreign = sources != file_of[targets]
    targets, sources, shared = targets[is_foreign], sources[is_foreign], shared[is_foreign]
    users = np.bincount(targets, minlength=len(rows)).astype(np.int32)

    worth = np.zeros(len(rows))
    used = np.flatnonzero(users)
    worth[used] = _worths_of([rows[number] for number in used.tolist()])
    weights = worth[targets] / shared
    total = np.bincount(sources, weights=weights, minlength=len(files))
    weights /= np.maximum(total[sources], _FEWEST)
    weights *= np.where(tests[sources], _TEST_WEIGHT, 1.0)

    pairs = sources.astype(np.int64) * max(len(files), 1) + file_of[targets]
    links, which = np.unique(pairs, return_inverse=True)
    link_weights = np.bincount(which, weights=weights, minlength=len(links))
    return NameGraph(
        paths=paths,
        is_test=tests,
        worth=_path_worths(paths, np.unique(file_of[targets])),
        symbol_ids=np.array([row[0] for row in rows], dtype=np.int32),
        file_of=file_of,
        users=users,
        sources=sources,
        targets=targets,
        weights=weights.astype(np.float32),
        links_from=(links // max(len(files), 1)).astype(np.int32),
        links_to=(links % max(len(files), 1)).astype(np.int32),
        link_weights=link_weights.astype(np.float32),
    )


def _worths_of(rows: Sequence[tuple[int, int, str, str, bool]]) -> NDArray[np.float64]:
    """Return how much a reference to the name of each definition says."""
    known = {name: _worth(name) for name in {row[2] for row in rows}}
    plain = {name for name, worth in known.items() if worth == 1.0 and _is_plain(name)}
    worths = np.array([known[row[2]] for row in rows], dtype=np.float64)
    is_plain = [row[3] == "method" and row[2] in plain for row in rows]
    worths[np.array(is_plain, dtype=bool)] *= _PLAIN_METHOD_WEIGHT
    worths[np.array([not row[4] for row in rows], dtype=bool)] *= _NOT_EXPORTED_WEIGHT
    return worths


def _worth(name: str) -> float:
    worth = _EVERYDAY_WEIGHT if name in EVERYDAY_NAMES else 1.0
    return worth * _SHORT_WEIGHT if len(name) <= _SHORT else worth


def _is_plain(name: str) -> bool:
    return name.isalpha() and name.islower()


def _path_worths(paths: Sequence[str], wanted: Integers) -> Floats:
    """Return what paths are worth, 1 for those that are not wanted."""
    worths = np.ones(len(paths), dtype=np.float32)
    for number in wanted.tolist():
        worths[number] = path_worth(paths[number], is_generated=False)
    return worths


def _salts_of(languages: Sequence[str]) -> NDArray[np.uint32]:
    """Return for each file a number by which names of other families of languages differ."""
    families: dict[Any, int] = {}
    known = {each: family_of(each) for each in set(languages)}
    numbers = [families.setdefault(known[each], len(families)) for each in languages]
    return np.array([number * _FAMILY_SALT & 0xFFFFFFFF for number in numbers], dtype=np.uint32)


def _read_references(
    handle: Handle, branch_id: int, file_number: dict[int, int]
) -> tuple[Integers, NDArray[np.uint32]]:
    """Return the files that refer to names, and the hashes of these."""
    found = [
        (file_number[blob_id], unpack_hashes(packed))
        for blob_id, packed in references.read_names(handle, branch_id)
        if blob_id in file_number
    ]
    found.sort(key=itemgetter(0))
    sizes = [len(flat) // 4 for _, flat in found]
    numbers = np.array([number for number, _ in found], dtype=np.int32)
    names = np.frombuffer(b"".join(flat for _, flat in found), dtype="<u4").astype(np.uint32)
    return np.repeat(numbers, sizes), names


def _joined(
    keys: NDArray[np.uint32], names: NDArray[np.uint32], sources: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return each pair of a definition and a file that refers to its key.

    Third comes how many definitions share the key.
    """
    order = np.argsort(keys, kind="stable")
    known, begins_at, sizes = np.unique(keys[order], return_index=True, return_counts=True)
    place = np.minimum(np.searchsorted(known, names), max(len(known) - 1, 0))
    is_known = known[place] == names if len(known) else np.zeros(len(names), bool)
    place, sources = place[is_known], sources[is_known]
    first, number = begins_at[place], sizes[place]
    number[number > _MOST_DEFINITIONS] = 0
    ends = np.cumsum(number)
    begins = np.repeat(ends - number, number)
    at = np.repeat(first, number) + np.arange(int(ends[-1]) if len(ends) else 0) - begins
    return (
        order[at].astype(np.int32),
        np.repeat(sources, number).astype(np.int32),
        np.repeat(number, number).astype(np.int32),
    )
