"""Files as HTML: blocks of lines, in which the names of definitions are links.

Highlighted files are cached in blocks. The templates of a line, a name and a piece of code are
rendered once and split at placeholders; joining the parts takes 1 µs a line, rendering a template
took 5 µs.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from markupsafe import Markup, escape

from engine.cache import ByteCache
from web.pages.highlighting import Line, Span, each_line
from web.pages.rendering import Pages

BLOCK = 200  # lines that a browser lays out together when they come near the viewport
_MAX_CACHE_BYTES = 32 << 20
#: Placeholders in templates; shown code contains none of them.
_NUMBER, _CODE, _COLUMN = "\0", "\1", "\2"
_MAX_TEMPLATE_SETS = 2  # several servers share a process in tests only


class RenderedFile(NamedTuple):
    """A highlighted file."""

    blocks: tuple[str, ...]
    text: str

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        return sum(map(sys.getsizeof, (*self.blocks, self.text)))


class NameLinks(NamedTuple):
    """Which names of a file are links, and where they lead."""

    names: frozenset[str] = frozenset()
    start: str = "?name="  # of each address; place and line follow


NO_LINKS = NameLinks()


class Selection(NamedTuple):
    """What is selected in a file."""

    lines: range = range(0)  # their numbers
    name: tuple[int, int] | None = None  # line and column


NOTHING = Selection()


class LineTemplates(dict[tuple[str, bool], tuple[str, str]]):
    """HTML before and after a piece of code, by its class and whether it is marked.

    Attributes hold the HTML around a line.

    Args:
        pages: The templates.
    """

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self._pages = pages
        plain, self.end = self._line(is_picked=False)
        picked, _ = self._line(is_picked=True)
        #: The parts before, between and after the line numbers.
        self.plain, self.picked = plain.split(_NUMBER), picked.split(_NUMBER)

    def __missing__(self, look: tuple[str, bool]) -> tuple[str, str]:
        css, is_marked = look
        context = {"css": css, "is_marked": is_marked, "text": _CODE}
        before, after = self._pages.part("parts/code_piece.html", context).split(_CODE)
        self[look] = before, after
        return self[look]

    def name(self, start: str, *, is_here: bool = False) -> "NameTemplate":
        """Return the HTML around names whose addresses begin so."""
        context = {
            "start": start,
            "number": _NUMBER,
            "column": _COLUMN,
            "code": _CODE,
            "is_here": is_here,
        }
        before, after = self._pages.part("parts/code_name.html", context).split(_CODE)
        return NameTemplate(before, after)

    def _line(self, *, is_picked: bool) -> tuple[str, str]:
        context = {"number": _NUMBER, "code": _CODE, "is_picked": is_picked}
        before, after = self._pages.part("parts/code_line.html", context).split(_CODE)
        return before, after


class NameTemplate(NamedTuple):
    """The HTML before and after a name."""

    before: str  # with placeholders for its line and column
    after: str

    def starts(self, line: int) -> tuple[str, str]:
        """Return the HTML before a name of a line, around its column."""
        start, _, end = self.before.replace(_NUMBER, str(line)).partition(_COLUMN)
        return start, end


_CACHE: ByteCache[RenderedFile] = ByteCache(_MAX_CACHE_BYTES, lambda rendered: rendered.size_bytes)


def blocks_of(
    pages: Pages,
    text: str,
    language: str,
    *,
    marks: tuple[Span, ...] = (),
    links: NameLinks = NO_LINKS,
    selected: Selection = NOTHING,
) -> list[Markup]:
    """Return a file as blocks of HTML.

    Args:
        pages: The templates.
        text: The file's text.
        language: Its language.
        marks: Spans to mark.
        links: The names that are links.
        selected: The lines and the name to select.
    """
    templates = _templates_of(pages)

    def make() -> RenderedFile:
        lines = each_line(text, language, marks=marks, names=links.names)
        name = templates.name(links.start)
        blocks = iter(lambda: _html(templates, name, list(islice(lines, BLOCK))), "")
        return RenderedFile(tuple(blocks), text)

    rendered = _CACHE.get((text, language, marks, links), make)
    first = range(1, BLOCK * len(rendered.blocks), BLOCK)
    blocks = [
        _with_picked(templates, html, range(at, at + BLOCK), selected.lines)
        for at, html in zip(first, rendered.blocks, strict=True)
    ]
    if selected.name is not None:
        at = (selected.name[0] - 1) // BLOCK
        blocks[at : at + 1] = [
            _with_name(templates, html, links.start, selected.name) for html in blocks[at : at + 1]
        ]
    # All code in the blocks is escaped already.
    return [Markup(html) for html in blocks]  # noqa: S704


def _html(templates: LineTemplates, name: NameTemplate, lines: Sequence[Line]) -> str:
    pieces = chain.from_iterable(line.pieces for line in lines)
    codes = iter(str(escape(_CODE.join(piece.text for piece in pieces))).split(_CODE))
    made: list[str] = []
    for line in lines:
        made.append(str(line.number).join(templates.plain))
        start, end = name.starts(line.number)
        column = 0  # of the name around the current piece
        for css, _, is_marked, own in line.pieces:
            if own != column:
                if column:
                    made.append(name.after)
                if own:
                    made += start, str(own), end
                column = own
            before, after = templates[css, is_marked]
            made += before, next(codes), after
        if column:
            made.append(name.after)
        made.append(templates.end)
    return "".join(made)


def _with_picked(templates: LineTemplates, html: str, lines: range, picked: range) -> str:
    """Select lines of a block; escaped code cannot contain the start of a line's HTML."""
    if picked.start <= lines.start and lines.stop <= picked.stop:
        return html.replace(templates.plain[0], templates.picked[0])
    for number in _overlap(lines, picked):
        html = html.replace(
            str(number).join(templates.plain), str(number).join(templates.picked), 1
        )
    return html


def _with_name(templates: LineTemplates, html: str, start: str, place: tuple[int, int]) -> str:
    """Make the link of a name the current one."""
    line, column = place
    plain, current = (
        str(column).join(templates.name(start, is_here=is_here).starts(line))
        for is_here in (False, True)
    )
    return html.replace(plain, current, 1)


def _overlap(one: range, other: range) -> Iterable[int]:
    return range(max(one.start, other.start), min(one.stop, other.stop))


@lru_cache(maxsize=_MAX_TEMPLATE_SETS)
def _templates_of(pages: Pages) -> LineTemplates:
    return LineTemplates(pages)
