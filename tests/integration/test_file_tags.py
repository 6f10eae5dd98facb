"""Tags that rules give files, and the filter by author: in searches, checkpoints and on faces."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidConfigError
from engine.project import Project
from engine.search_records import SearchAnswer, SearchRequest
from tests.support.command import Command
from tests.support.git_history import GitTree, sample_history
from tests.support.pages import Page
from tests.support.server import serving
from tests.support.trees import write_tree

FILES = {
    "src/api/users.py": "def handle_user(session):\n    return session\n",
    "src/api/schema.sql": "create table session (id integer);\n",
    "src/store/users.py": "def load_user(session):\n    return session\n",
    "docs/session.md": "# The session\n\nIt ends.\n",
    "plain.api": "a session in a file with an ending\n",
}
RULES = """tags = [
  {path = "src/api/**", tags = ["api", "Public"]},
  {language = "sql", tags = ["data"]},
  {path = "src", language = "python", tags = ["app"]},
]
"""


@pytest.fixture
def tagged(catalog: Catalog, tree: Path) -> Project:
    write_tree(catalog.data_dir, {"config.toml": RULES})
    write_tree(tree, FILES)
    project = catalog.create(str(tree))
    project.index()
    return project


def ask(project: Project, query: str) -> SearchAnswer:
    return project.search(SearchRequest(query=query, limit=50))


def paths(project: Project, query: str) -> set[str]:
    return {hit.path for hit in ask(project, query).hits}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("tag:api", {"src/api/users.py", "src/api/schema.sql"}),  # not plain.api: one meaning
        ("session tag:API", {"src/api/users.py", "src/api/schema.sql"}),
        ("session tag:api tag:app", {"src/api/users.py"}),
        ("session tag:app", {"src/api/users.py", "src/store/users.py"}),
        ("session tag:data", {"src/api/schema.sql"}),
        ("session -tag:api -tag:.md", {"src/store/users.py", "plain.api"}),
        ("session tag:python -tag:public", {"src/store/users.py"}),
        ("/session/ tag:api lang:python", {"src/api/users.py"}),
        ("tag:.api", {"plain.api"}),
    ],
)
def test_rules_tag_files(tagged: Project, query: str, wanted: set[str]) -> None:
    assert paths(tagged, query) == wanted


def test_hits_have_the_tags_of_their_files(tagged: Project) -> None:
    tags = {hit.path: hit.tags for hit in ask(tagged, "session").hits}
    assert tags["src/api/users.py"] == ("api", "Public", "app")
    assert tags["src/api/schema.sql"] == ("api", "Public", "data")
    assert tags["docs/session.md"] == ()


def test_a_change_of_the_rules_holds_at_once(tagged: Project, catalog: Catalog) -> None:
    file = catalog.data_dir / "config.toml"
    file.write_text('tags = [{path = "docs", tags = ["api"]}]\n')
    assert paths(tagged, "session tag:api") == {"docs/session.md"}
    [hit] = [each for each in ask(tagged, "session").hits if each.path == "docs/session.md"]
    assert hit.tags == ("api",)
    file.unlink()
    assert paths(tagged, "session tag:api") == {"plain.api"}  # the ending again
    assert all(not each.tags for each in ask(tagged, "session").hits)


def test_a_tag_that_nothing_has_is_said(tagged: Project) -> None:
    answer = ask(tagged, "session tag:publik")
    assert answer.hits == ()
    assert "no rule of config.toml gives the tag 'publik', did you mean 'Public'" in answer.notes
    assert ask(tagged, "session tag:.rs").notes == ()


@pytest.mark.parametrize(
    "rules",
    [
        "tags = 3",
        "tags = [3]",
        'tags = [{tags = ["a"]}]',
        'tags = [{path = "a", tags = []}]',
        'tags = [{path = "a"}]',
        'tags = [{path = "a", tags = ["two words"]}]',
        'tags = [{path = "a", tags = ["!a"]}]',
        'tags = [{path = "a", tags = [".md"]}]',
        'tags = [{path = "a", tags = ["indexed"]}]',
        'tags = [{path = "a", tags = ["Python"]}]',
        'tags = [{path = 3, tags = ["a"]}]',
        'tags = [{path = "a[", tags = ["a"]}]',
        'tags = [{language = "pyton", tags = ["a"]}]',
        'tags = [{path = "a", tag = ["a"]}]',
        "tags = [",
    ],
)
def test_bad_rules_are_refused_where_they_count(
    tagged: Project, catalog: Catalog, rules: str
) -> None:
    (catalog.data_dir / "config.toml").write_text(rules)
    with pytest.raises(InvalidConfigError):
        ask(tagged, "session tag:api")
    with pytest.raises(InvalidConfigError):
        tagged.checkpoints.list(tags=["api"])
    with pytest.raises(InvalidConfigError):
        catalog.settings.tag_rules()
    answer = ask(tagged, "session")
    assert len(answer.hits) == len(FILES)
    assert any(note.startswith("files are shown without tags") for note in answer.notes)


def test_new_processes_refuse_what_are_no_rules(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("tags = 3")
    with pytest.raises(InvalidConfigError, match="the setting tags is not a list"):
        load_config(tmp_path)


def test_checkpoints_have_the_tags(tagged: Project) -> None:
    def listed(*tags: str) -> set[str]:
        found = tagged.checkpoints.list(tags=tags)
        assert found.total == len(found.checkpoints)
        return {each.context["indexed_file"] for each in found.checkpoints}

    assert listed("api") == {"src/api/users.py", "src/api/schema.sql"}
    assert listed("api", "!data") == {"src/api/users.py"}
    assert listed("!api", "indexed") == {"src/store/users.py", "docs/session.md", "plain.api"}
    assert listed("nothing-has-it") == set()
    [found] = tagged.checkpoints.search("user", tags=["indexed", "api", ".py"])
    assert found.tags == ("indexed", "repository", ".py", "python", "api", "Public", "app")
    assert tagged.checkpoints.get(found.id).tags == found.tags


def test_faces_show_tags(tagged: Project, tree: Path, catalog: Catalog) -> None:
    command = Command(home=catalog.data_dir, folder=tree, reads_here=True)
    assert "tags        api, Public, app" in command("why", "src/api/users.py").out
    hits = command("search", "user tag:api", "--json").json()["hits"]
    assert [each["tags"] for each in hits if each["path"] == "src/api/users.py"] == [
        ["api", "Public", "app"]
    ]
    with serving(command, str(tree), "--no-watch") as server, server.client() as client:
        page = Page.of(client.get("/search", params={"q": "session"}))
        assert "Public" in page.text
        assert "tag:api" in client.get("/search", params={"q": "session"}).text.replace("%3A", ":")
        values = client.get(
            "/search/suggest", params={"q": "x tag:p"}, headers={"HX-Request": "true"}
        ).text
        assert "tag:Public" in values


@pytest.fixture
def git(tmp_path: Path) -> GitTree:
    return sample_history(tmp_path / "tree", tmp_path)


@pytest.fixture
def authored(catalog: Catalog, git: GitTree) -> Project:
    project = catalog.create(str(git.root))
    project.index()
    project.read_history()
    return project


def test_files_are_found_by_who_changed_them(authored: Project) -> None:
    # Ada changed src/retry.py, which became src/net/retry.py in a commit of somebody else.
    assert paths(authored, "author:ada") == {"src/net/retry.py"}
    assert paths(authored, "author:@EXAMPLE.org attempt") == {"src/net/retry.py"}
    assert paths(authored, "-author:ada path:src") == {"src/cache.py"}
    assert paths(authored, "author:ada path:src/cache.py") == set()
    assert paths(authored, "author:ada -author:ada") == set()
    assert "src/cache.py" not in paths(authored, "/[a-z]+/ author:ada")


def test_an_unknown_author_is_said(authored: Project) -> None:
    answer = ask(authored, "retry author:Ada_Exampel")
    assert answer.hits == ()
    assert "no stored commit is by 'Ada_Exampel', did you mean 'Ada Example'" in answer.notes


def test_without_a_history_the_filter_says_so(tagged: Project, catalog: Catalog) -> None:
    answer = ask(tagged, "session author:ada")
    assert answer.hits == ()
    assert any("no history is read" in note for note in answer.notes)
    tagged.read_history()
    [note] = [each for each in ask(tagged, "session author:ada").notes if "no history" in each]
    assert "the folder is not in a git repository" in note


def test_a_file_names_its_authors(authored: Project, git: GitTree, catalog: Catalog) -> None:
    authors = authored.why("src/net/retry.py").facts["authors"]
    assert isinstance(authors, list)
    counts = {each["name"]: each["commits"] for each in authors}
    assert counts.pop("Ada Example") == 1
    assert list(counts.values()) == [2]
    command = Command(home=catalog.data_dir, folder=git.root, reads_here=True)
    assert "Ada Example (1 commit)" in command("why", "src/net/retry.py").out
