"""The resources: what an index holds, what the disk has, and what jobs have left to read."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.mcp_clients import ask as ask_alone
from tests.support.mcp_clients import called, read
from tests.support.trees import write_tree
from web.mcp.listed_files import MOST_PATHS, structure
from web.mcp.server import make_server

CANARY = "canary-7f3a9c"
RESOURCES = [
    "symbols://list",
    "symbols://search",
    "symbols://file/{+path}",
    "symbols://stats",
    "project://{+path}/structure",
    "project://contexts",
    "logs://list",
    "logs://content",
    "logs://server",
]


@pytest.fixture
def tree(tree: Path) -> Path:
    """A project with folders, a secret, and a link that leads out."""
    (tree / "src/deep").mkdir(parents=True)
    (tree / "src/app.py").write_text("class App:\n    def run(self):\n        pass\n")
    (tree / "src/deep/näme #1?.py").write_text("def odd():\n    pass\n")
    (tree / "README.md").write_text("# Read me\n")
    (tree / ".env").write_text(f"KEY={CANARY}\n")
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"# {CANARY}\n")
    os.symlink(outside / "secret.py", tree / "linked.py")
    return tree


class Polled:
    """A caller that goes away after some polls."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.polls = 0
        self._most = most

    def cancelled(self) -> bool:
        """Count a poll."""
        self.polls += 1
        return self.polls > self._most


def ask(catalog: Catalog, tree: Path, body: Callable[[Client], Awaitable[None]]) -> None:
    """Index the project and talk about it."""

    async def conversation() -> None:
        async with Client(make_server(catalog, is_runner=True)) as client:
            await called(client, "index_repository", path=str(tree))
            await body(client)

    asyncio.run(conversation())


def test_what_can_be_read_is_listed(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template.partition("{?")[0] for each in templates] == RESOURCES
        of_projects = [
            each for each in templates if each.name not in ("logs://server", "project://contexts")
        ]
        assert all("project}" in each.uri_template for each in of_projects)
        for resource in (await client.list_resources()).resources:
            assert await read(client, str(resource.uri))

    ask(catalog, tree, body)


