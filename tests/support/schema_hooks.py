"""What Schemathesis is told beyond the description: real folders and ids, and what else must hold.

Schemathesis imports it by the name in ``SCHEMATHESIS_HOOKS``; folders stand in ``CAIRN_TREES``,
ids of jobs that have ended in ``CAIRN_JOBS``, of one that waits for ever in ``CAIRN_WAITING``, of
one that was cancelled in ``CAIRN_CANCELLED``, and a commit of the first folder in ``CAIRN_COMMIT``.
"""

import os
import zlib
from pathlib import Path
from typing import Any

import schemathesis

from engine.memory_records import MAX_TAGS
from engine.roots import project_id_of

#: Lists in queries, and how long they may be.
_MOST_ITEMS = {"project": 100, "tags": MAX_TAGS}
_FILES = ["app/session.py", "README.md", "cmd/server/main.go"]
_FOLDERS = sorted(map(str, Path(os.environ["CAIRN_TREES"]).iterdir()))
_JOBS = os.environ["CAIRN_JOBS"].split()
#: What a job can be asked only in one state, and a job in that state.
_JOBS_IN_STATE = {
    "/api/v1/jobs/{job_id}/cancel": os.environ["CAIRN_WAITING"],
    "/api/v1/jobs/{job_id}/retry": os.environ["CAIRN_CANCELLED"],
}
_MEMORIES: list[str] = []  # of the project that stays
_CONTEXTS: list[str] = []


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    """Let most of the requests that are right be about what is there, and some of it stay there."""
    kept = _FOLDERS[0]
    number = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode())
    other = _folder_for(case)
    of_project = bool(case.path_parameters) and "project_id" in case.path_parameters
    changes = of_project and case.method != "GET" and "/memories" not in case.path
    if changes and case.path_parameters["project_id"] == project_id_of(kept):
        case.path_parameters["project_id"] = project_id_of(other)  # known from an earlier answer
    if not _is_right(case):
        return
    if isinstance(case.body, dict) and "path" in case.body and case.path == "/api/v1/projects":
        case.body["path"] = other
        case.body.pop("timeout_s", None)  # a time that is over is a 504, as it should be
    if isinstance(case.body, dict) and case.path == "/api/v1/contexts":
        case.body["projects"] = [kept]
    if case.path in _JOBS_IN_STATE:
        case.path_parameters["job_id"] = _JOBS_IN_STATE[case.path]
        return
    if case.meta.phase.name.value == "stateful" or number // 8 % 4 == 0:
        return
    if of_project:
        stays = case.method == "GET" or "/memories" in case.path
        case.path_parameters["project_id"] = project_id_of(kept if stays else other)
        if "memory_id" in case.path_parameters and _MEMORIES:
            case.path_parameters["memory_id"] = _MEMORIES[number % len(_MEMORIES)]
        if case.path.endswith("/commits/{name}"):
            case.path_parameters["name"] = os.environ["CAIRN_COMMIT"]
        if case.query and "path" in case.query:
            case.query["path"] = _FILES[number % len(_FILES)]
    elif case.path_parameters and "name" in case.path_parameters and _CONTEXTS:
        case.path_parameters["name"] = _CONTEXTS.pop() if case.method == "DELETE" else _CONTEXTS[-1]
        if case.method == "PATCH":
            case.body = {"add": [kept]}
    elif case.path_parameters and "job_id" in case.path_parameters:
        case.path_parameters["job_id"] = _JOBS[number % len(_JOBS)]
    elif case.path == "/api/v1/related" and case.query:
        case.query.update(project=kept, path=_FILES[0], line=9)
        case.query.pop("line_end", None)


@schemathesis.hook
def filter_query(_context: Any, query: dict[str, Any] | None) -> bool:
    """Leave out lists that are wrong only by what no URL has: kinds of items, nothing, no list."""
    for name, most in _MOST_ITEMS.items():
        given = (query or {}).get(name)
        items = given if isinstance(given, list) else [given]
        in_url = sum(isinstance(each, str | int | float) for each in items)
        is_right = len(items) <= most and all(isinstance(each, str) for each in items)
        if given is not None and in_url <= most and not (is_right and items is given):
            return False
    return True


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Learn of memories and contexts that were saved."""
    if case.method == "POST" and case.path == "/api/v1/contexts" and response.status_code < 300:
        _CONTEXTS.append(response.json()["name"])
    is_saved = case.method == "POST" and case.path.endswith("/memories")
    of_kept = project_id_of(_FOLDERS[0]) in (case.path_parameters or {}).values()
    if is_saved and of_kept and response.status_code < 300:
        _MEMORIES.append(response.json()["id"])


def _folder_for(case: Any) -> str:
    """Give the folder that a request may change.

    What one request forgets, another cannot ask about, and what is being indexed cannot be mended:
    each of these has a folder of its own.
    """
    _kept, indexed, mended, forgotten = _FOLDERS
    if case.method == "DELETE" and case.path == "/api/v1/projects/{project_id}":
        return forgotten
    return mended if case.path.endswith("/doctor/repair") else indexed


def _is_right(case: Any) -> bool:
    """Say whether a request is as the description wants it."""
    mode = case.meta.generation.mode if case.meta else None
    return mode is schemathesis.GenerationMode.POSITIVE


@schemathesis.check
def refusal_names_its_field(_context: Any, response: Any, case: Any) -> None:
    """A request that the description allows is refused only with the name of what is wrong."""
    if _is_right(case) and response.status_code == 400:
        told = response.json()
        assert told["error"] == "validation_error", told
        assert told["details"].get("field"), f"no field is named: {told['message']}"


@schemathesis.check
class EveryOperationWorks:
    """Fails at the end unless every operation has done what it is for at least once."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.done: set[str] = set()

    def after_response(self, _context: Any, response: Any, case: Any) -> None:
        """Note an answer."""
        self.asked.add(case.operation.label)
        if response.status_code < 300:
            self.done.add(case.operation.label)

    def after_run(self, _context: Any) -> None:
        """Look at all of them."""
        assert not self.asked - self.done, f"never done: {sorted(self.asked - self.done)}"
