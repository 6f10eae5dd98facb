"""The frozen records of memories, and their limits.

A *checkpoint* is, for users, a memory (a note that an agent saved) or an indexed file shown in the
same way; inside, the word alone means a point from which a job can resume.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from engine.record_class import record
from engine.records import WHEN_ANY
from engine.search_records import ProjectError

MAX_SUMMARY_CHARS = 500
MAX_DESCRIPTION_BYTES = 1 << 20  # UTF-8, as large as a file may be by default
MAX_CONTEXT_BYTES = 64 << 10  # as JSON in UTF-8
MAX_CONTEXT_DEPTH = 8  # the context itself is 1
MAX_TAGS = 32  # of a memory, and of a search
MAX_TAG_CHARS = 64
MAX_FOUND = 100  # checkpoints that a search returns
MAX_LISTED = 1000  # checkpoints of a page
#: Of texts in one answer; the checkpoint that exceeds it is the last one.
MAX_ANSWER_BYTES = 32 << 20
#: Tags that say "this is an indexed file, not something that was saved", and so only files have
#: them: whoever filters by ``indexed`` or ``!indexed`` must be able to rely on it.
RESERVED_TAGS = frozenset({"indexed", "repository"})


@record
class NewMemory:
    """A note to be saved. It is refused beyond the limits above, and with NUL anywhere."""

    summary: str  # what it is about, in a sentence
    description: str = ""  # all there is to say
    context: Mapping[str, Any] = field(default_factory=dict)  # what JSON can say
    tags: tuple[str, ...] = ()  # free; what begins with ! and what says "a file" is refused


@record
class MemoryChange:
    """The changes to a memory; None keeps a field."""

    summary: str | None = None
    description: str | None = None
    context: Mapping[str, Any] | None = None
    tags: tuple[str, ...] | None = None


@record
class Checkpoint:
    """A memory or an indexed file; all interfaces print exactly these keys."""

    id: Annotated[str, "stable when a memory is changed or a file is indexed again"]
    summary: str  # of a file "Indexed file: <path>"
    description: str  # of a file its whole text as stored, secrets blanked
    project_path: Annotated[str, "the root"]
    context: Mapping[str, Any]  # of a file {"indexed_file": path}
    tags: tuple[str, ...]  # of a file: indexed, repository, its extension, its language
    token_count: Annotated[int, "of the description, one per 3.5 bytes"]
    created_at: str  # ISO 8601, UTC; of a file, when it was first indexed
    updated_at: str  # of a file, when other content of it was first indexed
    score: Annotated[float | None, WHEN_ANY, "of a search, comparable within it"] = None


@record
class FoundMemories:
    """Memories that match a query, best first."""

    memories: tuple[Checkpoint, ...]
    errors: Annotated[tuple[ProjectError, ...], WHEN_ANY, "projects that could not answer"] = ()


@record
class CheckpointPage:
    """Some checkpoints, the newest first."""

    checkpoints: tuple[Checkpoint, ...]
    total: int  # of all that pass the tags
    cursors: tuple[str | None, ...]  # where a page after each begins; None after the last of all

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins; None on the last one."""
        return self.cursors[-1] if self.cursors else None