def test_all_symbols_of_a_type_are_read_by_page(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        write_tree(tree, {"many.rs": "".join(f"struct S{n};\n" for n in range(250))})
        await called(client, "index_repository", path=str(tree))
        paged: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = f"&cursor={quote(cursor)}" if cursor else ""
            found = json.loads(await read(client, f"symbols://search?type=struct{page}"))
            paged += [symbol["name"] for symbol in found["symbols"]]
            cursor = found["next_cursor"]
        assert sorted(paged) == sorted(f"S{n}" for n in range(250))
        with pytest.raises(MCPError, match="type alone"):
            await read(client, "symbols://search?name=App&cursor=x")

    ask(catalog, tree, body)


def test_symbols_are_read(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        paths = json.loads(await read(client, "symbols://list"))
        assert paths == ["README.md", "src/app.py", "src/deep/näme #1?.py"]
        found = json.loads(await read(client, "symbols://search?name=App&type=class"))
        assert [symbol["path"] for symbol in found["symbols"]] == ["src/app.py"]
        found = json.loads(await read(client, "symbols://search?name=Ap"))
        assert [symbol["name"] for symbol in found["symbols"]] == ["App"]
        found = json.loads(await read(client, "symbols://search?type=method"))
        assert [symbol["name"] for symbol in found["symbols"]] == ["run"]
        assert (found["total"], found["truncated"]) == (1, False)
        with pytest.raises(MCPError, match="name or type is required"):
            await read(client, "symbols://search")
        outline = json.loads(await read(client, "symbols://file/src/app.py"))
        assert [symbol["name"] for symbol in outline["symbols"]] == ["App", "run"]
        assert outline["relations"] == []
        odd = quote("src/deep/näme #1?.py")
        outline = json.loads(await read(client, f"symbols://file/{odd}?project={tree}"))
        assert [symbol["name"] for symbol in outline["symbols"]] == ["odd"]
        stats = json.loads(await read(client, "symbols://stats"))
        assert (stats["files"], stats["cache_hit_rate"]) == (3, 0)
        await called(client, "index_repository", path=str(tree))
        assert json.loads(await read(client, "symbols://stats"))["cache_hit_rate"] == 1.0
        assert stats["skips"]

    ask(catalog, tree, body)


def test_the_log_of_the_server_is_bounded_redacted_and_has_the_newest_line_last(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    log = catalog.server_log()
    for number in range(900):
        log.event("request", route=f"/{number}", note="x" * 200)
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    log.event("request", route="/last", note=f"with {token}")

    async def body(client: Client) -> None:
        lines = (await read(client, "logs://server")).splitlines()
        assert len(lines) <= 200
        assert sum(map(len, lines)) <= 1 << 16
        times = [json.loads(line)["timestamp"] for line in lines]
        assert times == sorted(times)
        assert any(str(tree) in line for line in lines)
        text = "\n".join(lines)
        assert "/last" in text
        assert token not in text
        found = await read(client, "logs://server?pattern=%22%2Flast%22&line_numbers=true")
        assert len(found.splitlines()) == 1

    ask(catalog, tree, body)


def test_the_index_is_compared_with_the_disk(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        before = json.loads(await read(client, "project://./structure"))
        assert before["files"] == ["README.md", "src/app.py", "src/deep/näme #1?.py"]
        assert before["folders"] == ["src", "src/deep"]
        assert before["changed"] == []
        change()
        after = json.loads(await read(client, "project://./structure"))
        assert after["changed"] == ["README.md", "src/app.py", "src/new.py"]
        assert after["files"] == ["src/app.py", "src/deep/näme #1?.py", "src/new.py"]
        missing = sorted(
            set(after["files"]) - set(json.loads(await read(client, "symbols://list")))
        )
        assert missing == ["src/new.py"]
        report = await called(
            client, "index_symbol_graph", repository_path=str(tree), files=after["changed"]
        )
        assert report["files_indexed"] == 2
        below = json.loads(await read(client, "project://src/deep/structure"))
        assert below["files"] == ["src/deep/näme #1?.py"]
        await called(client, "index_repository", path=str(tree))
        now = json.loads(await read(client, "project://./structure"))
        assert now["changed"] == []

    def change() -> None:
        for name, text in (("new", "def new():\n    pass\n"), ("app", "class Other:\n    pass\n")):
            (tree / f"src/{name}.py").write_text(text)
        (tree / "README.md").unlink()
        (tree / ".env.local").write_text(f"{CANARY}\n")

    ask(catalog, tree, body)


def test_files_are_read_by_page(catalog: Catalog, tree: Path) -> None:
    names = [f"src/m{number:02}.py" for number in range(25)]

    async def pages(client: Client, uri: str, limit: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            wanted = f"{uri}?limit={limit}" + (f"&cursor={quote(cursor)}" if cursor else "")
            found.append(json.loads(await read(client, wanted)))
            cursor = found[-1]["next_cursor"]
            assert found[-1]["truncated"] is (cursor is not None)
        return found

    async def body(client: Client) -> None:
        whole = json.loads(await read(client, "symbols://list"))
        listed = await pages(client, "symbols://list", 2)
        assert [path for page in listed for path in page["files"]] == whole
        assert [(len(page["files"]), page["total"]) for page in listed] == [(2, 3), (1, 3)]
        change()
        now = json.loads(await read(client, "project://./structure"))
        assert (now["truncated"], now["next_cursor"]) == (False, None)
        for limit in (1, 4, 100):
            parts = await pages(client, "project://./structure", limit)
            assert all(len(part["files"]) <= limit for part in parts)
            for name in ("files", "changed"):
                assert [path for part in parts for path in part[name]] == now[name]
            assert sorted({path for part in parts for path in part["folders"]}) == now["folders"]
        assert now["changed"] == ["README.md", *names]
        below = await pages(client, "project://src/deep/structure", 1)
        assert [part["files"] for part in below] == [["src/deep/näme #1?.py"]]
        for uri in ("symbols://list", "project://./structure"):
            for query in ("limit=0", "limit=x", "limit=10001", "limit=2&cursor=%21"):
                with pytest.raises(
                    MCPError, match=query[:5] if "cursor" not in query else "cursor"
                ):
                    await read(client, f"{uri}?{query}")

    def change() -> None:
        for name in names:
            (tree / name).write_text("def new():\n    pass\n")
            (tree / name).with_suffix(".min.js").write_text("x")
        (tree / "README.md").unlink()

    ask(catalog, tree, body)


@pytest.mark.slow
def test_a_list_of_very_many_files_is_refused_whole_and_read_by_page(
    catalog: Catalog, tree: Path
) -> None:
    index = catalog.create(str(tree))
    for number in range(MOST_PATHS + 1):
        (tree / f"{number}.txt").write_text("x")
    index.index()

    async def body(client: Client) -> None:
        with pytest.raises(MCPError, match="limit"):
            await read(client, "symbols://list")
        page = json.loads(await read(client, "symbols://list?limit=5"))
        assert (len(page["files"]), page["total"]) == (5, MOST_PATHS + 1 + 3)
        structure = json.loads(await read(client, "project://./structure"))
        assert structure["truncated"]
        assert len(structure["files"]) <= MOST_PATHS

    ask_alone(catalog, body)


def test_comparing_the_index_with_the_disk_ends_when_nobody_waits(
    catalog: Catalog, tree: Path
) -> None:
    index = catalog.create(str(tree))
    index.index()
    caller = Polled()
    structure(index, "", {}, caller.cancelled)
    before = caller.polls
    new = [tree / f"src/new{number}.py" for number in range(40)]
    for file in new:
        file.write_text("def new():\n    pass\n")
    caller = Polled()
    structure(index, "", {}, caller.cancelled)
    assert caller.polls >= before + len(new)
    with pytest.raises(Cancelled):
        structure(index, "", {}, Polled(most=before + 20).cancelled)


def test_reading_asks_no_model(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    away = replace(config, model="openai:m@http://127.0.0.1:1")

    async def body(client: Client) -> None:
        assert "src/app.py" in json.loads(await read(client, "symbols://list"))
        assert json.loads(await read(client, "symbols://search?name=App"))["symbols"]
        assert json.loads(await read(client, "symbols://file/src/app.py"))["symbols"]
        assert json.loads(await read(client, "symbols://stats"))["files"] == 3
        assert json.loads(await read(client, "project://./structure"))["files"]

    with open_catalog(away) as catalog:
        ask_alone(catalog, body)


def test_logs_are_listed_and_searched(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        logs = json.loads(await read(client, "logs://list"))["logs"]
        assert len(logs) == 1
        name = logs[0]["file"]
        whole = await read(client, f"logs://content?file={name}")
        assert await read(client, "logs://content") == whole
        assert "INDEX START" in whole
        lines = (await read(client, "logs://content?pattern=Files+indexed")).splitlines()
        assert lines == ["Files indexed: 3"]
        around = await read(client, "logs://content?pattern=Files%20indexed&line_numbers=true&C=1")
        numbers = [int(line.partition(":")[0]) for line in around.splitlines()]
        lines = [line.partition(": ")[2] for line in around.splitlines()]
        assert lines == whole.splitlines()[numbers[0] - 1 : numbers[-1]]
        assert numbers == list(range(numbers[0], numbers[0] + 3))
        assert await read(client, "logs://content?pattern=nowhere-to-be-found") == ""

    ask(catalog, tree, body)


def test_a_project_has_a_folder_of_its_own_for_its_logs(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    other = tree.parent / "other"
    other.mkdir()

    async def body(client: Client) -> None:
        for root in (tree, other):
            answer = await called(client, "index_symbol_graph", repository_path=str(root))
            for _ in range(10):  # a log is waited for 2 s, which may be too short
                if answer["logs"]["operation_log"]:
                    break
                answer = await called(client, "index_symbol_graph", repository_path=str(root))
            file = Path(answer["logs"]["operation_log"])
            assert file.parent == config.data_dir / "logs" / project_id_of(str(root))
            listed = json.loads(await read(client, f"logs://list?project={root}"))["logs"]
            assert file.name in {each["file"] for each in listed}
            text = await read(client, f"logs://content?file={file.name}&project={root}")
            assert f"Repository: {root}" in text.splitlines()

    ask(catalog, tree, body)


@pytest.mark.parametrize(
    "query",
    [
        "pattern=(",
        "pattern=(?=x)",
        "pattern=" + "a" * 2000,
        "pattern=(((((a{100}){100}){100}){100}){100})",
        "C=-1",
        "C=101",
        "C=1.5",
        "C=%D9%A1",
        "C=" + "9" * 5000,
        "line_numbers=maybe",
        "lines=1",
        "pattern=a&pattern=b",
        "pattern=%ff",
    ],
)
def test_a_bad_parameter_of_a_log_is_refused(catalog: Catalog, tree: Path, query: str) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(MCPError) as raised:
            await read(client, f"logs://content?{query}")
        assert raised.value.code == -32602
        assert raised.value.data["error"] == "validation_error"
        assert await read(client, "logs://list")

    ask(catalog, tree, body)


def _hostile_uris(tree: Path) -> list[str]:
    """Give the ways to ask for a file that is not to be had."""
    targets = [
        "../outside/secret.py", "src/../../outside/secret.py", "/etc/passwd", "//etc/passwd",
        f"{tree}/src/app.py", f"{tree.parent}/outside/secret.py", "~/x", "~root/x", ".env",
        "linked.py", "src/../src/app.py", "./src/app.py", "src//app.py", "src/app.py/", "src",
        "src/app.py\0", "\0", "src\\app.py", "..\\outside\\secret.py", "...", "a" * 5000,
        "src/app.py%00", "%2e%2e/x", "C:\\x", "file:///etc/passwd", "\ud7ff", "\u2024\u2024/x",
    ]  # fmt: skip
    spelled = [target for raw in targets for target in (raw, quote(raw), quote(raw, safe=""))]
    double = [quote(quote(raw, safe=""), safe="") for raw in targets]
    bare = [*spelled, *double, "%c0%ae%c0%ae/x", "%ff", "%", "%2", "..;/x", "\n", " "]
    uris = [f"symbols://file/{each}" for each in bare]
    uris += [f"project://{each}/structure" for each in ["..", "%2e%2e", "/etc", "src/..", ".env"]]
    uris += [f"logs://content?file={each}" for each in ["../runner.log", "%2e%2e%2frunner.log"]]
    uris += [f"logs://content?file={quote(str(tree / '.env'), safe='')}", "logs://content?file=."]
    uris += ["", ":", "symbols:", "symbols://", "symbols://file", "symbols://file/", "symbols:list"]
    uris += ["file:///etc/passwd", "symbols://list#x", "symbols://[", "http://[::1", "project://"]
    return uris


def test_no_spelling_of_a_path_leads_out_of_the_index(catalog: Catalog, tree: Path) -> None:
    uris = _hostile_uris(tree)
    assert len(uris) > 110

    async def outcome(client: Client, uri: str) -> str | MCPError:
        try:
            return await read(client, uri)
        except MCPError as error:
            return error

    async def body(client: Client) -> None:
        for uri in uris:
            error = await outcome(client, uri)
            assert isinstance(error, MCPError), (uri, error)
            assert error.code == -32602, uri
            assert CANARY not in str(error.data)
        assert json.loads(await read(client, "symbols://file/src/app.py"))["symbols"]

    ask(catalog, tree, body)


def test_a_link_among_the_logs_is_no_log(catalog: Catalog, tree: Path) -> None:
    name = "completed-2030-01-01-00-00-00.log"

    def plant() -> None:
        [folder] = {log.path.parent for log in catalog.jobs.logs(str(tree))}
        os.symlink(tree / ".env", folder / name)

    async def body(client: Client) -> None:
        plant()
        logs = json.loads(await read(client, "logs://list"))["logs"]
        assert name not in [log["file"] for log in logs]
        with pytest.raises(MCPError) as raised:
            await read(client, f"logs://content?file={name}")
        assert raised.value.data["error"] == "not_found"

    ask(catalog, tree, body)
