"""Lines around a hit, more and fewer of them, and a look at the file."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.pages import Page, index_folder, indexed, sample_files
from tests.support.server import Server
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


def _numbers(page: Page) -> list[int]:
    return [int(each["data-n"]) for each in page.all("a", class_="n")]


def _link(page: Page, css: str) -> str:
    return next(each["hx-get"] for each in page.all("a") if css in each.get("class", "").split())


def _has(page: Page, css: str) -> bool:
    return any(css in each.get("class", "").split() for each in page.all("a"))


def _first_excerpt(client: httpx.Client, query: str) -> tuple[Page, list[int]]:
    """Give the results, and the numbers of the lines of the first one."""
    answer = client.get("/search", params={"q": query})
    first = answer.text.split('<article class="hit"')[1]
    return Page.of(answer), [int(number) for number in re.findall(r'data-n="(\d+)"', first)]


def test_lines_are_shown_around_a_hit_and_taken_away_again(pages_client: httpx.Client) -> None:
    page, shown = _first_excerpt(pages_client, "numbered_3 path:app/long.py")
    assert shown == list(range(shown[0], shown[0] + 4))
    more = Page.of(pages_client.get(_link(page, "below"), headers=HTMX))
    assert _numbers(more)[: len(shown)] == shown
    assert len(_numbers(more)) > len(shown)
    assert more.all("mark")
    above = Page.of(pages_client.get(_link(more, "above"), headers=HTMX))
    assert _numbers(above)[-1] == _numbers(more)[-1]
    assert _numbers(above)[0] == max(1, shown[0] - 20)
    less = Page.of(pages_client.get(_link(above, "less"), headers=HTMX))
    assert _numbers(less) == shown
    assert not _has(less, "less")


def test_the_ends_of_a_file_offer_no_more(pages_client: httpx.Client, sample_id: str) -> None:
    whole = f"/p/{sample_id}/lines/app/session.py?hit=1-1&shown=1-5000&start=1-1"
    page = Page.of(pages_client.get(whole, headers=HTMX))
    assert _numbers(page)[0] == 1
    assert not _has(page, "above")
    assert not _has(page, "below")
    assert _has(page, "less")
    beyond = f"/p/{sample_id}/lines/app/session.py?hit=900-901&shown=900-910"
    assert len(_numbers(Page.of(pages_client.get(beyond, headers=HTMX)))) == 1


def test_without_scripts_the_links_lead_to_the_file(pages_client: httpx.Client) -> None:
    page, shown = _first_excerpt(pages_client, "numbered_3 path:app/long.py")
    plain = next(each["href"] for each in page.all("a", class_="around below"))
    assert plain.endswith(f"#L{shown[-1] + 1}")
    assert pages_client.get(plain).status_code == 200
    answer = pages_client.get(_link(page, "below"))
    assert answer.status_code == 303
    assert pages_client.get(answer.headers["location"]).status_code == 200


def test_the_best_lines_of_a_long_hit_are_shown(pages_client: httpx.Client) -> None:
    _, shown = _first_excerpt(pages_client, '"numbered[14]" path:app/long.py')
    found = pages_client.get("/search", params={"q": '"numbered[14]" path:app/long.py'}).text
    assert "<mark" in found.split("</article>")[0]
    assert shown[0] > 1


def test_a_preview_shows_the_file_around_the_hit(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page, _ = _first_excerpt(pages_client, "numbered_3 path:app/long.py")
    address = page.all("article")[0]["data-preview"]
    shown = Page.of(pages_client.get(address, headers=HTMX))
    first, last = map(int, parse_qs(urlsplit(address).query)["hit"][0].split("-"))
    assert len(shown.all("div", class_="line picked")) == last - first + 1
    assert _numbers(shown)[0] < first < last < _numbers(shown)[-1]
    assert shown.all("mark")
    assert shown.all("a", title="Open app/long.py")
    assert pages_client.get(address).headers["location"].startswith(f"/p/{sample_id}/f/app/long.py")


def test_a_preview_marks_all_that_a_pattern_matched(pages_client: httpx.Client) -> None:
    page = Page.of(pages_client.get("/search", params={"q": r"/def open_session!?\(/"}))
    [address] = [each["data-preview"] for each in page.all("article")]
    shown = pages_client.get(address, headers=HTMX).text
    marked = "".join(re.findall(r"<mark[^>]*>([^<]*)</mark>", shown))
    assert marked == "def open_session("


@pytest.mark.parametrize("kind", ["lines", "preview"])
@pytest.mark.parametrize(
    ("path", "question", "status"),
    [
        ("app/session.py", "hit=0-3", 400),
        ("app/session.py", "hit=5-3", 400),
        ("app/session.py", "hit=x", 400),
        ("app/session.py", "", 400),
        ("app/session.py", "hit=1-3&shown=3-", 400),
        ("app/nothing.py", "hit=1-3", 404),
        ("../../etc/passwd", "hit=1-3", 404),
        ("app/session.py", "hit=1-3&branch=nowhere", 404),
    ],
)
def test_what_is_not_there_is_refused(
    pages_client: httpx.Client, sample_id: str, kind: str, path: str, question: str, status: int
) -> None:
    address = f"/p/{sample_id}/{kind}/{path}?{question}"
    assert pages_client.get(address, headers=HTMX).status_code == status


@pytest.mark.parametrize("page", ["/search?q=numbered_3", "/research?q=numbered_3", "symbol"])
def test_no_lines_of_another_content_are_added(
    pages_server: Server, pages_home: Path, page: str
) -> None:
    text = sample_files()["app/long.py"]
    tree = write_tree(pages_home / "moving", {"long.py": text})
    with pages_server.client() as client, indexed(client, tree) as project_id:
        if page == "symbol":
            page = f"/p/{project_id}/symbol/long.py?name=numbered_3&line=58"
        elif "research" in page:  # shows a text once, whichever project has it
            page += f"&project={project_id}"
        shown = Page.of(client.get(page))
        ours = f"/p/{project_id}/lines/long.py"
        below = next(
            each["hx-get"] for each in shown.all("a") if each.get("hx-get", "").startswith(ours)
        )
        more = Page.of(client.get(below, headers=HTMX))
        assert _numbers(more)
        write_tree(tree, {"long.py": f"# moved\n{text!s}"})
        index_folder(client, tree)
        here = {**HTMX, "HX-Current-URL": f"{client.base_url}{page}#L1"}
        for address in (below, _link(more, "below"), below.replace("/lines/", "/preview/")):
            answer = client.get(address, headers=here)
            assert answer.status_code == 409
            told = Page.of(answer)
            assert "long.py has changed since this page was loaded" in told.text
            assert not _numbers(told)
            assert told.links == [page]
            target = answer.headers["hx-retarget"]
            assert target == "#preview-body" or shown.all("p", id=target.removeprefix("#"))
        for elsewhere in ("http://elsewhere//x/", "http://["):
            again = client.get(below, headers={**HTMX, "HX-Current-URL": elsewhere})
            assert again.status_code == 409
            assert Page.of(again).links == ["/"]
