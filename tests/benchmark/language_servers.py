"""Language servers asked for definitions and references, over standard input and output.

What they need is not part of the project: ``pip install jedi-language-server`` (Python), ``gopls``
and ``go`` (Go), ``npm install typescript typescript-language-server`` (TypeScript), ``clangd`` (C
and C++), ``npm install intelephense`` (PHP), each on the PATH.
"""

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

_ANSWER_S = 60.0
_PROGRESS_S = 240.0  # until the server has read the project
_QUIET_S = 3.0  # without progress before it counts as done
_STUCK_S = 30.0  # the same, if the server has not said that it is


class Server(NamedTuple):
    """How to run the server of a language."""

    command: tuple[str, ...]
    language_id: str
    endings: tuple[str, ...]


SERVERS = {
    "python": Server(("jedi-language-server",), "python", (".py",)),
    "go": Server(("gopls", "serve"), "go", (".go",)),
    "typescript": Server(("typescript-language-server", "--stdio"), "typescript", (".ts",)),
    "c": Server(("clangd", "--background-index", "--limit-references=0"), "c", (".c", ".h")),
    "cpp": Server(
        ("clangd", "--background-index", "--limit-references=0"),
        "cpp",
        (".cc", ".cpp", ".cxx", ".h", ".hpp"),
    ),
    "php": Server(("intelephense", "--stdio"), "php", (".php",)),
}


class Place(NamedTuple):
    """Where a name stands."""

    path: str  # relative to the root
    line: int  # from 1
    column: int  # in UTF-16 units, from 1


def is_installed(language: str) -> bool:
    """Return whether the server of a language can be run."""
    return shutil.which(SERVERS[language].command[0]) is not None


class LanguageServer:
    """A running server that has a project open.

    Args:
        language: A key of ``SERVERS``.
        root: The project.
        command: The command to run.
    """

    def __init__(self, language: str, root: Path, command: list[str]) -> None:
        self._language = language
        self._root = root
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=root,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off"},
        )
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._last_id = 0
        self._lock = threading.Lock()
        self._working = 0
        self._changed = time.monotonic()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._initialize()

    def open(self, path: str) -> None:
        """Open a file."""
        text = (self._root / path).read_text("utf-8", "replace")
        document = {
            "uri": self._uri(path),
            "languageId": SERVERS[self._language].language_id,
            "version": 1,
            "text": text,
        }
        self._send("textDocument/didOpen", {"textDocument": document})

    def close(self, path: str) -> None:
        """Close a file."""
        self._send("textDocument/didClose", {"textDocument": {"uri": self._uri(path)}})

    def rest(self) -> None:
        """Wait until no progress has been reported for a while."""
        until = time.monotonic() + _PROGRESS_S
        while time.monotonic() < until:
            quiet_s = time.monotonic() - self._changed
            if quiet_s > (_QUIET_S if self._working <= 0 else _STUCK_S):
                return
            time.sleep(0.1)

    def definitions(self, place: Place) -> list[Place]:
        """Return the places of the project where a name is defined."""
        return self._places("textDocument/definition", place)

    def declarations(self, place: Place) -> list[Place]:
        """Return the places of the project where a name is declared."""
        return self._places("textDocument/declaration", place)

    def references(self, place: Place) -> list[Place]:
        """Return the uses of a name in the project, without its declaration."""
        return self._places("textDocument/references", place, context={"includeDeclaration": False})

    def stop(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()

    def _initialize(self) -> None:
        capabilities = {
            "window": {"workDoneProgress": True},
            "workspace": {"configuration": True, "workspaceFolders": True},
            "textDocument": {"definition": {"linkSupport": False}},
        }
        uri = self._root.as_uri()
        self._ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": "project"}],
                "capabilities": capabilities,
                "initializationOptions": {},
            },
        )
        self._send("initialized", {})

    def _uri(self, path: str) -> str:
        return (self._root / path).as_uri()

    def _places(self, method: str, place: Place, **more: Any) -> list[Place]:
        answer = self._ask(
            method,
            {
                "textDocument": {"uri": self._uri(place.path)},
                "position": {"line": place.line - 1, "character": place.column - 1},
                **more,
            },
        )
        found = [answer] if isinstance(answer, dict) else answer or []
        places = (self._place_of(each) for each in found)
        return [each for each in places if each is not None]

    def _place_of(self, location: dict[str, Any]) -> Place | None:
        uri = location.get("uri") or location["targetUri"]
        span = location.get("range") or location["targetSelectionRange"]
        path = Path(unquote(urlsplit(uri).path))
        if not path.is_relative_to(self._root):
            return None
        start = span["start"]
        relative = path.relative_to(self._root).as_posix()
        return Place(relative, start["line"] + 1, start["character"] + 1)

    def _ask(self, method: str, parameters: dict[str, Any]) -> Any:
        self._last_id += 1
        wanted = self._last_id
        self._write({"id": wanted, "method": method, "params": parameters})
        until = time.monotonic() + _ANSWER_S
        while (left := until - time.monotonic()) > 0:
            try:
                answer = self._answers.get(timeout=left)
            except queue.Empty:
                break
            if answer["id"] == wanted:
                return answer.get("result")
        return None  # too slow, as good as no answer

    def _send(self, method: str, parameters: dict[str, Any]) -> None:
        self._write({"method": method, "params": parameters})

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            size = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
            if not size:
                return
            self._take(json.loads(stream.read(size)))

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._answers.put(message)
        elif method == "$/progress":
            self._changed = time.monotonic()
            kind = message["params"]["value"].get("kind")
            self._working += {"begin": 1, "end": -1}.get(kind, 0)
        elif "id" in message:
            items = message.get("params", {}).get("items", [])
            result = [None] * len(items) if method == "workspace/configuration" else None
            self._write({"id": message["id"], "result": result})


@contextmanager
def language_server(language: str, root: Path) -> Iterator[LanguageServer]:
    """Run the server of a language on a project."""
    command = list(SERVERS[language].command)
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
        if command[0] == "clangd":
            _write_commands(language, root, Path(folder))
            command.append(f"--compile-commands-dir={folder}")
        server = LanguageServer(language, root, command)
        try:
            yield server
        finally:
            server.stop()


def _write_commands(language: str, root: Path, folder: Path) -> None:
    """Write a compilation database: each source, with every folder of headers included."""
    headers = {path.parent for pattern in ("*.h", "*.hpp") for path in root.rglob(pattern)}
    folders = sorted({root, *headers, *(each.parent for each in headers)} - {root.parent})
    includes = [f"-I{each}" for each in folders if each.is_relative_to(root)]
    options = ["cc", "-std=gnu11", "-D_GNU_SOURCE"] if language == "c" else ["c++", "-std=c++17"]
    endings = (".c",) if language == "c" else (".c", ".cc", ".cpp", ".cxx")
    entries = [
        {
            "directory": str(root),
            "file": str(path),
            "arguments": [*options, *includes, "-c", str(path)],
        }
        for path in sorted(root.rglob("*"))
        if path.suffix in endings
    ]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
