"""The MCP server over standard input and output, started by its client."""

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
from engine.processes import report_crashes
from engine.state_records import ACTIVE, JobFilter
from web.mcp.jsonrpc import MessageReader
from web.mcp.server import make_server

_INTERRUPTED = 130


class _Writer(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


def run(config: Config, *, served: tuple[str, ...] = ()) -> None:
    """Serve until standard input ends; only the protocol is written to standard output.

    A signal ends the process at once, because reading standard input cannot be interrupted
    otherwise. Jobs run in a separate process and continue without this one.

    Args:
        config: The settings in force.
        served: Folders that calls refer to when they name no project.
    """
    report_crashes()
    with Catalog(config, runs_jobs=False) as catalog, catalog.traced("mcp"):
        threading.Thread(
            target=_resume_jobs, args=(catalog,), name="resume_jobs", daemon=True
        ).start()
        anyio.run(_serve, catalog, served)


async def _serve(catalog: Catalog, served: tuple[str, ...]) -> None:
    server = make_server(catalog, served=served, is_runner=False)
    rejecting, rejections = anyio.create_memory_object_stream[SessionMessage](0)
    lines = cast("anyio.AsyncFile[str]", MessageReader(_take_stdin(), rejecting))
    async with anyio.create_task_group() as group, rejecting, rejections:
        group.start_soon(_exit_on_signal, catalog)
        async with stdio_server(stdin=lines) as (reading, writing):
            group.start_soon(_forward, rejections, writing)
            options = server.lowlevel.create_initialization_options()
            await server.lowlevel.run(reading, writing, options)
        group.cancel_scope.cancel()


def _take_stdin() -> BinaryIO:
    """Take over standard input, so that no other code and no child process reads it."""
    wire = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as null:
        os.dup2(null.fileno(), 0)
    return wire


async def _forward(rejections: MemoryObjectReceiveStream[SessionMessage], writing: _Writer) -> None:
    try:
        async for rejection in rejections:
            await writing.send(rejection)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return  # the client has disconnected


async def _exit_on_signal(catalog: Catalog) -> None:
    with open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            await to_thread.run_sync(catalog.close)
            sys.stderr.flush()
            os._exit(_INTERRUPTED if number == signal.SIGINT else 0)


def _resume_jobs(catalog: Catalog) -> None:
    """Start a runner if there are active jobs without one."""
    try:
        for state in ACTIVE:
            if catalog.jobs.list(JobFilter(status=state, limit=1)).total:
                catalog.jobs.ensure_runner()
                return
    except EngineError as error:
        sys.stderr.write(f"{error.code}: {error.report}\n")
