"""Filters by use: what calls, uses, extends or imports a name, in real indexes."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import InvalidQueryError
from engine.project import Project
from engine.reference_records import ReferenceRequest, Use
from engine.search_records import Mode, SearchAnswer, SearchRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "app/__init__.py": "",
    "app/session.py": '''"""Sessions."""


class Store:
    def open(self, key):
        return key

    def close_all(self):
        return self.open("last")


class Cache:
    def open(self, key):
        return [key]


def open_session(store: Store, key):
    """Open a session of a user."""
    return store.open(key)
''',
    "app/web.py": """import numpy as np
from .session import open_session as begin, Store


class View(Store):
    def get(self, request):
        begin(self, request.key)
        return np.array([1])

    def head(self, request):
        return None


def lonely(request):
    return begin
""",
    "app/plain.py": """def nothing(request):
    return request
""",
    "tests/test_session.py": """from app.session import open_session


def test_open_session():
    assert open_session(None, 1)
""",
    "go/server.go": """package server

import (
	"fmt"

	"github.com/acme/pool"
)

type Base struct{}

type Server struct {
	Base
	size int
}

func (s *Server) Start() error {
	return dial(pool.Get())
}

func dial(name string) error {
	return fmt.Errorf("no %s", name)
}
""",
    "ts/session.ts": """export interface Session { id: string }
export function makeSession(id: string): Session { return { id } }
export const other = 1
""",
    "ts/page.ts": """import { makeSession } from "./session.js"
import React from "react"

export class Page extends React.Component {
  render() {
    return makeSession("a")
  }
}
""",
    "rust/lib.rs": """use std::collections::{HashMap, HashSet as Set};
use crate::shapes::Shape;

pub struct Circle { radius: f32 }

impl Shape for Circle {
    fn area(&self) -> f32 { square(self.radius) }
}

fn square(side: f32) -> f32 { side * side }
""",
    "java/Shop.java": """package shop;

import java.util.List;

public class Shop extends Place implements Runnable {
    public void run() { sell(1); }
    private void sell(int count) { }
}
""",
    "c/memory.c": """#include <stdlib.h>
#include "memory.h"

void *take(int size)
{
	return malloc(size);
}

void *take_all(void)
{
	/* take(3) is told here */
	return take(9);
}
""",
    "c/memory.h": "void *take(int size);\n",
    "make/Makefile": "all:\n\t./take 3\n",
    "README.md": "Call open_session.\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of an index of the tree, which lies beside it."""
    folder = tmp_path_factory.mktemp("usage")
    root = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        catalog.create(str(root)).index()
    return folder / "home"


@pytest.fixture(scope="module")
def project(home: Path) -> Iterator[Project]:
    with catalog_in(home) as catalog:
        yield catalog.open(str(home.parent / "tree"))


def _answer(project: Project, query: str, mode: Mode = Mode.HYBRID) -> SearchAnswer:
    return project.search(SearchRequest(query=query, mode=mode, limit=50))


def _places(project: Project, query: str, mode: Mode = Mode.HYBRID) -> list[str]:
    """Return path and first line of each hit."""
    return [f"{hit.path}:{hit.line_start}" for hit in _answer(project, query, mode).hits]


