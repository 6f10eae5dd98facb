"""An indexed project of a test's own, and a served one that the tests of all pages share."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.catalog import Catalog
from engine.project import Project
from tests.support.pages import project_ids, sample_files, site
from tests.support.server import Server
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    """The index of a small project."""
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    return index


@pytest.fixture(scope="session")
def pages_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of the server, with the project ``sample`` in it."""
    folder = tmp_path_factory.mktemp("pages")
    write_tree(folder / "sample", sample_files())
    (folder / ".hidden").mkdir()
    return folder


@pytest.fixture(scope="session")
def pages_server(pages_home: Path) -> Iterator[Server]:
    """A server of that project."""
    with site(pages_home, pages_home / "sample") as server:
        yield server


@pytest.fixture
def pages_client(pages_server: Server) -> Iterator[httpx.Client]:
    """A client without cookies."""
    with pages_server.client() as client:
        yield client


@pytest.fixture
def sample_id(pages_client: httpx.Client) -> str:
    """The id of that project."""
    return project_ids(pages_client)["sample"]
