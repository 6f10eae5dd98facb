"""From a folder to answers, and back to the folder: index, edit, search, explain."""

import os
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import (
    InvalidInputError,
    InvalidPathError,
    InvalidQueryError,
    NotFoundError,
    ProjectNotFoundError,
)
from engine.index_records import IndexOptions
from engine.project import Project
from engine.records import MIN_TOKENS, bytes_within
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.support.jobs import catalog_in
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def paths_found(index: Project, query: str, mode: Mode = Mode.KEYWORD) -> list[str]:
    answer = index.search(SearchRequest(query=query, mode=mode))
    return [hit.path for hit in answer.hits]


def test_the_report_counts_everything(catalog: Catalog, tree: Path, config: Config) -> None:
    write_tree(tree, SAMPLE | {"logo.png": b"\x89PNG\r\n\x1a\n\0", ".env": "KEY=1"})
    report = catalog.create(str(tree)).index()
    assert report.project_id == project_id_of(str(tree))
    assert (report.files_indexed, report.files_unchanged) == (len(SAMPLE), 0)
    assert (report.files_skipped, report.files_failed, report.errors) == (2, 0, ())
    assert report.symbols_extracted > 8
    assert report.chunks >= len(SAMPLE)
    check_sound(database(config, tree))


def test_words_symbols_and_parts_of_identifiers_are_found(index: Project) -> None:
    assert paths_found(index, "open session")[0] == "app/session.py"
    assert paths_found(index, "openSession")[0] == "app/session.py"
    assert paths_found(index, "SessionStore", Mode.SYMBOL)[0] == "app/session.py"
    assert paths_found(index, "listenandserve", Mode.SYMBOL)[0] == "cmd/server/main.go"
    assert paths_found(index, "SesionStor", Mode.SYMBOL)[0] == "app/session.py"
    assert paths_found(index, "handler of a request")[0] == "app/http/router.py"
    assert paths_found(index, "zebra") == []


def test_code_is_ranked_before_tests_and_documents(index: Project) -> None:
    found = paths_found(index, "session token")
    assert found[0] == "app/session.py"
    assert found.index("tests/test_session.py") > 0


def test_filters_apply_before_the_limit(index: Project) -> None:
    def only(query: str) -> set[str]:
        return set(paths_found(index, query))

    assert only("session lang:markdown") == {"README.md"}
    assert only("session path:tests/") == {"tests/test_session.py"}
    assert only("session -path:tests/ -lang:markdown") == {
        "app/session.py",
        "app/http/router.py",
    }
    assert only("session path:*.md") == {"README.md"}
    assert only("server kind:type") == {"cmd/server/main.go"}
    assert only("session tag:.py -tag:python") == set()
    one = index.search(SearchRequest(query="session", language="markdown", limit=1))
    assert [hit.path for hit in one.hits] == ["README.md"]


def test_exact_phrases_are_exact(index: Project) -> None:
    assert paths_found(index, '"Open a session for a user"') == ["app/session.py"]
    assert paths_found(index, '"a session for user"') == []
    assert paths_found(index, '"OPEN A session" case:no')
    assert paths_found(index, '"OPEN A session"') == []


def test_a_hit_says_where_what_and_why(index: Project) -> None:
    answer = index.search(SearchRequest(query="open_session"))
    hit = answer.hits[0]
    assert hit.path == "app/session.py"
    assert hit.symbol == "SessionStore.open_session"
    assert hit.kind == "method"
    assert hit.signature == "def open_session(self, user_id: int) -> str"
    assert any(reason.startswith("defines open_session") for reason in hit.why)
    assert hit.fresh is True
    assert "def open_session" in hit.snippet
    assert hit.line_start <= 9 <= hit.line_end
    assert answer.coverage.complete
    assert answer.coverage.indexed == 1.0


