"""Folders of a project as the tiles of a treemap: what is drawn where, in which words and tone.

The area of a tile is the bytes that are indexed, its tone the share of the files that are.

Sizes → rectangles that tile a rectangle, each with an area in proportion to its size.

Squarified treemaps after M. Bruls, K. Huizing and J. J. van Wijk, "Squarified Treemaps" (2000): the
sizes, the largest first, are laid in rows along the shorter side of what is left, and a row is
ended when another one in it would make its worst rectangle longer. So they are nearly squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from engine.browse_records import FolderShare, FolderView
from web.pages.facets import with_filter
from web.pages.rendering import file_path, name_of, project_path
from web.terminal import printable
from web.wording import count, percent, size


class Rectangle(NamedTuple):
    """A rectangle; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height

    def within(self, *, edge: float, top: float) -> "Rectangle":
        """Give what is left inside an edge and a strip at the top; nothing at the least."""
        width = max(self.width - 2 * edge, 0.0)
        height = max(self.height - edge - top, 0.0)
        return Rectangle(self.x + edge, self.y + top, width, height)


def squarified(sizes: Sequence[float], frame: Rectangle) -> list[Rectangle]:
    """Tile a frame.

    Args:
        sizes: The largest first.
        frame: What to tile.

    Returns:
        A rectangle for each size, in their order.
    """
    total = sum(sizes)
    if not (total and frame.area):
        return [Rectangle(frame.x, frame.y, 0.0, 0.0) for _ in sizes]
    scale = frame.area / total
    areas = [size * scale for size in sizes]
    tiles: list[Rectangle] = []
    left = frame
    while len(tiles) < len(areas):
        row = _row_of(areas[len(tiles) :], min(left.width, left.height))
        laid, left = _laid(row, left)
        tiles += laid
    return tiles


def _row_of(areas: Sequence[float], side: float) -> Sequence[float]:
    """Give the first areas, as many as make the best row along a side."""
    number, total = 1, areas[0]
    worst = _worst(areas[0], areas[0], total, side)
    while number < len(areas):
        longer = total + areas[number]
        next_worst = _worst(areas[0], areas[number], longer, side)
        if next_worst > worst:
            break
        number, total, worst = number + 1, longer, next_worst
    return areas[:number]


def _worst(largest: float, smallest: float, total: float, side: float) -> float:
    """Give the worst ratio of the sides of rectangles that lie in a row."""
    if not (side and smallest):
        return 1.0
    depth = total / side
    return max(largest / depth**2, depth**2 / smallest)


