"""``cairn serve``: serve all projects over HTTP until Ctrl-C."""

import errno
import gc
import os
import socket
import sys

import click
import uvicorn
from litestar import Litestar

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import ConflictError, InvalidConfigError, UnavailableError
from engine.processes import report_crashes
from web.app import create_app, service_of
from web.cli.interrupts import Interrupt
from web.cli.options import confirmed_folder, examples, print_text, yes_option
from web.mcp.http import mounts
from web.security.protocol import PatientProtocol
from web.security.server_settings import ServerSettings, token_for

# Uvicorn's 5 s are those of httpx too, so a request could meet a connection that is being closed.
_KEEP_ALIVE_S = 15
_GRACE_S = 5
_SWITCH_S = 0.001  # shorter waits of the event loop for search threads; the default is 5 ms


@click.command(
    epilog=examples(
        "cairn serve                     all projects, on http://127.0.0.1:7331",
        "cairn serve ~/src/app           index this folder, watch it, and search it by default",
        "cairn serve --port 0            on any free port, which is printed",
        "cairn serve --host 0.0.0.0 --token    for other machines, behind a token",
    )
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--host", help="The address to listen on (default: the setting host, 127.0.0.1).")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="The port; 0 means any free one (default: the setting port, 7331).",
)
@click.option("--no-watch", is_flag=True, help="Do not watch the folders for changes.")
@click.option(
    "--token",
    "wants_token",
    is_flag=True,
    help="Require a token: CAIRN_TOKEN, or one that is generated and stored.",
)
@yes_option
def command(
    *,
    paths: tuple[str, ...],
    host: str | None,
    port: int | None,
    no_watch: bool,
    wants_token: bool,
    yes: bool,
) -> None:
    """Serve all projects to browsers, programs and agents until Ctrl-C, and watch their folders.

    With PATHs, these folders are indexed first, only they are watched, and they answer searches
    that name no project; other projects can still be named. Prints the URL but opens no browser.
    Jobs that are unfinished when the server stops continue in the background.
    """
    report_crashes()
    sys.setswitchinterval(_SWITCH_S)
    given: dict[str, int | str | None] = {"host": host, "port": port}
    config = load_config(None, **{name: each for name, each in given.items() if each is not None})
    with Catalog(config, runs_jobs=False) as catalog:
        token = token_for(config.host, config.data_dir, is_requested=wants_token)
        confirmed = [confirmed_folder(catalog, path, yes=yes) for path in paths]
        with (
            Interrupt(notice="") as interrupt,
            catalog.hold_server_lock() as lock,
            listening_socket(config.host, config.port) as listener,
        ):
            roots = tuple(
                catalog.create(path, is_confirmed=is_confirmed).root
                for path, is_confirmed in zip(paths, confirmed, strict=True)
            )
            settings = ServerSettings(
                host=config.host,
                port=listener.getsockname()[1],
                token=token,
                roots=roots,
                watches=not no_watch,
                editor=config.editor,
            )
            lock.publish(settings.url)
            agents = mounts(catalog, roots)
            app = create_app(
                catalog, settings, handlers=agents.handlers, lifespans=[agents.lifespan]
            )
            server = _Server(app, settings)
            if not interrupt.cancelled():
                try:
                    server.run(sockets=[listener])
                except SystemExit as ended:  # of uvicorn, which says nothing
                    log = config.data_dir / "logs" / "cairn.log"
                    raise UnavailableError(
                        "the server could not start", hint=f"the traceback is in {log}"
                    ) from ended


class _Server(uvicorn.Server):
    """A server that prints its URL when it is ready, and ends waiting requests when it stops.

    Uvicorn says nothing of a socket that it is given, and waits for streams that never end by
    themselves before it tells the application that it stops.
    """

    def __init__(self, app: Litestar, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        super().__init__(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="critical",  # the shield logs requests, without their queries, and errors
                server_header=False,
                proxy_headers=False,  # else X-Forwarded-For says who the client is
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and print its URL."""
        await super().startup(sockets)
        if self.started:
            gc.freeze()  # long-lived objects; collecting them blocks the loop for 90 ms
            token = self._settings.token
            login = f"/?token={token.reveal()}" if token else ""
            print_text(f"CodeCairn is serving on {self._settings.url}{login} (Ctrl-C to stop)\n")
            sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer waiting requests, then stop."""
        await service_of(self._app).begin_shutdown()
        await super().shutdown(sockets)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address.

    Connections inherit its TCP_NODELAY. asyncio sets it only on sockets whose protocol is told,
    which those of ``socket.create_server`` do not do, and an answer in two writes would then wait
    40 ms for the client's delayed acknowledgement.

    Raises:
        ConflictError: The port is in use.
        InvalidConfigError: This machine has no such address.
        UnavailableError: It cannot be bound for another reason.
    """
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except OSError as error:
        raise InvalidConfigError(f"cannot resolve {host}", field="host") from error
    family, _, _, _, address = found[0]
    takes_both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # :: means 0.0.0.0 too
    try:
        listener = socket.create_server(address, family=family, dualstack_ipv6=takes_both)
    except OSError as error:
        raise _unbindable(host, port, error) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _unbindable(
    host: str, port: int, error: OSError
) -> ConflictError | InvalidConfigError | UnavailableError:
    if error.errno == errno.EADDRINUSE:
        return ConflictError(
            f"port {port} of {host} is in use by another program",
            hint="choose another one with --port, or any free one with --port 0",
            field="port",
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return InvalidConfigError(f"this machine has no address {host}", field="host")
    why = os.strerror(error.errno) if error.errno else str(error)
    return UnavailableError(f"cannot listen on port {port} of {host}: {why}")
