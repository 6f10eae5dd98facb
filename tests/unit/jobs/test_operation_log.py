"""The log of a job, of rows that a ledger wrote on a database file."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.jobs.ledger import Ledger
from engine.jobs.operation_log import (
    MOST_FILES,
    LogFacts,
    keep_operation_log,
    operation_logs,
    write_operation_log,
)
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import EventRow, JobRow

START_MS = 1_760_034_615_000  # 2025-10-09T18:30:15Z
PROJECT_ID = "ab" * 32
FACTS = LogFacts(root="/home/me/app", size_bytes=15_500_000, model="static", dimension=192)
REPORT: dict[str, object] = {
    "files_indexed": 319,
    "files_removed": 2,
    "files_unchanged": 12,
    "files_skipped": 4,
    "files_failed": 1,
    "symbols_extracted": 3847,
    "chunks": 4100,
    "embeddings_generated": 4100,
    "errors": [{"file": "src/a\nb\x1b[31m.py", "error": "unreadable: permission denied"}],
    "notes": ["one thing to know"],
}


class Story:
    """A project whose job a test leads through its life."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = START_MS
        self.folder = folder / "logs" / PROJECT_ID
        self.store = Store(folder / f"{PROJECT_ID}.db", busy_timeout_ms=1000, create=True)
        with self.store.write() as handle:
            project.insert_project(
                handle, project_id=PROJECT_ID, root=b"/r", max_file_size=1, now_ms=1
            )
        self.ledger = Ledger(self.store, PROJECT_ID, lambda: self.now_ms)

    def begin(self, **parameters: object) -> JobRow:
        row = self.ledger.enqueue(parameters, estimated_ms=240_000).row
        self.after(2)
        return self.claim(row)

    def claim(self, row: JobRow, runner: str = "first") -> JobRow:
        claimed = self.ledger.claim(row, runner)
        assert claimed
        return claimed

    def in_the_same_second(self, count: int) -> list[JobRow]:
        """Jobs that have completed."""
        rows = []
        for _ in range(count):
            self.now_ms = START_MS
            rows.append(self.begin())
            self.ledger.complete(rows[-1], REPORT, {})
        return rows

    def after(self, seconds: int) -> None:
        self.now_ms += seconds * 1000

    def event(self, row: JobRow, type_: str, **context: object) -> None:
        with self.store.write(bookkeeping=True) as handle:
            jobs.append_event(handle, row.id, type_, at_ms=self.now_ms, context=context)

    def row_and_events(self, row: JobRow) -> tuple[JobRow, list[EventRow]]:
        with self.store.read() as handle:
            found = jobs.read_job(handle, row.uuid)
            assert found
            return found, jobs.read_events(handle, row.id, limit=10_000)

    def log(self, row: JobRow) -> Path:
        return write_operation_log(self.folder, *self.row_and_events(row), FACTS)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    made = Story(tmp_path)
    yield made
    made.store.close()


def test_a_job_that_waits_for_its_index_names_the_file(story: Story) -> None:
    row = story.begin()
    error = {"error": "unavailable", "message": "in use", "details": {"file": "/data/a.db"}}
    story.ledger.block(row, "in use by another process", error)
    story.ledger.unblock(row)
    row = story.claim(row, "second")
    story.ledger.complete(row, REPORT, {})
    assert "Reason: in use by another process (/data/a.db)\n" in story.log(row).read_text("utf-8")


def test_a_job_that_was_paused_and_taken_over_and_completed(story: Story) -> None:
    row = story.begin(force=True, include_patterns=["*.py", "*.go"], exclude_patterns=[])
    story.after(3)
    story.event(row, "checkpoint", kind="file_list", files=320, bytes=1_200_000, files_total=320)
    story.after(10)
    story.event(row, "progress", phase="parsing", files_processed=100, files_total=320)
    story.event(row, "checkpoint", kind="position", files_done=100)
    story.after(1)
    story.ledger.block(row, "embedding model unavailable: connection refused", {})
    story.after(35)
    story.ledger.unblock(row)
    story.after(4)
    row = story.claim(row, "second")
    story.after(272)
    story.ledger.complete(row, REPORT, {"counts": '{"files_indexed": 319}'})
    path = story.log(row)
    assert path.name == "completed-2025-10-09-18-35-42.log"
    assert (
        path.read_text("utf-8")
        == f"""\
[2025-10-09T18:30:15Z] INDEX START
Repository: /home/me/app
Job: {row.uuid}
Mode: all files anew, Asked for by: request
Include patterns: *.py, *.go
Estimated: 4m 0s
Waited for its turn: 2.0s

[2025-10-09T18:30:17Z] Embedding
Model: static (192D)

[2025-10-09T18:30:20Z] Scanning
To be read: 320 files, 1.2 MB

[2025-10-09T18:30:30Z] Parsing
Done: 100 of 320 files

[2025-10-09T18:30:31Z] PAUSED
Reason: embedding model unavailable: connection refused
Done: 0 files

[2025-10-09T18:31:06Z] RESUMED
Waited: 35s
Done: 0 files

[2025-10-09T18:31:10Z] RESUMED
The process that ran it had ended
Done: 0 files

[2025-10-09T18:35:42Z] Failed files, left out: 1
src/a\\nb\\x1b[31m.py: unreadable: permission denied

[2025-10-09T18:35:42Z] INDEX COMPLETE
Files indexed: 319
Files removed: 2
Files unchanged: 12
Files skipped: 4
Files failed: 1
Symbols extracted: 3,847
Chunks: 4,100
Embeddings generated: 4,100 (192D)
Note: one thing to know
Tries: 2
Duration: 5m 25s
Index size: 15.5 MB
"""
    )


