"""A server of embeddings on loopback that speaks all four protocols and misbehaves on demand."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from tests.support.patience import patience

DIMENSION = 16


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Give the vector that the server has for a text: not of length 1, the same each time."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    return [float(each) for each in np.random.default_rng(seed).standard_normal(dimension)]


@dataclass
class Received:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at_s: float = field(default_factory=time.monotonic)

    @property
    def texts(self) -> list[str]:
        """The texts it asks vectors for."""
        texts: list[str] = self.body.get("input", self.body.get("inputs", []))
        return texts


#: Takes the handler and the request, and answers in its stead.
Trick = Callable[["Handler", Received], None]


class _Door:
    """Where a server listens; it can be shut and opened again at the same port."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._handler = handler
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()
        self.port = 0
        self.open()

    @property
    def is_open(self) -> bool:
        return self._server is not None

    def open(self) -> None:
        with self._lock:
            if self._server is None:
                server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
                server.daemon_threads = True
                self.port = server.server_port
                threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
                self._server = server

    def shut(self) -> None:
        with self._lock:
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None


@dataclass
class Stub:
    """A server under a test's command."""

    door: _Door
    dimension: int = DIMENSION
    most_items: int = 1000
    most_bytes: int = 1_000_000  # of all texts of a request
    longest: int = 1_000_000  # characters of one text
    refusal: int = 413
    model: str | None = None  # what /info says; None: there is no /info
    at_info: Trick | None = None  # answers /info in its stead
    tricks: list[Trick] = field(default_factory=list)  # one a request, then it behaves
    always: Trick | None = None
    requests: list[Received] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.door.port}"

    @property
    def sizes(self) -> list[int]:
        """How many texts each request asked for."""
        return [len(each.texts) for each in self.requests if each.method == "POST"]

    def behave(self) -> None:
        """Do what a server should from now on; whoever was kept waiting is let go."""
        self.always = None
        self.ended.set()
        self.ended = threading.Event()
        self.door.open()

    def leave(self) -> None:
        """Have nothing listen any more; ``behave`` ends that."""
        self.door.shut()

    def restart(self) -> None:
        """Hang up on everybody, as a process that ends does, and listen again."""
        self.leave()
        for connection in self.connections:
            with suppress(OSError):  # it has ended already
                connection.shutdown(socket.SHUT_RDWR)
        self.behave()


class Handler(BaseHTTPRequestHandler):
    """Answers as the stub says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stub: Stub

    def setup(self) -> None:
        super().setup()
        self.stub.connections.append(self.connection)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        received = Received("GET", self.path, dict(self.headers), {})
        self.stub.requests.append(received)
        if self.stub.at_info is not None:
            self.stub.at_info(self, received)
        elif self.stub.model is None:
            self.answer(404, {"error": "no such page"})
        else:
            self.answer(200, {"model_id": self.stub.model, "model_sha": "abc"})

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(size))
        received = Received("POST", self.path, dict(self.headers), body)
        if not self.stub.door.is_open:
            self.close_connection = True
            return
        self.stub.requests.append(received)
        trick = self.stub.tricks.pop(0) if self.stub.tricks else self.stub.always
        if trick is not None:
            trick(self, received)
            return
        texts = received.texts
        if (
            len(texts) > self.stub.most_items
            or sum(len(text.encode()) for text in texts) > self.stub.most_bytes
            or max(map(len, texts)) > self.stub.longest
        ):
            self.answer(self.stub.refusal, {"error": {"message": "too much for me"}})
            return
        self.answer(200, self.vectors(received))

    def vectors(self, received: Received, change: Callable[[Any], Any] = lambda rows: rows) -> Any:
        """Give the right answer to a request, with its rows changed."""
        rows = change([vector_of(text, self.stub.dimension) for text in received.texts])
        if self.path == "/embed":
            return rows
        if self.path == "/api/embed":
            return {"embeddings": rows}
        if received.body.get("encoding_format") == "base64":
            rows = [base64.b64encode(np.array(row, "<f4").tobytes()).decode() for row in rows]
        data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
        return {"data": data[::-1]}

    def answer(self, status: int, shape: Any, **headers: str) -> None:
        """Send JSON."""
        self.send(status, json.dumps(shape).encode(), **headers)

    def send(self, status: int, content: bytes, **headers: str) -> None:
        """Send bytes; a header's name has _ for -."""
        self.send_response(status)
        given = {"content_type": "application/json", "content_length": str(len(content)), **headers}
        for name, value in given.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def status(code: int, text: str = "", **headers: str) -> Trick:
    """Answer with a status and a reason."""

    def trick(handler: Handler, _: Received) -> None:
        handler.answer(code, {"error": text}, **headers)

    return trick


def rows(change: Callable[[Any], Any]) -> Trick:
    """Answer with changed vectors."""

    def trick(handler: Handler, received: Received) -> None:
        handler.answer(200, handler.vectors(received, change))

    return trick


def if_any_has(word: str, trick: Trick) -> Trick:
    """Misbehave if a word is in one of the texts."""

    def answer(handler: Handler, received: Received) -> None:
        if any(word in text for text in received.texts):
            trick(handler, received)
        else:
            handler.answer(200, handler.vectors(received))

    return answer


def raw(content: bytes, **headers: str) -> Trick:
    """Answer with these bytes."""

    def trick(handler: Handler, _: Received) -> None:
        handler.send(200, content, **headers)

    return trick


def hang(handler: Handler, _: Received) -> None:
    """Say nothing until the server ends or behaves."""
    handler.stub.ended.wait(patience(30))
    handler.close_connection = True


def drip(handler: Handler, _: Received) -> None:
    """Send a byte now and then."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    ended = handler.stub.ended
    while not ended.wait(0.02):
        try:
            handler.wfile.write(b" ")
        except OSError:
            break
    handler.close_connection = True


def drip_head(handler: Handler, _: Received) -> None:
    """Send headers that never end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-")
    ended = handler.stub.ended
    while not ended.wait(0.02):
        try:
            handler.wfile.write(b"x")
        except OSError:
            break
    handler.close_connection = True


def break_off(handler: Handler, received: Received) -> None:
    """Close the connection in the middle of the answer."""
    content = json.dumps(handler.vectors(received)).encode()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def half_json(handler: Handler, received: Received) -> None:
    """Send half of the JSON as if it were all."""
    content = json.dumps(handler.vectors(received)).encode()
    handler.send(200, content[: len(content) // 2])


def leave(handler: Handler, _: Received) -> None:
    """Hang up, and have nothing listen at this port any more until the stub behaves."""
    handler.stub.leave()
    handler.close_connection = True


@contextmanager
def embedding_server(**settings: Any) -> Iterator[Stub]:
    """Run a server while the block runs."""
    handler = type("OwnHandler", (Handler,), {})
    stub = Stub(_Door(handler), **settings)
    handler.stub = stub  # type: ignore[attr-defined]
    try:
        yield stub
    finally:
        stub.ended.set()
        stub.leave()


def free_port() -> int:
    """Give a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class FakeTime:
    """Time that passes only when somebody sleeps; the waits are kept."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept_s = 0.0

    def elapsed_s(self) -> float:
        return self.now_s

    def wall_s(self) -> float:
        return 1_700_000_000.0 + self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds
        self.slept_s += seconds
        time.sleep(0)
