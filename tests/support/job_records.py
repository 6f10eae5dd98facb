"""Jobs made by hand, for what shows them."""

from dataclasses import replace
from typing import Any

from engine.index_records import Phase
from engine.state_records import Job, JobOrigin, JobState

JOB_ID = "72a5ad47-a4bc-841d-80f1-c5e0876992c0"
CREATED_AT = "2025-10-17T09:00:00.000Z"

_RUNNING = Job(
    job_id=JOB_ID,
    kind="index",
    status=JobState.RUNNING,
    origin=JobOrigin.REQUEST,
    project_id="72a5ad47a4bc" + "0" * 52,
    path="/src/app",
    parameters={
        "exclude_patterns": None,
        "force": False,
        "include_patterns": None,
        "max_file_size": None,
    },
    position=None,
    phase=Phase.PARSING,
    done=250,
    total=1000,
    files_done=250,
    files_total=1000,
    chunks_done=0,
    chunks_total=None,
    current_file="src/app.py",
    rate=125.0,
    elapsed_seconds=2.0,
    eta_seconds=6.0,
    estimated_seconds=8.0,
    waiting=None,
    attempt=1,
    cancel_requested=False,
    flagged=False,
    created_at=CREATED_AT,
    started_at="2025-10-17T09:00:01.000Z",
    finished_at=None,
    heartbeat_at="2025-10-17T09:00:03.000Z",
    result=None,
    error=None,
    counts={"files_indexed": 250, "symbols": 2000, "chunks": 900, "embeddings": 900},
    log=None,
)

_STATES: dict[JobState, dict[str, Any]] = {
    JobState.RUNNING: {},
    JobState.PENDING: {
        "position": 3,
        "phase": None,
        "done": 0,
        "total": None,
        "files_done": 0,
        "files_total": None,
        "current_file": None,
        "rate": None,
        "elapsed_seconds": 0.0,
        "eta_seconds": None,
        "attempt": 0,
        "started_at": None,
        "heartbeat_at": None,
        "counts": {},
    },
    JobState.BLOCKED: {"waiting": "embedding model unavailable: no answer from 127.0.0.1:8080"},
    JobState.COMPLETED: {
        "phase": Phase.FINISHING,
        "done": 1000,
        "files_done": 1000,
        "finished_at": "2025-10-17T09:00:09.000Z",
        "elapsed_seconds": 8.0,
        "result": {
            "files_indexed": 990,
            "files_removed": 3,
            "files_unchanged": 0,
            "files_skipped": 12,
            "files_failed": 10,
            "symbols_extracted": 8000,
            "chunks": 3600,
            "embeddings_generated": 3600,
        },
    },
    JobState.FAILED: {
        "finished_at": "2025-10-17T09:00:03.000Z",
        "error": {
            "error": "unavailable",
            "message": "disk full: no room for 12 MB",
            "details": {"hint": "make room"},
        },
    },
    JobState.CANCELLED: {"finished_at": "2025-10-17T09:00:03.000Z", "cancel_requested": True},
}


def job(status: JobState = JobState.RUNNING, **changes: Any) -> Job:
    """Give a job in a state: 1,000 files, of which 250 are done until it is completed.

    Args:
        status: Its state.
        changes: What else is different.
    """
    idle = {} if status in (JobState.RUNNING, JobState.PENDING) else {"rate": None}
    ended = {"eta_seconds": None, "current_file": None} if status is not JobState.RUNNING else {}
    return replace(_RUNNING, status=status, **{**idle, **ended, **_STATES[status], **changes})
