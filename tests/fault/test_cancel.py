"""A run that is cancelled ends in time, whatever it waits for, and the next one completes it."""

import itertools
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from engine.config import Config, load_config
from engine.index_records import Phase
from engine.indexing.fork_server import ForkServer
from tests.support.catalogs import open_catalog
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.embedding_server import (
    Stub,
    Trick,
    drip,
    drip_head,
    embedding_server,
    hang,
    rows,
    status,
)
from tests.support.git_trees import run_git
from tests.support.onnx_models import write_model
from tests.support.patience import patience
from tests.support.stopping import (
    MOST_S,
    Moment,
    check_resumed,
    database_of,
    in_phase,
    stop_a_run,
)
from tests.support.trees import SAMPLE, write_tree

TEXT = "".join(f"def part_{n}(value):\n    return value + {n}\n\n\n" for n in range(80))


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Settings with two parsing processes and small transactions."""
    return load_config(tmp_path / "home", workers=2, batch_bytes=65536)


def many(count: int, text: str = "") -> dict[str, str | bytes]:
    """Give files, all different, in folders of a hundred."""
    return {f"p{n // 100}/m{n}.py": f"def function_{n}(): pass\n\n\n{text}" for n in range(count)}


def index(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()


def query(config: Config, tree: Path, sql: str) -> int:
    """Ask the database for a number; 0 when it cannot say."""
    file = database_of(config, tree)
    if not file.exists():
        return 0
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(int(patience(1000)))
    try:
        return int(handle.execute(sql).get or 0)
    finally:
        handle.close()


def test_while_walking(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    write_tree(tree, {f"data{n // 1000}/f{n}.bin": b"" for n in range(20_000)})
    # The first report comes with the first file; 0.1 s later, at the next, the walk may be over.
    assert stop_a_run(config, tree, Moment(in_phase(Phase.SCANNING))) < patience(MOST_S)
    assert query(config, tree, "SELECT count(*) FROM skips") == 0
    check_resumed(config, tree)


def test_while_deleting_what_is_gone(config: Config, tree: Path) -> None:
    write_tree(tree, many(2000))
    index(config, tree)
    for file in tree.rglob("*.py"):
        file.unlink()
    few = Moment(lambda _: query(config, tree, "SELECT count(*) FROM files") < 2000)
    assert stop_a_run(config, tree, few) < patience(MOST_S)
    assert 0 < query(config, tree, "SELECT count(*) FROM files") < 2000
    check_resumed(config, tree)


def test_while_reading_files_that_did_not_change(config: Config, tree: Path) -> None:
    write_tree(tree, many(1500))
    index(config, tree)
    for file in tree.rglob("*.py"):
        os.utime(file, ns=(0, 1_000_000_000_000_000_000))
    asked = itertools.count()
    # A run asks for each file that it reads, and seldom before.
    assert stop_a_run(config, tree, Moment(lambda _: next(asked) > 500)) < patience(MOST_S)
    check_resumed(config, tree)


def test_while_parsing(config: Config, tree: Path) -> None:
    write_tree(tree, many(400, TEXT))
    assert stop_a_run(config, tree, Moment(in_phase(Phase.PARSING, 100))) < patience(MOST_S)
    assert 0 < query(config, tree, "SELECT count(*) FROM files") < 400
    check_resumed(config, tree)


def test_while_a_file_hangs_its_parser(
    config: Config, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:hang.py")
    write_tree(tree, many(400) | {"hang.py": "x = 1\n"})
    moment = Moment(in_phase(Phase.PARSING, 300), delay_s=0.3)
    assert stop_a_run(config, tree, moment) < patience(MOST_S)
    assert 300 <= query(config, tree, "SELECT count(*) FROM files") < 400
    monkeypatch.delenv("CAIRN_FAULT")
    check_resumed(config, tree)


def test_while_parsers_start(config: Config, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tree, SAMPLE)
    (tree.parent / "python").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tree.parent / "python").chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", str(tree.parent / "python"))
        moment = Moment(in_phase(Phase.PARSING), delay_s=0.3)
        assert stop_a_run(config, tree, moment, forks=ForkServer()) < patience(MOST_S)
    check_resumed(config, tree)


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server of embeddings under the test's command."""
    with embedding_server() as stub:
        yield stub


SILENT: dict[str, Trick] = {
    "hang": hang,
    "drip": drip,
    "drip head": drip_head,
    "429": status(429, retry_after="50"),
    "503": status(503),
}
#: What is asked for, and how many requests come before.
ASKED = {"a vector to count": 0, "paths": 1, "passages": 2}


