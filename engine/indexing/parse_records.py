"""What travels between this process and the workers that parse: files in, their contents out.

Without the parsers, which the process that starts the workers may never need.
"""

import struct
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from engine.records import Skip, Symbol

if TYPE_CHECKING:
    from engine.store.vector_format import StoredRows
    from engine.syntax.records import Analysis, ChunkRow

#: Operations of the fork server.
FORK: Final = 0
WAIT: Final = 1
LOAD: Final = 2
#: An operation; for ``FORK`` the deadline in ms and the bytes of memory, for ``WAIT`` the process
#: and 0, for ``LOAD`` the place of a language in ``LANGUAGES`` and 0. With ``FORK`` go the
#: descriptors of the worker's connection and of its standard error.
REQUEST: Final = struct.Struct("=BQQ")
#: The process, or the negative errno of a failed fork; for ``WAIT`` the exit code.
#: ``LOAD`` has no reply.
REPLY: Final = struct.Struct("=q")


class Task(NamedTuple):
    """A file to parse."""

    ticket: int  # chosen by the caller, returned with the outcome
    path: str
    language: str
    data: bytes
    is_parsed: bool = True  # False after parsing it cost its workers: only lines and words
    is_embedded: bool = False  # whether its chunks get vectors of the built-in model


class Parsed(NamedTuple):
    """A file that was read as text and parsed."""

    analysis: "Analysis"
    encoding: str
    is_generated: bool
    redactions: int
    licence: str | None  # an SPDX expression
    generator: str | None  # the program that wrote it
    vectors: "StoredRows | None" = None  # of its chunks, if requested by the task
    path_vector: bytes | None = None  # of the path of the task, in stored form, if requested


class Outcome(NamedTuple):
    """The result of a task."""

    ticket: int
    result: Parsed | Skip


def without_names(outcome: Outcome) -> Outcome:
    """Return an outcome whose symbols and chunks are plain tuples, fields in the same order.

    So a message is packed and unpacked in half the time.
    """
    result = outcome.result
    if isinstance(result, Skip):
        return outcome
    analysis = result.analysis
    plain = analysis._replace(
        symbols=cast("list[Symbol]", list(map(tuple, analysis.symbols))),
        chunks=cast("list[ChunkRow]", [(tuple(row[0]), *row[1:]) for row in analysis.chunks]),
    )
    return outcome._replace(result=result._replace(analysis=plain))


def symbols_of(analysis: "Analysis") -> list[Symbol]:
    """Return the symbols of an analysis that came from a worker."""
    return [Symbol(*fields) for fields in analysis.symbols]
