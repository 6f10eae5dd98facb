"""The search page: results by file, filters that write the query, and errors at the box."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from engine.config import load_config
from engine.errors import Cancelled
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.git_trees import run_git
from tests.support.jobs import until
from tests.support.pages import OWN_FORM, Page, index_folder, indexed, project_ids, site
from tests.support.server import serving
from tests.support.trees import write_tree

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
    place = first["data-place"].rpartition(":")[2]
    assert page.all("a", class_="open-file")[0]["href"].endswith(f"#L{place}")
    crowded = _search(pages_client, "path:app/long.py numbered")
    assert len(crowded.all("details", class_="group")) == 1
    assert len(crowded.all("article")) > 3
    assert "more in this file" in crowded.text
    for wanted in ("result", " · coverage 100%", "SessionStore", "bm25"):
        assert wanted.lower() in page.text.lower()


@pytest.mark.parametrize("query", ["-lang:python path:nowhere/", "case:yes lang:rust"])
def test_filters_that_list_nothing_are_no_mistake(pages_client: httpx.Client, query: str) -> None:
    assert "Nothing found" in _search(pages_client, query).text


def test_matches_of_a_pattern_are_marked_where_they_are(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search", params={"q": r"open_\w+", "mode": "regex"})
    assert '<mark class="nf">open_session</mark>' in answer.text
    strict = _search(pages_client, '"OPEN_SESSION"', case="yes")
    assert "Nothing found" in strict.text


def test_blanks_at_the_ends_of_a_pattern_count(pages_client: httpx.Client) -> None:
    page = _search(pages_client, r"\w+_session ", mode="regex")
    assert page.all("input", id="q")[0]["value"] == r"\w+_session "
    assert "Nothing found" in page.text
    assert _search(pages_client, r"def  ", mode="regex", case="yes").all("article") == []
    assert _search(pages_client, " +def open_", mode="regex", case="yes").all("article")
    narrowed = _search(pages_client, "def  path:app/", mode="regex")
    queries = [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in narrowed.links]
    assert "def " in queries
    blank = _search(pages_client, "  ", mode="regex")
    assert not blank.all("article")
    assert blank.all("input", id="q")[0]["value"] == ""


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


def _end_of(client: httpx.Client, page: Page) -> str:
    """Follow the links to more results, and return the text of the last part."""
    while more := [link for link in page.links if "cursor=" in link]:
        assert "No more results" not in page.text
        assert "Only the best" not in page.text
        page = Page.of(client.get(more[0], headers=HTMX))
    return page.text


def test_the_end_of_the_results_is_told(pages_client: httpx.Client, tmp_path: Path) -> None:
    few = _search(pages_client, "kind:function path:parts/")
    assert few.all("a", data_markdown="")
    assert "No more results." in _end_of(pages_client, few)
    many = {f"{n}.py": f"def numbered_{n}():\n    return {n}\n" for n in range(120)}
    with site(tmp_path, write_tree(tmp_path / "many", many)) as server, server.client() as client:
        text = _end_of(client, _search(client, "numbered"))
    assert "Only the best 100 results are shown." in text
    assert "As Markdown" not in text  # it is at the end of the page


def test_a_total_that_is_known_is_no_lower_bound(
    pages_client: httpx.Client, tmp_path: Path
) -> None:
    page = _search(pages_client, "kind:function path:parts/")
    assert [link for link in page.links if "cursor=" in link]
    assert "Showing 20 of 24 results ·" in page.text
    many = {f"{n}.py": f"def numbered_{n}():\n    return {n}\n" for n in range(120)}
    with site(tmp_path, write_tree(tmp_path / "many", many)) as server, server.client() as client:
        assert re.search(r"Showing 20 of [\d,]+\+ results ·", _search(client, "numbered").text)


@pytest.mark.parametrize(
    ("query", "mode", "character"),
    [
        ("open case:bar", "hybrid", 11),
        ("x path:[bad", "hybrid", 8),
        ("a(b", "regex", None),
        ("x lang:klingon", "keyword", 8),
        ("x project:nothing", "hybrid", 11),
        ("x context:nowhere", "hybrid", 11),
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
    assert _search(pages_client, "session").all("p", id="announced", role="status")
    of_part = [each for _, each in part.elements]
    assert not [each for each in of_part if each.get("role") == "status" or "aria-live" in each]
    [summary] = part.all("p", id="summary")
    assert summary["hx-swap-oob"] == "innerHTML"
    assert part.all("div", id="problem", hx_swap_oob="true")
    history = {**HTMX, "HX-History-Restore-Request": "true"}
    assert Page.of(pages_client.get("/search", params={"q": "x"}, headers=history)).all("html")


def test_nothing_found_says_which_filter_is_in_the_way(pages_client: httpx.Client) -> None:
    page = _search(pages_client, "session lang:rust path:app/")
    assert "Nothing found" in page.text
    assert "without lang:rust" in page.text
    assert any("q=session+path%3Aapp%2F" in link for link in page.links)


def test_a_list_of_nothing_has_advice_of_its_own(pages_client: httpx.Client) -> None:
    listed, asked = (_search(pages_client, f"{words}lang:rust").text for words in ("", "session "))
    assert "fewer filters, or a word to search for" in listed
    assert "other or fewer words" not in listed
    assert "other or fewer words" in asked


def test_nothing_found_says_what_is_not_indexed(pages_client: httpx.Client, sample_id: str) -> None:
    page = _search(pages_client, '"zzqq nothing"')
    assert "Not indexed in sample" in page.text
    [ignored] = [link for link in page.links if link.endswith("skips=ignored#skips")]
    assert ignored == f"/p/{sample_id}?skips=ignored#skips"
    assert "build" in pages_client.get(ignored).text


def test_what_is_beyond_the_page_leads_to_all_of_the_file(pages_client: httpx.Client) -> None:
    page = _search(pages_client, "numbered")
    assert "all in this file open file" in page.text
    [address] = [link for link in page.links if "path%3Aapp%2Flong.py" in link]
    inside = Page.of(pages_client.get(address)).all("article")
    assert {each["data-place"].partition(":")[0] for each in inside} == {"app/long.py"}
    assert len(inside) == 8


def test_a_file_that_changed_is_told_of(tmp_path: Path) -> None:
    write_tree(tmp_path / "app", {"main.py": "def renew():\n    pass\n"})
    with site(tmp_path, tmp_path / "app") as server, server.client() as client:
        assert "changed since" not in _search(client, "renew").text
        (tmp_path / "app/main.py").write_text("def other():\n    return 2\n")
        page = _search(client, "renew")
    assert "1 file changed since indexing" in page.text
    assert page.all("span", class_="chip stale nowrap")


def test_half_an_index_gives_its_results_so_far(tmp_path: Path) -> None:
    tree = tmp_path / "app"
    body = "    total = total + 1\n" * 40
    write_tree(tree, {f"part_{n:03}.py": f"def part_{n}(total):\n{body}" for n in range(400)})
    settings = {"workers": 1, "batch_bytes": 65536, "queue_bytes": 1 << 20}
    with open_catalog(load_config(tmp_path / "data", **settings)) as catalog:
        index = catalog.create(str(tree))
        done: list[int] = []
        with pytest.raises(Cancelled):
            index.index(
                on_progress=lambda progress: done.append(progress.done),
                cancelled=lambda: bool(done) and done[-1] >= 100,
            )
    with site(tmp_path) as server, server.client() as client:
        page = _search(client, "part total")
    assert page.all("article")
    assert re.search(r"\d+ of 400 files indexed so far, so results may", page.text)
    assert "/jobs" in page.links
    whole = write_tree(tmp_path / "whole", {"part.py": "def part(total):\n    return total\n"})
    with site(tmp_path, whole) as server, server.client() as client:
        page = _search(client, "part total")
    assert re.search(r"\d+ of 401 files indexed so far, so results may", page.text)
    assert "did not finish" not in page.text  # the same again, as a note on one of the projects


def test_branches_are_a_filter_with_their_files(tmp_path: Path) -> None:
    tree = tmp_path / "app"
    write_tree(tree, {"main.py": "def renew():\n    pass\n"})
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    run_git(tree, tmp_path, "checkout", "-q", "-b", "side")
    write_tree(tree, {"more.py": "def renew_more():\n    pass\n"})
    with site(tmp_path, tree) as server, server.client() as client:
        (tree / "more.py").unlink()
        run_git(tree, tmp_path, "checkout", "-q", "main")
        index_folder(client, tree)
        page = _search(client, "renew")
        [address] = [link for link in page.links if "branch%3Aside" in link]
        on_side = Page.of(client.get(address))
        assert {each["data-place"] for each in on_side.all("article")} >= {"more.py:1"}
        preview = next(
            each["data-preview"]
            for each in on_side.all("article")
            if each["data-place"] == "more.py:1"
        )
        assert "_more" in Page.of(client.get(preview, headers=HTMX)).text
        back = [parse_qs(urlsplit(link).query).get("q") for link in on_side.links]
    assert ["renew"] in back
    assert "Branch" in page.text


def test_a_hit_of_another_branch_opens_the_file_as_another_version(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "app", {"main.py": "def renew():\n    pass\n"})
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    run_git(tree, tmp_path, "checkout", "-q", "-b", "side")
    write_tree(tree, {"main.py": "def renew():\n    return 2\n"})
    with site(tmp_path, tree) as server, server.client() as client:
        run_git(tree, tmp_path, "checkout", "-q", "-f", "main")
        index_folder(client, tree)
        for query, is_other in (("renew branch:side", True), ("renew", False)):
            links = [
                link
                for link in _search(client, query).links
                if "/f/main.py?" in link and "name=" not in link
            ]
            assert links
            for link in links:
                page = Page.of(client.get(link))
                assert ("This link is to another version of the file" in page.text) == is_other


def test_the_active_value_of_a_facet_is_marked_for_screen_readers(
    pages_client: httpx.Client,
) -> None:
    page = _search(pages_client, "session lang:python")
    [active] = page.all("a", aria_current="true", class_="active")
    assert "lang" not in active["href"]


def test_the_preview_stays_closed_when_a_cookie_says_so(pages_client: httpx.Client) -> None:
    assert _search(pages_client, "session").all("body", class_="search-page with-preview")
    pages_client.cookies.set("cairn_preview", "closed")
    closed = _search(pages_client, "session")
    assert closed.all("body", class_="search-page")
    assert closed.all("button", aria_pressed="false")


def test_the_answer_can_be_had_as_markdown(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search/markdown", params={"q": "open session"})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "app/session.py" in answer.text
    assert pages_client.get("/search/markdown", params={"q": "case:bar"}).status_code == 400


@pytest.mark.parametrize(
    "asked", [{"mode": "guess"}, {"case": "maybe"}, {"q": "a" * 3900 + "é" * 90}]
)
def test_an_address_that_no_page_made_is_refused(
    pages_client: httpx.Client, asked: dict[str, str]
) -> None:
    assert pages_client.get("/search", params=asked).status_code in (400, 414)


@contextmanager
def _serving_the_first(folder: Path) -> Iterator[httpx.Client]:
    """Ask a server that was started for one of two folders, both of which are indexed."""
    for name in ("first", "second"):
        write_tree(folder / name, {f"{name}.py": f"def open_{name}_door():\n    return 1\n"})
    settings = {"CAIRN_WORKERS": "1", "HOME": str(folder)}
    command = Command(home=folder / "data", folder=folder, variables=settings)
    with serving(command, str(folder / "first")) as server, server.client() as client:
        for name in ("first", "second"):
            index_folder(client, folder / name)
        yield client


def test_a_server_for_one_folder_says_what_it_does_not_search(tmp_path: Path) -> None:
    with _serving_the_first(tmp_path) as client:
        alone = Page.of(client.get("/search", params={"q": "open door"}))
        assert "Searched only in first, which this server is limited to" in alone.text
        assert "second.py" not in alone.text
        [leading] = [each for each in alone.links if "project%3Asecond" in each]
        there = Page.of(client.get(leading))
        assert "second.py" in there.text
        assert "Searched only in" not in there.text
        headers = {"HX-Request": "true"}
        typed = {"q": "project:second open_"}
        suggested = Page.of(client.get("/search/suggest", params=typed, headers=headers)).text
        assert "open_second_door" in suggested
        assert "open_first_door" not in suggested
        home = Page.of(client.get("/")).text
        assert home.count("Not watched: the server serves other folders") == 1


def test_what_a_query_finds_without_a_filter_is_found_by_its_link(tmp_path: Path) -> None:
    with _serving_the_first(tmp_path) as client:
        kept = _search(client, "/open_second/ project:first")
        assert "Nothing found" in kept.text
        assert "without project:first" not in kept.text
        other = _search(client, "/open_second/ project:second lang:rust")
        assert "without lang:rust 1 result" in other.text
        assert "without project:second" not in other.text
        leading = next(
            each for each in other.links if "project%3Asecond" in each and "lang%3A" not in each
        )
        assert "second.py" in Page.of(client.get(leading)).text


def test_a_server_whose_folders_are_all_forgotten_searches_no_others(tmp_path: Path) -> None:
    with _serving_the_first(tmp_path) as client:
        known = project_ids(client)
        client.post(f"/p/{known['first']}/forget", data={"name": "first"}, headers=OWN_FORM)
        assert sorted(project_ids(client)) == ["second"]
        for headers in ({}, HTMX):
            page = Page.of(client.get("/search", params={"q": "open door"}, headers=headers))
            assert "second.py" not in page.text
            assert "all projects of this server were removed" in page.text
            [leading] = [each for each in page.links if "project%3Asecond" in each]
        until(lambda: "second.py" in Page.of(client.get(leading)).text)
        assert "were removed" in Page.of(client.get("/search")).text
        asked = Page.of(client.get("/research", params={"q": "open door"}))
        assert "all projects of this server were removed" in asked.text
        assert any("project%3Asecond" in each for each in asked.links)
        told = client.get("/api/v1/research", params={"query": "open door"}).json()
        assert "were removed" in told["notes"][0]
        assert "were removed" in client.get("/search/markdown", params={"q": "open door"}).text
        answer = client.post("/api/v1/search", json={"query": "open door"}).json()
        assert answer["hits"] == []
        assert "were removed" in answer["notes"][0]
        named = {"query": "open door", "projects": [known["second"]]}
        assert "notes" not in client.post("/api/v1/search", json=named).json()
        found = client.get("/api/v1/symbols", params={"name": "open_second_door"}).json()
        assert found["symbols"] == []
        assert [each["project"] for each in found["errors"]] == [str(tmp_path / "first")]


def test_who_types_gets_what_fills_a_window_first_and_then_the_rest_of_the_same_page(
    pages_client: httpx.Client,
) -> None:
    def part(**more: str) -> Page:
        return Page.of(pages_client.get("/search", params=asked | more, headers=HTMX))

    asked = {"q": "def", "mode": "regex"}
    whole = [
        each["data-place"] for each in _search(pages_client, "def", mode="regex").all("article")
    ]
    first = part()
    [left] = first.all("li", class_="to-come")
    rest = Page.of(pages_client.get(left["hx-get"], headers=HTMX))
    assert not rest.all("li", class_="to-come")
    places = [[each["data-place"] for each in page.all("article")] for page in (first, rest)]
    assert places[0] + places[1] == whole
    assert 8 <= len(places[0]) < len(whole)
    assert not part(rest="20").all("article")
    assert pages_client.get("/search", params=asked | {"rest": "21"}).status_code == 400
    assert not Page.of(pages_client.get(left["hx-get"])).all("li", class_="to-come")  # a whole page


def test_projects_without_a_branch_are_one_note(tmp_path: Path) -> None:
    trees = [write_tree(tmp_path / name, {"a.py": "wanted = 1\n"}) for name in ("a", "b", "c")]
    run_git(trees[0], tmp_path, "init")
    with site(tmp_path, *trees) as server, server.client() as client:
        page = _search(client, "wanted branch:main")
    assert "2 projects have no branch main in the index" in page.text
    assert "branch 'main' is not indexed" not in page.text
    assert len(page.all("article")) == 1


def test_what_a_note_quotes_keeps_its_case(pages_client: httpx.Client, sample_id: str) -> None:
    answer = pages_client.get("/search", params={"q": "type:nope session", "project": sample_id})
    assert "'type:' takes commit, not nope, so it was searched for" in Page.of(answer).text


def test_marks_follow_the_words_that_the_index_finds(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    code = "class SecureCookieSession:\n    # signing of cookie\n    cookies = design = 1\n"
    with indexed(pages_client, write_tree(pages_home / "marked", {"cookies.py": code})) as project:
        query = {"q": "signed cookies", "project": project}
        hit = pages_client.get("/search", params=query).text.partition("<article")[2]
        [preview] = re.findall(r'data-preview="([^"]+)"', hit)
        shown = [
            hit.partition("</article>")[0],
            pages_client.get(unescape(preview), headers={"HX-Request": "true"}).text,
            pages_client.get(f"/p/{project}/f/cookies.py", params=query).text,
        ]
        for each in shown:
            marked = re.findall(r"<mark[^>]*>([^<]*)</mark>", each)
            assert marked == ["Cookie", "signing", "cookie", "cookies"]


def test_an_unknown_project_is_a_problem_with_a_way_out(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search", params={"q": "open session", "project": "0" * 64})
    assert answer.status_code == 404
    assert "Search all projects" in answer.text
