"""What an index holds, to page through: its files, their texts, and what was skipped."""

import base64
import binascii
import json
import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from engine.browse_records import (
    FileContent,
    FileSummary,
    LanguageShare,
    ListPage,
    ListRequest,
    SkipSummary,
    Summary,
)
from engine.clock import iso_time
from engine.errors import FileNotIndexedError, InvalidInputError
from engine.explain import ADVICE
from engine.indexing.scope import path_within
from engine.records import SkipReason, display_path
from engine.store import blobs, files, listing
from engine.store.connection import Handle, Store
from engine.store.listing import FileListRow, Page, SkipListRow
from engine.store.project import BranchRow
from engine.syntax.languages import DIALECTS, language_named
from engine.syntax.packing import unpack_text

#: The most of a page.
MOST_LISTED = 1000
_ALL = ListRequest()
_NOT_UTF8 = "\ufffd"  # in a path that was shown: bytes that are not UTF-8, or that very character

Row = TypeVar("Row", FileListRow, SkipListRow)


class Browser:
    """Reads one project's index.

    Args:
        store: The project's database.
        root: The resolved folder.
        branch: Gives the branch to look at: the one checked out, or the latest.
    """

    def __init__(self, store: Store, root: str, branch: Callable[[Handle], BranchRow]) -> None:
        self._store = store
        self._root = root
        self._branch = branch

    def files(
        self, wanted: ListRequest = _ALL, *, language: str | None = None
    ) -> ListPage[FileSummary]:
        """List indexed files by path, of all languages or of one.

        Raises:
            InvalidInputError: An argument cannot be.
        """
        languages = None if language is None else json.dumps(_languages(language))
        return self._page(
            wanted,
            partial(listing.list_files, languages=languages),
            partial(listing.count_listed_files, languages=languages),
            _file_summary,
        )

    def skips(
        self, wanted: ListRequest = _ALL, *, reason: str | None = None
    ) -> ListPage[SkipSummary]:
        """List what is not indexed by path, for whatever reason or for one.

        Raises:
            InvalidInputError: An argument cannot be.
        """
        if reason is not None and reason not in set(SkipReason):
            raise InvalidInputError(
                f"reason is {reason!r}, wanted one of {', '.join(SkipReason)}", field="reason"
            )
        return self._page(
            wanted,
            partial(listing.list_skips, reason=reason),
            partial(listing.count_listed_skips, reason=reason),
            _skip_summary,
        )

    def languages(self) -> tuple[LanguageShare, ...]:
        """Give how much is written in each language, the most bytes first."""
        with self._store.read() as handle:
            rows = listing.sum_languages(handle, self._branch(handle).id)
        return tuple(
            LanguageShare(language=language, files=files_, size_bytes=size)
            for language, files_, size in rows
        )

    def content(self, path: str) -> FileContent:
        """Give the text of a file as it was indexed; the disk is not read.

        Args:
            path: Absolute, or relative to the root; as it is shown when it is not UTF-8.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
            FileNotIndexedError: The file is not in the index.
        """
        relative = path_within(self._root, path)
        with self._store.read() as handle:
            branch = self._branch(handle)
            relative = _as_stored(handle, branch.id, relative)
            facts = files.read_file(handle, branch.id, relative)
            packed = blobs.read_text(handle, facts.blob_id) if facts else None
        if facts is None or packed is None:
            raise FileNotIndexedError(
                f"{display_path(path)} is not in the index",
                hint="cairn why PATH says the reason",
                path=display_path(path),
            )
        text = unpack_text(packed).decode("utf-8", "replace")
        return FileContent(
            project=display_path(self._root),
            path=display_path(relative),
            branch=branch.name,
            language=facts.language,
            text=text,
            lines=facts.line_count,
            size_bytes=facts.size_bytes,
            sha256=facts.content_hash.hex(),
            redactions=facts.redactions,
            generated=bool(facts.is_generated),
            licence=facts.licence,
            updated_at=iso_time(facts.updated_at_ms),
        )

    def stored_path(self, path: str) -> str:
        """Give the path of an indexed file as the disk spells it, from one as it is shown.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = path_within(self._root, path)
        with self._store.read() as handle:
            return _as_stored(handle, self._branch(handle).id, relative)

    def _page(
        self,
        wanted: ListRequest,
        read: Callable[[Handle, int, Page], list[Row]],
        count: Callable[[Handle, int, Page], int],
        summary_of: Callable[[Row], Summary],
    ) -> ListPage[Summary]:
        limit = wanted.limit
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInputError(f"limit is {limit}, wanted 1 to {MOST_LISTED}", field="limit")
        folder = path_within(self._root, wanted.folder)
        page = Page(folder, _place_of(wanted.cursor), limit + 1)
        with self._store.read() as handle:
            branch = self._branch(handle)
            rows = read(handle, branch.id, page)
            total = count(handle, branch.id, page)
        return ListPage(
            branch=branch.name,
            items=tuple(map(summary_of, rows[:limit])),
            total=total,
            next_cursor=_cursor_of(rows[limit - 1].path) if len(rows) > limit else None,
        )


def _file_summary(row: FileListRow) -> FileSummary:
    return FileSummary(
        path=display_path(row.path),
        language=row.language,
        size_bytes=row.size_bytes,
        lines=row.line_count,
        symbols=row.symbols,
        generated=row.is_generated,
        updated_at=iso_time(row.updated_at_ms),
    )


def _skip_summary(row: SkipListRow) -> SkipSummary:
    return SkipSummary(
        path=display_path(row.path),
        reason=row.reason,
        detail=row.detail,
        advice=ADVICE[SkipReason(row.reason)],
        folder=row.is_folder,
        size_bytes=row.size_bytes,
    )


def _as_stored(handle: Handle, branch_id: int, path: str) -> str:
    """Give a path as the disk spells it, which a path with U+FFFD may not be."""
    if _NOT_UTF8 not in path or files.read_file(handle, branch_id, path):
        return path
    odd = listing.read_odd_paths(handle, branch_id)
    return next((each for each in odd if display_path(each) == path), path)


def _languages(name: str) -> list[str]:
    language = language_named(name)
    if language is None:
        raise InvalidInputError(f"unknown language {name!r}", field="language")
    return sorted(DIALECTS.get(language, {language}))


def _cursor_of(path: str) -> str:
    return base64.urlsafe_b64encode(os.fsencode(path)).decode()


def _place_of(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        return os.fsdecode(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
