"""A name is found as a code base writes it, however the question parts it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import load_config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import Mode, SearchRequest
from tests.integration.test_branches import commit_all, git
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FILES = {
    "clients.py": "def connect(token):\n    return GitHubClient(token)\n",
    "docs/api.md": "# Schemas\n\nA graphql server answers.\n",
    "store.py": "def keep(timeOut):\n    return timeOut\n",
    "names/one.py": "def one(file_name):\n    return file_name\n",
    "names/two.py": "def two(filename):\n    return filename\n",
    "names/three.py": "def three(filename):\n    return filename\n",
    "days.md": "We go to day care, and put it in side by side.\n",
    "kinds.md": "It is an instance of a kind of thing, seen at once.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """An index that only answers."""
    tree = write_tree(tmp_path_factory.mktemp("tree"), _FILES)
    with open_catalog(load_config(tmp_path_factory.mktemp("home"), workers=1)) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("github", {"clients.py"}),  # one word, where the code has two
        ("how is github asked", {"clients.py"}),
        ("GraphQL", {"docs/api.md"}),  # two words, where the code has one
        ("timeout", {"store.py"}),
        ("file_name", {"names/one.py", "names/two.py", "names/three.py"}),
        ("filename", {"names/two.py", "names/three.py"}),  # what is rarer is another name
        ("today inside", set()),  # two words of prose are no name
        ("github -client", set()),  # what is refused is refused also then
        ("client -github", set()),  # in each spelling
        ("answers -GraphQL", set()),
        ("answers -graph_ql", set()),
        ("filename -file_name", set()),
        ("instanceof kindof", set()),  # two words of prose
    ],
)
@pytest.mark.parametrize("filters", ["", " path:**"], ids=["kept", "asked"])
def test_other_spellings_are_found(
    index: Project, query: str, paths: set[str], filters: str
) -> None:
    for _ in range(3):  # the first question reads no tree
        answer = index.search(SearchRequest(query=query + filters, mode=Mode.KEYWORD))
        assert {hit.path for hit in answer.hits} == paths


def test_it_is_told_which_spelling_was_found(index: Project) -> None:
    request = SearchRequest(query="github", mode=Mode.KEYWORD, explain=True)
    [hit] = index.search(request).hits
    assert hit.explain is not None
    assert {each.word: each.columns for each in hit.explain.words} == {
        "github": (),
        "git hub": ("body",),
    }


def test_other_spellings_do_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    asked = "def asked_{0}(recordname):\n    return recordname + {0}\n"
    parted = "def parted_{0}(record_name):\n    return record_name + {0}\n"
    write_tree(tree, {f"parted/{n}.py": parted.format(n) for n in range(70)})
    write_tree(tree, {"asked/0.py": asked.format(0)})
    git(tree, "init", "-q", "-b", "main")
    commit_all(tree, "first")
    git(tree, "checkout", "-q", "-b", "other")
    write_tree(tree, {f"asked/{n}.py": asked.format(n) for n in range(60)})
    commit_all(tree, "second")
    git(tree, "checkout", "-q", "main")
    config = load_config(tmp_path / "home", workers=1)
    with open_catalog(config) as catalog:
        project = catalog.create(str(tree))
        project.index()
        project.index(IndexOptions(branch="other"))
    for before in ([], ["parted"] * 3):
        with open_catalog(config) as catalog:
            project = catalog.open(str(tree))
            for query in before:
                project.search(SearchRequest(query=query, mode=Mode.KEYWORD))
            answer = project.search(SearchRequest(query="recordname", mode=Mode.KEYWORD))
        assert [hit.path for hit in answer.hits] == ["asked/0.py"]
