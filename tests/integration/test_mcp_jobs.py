"""Runs and jobs as an agent asks for them: figures, logs, failures, and work that goes on."""

from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.locks import runner_lock_file, take_lock
from engine.state_records import JobOrigin
from tests.support.catalogs import open_catalog
from tests.support.mcp_clients import ask, called, read, refused, text_of
from tests.support.trees import SMALL, write_tree


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    return write_tree(tree, SMALL)


def test_a_symbol_graph_has_the_keys_of_the_contract(catalog: Catalog, tree: Path) -> None:
    files: list[str] = []

    async def body(client: Client) -> None:
        answer = await called(client, "index_symbol_graph", repository_path=str(tree))
        assert set(answer) >= {
            "status", "files_indexed", "symbols_extracted", "embeddings_generated",
            "duration_ms", "storage", "logs", "warnings",
        }  # fmt: skip
        assert answer["status"] == "completed"
        assert answer["files_indexed"] == 2
        assert answer["symbols_extracted"] >= 3
        files.append(answer["storage"]["sqlite_path"])
        assert answer["storage"]["sqlite_size_mb"] > 0
        files.append(answer["logs"]["operation_log"])
        log = await read(client, answer["logs"]["operation_resource"])
        assert "INDEX COMPLETE" in log

        (tree / "new.py").write_text("def new():\n    pass\n")
        (tree / "other.py").write_text("def other():\n    pass\n")
        answer = await called(
            client, "index_symbol_graph", repository_path=str(tree), files=["new.py"], include=["x"]
        )
        assert answer["files_indexed"] == 1
        assert any("include" in warning for warning in answer["warnings"])

        answer = await called(
            client, "index_symbol_graph", repository_path=str(tree), force_clean=True, max_workers=2
        )
        assert answer["files_indexed"] == 4
        assert any("max_workers" in warning for warning in answer["warnings"])

    ask(catalog, body)
    assert all(Path(file).is_file() for file in files)


def test_a_symbol_graph_counts_what_is_unchanged_and_skipped(catalog: Catalog, tree: Path) -> None:
    (tree / "photo.png").write_bytes(b"\x89PNG\r\n")

    async def body(client: Client) -> None:
        for indexed, unchanged, rate in ((2, 0, 0), (0, 2, 1)):
            answer = await called(client, "index_symbol_graph", repository_path=str(tree))
            found = tuple(answer[name] for name in ("files_indexed", "files_unchanged"))
            assert (*found, answer["cache_hit_rate"]) == (indexed, unchanged, rate)
            assert (answer["files_skipped"], answer["skipped"]) == (1, {"binary": 1})
        text = await text_of(client, "index_symbol_graph", repository_path=str(tree))
        assert "2 unchanged, 1 skipped" in text
        assert "skipped: binary 1" in text

    ask(catalog, body)


def test_each_requested_file_that_is_not_indexed_has_a_warning(
    catalog: Catalog, tree: Path
) -> None:
    write_tree(tree, {"key.pem": "x\n", "empty/.keep": "", "new.py": "x = 1\n"})
    (tree / "photo.png").write_bytes(b"\x89PNG\r\n")
    (tree.parent / "outside.py").write_text("x = 1\n")
    (tree / "many").mkdir()
    refused = {
        "gone.py": "path does not exist",
        "key.pem": "secret",
        "photo.png": "binary",
        "../outside.py": "path traversal detected",
        "many": "no file",
    }

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        write_tree(tree, {"new.py": "x = 2\n"})
        wanted = ["new.py", *refused]
        arguments = {"repository_path": str(tree), "files": wanted}
        answer = await called(client, "index_symbol_graph", **arguments)
        assert (answer["status"], answer["files_indexed"]) == ("completed", 1)
        for path, reason in refused.items():
            [told] = [each for each in answer["warnings"] if path.lstrip("./") in each]
            assert reason in told
        assert not any("new.py" in warning for warning in answer["warnings"])
        assert "warning: gone.py" in await text_of(client, "index_symbol_graph", **arguments)
        missing = [f"missing{number}.py" for number in range(200)]
        answer = await called(
            client, "index_symbol_graph", repository_path=str(tree), files=missing
        )
        assert len(answer["warnings"]) == 11
        assert answer["warnings"][-1].startswith("190 more")

    ask(catalog, body)


