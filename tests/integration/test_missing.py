"""What a question names and nothing has is said, because what is near looks like what was meant."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.index_records import IndexOptions
from engine.search_records import Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FILES = {
    "store/connection.py": (
        "class PooledConnection:\n    def reuse_socket(self, peer):\n        return peer\n"
    ),
    "notes.md": "Sockets are kept open for sixty seconds.\n",
    "use.py": "db = SQLiteStore('github')\nprint(getUserById(db))\nclass WebSocketServer: ...\n"
    "class OAuthProvider: ...\nload_eBPF(IPv6Addr)\nreturn new ClientFactory()\n"
    "http_client = raise_(HTTPException)\n",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """An open catalog for all of these, which only ask."""
    with open_catalog(load_config(tmp_path_factory.mktemp("home"), workers=1)) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def root(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> str:
    tree = write_tree(tmp_path_factory.mktemp("tree"), _FILES)
    catalog.create(str(tree)).index(IndexOptions())
    return str(tree)


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("frobnicateSocket", ("frobnicateSocket",)),
        ("reuseSocket", ()),  # written otherwise, it is the same name
        ("reuse_socket connectionFrobnicator", ("connectionFrobnicator",)),
        ("socketReuse", ("socketReuse",)),  # both words, but not side by side
        ("PooledConnection.reuse_socket", ()),
        ("PooledConnection.close_socket", ("PooledConnection.close_socket",)),
        ("store/connection.py", ()),  # a path
        ("store/missing_one.py", ("store/missing_one.py",)),
        ("frobnicate", ("frobnicate",)),  # alone, any word is what was meant
        ("how to frobnicate sockets", ()),  # of a sentence it is not
        ("Frobnicating sockets again", ()),  # nor does its first capital make it a name
        ("open sockets with Frobnicator", ()),  # it may be the name of anything
        ("open sockets with FrobNicator and frob_nicate", ("FrobNicator", "frob_nicate")),
        ("how does NewClientFactory open sockets", ("NewClientFactory",)),  # two words are none
        ("NewClientFactory", ("NewClientFactory",)),
        ("ClientFactory", ()),
        ("httpClientV9 opens sockets", ("httpClientV9",)),
        ("is http_client open", ()),
        ("sockets and/or files e.g. APIs v2 don't", ()),
        ("see https://example.org/FrobNicator a/b", ()),
        ("call FrobNicator(peer) or List<NobodyHas>", ("FrobNicator", "NobodyHas")),
        ('sockets fail in "the FrobNicator" or the like', ("FrobNicator",)),
        ('File "/x/store/missing_one.py", line 3, in reuse_socket', ("/x/store/missing_one.py",)),
        ("frobnicateSocket lang:markdown", ("frobnicateSocket",)),
        ("reuse_socket lang:markdown", ()),  # there is one: the filter is in the way
        ("sockets -frobnicateSocket", ()),
        ("x", ()),  # no word
        ("sqlite", ()),  # of words that are parted in the text
        ("userby", ()),
        ("GitHub", ()),  # and of those that are not
        ("oauthprovider", ()),  # of a capital alone, no word is kept
        ("oauth_provider", ()),
        ("ebpf", ()),
        ("ipv6addr", ()),  # nor of what stands between it and a number
        ("frobnicateV6", ("frobnicateV6",)),
        ("how do we ask GitHub", ()),
        ("WebsocketServer", ()),
        ("GitHive", ("GitHive",)),
        ("store/connection.py:12", ()),  # a place in a file
        ("connection.py:12:5: error", ()),
        ("store/missing_one.py:12", ("store/missing_one.py",)),
        ("/home/somebody/app/store/connection.py", ()),  # nobody indexes where a project is
        ("/home/somebody/app/store/missing_one.py", ("/home/somebody/app/store/missing_one.py",)),
        ("/nowhere/x", ()),
        ("frobnicate...", ("frobnicate",)),
        ("NEAR(frobnicate", ("NEAR(frobnicate",)),  # no operators of the keyword index
        ("frobnicate*", ("frobnicate",)),
        ("frob\0nicateIt", ("nicateIt",)),
        ("frobnicateИмя", ("frobnicateИмя",)),
        ("q" * 256, ("q" * 256,)),
    ],
)
def test_names_that_are_nowhere_are_told(
    catalog: Catalog, root: str, query: str, missing: tuple[str, ...]
) -> None:
    index = catalog.open(root)
    index.evict()
    for _ in range(3):  # the first time the file is asked, later what is kept of it
        for mode in (Mode.HYBRID, Mode.MEANING, Mode.KEYWORD):
            answer = index.search(SearchRequest(query=query, mode=mode))
            assert answer.missing == missing, mode


@pytest.mark.parametrize(
    ("query", "similar"),
    [
        ("HTTPExeption", "HTTPException"),  # which is only used
        ("PooledConection", "PooledConnection"),  # which is defined
        ("where is PooledConnections made", "PooledConnection"),
        ("reuse_sokcet", "reuse_socket"),
        ("use.OAuthProvidr", "OAuthProvider"),
        ("frobnicateSocket", ""),
        ("x1y2z3", ""),
    ],
)
def test_a_misspelt_name_is_told(catalog: Catalog, root: str, query: str, similar: str) -> None:
    answer = catalog.open(root).search(SearchRequest(query=query, mode=Mode.KEYWORD))
    [name] = answer.missing
    wanted = (f"nothing has {name}, did you mean {similar!r}?",) if similar else ()
    assert answer.notes == wanted


@pytest.mark.parametrize("mode", [Mode.SYMBOL, Mode.REGEX])
def test_modes_that_find_what_is_there_alone_say_nothing(
    catalog: Catalog, root: str, mode: Mode
) -> None:
    assert not catalog.open(root).search(SearchRequest(query="frobnicateIt", mode=mode)).missing


def test_of_several_projects_none_has_it(catalog: Catalog, root: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_tree(other, {"a.py": "def frobnicate_it():\n    return 1\n"})
    catalog.create(str(other)).index(IndexOptions())
    request = SearchRequest(query="frobnicateIt reuseSocket neverWritten")
    assert catalog.search([root, str(other)], request).missing == ("neverWritten",)
    request = SearchRequest(query="frobnicateIt PooledConection")
    answer = catalog.search([root, str(other)], request)
    assert [note.partition(", ")[2] for note in answer.notes] == [
        "did you mean 'PooledConnection'?"
    ]


def test_the_page_says_that_the_results_are_the_nearest(pages_client: httpx.Client) -> None:
    page = pages_client.get("/search", params={"q": "frobnicateSession"}).text
    assert "contains <code>frobnicateSession</code>; showing the closest results" in page
    nothing = pages_client.get("/search", params={"q": "frobnicate<Widgets>"}).text
    assert "contains <code>frobnicate&lt;Widgets</code>." in nothing
    found = pages_client.get("/search", params={"q": "session"}).text
    assert "No indexed file contains" not in found
