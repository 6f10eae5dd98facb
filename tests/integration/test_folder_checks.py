"""Folders that are never indexed, or only when confirmed, on every face."""

import codecs
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidPathError, UnconfirmedFolderError
from engine.index_records import IndexOptions
from tests.support.command import CODE, Command
from tests.support.jobs import until
from tests.support.mcp_clients import ask, called, refused
from tests.support.pages import Page, index_job, site
from tests.support.patience import patience
from tests.support.server import Server
from tests.support.trees import write_tree

FILES: dict[str, str | bytes] = {"app.py": "def add(a, b):\n    return a + b\n"}


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command line, whose home directory and key folder hold a file each."""
    write_tree(tmp_path / "me", {**FILES, ".ssh/config.py": "x = 1\n", "src/lib/a.py": "y = 1\n"})
    variables = {"HOME": str(tmp_path / "me"), "CAIRN_WORKERS": "1"}
    return Command(home=tmp_path / "data", folder=tmp_path, variables=variables)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose home directory holds a project."""
    home = tmp_path / "me"
    write_tree(home, {**FILES, "src/lib/a.py": "y = 1\n", ".gnupg/a.py": "z = 1\n"})
    with site(home, home / "src") as server:
        yield server


def databases(folder: Path) -> int:
    return len(list(folder.glob("*.db")))


def test_the_engine_refuses_and_asks(
    catalog: Catalog, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "me", FILES)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    for root in ("/proc/self", "/dev", str(config.data_dir)):
        config.data_dir.mkdir(exist_ok=True)
        with pytest.raises(InvalidPathError):
            catalog.jobs.submit(root, IndexOptions(confirmed=True))
        with pytest.raises(InvalidPathError):
            catalog.watch(root, is_confirmed=True)
    with pytest.raises(UnconfirmedFolderError):
        catalog.jobs.submit(str(tmp_path / "me"))
    with pytest.raises(UnconfirmedFolderError):
        catalog.watch(str(tmp_path / "me"))
    assert databases(config.data_dir) == 0
    job = catalog.jobs.submit(str(tmp_path / "me"), IndexOptions(confirmed=True))
    catalog.jobs.follow(job.job_id)
    again = catalog.jobs.submit(str(tmp_path / "me"))  # is not asked about twice
    assert catalog.jobs.follow(again.job_id).result


def test_a_folder_around_the_data_directory_is_indexed_without_it(
    catalog: Catalog, tmp_path: Path
) -> None:
    write_tree(tmp_path, {**FILES, "logs/notes.md": "# Notes\n", "locks/a.py": "x = 1\n"})
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/config.toml").write_text('model = "static"\n')
    job = catalog.jobs.submit(str(tmp_path), IndexOptions(include_patterns=("home/**", "*.py")))
    catalog.jobs.follow(job.job_id)
    index = catalog.open(str(tmp_path))
    assert "CodeCairn" in index.why("home/config.toml").detail
    assert index.why("home/config.toml").outcome == "skipped"
    watcher = catalog.watch(str(tmp_path))
    until(lambda: watcher.status.last_reconcile_at is not None and not catalog.activity.active())
    before = catalog.jobs.list().total
    (tmp_path / "home/logs").mkdir(exist_ok=True)
    for number in range(5):
        (tmp_path / f"home/logs/other-{number}.py").write_text("x = 1\n")
        (tmp_path / "home/config.toml").write_text(f"workers = {number + 1}\n")
    (tmp_path / "seen.py").write_text("def seen():\n    return 1\n")
    until(lambda: index.why("seen.py").outcome == "indexed" and not catalog.activity.active())
    assert catalog.jobs.list().total == before + 1
    assert index.why("home/logs/other-1.py").outcome == "skipped"


def test_the_command_line_names_its_option(command: Command, tmp_path: Path) -> None:
    for arguments in (["index"], ["watch"], ["index", "--background"], ["serve", "--port", "0"]):
        refused = command(*arguments, "me")
        assert refused.code == 2
        assert "home directory" in refused.err
        assert "--yes" in refused.err
        never = command(*arguments, "/proc/1", "--yes")
        assert never.code == 2
        assert "/proc/1" in never.err
    assert databases(tmp_path / "data") == 0
    done = command("index", "me/.ssh", "--yes", "--json")
    assert done.code == 0
    assert done.json()["files_indexed"] == 1


def test_without_a_terminal_an_overlap_is_a_warning(command: Command) -> None:
    assert command("index", "me/src").code == 0
    inner = command("index", "me/src/lib", "--json")
    assert inner.json()["files_indexed"] == 1
    assert "warning: it lies in" in inner.err
    again = command("index", "me/src/lib")
    assert "warning" not in again.err


