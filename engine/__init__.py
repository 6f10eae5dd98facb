"""CodeCairn's engine: plain synchronous Python, independent of any web framework.

From what callers use down to what everything rests on:

* ``catalog`` holds all projects of a data directory, ``project`` is one open project: the only
  entry points. ``cross_project`` merges the answers of several projects, ``models`` lists the
  embedding models that can be chosen.
* ``scheduler`` has the jobs of all projects: queue, runner, estimates and housekeeping. ``runner``
  is the process that runs them in the background. ``watch`` turns changes on disk into jobs,
  ``observing`` measures all of it for ``/metrics``.
* ``doctor`` finds and repairs damage of an index, ``browsing`` pages through its contents and
  explains why a path is found or not, ``memories`` keeps what agents save, ``evaluation`` measures
  answers by golden queries, ``history`` reads and finds commits, ``jobs`` makes the runs of one
  project durable.
* ``indexing`` is one run: walk → read → parse → embed → store. ``project_indexer`` starts
  it, as a job or not.
* ``search`` turns a query into a ranked answer; ``references`` a name into its uses, callers
  and callees.
* ``source`` reads files and git, ``syntax`` parses them, ``embedding`` turns code and queries
  into vectors, ``store`` is the only package that speaks SQLite.
* ``config``, ``records`` and ``errors`` cross all borders; ``telemetry`` has logs and measures.

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
    from engine.evaluation.golden import (
        Evaluation,
        EvaluationOptions,
        GoldenQuery,
        Target,
        Variant,
        read_golden,
    )
    from engine.index_records import IndexOptions, IndexReport, Progress
    from engine.memory_records import (
        Checkpoint,
        CheckpointPage,
        FoundMemories,
        MemoryChange,
        NewMemory,
    )
    from engine.project import Project
    from engine.search_records import (
        Hit,
        Mode,
        RelatedRequest,
        SearchAnswer,
        SearchRequest,
        SymbolHit,
    )
    from engine.state_records import ProjectStatus

__all__ = [
    "Catalog",
    "Checkpoint",
    "CheckpointPage",
    "Config",
    "EngineError",
    "Evaluation",
    "EvaluationOptions",
    "FoundMemories",
    "GoldenQuery",
    "Hit",
    "IndexOptions",
    "IndexReport",
    "MemoryChange",
    "Mode",
    "NewMemory",
    "Progress",
    "Project",
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
    "FoundMemories": "engine.memory_records",
    "GoldenQuery": "engine.evaluation.golden",
    "Project": "engine.project",
    "IndexOptions": "engine.index_records",
    "IndexReport": "engine.index_records",
    "MemoryChange": "engine.memory_records",
    "NewMemory": "engine.memory_records",
    "Progress": "engine.index_records",
    "ProjectStatus": "engine.state_records",
    "Target": "engine.evaluation.golden",
    "Variant": "engine.evaluation.golden",
    "load_config": "engine.config",
    "read_golden": "engine.evaluation.golden",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    Parsing workers and ``cairn --help`` import this package and need a small part of it only.
    """
    if name not in __all__:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "engine.search_records")), name)
