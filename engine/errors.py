"""Every error that the engine raises, in one tree.

The branch says what the caller should do; the code is stable and goes out with the JSON shape
``{"error": code, "message": …, "details": {…}}``::

    EngineError
    ├── InvalidInputError       the caller's fault, do not retry       validation_error
    │   ├── InvalidQueryError      a search that cannot be read; details.position
    │   ├── InvalidPathError       a path that is not there, not a folder, or outside the root
    │   │   └── UnconfirmedFolderError  indexed only when the user confirms it
    │   └── InvalidConfigError     a setting out of its range
    ├── NotFoundError           asked for, not there                   not_found
    │   ├── ProjectNotFoundError
    │   ├── ContextNotFoundError
    │   ├── FileNotIndexedError
    │   ├── CheckpointNotFoundError
    │   └── JobNotFoundError
    ├── ConflictError           the present state forbids it           conflict
    │   ├── ProjectBusyError       another process is indexing this project
    │   ├── JobConflictError       the job's state, or another job, forbids it
    │   └── ServerRunningError     another server serves this data directory; details.url
    ├── UnavailableError        try again later                        unavailable
    │   ├── IndexBusyError         the database stayed locked
    │   ├── EmbedderUnavailableError  the embedding model or server is unavailable
    │   └── DiskFullError
    └── DamagedIndexError       repair or rebuild                      damaged_index
        ├── IndexCorruptError
        └── IndexTooNewError       written by a newer version: update    newer_index

A file that cannot be indexed is not an error but a ``Skip`` (see ``records``). ``Cancelled`` is a
signal, not an error, and stands outside the tree; so is ``StaleClaim``.
"""

from collections.abc import Mapping
from typing import ClassVar


class EngineError(Exception):
    """An error for the caller.

    Args:
        message: What was given and what was expected, with the path or name; no full stop.
        hint: What to do; empty if the message says it.
        about: What texts add to a message whose words programs compare; ``details`` have it too.
        details: Machine-readable facts, such as ``field`` and ``pattern``; ``file`` is that of the
            index, which terminals and logs name and pages do not.
    """

    code: ClassVar[str] = "internal_error"

    def __init__(
        self, message: str, *, hint: str = "", about: object = "", **details: object
    ) -> None:
        super().__init__(f"{message}: {about}" if about else message)
        self.message = message
        self.hint = hint
        self.details = details

    @property
    def report(self) -> str:
        """The message for terminals and logs, with the file of the index that it is about."""
        return with_file(str(self), self.details)

    def as_json(self) -> dict[str, object]:
        """Return the JSON shape of all errors: ``error``, ``message`` and ``details``."""
        details = dict(self.details)
        if self.hint:
            details["hint"] = self.hint
        return {"error": self.code, "message": self.message, "details": details}


def with_file(message: str, details: Mapping[str, object]) -> str:
    """Return a message with the file of the index that it is about, if its details name one."""
    return f"{message} ({details['file']})" if "file" in details else message


class InvalidInputError(EngineError):
    """The request is not valid."""

    code = "validation_error"


class InvalidQueryError(InvalidInputError):
    """A query cannot be read.

    Args:
        message: What is wrong.
        position: 0-based character offset in the query where it is wrong.
        hint: What would be right.
    """

    def __init__(self, message: str, *, position: int, hint: str = "") -> None:
        super().__init__(message, hint=hint, field="query", position=position)
        self.position = position


class InvalidPathError(InvalidInputError):
    """A path is missing, of the wrong type, or outside the root."""


class UnconfirmedFolderError(InvalidPathError):
    """A folder that is indexed only when the user confirms it, such as a home directory."""


class InvalidConfigError(InvalidInputError):
    """A setting has a value that it cannot take."""


class NotFoundError(EngineError):
    """The requested object does not exist."""

    code = "not_found"


class ProjectNotFoundError(NotFoundError):
    """No index exists for that path."""


class ContextNotFoundError(NotFoundError):
    """No set of projects has this name."""


class FileNotIndexedError(NotFoundError):
    """The path is not in the index."""


class CheckpointNotFoundError(NotFoundError):
    """No memory, and no file on the branch that is checked out, has this id."""


class JobNotFoundError(NotFoundError):
    """No project has a job of that id; ended jobs are kept for some days only."""


class ConflictError(EngineError):
    """The present state forbids the request."""

    code = "conflict"


class ProjectBusyError(ConflictError):
    """Another process is indexing this project."""


class JobConflictError(ConflictError):
    """A job that has ended cannot be cancelled, or one that differs is active already."""


class ServerRunningError(ConflictError):
    """Another process serves this data directory already."""


class UnavailableError(EngineError):
    """A resource is unavailable for now; trying again later may help."""

    code = "unavailable"


class IndexBusyError(UnavailableError):
    """The database stayed locked for longer than the busy timeout."""


class EmbedderUnavailableError(UnavailableError):
    """The embedding model is missing, or its server is unreachable or answers nonsense."""


class DiskFullError(UnavailableError):
    """There is no room to write."""


class DamagedIndexError(EngineError):
    """The index file cannot be used as it is."""

    code = "damaged_index"


class IndexCorruptError(DamagedIndexError):
    """The file is not a sound SQLite database of ours."""


class IndexTooNewError(DamagedIndexError):
    """The file was written by a newer version of this program."""

    code = "newer_index"


class Cancelled(Exception):  # noqa: N818 - a signal, not an error
    """The caller asked to stop; what was committed stays."""


class StaleClaim(Exception):  # noqa: N818 - a signal, not an error
    """Another runner took over this job: the old claim must not write any more."""
