"""A file's page: its code with anchors, its symbols, what is stale, and code like it."""

from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.support.pages import Page, project_ids
from tests.support.trees import write_tree


def test_code_has_anchors_and_symbols(pages_client: httpx.Client, sample_id: str) -> None:
    answer = pages_client.get(f"/p/{sample_id}/f/app/session.py?lines=9-11")
    page = Page.of(answer)
    lines = page.all("div")
    ids = [each["id"] for each in lines if each.get("class", "").startswith("line")]
    assert ids == [f"L{number}" for number in range(1, len(ids) + 1)]
    picked = [each["id"] for each in lines if "picked" in each.get("class", "")]
    assert picked == ["L9", "L10", "L11"]
    assert '<span class="k">class</span>' in answer.text
    outline = [link for link in page.links if link in ("#L6", "#L9", "#L13", "#L18")]
    assert set(outline) == {"#L6", "#L9", "#L13", "#L18"}
    raw = next(link for link in page.links if "/raw?" in link)
    assert pages_client.get(raw).text.startswith('"""Sessions of users."""')
    assert "changed" not in page.text


@pytest.mark.parametrize("lines", ["", "0", "5-", "x", "-3", "99999999999", "1-2-3"])
def test_lines_that_are_none_mark_nothing(
    pages_client: httpx.Client, sample_id: str, lines: str
) -> None:
    answer = pages_client.get(f"/p/{sample_id}/f/README.md", params={"lines": lines})
    assert answer.status_code == 200
    assert "picked" not in answer.text


def test_neighbours_are_linked(pages_client: httpx.Client, sample_id: str) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/long.py"))
    beside = [link for link in page.links if link.startswith(f"/p/{sample_id}/f/app/")]
    assert beside == [f"/p/{sample_id}/f/app/long.py", f"/p/{sample_id}/f/app/session.py"]


def test_every_file_has_a_page_whatever_its_name(
    pages_client: httpx.Client, sample_id: str
) -> None:
    found = pages_client.get(f"/api/v1/projects/{sample_id}/files?limit=1000").json()["files"]
    odd = [each["path"] for each in found if each["path"].startswith("odd/")]
    assert len(odd) == 5
    for path in odd:
        page = Page.of(pages_client.get(f"/p/{sample_id}/f/{quote(path)}"))
        assert "odd_name_" in page.text
        assert len([link for link in page.links if "/f/odd/" in link]) == 5
        assert [pages_client.get(link).status_code for link in page.links if "/raw?" in link] == [
            200
        ]


def test_code_like_it_is_shown(pages_client: httpx.Client, sample_id: str) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/related/app/session.py"))
    assert page.all("html")
    assert any(link.startswith(f"/p/{sample_id}/f/") for link in page.links)
    headers = {"HX-Request": "true"}
    part = Page.of(pages_client.get(f"/p/{sample_id}/related/app/session.py", headers=headers))
    assert not part.all("html")
    assert part.all("article")


@pytest.mark.parametrize(
    "path",
    [
        "nothing.py",
        "app",
        "../secret",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "a%00b",
        "app/session.py%00",
        "a" * 3000,
    ],
)
def test_what_is_not_indexed_is_not_shown(
    pages_client: httpx.Client, sample_id: str, path: str
) -> None:
    headers = {"Accept": "text/html"}
    for room in ("f", "related"):
        answer = pages_client.get(f"/p/{sample_id}/{room}/{path}", headers=headers)
        assert answer.status_code in (400, 404), answer.text
        assert "root:" not in Page.of(answer).text
    unknown = pages_client.get(f"/p/{'0' * 64}/f/app/session.py", headers=headers)
    assert unknown.status_code == 404


def test_a_file_that_changed_since_says_so(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "stale", {"a.py": "old = 1\n"})
    answer = pages_client.post("/api/v1/projects", json={"path": str(tree)})
    assert answer.json()["status"] == "completed"
    project_id = project_ids(pages_client)["stale"]
    write_tree(tree, {"a.py": "newer = 22\n"})
    page = Page.of(pages_client.get(f"/p/{project_id}/f/a.py"))
    assert page.all("p", class_="banner", role="status")
    assert "old = 1" in page.text.replace("  ", " ")
    pages_client.delete(f"/api/v1/projects/{project_id}")
