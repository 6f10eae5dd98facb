"""What clients write: messages are passed on, all else is answered with an error.

The library passes over texts that are no messages, and takes a request whose id is none for a
notification; whoever sent one would wait for ever.
"""

import json
from collections.abc import AsyncIterator
from typing import BinaryIO, NamedTuple

from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

_MOST_BYTES = 32 << 20  # of a line


class Refusal(NamedTuple):
    """Why a text is no message."""

    code: int
    why: str
    request_id: str | int | None = None

    def as_error(self) -> JSONRPCError:
        """Give it as the protocol has it."""
        error = ErrorData(code=self.code, message=self.why)
        return JSONRPCError(jsonrpc="2.0", id=self.request_id, error=error)

    def as_json(self) -> str:
        """Write it."""
        return self.as_error().model_dump_json(by_alias=True, exclude_unset=True)


class Lines:
    """The messages that a client writes, as text.

    Args:
        wire: Where it writes.
        answers: Where errors go.
    """

    def __init__(self, wire: BinaryIO, answers: MemoryObjectSendStream[SessionMessage]) -> None:
        self._wire = wire
        self._answers = answers

    async def __aiter__(self) -> AsyncIterator[str]:
        """Give messages until the client is gone."""
        while line := await to_thread.run_sync(
            self._wire.readline, _MOST_BYTES, abandon_on_cancel=True
        ):
            if len(line) == _MOST_BYTES and not line.endswith(b"\n"):
                await to_thread.run_sync(self._skip_rest, abandon_on_cancel=True)
                await self._refuse(Refusal(INVALID_REQUEST, "the message is too large"))
                continue
            if not line.strip():
                continue
            refusal = refusal_of(line)
            if refusal is None:
                yield line.decode()
            else:
                await self._refuse(refusal)

    def _skip_rest(self) -> None:
        while (piece := self._wire.readline(_MOST_BYTES)) and not piece.endswith(b"\n"):
            pass

    async def _refuse(self, refusal: Refusal) -> None:
        await self._answers.send(SessionMessage(refusal.as_error()))


def refusal_of(line: bytes) -> Refusal | None:
    """Say why a line is no message of JSON-RPC as this protocol has it; None when it is one."""
    try:
        message = json.loads(line.decode())
    except (ValueError, RecursionError):
        return Refusal(PARSE_ERROR, "Parse error: the line is not JSON")
    if not isinstance(message, dict):
        return Refusal(INVALID_REQUEST, "Invalid request: not an object; batches are not taken")
    request_id = message.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    why = _fault_of(message, is_id=is_id)
    if not why and not _is_text(line, message):
        why = "half of a surrogate pair is no text"
    if not why:
        return None
    whom = request_id if is_id and _is_text(line, {"id": request_id}) else None
    return Refusal(INVALID_REQUEST, f"Invalid request: {why}", whom)


def _fault_of(message: dict[str, object], *, is_id: bool) -> str:
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc is not "2.0"'
    if "id" in message and not is_id:
        is_answer = "error" in message and message["id"] is None
        return "" if is_answer else "the id is neither a text nor an integer"
    if "method" not in message:
        return "" if message.keys() & {"result", "error"} else "there is no method"
    if not isinstance(message["method"], str):
        return "the method is not a text"
    return "" if isinstance(message.get("params", {}), dict) else "params is not an object"


def _is_text(line: bytes, message: dict[str, object]) -> bool:
    """Say whether all texts of a message can be written as UTF-8."""
    if b"\\ud" not in line.lower():
        return True
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
