"""Vectors of an index that were lost, as if a run had not come to them yet."""

import os

from engine.project import Project
from engine.store import models


def drop_vectors(index: Project, *paths: str) -> None:
    """Delete the vectors of the chunks of files; all of them when no path is given."""
    with index._store.write() as handle:
        model = models.read_current_model(handle)
        assert model
        for path in map(os.fsencode, paths):
            handle.execute(
                f"""DELETE FROM {model.chunk_table} WHERE rowid IN (
                      SELECT c.id FROM files f JOIN chunks c ON c.blob_id = f.blob_id
                      WHERE f.path = ?)""",
                (path,),
            )
        if not paths:
            handle.execute("UPDATE project SET model_id = NULL")