def test_freshness_follows_the_disk(index: Project, tree: Path) -> None:
    file = tree / "app/session.py"
    stat = file.stat()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))  # touched, not changed
    request = SearchRequest(query="open_session", limit=1)
    assert index.search(request).hits[0].fresh is True
    file.write_text(SAMPLE["app/session.py"].replace("token-", "ticket-"))
    assert index.search(request).hits[0].fresh is False
    file.unlink()
    assert index.search(request).hits[0].fresh is False


def test_budgets_bound_the_snippets(index: Project) -> None:
    whole = index.search(SearchRequest(query="session"))
    small = index.search(SearchRequest(query="session", max_tokens=MIN_TOKENS))
    assert sum(len(hit.snippet) for hit in small.hits) <= bytes_within(MIN_TOKENS)
    assert small.truncated
    assert len(small.hits) == len(whole.hits)
    none = index.search(SearchRequest(query="session", context=False))
    assert all(hit.snippet == "" for hit in none.hits)
    assert index.search(SearchRequest(query="session", limit=1)).truncated


def test_a_second_run_does_only_what_changed(index: Project, tree: Path, config: Config) -> None:
    (tree / "README.md").unlink()
    (tree / "app/session.py").rename(tree / "app/sessions.py")
    write_tree(tree, {"app/new.py": "def brand_new() -> None:\n    pass\n"})
    report = index.index()
    assert (report.files_indexed, report.files_unchanged) == (2, 3)
    assert report.cache_hit_rate == 0.8  # of five only the new file's blob was not known
    assert paths_found(index, "brand_new") == ["app/new.py"]
    assert "app/session.py" not in paths_found(index, "session")
    assert paths_found(index, "SessionStore")[0] == "app/sessions.py"
    assert index.why("README.md").outcome == "missing"
    check_sound(database(config, tree))
    again = index.index()
    assert (again.files_indexed, again.files_unchanged) == (0, 5)
    assert again.cache_hit_rate == 1.0


def test_ids_and_creation_times_stay(index: Project, tree: Path) -> None:
    before = index.why("app/session.py").facts
    (tree / "app/session.py").write_text("def changed() -> None:\n    pass\n")
    index.index()
    after = index.why("app/session.py").facts
    assert after["id"] == before["id"]
    assert after["created_at"] == before["created_at"]
    assert after["sha256"] != before["sha256"]


def test_force_makes_everything_again(index: Project, tree: Path, config: Config) -> None:
    before = contents(database(config, tree))
    ids = index.why("app/session.py").facts["id"]
    report = index.index(IndexOptions(force=True))
    assert contents(database(config, tree)) == before
    assert report.files_unchanged == 0
    assert report.chunks >= len(SAMPLE)
    assert index.why("app/session.py").facts["id"] == ids
    check_sound(database(config, tree))


def test_coverage_counts_what_should_be_indexed(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tree, SAMPLE)
    write_tree(tree, {"data.py": b"\0binary\0", "fine.py": "x = 1\n", "poison.py": "y = 2\n"})
    monkeypatch.setenv("CAIRN_FAULT", "die:inspect:poison.py")
    index = catalog.create(str(tree))
    report = index.index()
    assert (report.files_failed, report.errors[0].file) == (1, "poison.py")
    coverage = index.search(SearchRequest(query="session")).coverage
    assert coverage.files == len(SAMPLE) + 1
    assert coverage.indexed == pytest.approx((len(SAMPLE) + 1) / (len(SAMPLE) + 2))
    assert coverage.complete


def test_scope_is_stored_and_followed(index: Project, tree: Path) -> None:
    index.index(IndexOptions(include_patterns=("*.py",), exclude_patterns=("tests/**",)))
    assert set(paths_found(index, "session")) == {"app/session.py", "app/http/router.py"}
    report = index.index()
    assert (report.include_patterns, report.exclude_patterns) == (("*.py",), ("tests/**",))
    assert index.why("tests/test_session.py").reason == "excluded"
    assert index.why("README.md").reason == "not_included"