def test_a_file_below_a_folder_of_sources_is_imported_by_its_module(
    tmp_path: Path,
) -> None:
    tree = write_tree(
        tmp_path / "src-layout",
        {
            "src/shop/__init__.py": "",
            "src/shop/stock.py": "def take():\n    return 1\n",
            "src/shop/orders.py": "from .stock import take\n",
            "tests/test_a.py": "from shop.stock import take\n",
            "tests/test_b.py": "import shop.orders\n",
            "tests/test_c.py": "from shop import stock\n",
        },
    )
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, tree)
        found = _places(project, "imports:src/shop/stock.py")
        assert sorted(found) == ["src/shop/orders.py:1", "tests/test_a.py:1", "tests/test_c.py:1"]
        assert _places(project, "imports:src/shop/orders.py") == ["tests/test_b.py:1"]
        assert _places(project, "imports:src/shop/__init__.py") == ["tests/test_c.py:1"]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("calls:open_session", ["app/web.py:7", "tests/test_session.py:5"]),
        ("calls:open_session()", ["app/web.py:7", "tests/test_session.py:5"]),
        ("calls:Store.open", ["app/session.py:9", "app/session.py:19"]),
        ("calls:session.open_session", ["app/web.py:7", "tests/test_session.py:5"]),
        ("calls:np.array", ["app/web.py:8"]),
        ("calls:numpy.array", ["app/web.py:8"]),
        ("calls:array", ["app/web.py:8"]),
        ("calls:dial", ["go/server.go:17"]),
        ("calls:pool.Get", ["go/server.go:17"]),
        ("calls:makeSession", ["ts/page.ts:6"]),
        ("calls:square", ["rust/lib.rs:7"]),
        ("calls:sell", ["java/Shop.java:6"]),
        ("calls:take", ["c/memory.c:12"]),
        ("calls:malloc", ["c/memory.c:6"]),
        ("extends:Store", ["app/web.py:5"]),
        ("extends:Base", ["go/server.go:12"]),
        ("extends:React.Component", ["ts/page.ts:4"]),
        ("extends:Shape", ["rust/lib.rs:6"]),
        ("extends:Place", ["java/Shop.java:5"]),
        ("extends:Runnable", ["java/Shop.java:5"]),
        ("imports:numpy", ["app/web.py:1"]),
        ("imports:open_session", ["app/web.py:2", "tests/test_session.py:1"]),
        ("imports:app.session", ["app/web.py:2", "tests/test_session.py:1"]),
        ("imports:app/session.py", ["app/web.py:2", "tests/test_session.py:1"]),
        ("imports:.session", ["app/web.py:2"]),
        ("imports:fmt", ["go/server.go:4"]),
        ("imports:acme/pool", ["go/server.go:6"]),
        ("imports:pool", ["go/server.go:6"]),
        ("imports:./session", ["ts/page.ts:1"]),
        ("imports:ts/session.ts", ["ts/page.ts:1"]),
        ("imports:react", ["ts/page.ts:2"]),
        ("imports:std::collections", ["rust/lib.rs:1"]),
        ("imports:HashSet", ["rust/lib.rs:1"]),
        ("imports:shapes::Shape", ["rust/lib.rs:2"]),
        ("imports:java.util", ["java/Shop.java:3"]),
        ("imports:List", ["java/Shop.java:3"]),
        ("imports:stdlib.h", ["c/memory.c:1"]),
        ("imports:<stdlib.h>", ["c/memory.c:1"]),
        ("imports:memory", ["c/memory.c:2"]),
    ],
)
def test_a_filter_alone_lists_what_has_the_use(
    project: Project, query: str, places: list[str]
) -> None:
    answer = _answer(project, query)
    assert [f"{hit.path}:{hit.matches[0].line}" for hit in answer.hits] == places
    assert (answer.total, answer.truncated) == (len(places), False)
    verb = query.partition(":")[0]
    assert all(any(why.startswith(f"{verb} ") for why in hit.why) for hit in answer.hits)


def test_a_hit_shows_the_line_that_uses_the_name(project: Project) -> None:
    [hit] = _answer(project, "calls:np.array").hits
    assert (hit.line_start, hit.line_end, hit.symbol) == (8, 8, "View.get")
    [imported] = _answer(project, "imports:numpy").hits
    assert (imported.line_start, imported.symbol) == (1, None)  # outside of definitions
    [match] = hit.matches
    line = hit.snippet.splitlines()[match.line - (hit.snippet_line or 8)]
    assert line[match.start : match.end] == "array"
    assert "calls np.array, likely" in hit.why


def test_calls_are_those_of_references(project: Project) -> None:
    for name in ("open_session", "take", "Store.open", "Cache.open", "open", "dial", "sell"):
        found = project.references.find(ReferenceRequest(name=name, use=Use.CALL, limit=1000))
        shown = {
            (hit.path, match.line)
            for hit in _answer(project, f"calls:{name}").hits
            for match in hit.matches
        }
        assert shown == {(each.path, each.line) for each in found.references}, name


def test_every_use_counts_but_the_definition(project: Project) -> None:
    found = project.references.find(ReferenceRequest(name="open_session", limit=1000))
    used = {(each.path, each.line) for each in found.references if each.use is not Use.DEFINITION}
    answer = _answer(project, "uses:open_session")
    assert {(hit.path, match.line) for hit in answer.hits for match in hit.matches} == used
    assert ("app/session.py", 17) not in used
    assert answer.notes == (
        "in 1 file (markdown) references are not read: each open_session there counts as a use",
    )
    assert _answer(project, "calls:take").notes == (
        "1 file (makefile) with take is not looked at: references are not read there",
    )


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING, Mode.KEYWORD, Mode.REGEX])
def test_filters_alone_list_the_same_in_every_mode(project: Project, mode: Mode) -> None:
    for query in ("calls:open_session", "uses:Store", "extends:Store", "imports:numpy"):
        assert _places(project, query, mode) == _places(project, query)


