"""The server over standard input and output, for a client that starts it."""

import os
import signal
import sys
import threading
from typing import BinaryIO, Protocol, cast

import anyio
from anyio import open_signal_receiver, to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import EngineError
from engine.processes import tell_crashes
from engine.state_records import ACTIVE, JobFilter
from web.mcp.jsonrpc import Lines
from web.mcp.server import make_server

_INTERRUPTED = 130


class _Writer(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


def run(config: Config, *, served: tuple[str, ...] = ()) -> None:
    """Serve until standard input ends; nothing but the protocol goes to standard output.

    A signal ends the process at once: what reads standard input cannot be interrupted otherwise.
    Jobs run in a process of their own, so they go on whatever happens to this one.

    Args:
        config: The settings in force.
        served: Folders that the server is about.
    """
    tell_crashes()
    with Catalog(config, runs_jobs=False) as catalog, catalog.traced("mcp"):
        threading.Thread(target=_revive, args=(catalog,), name="revive", daemon=True).start()
        anyio.run(_serve, catalog, served)


async def _serve(catalog: Catalog, served: tuple[str, ...]) -> None:
    server = make_server(catalog, served=served, is_runner=False)
    refused, refusals = anyio.create_memory_object_stream[SessionMessage](0)
    lines = cast("anyio.AsyncFile[str]", Lines(_own_input(), refused))
    async with anyio.create_task_group() as group, refused, refusals:
        group.start_soon(_end_by_signal, catalog)
        async with stdio_server(stdin=lines) as (reading, writing):
            group.start_soon(_pass_on, refusals, writing)
            options = server.lowlevel.create_initialization_options()
            await server.lowlevel.run(reading, writing, options)
        group.cancel_scope.cancel()


def _own_input() -> BinaryIO:
    """Take standard input away from all else in this process, and from its children."""
    wire = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return wire


async def _pass_on(refusals: MemoryObjectReceiveStream[SessionMessage], writing: _Writer) -> None:
    try:
        async for refusal in refusals:
            await writing.send(refusal)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the client has gone


async def _end_by_signal(catalog: Catalog) -> None:
    with open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            await to_thread.run_sync(catalog.close)
            sys.stderr.flush()
            os._exit(_INTERRUPTED if number == signal.SIGINT else 0)


def _revive(catalog: Catalog) -> None:
    """Let jobs go on whose runner has died."""
    try:
        for state in ACTIVE:
            if catalog.jobs.list(JobFilter(status=state, limit=1)).total:
                catalog.jobs.ensure_runner()
                return
    except EngineError as error:
        sys.stderr.write(f"{error.code}: {error.message}\n")