def test_why_has_an_answer_for_every_path(index: Project, tree: Path) -> None:
    write_tree(
        tree,
        {
            ".gitignore": "*.log\n",
            "a.log": "x",
            "node_modules/left/index.js": "x",
            "id_rsa": "key",
            "big.py": "#" * (1 << 21),
            "data.bin": b"\0\1\2",
        },
    )
    index.index()
    assert index.why("app/session.py").outcome == "indexed"
    assert index.why("a.log").reason == "ignored"
    inside = index.why("node_modules/left/index.js")
    assert (inside.reason, inside.rule_path) == ("default_excluded", "node_modules")
    assert index.why("id_rsa").reason == "secret_file"
    assert index.why("big.py").reason == "too_large"
    assert index.why("nothing.py").outcome == "missing"
    (tree / "late.py").write_text("x = 1\n")
    assert index.why("late.py").outcome == "not_seen"
    with pytest.raises(InvalidPathError):
        index.why("../outside.py")


def test_secrets_are_never_stored(catalog: Catalog, tree: Path, config: Config) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    write_tree(tree, {"config.py": f'TOKEN = "{token}"\n', ".env": f"TOKEN={token}\n"})
    index = catalog.create(str(tree))
    index.index()
    assert index.why("config.py").facts["redactions"] == 1
    catalog.close()
    files = [each for each in config.data_dir.rglob("*") if each.is_file()]
    assert files
    for file in files:
        assert token.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (IndexOptions(include_patterns=("[invalid",)), "include_patterns"),
        (IndexOptions(exclude_patterns=("[invalid",)), "exclude_patterns"),
        (IndexOptions(max_file_size=20 << 20), "max_file_size"),
        (IndexOptions(max_file_size=-1), "max_file_size"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(
    index: Project, options: IndexOptions, field: str
) -> None:
    before = index.status()
    with pytest.raises(InvalidInputError) as caught:
        index.index(options)
    assert caught.value.details["field"] == field
    assert index.status() == before


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(query=""),
        SearchRequest(query="   "),
        SearchRequest(query="x", limit=0),
        SearchRequest(query="x", limit=1000),
        SearchRequest(query="x", max_tokens=0),
        SearchRequest(query="x", language="klingon"),
        SearchRequest(query="x", kind="thing"),
        SearchRequest(query="x", path="[bad"),
    ],
)
def test_bad_requests_are_refused(index: Project, request_: SearchRequest) -> None:
    with pytest.raises(InvalidInputError):
        index.search(request_)


def test_bad_filters_name_their_position(index: Project) -> None:
    for query, position in (("x lang:klingon", 7), ("x kind:thing", 7), ("x path:[bad", 7)):
        with pytest.raises(InvalidQueryError) as caught:
            index.search(SearchRequest(query=query))
        assert caught.value.position == position


def test_an_unknown_branch_is_not_found(index: Project) -> None:
    with pytest.raises(NotFoundError, match="not indexed"):
        index.search(SearchRequest(query="session branch:nowhere"))