@contextmanager
def terminal(command: Command, *arguments: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a command on a terminal of its own, and yield both."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        cwd=command.folder,
        env=command.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield ours, process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_until(descriptor: int, words: str) -> str:
    found = ""
    decoder = codecs.getincrementaldecoder("utf-8")()  # a piece can end in the middle of a sign
    deadline_s = time.monotonic() + patience(60)
    while words not in found:
        left_s = deadline_s - time.monotonic()
        ready, _, _ = select.select([descriptor], [], [], max(0.0, left_s))
        if not ready:
            break
        try:
            found += decoder.decode(os.read(descriptor, 4096))
        except OSError:  # the process has ended
            break
    assert words in found
    return found


@pytest.mark.parametrize(
    ("answer", "words"), [(b"n\n", "nothing was indexed"), (b"y\n", "indexed")]
)
def test_on_a_terminal_it_asks(command: Command, answer: bytes, words: str) -> None:
    with terminal(command, "index", "me") as (screen, _):
        read_until(screen, "home directory")
        os.write(screen, answer)
        read_until(screen, words)


@pytest.mark.parametrize("subcommand", ["clear", "forget"])
def test_what_is_declined_is_an_error_as_json(
    command: Command, tmp_path: Path, subcommand: str
) -> None:
    write_tree(tmp_path / "kept", {"app.py": "x = 1\n"})
    assert command("index", str(tmp_path / "kept"), "--quiet").code == 0
    with terminal(command, subcommand, str(tmp_path / "kept"), "--json") as (screen, process):
        read_until(screen, "[y/N]: ")
        os.write(screen, b"n\n")
        read_until(screen, '"message": "nothing was changed"')
        assert process.wait() == 130


def _sleeps(process: int) -> bool:
    """Tell whether a process waits for something, as for an answer."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("subcommand", ["index", "watch", "serve"])
def test_ctrl_c_is_an_answer_to_the_question(command: Command, subcommand: str) -> None:
    with terminal(command, subcommand, "me") as (screen, process):
        read_until(screen, "Index it anyway? [y/N]: ")
        until(lambda: _sleeps(process.pid))  # Python loses a signal that comes just before that
        process.send_signal(signal.SIGINT)
        read_until(screen, "interrupted")
        assert process.wait() == 130
    assert databases(command.home) == 0


def test_the_api_refuses_asks_and_warns(server: Server, tmp_path: Path) -> None:
    home = str(tmp_path / "me")
    with server.client() as client:
        for path in ("/proc", f"{home}/data", "~\0"):
            answer = client.post("/api/v1/projects", json={"path": path, "confirmed": True})
            assert answer.status_code == 400
        answer = client.post("/api/v1/projects", json={"path": home})
        assert answer.status_code == 400
        assert answer.json()["details"]["field"] == "path"
        assert '"confirmed": true' in answer.json()["details"]["hint"]
        assert databases(tmp_path / "me/data") == 1
        inner = index_job(client, Path(home, "src/lib"))
        assert "lies in" in inner["warnings"][0]
        index_job(client, Path(home), confirmed=True)


def test_agents_are_refused_and_warned(
    catalog: Catalog, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "me", {**FILES, "src/lib/a.py": "y = 1\n", "src/b/b.py": "y = 1\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    fields = {
        "index_repository": "path",
        "index_symbol_graph": "repository_path",
        "start_indexing_background": "repo_path",
    }

    async def conversation(client: Client) -> None:
        for tool, field in fields.items():
            for path in (str(tmp_path / "me"), "/proc"):
                error = await refused(client, tool, **{field: path})
                assert error["error"] == "validation_error"
                assert error["details"]["field"] in (field, "path")
                assert ("cairn index --yes" in error["details"]["hint"]) == (path != "/proc")
        assert databases(config.data_dir) == 0
        src = tmp_path / "me/src"
        await called(client, "index_repository", path=str(src))
        found = await called(client, "index_repository", path=str(src / "lib"))
        assert "lies in" in found["notes"][0]
        graph = await called(client, "index_symbol_graph", repository_path=str(src / "b"))
        assert "lies in" in graph["warnings"][0]

    ask(catalog, conversation)


def form(client: httpx.Client, **fields: str) -> httpx.Response:
    return client.post("/", data=fields, headers={"Sec-Fetch-Site": "same-origin"})


def test_the_page_asks_with_the_reason(server: Server, tmp_path: Path) -> None:
    home = str(tmp_path / "me")
    with server.client() as client:
        for path, reason in ((home, "home directory"), (f"{home}/src/lib", "lies in")):
            asked = form(client, path=path)
            page = Page.of(asked)
            assert asked.status_code == 400
            assert reason in page.text
            assert "Index anyway" in page.text
            assert page.all("input", type="hidden", name="path")[0]["value"] == path
        never = form(client, path="/proc", confirmed="yes")
        assert never.status_code == 400
        assert "Index anyway" not in Page.of(never).text
        begun = form(client, path=f"{home}/src/lib", confirmed="yes")
        assert begun.status_code == 303
        assert begun.headers["location"].startswith("/jobs/")


def test_the_page_tells_how_long_a_large_folder_takes(tmp_path: Path) -> None:
    home, folder = tmp_path / "me", tmp_path / "me/large"
    write_tree(folder, {f"m{n}.py": "def add(a, b):\n    return a + b\n" * 9000 for n in range(9)})
    # As a machine that has learned how slow it is; a job of this server would teach it otherwise.
    write_tree(home / "data/logs", {"rates.json": '{"parse_bytes": 1000, "chunks": {}}'})
    with site(home) as server, server.client() as client:
        page = Page.of(form(client, path=str(folder)))
        assert "indexing takes about" in page.text
        assert "Index anyway" in page.text
    assert databases(home / "data") == 0
