"""Searching by pattern over a real index: mode regex, and patterns among words."""

import random
import threading
from itertools import count
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidQueryError
from engine.project import Project
from engine.search import pattern_search
from engine.search.weights import PATTERN_MATCH_SHARE
from engine.search_records import Hit, MatchSpan, Mode, SearchAnswer, SearchRequest
from tests.integration.test_branches import git
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.trees import SAMPLE, write_tree


def index_of(catalog: Catalog, tree: Path, files: dict[str, str]) -> Project:
    write_tree(tree, files)
    index = catalog.create(str(tree))
    index.index()
    return index


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    return index_of(catalog, tree, SAMPLE)


def regex(index: Project, query: str, **fields: object) -> SearchAnswer:
    request = SearchRequest(query=query, mode=Mode.REGEX, **fields)  # type: ignore[arg-type]
    return index.search(request)


def places_of(hits: tuple[Hit, ...]) -> list[str]:
    return [f"{hit.path}:{hit.line_start}" for hit in hits]


def test_a_hit_is_a_chunk_with_its_matching_lines(index: Project) -> None:
    answer = regex(index, r"def \w+_session\(")
    assert answer.mode is Mode.REGEX
    (hit,) = answer.hits
    assert hit.path == "app/session.py"
    assert (hit.line_start, hit.line_end) == (9, 13)
    assert hit.matches == (
        MatchSpan(line=9, start=4, end=21),
        MatchSpan(line=13, start=4, end=22),
    )
    assert hit.snippet_line == 8
    assert hit.snippet.split("\n")[1].strip().startswith("def open_session(")
    assert (hit.symbol, hit.kind) == ("SessionStore.open_session", "method")
    assert hit.why == ("pattern ×2", "defines open_session")
    assert hit.fresh is True
    assert (answer.total, answer.truncated, answer.notes) == (1, False, ())


def test_a_symbol_is_the_innermost_around_the_match(index: Project) -> None:
    (hit,) = regex(index, r"token-\{").hits
    assert hit.symbol == "SessionStore.open_session"
    assert hit.score == PATTERN_MATCH_SHARE


def test_filters_and_fields_hold(index: Project) -> None:
    def paths(query: str, **fields: object) -> set[str]:
        return {hit.path for hit in regex(index, query, **fields).hits}

    everywhere = paths("session case:no")
    assert {"app/session.py", "tests/test_session.py", "README.md"} < everywhere
    assert paths("session lang:markdown") == {"README.md"}
    assert paths("session", language="markdown") == {"README.md"}
    assert paths("-path:tests -lang:markdown session") == {"app/session.py", "app/http/router.py"}
    assert paths("server kind:type") == {"cmd/server/main.go"}
    assert paths("server kind:class") == set()
    assert paths("return sym:default_store") == {"app/session.py"}
    assert paths("session tag:.go") == set()


def test_definitions_come_first_and_tests_last(index: Project) -> None:
    found = places_of(regex(index, "open_session|Server").hits)
    assert found == ["app/session.py:9", "cmd/server/main.go:5", "tests/test_session.py:4"]
    first, *others = regex(index, "SessionStore").hits
    assert (first.path, first.line_start) == ("app/session.py", 6)
    assert "defines SessionStore" in first.why
    assert not any("defines SessionStore" in hit.why for hit in others)


def test_case(index: Project) -> None:
    assert regex(index, "SESSIONSTORE").hits == ()
    assert regex(index, "SESSIONSTORE case:no").hits
    assert regex(index, "sessionstore").hits
    assert regex(index, "sessionstore case:yes").hits == ()


def test_quoted_terms_are_literals(index: Project) -> None:
    (hit,) = regex(index, '"raise KeyError(path)"').hits
    assert hit.path == "app/http/router.py"
    assert regex(index, '"raise KeyError.path."').hits == ()
    assert places_of(regex(index, r'":8080" "ListenAndServe()"').hits) == ["cmd/server/main.go:11"]
    assert regex(index, r'import "net/http"').hits


