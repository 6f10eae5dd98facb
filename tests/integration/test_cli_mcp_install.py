"""``cairn mcp install`` and ``uninstall``: one entry in files that belong to others."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from engine.errors import UnavailableError
from tests.support.command import Command
from tests.support.permissions import permissions_hold
from web.agent_clients import EDITED
from web.cli.agents import install

pytestmark = pytest.mark.slow

CLAUDE = ".claude.json"
CODEX = ".codex/config.toml"
CURSOR = ".cursor/mcp.json"
VSCODE = ".config/Code/User/mcp.json"
AGENT_OF = {CLAUDE: "claude-code", CODEX: "codex", CURSOR: "cursor", VSCODE: "vscode"}

JSON_TEXTS = [
    '{"numStartups": 3, "projects": {"/a": {"history": ["{", "\\"//"]}}}',
    '{\n  "KEY": {\n    "other": {"command": "x"}\n  },\n  "z": 1\n}\n',
    '{\r\n\t"KEY": {\r\n\t\t"other": {"url": "http://x//y"}\r\n\t}\r\n}\r\n',
    '// top\n{\n  "KEY": { // servers\n    "a": {"b": 1,}, // after a\n    /* end */\n  },\n}\n',
    '{"KEY":{"a":{}},"b":[1,2,{"KEY":{}}]}',
    '\ufeff{\n    "KEY": {}\n}',
    '{"größe": "😀", "KEY": {"other": {}}}',
]
TOML_TEXTS = [
    'model = "o"\n',
    '# mine\n[mcp_servers.a]\ncommand = "x" # c\n\n# tail\n[z]\nq = 1\n',
    '[mcp_servers."a.b"]\r\nurl = "http://x"\r\n',
    'text = """\n[mcp_servers.other]\n"""\n[features]\nx = true',
    "[mcp_servers]\n",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home folder of somebody without agents."""
    folder = tmp_path / "person"
    folder.mkdir()
    return folder


@pytest.fixture
def cairn(tmp_path: Path, home: Path) -> Command:
    """The command, run by that person; no agent of this machine is on the PATH."""
    variables = {"HOME": str(home), "PATH": "/nonexistent"}
    return Command(home=tmp_path / "data", folder=home, variables=variables)


def written(home: Path, name: str, text: str) -> Path:
    """Write an agent's file."""
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_json_files_keep_all_else_to_the_byte(home: Path, cairn: Command, text: str) -> None:
    for name, key in ((CLAUDE, "mcpServers"), (VSCODE, "servers")):
        before = text.replace("KEY", key)
        file = written(home, name, before)
        ended = cairn("mcp", "install", AGENT_OF[name], "--json")
        [change] = ended.json()["agents"]
        assert (ended.code, change["outcome"]) == (0, "added")
        assert Path(change["backup"]).read_bytes() == before.encode()
        installed = file.read_bytes()
        assert b'"codecairn"' in installed
        assert cairn("mcp", "install", AGENT_OF[name]).out.startswith(
            f"{AGENT_OF[name]}: unchanged"
        )
        assert file.read_bytes() == installed
        assert cairn("mcp", "uninstall", AGENT_OF[name]).code == 0
        after = file.read_bytes().decode()
        if f'"{key}": {{' in before or f'"{key}":{{' in before:
            assert after.replace("{ }", "{}") == before
        else:
            assert json.loads(after) == {**json.loads(before), key: {}}


@pytest.mark.parametrize("text", TOML_TEXTS)
def test_toml_files_keep_all_else_to_the_byte(home: Path, cairn: Command, text: str) -> None:
    file = written(home, CODEX, text)
    before = tomllib.loads(text)
    assert cairn("mcp", "install", "codex").code == 0
    data = tomllib.loads(file.read_bytes().decode())
    entry = data["mcp_servers"].pop("codecairn")
    assert entry["args"][-1] == "mcp"
    assert data == {"mcp_servers": {}, **before}
    changed = cairn("mcp", "install", "codex", "--http", "--json").json()
    assert [change["outcome"] for change in changed["agents"]] == ["updated"]
    assert tomllib.loads(file.read_bytes().decode())["mcp_servers"]["codecairn"] == {
        "url": "http://127.0.0.1:7331/mcp",
        "env": entry["env"],
    }
    assert cairn("mcp", "uninstall", "codex").code == 0
    assert file.read_bytes().decode().rstrip() == text.rstrip()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (CLAUDE, "{"),
        (CLAUDE, "[]"),
        (CLAUDE, '{"mcpServers": []}'),
        (CLAUDE, '{"mcpServers": {"a": 1}, "mcpServers"}'),
        (CLAUDE, "{" * 50_000),
        (CODEX, "mcp_servers = { a = { url = 'x' } }\n"),
        (CODEX, "= 1"),
        (CODEX, "mcp_servers = 1\n"),
    ],
)
def test_what_cannot_be_edited_is_left_alone(
    home: Path, cairn: Command, name: str, text: str
) -> None:
    file = written(home, name, text)
    ended = cairn("mcp", "install", AGENT_OF[name], "--json")
    assert ended.code == 2
    assert ended.json()["details"]["hint"].startswith("edit it by hand")
    assert file.read_text() == text
    assert [each.name for each in file.parent.iterdir() if "cairn" in each.name] == []


def test_what_is_no_text_is_left_alone(home: Path, cairn: Command) -> None:
    (home / CLAUDE).write_bytes(b'{"a": "\xff"}')
    assert cairn("mcp", "install", "claude-code").code == 2
    assert (home / CLAUDE).read_bytes() == b'{"a": "\xff"}'


