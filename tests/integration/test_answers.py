"""Answers that would be wrong without a word: each was, once."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from engine.catalog import Catalog
from engine.config import Config, load_config
from engine.errors import (
    FileNotIndexedError,
    InvalidQueryError,
    ProjectBusyError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.index_records import IndexOptions
from engine.locks import indexing_lock
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import Hit, Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def make(catalog: Catalog, tree: Path) -> "Make":
    return Make(catalog, tree)


class Make:
    """Indexes a tree of the given files."""

    def __init__(self, catalog: Catalog, tree: Path) -> None:
        self.catalog = catalog
        self.tree = tree

    def __call__(self, files: dict[str, str]) -> Project:
        write_tree(self.tree, files)
        index = self.catalog.create(str(self.tree))
        index.index()
        return index


def hits(index: Project, query: str, *, mode: Mode = Mode.KEYWORD, limit: int = 10) -> list[Hit]:
    return list(index.search(SearchRequest(query=query, mode=mode, limit=limit)).hits)


def paths(index: Project, query: str) -> list[str]:
    return [hit.path for hit in hits(index, query)]


def test_copies_of_a_file_do_not_hide_the_others(make: Make) -> None:
    copies = {f"copy{number:03}/a.py": "quasar = 1\nquasar += 1\n" for number in range(300)}
    index = make(copies | {"z/other.py": "def other():\n    return 'quasar'\n"})
    assert paths(index, "quasar") == ["copy000/a.py", "z/other.py"]
    symbols = index.symbols("other")
    assert [symbol.path for symbol in symbols] == ["z/other.py"]


def test_a_phrase_is_found_among_many_places_with_its_words(make: Make) -> None:
    files = {f"f{number:03}.py": f"foo_bar = {number}\n" for number in range(400)}
    index = make(files | {"z.py": "# Foo Bar\nzeta = 1\n"})
    assert paths(index, '"Foo Bar"') == ["z.py"]


@pytest.mark.parametrize("phrase", ["redisComm", "redisCo", "int redisCom", "redisCommandTa"])
@pytest.mark.parametrize("mode", [Mode.KEYWORD, Mode.HYBRID])
def test_a_phrase_may_end_inside_a_word(make: Make, phrase: str, mode: Mode) -> None:
    index = make({"a.c": "int redisCommandTable = 1;\n", "b.c": "int table = 2;\n"})
    assert [hit.path for hit in hits(index, f'"{phrase}"', mode=mode)] == ["a.c"]


def test_a_phrase_without_words_is_refused_by_position(make: Make) -> None:
    index = make(SAMPLE)
    with pytest.raises(InvalidQueryError, match="no searchable word") as caught:
        hits(index, '  "=>"')
    assert caught.value.position == 2
    answer = index.search(SearchRequest(query='session "=>"'))
    assert answer.hits
    assert answer.notes == ('"=>" has no searchable word and was left out',)


def test_what_is_negated_does_not_come_back_by_path_or_name(make: Make) -> None:
    index = make(
        {
            "parser.py": "forbidden = 1\n",
            "store.py": "class SessionStore:\n    forbidden = True\n",
            "fine.py": "parser = SessionStore = 1\n",
        }
    )
    assert paths(index, "parser -forbidden") == ["fine.py"]
    assert paths(index, "SessionStore -forbidden") == ["fine.py"]


@pytest.mark.parametrize(
    "query",
    ["-session -token lang:python", '-"nothing here"', "-sym:x", "-lang:python", "branch:main"],
)
def test_a_query_that_only_leaves_out_is_refused(make: Make, query: str) -> None:
    with pytest.raises(InvalidQueryError, match="nothing to search for"):
        hits(make(SAMPLE), query)


def test_a_qualified_name_finds_that_symbol_only(make: Make) -> None:
    classes = "".join(f"class C{n}:\n    def run(self):\n        pass\n" for n in range(500))
    index = make({"many.py": classes, "z.py": "class Last:\n    def run(self):\n        pass\n"})
    assert [symbol.path for symbol in index.symbols("Last.run")] == ["z.py"]
    assert [symbol.path for symbol in index.symbols("Last::run")] == ["z.py"]
    assert index.symbols("Nope.run") == []
    assert len(index.symbols("run", limit=1000)) == 501


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sym:Second.run", ["Second.run"]),
        ("sym:second::RUN", ["Second.run"]),
        ("sym:run -sym:Second.run", ["First.run"]),
        ("sym:Second.run sym:First.run", ["First.run", "Second.run"]),
        ("sym:Third.run", []),
    ],
)
@pytest.mark.parametrize("mode", [Mode.SYMBOL, Mode.HYBRID])
def test_a_filter_by_a_qualified_name(
    make: Make, query: str, expected: list[str], mode: Mode
) -> None:
    names = ("First", "Second")
    run = "    def run(self):\n        pass\n\n\n"
    index = make({"a.py": "".join(f"class {name}:\n{run}" for name in names)})
    found = {hit.symbol for hit in hits(index, query, mode=mode)}
    assert sorted(name for name in found if name and name.endswith(".run")) == expected


def test_a_kind_filter_shows_symbols_of_that_kind(make: Make) -> None:
    index = make({"a.py": "LIMIT = 3\n\n\nclass Cache:\n    def limit(self):\n        pass\n"})
    for kind in ("constant", "class", "method"):
        assert {hit.kind for hit in hits(index, f"limit kind:{kind}")} == {kind}


def test_definitions_that_are_cut_are_said_to_be(make: Make) -> None:
    classes = "".join(f"class C{n}:\n    def run(self):\n        pass\n" for n in range(150))
    index = make({"many.py": classes})
    for query, mode in (("run", Mode.SYMBOL), ("sym:run", Mode.HYBRID)):
        answer = index.search(SearchRequest(query=query, mode=mode, limit=100))
        assert (len(answer.hits), answer.truncated) == (100, True)


def test_each_definition_of_a_place_is_shown_by_its_own_name(make: Make) -> None:
    index = make({"a.py": "FIRST_LIMIT = 1\nSECOND_LIMIT = 2\n"})
    found = {hit.symbol for hit in hits(index, "limit", mode=Mode.SYMBOL)}
    assert found == {"FIRST_LIMIT", "SECOND_LIMIT"}


@pytest.mark.parametrize(
    ("query", "mode", "expected"),
    [
        ("sym:main -argparse", Mode.HYBRID, ["b.py"]),
        ('sym:main -"the arguments"', Mode.KEYWORD, ["b.py"]),
        ("main -argparse", Mode.SYMBOL, ["b.py"]),
        ('"main" -"the arguments"', Mode.SYMBOL, ["b.py"]),
        ("sym:main -nowhere", Mode.HYBRID, ["a.py", "b.py"]),
    ],
)
def test_definitions_with_what_is_excluded_are_left_out(
    make: Make, query: str, mode: Mode, expected: list[str]
) -> None:
    index = make(
        {
            "a.py": "def main():\n    return argparse.read('the arguments')\n",
            "b.py": "def main():\n    return 2\n",
        }
    )
    assert sorted(hit.path for hit in hits(index, query, mode=mode)) == expected


def test_one_symbol_must_have_both_the_name_and_the_kind(make: Make) -> None:
    index = make({"a.py": "LIMIT = 3\n\n\ndef other():\n    return LIMIT\n"})
    assert hits(index, "limit kind:function sym:LIMIT") == []
    assert hits(index, "limit kind:constant sym:LIMIT")


def test_tags_know_the_language_of_the_content(make: Make) -> None:
    index = make({"tool": "#!/usr/bin/env python3\nzeta = 1\n"})
    assert paths(index, "zeta tag:python") == ["tool"]
    assert paths(index, "zeta -tag:python") == []
    assert paths(index, "zeta tag:Python") == ["tool"]


def test_brackets_in_a_path_filter_may_be_a_name(make: Make) -> None:
    index = make({"pages/[id].py": "zeta = 1\n", "pages/i.py": "zeta = 2\n"})
    assert "pages/[id].py" in paths(index, "zeta path:[id].py")


@pytest.mark.parametrize("everywhere", [".", "./", "/"])
def test_the_root_is_a_path_that_all_files_are_below(make: Make, everywhere: str) -> None:
    index = make({"src/a.py": "zeta = 1\n", "b.py": "zeta = 2\n"})
    assert sorted(paths(index, f"zeta path:{everywhere}")) == ["b.py", "src/a.py"]
    answer = index.search(SearchRequest(query="zeta", path=everywhere))
    assert len(answer.hits) == 2


def test_an_absolute_path_filters_by_what_is_below_the_root(make: Make) -> None:
    index = make({"src/a.py": "zeta = 1\n", "lib/a.py": "zeta = 2\n"})
    root = index.root
    for inside in (f"{root}/src", f"{root}/src/", f"{root}/src/*.py", "/src"):
        assert paths(index, f"zeta path:{inside}") == ["src/a.py"]
        answer = index.search(SearchRequest(query="zeta", path=inside))
        assert [hit.path for hit in answer.hits] == ["src/a.py"]
    assert len(paths(index, f"zeta path:{root}")) == 2
    assert paths(index, f"zeta path:{root}-other/src path:/etc") == []


def test_a_path_filter_with_a_leading_slash_begins_at_the_root(make: Make) -> None:
    inside = ["src/net/a.py", "src/net/[id]/b.py", "src/net.py"]
    files = [*inside, "lib/src/net/c.py", "lib/a.py"]
    index = make({path: f"zeta = {number}\n" for number, path in enumerate(files)})
    for path, wanted in {
        "/src/net/": inside[:2],
        "/src/net": inside,
        "/src/net/[id]/": inside[1:2],
        "/src/**": inside,
        "/src/*.py": inside[2:],
        "/lib/*.py": ["lib/a.py"],
        f"{index.root}/src/net/": inside[:2],
    }.items():
        assert sorted(paths(index, f"zeta path:{path}")) == sorted(wanted), path
        assert set(paths(index, f"zeta -path:{path}")).isdisjoint(wanted), path
        answer = index.search(SearchRequest(query="zeta", path=path))
        assert sorted(hit.path for hit in answer.hits) == sorted(wanted), path
    assert "lib/src/net/c.py" in paths(index, "zeta path:src/net/")


def test_a_project_asked_for_twice_answers_once(catalog: Catalog, make: Make) -> None:
    index = make(SAMPLE)
    request = SearchRequest(query="session")
    answer = catalog.search([index.root, f"{index.root}/app"], request)
    assert answer.hits == index.search(request).hits


def test_a_note_of_one_project_names_it(catalog: Catalog, make: Make, tmp_path: Path) -> None:
    index = make(SAMPLE)
    (tmp_path / "empty").mkdir()
    catalog.create(str(tmp_path / "empty"))
    answer = catalog.search([index.root, str(tmp_path / "empty")], SearchRequest(query="session"))
    assert answer.notes == ("in empty: nothing is indexed yet: run cairn index",)


def test_a_root_that_is_gone_still_answers(make: Make, tree: Path) -> None:
    index = make(SAMPLE)
    tree.rename(tree.with_name("moved"))
    assert [hit.fresh for hit in hits(index, "open_session", limit=1)] == [False]
    assert index.why("app/session.py").detail.startswith("indexed, but gone")


def test_a_forgotten_project_is_not_written_on(make: Make, config: Config, tree: Path) -> None:
    index = make(SAMPLE)
    with open_catalog(config) as other:
        other.forget(str(tree))
    with pytest.raises(ProjectNotFoundError, match="removed"):
        index.index()


def test_the_lock_stays_one_lock_after_forgetting(make: Make, config: Config, tree: Path) -> None:
    index = make(SAMPLE)
    database = config.data_dir / f"{index.project_id}.db"
    make.catalog.forget(str(tree))
    with indexing_lock(database):
        write_tree(tree, SAMPLE)
        with pytest.raises(ProjectBusyError):
            make.catalog.create(str(tree)).index()


def test_an_empty_file_is_no_project(catalog: Catalog, config: Config, tree: Path) -> None:
    config.data_dir.mkdir(parents=True)
    (config.data_dir / f"{project_id_of(str(tree))}.db").touch()
    with pytest.raises(ProjectNotFoundError, match="empty"):
        catalog.open(str(tree))
    assert catalog.create(str(tree)).index().files_indexed == 0


def test_another_programs_database_is_left_alone(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    config.data_dir.mkdir(parents=True)
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    foreign = apsw.Connection(str(file))
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    before = file.read_bytes()
    with pytest.raises(Exception, match="not an index"):
        catalog.create(str(tree))
    assert file.read_bytes() == before


def test_a_bad_first_call_leaves_no_project(catalog: Catalog, tree: Path) -> None:
    with pytest.raises(Exception, match="invalid"):
        catalog.create(str(tree)).index(IndexOptions(include_patterns=("[x",)))
    assert catalog.projects() == []


def test_a_data_directory_that_cannot_be_made_is_unavailable(tmp_path: Path, tree: Path) -> None:
    (tmp_path / "file").touch()
    with (
        open_catalog(load_config(tmp_path / "file" / "home")) as catalog,
        pytest.raises(UnavailableError),
    ):
        catalog.create(str(tree))


def test_only_the_first_hits_have_details_when_no_more_are_wanted(make: Make) -> None:
    code = "def part_{0}():\n    '''Part of a session.'''\n    return 'session'\n"
    index = make({f"part_{n}.py": code.format(n) for n in range(9)})
    for query, mode in (("session part", Mode.KEYWORD), (r"part_\d", Mode.REGEX)):
        request = SearchRequest(query=query, mode=mode, limit=9, explain=True, summaries=True)
        whole = index.search(request).hits
        answer = index.search(replace(request, detailed=2))
        assert answer.hits[:2] == whole[:2]
        assert [hit.path for hit in answer.hits] == [hit.path for hit in whole]
        assert [hit.symbol for hit in answer.hits] == [hit.symbol for hit in whole]
        for hit in answer.hits[2:]:
            assert (hit.snippet, hit.matches, hit.fresh, hit.explain) == ("", (), None, None)
            assert hit.summary is None
        assert all(hit.summary for hit in whole)


def test_hits_with_details_are_chosen_from_hits_without(make: Make) -> None:
    code = "def part_{0}():\n    '''Part of a session.'''\n    return 'session'\n"
    index = make({f"part_{n}.py": code.format(n) for n in range(9)})
    told: list[Hit] = []

    def choose(hits: Sequence[Hit]) -> list[int]:
        told.extend(hits)
        return [5, 1]

    request = SearchRequest(query="session part", limit=9, explain=True, summaries=True)
    whole = index.search(request).hits
    chosen = index.search(replace(request, choose=choose)).hits
    assert [number for number, hit in enumerate(chosen) if hit.snippet] == [1, 5]
    assert (chosen[1], chosen[5]) == (whole[1], whole[5])
    assert [(hit.path, hit.confidence) for hit in told] == [
        (hit.path, hit.confidence) for hit in whole
    ]
    assert not any(hit.snippet or hit.summary or hit.explain for hit in told)


def test_lines_of_a_file_are_those_of_its_content(make: Make) -> None:
    text = "one\r\ntwo\n\nvier \u00fc\x0c\nf\u00fcnf\rnoch\n"
    index = make({"notes.txt": text, "open.txt": "alpha\nbeta"})
    for path in ("notes.txt", "open.txt"):
        whole = index.browse.content(path).text.replace("\r\n", "\n").split("\n")
        for first in range(1, len(whole) + 1):
            for last in range(first, len(whole) + 3):
                language, lines, _ = index.browse.lines(path, first, last)
                assert (language, lines) == ("text", whole[first - 1 : last])
    with pytest.raises(FileNotIndexedError):
        index.browse.lines("missing.txt", 1, 2)


def test_a_project_whose_making_was_cut_short_is_made_when_it_is_indexed(
    config: Config, tree: Path
) -> None:
    """What is left then is a database without the row that says whose it is."""
    write_tree(tree, SAMPLE)
    with open_catalog(config) as catalog:
        file = config.data_dir / f"{catalog.create(str(tree)).project_id}.db"
    handle = apsw.Connection(str(file))
    handle.execute("DELETE FROM project")
    handle.close()
    with open_catalog(config) as catalog:
        with pytest.raises(ProjectNotFoundError):
            catalog.open(str(tree)).status()
        index = catalog.create(str(tree))
        index.index()
        assert index.status().files == len(SAMPLE)
