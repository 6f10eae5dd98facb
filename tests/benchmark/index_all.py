"""Index folders one after the other in this process, and print what it took as JSON.

python tests/benchmark/index_all.py HOME ROOT…
"""

import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.store import files
from engine.store.connection import Store


def main() -> None:
    """Index, then count what was indexed."""
    home, *roots = sys.argv[1:]
    started = time.perf_counter()
    reports = []
    with Catalog(load_config(Path(home))) as catalog:
        for root in roots:
            reports.append(catalog.create(root).index())  # noqa: PERF401 - the loop is measured
        seconds = time.perf_counter() - started
    print(
        json.dumps(
            {
                "seconds": seconds,
                "files": sum(r.files_indexed + r.files_unchanged for r in reports),
                "source_bytes": sum(source_bytes(Path(home), r.project_id) for r in reports),
                "chunks": sum(r.chunks for r in reports),
                "symbols": sum(r.symbols_extracted for r in reports),
                "failed": sum(r.files_failed for r in reports),
                "main_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "worker_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
            }
        )
    )


def source_bytes(home: Path, project_id: str) -> int:
    """Give the size of all indexed files of a project."""
    store = Store(home / f"{project_id}.db", busy_timeout_ms=1000)
    try:
        with store.read() as handle:
            return files.total_bytes(handle)
    finally:
        store.close()


if __name__ == "__main__":
    main()
