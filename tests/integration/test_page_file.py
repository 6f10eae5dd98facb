"""A file's page: its code with anchors, its symbols, what is stale, and code like it."""

from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest

from tests.support.git_trees import run_git
from tests.support.jobs import until
from tests.support.pages import OWN_FORM, Page, index_folder, indexed, project_ids, site
from tests.support.trees import write_tree


def test_code_has_anchors_and_symbols(pages_client: httpx.Client, sample_id: str) -> None:
    answer = pages_client.get(f"/p/{sample_id}/f/app/session.py?lines=9-11")
    page = Page.of(answer)
    lines = page.all("div")
    ids = [each["id"] for each in lines if each.get("class", "").startswith("line")]
    assert ids == [f"L{number}" for number in range(1, len(ids) + 1)]
    picked = [each["id"] for each in lines if "picked" in each.get("class", "").split()]
    assert picked == ["L9", "L10", "L11"]
    assert '<span class="k">class</span>' in answer.text
    outline = [link for link in page.links if link in ("#L6", "#L9", "#L13", "#L18")]
    assert set(outline) == {"#L6", "#L9", "#L13", "#L18"}
    raw = next(link for link in page.links if "/raw?" in link)
    assert pages_client.get(raw).text.startswith('"""Sessions of users."""')
    assert "changed" not in page.text


