"""The API is what its description says: requests made of it, right ones and wrong ones."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import jsonschema
import pytest

from engine.browse_records import PathExplanation
from engine.doctor_records import Finding
from engine.memory_records import Checkpoint
from engine.records import NOT_IN_JSON, WHEN_ANY, Coverage
from engine.search_records import Explanation, Hit
from engine.state_records import Job, ProjectStatus
from tests.support.command import Command
from tests.support.pages import index_folder
from tests.support.patience import ANSWER_S
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree
from web.api.shapes import SearchResult

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "http-api.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("schema")
    tree = write_tree(folder / "tree", SAMPLE | {"notes.txt": "Remember the milk.\n"})
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        client.get("/api/v1/search", params={"query": "session"})
        yield server


def test_each_operation_and_parameter_is_described(server: Server) -> None:
    told = httpx.get(f"{server.url}/openapi.json", timeout=ANSWER_S).json()
    operations = [each for methods in told["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (operation["operationId"], parameter["name"])
    shapes = told["components"]["schemas"]
    for name in ("MemoryText", "MemoryQuestion", "MemorySearch"):
        for field, schema in shapes[name]["properties"].items():
            assert schema["description"], field
            assert schema.get("examples") or field == "limit", field


def test_answers_are_described_from_their_records(server: Server) -> None:
    shapes = httpx.get(f"{server.url}/openapi.json", timeout=ANSWER_S).json()["components"][
        "schemas"
    ]
    always = _keys_of_all_search_answers(server)
    for record in (*always, Explanation, Checkpoint, Job, ProjectStatus, PathExplanation, Finding):
        shape = shapes[record.__name__]
        hints = {
            name: hint
            for name, hint in get_type_hints(record, include_extras=True).items()
            if NOT_IN_JSON not in _notes_of(hint)
        }
        assert list(shape["properties"]) == list(hints)
        required = {name for name, hint in hints.items() if WHEN_ANY not in _notes_of(hint)}
        assert set(shape["required"]) == required & always.get(record, required), record
        for name, hint in hints.items():
            texts = [note for note in _notes_of(hint) if note is not WHEN_ANY]
            assert [shape["properties"][name].get("description")] == texts or not texts, name


def _keys_of_all_search_answers(server: Server) -> dict[type, set[str]]:
    """Return the keys that a search answer has whatever its budget, of each record in it."""
    keys: dict[type, set[str]] = {}
    for query in ("session", "remember the milk", "resolve"):
        for budget in ({}, {"max_tokens": 100}, {"max_tokens": 200}, {"max_tokens": 2000}):
            url = f"{server.url}/api/v1/search"
            answer = httpx.get(url, params={"query": query, **budget}, timeout=ANSWER_S).json()
            for record, told in [
                (SearchResult, answer),
                (Coverage, answer["coverage"]),
                *((Hit, hit) for hit in answer["hits"]),
            ]:
                keys[record] = keys.get(record, set(told)) & set(told)
    return keys


def _notes_of(hint: Any) -> list[object]:
    return list(getattr(hint, "__metadata__", ()))


def test_each_parameter_body_and_answer_has_an_example_that_fits(server: Server) -> None:
    told = httpx.get(f"{server.url}/openapi.json", timeout=ANSWER_S).json()
    for operations in told["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                [example] = _examples_of(parameter) or _examples_of(parameter["schema"])
                _check(example, parameter["schema"], told)
            answers = {code: each for code, each in operation["responses"].items() if code < "3"}
            assert answers
            for body in (operation.get("requestBody", {}), *answers.values()):
                for content in body.get("content", {}).values():
                    [example] = _examples_of(content)
                    _check(example, content["schema"], told)


def _examples_of(described: dict[str, Any]) -> list[Any]:
    if "example" in described:
        return [described["example"]]
    found = described.get("examples", [])
    return [each["value"] for each in found.values()][:1] if isinstance(found, dict) else found[:1]


def _check(example: object, schema: dict[str, Any], told: dict[str, Any]) -> None:
    jsonschema.validate(example, {**schema, "components": told["components"]})
    if isinstance(example, dict) and "$ref" in schema:
        fields = told["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
        assert example.keys() == fields.keys()


def test_each_operation_and_each_object_is_on_its_page(server: Server) -> None:
    told = httpx.get(f"{server.url}/openapi.json", timeout=ANSWER_S).json()
    rows = set(re.findall(r"^\| `(.*?)` \|", _PAGE.read_text("utf-8"), re.MULTILINE))
    assert len(told["paths"]) > 20
    missing = [
        f"{method.upper()} {path}"
        for path, methods in told["paths"].items()
        for method in methods
        if f"{method.upper()} {path}" not in rows
    ]
    assert missing == []
    assert set(told["components"]["schemas"]) <= rows
