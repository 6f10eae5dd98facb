"""The map of meaning: a dot for every file, as a page and as a part of the project's."""

from pathlib import Path

import httpx
import pytest

from tests.support.pages import Page, index_folder, indexed, sample_files
from tests.support.trees import write_tree


def _dots(page: Page) -> dict[str, tuple[str, str]]:
    circles = page.all("circle", r="3.5")
    links = [each for each in page.links if "/f/" in each]
    assert len(circles) == len(links)
    return {link: (circle["cx"], circle["cy"]) for link, circle in zip(links, circles, strict=True)}


def test_every_file_is_a_dot(pages_client: httpx.Client, sample_id: str) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/map"))
    dots = _dots(page)
    assert f"/p/{sample_id}/f/app/long.py" in dots
    assert f"/p/{sample_id}/f/odd/a%20b%3Fc%23d%26e%3Bf%2B.py" in dots
    assert all(0 < float(x) < 880 and 0 < float(y) < 520 for x, y in dots.values())
    assert f"{len(dots)} files" in page.text
    assert page.all("ul", aria_label="Languages on the map")
    assert page.all("h1")


def test_it_is_a_part_of_the_page_of_the_project(
    pages_client: httpx.Client, sample_id: str
) -> None:
    place = Page.of(pages_client.get(f"/p/{sample_id}")).all("section", id_="map")
    assert place[0]["hx-get"] == f"/p/{sample_id}/map"
    part = Page.of(pages_client.get(place[0]["hx-get"], headers={"HX-Request": "true"}))
    assert part.elements[0] == ("section", {"id": "map", "aria-labelledby": "map-title"})
    assert not part.all("h1")
    assert f"/p/{sample_id}/map" in Page.of(pages_client.get(f"/p/{sample_id}")).links


def test_dots_stay_where_they_are_when_a_file_comes(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "moving", sample_files())
    with indexed(pages_client, tree) as project_id:
        before = _dots(Page.of(pages_client.get(f"/p/{project_id}/map")))
        write_tree(tree, {"app/new.py": "def another_one():\n    return 1\n"})
        index_folder(pages_client, tree)
        after = _dots(Page.of(pages_client.get(f"/p/{project_id}/map")))
    assert len(after) == len(before) + 1
    assert before.items() <= after.items()


def test_too_few_files_are_no_map(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "small", {"a.py": "def one(): pass\n"})
    with indexed(pages_client, tree) as project_id:
        page = Page.of(pages_client.get(f"/p/{project_id}/map"))
    assert "A map needs at least 3 files with vectors; this index has 1 file" in page.text
    assert not page.all("svg", class_="map")


def test_files_that_are_not_on_the_map_are_counted(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    files = {f"{name}.py": f"def {name}(): pass\n" for name in "abcd"}
    tree = write_tree(pages_home / "empty", {**files, "__init__.py": ""})
    with indexed(pages_client, tree) as project_id:
        page = Page.of(pages_client.get(f"/p/{project_id}/map"))
    said = "4 files; 1 file without vectors, as empty files are, is not on the map"
    assert said in page.text


@pytest.mark.parametrize("project_id", ["0" * 64, "x"])
def test_a_project_that_is_not_there(pages_client: httpx.Client, project_id: str) -> None:
    answer = pages_client.get(f"/p/{project_id}/map", headers={"Accept": "text/html"})
    assert answer.status_code == 404
