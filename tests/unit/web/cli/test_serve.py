"""The socket that ``cairn serve`` listens on."""

import socket

from web.cli.serve import listening_socket


def test_connections_do_not_wait_for_acknowledgements() -> None:
    with (
        listening_socket("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
