"""The OpenAPI description of the API as JSON and YAML, without HTML pages that load from a CDN.

Answers are described from the records that they are made of. Examples of requests and answers are
composed from examples of their fields: ``Meta(examples=…)`` where the field is declared, or an
entry here by ``Shape.field`` or, failing that, ``field``. So every example has all keys, also new
ones; a text field without an example is an error, which tests detect.
"""

import json
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
from litestar import Litestar, Request, Response, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.params import BodyKwarg
from litestar.plugins import OpenAPISchemaPlugin
from litestar.routes import BaseRoute
from litestar.types import ControllerRouterHandler
from litestar.typing import FieldDefinition
from litestar.utils.predicates import is_optional_union
from litestar.utils.typing import make_non_optional_union

from engine.records import WHEN_ANY
from web.api.health import version
from web.schemas import fields_of

_LINES = frozenset({"line", "line_start", "line_end", "snippet_line"})
_TIMES = ("_at", "timestamp")
_SHARES = frozenset({"indexed", "embedded"})

_PROJECT_ID = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b"
_ROOT = "/home/me/src/app"
_FILE = "app/session.py"
_TIME = "2025-10-17T09:00:00.000Z"
_SNIPPET = "def open_session(self, user_id: int) -> str:\n    return f'token-{user_id}'\n"

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
    "errors": [],
    "notes": [],
    "missing": [],
    "branches": ["main", "feature"],
    "signature": "def open_session(self, user_id: int) -> str",
    "doc": "Open a session for a user and return its token.",
    "snippet": _SNIPPET,
    "text": _SNIPPET,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "licence": "MIT",
    "exported": True,
    "fresh": True,
    "job_id": "72a5ad47-a4bc-841d-80f1-c5e0876992c0",
    "estimated_seconds": 3.5,
    "ok": True,
    "checked": {"files": 980, "chunks": 9_377, "vectors": 9_377, "path_vectors": 980},
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
    "more_files": ["app/tokens.py"],
    "kind": "function",
    "match": "prefix",
    "name": "open_session",
    "folder": "app",
    "reason": "too_large",
    "use": "call",
    "certainty": "exact",
    "direction": "callers",
    "depth": 1,
    "column": 20,
    "call_lines": [31],
    "left_out": {"tests": 120, "decorated": 14},
    "named_in": "pyproject.toml",
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
    "Agent.client": "claude-code 2.1.0",
    "Agent.transport": "http",
    "AgentActivity.since": _TIME,
    "AgentCall.at": _TIME,
    "AgentCall.client": "claude-code 2.1.0",
    "AgentCall.outcome": "ok",
    "AgentCall.tool": "search_code",
    "Backup.file": "/home/me/.local/share/codecairn/backups/app.db",
    "Call.method": "POST",
    "Call.path": f"/api/v1/projects/{_PROJECT_ID}/doctor/repair",
    "CallAnswer.certainties": {"exact": 1},
    "CallEdge.call_path": "app/http/router.py",
    "Blame.path": _FILE,
    "BlameRun.line_start": 9,
    "BlameRun.line_end": 11,
    "BlameRun.origin": "commit",
    "CallEdge.line": 27,
    "CallEdge.name": "Router.resolve",
    "CallEdge.path": "app/http/router.py",
    "CallEdge.via": "SessionStore.open_session",
    "CallEdge.via_path": "app/session.py",
    "ChangedDefinition.change": "modified",
    "ChangedDefinition.kind": "method",
    "ChangedDefinition.line": 10,
    "ChangedDefinition.name": "SessionStore.open_session",
    "ChangedDefinition.path": _FILE,
    "ExternalModule.imports": 40,
    "ExternalModule.name": "json",
    "ImportCycle.members": ["app", "app/http"],
    "ImportEdge.path": "app/http/router.py",
    "ImportEdge.source": "app/http",
    "ImportEdge.target": "app",
    "ImportGraph.missing": 3,
    "SettingList.file": "/home/me/.local/share/codecairn/config.toml",
    "SettingList.secrets": {"CAIRN_TOKEN": False},
    "TagRule.language": "python",
    "TagRule.path": "src/api/**",
    "TagRule.tags": ["api"],
    "SettingState.default": "3",
    "SettingState.fixed": "",
    "SettingState.group": "Jobs",
    "SettingState.help": "indexing jobs that run at the same time",
    "SettingState.name": "jobs",
    "SettingState.origin": "file",
    "SettingState.pending": True,
    "SettingState.stored": "4",
    "SettingState.unit": "jobs",
    "SettingState.value": "2",
    "SettingState.values": [],
    "UnusedAnswer.exported": 12,
    "Checkpoint.id": "0b1f6a5e-3c1d-4d7c-9a55-6f2f0f8f7c11",
    "Checkpoint.project_path": _ROOT,
    "Cleared.cleared": True,
    "ChangedPath.added": 12,
    "ChangedPath.change": "modified",
    "ChangedPath.old_path": None,
    "ChangedPath.path": _FILE,
    "ChangedPath.removed": 3,
    "CommitHit.author": "Ada Example",
    "CommitHit.body": "A token was good for ever.",
    "CommitHit.commit": "1f3870be274f6c49b3e31a0c6728957f5c2a6b1d",
    "CommitHit.date": _TIME,
    "CommitHit.email": "ada@example.org",
    "CommitHit.file_count": 1,
    "CommitHit.subject": "Let sessions expire",
    "CommitHit.why": ["subject", "meaning"],
    "LastCommit.author": "Ada Example",
    "LastCommit.commit": "1f3870be274f6c49b3e31a0c6728957f5c2a6b1d",
    "LastCommit.date": _TIME,
    "LastCommit.subject": "Let sessions expire",
    "Compaction.bytes_after": 18_350_080,
    "Compaction.bytes_before": 22_020_096,
    "Dependent.line": 27,
    "Dependent.lines": [31],
    "Dependent.name": "Router.resolve",
    "Dependent.path": "app/http/router.py",
    "Dependent.via": "SessionStore.open_session",
    "Dependent.via_path": _FILE,
    "ContextPatch.add": ["web"],
    "ContextPatch.drop": ["api"],
    "ContextPatch.name": "day-job",
    "ContextPatch.projects": None,
    "ContextProject.gone": False,
    "NewContext.name": "work",
    "ProjectContext.name": "work",
    "Diagnostics.sqlite_path": f"/home/me/.local/share/codecairn/{_PROJECT_ID}.db",
    "Diagnostics.sqlite_size_bytes": 18_350_080,
    "ErrorAnswer.details": {"field": "path"},
    "ErrorAnswer.error": "validation_error",
    "ErrorAnswer.message": "path does not exist",
    "Explanation.factors": {},
    "Explanation.shares": {"words": 0.88, "meaning": 0.74},
    "FileContent.path": _FILE,
    "FileContent.size_bytes": 6_204,
    "FileSummary.path": _FILE,
    "FileSummary.size_bytes": 6_204,
    "FileSummary.symbols": 14,
    "Finding.code": "words_missing",
    "Finding.count": 3,
    "Finding.fix": f"cairn doctor {_ROOT} --repair",
    "Finding.message": "Found 3 chunks that cannot be found by their words",
    "Finding.places": ["app/session.py:9"],
    "Forgotten.contexts": ["work"],
    "Forgotten.forgotten": True,
    "Health.status": "ok",
    "Health.uptime_seconds": 3_600.0,
    "Hit.kind": "method",
    "Hit.path": _FILE,
    "Hit.snippet_line": 9,
    "Hit.symbol": "SessionStore.open_session",
    "Hit.why": ["words 0.88"],
    "HistoryCoverage.commits": 5_000,
    "HistoryCoverage.since": "2022-10-18T09:00:00.000Z",
    "ImpactAnswer.certainties": {"exact": 2},
    "ImpactAnswer.depths": {"1": 1, "2": 1},
    "ImpactAnswer.files": 2,
    "ImpactAnswer.path": "app/session.py",
    "ImpactAnswer.test_files": ["tests/test_router.py"],
    "ImpactAnswer.total": 2,
    "ImpactAnswer.total_tests": 1,
    "IndexAnswer.result": {"files_indexed": 980, "files_unchanged": 0, "files_failed": 0},
    "IndexAnswer.status": "completed",
    "IndexRequest.exclude_patterns": ["vendor/**"],
    "IndexRequest.timeout_s": 25,
    "IndexRequest.wait": True,
    "Job.attempt": 1,
    "Job.chunks_done": 3_902,
    "Job.counts": {"files_indexed": 412, "files_skipped": 9},
    "Job.current_file": _FILE,
    "Job.done": 412,
    "Job.elapsed_seconds": 1.4,
    "Job.eta_seconds": 1.9,
    "Job.files_done": 412,
    "Job.files_total": 980,
    "Job.finished_at": None,
    "Job.kind": "index",
    "Job.log": None,
    "Job.parameters": {"exclude_patterns": ["docs/**"]},
    "Job.phase": "parsing",
    "Job.rate": 294.3,
    "Job.total": 980,
    "JobEvent.context": {"attempt": 1},
    "JobEvent.sequence": 2,
    "JobEvent.type": "started",
    "ListedSymbol.kind": "method",
    "ListedSymbol.path": _FILE,
    "ListedSymbol.scope": "SessionStore",
    "MatchSpan.end": 16,
    "MatchSpan.start": 4,
    "MemoryTag.tag": "decision",
    "PathExplanation.detail": "4.2 MB, the limit is 1 MB",
    "PathExplanation.facts": {"size_bytes": 4_200_000},
    "PathExplanation.fresh": None,
    "PathExplanation.outcome": "skipped",
    "PathExplanation.path": "data/large.csv",
    "ProjectError.error": "damaged_index",
    "ProjectError.message": "the index file is damaged",
    "ProjectStatus.branches": ["main", "v2.1"],
    "ProjectStatus.commits": 4120,
    "ProjectStatus.jobs": [],
    "ProjectStatus.skips": {"binary": 12, "too_large": 1},
    "Reference.line": 31,
    "Reference.path": "app/http/router.py",
    "MapAnswer.files": 980,
    "MappedSymbol.kind": "class",
    "MappedSymbol.line": 6,
    "MappedSymbol.name": "SessionStore",
    "MappedSymbol.path": _FILE,
    "MappedSymbol.rank": 0.016,
    "MappedSymbol.signature": "class SessionStore",
    "MappedSymbol.users": 12,
    "Reference.symbol": "Router.resolve",
    "Reference.target": "SessionStore.open_session",
    "Reference.target_place": f"{_FILE}:9",
    "Reference.text": "token = store.open_session(user_id)",
    "ReferenceAnswer.certainties": {"exact": 1},
    "ReferenceAnswer.uses": {"call": 1},
    "Passage.also": ["legacy/session.py:9-12"],
    "Passage.reasons": ["contains session (71% match)"],
    "Passage.role": "definition",
    "ResearchAnswer.words": ["session"],
    "RepairView.done": ["Indexed the words of 3 chunks again"],
    "RepairView.job_id": None,
    "RepairView.kept": ["980 files", "9377 chunks", "3 memories"],
    "SearchQuestion.context": True,
    "SearchQuestion.cursor": None,
    "SearchQuestion.path": "app/",
    "SearchQuestion.project": "app",
    "SkipSummary.advice": "raise max_file_size to index it",
    "SkipSummary.detail": "4.2 MB, the limit is 1 MB",
    "SkipSummary.folder": False,
    "SkipSummary.path": "data/large.csv",
    "SkipSummary.size_bytes": 4_200_000,
    "Submitted.status": "pending",
    "SymbolHit.kind": "method",
    "SymbolHit.path": _FILE,
    "SymbolHit.qualified_name": "SessionStore.open_session",
    "SymbolPage.kinds": {"method": 1, "function": 1},
    "SymbolPage.languages": {"python": 2},
    "VerificationView.log": "verify-2025-10-17-09-00-04.log",
    "VerificationView.ok": False,
    "VerificationView.status": "damaged",
    "VerificationView.suggested_fixes": [f"cairn doctor {_ROOT} --repair"],
    "WatchStatus.file": "",
    "WatchStatus.folders": 41,
    "WatchStatus.last_event_at": None,
    "WatchStatus.pid": 4711,
    "WatchStatus.reason": "",
    "WatchStatus.since": "2025-10-17T09:00:00.000Z",
    "WatchStatus.state": "watching",
    "WordMatch.columns": ["name", "body"],
    "WordMatch.word": "session",
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
    "findReferences.path": "app/",
    "findUnused.path": "app/",
    "findImports.path": "app/",
    "findImports.depth": 2,
    "findImports.files": False,
    "followInheritance.direction": "implementations",
    "followInheritance.name": "Store",
    "project": [_ROOT],
    "context": True,
    "findCommits.author": "ada",
    "findCommits.after": "2025-06",
    "findCommits.before": "30d",
    "findCommits.path": "app/",
    "showCommit.name": "1f3870be27",
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
    "/api/v1/research/markdown": "# where is the session refreshed\n\n## Definitions\n",
    "/api/v1/events": 'id: 1042\nevent: job\ndata: {"job_id": "72a5ad47-a4bc-841d"}\n\n',
}


