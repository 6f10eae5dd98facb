"""The server: joins tools and resources, and turns what goes wrong into the protocol's errors.

The engine's work for callers: in threads, so that none waits for another; told of, and stopped.

The event loop does nothing but carry messages. What a caller does not wait for any more stops where
it can.

What to do about an error, in the words of the tools that an agent has.
"""

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from importlib import metadata
from typing import Any, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    ResourceTemplate,
)
from mcp.types import (
    Resource as ResourceInfo,
)
from mcp.types import (
    Tool as ToolInfo,
)

from engine.catalog import Catalog
from engine.errors import (
    EngineError,
    FileNotIndexedError,
    InvalidInputError,
    JobNotFoundError,
    NotFoundError,
    UnavailableError,
)
from engine.state_records import Job
from engine.telemetry.metrics import Measure, on_behalf_of, took
from web.errors import translate
from web.mcp import checkpoints, indexing, jobs, search, verify
from web.mcp.resources import Resources
from web.mcp.tool import Answer, Desk, Projects, Tool
from web.schemas import as_json
from web.wording import line_of

_MOST_AT_ONCE = 8
_MOST_WAITING = 64  # for their turn; whoever comes then is better off trying later
_MOST_FOLLOWING = 64  # runs that are waited for
_TELL_EVERY_S = 0.25

T = TypeVar("T")

#: Is told files done, files in all, and what goes on.
Teller = Callable[[float, float | None, str], Awaitable[None]]


class Call:
    """A call that goes on: whether anybody waits for it, and the job that it waits for."""

    def __init__(self) -> None:
        self._gone = threading.Event()
        self.job: Job | None = None

    def is_gone(self) -> bool:
        """Say whether nobody waits for the answer any more."""
        return self._gone.is_set()

    def leave(self) -> None:
        """Let the work know that nobody waits."""
        self._gone.set()

    def hear(self, job: Job) -> None:
        """Keep how far a job is, for who called."""
        self.job = job


class Workshop:
    """Where the engine works for callers."""

    def __init__(self) -> None:
        self._quick = CapacityLimiter(_MOST_AT_ONCE)
        self._slow = CapacityLimiter(_MOST_FOLLOWING)

    async def do(
        self, work: Callable[[Call], T], *, waits: bool = False, teller: Teller | None = None
    ) -> T:
        """Have work done in a thread, and its answer.

        Args:
            work: Hears of the call.
            waits: It takes long and mostly waits.
            teller: Is told several times a second how far the job is that the call waits for.

        Raises:
            UnavailableError: Too many wait already.
        """
        limiter = self._slow if waits else self._quick
        if limiter.statistics().tasks_waiting >= _MOST_WAITING:
            raise UnavailableError(
                f"{_MOST_WAITING} calls wait for their turn", hint="try again in a moment"
            )
        call = Call()
        try:
            async with anyio.create_task_group() as group:
                if teller:
                    group.start_soon(_tell, call, teller)
                done = await to_thread.run_sync(
                    _attempt, work, call, limiter=limiter, abandon_on_cancel=True
                )
                group.cancel_scope.cancel()
        finally:
            call.leave()
        return done.result()


def _attempt(work: Callable[[Call], T], call: Call) -> "Future[T]":
    """Do the work; what it raises is kept out of the task group, which would wrap it."""
    done: Future[T] = Future()
    try:
        done.set_result(work(call))
    except Exception as error:  # noqa: BLE001 - raised again where the caller waits
        done.set_exception(error)
    return done


async def _tell(call: Call, teller: Teller) -> None:
    """Tell how far the job is whenever it is farther, as the protocol wants it."""
    told = -1
    while True:
        await anyio.sleep(_TELL_EVERY_S)
        job = call.job
        if job is not None and job.files_done > told:
            told = job.files_done
            await teller(told, job.files_total, line_of(job))


_HINTS: dict[type[EngineError], str] = {
    FileNotIndexedError: "the resource symbols://list names the indexed files",
    JobNotFoundError: "list_indexing_jobs lists those there are; ended ones are kept for some days",
}
_WORDS = {
    "new": r'call index_repository with path "\1"',
    "cancel": r'cancel_indexing with job_id "\1"',
    "jobs": "list_indexing_jobs",
    "repair": "verify_index with repair",
    "index": "index_repository",
}


def for_agents(error: EngineError) -> EngineError:
    """Give an error the hint that helps an agent; the same error."""
    error.hint = next(
        (hint for kind, hint in _HINTS.items() if isinstance(error, kind)), error.hint
    )
    return translate(error, _WORDS)


