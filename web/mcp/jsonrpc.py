"""Validation of incoming JSON-RPC messages: each invalid one is answered with an error.

The library ignores invalid messages, and treats a request with an invalid id as a notification, so
that the client would wait for an answer forever.
"""

import json
from collections.abc import AsyncIterator
from typing import BinaryIO, NamedTuple

from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

from web.security.json_bodies import excess_of

_MAX_BYTES = 32 << 20  # of a line


class InvalidMessage(NamedTuple):
    """The reason why a text is not a valid message."""

    code: int
    reason: str
    request_id: str | int | None = None

    def as_error(self) -> JSONRPCError:
        """Return it as an error of the protocol."""
        error = ErrorData(code=self.code, message=self.reason)
        return JSONRPCError(jsonrpc="2.0", id=self.request_id, error=error)

    def as_json(self) -> str:
        """Return it as JSON."""
        return self.as_error().model_dump_json(by_alias=True, exclude_unset=True)


class MessageReader:
    """Iterates over the valid messages of a client, as text.

    Args:
        wire: The stream that the client writes to.
        answers: Receives the errors about invalid messages.
    """

    def __init__(self, wire: BinaryIO, answers: MemoryObjectSendStream[SessionMessage]) -> None:
        self._wire = wire
        self._answers = answers

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield messages until the client closes the stream."""
        while line := await to_thread.run_sync(
            self._wire.readline, _MAX_BYTES, abandon_on_cancel=True
        ):
            if len(line) == _MAX_BYTES and not line.endswith(b"\n"):
                await to_thread.run_sync(self._skip_rest, abandon_on_cancel=True)
                await self._reject(InvalidMessage(INVALID_REQUEST, "the message is too large"))
                continue
            if not line.strip():
                continue
            invalid = check_message(line)
            if invalid is None:
                yield line.decode()
            else:
                await self._reject(invalid)

    def _skip_rest(self) -> None:
        while (piece := self._wire.readline(_MAX_BYTES)) and not piece.endswith(b"\n"):
            pass

    async def _reject(self, invalid: InvalidMessage) -> None:
        await self._answers.send(SessionMessage(invalid.as_error()))


def check_message(line: bytes) -> InvalidMessage | None:
    """Return why a line is not a JSON-RPC message of this protocol, or None if it is one."""
    if excess := excess_of(line):
        return InvalidMessage(PARSE_ERROR, f"Parse error: the message {excess}")
    try:
        message = json.loads(line.decode())
    except (ValueError, RecursionError):
        return InvalidMessage(PARSE_ERROR, "Parse error: the line is not JSON")
    if not isinstance(message, dict):
        return InvalidMessage(
            INVALID_REQUEST, "Invalid request: not an object; batches are not supported"
        )
    request_id = message.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    reason = _problem_of(message, is_id=is_id)
    if not reason and not _is_encodable(line, message):
        reason = "a string contains an unpaired surrogate"
    if not reason:
        return None
    known_id = request_id if is_id and _is_encodable(line, {"id": request_id}) else None
    return InvalidMessage(INVALID_REQUEST, f"Invalid request: {reason}", known_id)


def _problem_of(message: dict[str, object], *, is_id: bool) -> str:
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc is not "2.0"'
    if "id" in message and not is_id:
        is_answer = "error" in message and message["id"] is None
        return "" if is_answer else "the id is neither a string nor an integer"
    if "method" not in message:
        return "" if message.keys() & {"result", "error"} else "method is missing"
    if not isinstance(message["method"], str):
        return "method is not a string"
    return "" if isinstance(message.get("params", {}), dict) else "params is not an object"


def _is_encodable(line: bytes, message: dict[str, object]) -> bool:
    """Return whether all strings of a message can be encoded as UTF-8."""
    if b"\\ud" not in line.lower():
        return True
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
