"""The tool that checks an index and repairs it on request."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple

from msgspec import Meta

from engine.doctor_records import Remedy, Repair, Verification, remedy_of
from engine.errors import EngineError, JobConflictError, ProjectBusyError
from engine.index_records import IndexOptions
from engine.state_records import TERMINAL, Job, JobState
from web.mcp.failures import for_agents, in_tools
from web.mcp.indexing import error_of, following, log_uri, outcome_text
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
from web.operations import WAIT_S, Wait, index
from web.terminal import printable

_POLL_S = 0.2
_NOT_INDEXED = "the files that the repair removed are not indexed again"
_FOUND = ("ok", "warnings", "suggested_fixes", "findings")


class VerifyIndex(Parameters, kw_only=True, frozen=True):
    """Parameters of ``verify_index``."""

    project_path: ProjectPath | None = None
    repair: Annotated[bool, Meta(description="repairs or replaces the file")] = False


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
            destructive=True,
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
            return _answer(doctor.verify(cancelled=caller.cancelled))
        repair = _repaired(partial(doctor.repair, cancelled=caller.cancelled), caller)
        refill = self._refilled(folder, caller) if repair.needs_index else None
        after = repair.after
        if refill and refill.status is JobState.COMPLETED:
            after = _without_indexed(after)
        return _answer(after, repair, refill)

    def _refilled(self, folder: str, caller: Caller) -> "_Refill":
        """Index the files again that the repair has removed; what fails is told beside it."""
        try:
            job = self._refill(folder, caller)
        except EngineError as error:
            told = for_agents(error)
            reason = "; ".join(filter(None, (told.message, told.hint)))
            return _Refill(None, JobState.FAILED, f"{_NOT_INDEXED}: {reason}")
        return _Refill(job, job.status, _note_on(job))

    def _refill(self, folder: str, caller: Caller) -> Job:
        self._context.ensure_runner()
        catalog = self._context.catalog
        try:
            return index(
                catalog,
                folder,
                IndexOptions(),
                Wait(on_change=caller.on_progress, stop=caller.cancelled),
            ).job
        except JobConflictError as conflict:  # the run already requested indexes them as well
            return catalog.jobs.show(str(conflict.details["job_id"]))


class _Refill(NamedTuple):
    """The run that indexes files again which a repair has removed."""

    job: Job | None
    status: JobState
    note: str  # empty if it is done


def _without_indexed(found: Verification) -> Verification:
    """Return a check of before a run, without what that run has restored."""
    gone = [f for f in found.findings if remedy_of(f.code, f.severity) is Remedy.INDEX]
    told, fixes = {f.message for f in gone}, {f.fix for f in gone}
    return replace(
        found,
        findings=tuple(f for f in found.findings if f not in gone),
        warnings=tuple(each for each in found.warnings if each not in told),
        suggested_fixes=tuple(each for each in found.suggested_fixes if each not in fixes),
    )


def _note_on(job: Job) -> str:
    if job.status is JobState.COMPLETED:
        return ""
    if job.status is JobState.FAILED:
        return f"{_NOT_INDEXED}: {error_of(job)['message']}; index_repository tries again"
    return following(job) if job.status not in TERMINAL else outcome_text(job)


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


def _answer(
    found: Verification, repair: Repair | None = None, refill: _Refill | None = None
) -> Answer:
    warnings = tuple(map(in_tools, found.warnings))
    done = repair.done if repair else ()
    kept = repair.kept if repair else ()
    notes = [refill.note] if refill and refill.note else []
    content = {
        "status": refill.status if refill else "completed",
        "ok": found.ok,
        "warnings": warnings,
        "suggested_fixes": tuple(map(in_tools, found.suggested_fixes)),
        "findings": tuple(replace(each, fix=in_tools(each.fix)) for each in found.findings),
        "repaired": done,
        **({"kept": kept, "aside": repair.aside} if repair else {}),
        **({"notes": notes} if notes else {}),
        "job_id": refill.job.job_id if refill and refill.job else None,
        "logs": {"operation_log": found.log, "operation_resource": log_uri(found.log, found.path)},
    }
    told = [f"kept {each}" for each in kept] + [f"note: {each}" for each in notes]
    lines = [*done, *warnings] or ["no damage found"]
    return Answer(content=content, text="\n".join(map(printable, [*lines, *told])))
