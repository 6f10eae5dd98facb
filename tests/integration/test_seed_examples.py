"""Inputs, answers and errors have the keys and types of the examples they are promised to be like.

The tables below are those examples as shapes. What stands behind ``|`` is named in the product's
own description; nothing else may be added.
"""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config, load_config
from engine.roots import project_id_of
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.json_shapes import Shape, differences, shape_of_schema
from tests.support.mcp_calls import HANGS
from tests.support.mcp_clients import ask, called, read, refused
from tests.support.permissions import permissions_hold
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree
from web.mcp.indexing import answer_of

OWN: dict[str, Any] = {"project_path?": str, "limit?": int, "max_tokens?": int}
INPUTS: dict[str, Shape] = {
    "index_repository": {
        "path": str, "include_patterns?": [str], "exclude_patterns?": [str], "max_file_size?": int,
        "branch?": str,
    },
    "checkpoint_search": {"query": str, "tags?": [str]} | OWN,
    "checkpoint_list": {"cursor?": str} | OWN,
    "index_symbol_graph": {
        "repository_path": str, "files?": [str], "include?": [str], "exclude?": [str],
        "force_clean?": bool, "max_workers?": int,
    },
}  # fmt: skip
FAILED_FILE: Shape = {"file": str, "error": str}
INDEXED: dict[str, Any] = {
    "path": str,
    "files_indexed": int,
    "include_patterns": [str],
    "exclude_patterns": [str],
    "max_file_size": int,
    "indexed_at": str,
} | {"status": str, "job_id": str, "files_failed": int, "errors": [FAILED_FILE]} | {
    "files_unchanged": int, "files_skipped": int,
}  # fmt: skip
REPORT = INDEXED | {"skipped?": dict, "log_resource": str}
CHECKPOINT: dict[str, Any] = {
    "id": str,
    "summary": str,
    "description": str,
    "project_path": str,
    "context": {"indexed_file": str},
    "tags": [str],
    "token_count": int,
    "created_at": str,
    "updated_at": str,
}
LOGS: Shape = {"operation_log": str, "operation_resource": str}
GRAPH: dict[str, Any] = {
    "status": str,
    "files_indexed": int,
    "files_unchanged": int,
    "files_skipped": int,
    "skipped?": dict,
    "symbols_extracted": int,
    "embeddings_generated": int,
    "duration_ms": int,
    "cache_hit_rate": (float, int),
    "storage": {"sqlite_path": str, "sqlite_size_mb": float},
    "logs": LOGS,
    "warnings": [str],
}
GRAPH_FAILED: dict[str, Any] = {
    "status": str,
    "errors": [str],
    "logs": {"operation_log": (str, type(None)), "operation_resource": (str, type(None))},
    "partial_results": {
        "files_processed": int, "symbols_extracted": int, "embeddings_generated": int,
    },
} | {"error": str, "message": str, "details": dict}  # fmt: skip
VERIFIED: dict[str, Any] = {"status": str, "warnings": [str], "logs": LOGS} | {
    "ok": bool, "suggested_fixes": [str], "findings": [dict], "repaired": [str],
    "job_id": (str, type(None)),
}  # fmt: skip


def error_with(**details: Shape) -> Shape:
    """Give the shape of an error."""
    return {"error": str, "message": str, "details": details}


@pytest.fixture
def tree(tree: Path) -> Path:
    return write_tree(tree, SAMPLE)


