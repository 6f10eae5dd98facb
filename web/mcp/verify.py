"""The tool that checks an index and repairs it on request."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated

from msgspec import Meta

from engine.doctor_records import Repair, Verification
from engine.errors import ProjectBusyError
from engine.index_records import IndexOptions
from engine.state_records import Job
from web.mcp.failures import in_tools
from web.mcp.indexing import log_uri
from web.mcp.tool import (
    Answer,
    Caller,
    Parameters,
    ProjectPath,
    Tool,
    ToolContext,
    fields_in,
    record,
)
from web.operations import WAIT_S, index
from web.terminal import printable

_POLL_S = 0.2
_FOUND = ("ok", "warnings", "suggested_fixes", "findings")


class VerifyIndex(Parameters, kw_only=True, frozen=True):
    """Parameters of ``verify_index``."""

    project_path: ProjectPath | None = None
    repair: Annotated[bool, Meta(description="only what is damaged")] = False


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool that checks an index."""
    return (
        Tool(
            name="verify_index",
            title="Check an index",
            description=(
                "Check an index after the error damaged_index or a wrong answer, then again with "
                "repair. suggested_fixes says what to do."
            ),
            parameters=VerifyIndex,
            output_schema=record(
                status="text",
                **fields_in(Verification, *_FOUND),
                repaired="texts",
                job_id="text|null",
                logs="record",
            ),
            run=_Doctor(context).verify,
            long_running=True,
        ),
    )


class _Doctor:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def verify(self, params: VerifyIndex, caller: Caller) -> Answer:
        folder = self._context.projects.root(
            params.project_path, caller, field="project_path", by_part=not params.repair
        )
        doctor = self._context.catalog.doctor(folder)
        if not params.repair:
            return _answer(doctor.verify(cancelled=caller.cancelled), (), None)
        repair = _repaired(partial(doctor.repair, cancelled=caller.cancelled), caller)
        job = self._reindex(folder, caller) if repair.needs_index else None
        return _answer(repair.after, repair.done, job)

    def _reindex(self, folder: str, caller: Caller) -> Job:
        """Index the files again that the repair has removed."""
        self._context.ensure_runner()
        requested = index(
            self._context.catalog,
            folder,
            IndexOptions(),
            on_change=caller.on_progress,
            stop_waiting=caller.cancelled,
        )
        return requested.job


def _repaired(repair: Callable[[], Repair], caller: Caller) -> Repair:
    """Repair an index; a run over it is waited for."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            return repair()
        except ProjectBusyError:
            if time.monotonic() >= deadline_s or caller.cancelled():
                raise
            time.sleep(_POLL_S)


def _answer(found: Verification, done: tuple[str, ...], job: Job | None) -> Answer:
    warnings = tuple(map(in_tools, found.warnings))
    content = {
        "status": "completed",
        "ok": found.ok,
        "warnings": warnings,
        "suggested_fixes": tuple(map(in_tools, found.suggested_fixes)),
        "findings": tuple(replace(each, fix=in_tools(each.fix)) for each in found.findings),
        "repaired": done,
        "job_id": job.job_id if job else None,
        "logs": {"operation_log": found.log, "operation_resource": log_uri(found.log, found.path)},
    }
    lines = [*done, *warnings] or ["no damage found"]
    return Answer(content=content, text="\n".join(map(printable, lines)))
