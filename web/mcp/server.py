"""The MCP server: registers tools and resources, runs them, and converts errors for the protocol.

The event loop only transports messages. Tools run in worker threads, so that no call waits for
another; progress of a job is reported to the caller, and work that nobody waits for is cancelled.

"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
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
    InputRequiredResult,
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
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from engine.state_records import Job
from engine.telemetry.metrics import Measure, observe_duration, on_behalf_of
from web.mcp import (
    checkpoints,
    code_map,
    contents,
    impact,
    indexing,
    jobs,
    references,
    search,
    verify,
)
from web.mcp.agent_notes import AgentNotes
from web.mcp.bounds import DEFAULT_TOKENS, Sent, sent
from web.mcp.client_folders import with_folders
from web.mcp.failures import for_agents
from web.mcp.projects import FoldersWanted, Projects
from web.mcp.resources import Resources
from web.mcp.tool import Tool, ToolContext
from web.schemas import as_json
from web.wording import line_of

_MAX_CONCURRENT = 8  # quick calls
_MAX_QUEUED = 64  # calls; further ones are rejected
_MAX_LONG_RUNNING = 64
_PROGRESS_INTERVAL_S = 0.25

T = TypeVar("T")

#: Receives the files done, the files in total and a message.
ProgressReporter = Callable[[float, float | None, str], Awaitable[None]]
#: Each has ``tools(context)``.
_MODULES = (search, references, impact, code_map, contents, indexing, jobs, checkpoints, verify)
_INSTRUCTIONS = (
    "Code search on this machine. Use search_code before grep when you do not know names, and "
    "find_symbol when you do; find_references and find_impact before you change what others use; "
    "code_map to learn what is where. "
    "context:NAME in a query searches a named set of projects; project://contexts lists them. "
    "If a project is not indexed, call index_repository with its path. "
    "Answers state their coverage, and hits state whether they are fresh."
)


class Call:
    """A call in progress: its cancellation, and the state of the job it waits for.

    Args:
        folders: The folders that the client works in, if it was asked for them.
    """

    def __init__(self, folders: Sequence[str] | None = None) -> None:
        self._cancelled = threading.Event()
        self._is_claimed = threading.Lock()
        self._folders = folders
        self.job: Job | None = None
        self.project: str | None = None

    @property
    def folders(self) -> Sequence[str] | None:
        """The folders that the client works in; None until it was asked for them."""
        return self._folders

    def cancelled(self) -> bool:
        """Return whether the caller no longer waits for the answer."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Signal that the caller no longer waits."""
        self._cancelled.set()

    def claim(self) -> bool:
        """Return True to the first that asks: the thread that runs it, or who withdraws it."""
        return self._is_claimed.acquire(blocking=False)

    def on_progress(self, job: Job) -> None:
        """Store the state of a job, to be reported to the caller."""
        self.job = job

    def on_project(self, root: str) -> None:
        """Store the folder of the project that the call is about."""
        self.project = root


class CallExecutor:
    """Runs calls in worker threads, with separate limits for quick and long-running ones.

    A call whose caller no longer waits counts until its thread has ended.
    """

    def __init__(self) -> None:
        self._quick = CapacityLimiter(_MAX_CONCURRENT)
        self._slow = CapacityLimiter(_MAX_LONG_RUNNING)
        self._threads = CapacityLimiter(_MAX_CONCURRENT + _MAX_LONG_RUNNING)  # never the bound

    async def run(
        self,
        work: Callable[[Call], T],
        *,
        long_running: bool = False,
        report_progress: ProgressReporter | None = None,
        folders: Sequence[str] | None = None,
    ) -> T:
        """Run work in a thread and return its result.

        Args:
            work: Receives the call.
            long_running: Whether it takes long and mostly waits.
            report_progress: Called several times a second while the job that the call waits for
                makes progress.
            folders: As for ``Call``.

        Raises:
            UnavailableError: Too many calls are queued.
        """
        limiter = self._slow if long_running else self._quick
        if limiter.statistics().tasks_waiting >= _MAX_QUEUED:
            raise UnavailableError(
                f"{_MAX_QUEUED} calls are queued already", hint="try again in a moment"
            )
        call = Call(folders)
        await limiter.acquire_on_behalf_of(call)
        try:
            if report_progress is None:
                return (await self._in_thread(work, call, limiter)).result()
            async with anyio.create_task_group() as group:
                group.start_soon(_report_progress, call, report_progress)
                done = await self._in_thread(work, call, limiter)
                group.cancel_scope.cancel()
        finally:
            call.cancel()
            if call.claim():  # no thread has begun it, and none will
                limiter.release_on_behalf_of(call)
        return done.result()

    async def _in_thread(
        self, work: Callable[[Call], T], call: Call, limiter: CapacityLimiter
    ) -> "Future[T]":
        """Run the work, in a thread that goes on if nobody waits for it any more."""
        loop = asyncio.get_running_loop()

        def run() -> Future[T]:
            if not call.claim():
                return Future()  # nobody waits
            try:
                return _captured(work, call)
            finally:
                with suppress(RuntimeError):  # the server has ended
                    loop.call_soon_threadsafe(limiter.release_on_behalf_of, call)

        return await to_thread.run_sync(run, limiter=self._threads, abandon_on_cancel=True)


def _captured(work: Callable[[Call], T], call: Call) -> "Future[T]":
    """Run the work and capture its exception, which the task group would wrap."""
    done: Future[T] = Future()
    try:
        done.set_result(work(call))
    except Exception as error:  # noqa: BLE001 - raised again where the caller waits
        done.set_exception(error)
    return done


