"""The text of a tool's error, which is all that clients give to a model."""

from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from engine.catalog import Catalog
from engine.config import Config
from engine.locks import runner_lock_file, take_lock
from engine.roots import project_id_of
from engine.state_records import JobOrigin
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.mcp_clients import ask, called, read, refusal_text, refused, text_of
from tests.support.trees import SMALL, write_tree


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    return write_tree(tree, SMALL)


def test_an_unknown_or_ambiguous_project_lists_the_projects(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    twins = [tmp_path / parent / "twin" for parent in ("a", "b")]
    for twin in twins:
        write_tree(twin, {"twin.py": "def twin():\n    pass\n"})

    async def body(client: Client) -> None:
        for root in (tree, *twins):
            await called(client, "index_repository", path=str(root))
        for given in ("/nowhere", "unknown", None):
            text = await refusal_text(client, "search_code", query="parse", project_path=given)
            assert all(str(root) in text for root in (tree, *twins))
            assert "project_path" in text
        assert 'index_repository with path "/nowhere"' in await refusal_text(
            client, "find_symbol", name="parse", project_path="/nowhere"
        )
        text = await refusal_text(client, "search_code", query="parse", project_path="twin")
        assert all(str(twin) in text for twin in twins)
        assert str(tree) not in text

    ask(catalog, body)


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        (
            "search_code",
            {"query": "a", "mode": "fuzzy"},
            "mode: 'fuzzy' is none of hybrid, keyword, meaning, regex, symbol",
        ),
        ("search_code", {"query": "a", "mode": "x" * 200_000}, "… is none of hybrid, keyword,"),
        ("search_code", {"query": ""}, "query: expected at least 1 character"),
        ("search_code", {"query": 5}, "query: expected text, got a whole number"),
        ("search_code", {"query": "a", "limit": 0}, "limit: expected 1 or more"),
        ("search_code", {"query": "a", "limit": 101}, "limit: expected 100 or less"),
        (
            "start_indexing_background",
            {"repo_path": "a", "force": 1},
            "force: expected true or false, got a whole number",
        ),
        ("checkpoint_search", {"tags": "a", "query": "a"}, "tags: expected a list, got text"),
        ("list_indexing_jobs", {"status": "done"}, "status: 'done' is none of blocked, cancelled,"),
        ("find_references", {"name": "a", "direction": "up"}, "'up' is none of bases, callees,"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_said_in_plain_words(
    catalog: Catalog, tree: Path, tool: str, arguments: dict[str, object], problem: str
) -> None:
    async def body(client: Client) -> None:
        text = await refusal_text(client, tool, **arguments)
        assert problem in text
        assert len(text) < 1_000

    ask(catalog, body)


def test_a_bad_pattern_is_told_as_text(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(MCPError, match=r"invalid pattern: missing \): \("):
            await read(client, "logs://server?pattern=(")

    ask(catalog, body)


def test_fixes_and_what_was_kept_are_told(config: Config, tree: Path) -> None:
    catalog = open_catalog(config, runs_jobs=False)

    async def body(client: Client) -> None:
        text = await refusal_text(
            client, "index_symbol_graph", repository_path=str(tree), include=["[x"]
        )
        assert "field: include" in text
        await called(client, "start_indexing_background", repo_path=str(tree), force=True)
        text = await refusal_text(client, "index_symbol_graph", repository_path=str(tree))
        job_id = catalog.jobs.list().jobs[0].job_id
        assert f'cancel_indexing with job_id "{job_id}"' in text
        assert "get_indexing_status" in text
        assert "files_processed: 0" in text
        await called(client, "cancel_indexing", job_id=job_id)
        text = await refusal_text(client, "cancel_indexing", job_id=job_id)
        assert f"job_id: {job_id}" in text
        assert "status: cancelled" in text

    with catalog:
        runner = take_lock(runner_lock_file(config.data_dir))
        assert runner
        with runner:  # so that the job in the way is not made to run
            ask(catalog, body)


def test_a_failed_job_tells_its_log_and_what_is_kept(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
        job = catalog.jobs.submit(str(tree), origin=JobOrigin.REQUEST)
        ledger = catalog.open(str(tree)).for_jobs().ledger
        claimed = ledger.claim(ledger.find(job.job_id), "another")
        assert claimed
        details = {"hint": f"cairn doctor {tree} --repair"}
        error = {"error": "damaged_index", "message": "it is damaged", "details": details}
        ledger.fail(claimed, error, {})

        async def body(client: Client) -> None:
            told = await called(client, "get_indexing_status", job_id=job.job_id)
            assert told["error"]["details"]["hint"] == "verify_index with repair"
            text = await text_of(client, "get_indexing_status", job_id=job.job_id)
            assert "verify_index with repair" in text
            assert "can be searched" in text

        ask(catalog, body)


def test_no_hint_and_no_note_names_a_command(config: Config, tree: Path, tmp_path: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tmp_path / "tree"))  # registered, and nothing is indexed

        async def body(client: Client) -> None:
            place = {"project_path": str(tree)}
            answer = await called(client, "search_code", query="parse", **place)
            assert any("index_repository" in note for note in answer["notes"])
            texts = [
                await text_of(client, "search_code", query="parse", **place),
                await refusal_text(client, "find_related", path="none.py", line=1, **place),
                await refusal_text(client, "find_related", path="app.py", line=1, **place),
                await refusal_text(client, "get_indexing_status", job_id="nope"),
                str(answer),
            ]
            assert [text for text in texts if "cairn " in text] == []

        ask(catalog, body)


def test_why_a_file_is_not_found_is_told(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {".env": "KEY=abc\n", "node_modules/a/index.js": "x = 1\n", "web/a.py": ""})
    catalog.create(str(tree)).index()
    (tree / "new.py").write_text("x = 1\n")
    reasons = {
        ".env": ("secret_file", "keys or credentials"),
        str(tree / ".env"): ("secret_file", "keys or credentials"),
        "node_modules/a/index.js": ("default_excluded", "include_patterns"),
        "new.py": (None, "after the last indexing run"),
        "none.py": (None, "no such path"),
    }

    async def body(client: Client) -> None:
        place = {"project_path": str(tree)}
        for path, (reason, detail) in reasons.items():
            for tool, asked in (
                ("outline", {"path": path}),
                ("find_related", {"path": path, "line": 1}),
                ("find_impact", {"path": path}),
            ):
                error = await refused(client, tool, **place, **asked)
                assert error["error"] == "not_found", (tool, path)
                assert error["details"].get("reason") == reason, (tool, path)
                assert detail in error["details"]["detail"], (tool, path)
                assert "--" not in error["details"]["detail"]
                text = await refusal_text(client, tool, **place, **asked)
                assert error["details"]["detail"] in text
        folder = await refused(client, "find_related", **place, path="web", line=1)
        assert "detail" not in folder["details"]
        with pytest.raises(MCPError) as raised:
            await read(client, "symbols://file/.env")
        assert raised.value.data["details"]["reason"] == "secret_file"

    ask(catalog, body)


def test_why_a_path_has_no_hits_is_told(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {".env": "KEY=abc\n", "node_modules/a/index.js": "x = 1\n"})
    catalog.create(str(tree)).index()

    async def body(client: Client) -> None:
        for asked, told in (
            ({"query": "key", "path": ".env"}, ".env: not indexed: secret file: "),
            ({"query": "key path:.env"}, ".env: not indexed: secret file: "),
            ({"query": 'path:"node_modules/a" x'}, "node_modules/a: not indexed: default excluded"),
        ):
            notes = (await called(client, "search_code", **asked))["notes"]
            assert any(told in note for note in notes), (asked, notes)
            assert told in await text_of(client, "search_code", **asked)
        for asked in (
            {"query": "parse path:*.env"},
            {"query": "zzzzzz -path:.env"},
            {"query": "zzzzzz path:none"},
            {"query": "zzzzzz", "mode": "keyword", "path": "app.py"},
            {"query": "parse"},
        ):
            notes = (await called(client, "search_code", **asked)).get("notes", [])
            assert not any("not indexed" in note for note in notes), (asked, notes)

    ask(catalog, body)


def test_damage_is_repaired_by_tools(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.checkpointed(file)
    damage.run(file, "DELETE FROM chunk_terms")

    async def body(client: Client) -> None:
        found = await called(client, "verify_index", project_path=str(tree))
        assert found["suggested_fixes"][0].startswith("verify_index with repair")
        assert "cairn " not in str({name: found[name] for name in found if name != "logs"})
        text = await text_of(client, "verify_index", project_path=str(tree))
        assert "verify_index with repair" in text
        assert "cairn " not in text

    with open_catalog(config) as catalog:
        ask(catalog, body)
    damage.break_file(file)

    async def unreadable(client: Client) -> None:
        text = await refusal_text(client, "search_code", query="parse", project_path=str(tree))
        assert "verify_index with repair" in text

    with open_catalog(config) as catalog:
        ask(catalog, unreadable)
