"""What ``make start`` shows: a search that finds something, and lines that can be pasted."""

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from engine.catalog import Catalog
from engine.config import load_config
from tests.support.command import ROOT
from tests.support.patience import ANSWER_S, patience
from web.cli.first_steps import next_steps, sample_query


def _sample(folder: Path, home: Path) -> str:
    with Catalog(load_config(home)) as catalog:
        index = catalog.create(str(folder))
        index.index()
        return sample_query(index)


@pytest.mark.parametrize(
    ("code", "query"),
    [
        ('def parse_config(text):\n    """Read a configuration."""\n', "parse config"),
        (
            "def parse_plain(text):\n    return text\n\n\n"
            'def loadHTTPSettings(url):\n    """Get settings."""\n',
            "load http settings",  # a documented one goes first
        ),
        ("def parse_plain(text):\n    return text\n", "parse plain"),
        ("def parse(text):\n    return text\n", "sample-project"),  # one word says too little
        ("", "sample-project"),
    ],
)
def test_the_sample_is_a_name_of_the_project_in_words(
    tmp_path: Path, code: str, query: str
) -> None:
    folder = tmp_path / "sample-project"
    folder.mkdir()
    (folder / "app.py").write_text(code)
    (folder / "test_app.py").write_text('def build_test_tree():\n    """Make a tree."""\n')
    assert _sample(folder, tmp_path / "home") == query


def test_the_next_steps_can_be_pasted(tmp_path: Path) -> None:
    text = next_steps("/src/my app", "/tools/cairn's bin")
    assert "export PATH='/tools/cairn'\"'\"'s bin':\"$PATH\"" in text
    assert "cairn search \"what you are looking for\" --project '/src/my app'" in text
    assert "cairn status '/src/my app'" in text
    assert "--project" not in next_steps(str(Path.cwd()), "/bin")


def test_it_searches_and_says_what_to_type_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_PORT", "0")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text('def parse_config(text):\n    """Read it."""\n')
    _sample(folder, tmp_path / "home")
    command = [sys.executable, "-m", "web.cli.first_steps", str(folder), "/tools"]
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stop_at_end,
    ):
        assert process.stdout
        stop_at_end.callback(process.kill)  # a failed assertion must not wait for the server
        shown = [next(process.stdout)]
        while not shown[-1].startswith("CodeCairn is serving on"):
            shown.append(next(process.stdout))
        url = shown[-1].split()[4]
        assert httpx.get(f"{url}/health", timeout=ANSWER_S).json()["status"] == "ok"
        again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(patience(20)) in (0, 130)
    text = "".join(shown)
    assert f"$ cairn search 'parse config' --project {folder} --limit 3" in text
    assert re.search(r"app\.py:1-2 \d+% function parse_config", text)
    assert 'export PATH=/tools:"$PATH"' in text
    assert "$ cairn serve\n" in text
    assert again.stdout.endswith(f"CodeCairn is already serving on {url}.\n")


def test_what_ends_make_ends_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CAIRN_PORT", "0")
    monkeypatch.delenv("MAKEFLAGS", raising=False)  # of the make that runs the tests
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text("def parse(text):\n    return text\n")
    stamp = tmp_path / "installed"
    stamp.write_text(f"{ROOT}\n")
    command = ["make", "start", f"VENV={sys.prefix}", f"STAMP={stamp}", f"REPO={folder}"]
    with (
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process,
        ExitStack() as stop_at_end,
    ):
        assert process.stdout
        stop_at_end.callback(_kill_group, process.pid)
        assert any(line.startswith("CodeCairn is serving on") for line in process.stdout)
        process.terminate()
        process.communicate(timeout=patience(20))  # until the server has closed it, too


def _kill_group(number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)
