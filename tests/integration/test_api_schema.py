"""The API is what its description says: requests made of it, right ones and wrong ones."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.command import Command
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("schema")
    tree = write_tree(folder / "tree", SAMPLE)
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        assert client.post("/api/v1/projects", json={"path": str(tree)}).status_code == 200
        client.get("/api/v1/search", params={"query": "session"})
        yield server


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
