"""The page of symbols: by name, narrowed by links and boxes, a page at a time."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from engine.config import load_config
from tests.support.catalogs import open_catalog
from tests.support.pages import Page, index_folder, project_ids
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


def _page(client: httpx.Client, sample_id: str, **asked: str) -> Page:
    answer = client.get(f"/p/{sample_id}/symbols", params=asked)
    assert answer.status_code == 200
    return Page.of(answer)


def _places(page: Page) -> list[str]:
    return [each["data-place"] for each in page.all("li") if "data-hit" in each]


def test_symbols_lead_to_their_lines(pages_client: httpx.Client, sample_id: str) -> None:
    page = _page(pages_client, sample_id, name="session", kind="method")
    assert _places(page) == ["app/session.py:13", "app/session.py:9"]
    opened = [each["href"] for each in page.all("a") if "data-open" in each]
    assert opened[1] == f"/p/{sample_id}/f/app/session.py?lines=9-11#L9"
    shown = Page.of(pages_client.get(opened[1].partition("#")[0]))
    assert len(shown.all("div", class_="line picked")) == 3
    assert "2 symbols match" in page.text
    assert "SessionStore.open_ session" in page.text  # what matches is marked
    assert "def open_session(self, user_id: int) -> str" in page.text
    [box] = page.all("input", id="name")
    assert box["value"] == "session"
    assert page.all("input", type="hidden", name="kind")[0]["value"] == "method"


def test_tabs_lead_from_each_page_of_a_project_to_the_others(
    pages_client: httpx.Client, sample_id: str
) -> None:
    here = f"/p/{sample_id}"
    for place in (here, f"{here}/symbols", f"{here}/memories"):
        page = Page.of(pages_client.get(place))
        [current] = [each["href"] for each in page.all("a", aria_current="page")]
        assert current == place
        assert {here, f"{here}/symbols", f"{here}/memories"} <= set(page.links)
        assert page.all("nav", aria_label="Project")


def test_kinds_and_languages_are_links_with_numbers(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _page(pages_client, sample_id, name="ses", path="app/")
    asked = [parse_qs(urlsplit(link).query) for link in page.links]
    assert {"name": ["ses"], "path": ["app/"], "kind": ["class"]} in asked
    narrowed = _page(pages_client, sample_id, name="ses", path="app/", kind="class")
    assert _places(narrowed) == ["app/session.py:6"]
    [active] = narrowed.all("a", class_="active")
    assert parse_qs(urlsplit(active["href"]).query) == {"name": ["ses"], "path": ["app/"]}
    assert "class ✕" in narrowed.text


def test_pages_follow_each_other(pages_client: httpx.Client, pages_home: Path) -> None:
    body = "".join(f"def many_{number:03}():\n    return 1\n\n\n" for number in range(130))
    tree = write_tree(pages_home / "crowded", {"many.py": body})
    index_folder(pages_client, tree)
    crowded = project_ids(pages_client)["crowded"]
    page = _page(pages_client, crowded, name="many")
    [more] = [link for link in page.links if "cursor=" in link]
    part = Page.of(pages_client.get(more, headers=HTMX))
    assert not part.all("form")
    expected = [f"many.py:{1 + 4 * number}" for number in range(130)]
    assert [*_places(page), *_places(part)] == expected
    whole = Page.of(pages_client.get(more))
    assert f"/p/{crowded}/symbols?name=many" in whole.links  # from the first on
    assert pages_client.delete(f"/api/v1/projects/{crowded}").status_code == 200


def test_the_parts_that_change_say_what_was_found(
    pages_client: httpx.Client, sample_id: str
) -> None:
    place = f"/p/{sample_id}/symbols"
    answer = pages_client.get(place, params={"name": "open", "path": ""}, headers=HTMX)
    part = Page.of(answer)
    assert not part.all("html")
    assert answer.headers["hx-replace-url"] == f"{place}?name=open"
    [summary] = part.all("p", id="summary")
    assert (summary["aria-live"], summary["hx-swap-oob"]) == ("polite", "innerHTML")
    assert part.all("div", id="problem", hx_swap_oob="true")
    assert part.all("div", id="symbols")


def test_nothing_found_says_which_filter_can_go(pages_client: httpx.Client, sample_id: str) -> None:
    page = _page(pages_client, sample_id, name="open", kind="class", language="python")
    assert "No matching symbols" in page.text
    assert "without kind class" in page.text
    assert "without language" not in page.text  # that would not help
    assert f"/p/{sample_id}/symbols?name=open&language=python" in page.links


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "klass"},
        {"language": "klingon"},
        {"name": "a" * 1001},
        {"cursor": "!"},
        {"cursor": "W10="},
    ],
)
def test_what_cannot_be_asked_is_explained_at_the_boxes(
    pages_client: httpx.Client, sample_id: str, asked: dict[str, str]
) -> None:
    place = f"/p/{sample_id}/symbols"
    answer = pages_client.get(place, params=asked)
    assert answer.status_code == 400
    page = Page.of(answer)
    assert page.all("div", id="problem", role="alert")
    assert place in page.links  # the way out
    part = pages_client.get(place, params=asked, headers=HTMX)
    assert part.headers["hx-retarget"] == "#problem"
    assert [attributes["id"] for _, attributes in Page.of(part).elements[:1]] == ["problem"]


def test_a_project_that_was_never_indexed(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "unread", {"a.py": "def first():\n    return 1\n"})
    with open_catalog(load_config(pages_home / "data")) as catalog:
        project_id = catalog.create(str(tree)).project_id
    page = _page(pages_client, project_id)
    assert "Nothing is indexed yet; symbols appear during indexing" in page.text
    assert f"/p/{project_id}" in page.links
    assert pages_client.delete(f"/api/v1/projects/{project_id}").status_code == 200


def test_a_project_that_is_not_there(pages_client: httpx.Client) -> None:
    for place in ("symbols", "memories"):
        answer = pages_client.get(f"/p/{'0' * 64}/{place}", headers={"Accept": "text/html"})
        assert answer.status_code == 404
        assert "Not Found" in Page.of(answer).text


def test_a_group_of_kinds_is_a_filter_too(pages_client: httpx.Client, sample_id: str) -> None:
    page = _page(pages_client, sample_id, kind="callable")
    place = f"/api/v1/projects/{sample_id}/symbols"
    total = pages_client.get(place, params={"kind": "callable"}).json()["total"]
    assert total > 0
    assert f"{total:,} symbols" in page.text
    assert "callable ✕" in " ".join(page.text.split())