def test_symbol_mode_lists_the_definitions(project: Project) -> None:
    def symbols(query: str) -> list[str | None]:
        return [hit.symbol for hit in _answer(project, query, Mode.SYMBOL).hits]

    assert symbols("calls:open_session") == ["View.get", "test_open_session"]
    assert symbols("extends:Store") == ["View"]
    assert symbols("get calls:open_session") == ["View.get"]
    assert symbols("get calls:take") == []
    assert symbols("sym:get calls:open_session") == ["View.get"]
    assert symbols("calls:Store.open") == ["Store.close_all", "open_session"]
    assert symbols("lang:python path:app/web.py -calls:open_session") == ["View.head", "lonely"]


def test_uses_outside_of_definitions_are_told_in_symbol_mode(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "import it\n\nit.start_all()\n"})
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        assert _places(project, "calls:start_all") == ["a.py:3"]
        answer = _answer(project, "calls:start_all", Mode.SYMBOL)
    assert (answer.hits, answer.notes) == (
        (),
        ("1 place calls start_all, but no definition around matches the rest of the query",),
    )


def test_a_kind_or_a_name_wants_the_definition_around(project: Project) -> None:
    hits = _answer(project, "kind:class calls:open_session").hits
    assert [(hit.symbol, hit.matches[0].line) for hit in hits] == [("View", 7)]
    assert [hit.symbol for hit in _answer(project, "kind:method calls:open_session").hits] == [
        "View.get"
    ]
    assert [hit.symbol for hit in _answer(project, "sym:View calls:open_session").hits] == ["View"]
    assert _answer(project, "sym:lonely calls:open_session").hits == ()


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING, Mode.KEYWORD])
def test_words_rank_what_passes(project: Project, mode: Mode) -> None:
    assert {each.partition(":")[0] for each in _places(project, "open session", mode)} > {
        "app/session.py"
    }
    found = _answer(project, "open session request calls:open_session", mode)
    assert {hit.path for hit in found.hits} == {"app/web.py", "tests/test_session.py"}
    assert all(hit.matches for hit in found.hits)
    narrower = _answer(project, "session request calls:open_session path:app", mode)
    assert [(hit.path, hit.matches[0].line) for hit in narrower.hits] == [("app/web.py", 7)]


def test_patterns_look_into_what_passes(project: Project) -> None:
    for query, mode in (("return calls:open_session", Mode.REGEX), ("/return/ calls:take", None)):
        hits = _answer(project, query, mode or Mode.HYBRID).hits
        assert {hit.path for hit in hits} == ({"app/web.py"} if mode else {"c/memory.c"})
    [hit] = _answer(project, "request calls:open_session", Mode.REGEX).hits
    assert 7 in {match.line for match in hit.matches}
    assert _answer(project, "nowhere calls:open_session", Mode.REGEX).hits == ()


def test_imports_choose_whole_files(project: Project) -> None:
    [hit] = _answer(project, "lonely request imports:numpy", Mode.KEYWORD).hits[:1]
    assert (hit.path, "imports numpy" in hit.why) == ("app/web.py", True)
    assert _answer(project, "radius imports:numpy", Mode.KEYWORD).hits == ()
    files = _places(project, "lang:python path:app -imports:numpy")
    assert files == ["app/plain.py:1", "app/session.py:1"]


def test_negated_filters_exclude(project: Project) -> None:
    both = {hit.path for hit in _answer(project, "session request", Mode.KEYWORD).hits}
    left = {
        hit.path
        for hit in _answer(project, "session request -calls:open_session", Mode.KEYWORD).hits
    }
    assert {"app/web.py", "tests/test_session.py"} <= both
    assert "tests/test_session.py" not in left
    assert "app/plain.py" in left
    # A list of files leaves out those with such a place.
    assert _places(project, "path:app lang:python -calls:open_session") == [
        "app/plain.py:1",
        "app/session.py:1",
    ]
    assert _places(project, "calls:open_session -path:tests") == ["app/web.py:7"]
    assert _places(project, "uses:Store -extends:Store path:app/web.py") == []
    with pytest.raises(InvalidQueryError, match="nothing to search for"):
        _answer(project, "-calls:open_session")


