"""The project of a call that names none: by the client's roots, or by the folder of the server."""

import asyncio
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.types import ListRootsResult, Root, RootsListChangedNotification
from pydantic import FileUrl

from engine.catalog import Catalog
from engine.roots import project_id_of
from tests.support import damage
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import (
    called,
    read,
    refusal_text,
    refused,
    site,
    stdio_parameters,
)
from tests.support.trees import write_tree
from web.mcp.server import make_server

MODES = ["auto", "legacy"]
_CHANGED = RootsListChangedNotification()


class Roots:
    """The folders that a client has open."""

    def __init__(self, *folders: Path) -> None:
        self.folders = [*folders]
        self.asked = 0

    async def __call__(self, context: object) -> ListRootsResult:
        self.asked += 1
        return ListRootsResult(roots=[Root(uri=FileUrl(each.as_uri())) for each in self.folders])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two projects; a folder of each has a blank and a letter that is not ASCII."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_tree(folder, {f"sub é/{folder.name}.py": f"def parse_{folder.name}():\n    pass\n"})
    return first, second


@pytest.fixture
def home(tmp_path: Path, folders: tuple[Path, Path]) -> Path:
    """A data directory that has both."""
    with catalog_in(tmp_path / "home") as catalog:
        for folder in folders:
            catalog.create(str(folder)).index()
    return tmp_path / "home"


async def _project(client: Client) -> str:
    answer = await called(client, "search_code", query="parse")
    return Path(answer["project"]).name


@pytest.mark.parametrize("mode", MODES)
def test_a_root_of_the_client_is_the_project(
    home: Path, folders: tuple[Path, Path], mode: str
) -> None:
    first, second = folders
    roots = Roots(first / "sub é")

    async def conversation(catalog: Catalog) -> None:
        server = make_server(catalog, is_runner=True)
        async with Client(server, mode=mode, list_roots_callback=roots) as client:
            assert await _project(client) == "first"
            assert "sub é/first.py" in await read(client, "symbols://list")
            found = await called(client, "find_symbol", name="parse_first")
            assert found["symbols"]
            assert (await called(client, "checkpoint_list"))["total"] == 1
            assert (await called(client, "verify_index"))["ok"]
            roots.folders = [second]
            await client.session.send_notification(_CHANGED)
            assert await _project(client) == "second"
            before = roots.asked
            await called(client, "search_code", query="parse", project_path=str(first))
            assert roots.asked == before  # only who names no project is asked

            roots.folders = [first, second]
            text = await refusal_text(client, "search_code", query="parse")
            assert str(first) in text
            assert str(second) in text
            roots.folders = [first.parent / "elsewhere"]
            text = await refusal_text(client, "search_code", query="parse")
            assert f'index_repository with path "{first.parent / "elsewhere"}"' in text
            roots.folders = []
            assert "project_path" in await refusal_text(client, "search_code", query="parse")

    with catalog_in(home) as catalog:
        asyncio.run(conversation(catalog))


def test_a_root_above_a_project_is_that_project(
    tmp_path: Path, home: Path, folders: tuple[Path, Path]
) -> None:
    inner = write_tree(tmp_path / "workspace" / "inner", {"inner.py": "def parse_inner(): pass\n"})

    async def conversation(catalog: Catalog) -> None:
        server = make_server(catalog, is_runner=True)
        async with Client(server, list_roots_callback=Roots(inner.parent)) as client:
            assert await _project(client) == "inner"

    with catalog_in(home) as catalog:
        catalog.create(str(inner)).index()
        asyncio.run(conversation(catalog))