def test_several_projects_answer_together_and_one_may_fail(
    catalog: Catalog, index: Project, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    write_tree(other, {"lib/session.rb": "class Session\n  def open; end\nend\n"})
    catalog.create(str(other)).index()
    paths = [index.root, str(other), str(tmp_path / "absent")]
    answer = catalog.search(paths, SearchRequest(query="session"))
    assert {hit.project for hit in answer.hits} == {index.root, str(other)}
    assert [error.error for error in answer.errors] == ["not_found"]
    first = SearchRequest(query="session", limit=1)
    pages = [catalog.search_page(paths, first, offset) for offset in range(len(answer.hits))]
    assert [page.hits for page in pages] == [(hit,) for hit in answer.hits]
    assert [page.truncated for page in pages] == [True] * (len(pages) - 1) + [False]
    twice = catalog.search([index.root, f"{index.root}/."], first)
    assert (len(twice.hits), twice.truncated) == (1, True)
    with pytest.raises(InvalidInputError):
        catalog.search(paths, SearchRequest(query="session", limit=0))
    with pytest.raises(ProjectNotFoundError):
        catalog.search([str(tmp_path / "absent")], SearchRequest(query="session"))


def test_project_filters_choose_among_projects(
    catalog: Catalog, index: Project, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    write_tree(other, {"lib/session.rb": "class Session\n  def open; end\nend\n"})
    catalog.create(str(other)).index()
    paths = [index.root, str(other)]

    def projects_of(query: str) -> set[str]:
        return {hit.project for hit in catalog.search(paths, SearchRequest(query=query)).hits}

    assert projects_of("session project:other") == {str(other)}
    assert projects_of("session -project:other") == {index.root}
    assert projects_of(f"session project:{tmp_path.name}/tree") == {index.root}
    with pytest.raises(NotFoundError, match="no project matches"):
        projects_of("session project:absent")


def test_projects_are_listed_opened_from_below_and_forgotten(
    catalog: Catalog, index: Project, tree: Path
) -> None:
    assert [project.path for project in catalog.projects()] == [str(tree)]
    assert catalog.open(str(tree / "app/http")) is index
    catalog.forget(str(tree))
    assert catalog.projects() == []
    with pytest.raises(ProjectNotFoundError):
        catalog.open(str(tree))
    assert (tree / "README.md").exists()


def test_clear_drops_contents_and_keeps_the_scope(index: Project) -> None:
    index.index(IndexOptions(exclude_patterns=("tests/**",)))
    index.clear()
    status = index.status()
    assert (status.files, status.chunks, status.symbols) == (0, 0, 0)
    assert paths_found(index, "session") == []
    report = index.index()
    assert report.exclude_patterns == ("tests/**",)
    assert report.files_indexed == len(SAMPLE) - 1


def test_a_damaged_project_is_listed_with_its_error(
    catalog: Catalog, index: Project, config: Config
) -> None:
    (config.data_dir / f"{'0' * 64}.db").write_text("garbage " * 1000)
    by_id = {project.project_id: project for project in catalog.projects()}
    assert by_id["0" * 64].error
    assert by_id[index.project_id].error is None


def test_outline_lists_a_files_symbols(index: Project) -> None:
    names = [hit.qualified_name for hit in index.outline("app/session.py")]
    assert names == [
        "MAX_SESSIONS",
        "SessionStore",
        "SessionStore.open_session",
        "SessionStore.close_session",
        "default_store",
    ]
    with pytest.raises(NotFoundError):
        index.outline("nothing.py")


def test_names_beyond_ascii_are_found_in_any_case(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {"a.py": "class ÖlStand:\n    def Prüfen(self):\n        pass\n"})
    index = catalog.create(str(tree))
    index.index()
    for name in ("ÖlStand", "ölstand", "ÖLSTAND"):
        assert [hit.qualified_name for hit in index.symbols(name)] == ["ÖlStand"]
    assert [hit.qualified_name for hit in index.symbols("prüfen")] == ["ÖlStand.Prüfen"]


def test_a_file_that_becomes_undecodable_is_left_out_as_if_it_had_always_been(
    index: Project, tree: Path, config: Config, tmp_path: Path
) -> None:
    assert "app/session.py" in paths_found(index, "open session")
    (tree / "app/session.py").write_bytes(bytes(range(0x80, 0x100)) * 4)
    assert [error.file for error in index.index().errors] == ["app/session.py"]
    assert "app/session.py" not in paths_found(index, "open session")
    check_sound(database(config, tree))
    with catalog_in(tmp_path / "another") as another:
        another.create(str(tree)).index()
    fresh = tmp_path / "another" / database(config, tree).name
    assert contents(database(config, tree)) == contents(fresh)
