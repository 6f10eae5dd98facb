"""Names that are not UTF-8: whatever takes a path takes it as it is shown."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.browse_records import ListRequest
from engine.config import Config
from engine.project import Project
from engine.search_records import RelatedRequest
from tests.support.catalogs import open_catalog
from tests.support.pages import project_ids
from tests.support.trees import write_tree

_NAME = os.fsdecode(b"odd/na\xffme.py")
_SHOWN = "odd/na\ufffdme.py"
_BODY = "def odd_name(first, second):\n    return first.take(second)\n"


@pytest.fixture
def index(config: Config, tree: Path) -> Iterator[Project]:
    skipped = os.fsdecode(b"odd/pic\xfeture.py")
    whole = "odd/whole \ufffd.py"  # this very character is a part of the name
    folder = os.fsdecode(b"fol\xfeder")
    write_tree(tree, {_NAME: _BODY, "plain.py": _BODY * 2, skipped: b"\0" * 64, whole: _BODY})
    write_tree(tree, {f"{folder}/x.py": _BODY, f"{folder}/y.bin": b"\0" * 64})
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


def test_an_indexed_file(index: Project) -> None:
    assert [symbol.name for symbol in index.outline(_SHOWN)] == ["odd_name"]
    assert index.outline(_SHOWN) == index.outline(_NAME)
    told = index.why(_SHOWN)
    assert (told.outcome, told.fresh, told.path) == ("indexed", True, _SHOWN)
    assert told == index.why(_NAME)
    asked = RelatedRequest(path=_SHOWN, line_start=1, limit=5)
    assert [hit.path for hit in index.related(asked).hits]
    assert index.outline("odd/whole \ufffd.py")


def test_a_file_that_is_skipped(index: Project) -> None:
    told = index.why("odd/pic\ufffdture.py")
    assert (told.outcome, told.reason) == ("skipped", "binary")
    assert index.why("odd/no\ufffdthing.py").outcome == "missing"


def test_a_folder(index: Project) -> None:
    for folder in ("fol\ufffdder", os.fsdecode(b"fol\xfeder")):
        asked = ListRequest(folder=folder)
        files, skips = index.browse.files(asked), index.browse.skips(asked)
        assert ([each.path for each in files.files], files.total) == (["fol\ufffdder/x.py"], 1)
        assert ([each.path for each in skips.skips], skips.total) == (["fol\ufffdder/y.bin"], 1)


def test_over_http(pages_client: httpx.Client) -> None:
    project_id = project_ids(pages_client)["sample"]
    path = {"path": "odd/na\ufffdme.py"}
    base = f"/api/v1/projects/{project_id}"
    outline = pages_client.get(f"{base}/outline", params=path).json()["symbols"]
    assert [symbol["name"] for symbol in outline] == ["odd_name_0"]
    assert pages_client.get(f"{base}/why", params=path).json()["outcome"] == "indexed"
    place = {"line": "1", "project": project_id, **path}
    assert pages_client.get("/api/v1/related", params=place).status_code == 200
