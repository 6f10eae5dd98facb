"""Notebooks from the disk into the index and out again."""

import json
from pathlib import Path

import pytest

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.notebooks import PICTURE, cell, notebook
from tests.support.oracle import check_sound
from tests.support.trees import write_tree

_KEY = "AKIA" + "Z7XQ4M2K9TBW3HJD"
_SALES = notebook(
    [
        cell("markdown", "# Quarterly revenue\n\nWhere the growth comes from.\n"),
        cell("code", f"import csv\nkey = '{_KEY}'\n"),
        cell("code", "%time\ndef smooth_revenue(table):\n    return table\n"),
    ]
)
_FILES = {
    "sales.ipynb": _SALES,
    "copy/sales.ipynb": _SALES,
    "broken.ipynb": _SALES[:300] + "\n",
    "deep.ipynb": "[\n" * 5000,
    "types.ipynb": '{\n "cells": {\n  "source": "unusual_word"\n }\n}\n',
    "empty.ipynb": '{"cells": []}\n',
    "large.ipynb": notebook([cell("markdown", PICTURE * 300)]),
}


@pytest.fixture
def cairn(tmp_path: Path) -> Command:
    """Give a command in an indexed project of notebooks."""
    command = Command(home=tmp_path / "home", folder=tmp_path / "project", reads_here=True)
    write_tree(command.folder, _FILES)
    assert command("index", "--quiet").code == 0
    return command


def test_code_and_prose_are_found_and_outputs_are_not(cairn: Command) -> None:
    hit = cairn("search", "smooth_revenue", "--json").json()["hits"][0]
    assert (hit["path"], hit["language"], hit["fresh"]) == ("sales.ipynb", "jupyter", True)
    assert "def smooth_revenue(table):\n    return table" in hit["snippet"]
    prose = cairn("search", "where growth comes from", "--path", "sales.ipynb", "--json").json()[
        "hits"
    ][0]
    assert prose["symbol"] == "Quarterly revenue"
    assert cairn("search", "printed_result", "--json").json()["hits"] == []


def test_symbols_of_a_notebook(cairn: Command) -> None:
    found = cairn("symbols", "--file", "sales.ipynb", "--json").json()["symbols"]
    assert [(hit["name"], hit["kind"], hit["line_start"], hit["line_end"]) for hit in found] == [
        ("Quarterly revenue", "section", 1, 4),
        ("cell 2", "section", 6, 8),
        ("key", "variable", 8, 8),
        ("cell 3", "section", 10, 13),
        ("smooth_revenue", "function", 12, 13),
    ]


def test_why_says_what_is_stored(cairn: Command) -> None:
    facts = cairn("why", "sales.ipynb", "--json").json()["facts"]
    assert facts["stored_as"].startswith("the text of its cells")
    assert facts["size_bytes"] < facts["file_bytes"] == len(_SALES)
    assert (facts["parse"], facts["redactions"], facts["lines"]) == ("ok", 1, 13)
    assert "stored as   the text of its cells" in cairn("why", "sales.ipynb").out
    broken = cairn("why", "broken.ipynb", "--json").json()
    assert (broken["outcome"], broken["facts"]["parse"]) == ("indexed", "errors")
    assert "stored_as" not in broken["facts"]
    assert cairn("why", "large.ipynb", "--json").json()["reason"] == "too_large"


def test_what_is_no_notebook_is_searched_as_text(cairn: Command) -> None:
    hits = cairn("search", "unusual_word", "--json").json()["hits"]
    assert [hit["path"] for hit in hits] == ["types.ipynb"]
    assert cairn("status", "--json").json()["skips"] == {"too_large": 1}
    assert cairn("why", "empty.ipynb", "--json").json()["facts"]["lines"] == 0


def test_the_index_is_sound_and_holds_no_secret(cairn: Command) -> None:
    database = cairn.home / f"{project_id_of(str(cairn.folder))}.db"
    check_sound(database)
    assert _KEY.encode() not in database.read_bytes()


def test_a_new_output_makes_a_notebook_stale_until_it_is_indexed(cairn: Command) -> None:
    changed = json.loads(_SALES)
    changed["cells"][1]["outputs"] = []
    (cairn.folder / "sales.ipynb").write_text(json.dumps(changed, indent=1), "utf-8")
    assert cairn("why", "sales.ipynb", "--json").json()["fresh"] is False
    assert cairn("index", "--json").json()["files_indexed"] == 1
    assert cairn("why", "sales.ipynb", "--json").json()["fresh"] is True