async def _report_progress(call: Call, report_progress: ProgressReporter) -> None:
    """Report only increasing progress, as the protocol demands."""
    reported = -1
    while True:
        await anyio.sleep(_PROGRESS_INTERVAL_S)
        job = call.job
        if job is not None and job.files_done > reported:
            reported = job.files_done
            await report_progress(reported, job.files_total, line_of(job))


_log = logging.getLogger(__name__)


class CairnServer(MCPServer[Any]):
    """An MCP server with the given tools and resources.

    Args:
        tools: The tools.
        resources: The resources.
        notes: Notes who calls what.
    """

    def __init__(self, tools: Sequence[Tool], resources: Resources, notes: AgentNotes) -> None:
        super().__init__(
            "codecairn",
            title="CodeCairn",
            instructions=_INSTRUCTIONS,
            version=_version(),
            log_level="WARNING",
            middleware=[notes.of_arrival],
        )
        self._notes = notes
        self._by_name = {tool.name: tool for tool in tools}
        self._resources = resources
        self._executor = CallExecutor()

    @property
    def lowlevel(self) -> Server[Any]:
        """The server object that transports need."""
        return self._lowlevel_server

    async def list_tools(self) -> list[ToolInfo]:
        """Return the descriptions of the tools."""
        return [tool.info() for tool in self._by_name.values()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; its errors are returned as answers.

        Raises:
            MCPError: There is no such tool.
        """
        tool = self._by_name.get(name)
        if tool is None:
            observe_duration(Measure.TOOL_DURATION, 0, "none", "unknown_tool")
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        report_progress = context.report_progress if context and tool.long_running else None
        started_s = time.perf_counter()
        calls: list[Call] = []

        async def answered(folders: Sequence[str] | None) -> Sent:
            with on_behalf_of("mcp"):
                return await self._answer(tool, arguments, report_progress, folders, calls.append)

        answer = await with_folders(answered, context)
        if isinstance(answer, InputRequiredResult):
            return answer
        result = answer.result
        content = result.structured_content or {}
        outcome = str(content.get("error", "error")) if result.is_error else "ok"
        took_s = time.perf_counter() - started_s
        observe_duration(Measure.TOOL_DURATION, took_s, name, outcome)
        project = (calls[-1].project if calls else None) or _folder_in(arguments)
        self._notes.call(context, name, project, took_s, answer.tokens, outcome)
        return result

    async def _answer(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        report_progress: ProgressReporter | None,
        folders: Sequence[str] | None,
        on_call: Callable[[Call], None],
    ) -> Sent:
        def run(call: Call) -> Sent:
            on_call(call)
            answer = tool.run(params, call)
            return sent(answer, getattr(params, "max_tokens", None) or DEFAULT_TOKENS)

        try:
            params = tool.parse(arguments)
            return await self._executor.run(
                run,
                long_running=tool.long_running,
                report_progress=report_progress,
                folders=folders,
            )
        except FoldersWanted:
            raise
        except EngineError as error:
            answer = tool.fail(for_agents(error))
        except Exception as error:  # noqa: BLE001 - the last handler
            _log.exception("the tool %s failed", tool.name)
            answer = tool.fail(
                EngineError(f"{tool.name} failed internally: {type(error).__name__}")
            )
        return sent(answer, DEFAULT_TOKENS)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult:
        """Reject every name: this server has no prompts.

        Raises:
            MCPError: Always.
        """
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")

    async def list_resources(self) -> list[ResourceInfo]:
        """Return the resources without parameters."""
        return self._resources.listed()

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the resources with parameters."""
        return self._resources.templates()

    async def read_resource(
        self, uri: Any, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Raises:
            MCPError: It does not exist or cannot be read; ``data`` has the common error shape.
        """

        async def contents_with(folders: Sequence[str] | None) -> list[ReadResourceContents]:
            read = partial(self._resources.read, str(uri))
            text, mime_type = await self._executor.run(read, folders=folders)
            return [ReadResourceContents(content=text, mime_type=mime_type)]

        try:
            return await with_folders(contents_with, context)
        except EngineError as error:
            raise _protocol_error(for_agents(error), str(uri)) from error
        except Exception as error:
            _log.exception("a resource failed")
            failure = EngineError(f"failed internally: {type(error).__name__}")
            raise _protocol_error(failure, str(uri)) from error


def make_server(catalog: Catalog, *, served: tuple[str, ...] = (), is_runner: bool) -> CairnServer:
    """Create the server for a catalog.

    Args:
        catalog: The projects.
        served: Folders to serve; a single one is the project of calls that name none.
        is_runner: Whether this process runs jobs. Otherwise a separate process is started for
            them, and relative paths are relative to the folder of this process.
    """
    projects = Projects(catalog, served, is_local=not is_runner)
    context = ToolContext(catalog=catalog, projects=projects, is_runner=is_runner)
    tools = [tool for module in _MODULES for tool in module.tools(context)]
    notes = AgentNotes(catalog.agents_log().event, "http" if is_runner else "stdio")
    return CairnServer(tools, Resources(context), notes)


def _folder_in(arguments: dict[str, Any]) -> str | None:
    """Return the folder that an indexing tool is given."""
    given = (arguments.get(name) for name in ("repository_path", "repo_path", "path"))
    return next((each for each in given if isinstance(each, str) and os.path.isabs(each)), None)


def _protocol_error(error: EngineError, uri: str) -> MCPError:
    is_caller_error = isinstance(error, InvalidInputError | NotFoundError)
    data = as_json({**error.as_json(), "uri": uri})
    return MCPError(INVALID_PARAMS if is_caller_error else INTERNAL_ERROR, error.message, data)


def _version() -> str:
    try:
        return metadata.version("codecairn")
    except metadata.PackageNotFoundError:
        return ""