_MODULES = (search, indexing, jobs, checkpoints, verify)  # each has tools(desk)
_log = logging.getLogger(__name__)

_INSTRUCTIONS = (
    "Search of code on this machine. Use search_code before grep when you do not know names, "
    "find_symbol when you do. If a project is not indexed, call index_repository with its path. "
    "Answers tell coverage, and hits tell whether they are fresh."
)


class CairnServer(MCPServer[Any]):
    """An MCP server whose tools and resources are records of ours.

    Args:
        tools: The tools.
        resources: What can be read.
    """

    def __init__(self, tools: Sequence[Tool], resources: Resources) -> None:
        super().__init__(
            "codecairn",
            title="CodeCairn",
            instructions=_INSTRUCTIONS,
            version=_version(),
            log_level="WARNING",
        )
        self._by_name = {tool.name: tool for tool in tools}
        self._resources = resources
        self._workshop = Workshop()

    @property
    def lowlevel(self) -> Server[Any]:
        """The server as transports take it."""
        return self._lowlevel_server

    async def list_tools(self) -> list[ToolInfo]:
        """Describe the tools."""
        return [tool.info() for tool in self._by_name.values()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        """Call a tool; what goes wrong in it is an answer that says so.

        Raises:
            MCPError: There is no such tool.
        """
        tool = self._by_name.get(name)
        if tool is None:
            took(Measure.TOOL_DURATION, 0, "none", "unknown_tool")
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        teller = context.report_progress if context and tool.waits else None
        started_s = time.perf_counter()
        with on_behalf_of("mcp"):
            answer = await self._answer(tool, arguments, teller)
        outcome = str(answer.content.get("error", "error")) if answer.is_error else "ok"
        took(Measure.TOOL_DURATION, time.perf_counter() - started_s, name, outcome)
        return answer.as_result()

    async def _answer(self, tool: Tool, arguments: dict[str, Any], teller: Teller | None) -> Answer:
        try:
            given = tool.read(arguments)
            work = partial(tool.run, given)
            return await self._workshop.do(work, waits=tool.waits, teller=teller)
        except EngineError as error:
            return tool.fail(for_agents(error))
        except Exception as error:  # noqa: BLE001 - the last handler
            _log.exception("the tool %s failed", tool.name)
            return tool.fail(EngineError(f"{tool.name} failed inside: {type(error).__name__}"))

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult:
        """Refuse: this server has no prompts.

        Raises:
            MCPError: Always.
        """
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    async def list_resources(self) -> list[ResourceInfo]:
        """Describe what can be read without parameters."""
        return self._resources.listed()

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Describe what can be read with parameters."""
        return self._resources.templates()

    async def read_resource(
        self, uri: Any, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        """Read a resource.

        Raises:
            MCPError: It is not there, or cannot be read; ``data`` has the one error shape.
        """
        try:
            read = partial(self._resources.read, str(uri))
            text, mime_type = await self._workshop.do(read)
        except EngineError as error:
            raise _protocol_error(for_agents(error), str(uri)) from error
        except Exception as error:
            _log.exception("a resource failed")
            failure = EngineError(f"failed inside: {type(error).__name__}")
            raise _protocol_error(failure, str(uri)) from error
        return [ReadResourceContents(content=text, mime_type=mime_type)]


def make_server(catalog: Catalog, *, served: tuple[str, ...] = (), is_runner: bool) -> CairnServer:
    """Make the server over a catalog.

    Args:
        catalog: The projects.
        served: Folders that the server is about; a single one is the project that calls mean.
        is_runner: Whether this process runs jobs; else a process of their own is started for them,
            and relative paths are those of this process.
    """
    projects = Projects(catalog, served, is_local=not is_runner)
    desk = Desk(catalog=catalog, projects=projects, is_runner=is_runner)
    tools = [tool for module in _MODULES for tool in module.tools(desk)]
    return CairnServer(tools, Resources(desk))


def _protocol_error(error: EngineError, uri: str) -> MCPError:
    is_callers = isinstance(error, InvalidInputError | NotFoundError)
    shape = as_json({**error.as_json(), "uri": uri})
    return MCPError(INVALID_PARAMS if is_callers else INTERNAL_ERROR, error.message, shape)


def _version() -> str:
    try:
        return metadata.version("codecairn")
    except metadata.PackageNotFoundError:
        return ""
