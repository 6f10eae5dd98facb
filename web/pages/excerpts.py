"""Excerpts of a file: a hit with more or fewer lines around it, and the preview of a file.

The address holds the whole state, so the server keeps nothing between requests. Without scripts the
same links lead to the file's page.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter
from markupsafe import Markup

from engine.browse_records import FileContent
from engine.errors import FileNotIndexedError, InvalidInputError
from engine.record_class import record
from engine.word_marks import words_in
from web.api.service import Service
from web.pages.highlighting import Line, lines_of, rows_of
from web.pages.rendering import (
    PageRequest,
    Pages,
    file_path,
    local_address,
    page,
    page_request_of,
    redirect,
)

STEP = 20  # lines added by one "more"
_MAX_LINES = 400  # of one excerpt
_PREVIEW_ABOVE, _PREVIEW_BELOW = 60, 140
_LEAD = 16_000  # characters above that are highlighted too: a string may begin there
_MAX_MARKS = 8
_MAX_MARK_CHARS = 80
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_KEY_CHARS = 12
_VERSION_CHARS = 12  # of a content hash in addresses
_VERSION = re.compile(rf"[0-9a-f]{{{_VERSION_CHARS}}}")


def version_of(sha256: str | None) -> str:
    """Return the version of a content in addresses; empty if its hash is unknown."""
    return (sha256 or "")[:_VERSION_CHARS]


def read_version(of: str = "") -> str:
    """Return the version in an address; what cannot be one is none."""
    return of if _VERSION.fullmatch(of) else ""


class Range(NamedTuple):
    """A range of lines, including the last."""

    first: int
    last: int

    @classmethod
    def of(cls, text: str) -> "Range":
        """Parse ``10-20``.

        Raises:
            InvalidInputError: The text is not a range.
        """
        match = _RANGE.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise InvalidInputError("lines must be a range such as 10-20", field="lines")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


class Marks(NamedTuple):
    """Texts to mark in an excerpt."""

    words: tuple[str, ...] = ()
    as_written: bool = False  # literal: case and punctuation count, as in matches of a pattern

    @classmethod
    def of(cls, words: Iterable[str], *, as_written: bool = False) -> "Marks":
        """Return the first few, without blank and overlong ones."""
        kept = dict.fromkeys(
            word if as_written else word.strip()
            for word in words
            if len(word.strip()) > 1 and len(word) <= _MAX_MARK_CHARS
        )
        return cls(tuple(kept)[:_MAX_MARKS], as_written)


@record
class Piece:
    """A range of lines around a hit."""

    project_id: str
    path: str
    hit: Range
    shown: Range
    marks: Marks
    branch: str = ""  # empty: the checked out one, or the latest
    first_shown: Range | None = None  # the initial range; None: the current one
    version: str = ""  # of the content in which its lines are counted; empty: unknown

    @property
    def key(self) -> str:
        """An id for HTML elements, independent of the lines shown."""
        text = f"{self.project_id}/{self.path}/{self.hit}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_KEY_CHARS]

    @property
    def page(self) -> str:
        """The address of the file's page at the hit."""
        return f"{file_path(self.project_id, self.path)}?lines={self.hit}#L{self.hit.first}"

    @property
    def preview(self) -> str:
        """The address of the preview around the hit."""
        return self._address("preview", f"hit={self.hit}")

    def is_outdated(self, content: FileContent) -> bool:
        """Whether its lines are those of another content."""
        return not content.sha256.startswith(self.version)

    def with_lines(self, first: int, last: int) -> str:
        """Return the address of the same piece with other lines."""
        start = self.first_shown or self.shown
        shown = Range(max(1, first), last)
        return self._address("lines", f"hit={self.hit}&shown={shown}&start={start}")

    def _address(self, kind: str, lines_: str) -> str:
        path = quote(self.path, safe="/", errors="replace")
        of = f"&of={self.version}" if self.version else ""
        end = _common_params(self.marks, self.branch)
        return f"/p/{self.project_id}/{kind}/{path}?{lines_}{of}{end}"