def _laid(row: Sequence[float], left: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Lay a row along the shorter side, and give what is left beside it."""
    total = sum(row)
    x, y, width, height = left
    tiles = []
    if width >= height:
        depth = min(total / height, width) if height else width
        for area in row:
            length = height * area / total
            tiles.append(Rectangle(x, y, depth, length))
            y += length
        return tiles, Rectangle(x + depth, left.y, width - depth, height)
    depth = min(total / width, height) if width else height
    for area in row:
        length = width * area / total
        tiles.append(Rectangle(x, y, length, depth))
        x += length
    return tiles, Rectangle(left.x, y + depth, width, height - depth)


#: What the picture is drawn on; a browser scales it to the width of the page.
FRAME = Rectangle(0, 0, 880, 440)
_MOST_TILES = 24
_MOST_INNER = 10
_LEAST_SHARE = 0.002  # of the bytes of the folder; smaller ones are together
_EDGE = 3.0
_HEAD = 22.0  # the strip with the name of a folder, above its own folders
_LEAST_INSIDE = (90.0, 64.0)
_LINE = 16.0
_GLYPH = 6.9  # a character of a label, as wide as most are; and of a bold one
_BOLD = 7.9
_PADDING = 7.0
#: Tones by the share of files that are indexed, the best first: the least of each, and its words.
TONES = (
    ("all", 1.0, "all files indexed"),
    ("most", 0.9, "90 % and more"),
    ("half", 0.5, "half and more"),
    ("few", 0.0, "less than half"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A folder or a file, drawn."""

    place: Rectangle
    label: str  # empty where none fits
    note: str  # a second line; empty where none fits
    title: str  # all in words
    href: str  # empty: what is too small to be told apart
    tone: str
    inner: tuple["Tile", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A folder in the table beside the picture."""

    name: str
    href: str
    folder: FolderShare


@dataclass(frozen=True, slots=True, kw_only=True)
class Treemap:
    """A folder, with all that the page says of it."""

    view: FolderView
    tiles: tuple[Tile, ...]
    rows: tuple[Row, ...]
    more: int  # folders that have no row
    steps: tuple[tuple[str, str], ...]  # from the root to the folder: name, address
    search: str  # the address of a search in this folder


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a tile is made of."""

    name: str
    size_bytes: int
    href: str
    folder: FolderShare | None  # None: a file, or the rest


def treemap_of(project_id: str, project: str, view: FolderView) -> Treemap:
    """Draw a folder.

    Args:
        project_id: The project's id.
        project: Its name.
        view: The folder.
    """
    here = project_path(project_id)
    folders = view.folder.folders
    rows = tuple(
        Row(name=each.name, href=_address(here, each.path), folder=each)
        for each in folders[:_MOST_INNER]
    )
    query = with_filter("", "project", project)
    if view.folder.path:
        query = with_filter(query, "path", view.folder.path + "/")
    return Treemap(
        view=view,
        tiles=_tiles(_entries(project_id, view), FRAME, here),
        rows=rows,
        more=len(folders) - len(rows),
        steps=tuple(_steps(here, project, view.folder.path)),
        search="/search?" + urlencode({"q": query + " "}),
    )


def tone_of(share: float) -> str:
    """Give the tone of a share of files that are indexed."""
    return next(name for name, least, _ in TONES if share >= least)


def _entries(project_id: str, view: FolderView) -> list[_Entry]:
    here = project_path(project_id)
    entries = [
        _Entry(each.name, each.size_bytes, _address(here, each.path), each)
        for each in view.folder.folders
    ]
    entries += [
        _Entry(name_of(each.path), each.size_bytes, file_path(project_id, each.path), None)
        for each in view.files
    ]
    return _largest(entries, view.folder.size_bytes, _MOST_TILES)


def _largest(entries: Sequence[_Entry], whole: int, most: int) -> list[_Entry]:
    """Give the largest entries, the largest first, and all others as one at its place."""
    ordered = sorted(entries, key=lambda each: -each.size_bytes)
    shown = [each for each in ordered[:most] if each.size_bytes > whole * _LEAST_SHARE]
    left = whole - sum(each.size_bytes for each in shown)
    if left > 0:
        shown.append(_Entry("", left, "", None))
        shown.sort(key=lambda each: -each.size_bytes)
    return shown


def _tiles(
    entries: Sequence[_Entry], frame: Rectangle, here: str, *, is_inner: bool = False
) -> tuple[Tile, ...]:
    places = squarified([each.size_bytes for each in entries], frame)
    return tuple(
        _tile(each, place, here, is_inner=is_inner)
        for each, place in zip(entries, places, strict=True)
    )


def _tile(entry: _Entry, place: Rectangle, here: str, *, is_inner: bool) -> Tile:
    folder = entry.folder
    fits = place.height >= _LINE + _PADDING
    glyph = _GLYPH if is_inner else _BOLD
    is_nested = bool(
        folder
        and folder.folders
        and place.width >= _LEAST_INSIDE[0]
        and place.height >= _LEAST_INSIDE[1]
    )
    note = size(entry.size_bytes)
    if folder and folder.share < 1:
        note = f"{note} · {percent(folder.share)}"
    has_note = not is_nested and place.height >= 2 * _LINE + _PADDING
    return Tile(
        place=place,
        label=_fitting(printable(entry.name), place.width, glyph) if fits else "",
        note=note if has_note and entry.name and _width(note) <= place.width else "",
        title=_title(entry),
        href=entry.href,
        tone="rest" if not entry.name else tone_of(folder.share) if folder else "all",
        inner=_inner(folder, place, here) if folder and is_nested else (),
    )


def _inner(folder: FolderShare, place: Rectangle, here: str) -> tuple[Tile, ...]:
    """Draw the folders in a folder; what is left of its own files stays bare."""
    entries = [
        _Entry(each.name, each.size_bytes, _address(here, each.path), _alone(each))
        for each in folder.folders
    ]
    frame = place.within(edge=_EDGE, top=_HEAD)
    largest = _largest(entries, folder.size_bytes, _MOST_INNER)
    tiles = _tiles(largest, frame, here, is_inner=True)
    return tuple(tile for tile in tiles if tile.href)


def _alone(folder: FolderShare) -> FolderShare:
    """Give a folder without those in it, which a third level would have to show."""
    return FolderShare(
        path=folder.path,
        name=folder.name,
        files=folder.files,
        size_bytes=folder.size_bytes,
        skipped=folder.skipped,
        folders=(),
    )


def _title(entry: _Entry) -> str:
    if not entry.name:
        return f"smaller ones, {size(entry.size_bytes)}"
    if entry.folder is None:
        return f"{printable(entry.name)}, {size(entry.size_bytes)}"
    folder = entry.folder
    told = f"{printable(folder.path)}/, {size(folder.size_bytes)}, {count(folder.files, 'file')}"
    if folder.skipped:
        told += f", {folder.skipped:,} not indexed ({percent(folder.share)} are)"
    return told


def _fitting(text: str, width: float, glyph: float) -> str:
    """Give a label, shortened when it is long; none where too little of it would be left."""
    if _width(text, glyph) <= width:
        return text
    chars = int((width - 2 * _PADDING) / glyph) - 1
    return f"{text[:chars]}…" if chars >= 4 else ""


def _width(text: str, glyph: float = _GLYPH) -> float:
    return len(text) * glyph + 2 * _PADDING


def _steps(here: str, project: str, folder: str) -> list[tuple[str, str]]:
    steps = [(project, f"{here}#folders")]
    parts = folder.split("/") if folder else []
    for number, part in enumerate(parts, 1):
        steps.append((part, _address(here, "/".join(parts[:number]))))
    return steps


def _address(here: str, folder: str) -> str:
    return f"{here}?{urlencode({'folder': folder}, errors='replace')}#folders"
