"""Suggestions: what may be meant by the last word, as a list that a box controls."""

from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from tests.support.pages import Page, site
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


def _suggested(client: httpx.Client, typed: str) -> list[dict[str, str]]:
    answer = client.get("/search/suggest", params={"q": typed}, headers=HTMX)
    assert answer.status_code == 200
    page = Page.of(answer)
    options = page.all("li")
    assert all(each["role"] == "option" for each in options)
    assert len({each["id"] for each in options}) == len(options)
    return options


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("session la", "session lang:"),
        ("session lang:py", "session lang:python "),
        ("session -kind:func", "session -kind:function "),
        ("path:par", "path:parts/"),
        ("path:app/sess", "path:app/session.py "),
        ("x tag:.p", "x tag:.py "),
        ("x tag:p", "x tag:.py "),
        ("project:sam", "project:sample "),
        ("case:a", "case:auto "),
        ("sym:open_s", "sym:open_session "),
        ("x call", "x calls:"),
        ("x -calls:open_s", "x -calls:open_session "),
        ("imports:Sess", "imports:SessionStore "),
    ],
)
def test_filters_and_their_values_are_completed(
    pages_client: httpx.Client, typed: str, completed: str
) -> None:
    assert completed in [each.get("data-query") for each in _suggested(pages_client, typed)]


def test_kinds_are_those_that_there_are_the_most_frequent_first(
    pages_client: httpx.Client, sample_id: str
) -> None:
    found = pages_client.get(f"/api/v1/projects/{sample_id}/symbols").json()["kinds"]
    typed = "project:sample kind:"
    queries = [each["data-query"] for each in _suggested(pages_client, typed)]
    assert queries == [f"{typed}{kind} " for kind in found][:8]
    assert f"{typed}method " in queries
    assert f"{typed}trait " not in queries


def test_values_are_those_that_the_other_filters_leave(tmp_path: Path) -> None:
    files = {
        "go/a.go": "package a\n\nfunc First() {}\n\nfunc Second() {}\n",
        "py/b.py": "class Third:\n    pass\n",
        "py/__init__.py": "",
    }
    with site(tmp_path, write_tree(tmp_path / "two", files)) as server, server.client() as client:
        for typed, values in (
            ("lang:go kind:", {"function": "2 symbols"}),
            ("path:py/ kind:", {"class": "1 symbol"}),
            ("kind:class lang:", {"python": "1 symbol"}),
            ("lang:go path:", {"go/": "1 file"}),
            ("-lang:go tag:.", {".py": "1 file"}),
            ("lang:py", {"python": "1 file"}),
            ("lang:nothing kind:", {"function": "2 symbols", "class": "1 symbol"}),
            ("sym:First kind:", {"function": "", "class": ""}),
        ):
            answer = client.get("/search/suggest", params={"q": typed}, headers=HTMX)
            assert answer.status_code == 200
            page = Page.of(answer)
            assert len(page.all("li")) == len(values), (typed, page.text)
            said = [f"{name} {number}".strip() for name, number in values.items()]
            assert [each for each in said if each not in page.text] == [], (typed, page.text)
        listed = client.post("/api/v1/search", json={"query": "lang:python"}).json()
        assert [each["path"] for each in listed["hits"]] == ["py/b.py"]


def test_symbols_and_files_lead_to_their_places(pages_client: httpx.Client, sample_id: str) -> None:
    options = _suggested(pages_client, "open_sess")
    places = [each["data-go"] for each in options if "data-go" in each]
    [symbol] = [each for each in places if "app/session.py?lines=" in each]
    assert pages_client.get(symbol).status_code == 200
    files = [each["data-go"] for each in _suggested(pages_client, "app sess") if "data-go" in each]
    assert f"/p/{sample_id}/f/app/session.py" in files


@pytest.mark.parametrize(
    "typed", ["open sess", "OPEN sess", 'lang:python -tests path:"app" open sess']
)
def test_several_words_are_those_of_one_name(pages_client: httpx.Client, typed: str) -> None:
    places = [each.get("data-go", "") for each in _suggested(pages_client, typed)]
    assert any("app/session.py?lines=" in each for each in places)


