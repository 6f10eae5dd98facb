"""CodeCairn's engine: plain synchronous Python that knows no web framework.

The map, in the order of the data's way:

* ``catalog`` holds all projects of a data directory, ``index`` is one open project: the only doors.
  Behind them ``open_indexes`` has what is open, ``merging`` makes one answer of several projects',
  ``runs`` brings one up to date, ``status`` says how it stands, ``deletion`` lets it go.
* ``source`` says what is on disk: walking, ignore rules, reading, secrets, git's files.
* ``syntax`` says what it means to a parser: languages, symbols, chunks, words.
* ``indexing`` is one run, walk → read → parse → embed → store.
* ``store`` is the only room that speaks SQLite.
* ``embedding`` turns code and questions into vectors; ``models`` shows what it can use.
* ``search`` turns a question into a ranked answer; ``explain`` says why a path is found or not.
* ``browsing`` and ``folder_browsing`` page through what an index holds, ``overview`` shows it from
  above; all of them look at a ``checkout``.
* ``memories`` keeps what agents save, and shows it and the files alike, as checkpoints.
* ``evaluation`` measures answers by golden queries.
* ``jobs`` makes a project's runs durable, ``dispatch`` has the jobs of all projects, ``watching``
  follows the disk, ``doctor`` finds what is damaged and mends it.
* ``telemetry`` is what a process tells of itself, ``observing`` is who listens.
* ``config``, ``records`` and ``errors`` are what crosses borders.

Use it as a library::

    from engine import Catalog, SearchRequest, load_config

    with Catalog(load_config()) as catalog:
        index = catalog.create("/path/to/repository")
        index.index()
        for hit in index.search(SearchRequest(query="open session")).hits:
            print(hit.path, hit.line_start, hit.symbol)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.catalog import Catalog
    from engine.config import Config, load_config
    from engine.errors import EngineError
    from engine.evaluation.golden import Evaluation, EvaluationOptions, GoldenQuery, Target, Variant
    from engine.evaluation.golden_file import read_golden
    from engine.index import Index
    from engine.memory_records import Checkpoint, CheckpointPage, MemoryChange, NewMemory
    from engine.records import (
        Hit,
        IndexOptions,
        IndexReport,
        Mode,
        Progress,
        RelatedRequest,
        SearchAnswer,
        SearchRequest,
        SymbolHit,
    )
    from engine.status_records import ProjectStatus

__all__ = [
    "Catalog",
    "Checkpoint",
    "CheckpointPage",
    "Config",
    "EngineError",
    "Evaluation",
    "EvaluationOptions",
    "GoldenQuery",
    "Hit",
    "Index",
    "IndexOptions",
    "IndexReport",
    "MemoryChange",
    "Mode",
    "NewMemory",
    "Progress",
    "ProjectStatus",
    "RelatedRequest",
    "SearchAnswer",
    "SearchRequest",
    "SymbolHit",
    "Target",
    "Variant",
    "load_config",
    "read_golden",
]

_HOMES = {
    "Catalog": "engine.catalog",
    "Checkpoint": "engine.memory_records",
    "CheckpointPage": "engine.memory_records",
    "Config": "engine.config",
    "EngineError": "engine.errors",
    "Evaluation": "engine.evaluation.golden",
    "EvaluationOptions": "engine.evaluation.golden",
    "GoldenQuery": "engine.evaluation.golden",
    "Index": "engine.index",
    "MemoryChange": "engine.memory_records",
    "NewMemory": "engine.memory_records",
    "ProjectStatus": "engine.status_records",
    "Target": "engine.evaluation.golden",
    "Variant": "engine.evaluation.golden",
    "load_config": "engine.config",
    "read_golden": "engine.evaluation.golden_file",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    Parsing workers and ``cairn --help`` import this package and need a small part of it only.
    """
    if name not in __all__:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "engine.records")), name)
