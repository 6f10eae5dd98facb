"""The treemap of a folder: area shows the indexed bytes, tone the share of files indexed.

The layout is a squarified treemap after M. Bruls, K. Huizing and J. J. van Wijk, "Squarified
Treemaps" (2000): sizes, the largest first, are laid out in rows along the shorter side of the free
rectangle, and a row ends when one more size would worsen its worst aspect ratio. So the tiles are
nearly square.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from engine.browse_records import FolderShare, FolderView
from engine.record_class import record
from web.pages.facets import with_filter
from web.pages.rendering import file_path, name_of, project_path
from web.terminal import printable
from web.wording import count, size

_MAX_TILES = 24
_MAX_INNER = 10
_MIN_SHARE = 0.002  # of the folder's bytes; smaller entries are joined
_BORDER = 3.0
_HEADER_HEIGHT = 22.0  # the strip with a folder's name above its subfolders
_MIN_NESTED = (90.0, 64.0)
_LINE_HEIGHT = 16.0
_GLYPH_WIDTH = 6.9  # of an average character
_BOLD_GLYPH_WIDTH = 7.9
_PADDING = 7.0
#: Tones by the share of files indexed, the best first: name, minimum and label.
TONES = (
    ("all", 1.0, "all files indexed"),
    ("most", 0.9, "90% and more"),
    ("half", 0.5, "half and more"),
    ("few", 0.0, "less than half"),
)


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
        """Return the area inside a border and a strip at the top, at least an empty one."""
        width = max(self.width - 2 * edge, 0.0)
        height = max(self.height - edge - top, 0.0)
        return Rectangle(self.x + edge, self.y + top, width, height)


#: The size of the drawing, which browsers scale to the width of the page.
FRAME = Rectangle(0, 0, 880, 440)


def squarify(sizes: Sequence[float], frame: Rectangle) -> list[Rectangle]:
    """Tile a frame with rectangles in proportion to sizes.

    Args:
        sizes: The largest first.
        frame: The rectangle to tile.

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
        row = _best_row(areas[len(tiles) :], min(left.width, left.height))
        laid, left = _lay_out(row, left)
        tiles += laid
    return tiles


def _best_row(areas: Sequence[float], side: float) -> Sequence[float]:
    """Return the first areas, as many as make the best row along a side."""
    number, total = 1, areas[0]
    worst = _worst_ratio(areas[0], areas[0], total, side)
    while number < len(areas):
        longer = total + areas[number]
        next_worst = _worst_ratio(areas[0], areas[number], longer, side)
        if next_worst > worst:
            break
        number, total, worst = number + 1, longer, next_worst
    return areas[:number]


def _worst_ratio(largest: float, smallest: float, total: float, side: float) -> float:
    """Return the worst aspect ratio of the rectangles in a row."""
    if not (side and smallest):
        return 1.0
    depth = total / side
    return max(largest / depth**2, depth**2 / smallest)


