"""The page of a symbol: source, graph, callers, callees, subtypes, tests, references."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.support.pages import Page, indexed
from tests.support.server import Server
from tests.support.trees import write_tree

_HTMX = {"HX-Request": "true"}
_CALLERS = "".join(f"\n\ndef caller_{n}():\n    return Base().perform({n})\n" for n in range(20))
_WORDS = "    a word\n" * 2000
_TREE = {
    "a/base.py": '''class Base:
    """What runs."""

    def perform(self, number):
        return self.step(number) + helper(number)

    def step(self, number):
        return number


def helper(number):
    return number
''',
    "a/more.py": f"from a.base import Base\n\n\nclass More(Base, Outer):\n    pass\n{_CALLERS}",
    "tests/test_more.py": """from a.more import caller_1


def test_caller():
    assert caller_1()
""",
    "long.py": f'def told():\n    """\n{_WORDS}    """\n\n\ndef after():\n    pass\n',
    "two.py": "def twice(a): pass\n\n\ndef twice(a, b): pass\n",
}


@pytest.fixture(scope="module")
def project(pages_server: Server, pages_home: Path) -> Iterator[str]:
    """The id of a project with calls."""
    tree = write_tree(pages_home / "calls", _TREE)
    with pages_server.client() as client, indexed(client, tree) as project_id:
        yield project_id


def _page(client: httpx.Client, project: str, path: str, **wanted: str) -> Page:
    answer = client.get(f"/p/{project}/symbol/{path}", params=wanted)
    assert answer.status_code == 200, answer.text
    return Page.of(answer)


def test_a_symbol_is_shown_with_what_is_around_it(pages_client: httpx.Client, project: str) -> None:
    page = _page(pages_client, project, "a/base.py", name="Base.perform", line="4")
    assert "Base.perform method python line 4" in page.text
    assert f"/p/{project}/f/a/base.py?lines=4-5#L4" in page.links
    assert "Callers 20" in page.text
    assert "Callees 2" in page.text
    assert "8 more" in page.text  # folded
    assert f"/p/{project}/symbol/a/more.py?name=caller_7&line=36" in page.links
    assert f"/p/{project}/symbol/a/base.py?name=Base.step&line=7" in page.links
    assert f"/p/{project}/f/a/more.py?lines=37-37#L37" in page.links  # a call
    assert "References 21" in page.text


def test_the_graph_has_eight_a_side_and_says_how_many_more(
    pages_client: httpx.Client, project: str
) -> None:
    page = _page(pages_client, project, "a/base.py", name="Base.perform", line="4")
    nodes = [each for each in page.all("a") if each.get("class", "").startswith("node ")]
    assert len([each for each in nodes if each["class"] == "node node-caller"]) == 8
    assert len([each for each in nodes if each["class"] == "node node-callee"]) == 2
    [more] = [each for each in nodes if each["class"] == "node node-more"]
    assert more["href"] == "#callers"
    assert "+12 more" in page.text
    edges = page.all("path", class_="edge edge-likely") + page.all("path", class_="edge edge-exact")
    assert len(edges) == 10 + 2  # and the legend
    [svg] = page.all("svg", aria_labelledby="graph-title graph-about")
    assert svg["role"] == "group"


def test_subtypes_overloads_and_places_without_a_graph(
    pages_client: httpx.Client, project: str
) -> None:
    base = _page(pages_client, project, "a/base.py", name="Base", line="1")
    assert "Subtypes and implementations 1 More" in base.text
    more = _page(pages_client, project, "a/more.py", name="More", line="4")
    assert "Bases 1 Base" in more.text
    assert "bases outside of the project: Outer" in more.text
    assert base.text.count("What runs.") == 1  # in the source
    twice = _page(pages_client, project, "two.py", name="twice", line="4")
    assert "python line 4" in twice.text
    assert "Other definitions of this name 1 def twice(a)" in twice.text
    assert f"/p/{project}/symbol/two.py?name=twice&line=1" in twice.links
    assert not twice.all("figure")
    assert "No calls found" in twice.text
    assert "It calls nothing that is defined" in twice.text


def test_the_source_is_highlighted_as_code_after_a_long_string(
    pages_client: httpx.Client, project: str
) -> None:
    parameters = {"name": "after", "line": "2006"}
    answer = pages_client.get(f"/p/{project}/symbol/long.py", params=parameters)
    assert '<code><span class="k">def</span> ' in answer.text


def test_tests_that_reach_it_come_on_demand(pages_client: httpx.Client, project: str) -> None:
    address = f"/p/{project}/symbol/a/base.py?name=Base.perform&line=4"
    page = Page.of(pages_client.get(address))
    [later] = [each for each in page.all("div") if "hx-get" in each]
    assert later["hx-get"] == f"{address}&tests=yes"
    part = Page.of(pages_client.get(later["hx-get"], headers=_HTMX))
    assert not part.all("html")
    assert "1 test reaches it" in part.text
    assert f"/p/{project}/symbol/tests/test_more.py?name=test_caller&line=4" in part.links
    assert "through 1 definition" in part.text
    whole = Page.of(pages_client.get(later["hx-get"]))
    assert "1 test reaches it" in whole.text
    none = _page(pages_client, project, "two.py", name="twice", line="4", tests="yes")
    assert "No tests found that reach it" in none.text


def test_tests_outside_of_functions_and_by_other_uses_are_told(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    tree = {
        "one.js": "export const limit = 3;\n",
        "one.test.js": "import { limit } from './one';\n\n"
        "it('has one', () => { expect(limit); });\nexpect(limit);\n",
    }
    with indexed(pages_client, write_tree(pages_home / "outside", tree)) as other:
        page = _page(pages_client, other, "one.js", name="limit", line="1", tests="yes")
        told = page.text.partition("directly or indirectly. ")[2].partition(" References")[0]
        assert told.startswith("one.test.js exact one.test.js:1 · directly has one exact one.test")
        assert f"/p/{other}/f/one.test.js?lines=3-3#L3" in page.links
        assert f"/p/{other}/f/one.test.js" in page.links


def test_references_are_filtered_and_paged(
    pages_client: httpx.Client, pages_home: Path, project: str
) -> None:
    page = _page(
        pages_client, project, "a/base.py", name="Base.perform", line="4", uses="definition"
    )
    assert len([each for each in page.all("a") if "data-use" in each]) == 1
    text = "def many(): pass\n" + "many()\n" * 250
    with indexed(pages_client, write_tree(pages_home / "many", {"a.py": text})) as other:
        seen = 0
        address = f"/p/{other}/symbol/a.py?name=many&line=1"
        for number in range(3):
            page = Page.of(pages_client.get(address))
            seen += len([each for each in page.all("a") if "data-use" in each])
            links = [link for link in page.links if "page=" in link]
            assert bool(links) is True
            if number < 2:
                address = next(
                    each.partition("#")[0] for each in links if f"page={number + 2}" in each
                )
        assert seen == 251
        beyond = Page.of(pages_client.get(f"/p/{other}/symbol/a.py?name=many&line=1&page=99"))
        assert "References 251" in beyond.text


def test_a_symbol_is_found_by_name_after_lines_have_moved(
    pages_client: httpx.Client, project: str
) -> None:
    page = _page(pages_client, project, "a/base.py", name="helper", line="999")
    assert "python line 11" in page.text
    by_line = _page(pages_client, project, "a/base.py", line="11")
    assert "python line 11" in by_line.text


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a/base.py", {"name": "Nothing", "line": "1"}),
        ("a/base.py", {"line": "3"}),
        ("a/base.py", {"name": "<b>\"'&", "line": "1"}),
        ("gone.py", {"name": "Base", "line": "1"}),
        ("a", {}),
    ],
)
def test_a_symbol_that_is_not_there_is_a_page_with_ways_on(
    pages_client: httpx.Client, project: str, path: str, wanted: dict[str, str]
) -> None:
    answer = pages_client.get(f"/p/{project}/symbol/{path}", params=wanted)
    assert answer.status_code == 404
    page = Page.of(answer)
    assert "Symbol not found" in page.text
    assert f"/p/{project}/f/{path}" in page.links
    part = pages_client.get(f"/p/{project}/symbol/{path}", params=wanted, headers=_HTMX)
    assert "no longer in the index" in Page.of(part).text


def test_symbols_of_files_with_odd_names_have_pages(
    pages_client: httpx.Client, sample_id: str
) -> None:
    found = pages_client.get(f"/api/v1/projects/{sample_id}/files?limit=1000").json()["files"]
    odd = [each["path"] for each in found if each["path"].startswith("odd/")]
    assert len(odd) == 5
    for path in odd:
        file = Page.of(pages_client.get(f"/p/{sample_id}/f/{quote(path)}?name=1:5"))
        [own] = {link for link in file.links if "/symbol/" in link}
        symbol = Page.of(pages_client.get(own))
        assert "odd_name_" in symbol.text
        uses = [each["href"] for each in symbol.all("a") if "data-use" in each]
        assert [pages_client.get(use.partition("#")[0]).status_code for use in uses] == [200]


@pytest.mark.parametrize("path", ["../secret", "%2e%2e/%2e%2e/etc/passwd", "a%00b", "a" * 3000])
def test_paths_lead_nowhere_else(pages_client: httpx.Client, project: str, path: str) -> None:
    for room in ("symbol", "f"):
        address = f"/p/{project}/{room}/{path}?name=1:1&line=1"
        for headers in ({"Accept": "text/html"}, {**_HTMX, "Accept": "text/html"}):
            answer = pages_client.get(address, headers=headers)
            assert answer.status_code in (200, 400, 404), answer.text
            assert "root:" not in Page.of(answer).text


@pytest.mark.parametrize("wanted", [{"line": "-1"}, {"page": "0"}, {"line": "x"}])
def test_impossible_numbers_are_refused(
    pages_client: httpx.Client, project: str, wanted: dict[str, str]
) -> None:
    answer = pages_client.get(
        f"/p/{project}/symbol/a/base.py", params=wanted, headers={"Accept": "text/html"}
    )
    assert answer.status_code == 400
    Page.of(answer)


def test_lists_lead_to_it(pages_client: httpx.Client, project: str) -> None:
    wanted = f"/p/{project}/symbol/a/base.py?name=Base.perform&line=4"
    for address in (
        f"/p/{project}/symbols?name=perform",
        f"/p/{project}/f/a/base.py",
        f"/p/{project}/f/a/base.py?name=4:9",
    ):
        assert wanted in Page.of(pages_client.get(address)).links
    found = Page.of(pages_client.get("/search", params={"q": "perform step project:calls"}))
    assert [link for link in found.links if link.startswith(f"/p/{project}/symbol/a/base.py")]


def test_what_is_around_a_name_of_many_places_comes_after_the_definition(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    calls = {f"m{n}.py": f"from a import often\n\n\ndef f{n}():\n    often()\n" for n in range(420)}
    tree = write_tree(pages_home / "common", {"a.py": "def often():\n    pass\n", **calls})
    with indexed(pages_client, tree) as project:
        address = f"/p/{project}/symbol/a.py?name=often&line=1"
        first = Page.of(pages_client.get(address))
        assert "often function python line 1" in first.text
        assert "Callers 420" not in first.text
        [later] = [each for each in first.all("div") if "hx-get" in each]
        assert later["hx-get"] == f"{address}&around=yes"
        assert later["hx-get"] in first.links  # without scripts
        part = Page.of(pages_client.get(later["hx-get"], headers=_HTMX))
        assert not part.all("html")
        assert "Callers 420" in part.text
        assert "References 841" in part.text
        whole = Page.of(pages_client.get(later["hx-get"]))
        assert "References 841" in whole.text
        assert "def often" in whole.text
        imports = Page.of(pages_client.get(f"{address}&uses=import"))
        assert "References 420" in imports.text


def test_lists_that_are_cut_say_so_in_their_headings(
    pages_client: httpx.Client, pages_home: Path
) -> None:
    callers = "".join(f"def caller_{n}():\n    return common()\n\n\n" for n in range(201))
    files = {"a.py": f"def common():\n    return 1\n\n\n{callers}"}
    with indexed(pages_client, write_tree(pages_home / "cut", files)) as project:
        page = _page(pages_client, project, "a.py", name="common", line="1", around="yes")
    assert "Showing 200 of 201+" in page.text
    assert "Callers 201+" in page.text
