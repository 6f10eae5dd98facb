"""The command line of the MCP Inspector, a client that others wrote, uses every tool and resource.

Each step is a process of its own, so that each begins with a handshake. The Inspector is installed
by npm into a temporary folder; without Node.js, npm or the package the tests are skipped.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import CODE, Command
from tests.support.mcp_calls import HANGS, RESOURCES, Step, follow, projects_in, tour_of
from tests.support.mcp_clients import environment
from tests.support.server import serving

pytestmark = pytest.mark.soak

PACKAGE = "@modelcontextprotocol/inspector"
_INSTALL_S = 300
_STEP_S = 60


@dataclass(frozen=True, slots=True)
class Inspector:
    """The Inspector's command, and a server to ask."""

    command: tuple[str, ...]
    variables: dict[str, str]
    target: str  # a command or an address

    def ask(self, method: str, *arguments: str) -> dict[str, Any]:
        """Ask one thing; the result as the protocol has it."""
        ended = subprocess.run(
            [*self.command, "--cli", self.target, "--method", method, *arguments],
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=_STEP_S,
            check=False,
        )
        assert ended.returncode == 0, (method, arguments, ended.stdout, ended.stderr)
        result: dict[str, Any] = json.loads(ended.stdout)
        return result

    def take(self, step: Step) -> Any:
        """Take a step; its answer."""
        if step.uri:
            [content] = self.ask("resources/read", "--uri", step.uri)["contents"]
            return step.meaning(content["text"])
        given = [f"{name}={_as_argument(value)}" for name, value in step.arguments.items()]
        result = self.ask("tools/call", "--tool-name", step.tool, "--tool-arg", *given)
        assert not result.get("isError"), result
        return result["structuredContent"]


def _as_argument(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command of an Inspector that was just installed."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        pytest.skip("the MCP Inspector was NOT asked: there is no Node.js with npm here")
    folder = tmp_path_factory.mktemp("inspector")
    options = ("--no-audit", "--no-fund", "--no-save", "--prefix", str(folder))
    installed = subprocess.run(
        [npm, "install", *options, PACKAGE],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_INSTALL_S,
        check=False,
    )
    command = folder / "node_modules/.bin/mcp-inspector"
    if installed.returncode or not command.exists():
        pytest.skip(f"the MCP Inspector was NOT asked: npm cannot install it: {installed.stderr}")
    facts = json.loads((folder / f"node_modules/{PACKAGE}/package.json").read_text())
    print(f"MCP Inspector {facts['version']}")
    return node, str(command)


@pytest.fixture(params=["stdio", "mcp", "sse"])
def asked(
    request: pytest.FixtureRequest, inspector: tuple[str, ...], tmp_path: Path
) -> Iterator[Inspector]:
    """An Inspector that asks over one of the transports; the projects are below ``tmp_path``."""
    projects_in(tmp_path)
    home = tmp_path / "home"
    if request.param == "stdio":
        script = tmp_path / "server"
        line = shlex.join([sys.executable, "-c", CODE, "mcp"])
        script.write_text(f"#!/bin/sh\nexec {line}\n")
        script.chmod(0o700)
        yield Inspector(inspector, {**environment(home), **HANGS}, str(script))
        return
    variables = {"CAIRN_WORKERS": "1", **HANGS}
    command = Command(home=home, folder=tmp_path, variables=variables)
    with serving(command, str(tmp_path / "tree")) as server:
        yield Inspector(inspector, dict(os.environ), f"{server.url}/{request.param}")


def test_it_uses_everything(asked: Inspector, tmp_path: Path) -> None:
    tools = [tool["name"] for tool in asked.ask("tools/list")["tools"]]
    listed = asked.ask("resources/list")["resources"]
    templates = asked.ask("resources/templates/list")["resourceTemplates"]
    assert [each["uriTemplate"].partition("{?")[0] for each in templates] == list(RESOURCES)
    steps = follow(tour_of(str(tmp_path / "tree"), str(tmp_path / "slow")), asked.take)
    assert sorted(step.tool for step in steps if step.tool) == sorted(tools)
    assert [step.template for step in steps if step.uri] == list(RESOURCES)
    print(
        f"{asked.target}: {len(tools)} tools, {len(listed)} resources, {len(templates)} templates"
        f" listed; {sum(bool(step.tool) for step in steps)} calls, {len(RESOURCES)} reads"
    )