def test_matches_over_lines_belong_to_where_they_start(index: Project) -> None:
    (hit,) = regex(index, r"\}\n\nfunc").hits
    assert (hit.path, hit.line_start, hit.line_end) == ("cmd/server/main.go", 13, 15)
    assert [match.line for match in hit.matches] == [13, 14, 15]
    (over,) = regex(index, r"(?s)def default_store.*SessionStore\(\)").hits
    assert (over.line_start, over.line_end, len(over.matches)) == (18, 20, 3)
    assert regex(index, "def default_store.*SessionStore$").hits == ()


def test_patterns_alone_work_in_other_modes(index: Project) -> None:
    request = SearchRequest(query=r"/def \w+_session\(/ lang:python", mode=Mode.KEYWORD)
    assert index.search(request).hits == regex(index, r"def \w+_session\( lang:python").hits


def test_with_words_patterns_filter_and_words_rank(index: Project) -> None:
    def found(query: str) -> list[str]:
        return [hit.path for hit in index.search(SearchRequest(query=query)).hits]

    assert found(r"token /raise \w+/") == []
    assert found(r"handler /raise \w+/") == ["app/http/router.py"]
    assert set(found("session /[Tt]oken/")) <= set(found("session"))
    assert "README.md" not in found("session /[Tt]oken/")
    assert "README.md" in found("session -/[Tt]oken/")
    assert "app/session.py" not in found("open_session -/[Tt]oken/")
    assert found('"Open a session" /user/') == ["app/session.py"]
    assert found('"Open a session" /never/') == []
    hit = index.search(SearchRequest(query="session /token-/")).hits[0]
    assert hit.matches
    assert hit.why[0] == "pattern ×1"
    assert any(reason.startswith("words") for reason in hit.why)


def test_every_pattern_must_match_and_no_negated_one(index: Project) -> None:
    assert places_of(regex(index, r"/func/ /error \{/").hits) == ["cmd/server/main.go:11"]
    assert regex(index, r"/func/ /nowhere/").hits == ()
    assert {hit.path for hit in regex(index, "session -/assert|raise/ lang:python").hits} == {
        "app/session.py"
    }
    assert regex(index, '^func -"error {"').hits == ()
    request = SearchRequest(query="/session/ -store -user", mode=Mode.KEYWORD)
    assert "app/session.py" not in [hit.path for hit in index.search(request).hits]


@pytest.mark.parametrize(
    "query", ["retry /self/", "/self/ /rare_name/", "/self/ -/def g/", '/self/ "rare_name"']
)
def test_a_common_pattern_hides_no_place_further_down(
    catalog: Catalog, tree: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_search, "_MAX_TOTAL_MATCHES", 1)
    body = "".join(f"    self.value_{n} = self.value_{n + 1}\n" for n in range(60))
    many = "".join(f"def g{n}(self):\n{body}\n\n" for n in range(5))
    last = f"def last(self):\n    self.retry(rare_name)\n{body}"
    answer = index_of(catalog, tree, {"a.py": many + last}).search(SearchRequest(query=query))
    assert [hit.symbol for hit in answer.hits][:1] == ["last"]
    assert not answer.truncated


def test_names_and_patterns(index: Project) -> None:
    def found(query: str) -> list[str | None]:
        hits = index.search(SearchRequest(query=query, mode=Mode.SYMBOL)).hits
        return [hit.symbol for hit in hits]

    assert found("ListenAndServe /Address:/") == ["Server.ListenAndServe", "Server"]
    assert found("ListenAndServe /never/") == []
    assert found("ListenAndServe -/Address:/") == []
    assert found("sym:close_session -/nowhere/") == ["SessionStore.close_session"]


@pytest.mark.parametrize(
    ("query", "position"), [("a(b", 1), ("lang:go a(b", 9), ("a|b lang:nope", 9), ("-/a/", 0)]
)
def test_bad_questions_are_refused_by_position(index: Project, query: str, position: int) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        regex(index, query)
    assert caught.value.position == position


