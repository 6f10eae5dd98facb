"""CodeCairn's engine: plain synchronous Python that knows no web framework.

The map, in the order of the data's way:

* ``catalog`` holds all projects of a data directory, ``index`` is one open project: the only doors.
* ``source`` says what is on disk: walking, ignore rules, reading, secrets, git's files.
* ``syntax`` says what it means to a parser: languages, symbols, chunks, words.
* ``indexer`` runs walk → read → parse → store; ``scan`` compares the disk with the index,
  ``workers`` runs ``parsing`` in processes of its own, in the order that ``turns`` gives,
  ``batch`` collects the rows of a transaction, ``leftovers`` deletes what nothing needs any more.
* ``store`` is the only room that speaks SQLite.
* ``embedding`` turns code and questions into vectors; ``models`` shows what it can use.
* ``search`` turns a question into a ranked answer; ``explain`` says why a path is found or not.
* ``evaluate`` measures answers by golden queries: ``golden`` has the records, ``golden_file`` reads
  the queries, ``measures`` does the arithmetic, ``lost_targets`` tells what is not in the index.
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
    from engine.golden import Evaluation, EvaluationOptions, GoldenQuery, Target, Variant
    from engine.golden_file import read_golden
    from engine.index import Index
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
    "Config",
    "EngineError",
    "Evaluation",
    "EvaluationOptions",
    "GoldenQuery",
    "Hit",
    "Index",
    "IndexOptions",
    "IndexReport",
    "Mode",
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
    "Config": "engine.config",
    "EngineError": "engine.errors",
    "Evaluation": "engine.golden",
    "EvaluationOptions": "engine.golden",
    "GoldenQuery": "engine.golden",
    "Index": "engine.index",
    "ProjectStatus": "engine.status_records",
    "Target": "engine.golden",
    "Variant": "engine.golden",
    "load_config": "engine.config",
    "read_golden": "engine.golden_file",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used.

    Parsing workers and ``cairn --help`` import this package and need a small part of it only.
    """
    if name not in __all__:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "engine.records")), name)
