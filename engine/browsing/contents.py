"""The contents of an index, page by page: files, their texts, symbols, and skipped files."""

import base64
import binascii
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from engine.browse_records import (
    BranchSummary,
    FileContent,
    FilePage,
    FileSummary,
    FilterValue,
    ListedSymbol,
    ListRequest,
    NamedPlace,
    SkipPage,
    SkipSummary,
    SymbolListRequest,
    SymbolPage,
)
from engine.browsing import typeahead
from engine.browsing.branch_files import KeptFiles
from engine.browsing.explain import ADVICE, gap_of
from engine.browsing.folders import Checkout, Folders, state_of
from engine.browsing.overview import Overview
from engine.browsing.typeahead import BranchPaths
from engine.cache import ByteCache, EntryCache
from engine.clock import iso_time
from engine.cursors import cursor_of, place_of
from engine.errors import InvalidInputError, InvalidQueryError
from engine.parameters import check_request
from engine.records import LanguageShare, SkipReason, display_path
from engine.search.branches import chosen_branch
from engine.search.file_tags import FileTags
from engine.search.missing_paths import missing_file
from engine.search.query import parse_query, storable
from engine.search.query_pieces import BY_USE
from engine.search.selection import (
    FilePredicate,
    chosen_files,
    chosen_kinds,
    kinds_named,
    languages_named,
    path_predicate,
)
from engine.store import blobs, files, listing, project, symbols
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.files import FileFacts
from engine.store.filters import register_path_filter
from engine.store.listing import (
    NOT_UTF8,
    FileListRow,
    Page,
    SkipListRow,
    as_stored,
    folder_as_stored,
)
from engine.store.project import BranchRow
from engine.store.symbols import FROM_THE_FIRST, Choice, Place

if TYPE_CHECKING:
    from engine.search.blob_facts import BlobFacts
    from engine.search.searcher import Searcher

_PATH_FUNCTION = "listed_path_passes"
_WILDCARDS = frozenset("*?")  # a bracket alone is a part of a name: pages/[id].tsx
_OF_A_PLACE = [int, str, str, int, int]
_MOST_COUNTED = 32
_ROW_BYTES = 160  # of a path and its language in memory
_OF_NAMES = frozenset({"sym", *BY_USE})  # filters whose values are names of definitions
_COUNTED = frozenset({"lang", "path", "tag", "kind"})  # those whose values are counted

Counts = list[tuple[str, str, int]]  # kind, language, number

#: The most of a page.
MOST_LISTED = 1000
_ALL = ListRequest()


class SymbolList:
    """Lists the symbols of a project; for any number of threads.

    Counts are cached until the index changes: counting 190,000 symbols takes 40 ms, those with a
    name 10 to 30 ms, while a page takes 1 to 15 ms.

    Args:
        facts: Returns the facts of blobs in the state of a read transaction, if they are kept.
    """

    def __init__(self, facts: "Callable[[Handle], BlobFacts | None]") -> None:
        self._facts = facts
        self._counted: EntryCache[Counts] = EntryCache(
            _MOST_COUNTED
        )  # by state, branch, name and path

    def page(self, handle: Handle, branch: BranchRow, request: SymbolListRequest) -> SymbolPage:
        """Return a page.

        Raises:
            InvalidInputError: An argument is invalid; ``details.field`` names it.
        """
        check_request(request)
        after = _place_of(request.cursor)
        path = request.path.strip()
        choice = Choice(
            branch.id,
            storable(request.name).strip().lower(),
            kinds_named(request.kind) if request.kind is not None else frozenset(),
            languages_named(request.language) if request.language is not None else frozenset(),
            _register(handle, path),
        )
        rows = symbols.list_symbols(handle, choice, after, request.limit + 1)
        counts = self._counts(handle, choice, path)
        kinds = _sums((kind, n) for kind, of, n in counts if _is_any(of, choice.languages))
        languages = _sums((of, n) for kind, of, n in counts if _is_any(kind, choice.kinds))
        shown = rows[: request.limit]
        return SymbolPage(
            branch=branch.name,
            symbols=tuple(
                ListedSymbol(
                    path=display_path(row.path),
                    name=row.name,
                    scope=row.scope,
                    kind=row.kind,
                    signature=row.signature,
                    language=row.language,
                    line_start=row.line_start,
                    line_end=row.line_end,
                    exported=bool(row.is_exported),
                )
                for _, row in shown
            ),
            total=sum(n for kind, n in kinds.items() if _is_any(kind, choice.kinds)),
            kinds=kinds,
            languages=languages,
            next_cursor=_cursor_of(shown[-1][0]) if len(rows) > len(shown) else None,
            complete=branch.complete,
        )

    def counts(
        self, handle: Handle, branch: BranchRow, passes: FilePredicate | None
    ) -> Sequence[tuple[str, str, int]]:
        """Return kind, language and number of the symbols, of all files or of those that pass."""
        if passes is None:
            return self._counts(handle, Choice(branch.id), "")
        register_path_filter(handle, _PATH_FUNCTION, passes)
        return symbols.count_symbols(handle, Choice(branch.id, path_function=_PATH_FUNCTION))

    def _counts(self, handle: Handle, choice: Choice, path: str) -> Counts:
        key = (project.count_changes(handle), choice.branch_id, choice.text, path)
        return self._counted.get(key, lambda: self._count(handle, choice, path))

    def _count(self, handle: Handle, choice: Choice, path: str) -> Counts:
        facts = None if choice.text or path else self._facts(handle)
        if facts is None:
            return symbols.count_symbols(handle, choice)
        return facts.count_symbols(facts.of_branch(handle, choice.branch_id))


