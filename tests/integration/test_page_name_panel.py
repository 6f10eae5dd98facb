"""The panel of a name in a file: definitions with their certainty, references by file and role."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path

import httpx
import pytest

from tests.support.jobs import until
from tests.support.pages import Page, index_folder, indexed
from tests.support.server import Server
from tests.support.trees import write_tree

_HTMX = {"HX-Request": "true"}
_TREE = {
    "shop/orders.py": '''class Orders:
    """Keeps orders.

    For ever.
    """

    def add(self, item):
        return self.check(item)

    def check(self, item):
        return item


class Other:
    def check(self):
        return False


def place(item):
    return Orders().add(item)
''',
    "shop/views.py": """from shop.orders import Orders, place
from library import unknown


def view(request, thing):
    unknown(thing.check())
    return place(request)  # place
""",
    "tests/test_orders.py": """from shop.orders import place


def test_place():
    assert place(1)
""",
}
#: In addresses of names of this file, the beginning of its hash.
_OF_VIEWS = f"of={sha256(_TREE['shop/views.py'].encode()).hexdigest()[:12]}"


@pytest.fixture(scope="module")
def shop(pages_server: Server, pages_home: Path) -> Iterator[str]:
    """The id of a small shop."""
    tree = write_tree(pages_home / "shop", _TREE)
    with pages_server.client() as client, indexed(client, tree) as project_id:
        yield project_id


def _panel(client: httpx.Client, address: str, **wanted: str) -> Page:
    answer = client.get(address, params=wanted or None, headers=_HTMX)
    assert answer.status_code == 200, answer.text
    page = Page.of(answer)
    assert not page.all("html")
    return page


def _uses(page: Page) -> list[str]:
    return [each["href"] for each in page.all("a") if "data-use" in each]


def test_names_of_definitions_are_links(pages_client: httpx.Client, shop: str) -> None:
    answer = pages_client.get(f"/p/{shop}/f/shop/views.py")
    links = [link for link in Page.of(answer).links if "name=" in link and "/symbol/" not in link]
    # None of the comment, and none of what only a library defines.
    places = ("1:25", "1:33", "5:5", "6:19", "7:12")
    assert links == [f"?{_OF_VIEWS}&name={place}#L{place[0]}" for place in places]
    start = f'<a href="?{_OF_VIEWS}&amp;name='
    assert f'{start}1:25#L1">Orders</a>, {start}1:33#L1">place</a>' in answer.text
    assert f'{start}7:12#L7">place</a>' in answer.text
    assert 'id="names" tabindex="-1" aria-label="Definitions and references" hidden' in answer.text


def test_a_link_keeps_the_query_and_the_version(pages_client: httpx.Client, shop: str) -> None:
    address = f"/p/{shop}/f/shop/views.py"
    query = {"q": "place & <b>", "mode": "keyword", "at": "0123456789", "lines": "1-2"}
    page = Page.of(pages_client.get(address, params=query))
    start = "?q=place+%26+%3Cb%3E&mode=keyword&at=0123456789"
    assert f"{start}&{_OF_VIEWS}&name=7:12#L7" in page.links
    shown = Page.of(pages_client.get(f"{address}{start}&name=7:12"))
    [close] = [each["href"] for each in shown.all("a") if "data-close-name" in each]
    assert close == f"{start}#L7"
    assert shown.all("nav", aria_label="Matches")


def test_the_panel_shows_definition_and_references(pages_client: httpx.Client, shop: str) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="7:12")
    [definition] = [each for each in page.all("a") if "data-definition" in each]
    assert definition["href"] == f"/p/{shop}/f/shop/orders.py?lines=19-20#L19"
    assert "data-sure" in definition
    assert "place function exact def place(item)" in page.text
    assert _uses(page) == [
        "#L1",
        "#L7",
        f"/p/{shop}/f/shop/orders.py?lines=19-19#L19",
        f"/p/{shop}/f/tests/test_orders.py?lines=1-1#L1",
        f"/p/{shop}/f/tests/test_orders.py?lines=5-5#L5",
    ]
    [here] = [each for each in page.all("a", aria_current="true") if "data-use" in each]
    assert here["data-at"] == "7:12"
    roles = [each["href"] for each in page.all("a") if "data-role" in each]
    assert roles == [
        f"?{_OF_VIEWS}&name=7:12{role}#L7"
        for role in ("", "&uses=definition", "&uses=import", "&uses=call", "&uses=tests")
    ]
    assert f"/p/{shop}/symbol/shop/orders.py?name=place&line=19" in page.links


@pytest.mark.parametrize(
    ("role", "number"), [("call", 2), ("import", 2), ("tests", 2), ("type", 0), ("nonsense", 5)]
)
def test_a_role_narrows_the_references(
    pages_client: httpx.Client, shop: str, role: str, number: int
) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="7:12", uses=role)
    assert len(_uses(page)) == number
    assert ("No references of this kind" in page.text) is (number == 0)


def test_the_page_itself_has_the_panel(pages_client: httpx.Client, shop: str) -> None:
    answer = pages_client.get(f"/p/{shop}/f/shop/views.py?name=7:12")
    page = Page.of(answer)
    [panel] = page.all("aside", id="names")
    assert panel["data-name"] == "7:12"
    assert "hidden" not in panel
    link = f'<a href="?{_OF_VIEWS}&amp;name=7:12#L7" aria-current="true">place</a>'
    assert link in answer.text
    assert len(_uses(page)) == 5


def test_a_documentation_is_cut_to_its_first_paragraph(
    pages_client: httpx.Client, shop: str
) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="1:25")
    assert "Keeps orders." in page.text
    assert "For ever" not in page.text


def test_what_a_name_alone_means_is_told(pages_client: httpx.Client, shop: str) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="6:19")
    assert "Definitions 2" in page.text
    assert page.text.count("by name ") >= 2
    assert not [each for each in page.all("a") if "data-sure" in each]
    assert page.all("details", class_="by-name")


def test_a_name_of_a_library_has_no_definition(pages_client: httpx.Client, shop: str) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="6:6")
    assert "No definitions of this name: it may come from a library." in page.text
    assert len(_uses(page)) == 2


def test_a_name_of_a_library_is_found_in_another_project(
    pages_client: httpx.Client, pages_home: Path, shop: str
) -> None:
    library = {f"lib/part_{n}.py": f"def unknown(a={n}): pass\n" for n in range(9)}
    address = f"/p/{shop}/f/shop/views.py"
    with indexed(pages_client, write_tree(pages_home / "library", library)) as other:

        def is_found() -> bool:
            page = _panel(pages_client, address, name="6:6")
            found = [link for link in page.links if link.startswith(f"/p/{other}/f/lib/part_")]
            return len(found) == 5 and "In other projects, by name:" in page.text

        def is_linked() -> bool:  # what is imported is a link, too
            whole = Page.of(pages_client.get(address))
            return f"?{_OF_VIEWS}&name=6:5#L6" in whole.links

        until(is_found)  # a page searches other projects only as far as time allows
        until(is_linked)
        own = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name="7:12")
        assert "In other projects" not in own.text


@pytest.mark.parametrize("name", ["3:1", "999:1", "7:9999", "7:28"])
def test_a_place_without_a_name_says_so(pages_client: httpx.Client, shop: str, name: str) -> None:
    page = _panel(pages_client, f"/p/{shop}/f/shop/views.py", name=name)
    assert "There is no name in code at this place" in page.text
    whole = Page.of(pages_client.get(f"/p/{shop}/f/shop/views.py?name={name}"))
    assert "There is no name in code at this place" in whole.text


@pytest.mark.parametrize("name", ["0:1", "x", "1", "1:2:3", "-1:2", "<b>", "1:99999999999"])
def test_what_is_no_place_shows_no_panel(pages_client: httpx.Client, shop: str, name: str) -> None:
    answer = pages_client.get(f"/p/{shop}/f/shop/views.py", params={"name": name})
    assert answer.status_code == 200
    [panel] = Page.of(answer).all("aside", id="names")
    assert "hidden" in panel


def test_a_file_that_vanished_from_the_index_says_so(pages_client: httpx.Client, shop: str) -> None:
    address = f"/p/{shop}/f/shop/gone.py?name=1:1"
    answer = pages_client.get(address, headers=_HTMX)
    assert (answer.status_code, answer.headers["hx-retarget"]) == (404, "#names-body")
    assert "shop/gone.py is no longer in the index." in Page.of(answer).text
    assert pages_client.get(address).status_code == 404


def test_hostile_names_and_paths_are_escaped(pages_client: httpx.Client, pages_home: Path) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    tree = {
        f"a&{evil}.py": f'def evil(a="{evil}"):\n    """<b>{evil}"""\n\nevil()\n',
        "b.js": "function $x(){}\n$x()\nclass Ünïcode { 'x\"y'(){} }\nnew Ünïcode()\n",
    }
    with indexed(pages_client, write_tree(pages_home / "evil", tree)) as project:
        files = pages_client.get(f"/api/v1/projects/{project}/files").json()["files"]
        for path in (each["path"] for each in files):
            address = f"/p/{project}/f/{httpx.URL('/', path='/' + path).raw_path.decode()[1:]}"
            whole = Page.of(pages_client.get(address))
            links = [link for link in whole.links if link.startswith("?of=")]
            assert links
            for link in links:
                panel = _panel(pages_client, f"{address}{link}")
                for each in panel.links:
                    if "/symbol/" in each:
                        assert Page.of(pages_client.get(each)).all("h1")


def test_snippets_of_results_lead_to_the_panel(pages_client: httpx.Client, shop: str) -> None:
    page = Page.of(pages_client.get("/search", params={"q": "view project:shop"}))
    links = [link for link in page.links if f"/p/{shop}/f/shop/views.py?{_OF_VIEWS}&name=" in link]
    assert f"/p/{shop}/f/shop/views.py?{_OF_VIEWS}&name=7:12#L7" in links
    for link in links:
        shown = Page.of(pages_client.get(link))
        assert [each for each in shown.all("a") if "data-definition" in each]
    preview = f"/p/{shop}/preview/shop/views.py?hit=5-7"
    part = Page.of(pages_client.get(preview, headers=_HTMX))
    assert f"/p/{shop}/f/shop/views.py?{_OF_VIEWS}&name=7:12#L7" in part.links


@pytest.mark.parametrize("view", ["", "?blame=1", "?q=place&mode=keyword"])
def test_a_file_that_changed_since_its_page_was_loaded_answers_for_no_other_name(
    pages_server: Server, pages_home: Path, view: str
) -> None:
    tree = write_tree(pages_home / "moving", _TREE)
    with pages_server.client() as client, indexed(client, tree) as project_id:
        address = f"/p/{project_id}/f/shop/views.py"
        [link] = [
            each
            for each in Page.of(client.get(f"{address}{view}")).links
            if "name=7:12#" in each and each.startswith("?")
        ]
        assert "function exact" in _panel(client, f"{address}{link}").text
        moved = f"import os\n\nfrom sys import argv\n{_TREE['shop/views.py']}"
        write_tree(tree, {"shop/views.py": moved})
        index_folder(client, tree)
        panel = _panel(client, f"{address}{link}")
        assert "The file has changed since this name was shown" in panel.text
        assert not _uses(panel)
        [reload] = [each["href"] for each in panel.all("a", class_="button")]
        assert reload.endswith("#L7")
        assert "name=" not in reload
        whole = Page.of(client.get(f"{address}{link}"))
        assert "The file has changed since this name was shown" in whole.text
        [link] = [each for each in whole.links if "name=10:12#" in each and each.startswith("?")]
        assert "function exact" in _panel(client, f"{address}{link}").text


def test_names_in_results_carry_the_content_that_they_are_in(
    pages_server: Server, pages_home: Path
) -> None:
    tree = write_tree(pages_home / "moving", _TREE)
    with pages_server.client() as client, indexed(client, tree) as project_id:
        pages = (
            "/search?q=place+project:moving",
            "/research?q=place+project:moving",
            f"/p/{project_id}/symbol/shop/orders.py?name=place&line=19",
            f"/p/{project_id}/related/shop/views.py",
        )
        found = []
        for page in pages:
            shown = Page.of(client.get(page)).links
            links = [each for each in shown if each.startswith(f"/p/{project_id}/f/shop/")]
            found.append([each for each in links if "name=" in each])
        assert all(found)
        for path in ("shop/orders.py", "shop/views.py"):
            write_tree(tree, {path: f"# moved\n{_TREE[path]}"})
        index_folder(client, tree)
        for link in chain.from_iterable(found):
            assert "The file has changed since this name was shown" in _panel(client, link).text


def test_a_keyword_is_no_name(pages_client: httpx.Client, pages_home: Path) -> None:
    tree = {
        "dict.c": "int grow(int n) {\n    if (n > 1) return grow(n);\n    else return n;\n}\n",
        "ends.js": "class Rows { return() { this.return() } }\n"
        "function all(rows) { if (rows) rows.return() }\n",
        "kinds.py": "def type(one):\n    return type(one) if one else None\n",
    }
    words = {
        "dict.c": {"2:5": False, "2:16": False, "2:23": True, "3:6": False},
        "ends.js": {"1:14": True, "1:30": True, "2:23": False, "2:38": True},
        "kinds.py": {"2:5": False, "2:12": True, "2:22": False},
    }
    with indexed(pages_client, write_tree(pages_home / "words", tree)) as project:
        found = {
            path: {
                place: "There is no name"
                not in _panel(pages_client, f"/p/{project}/f/{path}", name=place).text
                for place in places
            }
            for path, places in words.items()
        }
    assert found == words
