"""The search page: results by file, filters that write the query, and errors at the box."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.pages import Page

HTMX = {"HX-Request": "true"}


def _search(client: httpx.Client, query: str, **more: str) -> Page:
    answer = client.get("/search", params={"q": query, **more})
    assert answer.status_code == 200
    return Page.of(answer)


def test_results_stand_by_file_with_marks_and_lead_to_their_lines(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _search(pages_client, "open session")
    [first, *_] = page.all("article")
    assert first["data-place"].startswith("app/session.py:")
    opened = [link for link in page.links if link.startswith(f"/p/{sample_id}/f/app/session.py?")]
    assert pages_client.get(opened[0]).status_code == 200
    assert page.all("mark")
    crowded = _search(pages_client, "path:app/long.py numbered")
    assert len(crowded.all("details", class_="group")) == 1
    assert len(crowded.all("article")) > 3
    assert "more in this file" in crowded.text
    for wanted in ("result", " ms · coverage 100 %", "SessionStore", "bm25"):
        assert wanted.lower() in page.text.lower()


def test_matches_of_a_pattern_are_marked_where_they_are(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search", params={"q": r"open_\w+", "mode": "regex"})
    assert '<mark class="nf">open_session</mark>' in answer.text
    strict = _search(pages_client, '"OPEN_SESSION"', case="yes")
    assert "Nothing found" in strict.text


def test_filters_are_links_that_write_the_query(pages_client: httpx.Client) -> None:
    page = _search(pages_client, "session")
    queries = [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in page.links]
    assert "session lang:go" in queries or "session lang:markdown" in queries
    assert "session path:app/" in queries
    narrowed = _search(pages_client, "session path:app/")
    assert {each["data-place"].partition("/")[0] for each in narrowed.all("article")} == {"app"}
    queries = [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in narrowed.links]
    assert "session" in queries  # the filter can be taken out


def test_pages_follow_each_other(pages_client: httpx.Client) -> None:
    page = _search(pages_client, "numbered", mode="keyword")
    [more] = [link for link in page.links if "cursor=" in link]
    following = pages_client.get(more, headers=HTMX)
    part = Page.of(following)
    assert not part.all("form")
    seen = {each["data-place"] for each in page.all("article")}
    assert part.all("article")
    assert not seen & {each["data-place"] for each in part.all("article")}
    assert pages_client.get(more + "x").status_code == 400


@pytest.mark.parametrize(
    ("query", "mode", "character"),
    [
        ("open foo:bar", "hybrid", 6),
        ('say "this', "hybrid", 5),
        ("a(b", "regex", None),
        ("x lang:", "keyword", 8),
        ("x project:nothing", "hybrid", 3),
        ("x case:maybe", "hybrid", 8),
    ],
)
def test_a_bad_query_is_explained_at_the_box(
    pages_client: httpx.Client, query: str, mode: str, character: int | None
) -> None:
    asked = {"q": query, "mode": mode}
    answer = pages_client.get("/search", params=asked)
    assert answer.status_code in (400, 404)
    page = Page.of(answer)
    assert page.all("input", id="q")[0]["value"] == query
    if character is not None:
        assert f"at character {character}" in page.text
    part = pages_client.get("/search", params=asked, headers=HTMX)
    assert part.headers["hx-retarget"] == "#problem"  # so the last results stay
    assert [attributes["id"] for _, attributes in Page.of(part).elements[:1]] == ["problem"]


def test_the_parts_that_change_tell_what_was_found(pages_client: httpx.Client) -> None:
    part = Page.of(pages_client.get("/search", params={"q": "session"}, headers=HTMX))
    assert not part.all("html")
    [summary] = part.all("p", id="summary")
    assert (summary["aria-live"], summary["hx-swap-oob"]) == ("polite", "innerHTML")
    assert part.all("div", id="problem", hx_swap_oob="true")
    history = {**HTMX, "HX-History-Restore-Request": "true"}
    assert Page.of(pages_client.get("/search", params={"q": "x"}, headers=history)).all("html")


def test_nothing_found_says_which_filter_is_in_the_way(pages_client: httpx.Client) -> None:
    page = _search(pages_client, "session lang:rust path:app/")
    assert "Nothing found" in page.text
    assert "without lang:rust" in page.text
    assert any("q=session+path%3Aapp%2F" in link for link in page.links)


def test_the_answer_can_be_had_as_markdown(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search/markdown", params={"q": "open session"})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "app/session.py" in answer.text
    assert pages_client.get("/search/markdown", params={"q": "foo:bar"}).status_code == 400


@pytest.mark.parametrize(
    "asked", [{"mode": "guess"}, {"case": "maybe"}, {"q": "a" * 3900 + "é" * 90}]
)
def test_an_address_that_no_page_made_is_refused(
    pages_client: httpx.Client, asked: dict[str, str]
) -> None:
    assert pages_client.get("/search", params=asked).status_code in (400, 414)
