"""Clients that speak to a server byte by byte, many at once, and may never listen."""

import os
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.support.patience import patience
from tests.support.server import Server

_SMALL = 4096


def head_of(server: Server, request: str, *lines: str) -> bytes:
    """Give the head of a request, such as ``GET /health``, with more lines."""
    host = f"Host: 127.0.0.1:{server.port}"
    return "\r\n".join([f"{request} HTTP/1.1", host, *lines, "", ""]).encode()


@contextmanager
def connected(server: Server, number: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Open so many connections, and say the same on each; small buffers, as none may listen."""
    with ExitStack() as stack:
        clients = []
        for _ in range(number):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
            client.connect(("127.0.0.1", server.port))
            client.sendall(said)
            clients.append(client)
        yield clients


def statuses(clients: Iterable[socket.socket], *, within_s: float = 20.0) -> Counter[int]:
    """Count what clients are answered; 0 for a connection that was closed without an answer."""
    return Counter(status_of(client, within_s=within_s) for client in clients)


def status_of(client: socket.socket, *, within_s: float = 20.0) -> int:
    """Give the status of an answer that comes on a connection."""
    client.settimeout(patience(within_s))
    try:
        heard = client.recv(_SMALL)
    except ConnectionError:
        return 0
    return int(heard.split(b" ", 2)[1]) if heard else 0


def connections_of(pid: int) -> int:
    """Count the sockets that a process holds."""
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            found += os.readlink(entry).startswith("socket:")
    return found


def resident_mb(pid: int) -> float:
    """Give the memory that a process has, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024
