"""Pieces of a file: the lines of a hit with more or fewer around them, and a look at the file.

Their addresses say all that is shown, so that nothing is kept between requests. A browser without
scripts follows the same links to the file's own page.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode

from litestar import Request, Response, get
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.browse_records import FileContent
from engine.errors import InvalidInputError
from web.api.service import Service
from web.pages.highlighting import Line, lines_of, words_in
from web.pages.rendering import Pages, file_path, page, redirect, visit_of

STEP = 20  # lines more
_MOST_LINES = 400  # at once
_PREVIEW_ABOVE, _PREVIEW_BELOW = 60, 140
_LEAD = 16_000  # characters above that are read for their colours: a string may begin there
_MOST_MARKS = 8
_LONGEST_MARK = 80
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_KEY_CHARS = 12


class Range(NamedTuple):
    """Lines, the last one included."""

    first: int
    last: int

    @classmethod
    def of(cls, text: str) -> "Range":
        """Read ``10-20``.

        Raises:
            InvalidInputError: It is no range.
        """
        match = _RANGE.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise InvalidInputError("lines are wanted as 10-20", field="lines")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


class Marks(NamedTuple):
    """What is marked in a text."""

    words: tuple[str, ...] = ()
    as_written: bool = False  # what a pattern matched: every character counts

    @classmethod
    def of(cls, words: Iterable[str], *, as_written: bool = False) -> "Marks":
        """Take the first few, without those that are long or blank."""
        kept = dict.fromkeys(
            word if as_written else word.strip()
            for word in words
            if len(word.strip()) > 1 and len(word) <= _LONGEST_MARK
        )
        return cls(tuple(kept)[:_MOST_MARKS], as_written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some lines of a file, around a hit."""

    project_id: str
    path: str
    hit: Range
    shown: Range
    marks: Marks
    branch: str = ""  # empty: the one checked out, or the latest
    first_shown: Range | None = None  # what was shown at first; None: what is shown now

    @property
    def key(self) -> str:
        """Tells it apart on a page, whatever is shown of it."""
        text = f"{self.project_id}/{self.path}/{self.hit}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_KEY_CHARS]

    @property
    def page(self) -> str:
        """The address of the file's page at these lines."""
        return f"{file_path(self.project_id, self.path)}?lines={self.hit}#L{self.hit.first}"

    @property
    def preview(self) -> str:
        """The address of a look at the file around the hit."""
        return self._address("preview", f"hit={self.hit}")

    def with_lines(self, first: int, last: int) -> str:
        """Give the address of the same piece with other lines."""
        start = self.first_shown or self.shown
        shown = Range(max(1, first), last)
        return self._address("lines", f"hit={self.hit}&shown={shown}&start={start}")

    def _address(self, kind: str, lines_: str) -> str:
        path = quote(self.path, safe="/", errors="replace")
        return f"/p/{self.project_id}/{kind}/{path}?{lines_}{_tail_of(self.marks, self.branch)}"