#: Keys that an answer within a budget may be without, by the name of their record.
_NOT_WITHIN_A_BUDGET: Mapping[str, frozenset[str]] = {
    "SearchResult": frozenset({"query", "mode", "took_ms", "next_cursor"}),
    "Coverage": frozenset({"found", "indexed", "embedded"}),
    "Hit": frozenset(
        {"project", "language", "symbol", "kind", "signature", "score", "why", "fresh", "snippet"}
    ),
}


class RecordSchemas(OpenAPISchemaPlugin):
    """Describes records.

    All keys are required but those that are left out when empty, or within a budget.
    """

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Return whether a type is a record, or the enumeration of a field's values."""
        return field_definition.is_dataclass_type or field_definition.is_enum

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        """Return the schema of a record or an enumeration."""
        kind = field_definition.annotation
        if issubclass(kind, Enum):
            return Schema(type=OpenAPIType.STRING, enum=[each.value for each in kind])
        hints = field_definition.get_type_hints(include_extras=True)
        names = dict(fields_of(kind))
        schema: Schema = schema_creator.create_component_schema(
            field_definition,
            required=sorted(
                name
                for name in names
                if not names[name] and name not in _NOT_WITHIN_A_BUDGET.get(kind.__name__, ())
            ),
            property_fields={
                name: _field(name, hints[name], is_optional=names[name]) for name in names
            },
        )
        return schema


