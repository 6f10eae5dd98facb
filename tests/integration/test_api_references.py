"""Who uses a name, who calls whom, and what a change affects, over HTTP."""

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from engine.records import bytes_within
from tests.support.command import Command
from tests.support.pages import index_folder
from tests.support.server import serving
from tests.support.trees import SHOP, write_tree


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client whose paths start at the project."""
    folder = tmp_path_factory.mktemp("references")
    tree = write_tree(folder / "shop", SHOP)
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        project_id = index_folder(client, tree)
        client.base_url = httpx.URL(f"{server.url}/api/v1/projects/{project_id}/")
        yield client


def test_uses_of_a_name(client: httpx.Client) -> None:
    asked = "name=discounted&use=call&path=shop/&limit=1"
    found = client.get("references", params=asked).json()
    assert found["total"] == 2
    assert found["truncated"] is True
    assert found["uses"] == {"call": 2, "import": 1, "definition": 1}
    [call] = found["references"]
    assert call == {
        "path": "shop/cart.py",
        "line": 12,
        "column": 16,
        "use": "call",
        "certainty": "exact",
        "symbol": "Cart.total",
        "text": "return discounted(sum(self.prices))",
        "is_test": False,
        "target": "discounted",
        "target_place": "shop/cart.py:19",
    }
    nothing = client.get("references", params={"name": "nowhere"}).json()
    assert (nothing["total"], nothing["definitions"], nothing["references"]) == (0, [], [])


def test_callers_and_callees(client: httpx.Client) -> None:
    up = client.get("calls", params={"name": "discounted", "depth": 2}).json()
    assert up["direction"] == "callers"
    assert {(edge["name"], edge["depth"]) for edge in up["edges"]} >= {
        ("Cart.total", 1),
        ("Cart.receipt", 2),
    }
    assert up["certainties"] == dict(Counter(edge["certainty"] for edge in up["edges"]))
    assert (
        client.get("calls", params={"name": "discounted", "depth": 2, "limit": 1}).json()[
            "certainties"
        ]
        == up["certainties"]
    )
    down = client.get("calls", params={"name": "Cart.receipt", "direction": "callees"}).json()
    [edge] = down["edges"]
    assert (edge["name"], edge["via"], edge["call_lines"]) == ("Cart.total", "Cart.receipt", [16])


def test_a_map(client: httpx.Client) -> None:
    found = client.get("map", params={"query": "total of a cart", "limit": 1}).json()
    [first] = found["symbols"]
    assert (first["path"], found["truncated"]) == ("shop/cart.py", True)
    assert list(first) == ["path", "line", "name", "kind", "signature", "rank", "users"]
    whole = client.get("map").json()
    assert "Cart" in [symbol["name"] for symbol in whole["symbols"]]


def test_implementations_and_bases(client: httpx.Client) -> None:
    down = client.get("inheritance", params={"name": "Cart"}).json()
    assert (down["direction"], down["edges"]) == ("implementations", [])
    assert [each["path"] for each in down["definitions"]] == ["shop/cart.py"]
    up = client.get("inheritance", params={"name": "Cart", "direction": "bases"}).json()
    assert (up["direction"], up["edges"], up["total"]) == ("bases", [], 0)


def test_what_a_change_affects(client: httpx.Client) -> None:
    found = client.get("impact", params={"name": "discounted", "limit": 1}).json()
    assert [each["name"] for each in found["definitions"]] == ["discounted"]
    assert found["dependents"] == [
        {
            "name": "Cart.total",
            "path": "shop/cart.py",
            "line": 10,
            "depth": 1,
            "certainty": "exact",
            "use": "call",
            "via": "discounted",
            "via_path": "shop/cart.py",
            "lines": [12],
            "is_test": False,
            "is_titled": False,
        }
    ]
    assert found["test_files"] == ["tests/test_cart.py"]
    assert (found["total"], found["truncated"]) == (5, True)
    of_file = client.get("impact", params={"path": "shop/cart.py", "depth": 1}).json()
    assert of_file["path"] == "shop/cart.py"
    assert client.get("impact", params={"path": "nowhere.py"}).status_code == 404


def test_unused_definitions(client: httpx.Client) -> None:
    found = client.get("unused", params={"exported": "true", "path": "shop/"}).json()
    assert [(each["name"], each["certainty"]) for each in found["definitions"]] == [
        ("Report", "name"),
        ("checkout", "name"),
        ("anything", "name"),
    ]
    hidden = client.get("unused").json()
    assert ([each["name"] for each in hidden["definitions"]], hidden["exported"]) == (["show"], 3)


def test_imports(client: httpx.Client) -> None:
    found = client.get("imports", params={"files": "true", "path": "tests/"}).json()
    [edge] = found["edges"]
    assert edge == {
        "source": "tests/test_cart.py",
        "target": "shop/cart.py",
        "imports": 1,
        "path": "tests/test_cart.py",
        "line": 1,
        "deferred": False,
    }
    assert (found["cycles"], found["imports"], found["missing"]) == ([], 1, 0)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("references", {"name": "discounted"}),
        ("calls", {"name": "discounted", "depth": "3"}),
        ("inheritance", {"name": "Cart"}),
        ("unused", {"exported": "true"}),
        ("imports", {"files": "true"}),
        ("impact", {"name": "discounted"}),
        ("map", {}),
    ],
)
def test_an_answer_within_a_budget_has_the_same_keys(
    client: httpx.Client, path: str, asked: dict[str, str]
) -> None:
    whole = client.get(path, params=asked)
    for max_tokens in (150, 400, 3000):
        answer = client.get(path, params={**asked, "max_tokens": max_tokens})
        assert len(answer.content) <= bytes_within(max_tokens)
        found = answer.json()
        assert found.keys() == whole.json().keys()
        assert found["total"] == whole.json()["total"]
        assert found["truncated"] is (found != whole.json())
        assert found == whole.json() or max_tokens < 3000
    assert client.get(path, params={**asked, "max_tokens": 99}).status_code == 400


@pytest.mark.parametrize(
    ("path", "asked", "field"),
    [
        ("references", {"name": "x", "use": "eat"}, "use"),
        ("references", {}, "name"),
        ("calls", {"name": "x", "direction": "sideways"}, "direction"),
        ("calls", {"name": "x", "direction": "bases"}, "direction"),
        ("calls", {"name": "x", "depth": "6"}, "depth"),
        ("imports", {"depth": "0"}, "depth"),
        ("unused", {"limit": "0"}, "limit"),
        ("inheritance", {"name": "x", "direction": "callers"}, "direction"),
        ("calls", {"name": "x", "use": "call"}, "use"),
        ("impact", {}, "name"),
        ("impact", {"name": "x", "path": "y"}, "path"),
        ("impact", {"changed": "true"}, "changed"),  # outside of git
    ],
)
def test_wrong_parameters_are_refused(
    client: httpx.Client, path: str, asked: dict[str, str], field: str
) -> None:
    answer = client.get(path, params=asked)
    assert (answer.status_code, answer.json()["details"]["field"]) == (400, field)
