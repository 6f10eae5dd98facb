"""Messages to and from a worker: pickled objects over a socket.

``multiprocessing.connection`` does as much, but takes 10 ms to import, both here and in the server
that forks the workers, before the first file of an index is parsed.
"""

import pickle
import select
import socket
from typing import Any, Final

_BUFFER_BYTES: Final = 1 << 16


class MessageSocket:
    """One end of a connection, for one thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._reader = connection.makefile("rb", _BUFFER_BYTES)

    def send(self, message: object) -> None:
        """Send a message, waiting until the other end has room for it.

        Raises:
            OSError: The other end was closed.
        """
        self._socket.sendall(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def receive(self) -> Any:
        """Wait for a message, and return it.

        Raises:
            EOFError: The other end was closed.
            pickle.UnpicklingError: It was closed amid a message.
            OSError: The connection failed.
        """
        return pickle.load(self._reader)  # noqa: S301 - from a process of our own

    def has_message(self, timeout_s: float = 0.0) -> bool:
        """Wait so long for a message or the end; return whether ``receive`` need not wait."""
        waiting = select.poll()  # ``select.select`` fails for descriptors above 1,023
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))

    def close(self) -> None:
        """Close this end."""
        self._reader.close()
        self._socket.close()
