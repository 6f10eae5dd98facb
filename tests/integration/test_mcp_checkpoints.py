"""The tools for what is remembered of a project, and for its health, by the official client."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.memory_records import NewMemory
from engine.roots import project_id_of
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.mcp_clients import ask, called, read, refused, text_of
from tests.support.trees import SAMPLE, write_tree

#: The keys that the contract names, of a file and of a memory alike.
KEYS = (
    "id summary description project_path context tags token_count created_at updated_at"
).split()


@pytest.fixture
def tree(tree: Path) -> Path:
    return write_tree(tree, SAMPLE)


def test_notes_and_files_are_saved_found_and_listed(catalog: Catalog, tree: Path) -> None:
    catalog.create(str(tree)).index()

    async def body(client: Client) -> None:
        saved = await called(
            client,
            "checkpoint_save",
            summary="Sessions expire after an hour",
            description="Decided with the team.",
            project_path=str(tree),
            context={"ticket": 7},
            tags=["decision"],
        )
        assert list(saved) == KEYS
        assert (saved["context"], saved["tags"]) == ({"ticket": 7}, ["decision"])
        given = {"query": "when do sessions expire", "project_path": str(tree)}
        found = (await called(client, "checkpoint_search", **given))["checkpoints"]
        assert found[0]["id"] == saved["id"]
        assert list(found[0]) == [*KEYS, "score"]
        files = await called(client, "checkpoint_search", **given, tags=["indexed", ".py"])
        [session, *_] = files["checkpoints"]
        assert session["summary"] == "Indexed file: app/session.py"
        assert session["description"] == SAMPLE["app/session.py"]
        assert session["context"] == {"indexed_file": "app/session.py"}
        assert session["tags"] == ["indexed", "repository", ".py", "python"]
        assert all("decision" not in each["tags"] for each in files["checkpoints"])
        page = await called(client, "checkpoint_list", project_path=str(tree), limit=2)
        assert (len(page["checkpoints"]), page["total"]) == (2, len(SAMPLE) + 1)
        cursor = page["next_cursor"]
        rest = await called(
            client, "checkpoint_list", project_path=str(tree), limit=1000, cursor=cursor
        )
        ids = {each["id"] for each in page["checkpoints"] + rest["checkpoints"]}
        assert (len(ids), rest["next_cursor"]) == (len(SAMPLE) + 1, None)

    ask(catalog, body)


def test_a_search_that_finds_no_note_tells_what_finds_code(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    catalog.create(str(tree)).index()
    (tmp_path / "other").mkdir()
    catalog.create(str(tmp_path / "other"))

    async def body(client: Client) -> None:
        asked = {"query": "session", "tags": ["!indexed"]}
        for place in ({"project_path": str(tree)}, {}):
            answer = await called(client, "checkpoint_search", **asked, **place)
            assert answer["checkpoints"] == []
            assert any("search_code" in note for note in answer["notes"])
            assert "search_code" in await text_of(client, "checkpoint_search", **asked, **place)

    ask(catalog, body)


def test_notes_of_all_projects_are_searched_if_none_is_meant(
    config: Config, catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    first, other = catalog.create(str(tree)), catalog.create(str(tmp_path / "other"))
    first.index()
    hour = first.checkpoints.save(NewMemory(summary="Sessions expire after an hour"))
    day = other.checkpoints.save(NewMemory(summary="Sessions expire after a day", tags=("new",)))

    async def body(client: Client) -> None:
        asked = {"query": "sessions expire after a day"}
        answer = await called(client, "checkpoint_search", **asked)
        found = answer["checkpoints"]
        assert [(each["id"], each["project_path"]) for each in found] == [
            (day.id, other.root),
            (hour.id, first.root),
        ]
        assert ["all 2 projects" in note for note in answer["notes"]] == [True]
        text = await text_of(client, "checkpoint_search", **asked)
        assert f"({day.id}, {other.root})" in text
        assert "note: these are notes of all 2 projects" in text
        answer = await called(client, "checkpoint_search", **asked, tags=["new"], limit=1)
        assert [each["id"] for each in answer["checkpoints"]] == [day.id]
        error = await refused(client, "checkpoint_search", **asked, tags=["indexed"])
        assert error["details"]["field"] == "project_path"
        alone = await called(client, "checkpoint_search", **asked, project_path="other")
        assert [each["id"] for each in alone["checkpoints"]] == [day.id]
        assert "notes" not in alone

    ask(catalog, body)
    other.close()
    file = config.data_dir / f"{other.project_id}.db"
    damage.checkpointed(file)
    damage.break_file(file)

    async def without_other(client: Client) -> None:
        answer = await called(client, "checkpoint_search", query="sessions expire")
        assert [each["id"] for each in answer["checkpoints"]][:1] == [hour.id]

    with open_catalog(config) as again:
        ask(again, without_other)
        again.create(str(tmp_path)).checkpoints.save(NewMemory(summary="Sessions are listed"))
        ask(again, _reports(other.project_id))


@pytest.mark.parametrize("is_of_all", [False, True], ids=["one project", "all projects"])
def test_a_search_whose_limit_cuts_it_says_so(
    catalog: Catalog, tree: Path, tmp_path: Path, is_of_all: bool
) -> None:
    (tmp_path / "other").mkdir()
    catalog.create(str(tmp_path / "other"))
    index = catalog.create(str(tree))
    for hours in range(3):
        index.checkpoints.save(NewMemory(summary=f"Sessions expire after {hours} hours"))
    asked: dict[str, Any] = {"query": "sessions expire", "tags": ["!indexed"]}
    if not is_of_all:
        asked["project_path"] = str(tree)

    async def body(client: Client) -> None:
        cut = await called(client, "checkpoint_search", **asked, limit=2)
        assert (len(cut["checkpoints"]), cut["truncated"]) == (2, True)
        assert any("raise limit" in note for note in cut["notes"])
        text = await text_of(client, "checkpoint_search", **asked, limit=2)
        assert text.endswith("2 of 3 or more checkpoints")
        for limit in (3, 100):
            whole = await called(client, "checkpoint_search", **asked, limit=limit)
            assert (len(whole["checkpoints"]), whole["truncated"]) == (3, False)
            assert not any("raise limit" in note for note in whole.get("notes", ()))
            text = await text_of(client, "checkpoint_search", **asked, limit=limit)
            assert text.endswith("3 of 3 checkpoints")

    ask(catalog, body)


def _reports(project_id: str) -> Callable[[Client], Awaitable[None]]:
    """Return a conversation in which a search of all projects reports one of them."""

    async def body(client: Client) -> None:
        answer = await called(client, "checkpoint_search", query="sessions")
        assert len({each["project_path"] for each in answer["checkpoints"]}) == 2
        [error] = answer["errors"]
        assert (error["project"], error["error"]) == (project_id, "damaged_index")
        text = await text_of(client, "checkpoint_search", query="sessions")
        assert f"failed: {project_id}: " in text

    return body


def test_what_cannot_be_saved_is_refused(catalog: Catalog, tree: Path) -> None:
    catalog.create(str(tree)).index()

    async def body(client: Client) -> None:
        place = {"project_path": str(tree)}
        for given, field in (
            ({"summary": "", "description": "d"}, "summary"),
            ({"summary": "s" * 501, "description": "d"}, "summary"),
            ({"summary": "s", "description": "d", "tags": ["indexed"]}, "tags"),
            ({"summary": "s", "description": "d", "context": []}, "context"),
            ({"summary": "s"}, "description"),
        ):
            error = await refused(client, "checkpoint_save", **place, **given)
            assert error["error"] == "validation_error"
            assert error["details"]["field"] == field
        error = await refused(client, "checkpoint_list", project_path="/nowhere")
        assert error["error"] == "not_found"

    ask(catalog, body)


def test_an_agent_finds_damage_and_has_it_mended(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.checkpointed(file)
    damage.run(file, "DELETE FROM chunk_terms")

    async def body(client: Client) -> None:
        place = {"project_path": str(tree)}
        found = await called(client, "verify_index", **place)
        assert (found["status"], found["ok"]) == ("completed", False)
        assert found["warnings"]
        assert found["suggested_fixes"]
        assert found["logs"]["operation_log"].endswith(".log")
        assert "VERIFY" in (await read(client, found["logs"]["operation_resource"])).upper()
        mended = await called(client, "verify_index", **place, repair=True)
        assert mended["ok"] is True
        assert mended["repaired"]
        hits = (await called(client, "search_code", query="open session", **place))["hits"]
        assert hits[0]["path"] == "app/session.py"
        assert (await called(client, "verify_index", **place))["warnings"] == []

    with open_catalog(config) as catalog:
        ask(catalog, body)


@pytest.mark.parametrize("files", [None, ["README.md"]])
def test_an_index_that_cannot_be_read_is_begun_anew(
    config: Config, tree: Path, files: list[str] | None
) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.checkpointed(file)
    damage.break_file(file)

    async def body(client: Client) -> None:
        error = await refused(client, "search_code", query="session", project_path=str(tree))
        assert error["error"] == "damaged_index"
        answer = await called(
            client, "index_symbol_graph", repository_path=str(tree), force_clean=True, files=files
        )
        assert (answer["status"], answer["files_indexed"]) == ("completed", len(SAMPLE))
        found = await called(client, "search_code", query="session", project_path=str(tree))
        assert found["coverage"]["complete"] is True

    with open_catalog(config) as catalog:
        ask(catalog, body)
