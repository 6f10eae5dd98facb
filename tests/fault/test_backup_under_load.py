"""A copy made while a server works is whole, and restored it becomes what the server has."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.oracle import check_sound, contents
from tests.support.pages import index_folder
from tests.support.server import Server, serving
from tests.support.trees import write_tree


def _text(number: int, version: int) -> str:
    return f"# {version}\n" + "".join(f"def f{number}_{n}(): return {n}\n" for n in range(20))


def _search_on(server: Server, is_over: threading.Event) -> int:
    number = 0
    with server.client() as client:
        while not is_over.is_set():
            answer = client.get("/api/v1/search", params={"query": f"f{number % 400}_3"})
            assert answer.status_code == 200, answer.text
            number += 1
    return number


def _write_on(server: Server, tree: Path, is_over: threading.Event) -> int:
    """Change some files and have them indexed, again and again."""
    version = 0
    with server.client() as client:
        while not is_over.is_set():
            version += 1
            files = {f"a{n}.py": _text(n, version) for n in range(version % 7, 400, 7)}
            write_tree(tree, files)
            answer = client.post("/api/v1/projects", json={"path": str(tree)})
            assert answer.status_code == 200, answer.text
    return version


@pytest.mark.soak
def test_copies_made_under_load_are_whole(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": _text(n, 0) for n in range(400)})
    command = Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    name = f"{project_id_of(str(tree))}.db"
    copies = [tmp_path / f"copy{number}.db" for number in range(10)]
    is_over = threading.Event()
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        with ThreadPoolExecutor(3) as pool:
            searches = [pool.submit(_search_on, server, is_over) for _ in range(2)]
            writes = pool.submit(_write_on, server, tree, is_over)
            try:
                for copy in copies:
                    ended = command("doctor", str(tree), "--backup", str(copy))
                    assert ended.code == 0, ended
            finally:
                is_over.set()
            runs, asked = writes.result(), sum(each.result() for each in searches)
        client.post("/api/v1/projects", json={"path": str(tree)})
        until(lambda: client.get("/health").json()["active_jobs"] == 0)
    live = contents(command.home / name)
    for number, copy in enumerate(copies):
        check_sound(copy)
        restored = Command(home=tmp_path / f"restored{number}", folder=tmp_path)
        restored.home.mkdir()
        shutil.copy(copy, restored.home / name)
        assert restored("doctor", str(tree)).code == 0
        assert restored("index", str(tree), "--quiet").code == 0
        assert contents(restored.home / name) == live
    print(f"{len(copies)} copies amid {runs} runs and {asked} searches: all sound, restored equal")
