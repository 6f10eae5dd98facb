"""The frozen records of what an index holds, a page at a time. Times are ISO 8601, UTC."""

from dataclasses import dataclass
from typing import Generic, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Which files or skips to list."""

    folder: str = ""  # only what is below it, from the root; empty for all
    limit: int = 100  # 1 to 1,000
    cursor: str | None = None  # of the page before


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSummary:
    """An indexed file in short."""

    path: str
    language: str
    size_bytes: int  # of the file
    lines: int
    symbols: int
    generated: bool
    updated_at: str  # when the index last took other contents in


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipSummary:
    """A file or folder that is not indexed, and why."""

    path: str
    reason: str  # a ``SkipReason``
    detail: str
    advice: str  # what to do about it
    folder: bool  # stands for everything below it
    size_bytes: int | None


Summary = TypeVar("Summary", FileSummary, SkipSummary)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage(Generic[Summary]):
    """Some files or skips of a branch, by path."""

    branch: str
    items: tuple[Summary, ...]
    total: int  # on all pages
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """The text of a file as it was indexed: secrets blanked, notebooks as their cells."""

    project: str  # the root
    path: str
    branch: str
    language: str
    text: str
    lines: int
    size_bytes: int  # of the text in UTF-8
    sha256: str  # of the file when it was read
    redactions: int  # secrets that were blanked
    generated: bool
    licence: str | None  # an SPDX expression
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageShare:
    """How much of a branch is written in a language."""

    language: str
    files: int
    size_bytes: int  # of these files
