"""A model hub on loopback with one repository, as the hub's library asks it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """A hub under a test's command."""

    url: str
    repository: str
    files: dict[str, bytes]
    cut: str = ""  # a file of which only half is sent
    asked: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        hub = self.hub
        path = unquote(urlsplit(self.path).path)
        hub.asked.append(f"{self.command} {path}")
        about = f"/api/models/{hub.repository}"
        if path in (about, f"{about}/revision/main", f"{about}/revision/{COMMIT}"):
            siblings = [{"rfilename": name} for name in hub.files]
            self._send(json.dumps({"id": hub.repository, "sha": COMMIT, "siblings": siblings}))
        elif path == f"{about}/tree/{COMMIT}" or path == f"{about}/tree/main":
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}
                for name, content in hub.files.items()
            ]
            self._send(json.dumps(tree))
        elif path.startswith(start := f"/{hub.repository}/resolve/"):
            name = path.removeprefix(start).partition("/")[2]
            if name in hub.files:
                self._send_file(name, hub.files[name], with_body=with_body)
            else:
                self.send_error(404)
        else:
            self.send_error(404)

    def _send(self, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def _send_file(self, name: str, content: bytes, *, with_body: bool) -> None:
        self.send_response(200)
        self.send_header("etag", f'"{_oid(content)}"')
        self.send_header("x-repo-commit", COMMIT)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content[: len(content) // 2] if name == self.hub.cut else content)


def _oid(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def model_hub(repository: str, files: dict[str, bytes]) -> Iterator[Hub]:
    """Run a hub while the block runs."""
    handler = type("OwnHandler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub = Hub(f"http://127.0.0.1:{server.server_port}", repository, files)
    handler.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
