"""The folders that a client works in: its roots, asked for when a call needs them.

Clients of the newest protocol are asked by the answer to their call, which they then make again;
others by a request while their call is in progress.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import InputRequiredResult, ListRootsRequest, ListRootsResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from web.mcp.projects import FoldersWanted, folders_of

_PATIENCE_S = 5.0  # then a client that has roots is treated as one without
_ROOTS = "roots"

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def with_folders(
    work: Callable[[Sequence[str] | None], Awaitable[T]], context: Context[Any, Any] | None
) -> T | InputRequiredResult:
    """Do work that may need the folders of the client, and then ask for them.

    Args:
        work: Receives the folders, or None; raises FoldersWanted if it needs them.
        context: The request.

    Returns:
        What the work returns, or the question to the client.
    """
    try:
        return await work(_answered(context))
    except FoldersWanted:
        has_roots = context and context.client_capabilities and context.client_capabilities.roots
    if not context or not has_roots:
        return await work(())
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return InputRequiredResult(input_requests={_ROOTS: ListRootsRequest()})
    return await work(await _requested(context))


def _answered(context: Context[Any, Any] | None) -> tuple[str, ...] | None:
    """Return the folders in the answer to the question; None if it was not asked."""
    responses = context.input_responses if context else None
    if not responses:
        return None
    found = responses.get(_ROOTS)
    roots = found.roots if isinstance(found, ListRootsResult) else ()
    return folders_of(str(root.uri) for root in roots)


async def _requested(context: Context[Any, Any]) -> tuple[str, ...]:
    """Request the roots; none if the client does not answer as it should."""
    if not context.request_context.session.can_send_request:
        return ()
    try:
        found = await context.request_context.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=_PATIENCE_S,
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
    except (MCPError, ValueError) as error:  # or an answer that is none
        _log.info("the client does not tell its roots: %s", error)
        return ()
    return folders_of(str(root.uri) for root in found.roots)