def _field(name: str, hint: Any, *, is_optional: bool) -> FieldDefinition:
    """Return a field of a record, with what its annotation and its name tell of it."""
    told: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        told["description"] = next((each for each in notes if each is not WHEN_ANY), None)
    if is_optional and is_optional_union(hint):
        hint = make_non_optional_union(hint)
    if name in _LINES:
        told = {"description": "counted from 1", **told, "ge": 1}
    elif name in _SHARES:
        told |= {"ge": 0, "le": 1}
    elif hint is int or name == "took_ms":
        told["ge"] = int(name == "sequence")
    elif name.endswith(_TIMES):
        told["description"] = "ISO 8601, UTC"
    return FieldDefinition.from_annotation(hint, name=name, kwarg_definition=BodyKwarg(**told))


def add_examples(description: dict[str, Any]) -> None:
    """Add an example to each parameter, body and answer of an OpenAPI description without one.

    Raises:
        KeyError: A text field has no example.
    """
    shapes = description["components"]["schemas"]
    _add_to_fields(shapes)
    for path, operations in description["paths"].items():
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


def _add_to_fields(shapes: Mapping[str, Any]) -> None:
    for shape, schema in shapes.items():
        for field, each in schema["properties"].items():
            if "$ref" not in str(each):
                each.setdefault("examples", [_example_of(each, shapes, f"{shape}.{field}")])


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
    if field.endswith(_TIMES):
        return _TIME
    if "oneOf" in schema:
        inner = schema["oneOf"][0]
        return _example_of(inner, shapes, name) if "$ref" in inner else None
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
