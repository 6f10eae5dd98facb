"""The axes on which the files of a project are drawn by what they mean, one set a model."""

from engine.store.connection import Handle
from engine.store.models import ModelRow


def read_axes(handle: Handle, model: ModelRow) -> bytes | None:
    """Give the numbers as they were written; None when there are none yet."""
    row = handle.execute(
        "SELECT numbers FROM map_axes WHERE model_id = :id", {"id": model.id}
    ).fetchone()
    return row[0] if row else None


def write_axes(handle: Handle, model: ModelRow, numbers: bytes) -> None:
    """Write the axes of a model, in the place of those before; nothing when the model is gone."""
    handle.execute(
        """INSERT INTO map_axes (model_id, numbers)
           SELECT id, :numbers FROM models WHERE id = :id AND identity = :identity
           ON CONFLICT (model_id) DO UPDATE SET numbers = excluded.numbers""",
        {"id": model.id, "identity": model.identity, "numbers": numbers},
    )
