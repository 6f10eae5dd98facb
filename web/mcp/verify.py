"""The tool that checks an index, and mends it when asked."""

from typing import Annotated

from msgspec import Meta

from engine.records import IndexOptions
from engine.state_records import Job, Verification
from web.answers import index
from web.mcp.checkpoints import ProjectPath
from web.mcp.indexing import log_uri
from web.mcp.tool import Answer, Caller, Desk, Given, Tool, record
from web.schemas import as_json
from web.terminal import printable


class VerifyIndex(Given, kw_only=True, frozen=True):
    """What ``verify_index`` takes."""

    project_path: ProjectPath
    repair: Annotated[bool, Meta(description="mend what is damaged and only that")] = False


def tools(desk: Desk) -> tuple[Tool, ...]:
    """Give the tool of the doctor."""
    return (
        Tool(
            name="verify_index",
            title="Check an index",
            description=(
                "Check whether an index is damaged: call it when an answer says damaged_index or "
                "looks wrong, then again with repair. warnings say what was found, "
                "suggested_fixes what to do."
            ),
            takes=VerifyIndex,
            gives=record(
                status="text",
                ok="yes_no",
                warnings="texts",
                suggested_fixes="texts",
                findings="records",
                repaired="texts",
                job_id="text|null",
                logs="record",
            ),
            run=_Doctor(desk).verify,
            waits=True,
        ),
    )


class _Doctor:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def verify(self, given: VerifyIndex, caller: Caller) -> Answer:
        folder = self._desk.projects.root(given.project_path, field="project_path")
        doctor = self._desk.catalog.doctor(folder)
        if not given.repair:
            return _answer(doctor.verify(cancelled=caller.is_gone), (), None)
        repair = doctor.repair(cancelled=caller.is_gone)
        job = self._refilled(folder, caller) if repair.needs_index else None
        return _answer(repair.after, repair.done, job)

    def _refilled(self, folder: str, caller: Caller) -> Job:
        """Have the files read again that a repair has taken out."""
        self._desk.ensure_runner()
        asked = index(
            self._desk.catalog,
            folder,
            IndexOptions(),
            on_change=caller.hear,
            enough=caller.is_gone,
        )
        return asked.job


def _answer(found: Verification, done: tuple[str, ...], job: Job | None) -> Answer:
    content = {
        "status": "completed",
        "ok": found.ok,
        "warnings": list(found.warnings),
        "suggested_fixes": list(found.suggested_fixes),
        "findings": as_json(list(found.findings)),
        "repaired": list(done),
        "job_id": job.job_id if job else None,
        "logs": {"operation_log": found.log, "operation_resource": log_uri(found.log, found.path)},
    }
    lines = [*done, *found.warnings] or ["The index is sound"]
    return Answer(content=content, text="\n".join(map(printable, lines)))
