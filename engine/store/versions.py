"""The versions of what stores the indexes."""

from importlib.metadata import PackageNotFoundError, version

import apsw

from engine.store.migrate import newest


def versions() -> dict[str, str]:
    """Give the versions of SQLite and sqlite-vec, and that of the tables' shape."""
    try:
        vectors = version("sqlite-vec")
    except PackageNotFoundError:
        vectors = "unknown"
    return {"SQLite": apsw.sqlite_lib_version(), "sqlite-vec": vectors, "schema": str(newest())}
