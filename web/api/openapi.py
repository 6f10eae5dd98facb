"""The OpenAPI description of the API as JSON and YAML, without HTML pages that load from a CDN.

Examples of requests and answers are composed from examples of their fields: ``Meta(examples=…)``
where the field is declared, or an entry here by ``Shape.field`` or, failing that, ``field``. So
every example has all keys, also new ones; a text field without an example is an error, which tests
detect.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from litestar import Litestar, Request, Response, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import BaseRoute
from litestar.types import ControllerRouterHandler

from web.api.health import version

_PROJECT_ID = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b"
_ROOT = "/home/me/src/app"
_FILE = "app/session.py"
_SNIPPET = "def open_session(self, user_id: int) -> str:\n    return f'token-{user_id}'\n"
_LOG = "completed-2025-10-17-09-00-04.log"

_FIELDS: Mapping[str, object] = {
    "project_id": _PROJECT_ID,
    "project": _ROOT,
    "path": _ROOT,
    "branch": "main",
    "language": "python",
    "files": 980,
    "symbols": 11_204,
    "chunks": 9_377,
    "embeddings": 9_377,
    "memories": 3,
    "size_bytes": 18_350_080,
    "lines": 212,
    "total": 1,
    "line": 9,
    "line_start": 9,
    "line_end": 12,
    "took_ms": 4,
    "score": 1.62,
    "indexed": 1.0,
    "embedded": 1.0,
    "complete": True,
    "model": "static:cairn-1/256",
    "fingerprint": "5d41402abc4b2a76",
    "version": "0.1.0",
    "next_cursor": None,
    "errors": [],
    "error": None,
    "notes": [],
    "missing": [],
    "signature": "def open_session(self, user_id: int) -> str",
    "doc": "Open a session for a user and return its token.",
    "snippet": _SNIPPET,
    "text": _SNIPPET,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "licence": "MIT",
    "exported": True,
    "fresh": True,
    "log": _LOG,
    "job_id": "72a5ad47-a4bc-841d-80f1-c5e0876992c0",
    "estimated_seconds": 3.5,
    "ok": True,
    "checked": {"files": 980, "chunks": 9_377, "vectors": 9_377},
    "warnings": [],
    "summary": "Sessions expire after an hour",
    "description": "Decided because tokens leaked into logs.",
    "context": {"ticket": 7},
    "tags": ["decision", "sessions"],
    "token_count": 19,
    # query parameters
    "query": "where is the session refreshed",
    "limit": 20,
    "cursor": "MTAvMGYzYTE5YzJlNWI3",
    "max_tokens": 2_000,
    "kind": "function",
    "match": "prefix",
    "name": "open_session",
    "folder": "app",
    "reason": "too_large",
    "status": "running",
    "target": _ROOT,
    "origin": "request",
    "created_after": "2025-10-17T09:00:00Z",
    "created_before": "2025-10-18T09:00:00Z",
    "after": 12,
    "If-None-Match": '"9f86d081884c7d65"',
    "Last-Event-ID": "1042",
}
_OF_SHAPES: Mapping[str, object] = {
    "BackupView.size_bytes": 18_350_080,
    "Call.path": f"/api/v1/projects/{_PROJECT_ID}/doctor/repair",
    "Call.body": None,
    "CompactionView.bytes_before": 22_020_096,
    "CompactionView.bytes_after": 18_350_080,
    "ContentView.path": _FILE,
    "ContentView.size_bytes": 6_204,
    "Diagnostics.sqlite_path": f"/home/me/.local/share/codecairn/{_PROJECT_ID}.db",
    "Diagnostics.sqlite_size_bytes": 18_350_080,
    "EventView.context": {"attempt": 1},
    "EventView.sequence": 2,
    "Cleared.cleared": True,
    "Forgotten.forgotten": True,
    "Health.oldest_running_age_seconds": None,
    "Health.uptime_seconds": 3_600.0,
    "IndexRequest.exclude_patterns": ["vendor/**"],
    "IndexRequest.wait": True,
    "IndexRequest.timeout_s": 25,
    "FileView.path": _FILE,
    "FileView.size_bytes": 6_204,
    "FileView.symbols": 14,
    "FindingView.fix": f"cairn doctor {_ROOT} --repair",
    "FindingView.count": 3,
    "Hit.explain": {"score": 1.62, "shares": {"words": 0.88, "meaning": 0.74}, "factors": {}},
    "Hit.matches": [{"line": 9, "start": 4, "end": 16}],
    "Hit.snippet_line": 9,
    "IndexAnswer.result": {"files_indexed": 980, "files_unchanged": 0, "files_failed": 0},
    "JobView.counts": {"files_indexed": 412, "files_skipped": 9},
    "JobView.current_file": _FILE,
    "JobView.done": 412,
    "JobView.files_done": 412,
    "JobView.files_total": 980,
    "JobView.total": 980,
    "JobView.chunks_done": 3_902,
    "JobView.chunks_total": None,
    "JobView.elapsed_seconds": 1.4,
    "JobView.eta_seconds": 1.9,
    "JobView.rate": 294.3,
    "JobView.parameters": {"exclude_patterns": ["docs/**"]},
    "JobView.position": None,
    "JobView.result": None,
    "JobView.finished_at": None,
    "JobView.log": None,
    "JobView.waiting": None,
    "JobView.attempt": 1,
    "ListedSymbolView.path": _FILE,
    "NewJob.status": "pending",
    "ProjectFailure.error": "damaged_index",
    "ProjectFailure.message": "the index file is damaged",
    "ProjectState.skips": {"binary": 12, "too_large": 1},
    "ProjectState.jobs": [],
    "RepairView.done": ["Indexed the words of 3 chunks again"],
    "RepairView.kept": ["980 files", "9377 chunks", "3 memories"],
    "RepairView.job_id": None,
    "RepairView.aside": None,
    "SearchQuestion.path": "app/",
    "SearchQuestion.cursor": None,
    "SearchQuestion.context": True,
    "SkipView.path": "data/large.csv",
    "SkipView.folder": False,
    "SkipView.detail": "4.2 MB, the limit is 1 MB",
    "SkipView.advice": "raise max_file_size to index it",
    "SkipView.size_bytes": 4_200_000,
    "SymbolPageView.kinds": {"method": 1, "function": 1},
    "SymbolPageView.languages": {"python": 2},
    "SymbolView.path": _FILE,
    "VerificationView.status": "damaged",
    "VerificationView.ok": False,
    "VerificationView.log": "verify-2025-10-17-09-00-04.log",
    "WatchView.last_event_at": None,
    "WatchView.poll_interval_ms": None,
    "WatchView.reason": "",
    "WatchView.since": "2025-10-17T09:00:00.000Z",
    "WatchView.pid": 4711,
    "WatchView.folders": 41,
    "WhyView.path": "data/large.csv",
    "WhyView.outcome": "skipped",
    "WhyView.detail": "4.2 MB, the limit is 1 MB",
    "WhyView.rule_path": None,
    "WhyView.fresh": None,
    "WhyView.facts": {"size_bytes": 4_200_000},
}
#: Deviations for a shape used as a given field, or in the answer with a given status.
_ELSEWHERE: Mapping[str, Mapping[str, object]] = {
    "202 IndexAnswer": {"status": "running", "result": None},
    "RepairView.after": {
        "status": "sound",
        "ok": True,
        "findings": [],
        "suggested_fixes": [],
        "suggested_calls": [],
    },
}
#: Examples of parameters whose name means something else in answers or other operations.
_PARAMETERS: Mapping[str, object] = {
    "path": _FILE,
    "project": [_ROOT],
    "context": True,
    "backUpIndex.name": "before-the-upgrade.db",
    "related.project": _ROOT,
    "verifyIndex.path": _ROOT,
    "repairIndex.path": _ROOT,
    "rebuildIndex.path": _ROOT,
}
#: Examples of answers that are not JSON.
_TEXTS: Mapping[str, str] = {
    "/metrics": "cairn_indexed_chunks 226000.0\n",
    "/api/v1/projects/{project_id}/raw": _SNIPPET,
    "/api/v1/events": 'id: 1042\nevent: job\ndata: {"job_id": "72a5ad47-a4bc-841d"}\n\n',
}


def add_examples(told: dict[str, Any]) -> None:
    """Add an example to each parameter, body and answer of an OpenAPI description without one.

    Raises:
        KeyError: A text field has no example.
    """
    shapes = told["components"]["schemas"]
    for path, operations in told["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                _add_to_parameter(parameter, operation["operationId"])
            bodies = [("", operation.get("requestBody", {}))]
            bodies += [each for each in operation["responses"].items() if each[0] < "3"]
            for status, body in bodies:
                for content in body.get("content", {}).values():
                    if path in _TEXTS:
                        content["example"] = _TEXTS[path]
                    elif "examples" not in content:
                        content["example"] = _example_of(content["schema"], shapes, status)


def _add_to_parameter(parameter: dict[str, Any], operation: str) -> None:
    schema = parameter["schema"]
    if not (parameter.get("examples") or schema.get("examples")):
        name = parameter["name"]
        fallback = _FIELDS[name] if name in _FIELDS else schema.get("default", True)
        parameter["example"] = _PARAMETERS.get(
            f"{operation}.{name}", _PARAMETERS.get(name, fallback)
        )


def _example_of(schema: Mapping[str, Any], shapes: Mapping[str, Any], name: str) -> object:
    """Return an example of a schema.

    Args:
        schema: The OpenAPI schema.
        shapes: The schemas that it may refer to.
        name: ``Shape.field``, the status of an answer, or empty.
    """
    if name in _OF_SHAPES:
        return _OF_SHAPES[name]
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        shape = schema["$ref"].rpartition("/")[2]
        fields = shapes[shape]["properties"].items()
        example = {field: _example_of(each, shapes, f"{shape}.{field}") for field, each in fields}
        return {**example, **_ELSEWHERE.get(name, _ELSEWHERE.get(f"{name} {shape}", {}))}
    if schema.get("type") == "array" and "$ref" in schema["items"]:
        return [_example_of(schema["items"], shapes, "")]
    field = name.rpartition(".")[2]
    if field in _FIELDS:
        return _FIELDS[field]
    kinds = [each for each in schema.get("oneOf", ()) if each.get("type") != "null"]
    if kinds:
        return _example_of(kinds[0], shapes, name)
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": int(schema.get("minimum", 1)), "number": 0, "boolean": False}[schema["type"]]


_JSON = "application/json"
_YAML = "application/yaml"


def openapi_config() -> OpenAPIConfig:
    """Return the framework's settings for OpenAPI."""
    return OpenAPIConfig(
        title="CodeCairn",
        version=version(),
        summary="Local code search",
        description="Index folders, and find code in them by meaning, word, symbol and pattern."
        " Errors have one shape everywhere: `error`, `message` and `details`.",
        openapi_router=_NoPages("/openapi", route_handlers=[]),
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin()],
    )


class _NoPages(Router):
    """Discards the framework's own pages, one of which answers unknown paths with HTML."""

    def register(self, value: ControllerRouterHandler) -> list[BaseRoute]:
        """Register nothing."""
        return []


@get("/openapi.json", include_in_schema=False, sync_to_thread=True)
def openapi_json(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the description as JSON."""
    return Response(_described(request.app).as_json, media_type=_JSON)


@get("/openapi.yaml", include_in_schema=False, sync_to_thread=True)
def openapi_yaml(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Return the description as YAML."""
    return Response(_described(request.app).as_yaml, media_type=_YAML)


class _Described(NamedTuple):
    as_json: bytes
    as_yaml: bytes


@lru_cache(maxsize=4)
def _described(app: Litestar) -> _Described:
    """Return the cached description of an application; building it takes most of a second."""
    found = json.loads(msgspec.json.encode(app.openapi_schema.to_schema()))
    add_examples(found)
    return _Described(json.dumps(found).encode(), msgspec.yaml.encode(found))


HANDLERS = (openapi_json, openapi_yaml)