@lru_cache(maxsize=64)
def _common_params(marks: Marks, branch: str) -> str:
    """Return the end of the address; most hits of an answer share it, hence the cache."""
    params = [("mark", word) for word in marks.words]
    params += [("case", "yes")] if marks.as_written else []
    params += [("branch", branch)] if branch else []
    return f"&{urlencode(params, errors='replace')}" if params else ""


@record
class Excerpt:
    """A piece with its highlighted lines."""

    piece: Piece
    lines: tuple[Line, ...]
    is_end: bool = False  # the file ends here; False: unknown

    @property
    def first(self) -> int:
        """The first line shown."""
        return self.lines[0].number

    @property
    def last(self) -> int:
        """The last line shown."""
        return self.lines[-1].number

    def html(self, address: str, picked: Range | None = None) -> Markup:
        """Return the lines as HTML.

        Args:
            address: The page of the file.
            picked: Lines that are told apart.
        """
        within = range(picked.first, picked.last + 1) if picked else range(0)
        return rows_of(self.lines, address, within, self.piece.version)

    @property
    def rest(self) -> int:
        """The number of lines of the hit below the excerpt."""
        return max(0, self.piece.hit.last - self.last)

    @property
    def is_more(self) -> bool:
        """Whether the range differs from the initial one."""
        start = self.piece.first_shown
        return start is not None and (self.first, self.last) != start

    @property
    def above(self) -> str:
        """The address with more lines above."""
        return self.piece.with_lines(self.first - STEP, self.last)

    @property
    def below(self) -> str:
        """The address with the rest of the hit, or with more lines below."""
        by = min(self.rest, _MAX_LINES // 2) or STEP
        return self.piece.with_lines(self.first, self.last + by)

    @property
    def less(self) -> str:
        """The address with the initial range."""
        return self.piece.with_lines(*(self.piece.first_shown or self.piece.shown))


class _LineParams(NamedTuple):
    """The line ranges of an address."""

    hit: Range
    shown: Range
    start: Range | None


def read_lines(hit: str, shown: str = "", start: str = "") -> _LineParams:
    """Parse the line ranges of an address.

    Raises:
        InvalidInputError: One is not a range.
    """
    return _LineParams(Range.of(hit), Range.of(shown or hit), Range.of(start) if start else None)


def read_marks(
    mark: Annotated[list[str] | None, QueryParameter(max_items=2 * _MAX_MARKS)] = None,
    case: str = "",
) -> Marks:
    """Return the marks of an address."""
    return Marks.of(mark or (), as_written=case == "yes")


def read_piece(
    project_id: str,
    path: str,
    line_params: _LineParams,
    mark_params: Marks,
    version: str,
    branch: Annotated[str, QueryParameter(max_length=1000)] = "",
) -> Piece:
    """Collect the parameters of an address."""
    return Piece(
        project_id=project_id,
        path=path.removeprefix("/"),
        hit=line_params.hit,
        shown=line_params.shown,
        marks=mark_params,
        branch=branch,
        first_shown=line_params.start,
        version=version,
    )


_PARAMS = {
    "line_params": Provide(read_lines, sync_to_thread=False),
    "mark_params": Provide(read_marks, sync_to_thread=False),
    "version": Provide(read_version, sync_to_thread=False),
    "piece": Provide(read_piece, sync_to_thread=False),
}


@get("/p/{project_id:str}/lines/{path:path}", dependencies=_PARAMS)
async def lines(
    request: Request[Any, Any, Any], service: Service, pages: Pages, piece: Piece
) -> Response[bytes]:
    """Render a hit with more or fewer lines around it."""
    page_request = page_request_of(request)
    if not page_request.is_fragment:
        return redirect(piece.page)

    def show() -> Response[bytes]:
        content = _content(service, piece)
        if piece.is_outdated(content):
            return _outdated(request, pages, page_request, piece, f"#around-{piece.key}")
        excerpt = excerpt_of(service, content, piece)
        return page(pages.html("parts/excerpt.html", page_request, {"excerpt": excerpt}))

    return await service.work(show)


@get("/p/{project_id:str}/preview/{path:path}", dependencies=_PARAMS)
async def preview(
    request: Request[Any, Any, Any], service: Service, pages: Pages, piece: Piece
) -> Response[bytes]:
    """Render the preview of a file around a hit."""
    page_request = page_request_of(request)
    if not page_request.is_fragment:
        return redirect(piece.page)

    def show() -> Response[bytes]:
        content = _content(service, piece)
        if piece.is_outdated(content):
            return _outdated(request, pages, page_request, piece, "#preview-body")
        shown = Range(max(1, piece.hit.first - _PREVIEW_ABOVE), piece.hit.last + _PREVIEW_BELOW)
        around = replace(piece, shown=shown)
        context = {"excerpt": excerpt_of(service, content, around), "content": content}
        return page(pages.html("parts/preview.html", page_request, context))

    return await service.work(show)


def _outdated(
    request: Request[Any, Any, Any],
    pages: Pages,
    page_request: PageRequest,
    piece: Piece,
    target: str,
) -> Response[bytes]:
    """Tell in an element of the page that the file is another now; its lines stay."""
    try:
        current = urlsplit(request.headers.get("hx-current-url", ""))
    except ValueError:  # the header can be anything
        current = urlsplit("")
    here = local_address(urlunsplit(("", "", current.path, current.query, "")))
    body = pages.html("parts/outdated.html", page_request, {"piece": piece, "reload": here})
    headers = {"HX-Retarget": target, "HX-Reswap": "innerHTML"}
    return page(body, status=409, headers=headers)


def _content(service: Service, piece: Piece) -> FileContent:
    index = service.index_of(piece.project_id)
    return index.browse.content(piece.path, branch_name=piece.branch or None)


def excerpt_of(service: Service, content: FileContent, piece: Piece) -> Excerpt:
    """Highlight the lines of a piece, at most the first ``_MAX_LINES``."""
    text = content.text.replace("\r\n", "\n")
    starts = [0, *(match.end() for match in re.finditer("\n", text[:-1]))]
    first = min(piece.shown.first, len(starts))
    last = max(first, min(piece.shown.last, len(starts), first + _MAX_LINES - 1))
    low = starts[first - 1]
    high = starts[last] if last < len(starts) else len(text)
    lead = next((n for n, start in enumerate(starts) if start >= low - _LEAD), first - 1)
    if lead and not piece.branch:
        lead = _first_definition(service, piece, range(lead, first))
    read = text[starts[lead] : high]
    before = low - starts[lead]
    spans = words_in(read[before:], piece.marks.words, as_written=piece.marks.as_written)
    shifted = [(start + before, end + before) for start, end in spans]
    names: frozenset[str] = frozenset()
    if not piece.branch:  # files of other branches have no pages
        places = service.index_of(piece.project_id).places
        names = places.defined_names(read[before:], content.language)
    found = lines_of(read, content.language, first_line=lead + 1, marks=shifted, names=names)
    return Excerpt(
        piece=replace(piece, version=version_of(content.sha256)),
        lines=tuple(found[first - 1 - lead :]),
        is_end=last == len(starts),
    )


def _first_definition(service: Service, piece: Piece, lead: range) -> int:
    """Return where the first definition of some lines begins, else their beginning.

    No string and no comment goes on there, as it can at any other line. Lines are counted from 0.
    """
    try:
        found = service.index_of(piece.project_id).outline(piece.path)
    except FileNotIndexedError:  # removed just now
        return lead.start
    return min(
        (each.line_start - 1 for each in found if each.line_start - 1 in lead), default=lead.start
    )
