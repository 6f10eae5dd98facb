"""The names that a server answers to: a page elsewhere can make its own name lead here."""

import ipaddress
import re
import socket

from web.errors import Refusal
from web.security.serving import Serving

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_HTTP_PORT = 80
_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")


class Hosts:
    """Knows which values of the headers Host and Origin are the server's own.

    Args:
        serving: Where the server listens.
    """

    def __init__(self, serving: Serving) -> None:
        self._port = serving.port
        names = {*_LOOPBACK, _name_of(serving.host)}
        #: Bound to every address of the machine, it answers to that which a client came to.
        self._is_everywhere = _is_unspecified(serving.host)
        if not serving.is_loopback:
            names.add(socket.gethostname().lower())
        self._names = frozenset(names)

    def check_host(self, values: list[bytes], arrived_at: str | None) -> None:
        """Refuse a request for another host.

        Args:
            values: Of all headers Host.
            arrived_at: The address of this machine that the client is connected to.

        Raises:
            Refusal: It is for another host, or for none.
        """
        if len(values) != 1:
            raise Refusal("validation_error", "wanted one header Host", field="Host")
        if not self._is_own(values[0], arrived_at):
            raise Refusal(
                "misdirected_request",
                "this server does not answer to that host",
                hint=f"use the address that cairn serve printed, with port {self._port}",
            )

    def check_origin(self, values: list[bytes], arrived_at: str | None) -> None:
        """Refuse a request that a page from elsewhere makes.

        Raises:
            Refusal: The header Origin is there and not the server's own.
        """
        for value in values:
            scheme, separator, host = value.partition(b"://")
            is_http = scheme.lower() == b"http" and bool(separator)
            if len(values) > 1 or not is_http or not self._is_own(host, arrived_at):
                raise Refusal("forbidden", "pages of another origin may not use this server")

    def _is_own(self, value: bytes, arrived_at: str | None) -> bool:
        matched = _HOST.fullmatch(value.decode("latin-1").lower())
        if matched is None or int(matched["port"] or _HTTP_PORT) != self._port:
            return False
        name = _name_of(matched["name"])
        is_here = self._is_everywhere and arrived_at is not None and name == _name_of(arrived_at)
        return name in self._names or is_here


def _name_of(host: str) -> str:
    """Give a name or address in the one form in which they are compared."""
    bare = host.strip("[]")
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return host.lower().removesuffix(".")
    return f"[{address.compressed}]" if isinstance(address, ipaddress.IPv6Address) else str(address)


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
