"""The list of Ctrl-K: projects, actions, symbols, files and searches that fit a few letters."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.support.damage import break_file
from tests.support.pages import Page, indexed, project_ids, site
from tests.support.trees import write_tree


def _asked(client: httpx.Client, text: str = "", project: str = "") -> Page:
    asked = {"q": text, "project": project}
    return Page.of(client.get("/palette", params=asked, headers={"HX-Request": "true"}))


def _groups(page: Page) -> list[str]:
    return [each["data-group"] for each in page.all("div", role="group")]


def _options(page: Page, group: str) -> list[dict[str, str]]:
    options = page.all("a", role="option") + page.all("div", role="option")
    return [each for each in options if each["id"].startswith(f"palette-{group}-")]


def test_without_text_projects_and_actions_are_offered(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _asked(pages_client)
    assert _groups(page) == ["projects", "actions"]
    assert f"/p/{sample_id}" in [each["href"] for each in _options(page, "projects")]
    actions = _options(page, "actions")
    assert {each["data-act"] for each in actions if "data-act" in each} == {
        "finder",
        "keys",
        "theme",
    }
    for each in actions:
        if "href" in each:
            assert pages_client.get(each["href"].partition("#")[0]).status_code == 200, each
    assert not any("data-form" in each for each in actions)


def test_the_project_of_the_page_has_its_own_actions(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _asked(pages_client, project=sample_id)
    assert f"/p/{sample_id}" not in [each["href"] for each in _options(page, "projects")]
    actions = _options(page, "actions")
    assert [each["data-form"] for each in actions if "data-form" in each] == [
        f"/p/{sample_id}/index"
    ]
    for name in ("symbols", "map", "memories", "doctor"):
        address = f"/p/{sample_id}/{name}"
        assert address in page.links
        assert pages_client.get(address).status_code == 200
    for title, address in (
        ("Commits of sample", f"/search?q=type%3Acommit&project={sample_id}"),
        ("Research in sample", f"/research?project={sample_id}"),
    ):
        found = _options(_asked(pages_client, title, sample_id), "actions")
        assert found[0]["href"] == address
        assert pages_client.get(address).status_code == 200
    page = _asked(pages_client, "reindex sample")  # and they can be typed on any page
    assert [each.get("data-form") for each in _options(page, "actions")] == [
        f"/p/{sample_id}/index"
    ]


def test_letters_find_projects_symbols_and_files(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _asked(pages_client, "sessionst")
    assert _groups(page) == ["symbols", "search"]
    assert _options(page, "symbols")[0]["href"].startswith(f"/p/{sample_id}/f/app/session.py?")
    page = _asked(pages_client, "session.py:9")
    assert _groups(page) == ["files", "search"]
    assert _options(page, "files")[0]["href"] == f"/p/{sample_id}/f/app/session.py#L9"
    assert page.all("mark")
    page = _asked(pages_client, "samp")
    assert _groups(page)[0] == "projects"
    assert _options(page, "projects")[0]["href"] == f"/p/{sample_id}"


def test_a_part_of_a_name_finds_symbols_where_no_name_begins_so(
    pages_client: httpx.Client, sample_id: str
) -> None:
    page = _asked(pages_client, "onStore")
    assert _groups(page)[0] == "symbols"
    [only] = _options(page, "symbols")
    assert only["href"].startswith(f"/p/{sample_id}/f/app/session.py?")
    assert "SessionStore" in page.text
    for text in ("on", "onStore zzqq", "onstorezz", "%", "_"):
        assert "symbols" not in _groups(_asked(pages_client, text)), text


def test_a_file_of_that_name_comes_before_symbols_that_only_begin_with_it(
    pages_client: httpx.Client,
) -> None:
    assert _groups(_asked(pages_client, "session")) == ["files", "symbols", "search"]
    assert _groups(_asked(pages_client, "sessio")) == ["symbols", "files", "search"]
    assert _groups(_asked(pages_client, "sessionstore"))[0] == "symbols"


def test_any_text_can_be_searched_for_here_and_everywhere(
    pages_client: httpx.Client, sample_id: str
) -> None:
    def searches(text: str, project: str = "") -> list[dict[str, list[str]]]:
        options = _options(_asked(pages_client, text, project), "search")
        return [parse_qs(urlsplit(each["href"]).query) for each in options]

    assert searches("a & b") == [{"q": ["a & b"]}]
    assert searches("lang:go x", sample_id) == [
        {"q": ["lang:go x"], "project": [sample_id]},
        {"q": ["lang:go x"]},
    ]
    page = _asked(pages_client, "zzqq nothing")
    assert _groups(page) == ["search"]
    assert "No project, action, symbol or file matches." in page.text


def test_scattered_letters_of_several_words_come_after_the_search(
    pages_client: httpx.Client, sample_id: str
) -> None:
    assert _groups(_asked(pages_client, "apses")) == ["files", "search"]
    assert _groups(_asked(pages_client, "ap ses")) == ["files", "search"]  # both occur
    assert _groups(_asked(pages_client, "ap sn")) == ["search", "files"]


def test_files_of_the_page_s_project_come_first(
    pages_client: httpx.Client, pages_home: Path, sample_id: str
) -> None:
    tree = write_tree(pages_home / "near", {"deep/down/below/session.py": "x = 1\n"})
    with indexed(pages_client, tree) as near:
        for project, first in ((near, near), (sample_id, sample_id)):
            options = _options(_asked(pages_client, "session.py", project), "files")
            assert len(options) == 3
            assert options[0]["href"].startswith(f"/p/{first}/f/")


def test_whatever_is_typed_is_text(pages_client: httpx.Client, sample_id: str) -> None:
    for typed in (
        "<script>",
        "\u202e",
        "%00",
        "a" * 1000,
        "'\"&",
        "\ud800".encode("utf-8", "replace").decode(),
    ):
        page = _asked(pages_client, typed)
        assert _groups(page)[-1] == "search"
    asked = {"q": "x" * 1001}
    answer = pages_client.get("/palette", params=asked, headers={"Accept": "text/html"})
    assert answer.status_code == 400
    assert _groups(_asked(pages_client, "x", "no such project")) != []


def test_without_scripts_it_is_the_search(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/palette", params={"q": "open session"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/search?q=open+session"
    for address in ("/", "/search", "/jobs", "/find"):
        buttons = [
            each
            for each in Page.of(pages_client.get(address)).all("a")
            if "data-open-palette" in each
        ]
        assert [each["href"] for each in buttons] == ["/search"]


def test_nothing_indexed_and_damage_are_said(tmp_path: Path) -> None:
    with site(tmp_path) as server, server.client() as client:
        page = _asked(client)
        assert "Nothing is indexed yet." in page.text
        assert _groups(page) == ["actions"]
        assert "/#path" in page.links
    tree = write_tree(tmp_path / "lost", {"a.py": "x = 1\n"})
    with site(tmp_path, tree) as server, server.client() as client:
        project = project_ids(client)["lost"]
    break_file(tmp_path / "data" / f"{project}.db")
    with site(tmp_path) as server, server.client() as client:
        page = _asked(client, "a.py")
        assert "lost could not be searched: its index is damaged." in page.text
        assert f"/p/{project}/doctor" in page.links