def _is_any(value: str, chosen: frozenset[str]) -> bool:
    """Return whether a value is one of those that are chosen; of none, all are."""
    return not chosen or value in chosen


def _register(handle: Handle, path: str) -> str | None:
    """Register the path filter as an SQL function; None if there is no filter."""
    if not path:
        return None
    register_path_filter(handle, _PATH_FUNCTION, _path_filter(path))
    return _PATH_FUNCTION


def _path_filter(path: str) -> Callable[[str, str], bool]:
    if not _WILDCARDS.isdisjoint(path):
        return path_predicate(path, position=None)
    folded = path.lower()
    return lambda each, _language: folded in display_path(each).lower()


def _passing(
    text: str, name: str, root: str
) -> tuple[FilePredicate | None, Callable[[str], bool] | None]:
    """Return which files and kinds the filters of a query but one let pass; all of a wrong one."""
    try:
        query = parse_query(text)
        return chosen_files(query, name, root), chosen_kinds(query, name)
    except InvalidQueryError:
        return None, None


def _sums(pairs: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    sums: dict[str, int] = {}
    for name, number in pairs:
        sums[name] = sums.get(name, 0) + number
    return dict(sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def _cursor_of(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _place_of(cursor: str | None) -> Place:
    if cursor is None:
        return FROM_THE_FIRST
    try:
        read = json.loads(base64.b64decode(cursor.encode("ascii"), b"-_", validate=True))
        if not isinstance(read, list) or [type(each) for each in read] != _OF_A_PLACE:
            raise ValueError
        place = Place(*read)
        (place.folded_name + place.kind).encode()
        for number in (place.is_inside, place.blob_id, place.id):
            number.to_bytes(8, signed=True)  # what SQLite can compare
    except (binascii.Error, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInputError(
            "the cursor cannot be read", hint="start without one", field="cursor"
        ) from error
    return place


Row = TypeVar("Row", FileListRow, SkipListRow)


class _Searched(NamedTuple):
    """The files of a branch that have chunks."""

    files: list[tuple[str, str]]  # path and language
    paths: BranchPaths  # as they are shown

    @classmethod
    def of(cls, files: list[tuple[str, str]]) -> "_Searched":
        """Return the files with their paths."""
        return cls(files, BranchPaths(sorted(display_path(path) for path, _ in files)))

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        return len(self.files) * _ROW_BYTES + 2 * self.paths.size_bytes


class Browser:
    """Reads one project's index.

    Args:
        checkout: The project.
        file_tags: The rules that tag its files.
        searcher: Knows the facts of blobs.
    """

    def __init__(self, checkout: Checkout, file_tags: FileTags, searcher: "Searcher") -> None:
        self._checkout = checkout
        self._searcher = searcher
        self._file_tags = file_tags
        self._languages: EntryCache[tuple[LanguageShare, ...]] = EntryCache(1)
        #: A limit of 0 keeps the last one.
        self._searched: ByteCache[_Searched] = ByteCache(0, lambda searched: searched.size_bytes)
        #: The project from above: its folders, its files by what they mean, its one file.
        self._kept = KeptFiles()
        self.overview = Overview(checkout, self._kept, searcher.facts)
        self._symbols = SymbolList(searcher.facts)
        #: Lists folders, finds paths, and locates files.
        self.folders = Folders(checkout, self._kept)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of its files, of their paths, and of what they mean."""
        paths = self._searched.size_bytes + self.folders.size_bytes
        return self._kept.size_bytes + self.overview.size_bytes + paths

    @property
    def used_s(self) -> float:
        """When these were last asked for, on the monotonic clock; 0 if they never were."""
        return max(each.used_s for each in (self._kept, self._searched, self.folders))

    def evict(self) -> None:
        """Drop these."""
        self._kept.evict()
        self.overview.evict()
        self._searched.clear()
        self.folders.evict()

    def warm(self) -> None:
        """Fill the caches for the first looks."""
        self.languages()
        self.symbols(SymbolListRequest(limit=1))
        self.overview.warm()

    def files(self, request: ListRequest = _ALL, *, language: str | None = None) -> FilePage:
        """List indexed files by path, of all languages or of one.

        Raises:
            InvalidInputError: An argument cannot be.
        """
        languages = None if language is None else json.dumps(sorted(languages_named(language)))
        rows, told = self._page(
            request,
            partial(listing.list_files, languages=languages),
            partial(listing.count_listed_files, languages=languages),
        )
        return FilePage(files=tuple(map(_file_summary, rows)), **told)

    def skips(self, request: ListRequest = _ALL, *, reason: str | None = None) -> SkipPage:
        """List skipped files by path, for all reasons or for one.

        Raises:
            InvalidInputError: An argument cannot be.
        """
        if reason is not None and reason not in set(SkipReason):
            raise InvalidInputError(
                f"reason is {reason!r}, request one of {', '.join(SkipReason)}", field="reason"
            )
        rows, told = self._page(
            request,
            partial(listing.list_skips, reason=reason),
            partial(listing.count_listed_skips, reason=reason),
        )
        return SkipPage(skips=tuple(map(_skip_summary, rows)), **told)

    def symbols(self, request: SymbolListRequest) -> SymbolPage:
        """List symbols by name, with how many there are of each kind and language.

        Raises:
            InvalidInputError: An argument is invalid; ``details.field`` names it.
        """
        with self._checkout.read() as (handle, branch):
            return self._symbols.page(handle, branch, request)

    def languages(self) -> tuple[LanguageShare, ...]:
        """Return the share of each language, the most bytes first."""
        with self._checkout.read() as (handle, branch):
            return self._languages.get(
                state_of(handle, branch),
                lambda: tuple(
                    LanguageShare(language=language, files=files_, size_bytes=size)
                    for language, files_, size in self._sum_languages(handle, branch.id)
                ),
            )

    def _sum_languages(self, handle: Handle, branch_id: int) -> list[tuple[str, int, int]]:
        facts = self._searcher.known_facts(handle)
        if facts is None:
            return listing.sum_languages(handle, branch_id)
        rows = self._kept.of(handle, branch_id).files
        return facts.sum_languages([row[3] for row in rows], [row[1] for row in rows])

    def branches(self) -> tuple[BranchSummary, ...]:
        """Return the branches that are indexed, the one that is searched by default first."""
        with self._checkout.read() as (handle, here):
            return tuple(
                BranchSummary(
                    name=each.name,
                    files=files.count_files(handle, each.id),
                    is_here=each.id == here.id,
                )
                for each in project.branches_by_name(handle, here)
            )

    def symbols_beginning(self, text: str, limit: int) -> tuple[NamedPlace, ...]:
        """Return symbols by a name prefix of at least two characters, one for each name."""
        with self._checkout.read() as (handle, branch):
            return typeahead.symbols_beginning(handle, branch.id, text, limit)

    def most_symbols(self) -> int:
        """Return a number that the symbols do not exceed; it takes no time."""
        with self._checkout.read() as (handle, _):
            return symbols.most_symbols(handle)

    def symbols_containing(self, text: str, limit: int) -> tuple[NamedPlace, ...]:
        """Return symbols by a part of a name of at least three characters, one for each name."""
        with self._checkout.read() as (handle, branch):
            return typeahead.symbols_containing(handle, branch.id, text, limit)

    def files_beginning(self, text: str, limit: int) -> tuple[NamedPlace, ...]:
        """Return files whose path has all these words, the last one as a prefix."""
        with self._checkout.read() as (handle, branch):
            return typeahead.files_beginning(handle, branch.id, text, limit)

    def filter_values(self, name: str, start: str, *, within: str = "") -> tuple[FilterValue, ...]:
        """Return the values of a filter with this prefix; of one by use, defined names.

        Args:
            name: The filter.
            start: The prefix.
            within: The query before it: what its filters do not let pass is not counted.
        """
        if name == "branch":
            found = [each for each in self.branches() if each.name.startswith(start)]
            return tuple(FilterValue(value=e.name, number=e.files) for e in found if e.name)
        with self._checkout.read() as (handle, branch):
            if name == "author":
                return typeahead.authors_beginning(handle, start)
            if name in _OF_NAMES:
                return typeahead.names_beginning(handle, branch.id, start)
            if name not in _COUNTED:
                return ()
            passes, kinds = _passing(within, name, self._checkout.root)
            if name == "kind" or (name == "lang" and kinds):
                counts = self._symbols.counts(handle, branch, passes)
                if name == "kind":
                    return typeahead.kinds_beginning(_sums((k, n) for k, _, n in counts), start)
                fitting = ((of, n) for kind, of, n in counts if kinds and kinds(kind))
                return typeahead.languages_beginning(_sums(fitting), start)
            searched = self._searched.get(
                (branch.id,),
                lambda: _Searched.of(files.read_searched(handle, branch.id)),
                state=project.count_changes(handle),
            )
        if passes:
            searched = _Searched.of([each for each in searched.files if passes(*each)])
        if name == "lang":
            return typeahead.languages_beginning(Counter(of for _, of in searched.files), start)
        if name == "path":
            return typeahead.paths_beginning(searched.paths, start)
        tags = typeahead.tags_beginning(self._file_tags.usable().names, start)
        return (*tags, *typeahead.endings_beginning(searched.paths, start))

    def content(self, path: str, *, branch_name: str | None = None) -> FileContent:
        """Return the text of a file as it was indexed; the disk is not read.

        Args:
            path: Absolute, or relative to the root; as it is shown when it is not UTF-8.
            branch_name: Another branch than the one checked out, or the latest.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
            FileNotIndexedError: The file is not in the index.
            NotFoundError: The branch is not.
        """
        branch, relative, facts, packed = self._stored(path, branch_name)
        text = unpack_text(packed).decode("utf-8", "replace")
        return FileContent(
            project=display_path(self._checkout.root),
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

    def gap(self, path: str) -> str:
        """Say why symbols of a file may be missing, or ""; path as for ``content``."""
        relative = self.stored_path(path)
        with self._checkout.read() as (handle, branch):
            facts = files.read_file(handle, branch.id, relative)
        return gap_of(facts.parse_result) if facts else ""

    def sha256(self, path: str) -> str:
        """Return the hash of a file when it was read; path and errors are as for ``content``."""
        return self._stored(path, None)[2].content_hash.hex()

    def lines(
        self, path: str, first: int, last: int, *, branch_name: str | None = None
    ) -> tuple[str, list[str], str]:
        """Return language, the wanted lines of ``content`` that exist, and the hash of a file.

        Of a text that ends with a line break, an empty line is the last.

        Args:
            path: As for ``content``, as are the errors.
            first: The number of the first line, counted from 1.
            last: The number of the last line.
            branch_name: As for ``content``.
        """
        _, _, facts, packed = self._stored(path, branch_name)
        text = unpack_text(packed)
        found = list(islice(BytesIO(text), first - 1, last))  # the others are not decoded
        if len(found) <= last - first and text.endswith(b"\n"):
            found.append(b"")
        lines = [line.removesuffix(b"\r\n").removesuffix(b"\n") for line in found]
        decoded = [line.decode("utf-8", "replace") for line in lines]
        return facts.language, decoded, facts.content_hash.hex()

    def _stored(
        self, path: str, branch_name: str | None
    ) -> tuple[BranchRow, str, FileFacts, bytes]:
        """Return the branch, the path within it, the facts and the packed text of a file."""
        relative = self._checkout.path_within(path)
        with self._checkout.read() as (handle, here):
            branch = here
            if branch_name is not None and branch_name != here.name:
                branch = chosen_branch(project.read_branches(handle), branch_name, here.name)
            relative = as_stored(handle, branch.id, relative)
            facts = files.read_file(handle, branch.id, relative)
            packed = blobs.read_text(handle, facts.blob_id) if facts else None
            if facts is None or packed is None:
                raise missing_file(handle, branch.id, relative, path)
        return branch, relative, facts, packed

    def stored_path(self, path: str) -> str:
        """Return the stored relative path of a displayed path.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = self._checkout.path_within(path)
        if NOT_UTF8 not in relative:
            return relative
        with self._checkout.read() as (handle, branch):
            return as_stored(handle, branch.id, relative)

    def _page(
        self,
        request: ListRequest,
        read: Callable[[Handle, int, Page], list[Row]],
        count: Callable[[Handle, int, Page], int],
    ) -> tuple[list[Row], dict[str, Any]]:
        """Return the rows of a page, and what else there is to say of it."""
        limit = request.limit
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInputError(f"limit is {limit}, request 1 to {MOST_LISTED}", field="limit")
        folder = self._checkout.path_within(request.folder)
        after = place_of(request.cursor, os.fsdecode)
        with self._checkout.read() as (handle, branch):
            page = Page(folder_as_stored(handle, branch.id, folder), after, limit + 1)
            rows = read(handle, branch.id, page)
            total = count(handle, branch.id, page)
        cursor = cursor_of(os.fsencode(rows[limit - 1].path)) if len(rows) > limit else None
        return rows[:limit], {"branch": branch.name, "total": total, "next_cursor": cursor}


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
