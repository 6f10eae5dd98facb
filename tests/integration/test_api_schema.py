"""The API is what its description says: requests made of it, right ones and wrong ones."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
import schemathesis.checks
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from tests.support.command import Command
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree

_MOST_S = 2.0
_STREAM = "/api/v1/events"  # has no end
_AIMED = ("/memories", "/doctor/", "/files", "/skips", "/why", "/content", "/raw", "/outline")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("schema")
    tree = write_tree(folder / "tree", SAMPLE)
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        assert client.post("/api/v1/projects", json={"path": str(tree)}).status_code == 200
        client.get("/api/v1/search", params={"query": "session"})
        yield server


def _fuzz(server: Server, examples: int) -> int:
    """Ask what each operation allows, and what it does not; how many operations there are."""
    told: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    _aim(told, server)
    schema = schemathesis.openapi.from_dict(told)
    schema.config.update(base_url=server.url)
    found: list[Any] = list(schema.get_all_operations())
    operations = [each.ok() for each in found]
    for operation in operations:
        if operation.path == _STREAM:
            continue
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _ask(operation, mode, examples)
    return len(operations)


def _aim(told: dict[str, Any], server: Server) -> None:
    """Let what does not end a project be asked of the one there is: ids are not guessed."""
    [project] = httpx.get(f"{server.url}/api/v1/projects").json()["projects"]
    note = {"summary": "Sessions expire", "description": "After an hour", "tags": ["decision"]}
    memories = f"{server.url}/api/v1/projects/{project['project_id']}/memories"
    known = {
        "project_id": project["project_id"],
        "memory_id": httpx.post(memories, json=note).json()["id"],
    }
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                name = parameter["name"]
                if name in known and any(part in path for part in _AIMED) and method != "delete":
                    parameter["schema"] = {"enum": [known[name]]}


def _ask(operation: Any, mode: GenerationMode, examples: int) -> None:
    cases = operation.as_strategy(generation_mode=mode)

    @seed(20251122)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        answer = case.call(timeout=30)
        assert answer.status_code < 500, (answer.request.url, answer.request.body, answer.text)
        assert answer.elapsed < _MOST_S
        case.validate_response(
            answer,
            checks=[
                schemathesis.checks.not_a_server_error,
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_schema_conformance,
            ],
        )

    with suppress(Unsatisfiable):  # no request can be wrong for an operation without parameters
        ask()


def test_each_operation_is_what_is_described(server: Server) -> None:
    assert _fuzz(server, examples=5) >= 30


def test_each_operation_and_parameter_is_described(server: Server) -> None:
    told = httpx.get(f"{server.url}/openapi.json").json()
    operations = [each for methods in told["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (operation["operationId"], parameter["name"])
    shapes = told["components"]["schemas"]
    for name in ("MemoryText", "MemoryQuestion"):
        for field, schema in shapes[name]["properties"].items():
            assert schema["description"], field
            assert schema.get("examples") or field == "limit", field


@pytest.mark.soak
def test_each_operation_is_what_is_described_a_thousand_times(server: Server) -> None:
    assert _fuzz(server, examples=1000) >= 30