def test_filters_are_joined(project: Project) -> None:
    assert _places(project, "calls:open_session calls:array") == ["app/web.py:7"]
    assert _places(project, "calls:open_session calls:take") == []
    assert _places(project, "extends:Store calls:array") == ["app/web.py:5"]
    assert _places(project, "imports:numpy calls:open_session") == ["app/web.py:7"]
    [note] = _answer(project, "calls:open_session lang:go").notes
    assert note == ("2 places call open_session, but nothing there matches the rest of the query")


@pytest.mark.parametrize("mode", list(Mode))
def test_names_that_nothing_has_are_told(project: Project, mode: Mode) -> None:
    answer = _answer(project, "calls:open_sesion", mode)
    assert (answer.hits, answer.total) == ((), 0)
    assert answer.notes[0] == (
        "no definition and no use of 'open_sesion', did you mean 'open_session'?"
    )
    assert answer.missing == ("open_sesion",)


def test_what_is_known_of_a_name_without_such_a_use_is_told(project: Project) -> None:
    assert _answer(project, "calls:Open_Session").notes == (
        "no definition and no use of 'Open_Session', did you mean 'open_session'?",
    )
    assert _answer(project, "extends:open_session").notes[0] == (
        "nothing extends open_session; uses:open_session finds 6 other uses"
    )
    assert _answer(project, "calls:take_all").notes == (
        "take_all is defined, but nothing uses it by name",
    )
    assert _answer(project, "imports:nunpy").notes == ("no import of 'nunpy'",)
    assert _answer(project, "imports:lonely").notes == ("nothing imports lonely",)
    assert _answer(project, "calls:Shelf.open").notes == (
        "open is defined as Store.open, Cache.open",
        "no definition and no use of 'Shelf.open'",
    )
    assert _answer(project, "open -calls:nowhere_at_all").notes == (
        "no definition and no use of 'nowhere_at_all'",
    )


@pytest.mark.parametrize(
    "query",
    [
        "calls:" + "x" * 900,
        "calls:\0open_session",
        'calls:"."',
        'calls:"()"',
        'uses:" "',
        'uses:"\\""',
        'imports:"*"',
        "imports:..",
        "imports:/",
        "imports:./",
        "extends:x",
        "calls:café",
        "calls:::x",
        'calls:"a OR b"',
        "uses:';DROP TABLE files;--",
        "calls:\ud800x",
        "imports:" + "../" * 300 + "x",
        "calls:" + "a." * 400 + "open",
        " ".join(f"-calls:n{number}" for number in range(8)) + " open",
        "calls:open " * 64,
    ],
)
def test_hostile_names_are_answered(project: Project, query: str) -> None:
    for mode in Mode:
        with suppress(InvalidQueryError):  # a pattern with NUL, or nothing to search for
            assert len(_answer(project, query, mode).hits) <= 50


def test_too_many_and_too_long_names_are_refused(project: Project) -> None:
    with pytest.raises(InvalidQueryError, match="at most 8 different names") as refused:
        _answer(project, " ".join(f"calls:n{number}" for number in range(9)))
    assert refused.value.position == 8 * len("calls:n0 ") + len("calls:")
    with pytest.raises(InvalidQueryError, match="at most 1000"):
        _answer(project, "calls:" + "x" * 1001)
    with pytest.raises(InvalidQueryError, match="at most 64"):
        _answer(project, "calls:x " * 500)


def test_the_score_explains_itself(project: Project) -> None:
    request = SearchRequest(query="calls:open_session", explain=True)
    explained = [hit.explain for hit in project.search(request).hits]
    assert [each.shares for each in explained if each] == [{"listed": 1.0, "calls": 0.0}] * 2
    assert [each.factors for each in explained if each] == [{}, {"test": 0.3}]


def test_a_process_that_knows_the_index_answers_the_same(home: Path, project: Project) -> None:
    root = str(home.parent / "tree")
    for query in ("session calls:open_session", "uses:Store", "open -imports:numpy", "calls:take"):
        for mode in (Mode.HYBRID, Mode.KEYWORD, Mode.SYMBOL):
            with catalog_in(home) as other:
                first = other.open(root).search(SearchRequest(query=query, mode=mode))
            for _ in range(2):
                again = project.search(SearchRequest(query=query, mode=mode))
                assert (again.hits, again.total, again.notes) == (
                    first.hits,
                    first.total,
                    first.notes,
                )


