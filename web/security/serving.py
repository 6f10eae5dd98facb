"""Where a server listens, what it serves, and who may ask."""

import ipaddress
import os
import secrets
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path

from engine.config import Secret, server_token
from engine.errors import InvalidConfigError, UnavailableError
from engine.records import display_path

_TOKEN_BYTES = 32
_MOST_TOKEN_CHARS = 1000
_MOST_JOINED = 1000  # folders; then the first one makes room


class _Joined:
    """Folders that are served since a while after the start, the last of them. For any thread."""

    def __init__(self) -> None:
        self._roots: dict[str, None] = {}  # in their order
        self._lock = threading.Lock()

    def roots(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._roots)

    def add(self, root: str) -> None:
        with self._lock:
            self._roots[root] = None
            if len(self._roots) > _MOST_JOINED:
                del self._roots[next(iter(self._roots))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a server serves; what it serves changes with what people do on its pages.

    For any thread.
    """

    host: str  # an address or a name; 0.0.0.0 and :: are all of the machine's
    port: int  # the one that is bound
    token: Secret = field(default_factory=Secret)  # empty: none is asked for
    roots: tuple[str, ...] = ()  # folders that it was started for; empty: all projects there are
    watches: bool = True  # keep the indexes equal to their folders
    editor: str = "none"  # what opens files from their pages, as the setting of that name
    _joined: _Joined = field(default_factory=_Joined, init=False, compare=False, repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine can reach it."""
        return is_loopback(self.host)

    def served(self) -> tuple[str, ...] | None:
        """Give the folders that are served now, forgotten or not; None: all projects there are."""
        return (*self.roots, *self._joined.roots()) if self.roots else None

    def join(self, root: str) -> None:
        """Serve a folder too from now on, which somebody has asked for on a page."""
        if self.roots and root not in self.roots:
            self._joined.add(root)

    def why_unwatched(self, project: str) -> str:
        """Say why this server does not watch a project; empty when it is to, or does.

        Args:
            project: The path of its root, as it is shown.
        """
        if not self.watches:
            return "the server was started with --no-watch"
        served = self.served()
        if served is not None and project not in map(display_path, served):
            return "the server serves other folders"
        return ""

    @property
    def url(self) -> str:
        """Where it is, for somebody on this machine."""
        return f"http://{_in_url(self.host)}:{self.port}"


def is_loopback(host: str) -> bool:
    """Say whether an address, or the name ``localhost``, is of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def token_for(host: str, data_dir: Path, *, is_wanted: bool) -> Secret:
    """Give the token that a server on this host asks for; empty when it needs none.

    It is that of ``CAIRN_TOKEN``; else, when one is wanted, that of the file ``token`` in the data
    directory, which is made when it is not there.

    Raises:
        InvalidConfigError: The host can be reached from elsewhere, and there is no token.
        UnavailableError: The file cannot be read or written, or others may read it.
    """
    token = server_token()
    if token:
        return token
    if is_wanted:
        return _kept_token(data_dir / "token")
    if not is_loopback(host):
        raise InvalidConfigError(
            f"{host} can be reached from other machines, and no token is set",
            hint="set CAIRN_TOKEN, or add --token to have one made; or leave --host out",
            field="host",
        )
    return Secret()


def _kept_token(file: Path) -> Secret:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return _token_in(file)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with open(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{token}\n")
    except OSError as error:
        raise UnavailableError(f"cannot keep a token in {file}: {error.strerror}") from error
    return Secret(token)


def _token_in(file: Path) -> Secret:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, encoding="ascii", errors="replace") as stream:
        if os.fstat(descriptor).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UnavailableError(
                f"others may read the token in {file}", hint=f"delete it, or chmod 600 {file}"
            )
        token = stream.read(_MOST_TOKEN_CHARS).strip()
    if not token:
        raise UnavailableError(f"there is no token in {file}", hint="delete it; one will be made")
    return Secret(token)


def _in_url(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return f"[{address}]" if address.version == 6 else str(address)