def _lay_out(row: Sequence[float], left: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Lay out a row along the shorter side; return it and the free rectangle."""
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


@record
class Tile:
    """A folder or file in the drawing."""

    place: Rectangle
    label: str  # empty if it does not fit
    note: str  # the second line; empty if it does not fit
    title: str  # full description
    href: str  # empty: the joined small entries
    tone: str
    inner: tuple["Tile", ...] = ()


@record
class Row:
    """A folder in the table below the drawing."""

    name: str
    href: str
    folder: FolderShare


@record
class Treemap:
    """The treemap of a folder, with its table and breadcrumbs."""

    view: FolderView
    tiles: tuple[Tile, ...]
    rows: tuple[Row, ...]
    more: int  # folders without a row
    steps: tuple[tuple[str, str], ...]  # breadcrumbs: name and address
    search: str  # address of a search in this folder


@dataclass(frozen=True, slots=True)
class _Entry:
    """The content of a tile."""

    name: str
    size_bytes: int
    href: str
    folder: FolderShare | None  # None: a file, or the joined small entries


def treemap_of(project_id: str, project: str, view: FolderView) -> Treemap:
    """Return the treemap of a folder.

    Args:
        project_id: The project's id.
        project: Its name.
        view: The folder.
    """
    here = project_path(project_id)
    folders = view.folder.folders
    rows = tuple(
        Row(name=each.name, href=_address(here, each.path), folder=each)
        for each in folders[:_MAX_INNER]
    )
    within = (
        {"q": with_filter("", "path", f"/{view.folder.path}/") + " "} if view.folder.path else {}
    )
    return Treemap(
        view=view,
        tiles=_tiles(_entries(project_id, view), FRAME, here),
        rows=rows,
        more=len(folders) - len(rows),
        steps=tuple(_steps(here, project, view.folder.path)),
        search="/search?" + urlencode({**within, "project": project_id}),
    )


def tone_of(share: float) -> str:
    """Return the tone for a share of files indexed."""
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
    return _largest(entries, view.folder.size_bytes, _MAX_TILES)


def _largest(entries: Sequence[_Entry], whole: int, most: int) -> list[_Entry]:
    """Return the largest entries in descending order, with all others joined into one."""
    ordered = sorted(entries, key=lambda each: -each.size_bytes)
    shown = [each for each in ordered[:most] if each.size_bytes > whole * _MIN_SHARE]
    left = whole - sum(each.size_bytes for each in shown)
    if left > 0:
        shown.append(_Entry("", left, "", None))
        shown.sort(key=lambda each: -each.size_bytes)
    return shown


def _tiles(
    entries: Sequence[_Entry], frame: Rectangle, here: str, *, is_inner: bool = False
) -> tuple[Tile, ...]:
    places = squarify([each.size_bytes for each in entries], frame)
    return tuple(
        _tile(each, place, here, is_inner=is_inner)
        for each, place in zip(entries, places, strict=True)
    )


def _tile(entry: _Entry, place: Rectangle, here: str, *, is_inner: bool) -> Tile:
    folder = entry.folder
    fits = place.height >= _LINE_HEIGHT + _PADDING
    glyph = _GLYPH_WIDTH if is_inner else _BOLD_GLYPH_WIDTH
    is_nested = bool(
        folder
        and folder.folders
        and place.width >= _MIN_NESTED[0]
        and place.height >= _MIN_NESTED[1]
    )
    note = size(entry.size_bytes)
    if folder and folder.skipped:
        note = f"{note} · {folder.skipped:,} not indexed"
    has_note = not is_nested and place.height >= 2 * _LINE_HEIGHT + _PADDING
    return Tile(
        place=place,
        label=_fit_label(printable(entry.name), place.width, glyph) if fits else "",
        note=note if has_note and entry.name and _width(note) <= place.width else "",
        title=_title(entry),
        href=entry.href,
        tone="rest" if not entry.name else tone_of(folder.share) if folder else "all",
        inner=_inner(folder, place, here) if folder and is_nested else (),
    )


def _inner(folder: FolderShare, place: Rectangle, here: str) -> tuple[Tile, ...]:
    """Return the tiles of subfolders; the area of a folder's own files stays empty."""
    entries = [
        _Entry(each.name, each.size_bytes, _address(here, each.path), _without_subfolders(each))
        for each in folder.folders
    ]
    frame = place.within(edge=_BORDER, top=_HEADER_HEIGHT)
    largest = _largest(entries, folder.size_bytes, _MAX_INNER)
    tiles = _tiles(largest, frame, here, is_inner=True)
    return tuple(tile for tile in tiles if tile.href)


def _without_subfolders(folder: FolderShare) -> FolderShare:
    """Return a folder without subfolders, as there is no third level."""
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
        return f"smaller entries, {size(entry.size_bytes)}"
    if entry.folder is None:
        return f"{printable(entry.name)}, {size(entry.size_bytes)}"
    folder = entry.folder
    title = f"{printable(folder.path)}/, {size(folder.size_bytes)}, {count(folder.files, 'file')}"
    if folder.skipped:
        title += f", {folder.skipped:,} not indexed"
    return title


def _fit_label(text: str, width: float, glyph: float) -> str:
    """Return a label, shortened if necessary, or nothing if less than 4 characters fit."""
    if _width(text, glyph) <= width:
        return text
    chars = int((width - 2 * _PADDING) / glyph) - 1
    return f"{text[:chars]}…" if chars >= 4 else ""


def _width(text: str, glyph: float = _GLYPH_WIDTH) -> float:
    return len(text) * glyph + 2 * _PADDING


def _steps(here: str, project: str, folder: str) -> list[tuple[str, str]]:
    steps = [(project, f"{here}#folders")]
    parts = folder.split("/") if folder else []
    for number, part in enumerate(parts, 1):
        steps.append((part, _address(here, "/".join(parts[:number]))))
    return steps


def _address(here: str, folder: str) -> str:
    return f"{here}?{urlencode({'folder': folder}, errors='replace')}#folders"