def test_columns_are_characters_and_bytes_stay_whole(catalog: Catalog, tree: Path) -> None:
    index = index_of(catalog, tree, {"a.py": "naïve = 'é€😀'  # größe\r\nx = 1\r\n"})
    (hit,) = regex(index, "größe$").hits
    assert hit.matches == (MatchSpan(line=1, start=17, end=22),)
    (hit,) = regex(index, "[^a-z '=#]+").hits
    assert MatchSpan(line=1, start=9, end=12) in hit.matches


def test_a_file_with_many_matches_does_not_crowd_out_the_others(
    catalog: Catalog, tree: Path
) -> None:
    many = "".join(f"def f{n}():\n    use = needle({n})\n    return use\n\n\n" for n in range(200))
    few = {f"z{n}.py": f"def g{n}():\n    return needle\n" for n in range(5)}
    index = index_of(catalog, tree, {"a.py": many, **few})
    paths = [hit.path for hit in regex(index, "needle", limit=10).hits]
    assert set(paths) == {"a.py", *few}
    assert paths[:3] == ["a.py"] * 3
    assert index.search(SearchRequest(query="needle", mode=Mode.REGEX, limit=100)).total > 10


def test_copies_are_shown_once_by_a_path_that_passes(catalog: Catalog, tree: Path) -> None:
    text = "def only():\n    return 1\n"
    index = index_of(catalog, tree, {"a.py": text, "lib/a.py": text, "tests/a.py": text})
    assert places_of(regex(index, "def only").hits) == ["a.py:1"]
    assert places_of(regex(index, "def only path:lib").hits) == ["lib/a.py:1"]


def test_more_files_than_are_ranked_are_told(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_search, "MAX_FILES", 3)
    tests = {f"tests/a{n}.py": f"needle = {n}\n" for n in range(5)}
    index = index_of(catalog, tree, tests | {f"z{n}.py": f"needle = 1{n}\n" for n in range(4)})
    answer = regex(index, "needle", limit=100)
    assert places_of(answer.hits) == ["z0.py:1", "z1.py:1", "z2.py:1"]
    assert (answer.total, answer.truncated) == (3, True)
    less = regex(index, "needle path:tests/a1.py", limit=100)
    assert (less.total, less.truncated) == (1, False)


@pytest.mark.parametrize("first_batch", [2, 512])
@pytest.mark.parametrize(
    "query", ["/needle/ -thread", "/needle/ -/thread/", '/needle/ -"a thread"']
)
def test_what_is_excluded_does_not_count_among_the_files_that_are_ranked(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch, query: str, first_batch: int
) -> None:
    monkeypatch.setattr(pattern_search, "MAX_FILES", 3)
    monkeypatch.setattr(pattern_search, "_FIRST_BATCH", first_batch)
    files = {f"a{n}.py": f"needle = {n}  # with a thread\n" for n in range(11)}
    index = index_of(catalog, tree, files | {f"z{n}.py": f"needle = 1{n}\n" for n in range(2)})
    for _ in range(3):
        answer = index.search(SearchRequest(query=query))
        assert places_of(answer.hits) == ["z0.py:1", "z1.py:1"]
        assert not answer.truncated
    write_tree(tree, {f"z{n}.py": f"needle = 1{n}\n" for n in range(9)})
    index.index()
    for _ in range(3):
        answer = index.search(SearchRequest(query=query))
        assert [place[0] for place in places_of(answer.hits)][:3] == ["z"] * 3
        assert answer.truncated


def test_words_without_end_are_ranked_among_all_that_match(
    catalog: Catalog, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_search, "MAX_WORD_CHUNKS", 3)
    files = {f"a{n}.py": "session = 1\n" * (n + 2) for n in range(9)}
    index = index_of(catalog, tree, files | {"z.py": "session = needle(2) + 3 * other\n"})
    answer = index.search(SearchRequest(query="session /needle/"))
    assert places_of(answer.hits) == ["z.py:1"]
    assert not answer.truncated