@pytest.mark.parametrize("before", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("trick", SILENT.values(), ids=SILENT)
def test_while_a_server_keeps_one_waiting(
    trick: Trick, before: int, stub: Stub, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    config = replace(config, model=f"openai:m@{stub.url}", embedding_timeout=60_000)
    stub.tricks = [rows(lambda rows: rows)] * before
    stub.always = trick
    # Within the first wait before a retry, 0.25 s at least, since a count is tried only twice.
    moment = Moment(lambda _: len(stub.requests) > before, delay_s=0.1)
    assert stop_a_run(config, tree, moment) < patience(MOST_S)
    stub.always = None
    check_resumed(config, tree)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A place on this machine where connections are neither taken nor refused."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        place: tuple[str, int] = server.getsockname()
        for _ in range(4):  # more than wait in line
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        yield place


@pytest.mark.parametrize("form", ["openai:m@http://{}:{}", "tei:@http://{}:{}"])
def test_while_a_server_takes_no_connection(
    form: str, address: tuple[str, int], config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    away = replace(config, model=form.format(*address), embedding_timeout=60_000)
    assert stop_a_run(away, tree, Moment(lambda _: True, delay_s=0.5)) < patience(MOST_S)
    check_resumed(config, tree)


def test_while_a_model_loads(config: Config, tree: Path, tmp_path: Path) -> None:
    write_tree(tree, {"a.py": "x = 1\n"})
    model = write_model(tmp_path / "model", is_slow=True)
    config = replace(config, model=f"onnx:{model}")
    moment = Moment(lambda _: True, delay_s=0.2)
    assert stop_a_run(config, tree, moment) < patience(MOST_S)
    check_resumed(config, tree)


@pytest.mark.parametrize("text", ["", TEXT], ids=["small", "large"])
def test_while_deleting_orphans(text: str, config: Config, tree: Path) -> None:
    write_tree(tree, many(400 if text else 3000, text))
    index(config, tree)
    before = query(config, tree, "SELECT count(*) FROM blobs")
    for file in tree.rglob("*.py"):
        file.unlink()
    write_tree(tree, SAMPLE)
    # A run asks before each transaction, and so between the first and the second.
    deletes = Moment(lambda _: query(config, tree, "SELECT count(*) FROM blobs") < before)
    assert stop_a_run(config, tree, deletes) < patience(MOST_S)
    assert len(SAMPLE) < query(config, tree, "SELECT count(*) FROM blobs") < before
    check_resumed(config, tree)


def test_while_deleting_a_branch(config: Config, tree: Path) -> None:
    run_git(tree, tree.parent, "init", "-q", "-b", "main")
    write_tree(tree, many(1500))
    run_git(tree, tree.parent, "add", ".")
    run_git(tree, tree.parent, "commit", "-q", "-m", "all")
    index(config, tree)
    run_git(tree, tree.parent, "switch", "-q", "-c", "feature")
    index(config, tree)
    run_git(tree, tree.parent, "switch", "-q", "main")
    run_git(tree, tree.parent, "branch", "-q", "-D", "feature")
    moment = Moment(lambda _: query(config, tree, "SELECT count(*) FROM files") < 3000)
    assert stop_a_run(config, tree, moment) < patience(MOST_S)
    assert 1500 < query(config, tree, "SELECT count(*) FROM files") < 3000
    assert query(config, tree, "SELECT complete FROM branches WHERE name = 'feature'") == 0
    check_resumed(config, tree)


def test_while_forgetting_words(config: Config, tree: Path) -> None:
    write_tree(tree, many(300, TEXT))
    index(config, tree)
    handle = apsw.Connection(str(database_of(config, tree)))
    handle.execute("UPDATE branches SET complete = 0")  # as a run that is cut off leaves it
    handle.close()
    (tree / "p0/m0.py").unlink()
    asked: list[bool] = []

    def purges(_: object) -> bool:
        asked.append(query(config, tree, "SELECT count(*) FROM blobs") < 300)
        return sum(asked) > 2

    assert stop_a_run(config, tree, Moment(purges)) < patience(MOST_S)
    assert query(config, tree, "SELECT complete FROM branches") == 0
    check_resumed(config, tree)


@pytest.mark.parametrize(
    "moment_of",
    [
        lambda tree, config: Moment(in_phase(Phase.EMBEDDING, 500)),
        lambda tree, config: Moment(
            lambda _: query(config, tree, "SELECT model_id FROM project") == 2
        ),
    ],
    ids=["embedding", "deleting the old tables"],
)
def test_during_a_switch_of_models(
    moment_of: Callable[[Path, Config], Moment], config: Config, tree: Path
) -> None:
    write_tree(tree, many(2500))
    fakes = Fakes(FakeEmbedder("a"), FakeEmbedder("b", 24))
    old, new = replace(config, model="fake:a"), replace(config, model="fake:b")
    with open_catalog(old, open_embedder=fakes) as catalog:
        catalog.create(str(tree)).index()
    assert stop_a_run(new, tree, moment_of(tree, config), opens=fakes) < patience(MOST_S)
    assert query(config, tree, "SELECT count(*) FROM models") == 2
    check_resumed(new, tree, opens=fakes)
