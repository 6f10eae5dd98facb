"""Tiles of a treemap: places, labels, links, and joined small entries."""

import pytest

from engine.browse_records import FileSize, FolderShare, FolderView
from web.pages.treemap import FRAME, tone_of, treemap_of

_ID = "a" * 64


def _folder(
    path: str, size: int, *inner: FolderShare, files: int = 1, skipped: int = 0
) -> FolderShare:
    return FolderShare(
        path=path,
        name=path.rpartition("/")[2],
        files=files,
        size_bytes=size,
        skipped=skipped,
        folders=inner,
    )


def _view(folder: FolderShare, *files: tuple[str, int]) -> FolderView:
    sizes = tuple(FileSize(path=path, size_bytes=size) for path, size in files)
    return FolderView(branch="", folder=folder, files=sizes)


def test_folders_and_files_share_the_frame_by_their_bytes() -> None:
    top = _folder("", 1000, _folder("src", 600), _folder("docs", 300, skipped=1), files=9)
    drawn = treemap_of(_ID, "app", _view(top, ("README.md", 100)))
    assert [tile.label for tile in drawn.tiles] == ["src", "docs", "README.md"]
    shares = [tile.place.area / FRAME.area for tile in drawn.tiles]
    assert shares == pytest.approx([0.6, 0.3, 0.1])
    assert [tile.tone for tile in drawn.tiles] == ["all", "half", "all"]
    assert drawn.tiles[1].title == "docs/, 300 bytes, 1 file, 1 not indexed"
    assert drawn.tiles[2].href == f"/p/{_ID}/f/README.md"
    assert [row.name for row in drawn.rows] == ["src", "docs"]


def test_folders_in_folders_lie_inside_them() -> None:
    inner = [_folder(f"src/{name}", 250) for name in "abc"]
    drawn = treemap_of(_ID, "app", _view(_folder("", 1000, _folder("src", 1000, *inner))))
    [tile] = drawn.tiles
    assert [each.label for each in tile.inner] == ["a", "b", "c"]
    for each in tile.inner:
        assert tile.place.x <= each.place.x
        assert each.place.x + each.place.width <= tile.place.x + tile.place.width
        assert each.place.y + each.place.height <= tile.place.y + tile.place.height
        assert each.href == f"/p/{_ID}?folder=src%2F{each.label}#folders"


def test_what_is_too_small_is_together_and_leads_nowhere() -> None:
    folders = [_folder(f"f{number:03}", 1) for number in range(500)]
    drawn = treemap_of(_ID, "app", _view(_folder("", 10_500, _folder("big", 10_000), *folders)))
    assert [(tile.label, tile.href, tile.tone) for tile in drawn.tiles[1:]] == [("", "", "rest")]
    assert drawn.tiles[1].title == "smaller entries, 500 bytes"
    assert drawn.more == 501 - len(drawn.rows)


def test_the_way_up_and_a_search() -> None:
    drawn = treemap_of(_ID, "my app", _view(_folder("a/b c", 0)))
    assert drawn.tiles == ()
    assert [name for name, _ in drawn.steps] == ["my app", "a", "b c"]
    assert drawn.steps[1][1] == f"/p/{_ID}?folder=a#folders"
    assert drawn.search == f"/search?q=path%3A%22%2Fa%2Fb+c%2F%22+&project={_ID}"
    assert treemap_of(_ID, "my app", _view(_folder("", 0))).search == f"/search?project={_ID}"


@pytest.mark.parametrize(
    ("share", "tone"), [(1.0, "all"), (0.999, "most"), (0.9, "most"), (0.5, "half"), (0.0, "few")]
)
def test_tones(share: float, tone: str) -> None:
    assert tone_of(share) == tone
