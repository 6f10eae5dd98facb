"""Access checks: host and origin (against DNS rebinding), token or session cookie, rate limit."""

import hashlib
import hmac
import ipaddress
import re
import socket
import time
from collections.abc import Callable
from urllib.parse import parse_qs, quote, unquote_to_bytes

from engine.config import Secret
from web.errors import Refusal
from web.security.server_settings import ServerSettings, address_of

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_HTTP_PORT = 80
_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")

_BEARER = "bearer "
_PATH_CHARS = "/~@:!$&'()*+,;="
_QUERY_CHARS = f"{_PATH_CHARS}%?[]"

MOST_A_SECOND = 50
_MOST_CLIENTS = 4096


class Hosts:
    """The values of the headers Host and Origin that the server accepts.

    Args:
        settings: Where the server listens.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._port = settings.port
        names = {*_LOOPBACK, _name_of(settings.host)}
        #: A server bound to all addresses accepts the address that the client connected to.
        self._is_everywhere = _is_unspecified(settings.host)
        if not settings.is_loopback:
            names.add(socket.gethostname().lower())
        self._names = frozenset(names)

    def check_host(self, values: list[bytes], arrived_at: str | None) -> None:
        """Refuse a request for another host.

        Args:
            values: The values of all Host headers.
            arrived_at: The local address that the client is connected to.

        Raises:
            Refusal: The host is another one, or missing.
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
        """Refuse a request from a page of another origin.

        Raises:
            Refusal: The Origin header is present and not the server's own.
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
    """Return the canonical form of a name or address, for comparison."""
    bare = host.strip("[]")
    try:
        address = address_of(bare)
    except ValueError:
        return host.lower().removesuffix(".")
    return f"[{address.compressed}]" if isinstance(address, ipaddress.IPv6Address) else str(address)


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


class Session:
    """Authentication by the token, or by a cookie derived from it.

    The cookie is an HMAC of the token, so that a browser never stores the token itself.

    Args:
        token: Empty if no authentication is required.
        port: Part of the cookie's name, as cookies are shared between ports.
    """

    def __init__(self, token: Secret, port: int) -> None:
        self._token = token
        self._name = f"cairn_session_{port}"
        made = hmac.new(token.reveal().encode(), b"session", hashlib.sha256).hexdigest()
        self._cookie = Secret(made if token else "")

    @property
    def is_required(self) -> bool:
        """Whether a token is required."""
        return bool(self._token)

    def check(self, authorization: list[str], cookies: list[str]) -> None:
        """Refuse a request with neither token nor cookie.

        Args:
            authorization: Values of the Authorization headers.
            cookies: Values of the Cookie headers.

        Raises:
            Refusal: A token is required, and there is no valid one.
        """
        if not self.is_required or self._has_token(authorization) or self._has_cookie(cookies):
            return
        raise Refusal(
            "unauthorized",
            "this server requires a token",
            hint="open the URL that cairn serve printed, or send Authorization: Bearer TOKEN",
        )

    def cookie_for(self, query: bytes) -> str | None:
        """Return the Set-Cookie value for a query with the token, or None without it."""
        if not (self.is_required and query):
            return None
        try:
            given = parse_qs(query.decode("ascii"), max_num_fields=20).get("token", [])
        except ValueError:
            return None
        if len(given) != 1 or not self._token.is_equal(given[0]):
            return None
        return f"{self._name}={self._cookie.reveal()}; HttpOnly; SameSite=Strict; Path=/"

    def _has_token(self, authorization: list[str]) -> bool:
        return any(
            value[: len(_BEARER)].lower() == _BEARER
            and self._token.is_equal(value[len(_BEARER) :].strip())
            for value in authorization
        )

    def _has_cookie(self, cookies: list[str]) -> bool:
        """Return whether one is the session's; others, of any server of this host, are not read."""
        values = (value for text in cookies for value in cookies_named(self._name, text))
        return any(map(self._cookie.is_equal, values))


def cookies_named(name: str, header: str) -> list[str]:
    """Return the values of a cookie in a header, as they are sent.

    ``http.cookies`` drops a whole header when one of its cookies is malformed.
    """
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for each, _, value in pairs if each == name]


def address_without_token(path: str, query: bytes) -> str:
    """Return the address of a page on this server, without scheme, host and token.

    It starts with a single slash, as two would name another host.
    """
    place = "/" + quote(path.lstrip("/"), safe=_PATH_CHARS, errors="replace")
    parts = [part for part in query.split(b"&") if not _is_token(part)]
    kept = quote(b"&".join(parts), safe=_QUERY_CHARS)
    return f"{place}?{kept}" if kept else place


def _is_token(part: bytes) -> bool:
    return unquote_to_bytes(part.partition(b"=")[0]) == b"token"


class RateLimiter:
    """A token bucket per client address, for the event loop's thread only.

    Clients are told apart by the address of their socket alone, as headers can be forged.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # client: requests left, and when

    def take(self, client: str) -> None:
        """Count a request.

        Raises:
            Refusal: The client has exceeded the limit.
        """
        now_s = self._clock()
        left, at_s = self._buckets.pop(client, (float(MOST_A_SECOND), now_s))
        left = min(float(MOST_A_SECOND), left + (now_s - at_s) * MOST_A_SECOND)
        is_full = left < 1
        self._buckets[client] = (left if is_full else left - 1, now_s)  # newest last
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        if is_full:
            raise Refusal(
                "too_many_requests",
                f"more than {MOST_A_SECOND} requests a second",
                hint="wait a second",
            )