def test_a_client_in_a_damaged_project_is_not_given_another_one(
    home: Path, folders: tuple[Path, Path]
) -> None:
    sound, damaged = folders
    file = home / f"{project_id_of(str(damaged))}.db"
    damage.checkpointed(file)
    damage.break_file(file)
    note = {"summary": "s", "description": "d"}

    async def conversation(catalog: Catalog) -> None:
        server = make_server(catalog, is_runner=True)
        async with Client(server, list_roots_callback=Roots(damaged / "sub é")) as client:
            for _ in range(2):  # its id alone tells the folder, and then the log of the check
                for tool, given in (("search_code", {"query": "p"}), ("checkpoint_save", note)):
                    error = await refused(client, tool, **given)
                    assert error["error"] == "damaged_index"
                    assert "verify_index with repair" in error["details"]["hint"]
                assert not (await called(client, "verify_index"))["ok"]
        async with Client(server) as client:  # it may be in either
            assert (await refused(client, "checkpoint_save", **note))["error"] == "validation_error"
        async with Client(server, list_roots_callback=Roots(sound)) as client:
            assert await _project(client) == "first"
            assert (await called(client, "checkpoint_list"))["total"] == 1  # of its run

    with catalog_in(home) as catalog:
        asyncio.run(conversation(catalog))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_has_no_roots_is_told_the_projects(
    home: Path, folders: tuple[Path, Path], mode: str
) -> None:
    async def fails(context: object) -> ListRootsResult:
        raise RuntimeError("this client breaks")

    async def conversation(catalog: Catalog) -> None:
        server = make_server(catalog, is_runner=True)
        async with Client(server, mode=mode) as client:
            text = await refusal_text(client, "search_code", query="parse")
            assert all(str(folder) in text for folder in folders)
        if mode == "legacy":
            async with Client(server, mode=mode, list_roots_callback=fails) as client:
                text = await refusal_text(client, "search_code", query="parse")
                assert all(str(folder) in text for folder in folders)

    with catalog_in(home) as catalog:
        asyncio.run(conversation(catalog))


@pytest.mark.parametrize("mode", MODES)
def test_the_folder_of_a_process_is_the_project(
    home: Path, folders: tuple[Path, Path], mode: str
) -> None:
    first, second = folders

    async def conversation() -> None:
        server = stdio_parameters(home, first / "sub é")
        async with Client(server, mode=mode) as client:
            assert await _project(client) == "first"
        roots = Roots(second)
        async with Client(server, mode=mode, list_roots_callback=roots) as client:
            assert await _project(client) == "second"
            roots.folders = [first.parent]  # above both: its own folder decides
            assert await _project(client) == "first"
        async with Client(stdio_parameters(home, first.parent), mode=mode) as client:
            text = await refusal_text(client, "search_code", query="parse")
            assert all(str(folder) in text for folder in folders)

    asyncio.run(conversation())


@pytest.mark.parametrize("mode", MODES)
def test_over_http_a_root_is_the_project(home: Path, folders: tuple[Path, Path], mode: str) -> None:
    async def conversation(address: str) -> None:
        roots = Roots(folders[1])
        async with Client(f"{address}/mcp", mode=mode, list_roots_callback=roots) as client:
            assert await _project(client) == "second"
        async with Client(f"{address}/mcp", mode=mode) as client:
            text = await refusal_text(client, "search_code", query="parse")
            assert all(str(folder) in text for folder in folders)

    with site(home) as address:
        asyncio.run(conversation(address))


def test_projects_and_what_is_in_them_are_listed(home: Path, folders: tuple[Path, Path]) -> None:
    async def conversation(catalog: Catalog) -> None:
        server = make_server(catalog, is_runner=True)
        roots = Roots(folders[0])
        async with Client(server, list_roots_callback=roots) as client:
            listed = await called(client, "list_projects")
            assert [each["path"] for each in listed["projects"]] == list(map(str, folders))
            assert (listed["default"], listed["total"]) == (str(folders[0]), 2)
            roots.folders = []
            assert (await called(client, "list_projects"))["default"] is None
            roots.folders = [folders[0]]
            top = await called(client, "outline")
            assert top["entries"] == ["sub é/"]
            files = await called(client, "outline", path="sub é")
            assert files["entries"] == ["first.py"]
            of_file = await called(client, "outline", path="sub é/first.py")
            assert of_file["symbols"] == ["1-2 function parse_first"]
            same = await called(client, "outline", path=str(folders[0] / "sub é/first.py"))
            assert same["symbols"] == of_file["symbols"]
            text = await refusal_text(client, "outline", path="none.py")
            assert "outline lists" in text

    with catalog_in(home) as catalog:
        asyncio.run(conversation(catalog))
