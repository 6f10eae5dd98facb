"""Find a file by its path: ranked, of one project or of all, as a page and as a list."""

from pathlib import Path

import httpx
import pytest

from tests.support.damage import break_file, zero_pages
from tests.support.pages import Page, index_folder, indexed, project_ids, site
from tests.support.trees import write_tree
from web.pages.rendering import PageRequest, Pages


def _files(page: Page) -> list[str]:
    return [link.partition("/f/")[2] for link in page.links if "/f/" in link]


def test_a_page_lists_what_fits_the_best_first(pages_client: httpx.Client, sample_id: str) -> None:
    page = Page.of(pages_client.get("/find", params={"q": "session"}))
    assert _files(page)[0] == "app/session.py"
    assert page.all("mark")
    assert page.all("input", type="search", value="session")
    assert _files(Page.of(pages_client.get("/find", params={"q": "prt17"}))) == ["parts/part_17.py"]


def test_the_list_alone_is_of_options(pages_client: httpx.Client, sample_id: str) -> None:
    asked = {"q": "session.py:9", "project": sample_id}
    answer = pages_client.get("/find", params=asked, headers={"HX-Request": "true"})
    page = Page.of(answer)
    assert not page.all("html")
    [listbox] = page.all("div", role="listbox")
    assert listbox["id"] == "found-list"
    options = page.all("a", role="option")
    assert options[0]["href"] == f"/p/{sample_id}/f/app/session.py#L9"
    assert [each["id"] for each in options] == [f"found-{n}" for n in range(len(options))]


def test_a_project_is_chosen_or_all_of_them(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = write_tree(pages_home / "second", {"other/session.py": "x = 1\n"})
    index_folder(pages_client, tree)
    ids = project_ids(pages_client)
    page = Page.of(pages_client.get("/find", params={"q": "session.py"}))
    assert {"app/session.py", "other/session.py"} <= set(_files(page))
    assert len(page.all("option")) == 1 + len(ids)
    asked = {"q": "router.py", "project": ids["second"]}
    page = Page.of(pages_client.get("/find", params=asked))
    assert "No indexed file of this project matches" in page.text
    assert "/find?q=router.py" in page.links
    asked = {"q": "session.py", "project": ids["second"]}
    page = Page.of(pages_client.get("/find", params=asked))
    assert _files(page) == ["other/session.py"]
    assert page.all("option", value=ids["second"], selected="")
    pages_client.delete(f"/api/v1/projects/{ids['second']}")


def test_what_is_kept_of_an_index_goes_when_it_changes(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    def suggested(typed: str) -> list[str]:
        asked = {"q": f"project:kept {typed}"}
        answer = pages_client.get("/search/suggest", params=asked, headers={"HX-Request": "true"})
        return [each.get("data-query", "") for each in Page.of(answer).all("li")]

    tree = write_tree(pages_home / "kept", {})
    for name in ("first/one.py", "second/two.rb", "third/three.go"):
        write_tree(tree, {name: "x = 1\n"})
        later = name.replace("/", "/later.")
        with indexed(pages_client, tree) as project:
            asked = {"q": later, "project": project}
            assert _files(Page.of(pages_client.get("/find", params=asked))) == []
            assert f"project:kept path:{name} " in suggested(f"path:{name[:8]}")
            write_tree(tree, {later: "y = 1\n"})
            index_folder(pages_client, tree)
            assert _files(Page.of(pages_client.get("/find", params=asked))) == [later]
            assert f"project:kept path:{later} " in suggested(f"path:{later[:8]}")


@pytest.mark.parametrize("typed", ["zzzzzz", "<script>", ".*+(", "\u202e", "%00", "session zz"])
def test_what_fits_nothing_says_so(pages_client: httpx.Client, sample_id: str, typed: str) -> None:
    page = Page.of(pages_client.get("/find", params={"q": typed}))
    assert _files(page) == []
    assert "No indexed file matches" in page.text


def test_too_long_a_text_is_refused(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/find", params={"q": "x" * 1001}, headers={"Accept": "text/html"})
    assert answer.status_code == 400


def test_without_a_project_it_says_what_to_do() -> None:
    page_request = PageRequest(theme="", here="/find", is_fragment=False)
    facts: dict[str, object] = {name: [] for name in ("projects", "found", "failed")}
    facts |= {"text": "", "project": "", "several": False}
    page = Page(Pages().html("find.html", page_request, facts).decode())
    page.check()
    assert "Nothing is indexed yet" in page.text
    assert "/#index" in page.links


def test_projects_that_cannot_be_asked_are_named_and_the_others_answer(tmp_path: Path) -> None:
    home = tmp_path / "data"
    trees = {
        name: write_tree(tmp_path / name, {f"{name}/session.py": f"def open_{name}():\n    pass\n"})
        for name in ("sound", "torn", "lost", "half", "worn")
    }
    with site(tmp_path, *trees.values()) as server, server.client() as client:
        ids = project_ids(client)
    zero_pages(home / f"{ids['torn']}.db", "sqlite_autoindex_files_1")
    break_file(home / f"{ids['lost']}.db")
    zero_pages(home / f"{ids['half']}.db", "symbols")
    zero_pages(home / f"{ids['worn']}.db", "chunks")
    with site(tmp_path) as server, server.client() as client:
        page = Page.of(client.get("/find", params={"q": "session"}))
        assert _files(page) == ["half/session.py", "worn/session.py", "sound/session.py"]
        for name in ("torn", "lost"):
            assert f"{name} could not be searched: its index is damaged." in page.text
            remedy = f"/p/{ids[name]}/doctor"
            assert remedy in page.links
            assert client.get(remedy).status_code == 200
        asked = {"q": "session", "project": ids["torn"]}
        page = Page.of(client.get("/find", params=asked, headers={"HX-Request": "true"}))
        assert _files(page) == []
        assert "torn could not be searched" in page.text
        assert "lost" not in page.text
        asked = {"q": "session", "project": ids["sound"]}
        assert "could not be searched" not in Page.of(client.get("/find", params=asked)).text
        for address in ("/search", "/research"):
            page = Page.of(client.get(address, params={"q": "session"}))
            for name in ("lost", "worn"):
                assert f"{name} could not be searched: its index is damaged." in page.text
                assert f"/p/{ids[name]}/doctor" in page.links
                assert ids[name] not in page.text
        for typed, wanted in (("open_", "sound/session.py?lines="), ("session", "half/session.py")):
            suggested = client.get(
                "/search/suggest", params={"q": typed}, headers={"HX-Request": "true"}
            )
            assert wanted in suggested.text