@lru_cache(maxsize=64)
def _tail_of(marks: Marks, branch: str) -> str:
    """Give what the addresses of all hits of an answer end with, as most have the same words."""
    asked = [("mark", word) for word in marks.words]
    asked += [("case", "yes")] if marks.as_written else []
    asked += [("branch", branch)] if branch else []
    return f"&{urlencode(asked, errors='replace')}" if asked else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A piece with its code."""

    piece: Piece
    lines: tuple[Line, ...]
    is_end: bool = False  # the file has no more lines; False: perhaps it has

    @property
    def first(self) -> int:
        """The first line that is shown."""
        return self.lines[0].number

    @property
    def last(self) -> int:
        """The last line that is shown."""
        return self.lines[-1].number

    @property
    def rest(self) -> int:
        """How many lines of the hit are below."""
        return max(0, self.piece.hit.last - self.last)

    @property
    def is_more(self) -> bool:
        """Whether there is more than at first."""
        start = self.piece.first_shown
        return start is not None and (self.first, self.last) != start

    @property
    def above(self) -> str:
        """The address with more lines above."""
        return self.piece.with_lines(self.first - STEP, self.last)

    @property
    def below(self) -> str:
        """The address with the rest of the hit, or with more lines below."""
        by = min(self.rest, _MOST_LINES // 2) or STEP
        return self.piece.with_lines(self.first, self.last + by)

    @property
    def less(self) -> str:
        """The address with what was shown at first."""
        return self.piece.with_lines(*(self.piece.first_shown or self.piece.shown))


class _Lines(NamedTuple):
    """The lines that an address names."""

    hit: Range
    shown: Range
    start: Range | None


def lines_asked(hit: str, shown: str = "", start: str = "") -> _Lines:
    """Read the lines of an address.

    Raises:
        InvalidInputError: They are none.
    """
    return _Lines(Range.of(hit), Range.of(shown or hit), Range.of(start) if start else None)


def marks_asked(
    mark: Annotated[list[str] | None, QueryParameter(max_items=2 * _MOST_MARKS)] = None,
    case: str = "",
) -> Marks:
    """Read what an address marks."""
    return Marks.of(mark or (), as_written=case == "yes")


def piece_asked(
    project_id: str,
    path: str,
    asked_lines: _Lines,
    asked_marks: Marks,
    branch: Annotated[str, QueryParameter(max_length=1000)] = "",
) -> Piece:
    """Gather what an address says."""
    return Piece(
        project_id=project_id,
        path=path.removeprefix("/"),
        hit=asked_lines.hit,
        shown=asked_lines.shown,
        marks=asked_marks,
        branch=branch,
        first_shown=asked_lines.start,
    )


_ASKED = {
    "asked_lines": Provide(lines_asked, sync_to_thread=False),
    "asked_marks": Provide(marks_asked, sync_to_thread=False),
    "piece": Provide(piece_asked, sync_to_thread=False),
}


@get("/p/{project_id:str}/lines/{path:path}", dependencies=_ASKED)
async def lines(
    request: Request[Any, Any, Any], service: Service, pages: Pages, piece: Piece
) -> Response[bytes]:
    """Show a hit with more or fewer lines around it."""
    visit = visit_of(request)
    if not visit.is_fragment:
        return redirect(piece.page)

    def show() -> bytes:
        excerpt = _excerpt(_content(service, piece), piece)
        return pages.html("parts/excerpt.html", visit, {"excerpt": excerpt})

    return page(await service.work(show))


@get("/p/{project_id:str}/preview/{path:path}", dependencies=_ASKED)
async def preview(
    request: Request[Any, Any, Any], service: Service, pages: Pages, piece: Piece
) -> Response[bytes]:
    """Show the part of a file around a hit."""
    visit = visit_of(request)
    if not visit.is_fragment:
        return redirect(piece.page)

    def show() -> bytes:
        content = _content(service, piece)
        shown = Range(max(1, piece.hit.first - _PREVIEW_ABOVE), piece.hit.last + _PREVIEW_BELOW)
        around = replace(piece, shown=shown)
        facts = {"excerpt": _excerpt(content, around), "content": content}
        return pages.html("parts/preview.html", visit, facts)

    return page(await service.work(show))


def _content(service: Service, piece: Piece) -> FileContent:
    index = service.index_of(piece.project_id)
    return index.browse.content(piece.path, branch_name=piece.branch or None)


def _excerpt(content: FileContent, piece: Piece) -> Excerpt:
    """Give lines of a file with their colours; at most ``_MOST_LINES``, from the first ones on."""
    text = content.text.replace("\r\n", "\n")
    starts = [0, *(match.end() for match in re.finditer("\n", text[:-1]))]
    first = min(piece.shown.first, len(starts))
    last = max(first, min(piece.shown.last, len(starts), first + _MOST_LINES - 1))
    low = starts[first - 1]
    high = starts[last] if last < len(starts) else len(text)
    lead = next((n for n, start in enumerate(starts) if start >= low - _LEAD), first - 1)
    read = text[starts[lead] : high]
    before = low - starts[lead]
    spans = words_in(read[before:], piece.marks.words, as_written=piece.marks.as_written)
    shifted = [(start + before, end + before) for start, end in spans]
    found = lines_of(read, content.language, first_line=lead + 1, marks=shifted)
    return Excerpt(
        piece=piece,
        lines=tuple(found[first - 1 - lead :]),
        is_end=last == len(starts),
    )
