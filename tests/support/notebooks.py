"""Notebooks for tests, as Jupyter writes them."""

import json
from collections.abc import Sequence
from typing import Any

#: A picture that an output or a Markdown cell may hold.
PICTURE = "iVBORw0KGgo" + "Q" * 4000


def cell(kind: str, source: str, **more: Any) -> dict[str, Any]:
    """Make a cell; one with code has an output with a picture."""
    made: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }
    if kind == "code":
        data = {"image/png": PICTURE, "text/plain": ["printed_result"]}
        made["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
        made["execution_count"] = 7
    return made | more


def notebook(cells: Sequence[dict[str, Any]], *, language: str = "python") -> str:
    """Make a notebook of format 4."""
    metadata = {"kernelspec": {"name": "k"}, "language_info": {"name": language}}
    whole = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"