def test_each_project_resolves_in_its_own_index(tmp_path: Path) -> None:
    one = write_tree(tmp_path / "one", {"a.py": "def f_one(): pass\n\n\nf_one()\n"})
    two = write_tree(tmp_path / "two", {"b.py": "from x import f_one\n\nf_one(2)\n"})
    three = write_tree(tmp_path / "three", {"c.py": "pass\n"})
    with catalog_in(tmp_path / "home") as catalog:
        roots = [str(root) for root in (one, two, three)]
        for root in roots:
            catalog.create(root).index()
        answer = catalog.search(roots, SearchRequest(query="calls:f_one"))
        assert [(hit.path, hit.matches[0].line) for hit in answer.hits] == [
            ("a.py", 4),
            ("b.py", 3),
        ]
        assert (answer.total, answer.notes, answer.missing) == (2, (), ())
        nowhere = catalog.search(roots, SearchRequest(query="calls:f_two"))
        assert nowhere.notes == ("no definition and no use of 'f_two'",)
        assert nowhere.missing == ("f_two",)


def test_many_uses_are_cut_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.references.lookup._MOST_FILES", 3)
    files = {f"f{number}.py": f"call_it({number})\n" for number in range(6)}
    root = write_tree(tmp_path / "tree", files)
    with catalog_in(tmp_path / "home") as catalog:
        answer = _answer(_indexed(catalog, root), "calls:call_it")
    assert (answer.total, answer.truncated) == (3, True)
    assert answer.notes == ("call_it may stand in more than 3 files; only these were read",)


def test_edits_change_the_answer(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "def f_one(): pass\n", "b.py": "f_one()\n"})
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        assert _places(project, "calls:f_one") == ["b.py:1"]
        (root / "b.py").write_text("pass\n")
        (root / "c.py").write_text("import a\n\na.f_one()\n")
        project.index()
        assert _places(project, "calls:f_one") == ["c.py:3"]


def test_a_definition_whose_call_is_far_from_its_begin_is_found(tmp_path: Path) -> None:
    body = "".join(f"    value_{number} = {number} * {number}\n" for number in range(400))
    text = f"def long_one():\n{body}    far_away()\n\n\ndef far_away():\n    pass\n"
    root = write_tree(tmp_path / "tree", {"long.py": text})
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        for query in ("calls:far_away", "long_one calls:far_away"):
            [hit] = _answer(project, query, Mode.SYMBOL).hits
            assert (hit.symbol, [match.line for match in hit.matches]) == ("long_one", [402])
        [place] = _answer(project, "calls:far_away").hits
        assert (place.symbol, place.line_start) == ("long_one", 402)


def _indexed(catalog: Catalog, root: Path) -> Project:
    project = catalog.create(str(root))
    project.index()
    return project


def test_a_text_at_two_paths_is_shown_where_it_has_the_use(tmp_path: Path) -> None:
    text = "from .it import f_one\n\nf_one()\n"
    files = {
        "a/it.py": "def f_one(): pass\n",
        "bb/it.py": "class Two:\n    def f_one(self): pass\n",
        "a/user.py": text,
        "bb/user.py": text,
        "c.py": "from bb.it import Two\n\nTwo().f_one()\n",
    }
    root = write_tree(tmp_path / "tree", files)
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        assert "bb/user.py:1" in _places(project, "imports:bb.it")
        assert "a/user.py:1" not in _places(project, "imports:bb.it")
        assert _places(project, "imports:a.it") == ["a/user.py:1"]
        left = _places(project, "lang:python -imports:a.it")
        assert left == ["a/it.py:1", "bb/it.py:1", "bb/user.py:1", "c.py:1"]


def test_filters_apply_before_every_limit(tmp_path: Path) -> None:
    files = {f"f{number}.py": "# alpha beta\n" * 3 for number in range(300)}
    files["far/away.py"] = "def far(x):\n    return rare_one(x)  # alpha of many other words\n"
    body = "".join(f"    value_{number} = {number} * {number}\n" for number in range(300))
    files["gamma.py"] = f'"""gamma"""\n\n\ndef first():\n{body}\n\ndef last():\n    rare_two()\n'
    root = write_tree(tmp_path / "tree", files)
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        for mode in (Mode.HYBRID, Mode.KEYWORD, Mode.MEANING):
            request = SearchRequest(query="alpha calls:rare_one", mode=mode, limit=1)
            [hit] = project.search(request).hits
            assert (hit.path, hit.line_start) == ("far/away.py", 2), mode
        for query in ("rare_one calls:rare_one", "/alpha/ calls:rare_one"):
            assert _places(project, query)[0].startswith("far/away.py:")
        # Of a file that is found by its name, the place that passes is shown.
        [named] = _answer(project, "gamma calls:rare_two", Mode.KEYWORD).hits
        assert (named.path, named.symbol) == ("gamma.py", "last")
