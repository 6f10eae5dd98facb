"""Coverage: files indexed of the files that can be, in the same numbers on every face."""

from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import load_config
from engine.index_records import Phase, Progress
from engine.roots import resolve
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.mcp_clients import ask
from tests.support.pages import Page
from tests.support.server import serving
from tests.support.trees import write_tree

TEXTS = {f"part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(3)}
#: Text by its name, but not by its content: known only when it is read.
UNFIT = {f"data{n}.py": b"\0binary\0" * (n + 1) for n in range(20)}
UNREADABLE = {"odd.txt": bytes(range(0x80, 0x100)) * 4}  # in no encoding that is known


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A project with a file that cannot be decoded, and one that was never looked at."""
    whole = write_tree(tmp_path / "whole", {**TEXTS, **UNREADABLE})
    queued = write_tree(tmp_path / "queued", {"later.py": "def later():\n    return 1\n"})
    with open_catalog(load_config(tmp_path / "home", workers=1)) as catalog:
        assert catalog.create(str(whole)).index().files_failed == 1
        catalog.create(str(queued))
    return whole, queued


def test_files_that_turn_out_to_be_binary_are_not_waited_for(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {**TEXTS, **UNFIT})
    index = catalog.create(str(tree))
    seen = []

    def note(progress: Progress) -> None:
        if progress.phase is Phase.FINISHING:  # the run has not ended, and has read all
            each = index.search(SearchRequest(query="part")).coverage
            seen.append((each.files, each.found, each.indexed, each.complete))

    index.index(on_progress=note)
    assert seen == [(3, 3, 1.0, False)]
    after = index.search(SearchRequest(query="part")).coverage
    assert (after.files, after.found, after.complete) == (3, 3, True)


def test_the_total_of_projects_is_unknown_while_one_is_not_counted(
    tmp_path: Path, trees: tuple[Path, Path]
) -> None:
    whole, queued = trees
    with open_catalog(load_config(tmp_path / "home", workers=1)) as catalog:
        roots = [resolve(str(whole)), resolve(str(queued))]
        coverage = catalog.search(roots, SearchRequest(query="part")).coverage
        assert (coverage.files, coverage.found, coverage.indexed) == (3, None, None)
        assert not coverage.complete
        catalog.open(str(queued)).index()
        coverage = catalog.search(roots, SearchRequest(query="part")).coverage
        assert (coverage.files, coverage.found, coverage.indexed) == (4, 5, 0.8)


def test_every_face_tells_the_same_of_one_project(tmp_path: Path, trees: tuple[Path, Path]) -> None:
    whole, _ = trees
    command = Command(home=tmp_path / "home", folder=tmp_path, reads_here=True)
    words = "coverage 75% of 4 files"
    assert words in command("search", "part", "--project", str(whole)).out
    assert words in command("status", str(whole)).out
    told = command("search", "part", "--project", str(whole), "--json").json()["coverage"]
    assert told == {"files": 3, "found": 4, "indexed": 0.75, "embedded": 1.0, "complete": True}
    with serving(command, "--no-watch") as server, server.client() as client:
        asked = "part project:whole"
        answer = client.get("/api/v1/search", params={"query": asked}).json()
        assert answer["coverage"] == told
        assert words in Page.of(client.get("/search", params={"q": asked})).text
        assert "coverage 75%" in Page.of(client.get("/")).text

    async def search(client: Client) -> None:
        found = await client.call_tool("search_code", {"query": "part", "project_path": str(whole)})
        assert found.structured_content is not None
        assert found.structured_content["coverage"] == told
        assert words in found.content[0].text  # type: ignore[union-attr]

    with open_catalog(load_config(tmp_path / "home")) as catalog:
        ask(catalog, search)


def test_every_face_says_that_files_are_still_counted(
    tmp_path: Path, trees: tuple[Path, Path]
) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path, reads_here=True)
    names = [argument for tree in trees for argument in ("--project", str(tree))]
    words = "3 files indexed so far, not all counted"
    assert words in command("search", "part", *names).out
    with serving(command, "--no-watch") as server, server.client() as client:
        page = Page.of(client.get("/search", params={"q": "part"}))
        assert words in page.text
        assert "not all files are counted, so results may be incomplete" in page.text
        home = Page.of(client.get("/")).text
        assert "coverage not counted" in home
        _check_api(client)


def _check_api(client: httpx.Client) -> None:
    told = client.get("/api/v1/search", params={"query": "part"}).json()["coverage"]
    assert (told["files"], told["found"], told["indexed"]) == (3, None, None)