def test_inputs(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = {name: shape_of_schema(tools[name].input_schema) for name in INPUTS}
        assert found == INPUTS
        output = tools["index_repository"].output_schema
        assert output
        described = shape_of_schema(output)
        assert isinstance(described, dict)
        kinds = {name.rstrip("?"): kind for name, kind in described.items() if name != "skipped?"}
        assert kinds == {**INDEXED, "errors": [dict]}
        path = tools["index_repository"].input_schema["properties"]["path"]
        assert (path["type"], path["minLength"]) == ("string", 1)
        told = tools["index_symbol_graph"].description or ""
        for word in ("incremental", "files", "include", "exclude", "damaged", "force_clean"):
            assert word in told
        assert "symbols://list with project://./structure" in told
        assert "suggested_fixes" in told

    ask(catalog, body)


def test_a_repository_that_is_indexed(catalog: Catalog, tree: Path) -> None:
    requests: list[dict[str, Any]] = [
        {"include_patterns": ["*.md"]},
        {
            "include_patterns": ["*.go", "*.js", "*.py"],
            "exclude_patterns": ["*_test.go", "node_modules/**", "__pycache__/**"],
            "max_file_size": 524288,
        },
    ]

    async def body(client: Client) -> None:
        for request, files in zip(requests, (1, 4), strict=True):
            asked_at = datetime.now(UTC)
            answer = await called(client, "index_repository", path=str(tree), **request)
            assert differences(answer, REPORT) == []
            assert sum(answer.get("skipped", {}).values()) == answer["files_skipped"]
            assert (answer["path"], answer["files_indexed"]) == (str(tree), files)
            whole = {"exclude_patterns": [], "max_file_size": 1048576} | request
            assert {name: answer[name] for name in whole} == whole
            indexed_at = datetime.fromisoformat(answer["indexed_at"])
            assert indexed_at.tzname() == "UTC"
            moment = timedelta(milliseconds=1)  # to which times are told
            assert asked_at - moment <= indexed_at <= datetime.now(UTC) + moment

    ask(catalog, body)


def test_a_repository_of_which_a_file_fails(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tree, {"poison.py": "y = 2\n"})
    monkeypatch.setenv("CAIRN_FAULT", "die:inspect:poison.py")

    async def body(client: Client) -> None:
        answer = await called(client, "index_repository", path=str(tree))
        assert differences(answer, REPORT) == []
        assert (answer["files_indexed"], answer["files_failed"]) == (len(SAMPLE), 1)
        [error] = answer["errors"]
        assert error["file"] == "poison.py"

    ask(catalog, body)


REFUSED: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "path": (
        {"path": "/nonexistent/path"},
        "path does not exist",
        {"field": "path", "path": "/nonexistent/path"},
    ),
    "pattern": (
        {"include_patterns": ["[invalid"]},
        "invalid include pattern",
        {"field": "include_patterns", "pattern": "[invalid"},
    ),
    "size": (
        {"max_file_size": 20971520},
        "max_file_size too large",
        {"field": "max_file_size", "max_allowed": 10485760, "provided": 20971520},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_indexed(catalog: Catalog, tree: Path, name: str) -> None:
    arguments, message, details = REFUSED[name]

    async def body(client: Client) -> None:
        error = await refused(client, "index_repository", **{"path": str(tree), **arguments})
        assert differences(error, error_with(**{key: type(details[key]) for key in details})) == []
        assert (error["error"], error["details"]) == ("validation_error", details)
        assert error["message"] == message

    ask(catalog, body)


def test_paths_that_lead_out(catalog: Catalog, tree: Path) -> None:
    (tree.parent / "outside.py").write_text("x = 1\n")

    async def body(client: Client) -> None:
        for path in ("../outside.py", "app/../../outside.py", "../../../../../../../etc/passwd"):
            error = await refused(
                client, "index_symbol_graph", repository_path=str(tree), files=[path]
            )
            assert error["error"] == "validation_error"
            assert error["message"] == f"path traversal detected: {tree}/{path}"
            assert error["details"] == {"field": "files", "path": f"{tree}/{path}"}
        assert all(project.files == 0 for project in catalog.projects())

    ask(catalog, body)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder whose job takes its time."""
    return str(write_tree(tmp_path_factory.mktemp("slow") / "tree", {"slow.py": "x = 1\n"}))


@pytest.fixture(scope="module")
def client(slow: str) -> Iterator[httpx.Client]:
    """A client of a server over HTTP."""
    folder = Path(slow).parent
    variables = {"CAIRN_WORKERS": "1", **HANGS}
    command = Command(home=folder / "home", folder=folder, variables=variables)
    with serving(command, "--no-watch") as server, server.client() as client:
        yield client


@pytest.mark.parametrize("name", REFUSED)
def test_statuses(client: httpx.Client, slow: str, name: str) -> None:
    arguments, message, details = REFUSED[name]
    answer = client.post("/api/v1/projects", json={"path": slow, **arguments})
    error = answer.json()
    assert answer.status_code == 400
    assert (error["error"], error["details"]) == ("validation_error", details)
    assert error["message"] == message


def test_the_status_of_too_little_time(client: httpx.Client, slow: str) -> None:
    answer = client.post("/api/v1/projects", json={"path": slow, "timeout_s": 0.1})
    error = answer.json()
    assert (answer.status_code, error["error"]) == (504, "timeout_error")
    assert error["message"] == "repository indexing timed out"
    shape = error_with(timeout=str, timeout_s=float, job_id=str, hint=str)
    assert differences(error, shape) == []
    assert error["details"]["timeout"] == "100ms"


def test_who_does_not_wait_is_answered_at_once(client: httpx.Client, slow: str) -> None:
    asked = {"path": slow, "wait": False, "timeout_s": 300}
    answer = client.post("/api/v1/projects", json=asked)
    assert (answer.status_code, answer.json()["result"]) == (202, None)


def test_the_state_of_a_server_whose_job_goes_on(client: httpx.Client, slow: str) -> None:
    asked = {"path": slow, "wait": False}
    job_id = client.post("/api/v1/projects", json=asked).json()["job_id"]
    ask_until(client, f"/api/v1/jobs/{job_id}", status="running")
    told = client.get("/health").json()
    assert told["active_jobs"] == 1
    age_s = told["oldest_running_age_seconds"]
    until(lambda: client.get("/health").json()["oldest_running_age_seconds"] > age_s, within_s=5)


def test_checkpoints(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        place = {"project_path": str(tree)}
        listed = (await called(client, "checkpoint_list", **place, limit=50))["checkpoints"]
        query = {"query": "who opens a session", "tags": ["indexed", ".py"], **place}
        found = (await called(client, "checkpoint_search", **query))["checkpoints"]
        assert len(listed) == len(SAMPLE)
        assert found
        for each in listed:
            assert differences(each, CHECKPOINT) == []
            path = each["context"]["indexed_file"]
            assert each["summary"] == f"Indexed file: {path}"
            assert each["description"] == SAMPLE[path]
            assert each["tags"][:3] == ["indexed", "repository", Path(path).suffix]
            assert str(uuid.UUID(each["id"])) == each["id"]
        for each in found:
            assert differences(each, CHECKPOINT | {"score": float}) == []
            assert {"indexed", ".py"} <= set(each["tags"])

    ask(catalog, body)


def test_a_symbol_graph(catalog: Catalog, tree: Path) -> None:
    requests: list[dict[str, Any]] = [
        {"files": ["app/session.py", "README.md"]},
        {"include": ["app/**/*.py"], "exclude": ["**/*.test.py", "**/*.spec.py"]},
        {"force_clean": True},
    ]

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        for path in ("app/session.py", "README.md", "cmd/server/main.go"):
            (tree / path).write_text(f"{SAMPLE[path]}\n")
        for request, files in zip(requests, (2, 0, 2), strict=True):
            answer = await called(
                client, "index_symbol_graph", repository_path=str(tree), **request
            )
            assert differences(answer, GRAPH) == []
            assert (answer["status"], answer["files_indexed"]) == ("completed", files)
            file = Path(answer["storage"]["sqlite_path"])
            stored = sum(each.stat().st_size for each in (file, *file.parent.glob("*.db-wal")))
            assert answer["storage"]["sqlite_size_mb"] == pytest.approx(stored / 1e6, rel=0.5)
            assert "INDEX COMPLETE" in await read(client, answer["logs"]["operation_resource"])

    ask(catalog, body)


def test_a_symbol_graph_that_goes_on(catalog: Catalog, tree: Path) -> None:
    job = catalog.jobs.show(catalog.jobs.submit(str(tree)).job_id)  # which nobody runs
    answer = answer_of(catalog, job, []).content
    running = {"task_id": str, "cache_hit_rate": type(None), "logs": GRAPH_FAILED["logs"]}
    assert differences({**answer, "status": str(answer["status"])}, GRAPH | running) == []
    assert answer["task_id"] == job.job_id


def test_a_symbol_graph_whose_job_fails(catalog: Catalog, tree: Path) -> None:
    job_id = catalog.jobs.submit(str(tree)).job_id
    tree.rename(tree.parent / "elsewhere")
    catalog.jobs.follow(job_id)
    until(lambda: catalog.jobs.show(job_id).log is not None)
    answer = answer_of(catalog, catalog.jobs.show(job_id), [])
    diagnostics: Shape = {
        "code": str, "job_id": str, "log": str, "sqlite_path": str, "suggested_fixes": [str],
        "kept": str,
        "field?": str, "path?": str, "reason?": str,  # by which part of the run misses it first
    }  # fmt: skip
    assert differences(answer.content, GRAPH_FAILED | {"diagnostics": diagnostics}) == []
    assert answer.is_error
    assert answer.content["errors"] == [answer.content["message"]]
    logs = answer.content["logs"]
    assert isinstance(logs, dict)
    assert "INDEX FAILED" in Path(logs["operation_log"]).read_text("utf-8")


def diagnostics_of(config: Config, tree: Path, **diagnostics: Shape) -> dict[str, Any]:
    """Have a symbol graph fail, and give the diagnostics, which must be of a shape."""
    found: list[dict[str, Any]] = []

    async def body(client: Client) -> None:
        found.append(await refused(client, "index_symbol_graph", repository_path=str(tree)))

    with open_catalog(config) as catalog:
        ask(catalog, body)
    [error] = found
    assert differences(error, GRAPH_FAILED | {"diagnostics": diagnostics}) == []
    assert (error["status"], error["errors"]) == ("failed", [error["message"]])
    assert error["diagnostics"]["suggested_fixes"]
    diagnosed: dict[str, Any] = error["diagnostics"]
    return diagnosed


def test_a_model_that_is_away(tmp_path: Path, tree: Path) -> None:
    config = load_config(tmp_path / "home", workers=1, model="openai:m@http://127.0.0.1:1")
    embedding = {"model": str, "status": str}
    found = diagnostics_of(
        config,
        tree,
        code=str,
        embedding=embedding,
        connection_error=str,
        sqlite_path=str,
        suggested_fixes=[str],
    )
    assert found["embedding"]["status"] == "unavailable"
    assert "127.0.0.1:1" in found["connection_error"]
    assert "refused" in found["connection_error"]


def test_a_database_that_may_not_be_written(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    with permissions_hold():
        config.data_dir.chmod(0o500)
        for file in config.data_dir.glob("*.db*"):
            file.chmod(0o400)
        found = diagnostics_of(
            config, tree, code=str, sqlite_path=str, permission_issues=[str], suggested_fixes=[str]
        )
        config.data_dir.chmod(0o700)
    assert found["sqlite_path"] == str(config.data_dir / f"{project_id_of(str(tree))}.db")
    assert found["sqlite_path"] in found["permission_issues"][0]


def test_damage_that_is_found(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    damage.checkpointed(file)
    damage.run(file, "DELETE FROM chunk_terms")

    async def body(client: Client) -> None:
        answer = await called(client, "verify_index", project_path=str(tree))
        assert differences(answer, VERIFIED) == []
        assert (answer["status"], answer["ok"]) == ("completed", False)
        assert answer["warnings"]
        assert any("repair" in fix for fix in answer["suggested_fixes"])
        name = Path(answer["logs"]["operation_log"]).name
        assert name.startswith("verify-")
        assert "VERIFY COMPLETE" in await read(client, answer["logs"]["operation_resource"])

    with open_catalog(config) as catalog:
        ask(catalog, body)