def test_a_failed_job_says_what_happened_and_what_to_do(story: Story) -> None:
    row = story.begin()
    story.after(65)
    error = {
        "error": "unavailable",
        "message": "no room to write the index",
        "details": {"hint": "free some disk space", "traceback": ["secret = 'hunter2'"]},
    }
    story.ledger.fail(row, error, {"files_done": 40, "files_total": 90, "counts": '{"chunks": 7}'})
    text = story.log(row).read_text("utf-8")
    assert "INDEX FAILED\nDone: 40 of 90 files\nChunks: 7\n" in text
    assert "Error: unavailable: no room to write the index\n" in text
    assert "What to do: free some disk space\nDuration: 1m 5s\n" in text
    assert "hunter2" not in text


def test_a_job_that_never_began(story: Story) -> None:
    row = story.ledger.enqueue({}).row
    story.ledger.request_cancel(row.uuid, reason="a request goes first")
    path = story.log(row)
    text = path.read_text("utf-8")
    assert path.name.startswith("cancelled-")
    assert "CANCEL REQUESTED\nReason: a request goes first\n" in text
    assert "INDEX CANCELLED\n" in text
    assert "Duration" not in text


def test_long_lists_are_cut(story: Story) -> None:
    row = story.begin()
    for number in range(1000):
        story.event(row, "progress", phase="parsing", files_processed=number)
    errors = [{"file": f"f{number}", "error": "x"} for number in range(MOST_FILES + 234)]
    story.ledger.complete(row, {"errors": errors}, {})
    text = story.log(row).read_text("utf-8")
    assert "and 234 more\n" in text
    assert f"f{MOST_FILES - 1}: x\n" in text
    assert f"f{MOST_FILES}: x\n" not in text
    assert text.count("Parsing\n") == 20
    assert "Done: 999 files" in text


def test_only_the_user_can_read_it_and_nothing_is_left_beside_it(story: Story) -> None:
    row = story.begin()
    story.ledger.complete(row, REPORT, {})
    path = story.log(row)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(story.folder.stat().st_mode) == 0o700
    assert [file.name for file in story.folder.iterdir()] == [path.name]


def test_two_jobs_of_the_same_second_have_a_log_each(story: Story) -> None:
    names = []
    for _ in range(3):
        row = story.ledger.enqueue({}).row
        story.ledger.request_cancel(row.uuid)
        names.append(story.log(row).name)
    stem = "cancelled-2025-10-09-18-30-15"
    assert names == [f"{stem}.log", f"{stem}-2.log", f"{stem}-3.log"]
    (story.folder / "verify-2025-10-09-18-30-14.log").write_text("verified")
    (story.folder / "notes.log").write_text("not ours")
    (story.folder / f".{stem}.log.17").write_text("half")
    logs = operation_logs(story.folder)
    assert [log.name for log in logs] == [*reversed(names), "verify-2025-10-09-18-30-14.log"]
    assert (logs[-1].status, logs[-1].ended_at) == ("verify", "2025-10-09T18:30:14Z")
    assert (logs[-1].size_bytes, logs[-1].path.read_text()) == (8, "verified")
    assert operation_logs(story.folder / "missing") == ()


def test_a_log_is_kept_once_and_noted_in_its_job(story: Story) -> None:
    row = story.begin()
    assert keep_operation_log(story.store, story.folder, "/r", row.uuid) is None
    story.ledger.complete(row, REPORT, {})
    path = keep_operation_log(story.store, story.folder, "/r", row.uuid)
    assert path
    assert story.ledger.find(row.uuid).log == path.name
    assert keep_operation_log(story.store, story.folder, "/r", row.uuid) == path
    assert len(operation_logs(story.folder)) == 1
    assert "Index size: " in path.read_text("utf-8")


def test_a_log_that_its_row_does_not_name_yet_is_not_written_twice(story: Story) -> None:
    """Its writer died in between; another job that ended in the same second has its own."""
    rows = story.in_the_same_second(2)
    paths = [story.log(row) for row in rows]
    assert paths[0] != paths[1]
    assert [story.log(row) for row in rows] == paths
    assert [log.path for log in operation_logs(story.folder)] == paths[::-1]


def test_a_log_that_cannot_be_written_leaves_the_job_as_it_is(story: Story) -> None:
    row = story.begin()
    story.ledger.complete(row, REPORT, {})
    story.folder.parent.write_text("a file where the folder is to be")
    assert keep_operation_log(story.store, story.folder, "/r", row.uuid) is None
    found = story.ledger.find(row.uuid)
    assert (found.state, found.log) == ("completed", None)


def test_a_write_that_fails_leaves_no_half_of_a_log(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    *rows, last = story.in_the_same_second(3)

    def no_links(_source: object, _target: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)  # as on a file system without links
    names = [story.log(row).name for row in rows]
    assert names == ["completed-2025-10-09-18-30-17.log", "completed-2025-10-09-18-30-17-2.log"]

    def full(_source: object, _target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        story.log(last)
    assert sorted(file.name for file in story.folder.iterdir()) == sorted(names)