@pytest.mark.parametrize(
    "typed",
    ["where is open_sess", "how a router opens session", "open session router", "find the path"],
)
def test_what_fits_the_last_word_of_a_sentence_alone_does_not_cover_the_results(
    pages_client: httpx.Client, typed: str
) -> None:
    assert _suggested(pages_client, typed) == []


def test_names_that_are_odd_lead_to_their_files(pages_client: httpx.Client) -> None:
    options = _suggested(pages_client, "odd_name")
    places = [each["data-go"] for each in options if "data-go" in each]
    assert places
    for place in places:
        assert pages_client.get(place).status_code == 200, unquote(place)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "   ",
        "s",
        "open ",
        "foo:bar",
        "lang:zz",
        "kind:zz",
        'path:"app',
        "\x00\ud7ff",
        "🙂🙂",
        "-",
    ],
)
def test_what_means_nothing_more_is_answered_without_an_error(
    pages_client: httpx.Client, typed: str
) -> None:
    for each in _suggested(pages_client, typed):
        assert each.get("data-query") or each["data-go"].startswith("/p/")


def test_of_several_projects_none_fills_the_list_alone(tmp_path: Path) -> None:
    gos = {f"open_{n}.go": f"package a\n\nfunc OpenDoor{n}() {{}}\n" for n in range(9)}
    endings = ("go", "c", "lua", "php", "java", "sql", "css", "proto", "toml")
    one = write_tree(tmp_path / "one", {**gos, **{f"x.{each}": "\n" for each in endings}})
    rubies = {f"open_{n}.rb": f"def open_window_{n}\nend\n" for n in range(12)}
    two = write_tree(tmp_path / "two", rubies)
    with site(tmp_path, one, two) as server, server.client() as client:
        options = _suggested(client, "open")
        ways = [each["data-go"] for each in options if "data-go" in each]
        assert sum("?lines=" in each and ".go?" in each for each in ways) == 2
        assert sum("?lines=" in each and ".rb?" in each for each in ways) == 2
        assert {each.rpartition(".")[2] for each in ways if "?lines=" not in each} == {"go", "rb"}
        answer = client.get("/search/suggest", params={"q": "open"}, headers=HTMX)
        assert "two/open_0.rb:1" in Page.of(answer).text  # equal names of projects are told apart
        for name, first in (("lang", ["ruby", "go"]), ("tag", [".rb", ".go"])):
            queries = [each["data-query"] for each in _suggested(client, f"{name}:")]
            assert queries[:2] == [f"{name}:{each} " for each in first]
        alone = client.get("/search/suggest", params={"q": "project:two open"}, headers=HTMX)
        assert "two/open_0.rb" not in Page.of(alone).text


def test_values_that_need_quotes_have_them(pages_client: httpx.Client) -> None:
    [odd] = [
        each["data-query"]
        for each in _suggested(pages_client, "path:odd/a")
        if "data-query" in each
    ]
    assert odd == 'path:"odd/a b?c#d&e;f+.py" '
    found = pages_client.get("/search", params={"q": f"{odd}odd_name"})
    assert len(Page.of(found).all("article")) == 1


def test_a_browser_that_comes_by_itself_is_led_to_the_search(pages_client: httpx.Client) -> None:
    answer = pages_client.get("/search/suggest", params={"q": "x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/search")


def test_a_name_that_is_typed_whole_comes_before_longer_ones(tmp_path: Path) -> None:
    longer = "class Associations:\n    def has_many_attached(self):\n        return 1\n"
    deep = "class Very:\n    class Deep:\n        def has_many(self):\n            return 1\n"
    write_tree(tmp_path / "tree", {"a.py": longer, "b.py": deep})
    with site(tmp_path, tmp_path / "tree") as server, server.client() as client:
        names = [each["data-go"] for each in _suggested(client, "has_m") if "data-go" in each]
    assert [place.partition("?")[0].rpartition("/")[2] for place in names] == ["b.py", "a.py"]
