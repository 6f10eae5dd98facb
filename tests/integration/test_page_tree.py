"""A folder's page: what is in it, what is not indexed and why, and pages of it."""

from pathlib import Path

import httpx
import pytest

from tests.support.pages import Page, index_folder, indexed, project_ids
from tests.support.trees import write_tree


def test_the_root_shows_folders_files_and_what_is_skipped(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/tree"))
    assert page.links.index(f"/p/{sample_id}/tree/app") < page.links.index(
        f"/p/{sample_id}/f/README.md"
    )
    assert "Name Contents Lines Symbols Size Changed" in page.text
    assert "24 files" in page.text
    assert len(page.all("tr", class_="refused")) == 2  # build and poetry.lock
    assert f"/p/{sample_id}/f/poetry.lock" in page.links
    assert "lock file" in page.text
    why = pages_client.get(f"/p/{sample_id}/f/build")
    assert why.status_code == 404
    assert "ignored" in Page.of(why).text


def test_a_folder_shows_the_properties_of_its_files(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/tree/app"))
    for link in ("tree", "tree/app/http", "f/app/session.py", "f/app/long.py"):
        assert f"/p/{sample_id}/{link}" in page.links
    assert "python" in page.text
    assert "session.py" in page.text
    slash = pages_client.get(f"/p/{sample_id}/tree/app/")
    assert Page.of(slash).links == page.links


def test_a_file_that_lies_deep_has_a_page(pages_client: httpx.Client, pages_home: Path) -> None:
    folders = ["/".join("d" * depth) for depth in range(1, 302)]
    files = {f"{folder}/x.py": "x = 1\n" for folder in folders}
    with indexed(pages_client, write_tree(pages_home / "deep", files)) as project:
        page = Page.of(pages_client.get(f"/p/{project}/f/{folders[-1]}/x.py"))
        assert f"/p/{project}/tree/{folders[-1]}" in page.links  # above the code
        opened = [each for each in page.all("details") if "open" in each]
        assert 1 < len(opened) < len(folders)


def test_a_large_folder_has_pages(pages_client: httpx.Client, pages_home: Path) -> None:
    files = {f"many/file_{n:04}.py": f"x = {n}\n" for n in range(501)}
    tree = write_tree(pages_home / "large", {**files, "many/\u202eevil.py": "x = 1\n"})
    index_folder(pages_client, tree)
    project = project_ids(pages_client)["large"]
    page = Page.of(pages_client.get(f"/p/{project}/tree/many"))
    assert len([link for link in page.links if "/f/many/" in link]) == 500
    later = Page.of(pages_client.get(f"/p/{project}/tree/many?after=500"))
    assert f"/p/{project}/tree/many?after=500" in page.links
    assert len([link for link in later.links if "/f/many/" in link]) == 2
    assert f"/p/{project}/tree/many?after=0" in later.links
    assert "\u202e" not in later.text
    level = pages_client.get(f"/p/{project}/tree/many", headers={"HX-Request": "true"})
    names = Page.of(level).links
    assert len(names) == 401
    assert names[-1] == f"/p/{project}/tree/many"
    file = Page.of(pages_client.get(f"/p/{project}/f/many/file_0499.py"))
    assert f"/p/{project}/tree/many" in file.links
    pages_client.delete(f"/api/v1/projects/{project}")


def test_an_address_past_the_end_of_a_folder_leads_back(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    files = {f"many/file_{n:04}.py": f"x = {n}\n" for n in range(501)}
    with indexed(pages_client, write_tree(pages_home / "ended", files)) as project:
        here = f"/p/{project}/tree/many"
        page = Page.of(pages_client.get(here, params={"after": 1000}))
        missing = pages_client.get(f"/p/{project}/tree/nowhere", params={"after": 1000})
    assert "501 entries" in page.text
    assert "There are only 501 entries, so none from 1,001 on." in page.text
    assert f"{here}?after=500" in page.links
    assert "Nothing is indexed here yet" not in page.text
    assert missing.status_code == 404


def test_a_project_that_is_empty_says_so(pages_client: httpx.Client, pages_home: Path) -> None:
    (pages_home / "hollow").mkdir()
    index_folder(pages_client, pages_home / "hollow")
    project = project_ids(pages_client)["hollow"]
    page = Page.of(pages_client.get(f"/p/{project}/tree"))
    assert "Nothing is indexed here yet" in page.text
    assert f"/p/{project}" in page.links
    pages_client.delete(f"/api/v1/projects/{project}")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("nothing", 404),
        ("app/session.py", 303),
        ("%2e%2e", 400),
        ("%2e%2e%2f%2e%2e%2fetc", 400),
        ("app/..%2f..%2fetc", 400),
        ("a%00b", 400),
        ("app?after=-1", 400),
        ("app?after=x", 400),
        ("app?after=99999999999", 400),
        ("a" * 3000, 404),
    ],
)
def test_what_is_no_folder_is_not_shown(
    pages_client: httpx.Client, sample_id: str, path: str, status: int
) -> None:
    headers = {"Accept": "text/html"}
    answer = pages_client.get(f"/p/{sample_id}/tree/{path}", headers=headers)
    assert answer.status_code == status
    if status != 303:
        assert f"/p/{sample_id}" in Page.of(answer).links  # no dead end
    assert pages_client.get(f"/p/{'0' * 64}/tree", headers=headers).status_code == 404
