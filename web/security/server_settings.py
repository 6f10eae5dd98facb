"""The settings of a server: its address, the served folders, and the required token."""

import ipaddress
import os
import secrets
import stat
import threading
from dataclasses import field
from pathlib import Path

from engine.config import Secret, server_token
from engine.errors import InvalidConfigError, UnavailableError
from engine.record_class import record
from engine.records import display_path

_TOKEN_BYTES = 32
_MOST_TOKEN_CHARS = 1000
_MOST_ADDED = 1000  # folders; beyond that the oldest is dropped


class _AddedFolders:
    """Folders added after the start, the most recent ones; thread-safe."""

    def __init__(self) -> None:
        self._roots: dict[str, None] = {}  # ordered
        self._lock = threading.Lock()

    def roots(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._roots)

    def add(self, root: str) -> None:
        with self._lock:
            self._roots[root] = None
            if len(self._roots) > _MOST_ADDED:
                del self._roots[next(iter(self._roots))]


@record
class ServerSettings:
    """The settings of a server; the served folders can grow while it runs. Thread-safe."""

    host: str  # an address or a name; 0.0.0.0 and :: are all addresses
    port: int  # the bound port
    token: Secret = field(default_factory=Secret)  # empty: none required
    roots: tuple[str, ...] = ()  # folders given at start; empty: all projects
    watches: bool = True  # keep indexes up to date with their folders
    editor: str = "none"  # opens files from pages; the setting of this name
    _added_folders: _AddedFolders = field(
        default_factory=_AddedFolders, init=False, compare=False, repr=False
    )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def served_roots(self) -> tuple[str, ...] | None:
        """Return the served folders, forgotten or not, or None if all projects are served."""
        return (*self.roots, *self._added_folders.roots()) if self.roots else None

    def add_folder(self, root: str) -> None:
        """Add a folder that was indexed on a page."""
        if self.roots and root not in self.roots:
            self._added_folders.add(root)

    def unwatched_reason(self, project: str) -> str:
        """Return why this server does not watch a project; empty if it does or should.

        Args:
            project: The path of its root, as displayed.
        """
        if not self.watches:
            return "the server was started with --no-watch"
        served = self.served_roots()
        if served is not None and project not in map(display_path, served):
            return "the server serves other folders"
        return ""

    @property
    def url(self) -> str:
        """Its URL on this machine."""
        return f"http://{_in_url(self.host)}:{self.port}"


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; of an IPv4 client of an IPv6 socket, ``::ffff:1.2.3.4``, its IPv4 address.

    Raises:
        ValueError: It is no address.
    """
    address = ipaddress.ip_address(host)
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address or the name ``localhost``."""
    try:
        return address_of(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def token_for(host: str, data_dir: Path, *, is_requested: bool) -> Secret:
    """Return the token that a server on this host requires; empty if none.

    The token of ``CAIRN_TOKEN`` is used first; otherwise, if one is wanted, the file ``token`` in
    the data directory, which is created if missing.

    Raises:
        InvalidConfigError: The host can be reached from elsewhere, and there is no token.
        UnavailableError: The file cannot be read or written, or others may read it.
    """
    token = server_token()
    if token:
        return token
    if is_requested:
        return _stored_token(data_dir / "token")
    if not is_loopback(host):
        raise InvalidConfigError(
            f"{host} can be reached from other machines, and no token is set",
            hint="set CAIRN_TOKEN, or add --token to have one made; or leave --host out",
            field="host",
        )
    return Secret()


def _stored_token(file: Path) -> Secret:
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
        raise UnavailableError(f"cannot store a token in {file}: {error.strerror}") from error
    return Secret(token)


def _token_in(file: Path) -> Secret:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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