def test_a_symbol_graph_that_fails_says_what_to_do(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        cases: list[tuple[dict[str, object], str]] = [
            ({"repository_path": "/nonexistent"}, "repository_path"),
            ({"repository_path": str(tree), "files": ["../outside.py"]}, "files"),
            ({"repository_path": str(tree), "files": ["/etc/passwd"]}, "files"),
            ({"repository_path": str(tree), "include": ["[x"]}, "include"),
            ({"repository_path": str(tree), "exclude": ["[x"]}, "exclude"),
            ({"repository_path": str(tree), "bogus": 1}, "bogus"),
        ]
        for arguments, field in cases:
            error = await refused(client, "index_symbol_graph", **arguments)
            assert error["error"] == "validation_error"
            assert error["details"]["field"] == field
            assert error["status"] == "failed"
            assert error["errors"] == [error["message"]]
            assert any(field in fix for fix in error["diagnostics"]["suggested_fixes"]), error
            assert set(error["logs"]) == {"operation_log", "operation_resource"}
            assert error["partial_results"]["files_processed"] == 0

    ask(catalog, body)


def test_jobs_are_started_asked_for_listed_and_stopped(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        started = await called(client, "start_indexing_background", repo_path=str(tree))
        assert set(started) == {"job_id", "status", "estimated_seconds", "duplicate"}
        job_id = started["job_id"]
        again = await called(client, "start_indexing_background", repo_path=str(tree))
        assert (again["job_id"], again["duplicate"]) == (job_id, True)
        runner = take_lock(runner_lock_file(catalog.data_dir))
        assert runner
        with runner:  # so that the job in the way is not made to run
            other = await refused(
                client, "start_indexing_background", repo_path=str(tree), force=True
            )
        assert other["error"] == "conflict"
        assert other["details"]["job_id"] == job_id
        status = await called(client, "get_indexing_status", job_id=job_id)
        assert status["status"] == "pending"
        for short in (job_id[-8:], job_id[-8:-3], job_id[:9]):
            shown = await called(client, "get_indexing_status", job_id=short)
            assert shown["job_id"] == job_id
        for short in (job_id[:9], job_id[:-1], job_id[-8:-4]):  # as of any job of the project
            error = await refused(client, "cancel_indexing", job_id=short)
            assert error["details"].get("job_id", short) == short
        stopped = await called(client, "cancel_indexing", job_id=job_id[-8:])
        assert stopped["status"] == "cancelled"
        error = await refused(client, "cancel_indexing", job_id=job_id)
        assert error["error"] == "conflict"
        for unknown in ("nope", "00000000-0000-0000-0000-000000000000"):
            error = await refused(client, "get_indexing_status", job_id=unknown)
            assert error["error"] == "not_found"
            assert "list_indexing_jobs" in error["details"]["hint"]
        await called(client, "index_repository", path=str(tree))
        page = await called(client, "list_indexing_jobs", limit=1)
        assert (len(page["jobs"]), page["total"]) == (1, 2)
        rest = await called(client, "list_indexing_jobs", limit=1, cursor=page["next_cursor"])
        assert rest["jobs"][0]["job_id"] == job_id
        only = await called(client, "list_indexing_jobs", status="completed", target=str(tree))
        assert [job["status"] for job in only["jobs"]] == ["completed"]
        error = await refused(client, "list_indexing_jobs", created_after="yesterday")
        assert error["details"]["field"] == "created_after"

    ask(catalog, body)


def test_active_jobs_of_the_watcher_are_listed_and_finished_ones_are_not(
    config: Config, tree: Path, tmp_path: Path
) -> None:
    other = write_tree(tmp_path / "other", {"a.py": "x = 1\n"})
    with open_catalog(config, runs_jobs=False) as catalog:
        catalog.create(str(tree))
        done = catalog.jobs.submit(str(tree), origin=JobOrigin.WATCH).job_id
        catalog.jobs.cancel(done, reason="for the test")
        watched = catalog.jobs.submit(str(tree), origin=JobOrigin.WATCH).job_id
        asked = catalog.jobs.submit(str(other)).job_id
        finished = [catalog.jobs.submit(str(tmp_path / name)).job_id for name in _folders(tmp_path)]
        for job_id in finished:
            catalog.jobs.cancel(job_id, reason="for the test")

        async def body(client: Client) -> None:
            page = await called(client, "list_indexing_jobs")
            assert [job["job_id"] for job in page["jobs"]] == [*finished[::-1], asked, watched]
            assert page["total"] == len(finished) + 2
            assert page["jobs"][-1]["origin"] == "watch"
            text = await text_of(client, "list_indexing_jobs")
            assert f"{watched} pending" in text
            assert "watcher" in text
            assert done not in text
            first = await called(client, "list_indexing_jobs", limit=2)
            assert [job["job_id"] for job in first["jobs"]] == [*finished[:0:-1], watched]
            rest = await called(client, "list_indexing_jobs", cursor=first["next_cursor"])
            assert [job["job_id"] for job in rest["jobs"]] == [finished[0], asked]
            assert first["total"] == rest["total"] == page["total"]
            for only, ids in (
                ({"status": "pending"}, [asked, watched]),
                ({"status": "cancelled"}, finished[::-1]),
                ({"status": "running"}, []),
                ({"target": str(tree)}, [watched]),
                ({"target": str(other)}, [asked]),
                ({"created_after": "2100-01-01"}, []),
            ):
                found = await called(client, "list_indexing_jobs", **only)
                assert [job["job_id"] for job in found["jobs"]] == ids, only
                assert found["total"] == len(ids)

        ask(catalog, body)


def _folders(tmp_path: Path) -> list[str]:
    """Make folders; their names."""
    names = ["one", "two", "three"]
    for name in names:
        write_tree(tmp_path / name, {"a.py": "x = 1\n"})
    return names