def test_a_file_that_cannot_be_read_or_written_is_told(home: Path, cairn: Command) -> None:
    written(home, ".cursor", "no folder")
    for action in ("install", "uninstall"):
        ended = cairn("mcp", action, "cursor", "--json")
        assert ended.code == 5
        assert ended.json()["message"] == f"cannot read or write {home / CURSOR}: Not a directory"
        assert ended.json()["details"]["hint"].startswith("edit it by hand")

    [codex] = (client for client in EDITED if client.name == "codex")
    file = written(home, CODEX, "[z]\nq = 1\n")
    for closed, mode in ((file, 0), (file.parent, 0o555), (file.parent, 0)):
        before = closed.stat().st_mode
        closed.chmod(mode)
        with permissions_hold(), pytest.raises(UnavailableError, match="Permission denied"):
            install(codex, file, {"command": "cairn"}, within=home)
        closed.chmod(before)
        assert [each.read_text() for each in file.parent.iterdir()] == ["[z]\nq = 1\n"]


def test_links_are_kept_and_never_lead_out(home: Path, cairn: Command, tmp_path: Path) -> None:
    kept = written(home, "dotfiles/claude.json", "{}")
    os.symlink(kept, home / CLAUDE)
    assert cairn("mcp", "install", "claude-code").code == 0
    assert (home / CLAUDE).is_symlink()
    assert "codecairn" in json.loads(kept.read_text())["mcpServers"]

    os.symlink(tmp_path / "nowhere.json", home / ".mcp.json")
    assert cairn("mcp", "install", "claude-code", "--scope", "project").code == 2
    assert not (tmp_path / "nowhere.json").exists()

    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    (home / ".vscode").mkdir()
    os.symlink(outside, home / ".vscode/mcp.json")
    assert cairn("mcp", "install", "vscode", "--scope", "project").code == 2
    assert outside.read_text() == "{}"


def test_agents_are_found_by_what_they_leave(home: Path, cairn: Command) -> None:
    assert cairn("mcp", "install").code == 2
    (home / ".cursor").mkdir()
    (home / ".codex").mkdir()
    changes = cairn("mcp", "install", "--json").json()["agents"]
    assert [(each["agent"], each["outcome"]) for each in changes] == [
        ("cursor", "added"),
        ("codex", "added"),
    ]
    assert (home / CURSOR).stat().st_mode & 0o777 == 0o600
    entry = json.loads((home / CURSOR).read_text())["mcpServers"]["codecairn"]
    assert entry["env"] == {"CAIRN_HOME": str(cairn.home)}
    assert not (home / CLAUDE).exists()


def test_a_file_that_cannot_be_edited_holds_up_no_other(home: Path, cairn: Command) -> None:
    written(home, CURSOR, "{broken")
    written(home, CODEX, "[z]\nq = 1\n")
    ended = cairn("mcp", "install")
    assert ended.code == 2
    assert "codex: added" in ended.out
    assert str(home / CURSOR) in ended.err
    told = cairn("mcp", "uninstall", "cursor", "codex", "--json")
    assert told.code == 2
    [change] = told.json()["details"]["agents"]
    assert (change["agent"], change["outcome"]) == ("codex", "removed")
    written(home, CODEX, "= 1")
    for told in (cairn("mcp", "install"), cairn("mcp", "install", "--json")):
        assert told.code == 2
        assert all(str(home / name) in told.err + told.out for name in (CURSOR, CODEX))


def test_a_data_directory_may_have_any_character(home: Path, tmp_path: Path) -> None:
    data = tmp_path / "da\x7fta \U0001f600"
    cairn = Command(home=data, folder=home, variables={"HOME": str(home), "PATH": "/nonexistent"})
    file = written(home, CODEX, "[z]\nq = 1\n")
    assert cairn("mcp", "install", "codex").code == 0
    entry = tomllib.loads(file.read_text("utf-8"))["mcp_servers"]["codecairn"]
    assert entry["env"] == {"CAIRN_HOME": str(data)}
    printed = cairn("mcp", "install", "codex", "--print").out.partition(":\n\n")[2]
    assert tomllib.loads(printed)["mcp_servers"]["codecairn"] == entry


def test_what_the_user_added_to_the_entry_stays(home: Path, cairn: Command) -> None:
    ours = {"command": "old", "args": [], "env": {"A": "b"}, "disabled": True}
    file = written(home, CURSOR, json.dumps({"mcpServers": {"codecairn": ours}}))
    assert cairn("mcp", "install", "cursor", "--http").code == 0
    assert json.loads(file.read_text())["mcpServers"]["codecairn"] == {
        "url": "http://127.0.0.1:7331/mcp",
        "env": {"A": "b"},
        "disabled": True,
    }


def test_printing_writes_nothing(home: Path, cairn: Command) -> None:
    ended = cairn("mcp", "install", "claude-code", "codex", "--print")
    assert ended.code == 0
    assert "[mcp_servers.codecairn]" in ended.out
    assert '"codecairn": {' in ended.out
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("cursor", "cairn mcp install cursor --http"),
        ("127.0.0.1:7331/mcp", "--http http://127.0.0.1:7331/mcp"),
        ("", "--http http://127.0.0.1:7331/mcp"),
    ],
)
def test_what_is_no_address_is_written_nowhere(
    home: Path, cairn: Command, typed: str, hint: str
) -> None:
    file = written(home, CURSOR, "{}")
    ended = cairn("mcp", "install", "--http", typed, "--json")
    details = {"field": "http", "hint": hint}
    assert (ended.code, ended.json()["details"]) == (2, details), ended
    assert file.read_text() == "{}"