def test_lines_of_a_long_file_are_picked_whatever_is_written_in_them(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    hostile = '<div class="line" id="L150"><a class="n" href="#L150">\x01</code></div>'
    text = "".join(f"needle{n} = {hostile!r}  # {hostile}\n" for n in range(1, 701))
    with indexed(pages_client, write_tree(pages_home / "long", {"a.py": text})) as project:
        address = f"/p/{project}/f/a.py"
        for lines in ((1, 1), (150, 450), (200, 201), (201, 400), (1, 700), (700, 9999)):
            answer = pages_client.get(
                f"{address}?lines={lines[0]}-{lines[1]}&q=needle&mode=keyword"
            )
            page = Page.of(answer)
            shown = [each for each in page.all("div") if each.get("class", "").startswith("line")]
            assert [each["id"] for each in shown] == [f"L{n}" for n in range(1, 701)]
            picked = [each["id"] for each in shown if each["class"] == "line picked"]
            assert picked == [f"L{n}" for n in range(lines[0], min(lines[1], 700) + 1)]
            assert len(page.all("a", class_="n")) == 700
            assert page.all("mark")
            whole = "".join(page.texts)  # however much was highlighted within the deadline
            assert whole.count("\\x01</code></div>") == 2 * 700


@pytest.mark.parametrize("lines", ["", "0", "5-", "x", "-3", "99999999999", "1-2-3"])
def test_lines_that_are_none_mark_nothing(
    pages_client: httpx.Client, sample_id: str, lines: str
) -> None:
    answer = pages_client.get(f"/p/{sample_id}/f/README.md", params={"lines": lines})
    assert answer.status_code == 200
    assert "line picked" not in answer.text


def test_folders_above_are_linked_and_the_tree_leads_to_the_file(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/http/router.py"))
    assert page.links.index(f"/p/{sample_id}/tree/app") < page.links.index(
        f"/p/{sample_id}/tree/app/http"
    )
    assert page.all("a", aria_current="page") == [
        {
            "href": f"/p/{sample_id}/f/app/http/router.py",
            "aria-current": "page",
            "title": "router.py",
        }
    ]
    assert len(page.all("details", open="")) == 2
    assert f"/p/{sample_id}/f/app/session.py" in page.links
    assert f"/p/{sample_id}/f/parts/part_1.py" not in page.links
    [later] = page.all("div", hx_get=f"/p/{sample_id}/tree/parts")
    level = Page.of(pages_client.get(later["hx-get"], headers={"HX-Request": "true"}))
    assert not level.all("html")
    assert f"/p/{sample_id}/f/parts/part_1.py" in level.links


def test_every_file_has_a_page_whatever_its_name(
    pages_client: httpx.Client, sample_id: str
) -> None:
    found = pages_client.get(f"/api/v1/projects/{sample_id}/files?limit=1000").json()["files"]
    odd = [each["path"] for each in found if each["path"].startswith("odd/")]
    assert len(odd) == 5
    for path in odd:
        page = Page.of(pages_client.get(f"/p/{sample_id}/f/{quote(path)}"))
        assert "odd_name_" in page.text
        found_in = pages_client.get(f"/p/{sample_id}/f/{quote(path)}?q=odd&mode=keyword")
        assert 1 in _stops(Page.of(found_in))
        assert len([link for link in page.links if "/f/odd/" in link and "?" not in link]) == 5
        assert len(page.all("a", aria_current="page")) == 1
        assert [pages_client.get(link).status_code for link in page.links if "/raw?" in link] == [
            200
        ]


def test_a_name_that_is_not_utf8_is_shown_alike_in_results_and_in_the_tree(
    pages_client: httpx.Client, sample_id: str
) -> None:
    search = f"/search?q=odd_name_0&mode=symbol&project={sample_id}"
    for address in (search, f"/p/{sample_id}/tree/odd", f"/p/{sample_id}/symbols?q=odd_name_0"):
        text = Page.of(pages_client.get(address)).text
        assert "na\ufffdme.py" in text
        assert "xff" not in text


def test_a_preview_that_would_take_too_long_is_left_out_with_a_reason(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    files = {
        "few.md": "# Few\n\n" + "[" * 999 + "\n",
        "many.md": "# Many\n\n" + "[" * 1000 + "\n",
        "long.md": "# Long\n\n" + "word\n" * 20_001,
    }
    with indexed(pages_client, write_tree(pages_home / "previews", files)) as project:
        shown = {name: Page.of(pages_client.get(f"/p/{project}/f/{name}")) for name in files}
        forced = Page.of(pages_client.get(f"/p/{project}/f/many.md?view=preview"))
    assert shown["few.md"].all("article", class_="file-code rendered")
    assert "no preview" not in shown["few.md"].text
    assert "no preview: a paragraph has 1,000 or more opening brackets" in shown["many.md"].text
    assert "no preview: the file has more than 100,000 characters" in shown["long.md"].text
    for page in (shown["many.md"], shown["long.md"], forced):
        assert page.all("article", class_="code file-code")
        assert not [link for link in page.links if "view=preview" in link]


def test_restructured_text_is_rendered_on_both_pages_and_its_source_is_a_click_away(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    files = {"README.rst": "Title\n=====\n\nSay *hello* with :func:`app.greet`.\n"}
    with indexed(pages_client, write_tree(pages_home / "rst", files)) as project:
        front = pages_client.get(f"/p/{project}")
        preview = pages_client.get(f"/p/{project}/f/README.rst")
        source = pages_client.get(f"/p/{project}/f/README.rst?view=source")
    for answer in (front, preview):
        assert '<h2 id="L1">Title</h2>' in answer.text
        assert "Say <em>hello</em> with <code>app.greet</code>." in answer.text
    assert [link for link in Page.of(preview).links if "view=source" in link]
    assert Page.of(source).all("article", class_="code file-code")
    assert [link for link in Page.of(source).links if "view=preview" in link]


def test_the_bar_names_the_branch_or_the_commit(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "bar", {"a.py": "x = 1\n"})
    for arguments in (("init", "-q", "-b", "trunk"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        run_git(tree, pages_home, *arguments)
    commit = run_git(tree, pages_home, "rev-parse", "HEAD").decode()[:12]
    with indexed(pages_client, tree) as project:
        address = f"/p/{project}/f/a.py"
        assert '<span class="chip" title="Branch">trunk</span>' in pages_client.get(address).text
        run_git(tree, pages_home, "checkout", "-q", "--detach")
        chip = f'<span class="chip" title="Commit">{commit}</span>'

        def is_shown() -> bool:
            pages_client.post("/api/v1/projects", json={"path": str(tree)})  # unless a job runs
            return chip in pages_client.get(address).text

        until(is_shown)


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
        "nothing/",
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
    posted = pages_client.post(f"/p/{sample_id}/f/{path}", data={}, headers={**headers, **OWN_FORM})
    assert posted.status_code in (303, 400, 404), posted.text
    unknown = pages_client.get(f"/p/{'0' * 64}/f/app/session.py", headers=headers)
    assert unknown.status_code == 404


def test_a_file_that_changed_since_says_so(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "stale", {"a.py": "old = 1\n", "b.py": "other = 3\n"})
    index_folder(pages_client, tree)
    project_id = project_ids(pages_client)["stale"]
    write_tree(tree, {"a.py": "newer = 22\n"})
    page = Page.of(pages_client.get(f"/p/{project_id}/f/a.py"))
    assert page.all("div", class_="banner")
    assert "old = 1" in page.text.replace("  ", " ")
    again = f"/p/{project_id}/f/a.py"
    assert [each for each in page.all("form", method="post") if "action" not in each]
    answer = pages_client.post(again, data={}, headers=OWN_FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, again)
    page = Page.of(pages_client.get(again))
    assert not page.all("div", class_="banner")
    assert "newer = 22" in page.text.replace("  ", " ")
    (tree / "a.py").unlink()
    page = Page.of(pages_client.get(again))
    assert "The file has been deleted" in page.text
    answer = pages_client.post(again, data={}, headers=OWN_FORM)
    assert answer.headers["location"] == again
    gone = pages_client.get(again)
    assert gone.status_code == 404
    assert "no such path" in Page.of(gone).text
    pages_client.delete(f"/api/v1/projects/{project_id}")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("build/out.py", ("Not indexed", "ignored", "build/", ".gitignore", "line 1")),
        ("poetry.lock", ("Not indexed", "lock file", "crowd out answers")),
        ("nothing/here.py", ("Not found", "there is no such path")),
    ],
)
def test_what_is_not_indexed_says_why(
    pages_client: httpx.Client, sample_id: str, path: str, words: tuple[str, ...]
) -> None:
    answer = pages_client.get(f"/p/{sample_id}/f/{path}")
    assert answer.status_code == 404
    page = Page.of(answer)
    assert f"{path} is not in the index" in page.text
    for word in words:
        assert word in page.text
    [up] = [link for link in page.links if link.startswith(f"/p/{sample_id}/tree")][-1:]
    assert pages_client.get(up).status_code == 200


def test_a_path_that_is_not_there_leads_to_the_nearest_folder(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/no/such.py"))
    assert "Open app" in page.text
    project = f"/p/{sample_id}"
    assert f"{project}/tree/app/no" not in page.links
    for link in (each for each in page.links if each.startswith(project)):
        assert pages_client.get(link).status_code == 200, link


def test_a_file_that_came_since_can_be_indexed_from_its_page(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "later", {"a.py": "x = 1\n"})
    index_folder(pages_client, tree)
    address = f"/p/{project_ids(pages_client)['later']}/f/b/new.py"
    write_tree(tree, {"b/new.py": "fresh = 1\n", "c.py": "other = 1\n"})
    page = Page.of(pages_client.get(address))
    assert "Not indexed yet" in page.text
    assert "will index it as python" in page.text
    assert pages_client.post(address, data={}).status_code == 403  # of no page of this server
    assert pages_client.post(address, data={}, headers=OWN_FORM).headers["location"] == address
    assert "fresh" in Page.of(pages_client.get(address)).text
    assert pages_client.get(address.replace("b/new.py", "c.py")).status_code == 404
    pages_client.delete(address.partition("/f/")[0].replace("/p/", "/api/v1/projects/"))


def test_a_folder_leads_to_its_page(pages_client: httpx.Client, sample_id: str) -> None:
    for path in ("app", "app/", "app/http"):
        answer = pages_client.get(f"/p/{sample_id}/f/{path}")
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/p/{sample_id}/tree/{path.rstrip('/')}"


def _stops(page: Page) -> list[int]:
    [bar] = page.all("nav", aria_label="Matches")
    return [int(line) for line in bar["data-stops"].split()]


@pytest.mark.parametrize(
    ("query", "mode", "stops"),
    [
        ("open_session", "keyword", [9]),
        ("MAX_\\w+", "regex", [3]),
        ("def \\w+_s", "regex", [9, 13, 18]),
        ('"Keeps the sessions"', "hybrid", [6]),
        ("default_store", "symbol", [18]),
    ],
)
def test_matches_of_a_question_are_marked_and_gone_through(
    pages_client: httpx.Client, sample_id: str, query: str, mode: str, stops: list[int]
) -> None:
    address = f"/p/{sample_id}/f/app/session.py"
    page = Page.of(pages_client.get(address, params={"q": query, "mode": mode}))
    found = _stops(page)
    assert set(stops) <= set(found)
    assert found == sorted(found)
    assert page.all("mark")
    [after] = page.all("a", id="match-after")
    second = Page.of(pages_client.get(after["href"].partition("#")[0]))
    assert second.all("nav", aria_label="Matches")[0]["data-at"] == str(1 % len(found) + 1)
    searches = (link for link in page.links if link.startswith("/search?q="))
    back = next(link for link in searches if "type%3Acommit" not in link)
    assert parse_qs(urlsplit(back).query) == {"q": [query], "mode": [mode]}


def test_a_pattern_is_marked_to_the_end_of_a_large_file(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    made = [f"def needle_{n}():\n" + "    return 1\n" * 80 + "\n\n" for n in range(150)]
    files = {"many.py": "".join(made), "dense.txt": f"aé {'a ' * 99}\r\n" * 110}
    asked = {"q": "needle_\\d+", "mode": "regex"}
    with indexed(pages_client, write_tree(pages_home / "many", files)) as project:
        page = Page.of(pages_client.get(f"/p/{project}/f/many.py", params=asked))
        asked = {"q": "a$?", "mode": "regex"}
        dense = Page.of(pages_client.get(f"/p/{project}/f/dense.txt", params=asked))
    assert _stops(page) == [1 + 83 * n for n in range(150)]
    assert len(page.all("mark")) == 150
    assert "place 1 of 150 " in page.text
    assert "or more" not in page.text
    assert len(dense.all("mark")) >= 10_000
    assert "or more" in dense.text


def test_what_is_meant_without_its_words_is_a_result(
    pages_client: httpx.Client, sample_id: str
) -> None:
    asked = {"q": "terminate connection of visitor", "mode": "meaning"}
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/session.py", params=asked))
    assert _stops(page)
    assert "result 1 of" in page.text
    assert not page.all("mark")


def test_matches_begin_at_the_line_of_the_link(pages_client: httpx.Client, sample_id: str) -> None:
    asked = {"q": "session", "mode": "keyword", "lines": "13-15"}
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/session.py", params=asked))
    [bar] = page.all("nav", aria_label="Matches")
    assert _stops(page)[int(bar["data-at"]) - 1] == 13


@pytest.mark.parametrize(
    ("query", "mode", "words"),
    [
        ("nowhereatall", "keyword", "no matches in the indexed version of this file"),
        ("(", "regex", "("),
        ("lang:nothing x", "hybrid", "Unknown language"),
    ],
)
def test_a_question_without_matches_says_so_and_shows_the_file(
    pages_client: httpx.Client, sample_id: str, query: str, mode: str, words: str
) -> None:
    address = f"/p/{sample_id}/f/app/session.py"
    answer = pages_client.get(address, params={"q": query, "mode": mode, "match": "7"})
    page = Page.of(answer)
    assert answer.status_code == 200
    assert words in page.text
    assert _stops(page) == []
    assert "SessionStore" in page.text


def test_a_search_leads_to_its_matches(pages_client: httpx.Client, sample_id: str) -> None:
    page = Page.of(pages_client.get("/search", params={"q": "open_session", "mode": "keyword"}))
    links = [link for link in page.links if link.startswith(f"/p/{sample_id}/f/app/session.py?q=")]
    assert links
    for link in links:
        assert 9 in _stops(Page.of(pages_client.get(link.partition("#")[0])))
    related = Page.of(pages_client.get(f"/p/{sample_id}/related/app/session.py"))
    assert not [link for link in related.links if "q=open_session" in link]


def test_a_permanent_link_says_when_it_is_of_another_version(
    pages_client: httpx.Client, sample_id: str
) -> None:
    address = f"/p/{sample_id}/f/app/session.py"
    page = Page.of(pages_client.get(address))
    [link] = [link for link in page.links if "?at=" in link]
    assert len(link.partition("?at=")[2]) == 64
    assert not Page.of(pages_client.get(link)).all("div", id="other-version")
    for other in ("0" * 64, "0123456"):
        page = Page.of(pages_client.get(f"{address}?at={other}"))
        assert page.all("div", id="other-version")
        assert other[:12] in page.text
    for no_hash in ("", "x", "..", "0" * 65, "<b>"):
        page = Page.of(pages_client.get(address, params={"at": no_hash}))
        assert not page.all("div", id="other-version")


def test_an_editor_is_offered_where_the_file_is(
    pages_client: httpx.Client, pages_home: Path, sample_id: str
) -> None:
    page = Page.of(pages_client.get(f"/p/{sample_id}/f/app/session.py?lines=9-11"))
    [link] = page.all("a", data_editor="")
    assert link["href"] == f"vscode://file{pages_home.resolve()}/sample/app/session.py:9"
    found = pages_client.get(f"/api/v1/projects/{sample_id}/files?limit=1000").json()["files"]
    for path in (each["path"] for each in found if each["path"].startswith("odd/")):
        page = Page.of(pages_client.get(f"/p/{sample_id}/f/{quote(path)}"))
        assert len(page.all("a", data_editor="")) == 1, path


@pytest.mark.soak  # the decision itself has a test of its own
def test_no_editor_is_offered_to_other_machines(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "code", {"a.py": "x = 1\n"})
    settings = {"CAIRN_HOST": "0.0.0.0", "CAIRN_TOKEN": "token-of-a-test-1234"}
    with site(tmp_path, tree, **settings) as server, server.client() as client:
        page = Page.of(client.get(f"/p/{project_ids(client)['code']}/f/a.py"))
        assert "x = 1" in page.text.replace("  ", " ")
        assert not page.all("a", data_editor="")


def test_who_indexes_a_file_again_stays_on_the_page(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "changing", {"a b.py": "old = 1\n"})
    with indexed(pages_client, tree) as project_id:
        write_tree(tree, {"a b.py": "newer = 22\n"})
        address = f"/p/{project_id}/f/a%20b.py?q=newer+%2222%22&mode=keyword&lines=1-1&blame=1"
        assert "Index this file again" in Page.of(pages_client.get(address)).text
        answer = pages_client.post(address, headers=OWN_FORM)
        assert answer.status_code == 303
        if not answer.headers["location"].startswith("/jobs/"):  # as on a busy machine
            assert answer.headers["location"] == address
