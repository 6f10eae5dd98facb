"""A whole file as HTML, in blocks of lines; the last ones are kept.

The templates of a line and of a piece of code are rendered once and cut where something goes. Of
those parts a line is joined in a microsecond, where a template took five.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from markupsafe import Markup, escape

from engine.kept import KeptBytes
from web.pages.highlighting import Line, Span, each_line
from web.pages.rendering import Pages

BLOCK = 200  # lines that a browser lays out together, once they are near
_MOST_KEPT_BYTES = 32 << 20
_NUMBER, _CODE = "\0", "\1"  # stand in templates where something goes; code has neither
_OTHER_PAGES = 2  # of servers in this process: in tests


class Listing(NamedTuple):
    """The lines of a file."""

    blocks: tuple[str, ...]
    text: str

    @property
    def size_bytes(self) -> int:
        """How much memory it takes."""
        return sum(map(sys.getsizeof, (*self.blocks, self.text)))


class Forms(dict[tuple[str, bool], tuple[str, str]]):
    """What stands before and after code of a class that is marked or not; and around a line.

    Args:
        pages: Have the templates.
    """

    def __init__(self, pages: Pages) -> None:
        super().__init__()
        self._pages = pages
        plain, self.end = self._line(is_picked=False)
        picked, _ = self._line(is_picked=True)
        #: The parts before, between and after the numbers of a line.
        self.plain, self.picked = plain.split(_NUMBER), picked.split(_NUMBER)

    def __missing__(self, look: tuple[str, bool]) -> tuple[str, str]:
        css, is_marked = look
        facts = {"css": css, "is_marked": is_marked, "text": _CODE}
        before, after = self._pages.part("parts/code_piece.html", facts).split(_CODE)
        self[look] = before, after
        return self[look]

    def _line(self, *, is_picked: bool) -> tuple[str, str]:
        facts = {"number": _NUMBER, "code": _CODE, "is_picked": is_picked}
        before, after = self._pages.part("parts/code_line.html", facts).split(_CODE)
        return before, after


_KEPT: KeptBytes[Listing] = KeptBytes(_MOST_KEPT_BYTES, lambda listing: listing.size_bytes)


def blocks_of(
    pages: Pages, text: str, language: str, *, marks: tuple[Span, ...] = (), picked: range
) -> list[Markup]:
    """Give the lines of a text as HTML.

    Args:
        pages: Make it.
        text: Of the file.
        language: That it is written in.
        marks: What to mark.
        picked: The numbers of lines that stand out.
    """
    forms = _forms(pages)

    def make() -> Listing:
        lines = each_line(text, language, marks=marks)
        blocks = iter(lambda: _html(forms, list(islice(lines, BLOCK))), "")
        return Listing(tuple(blocks), text)

    listing = _KEPT.get((text, language, marks), make)
    first = range(1, BLOCK * len(listing.blocks), BLOCK)
    # Each piece of code in it was escaped when the block was made.
    return [
        Markup(_with_picked(forms, html, range(at, at + BLOCK), picked))  # noqa: S704
        for at, html in zip(first, listing.blocks, strict=True)
    ]


def _html(forms: Forms, lines: Sequence[Line]) -> str:
    pieces = chain.from_iterable(line.pieces for line in lines)
    codes = iter(str(escape(_CODE.join(piece.text for piece in pieces))).split(_CODE))
    made: list[str] = []
    for line in lines:
        made.append(str(line.number).join(forms.plain))
        for css, _, is_marked in line.pieces:
            before, after = forms[css, is_marked]
            made += before, next(codes), after
        made.append(forms.end)
    return "".join(made)


def _with_picked(forms: Forms, html: str, lines: range, picked: range) -> str:
    """Let some lines of a block stand out; no code in it has what begins a line."""
    if picked.start <= lines.start and lines.stop <= picked.stop:
        return html.replace(forms.plain[0], forms.picked[0])
    for number in _both(lines, picked):
        html = html.replace(str(number).join(forms.plain), str(number).join(forms.picked), 1)
    return html


def _both(one: range, other: range) -> Iterable[int]:
    return range(max(one.start, other.start), min(one.stop, other.stop))


@lru_cache(maxsize=_OTHER_PAGES)
def _forms(pages: Pages) -> Forms:
    return Forms(pages)
