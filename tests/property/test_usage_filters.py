"""Filters by use divide what is found, find what references find, and are cached rightly."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.config import load_config
from engine.reference_records import ReferenceRequest, Use
from engine.search_records import Mode, SearchAnswer, SearchRequest
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_NAMES = ("open_it", "Store", "close_it", "View")
_PATHS = ("app/a.py", "app/b.py", "app/copy.py", "tests/test_a.py", "go/a.go", "notes.md")

_name = st.sampled_from(_NAMES)
_statement = st.one_of(
    st.builds("{}()".format, _name),
    st.builds("value = {}".format, _name),
    st.builds("value.{}({})".format, _name, _name),
    st.builds("# {}()".format, _name),
    st.builds("from app.a import {}".format, _name),
    st.builds("import app.{}".format, _name),
)
_block = st.builds(
    lambda head, name, base, body: (
        f"{head} {name}{base}:\n" + "".join(f"    {each}\n" for each in ["pass", *body])
    ),
    st.just("class"),
    _name,
    st.builds("({})".format, _name) | st.just(""),
    st.lists(_statement, max_size=3),
) | st.builds(
    lambda name, body: f"def {name}(x):\n" + "".join(f"    {each}\n" for each in ["pass", *body]),
    _name,
    st.lists(_statement, max_size=3),
)
_text = st.lists(_block | _statement.map("{}\n".format), max_size=6).map("\n".join)
_trees = st.dictionaries(st.sampled_from(_PATHS), _text, min_size=1)
_filter = st.builds("{}:{}".format, st.sampled_from(("calls", "uses", "extends", "imports")), _name)
_MODES = (Mode.KEYWORD, Mode.SYMBOL, Mode.REGEX, Mode.HYBRID)


def _same(answer: SearchAnswer) -> SearchAnswer:
    return replace(answer, took_ms=0.0)


@settings(max_examples=examples(40))
@given(tree=_trees, filters=st.lists(_filter, min_size=1, max_size=4), name=_name)
def test_filters_by_use_divide_what_is_found(
    tree: dict[str, str], filters: list[str], name: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        write_tree(root, tree)
        config = load_config(Path(folder) / "home", workers=1)
        with open_catalog(config) as catalog:
            index = catalog.create(str(root))
            index.index()

            def total(query: str, mode: Mode = Mode.REGEX) -> int:
                answer = index.search(SearchRequest(query=query, mode=mode, limit=100))
                assert answer.total == len(answer.hits)
                return answer.total

            for each in filters:
                assert total(r"\w") == total(rf"\w {each}") + total(rf"\w -{each}")
                assert total(rf"\w {each} -{each}") == 0
                listed = total("lang:python", Mode.SYMBOL)
                if each.startswith("imports"):
                    assert listed == total(f"lang:python {each}", Mode.SYMBOL) + total(
                        f"lang:python -{each}", Mode.SYMBOL
                    )
            found = index.references.find(ReferenceRequest(name=name, use=Use.CALL, limit=1000))
            calls = index.search(SearchRequest(query=f"calls:{name}", limit=100))
            shown = {(hit.path, match.line) for hit in calls.hits for match in hit.matches}
            places = {(each.path, each.line) for each in found.references}
            # A text at several paths is shown at the shortest one.
            assert shown <= places
            assert bool(shown) == bool(places)
            lines = {tree[path].splitlines()[line - 1] for path, line in places}
            assert lines == {tree[path].splitlines()[line - 1] for path, line in shown}


@settings(max_examples=examples(15))
@given(tree=_trees, filters=st.lists(_filter, min_size=1, max_size=4), word=_name)
@example(
    {"app/a.py": "class Store:\n    pass\n\nfrom app.a import open_it\n"},
    ["imports:open_it"],
    "open_it",
)
def test_what_a_process_keeps_changes_no_answer(
    tree: dict[str, str], filters: list[str], word: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        write_tree(root, tree)
        config = load_config(Path(folder) / "home", workers=1)
        with open_catalog(config) as catalog:
            index = catalog.create(str(root))
            index.index()
            for each in filters:
                for query in (each, f"{word} {each}", f"{word} -{each}", f"{word} {filters[0]}"):
                    for mode in _MODES:
                        request = SearchRequest(query=query, mode=mode, explain=True)
                        with open_catalog(config) as other:  # knows nothing yet
                            wanted = _same(other.open(str(root)).search(request))
                        for _ in range(2):
                            assert _same(index.search(request)) == wanted