def test_a_search_gives_what_it_found_when_its_time_is_up(catalog: Catalog, tree: Path) -> None:
    letters = random.Random(7)
    words = ["".join(letters.choices("abcdef ", k=60)) + "\n" for _ in range(9000)]
    files = {f"a{n}.txt": f"{n}\n" + "".join(words) for n in range(6)}
    index = index_of(catalog, tree, files)
    with open_catalog(load_config(catalog._config.data_dir, search_timeout=10)) as hurried:
        answer = regex(hurried.open(index.root), "(?:.{1,20}a){5}[x-z]")
    assert answer.truncated
    (note,) = answer.notes
    assert note.startswith("stopped after 0.01 s: ")
    assert " MB; narrow the query" in note


def test_other_branches_are_searched_as_last_seen(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {"a.py": "here = 'needle'\n"})
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    git(tree, "checkout", "-q", "-b", "next")
    write_tree(tree, {"a.py": "there = 'thread'\n"})
    index.index()
    assert regex(index, "needle").hits == ()
    (hit,) = regex(index, "needle branch:main").hits
    assert (hit.path, hit.fresh) == ("a.py", None)


def test_several_threads_search_at_once(index: Project) -> None:
    expected = places_of(regex(index, "session").hits)
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(places_of(regex(index, "session").hits)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_several_projects_answer_together(catalog: Catalog, tree: Path, tmp_path: Path) -> None:
    index_of(catalog, tree, {"a.py": "needle = 1\n"})
    other = tmp_path / "other"
    other.mkdir()
    index_of(catalog, other, {"tests/b.py": "needle = 2\n"})
    request = SearchRequest(query="needle no:filter|needle", mode=Mode.REGEX)
    answer = catalog.search([str(tree), str(other)], request)
    assert [hit.path for hit in answer.hits] == ["a.py", "tests/b.py"]
    chosen = catalog.search([str(tree), str(other)], SearchRequest(query="/needle/ project:other"))
    assert [hit.path for hit in chosen.hits] == ["tests/b.py"]


@pytest.mark.parametrize("query", ["/needle/", "needle /need/", "-/thread/ needle"])
def test_the_time_of_a_search_is_for_all_projects_together(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    seconds = count()  # one passes with each project
    search_time = pattern_search.SearchTime(lambda: float(next(seconds)))
    monkeypatch.setattr(pattern_search, "SearchTime", lambda: search_time)
    roots = [tmp_path / name for name in ("first", "second", "third", "fourth")]
    for root in roots:
        root.mkdir()
        index_of(catalog, root, {f"{root.name}.py": "needle = 1\n"})
    answer = catalog.search([str(root) for root in roots], SearchRequest(query=query))
    assert {hit.path for hit in answer.hits} == {"first.py", "second.py"}
    assert answer.truncated
    (note,) = answer.notes
    assert note.startswith("in third, fourth: not searched, as the search had taken 2 s by then;")


def test_the_command_line(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", SAMPLE)
    cairn = Command(home=tmp_path / "home", folder=tmp_path / "tree", reads_here=True)
    assert cairn("index", "--quiet").code == 0
    shape = cairn("search", "--mode", "regex", r"def \w+_session\(", "--json").json()
    assert (shape["mode"], shape["total"], shape["truncated"]) == ("regex", 1, False)
    (hit,) = shape["hits"]
    assert hit["matches"][0] == {"line": 9, "start": 4, "end": 21}
    assert (hit["line_start"], hit["snippet_line"]) == (9, 8)
    text = cairn("search", "--", "-path:tests /open_session/").out
    assert "app/session.py:9 method SessionStore.open_session\n" in text
    assert " 9 >     def open_session(" in text
    places = cairn("search", "--no-snippets", "--", "-path:tests /open_session/").out
    assert "SessionStore.open_session: def open_session(self, user_id: int) -> str:" in places
    refused = cairn("search", "--mode", "regex", "(?<=a)b lang:go")
    assert refused.code == 2
    assert "look-around (?<=…) is not supported" in refused.err
    assert "case:no" not in cairn("search", "--mode", "regex", "nowhere").out
    assert "try: case:no" in cairn("search", "--mode", "regex", "Nowhere").out
    several = cairn("search", "--batch", "-", given=b"/main\\(/\n/a(/\n")
    assert several.code == 2
    assert several.out.count("\n") == 2
