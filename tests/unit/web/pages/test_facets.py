"""Facets: their values, the most frequent first, and the queries they write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cross_project import FILTER_ALIASES, FILTER_NAMES
from engine.search.query import parse_query
from engine.search_records import Hit
from web.pages.facets import facets_of, filters_in, with_filter, without


def _hit(
    path: str,
    language: str = "python",
    kind: str | None = "function",
    tags: tuple[str, ...] = (),
) -> Hit:
    return Hit(
        project="/home/me/app",
        path=path,
        line_start=1,
        line_end=2,
        language=language,
        symbol=None,
        kind=kind,
        signature=None,
        score=1.0,
        why=(),
        fresh=True,
        snippet="",
        tags=tags,
    )


HITS = [
    _hit("src/a.py"),
    _hit("src/sub/b.py", kind=None),
    _hit("docs/c.md", "markdown", "section"),
]


def test_values_come_by_frequency_and_write_the_query_language() -> None:
    facets = {facet.name: facet for facet in facets_of("open it", HITS)}
    assert set(facets) == {"lang", "kind", "path"}  # one project tells nothing apart
    assert [tuple(value) for value in facets["lang"].values] == [
        ("python", "open it lang:python", False),
        ("markdown", "open it lang:markdown", False),
    ]
    assert [value.label for value in facets["path"].values] == ["src/", "docs/"]


@pytest.mark.parametrize(
    ("hits", "labels"),
    [
        (HITS, None),  # an ending for each language
        ([_hit("a.ts", "typescript"), _hit("b.mts", "typescript")], [".ts", ".mts"]),
        ([_hit("a.h", "c"), _hit("b.h", "c++"), _hit("c.py")], [".h"]),
        ([_hit("a.py", tags=("api",)), _hit("b.py")], ["api"]),
        ([_hit("a.py", tags=("api",)), _hit("b.py", tags=("api",))], None),  # all have it
    ],
)
def test_tags_are_those_that_tell_files_of_a_language_apart(
    hits: list[Hit], labels: list[str] | None
) -> None:
    shown = {
        facet.name: [value.label for value in facet.values] for facet in facets_of("open", hits)
    }
    assert shown.get("tag") == labels


def test_a_filter_in_use_can_be_taken_out_and_a_folder_gone_into() -> None:
    facets = {facet.name: facet for facet in facets_of("open lang:python path:src/", HITS[:2])}
    [active] = facets["lang"].values
    assert (active.query, active.is_active) == ("open path:src/", True)
    assert [value.label for value in facets["path"].values] == ["src/", "src/sub/"]


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        ("open", ["src/", "docs/"]),
        ("open path:src", ["src", "src/sub/", "docs/"]),  # no "src/", which is the same
        ("open path:src/sub path:src", ["src/sub", "src", "docs/"]),
        ("open path:/src/", ["/src/", "/src/sub/", "docs/"]),
        ("open path:*.py", ["*.py", "src/", "docs/"]),
        ("open -path:src", ["src/", "docs/"]),
    ],
)
def test_folders_are_those_below_the_one_that_is_asked_for(query: str, labels: list[str]) -> None:
    facets = {facet.name: facet for facet in facets_of(query, HITS)}
    assert [value.label for value in facets["path"].values] == labels


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("a lang:go b", ["lang:go"]),
        ('-path:"my dir/" language:go', ['-path:"my dir/"', "language:go"]),
        ('"not lang:go" /kind:x/ std::vector http://x', []),
        ("nolang:go case:yes", ["case:yes"]),
        ("calls:a.b -imports:./x calls::y", ["calls:a.b", "-imports:./x"]),
    ],
)
def test_filters_are_found_where_the_query_language_has_them(query: str, found: list[str]) -> None:
    assert [each.text for each in filters_in(query)] == found


@pytest.mark.parametrize("name", [*FILTER_NAMES, *FILTER_ALIASES])
def test_every_filter_of_the_query_language_is_found(name: str) -> None:
    assert [each.text for each in filters_in(f"a {name}:b")] == [f"{name}:b"]


@pytest.mark.parametrize(
    ("query", "left"),
    [("def  lang:go", "def "), ("lang:go  a", " a"), ("a lang:go b", "a b"), ("a lang:go", "a")],
)
def test_a_filter_goes_with_one_blank_and_leaves_those_of_a_pattern(query: str, left: str) -> None:
    [written] = filters_in(query)
    assert without(query, written) == left
    assert (
        parse_query(with_filter("def ", "lang", "go"), as_pattern=True).patterns[0].text == "def "
    )


@pytest.mark.parametrize(
    ("query", "left"), [("a NOT lang:go b", "a b"), ("NOT lang:go a", "a"), ("a -lang:go", "a")]
)
def test_a_filter_goes_with_what_excludes_it(query: str, left: str) -> None:
    [written] = filters_in(query)
    assert written.is_negated
    assert without(query, written) == left
    assert all(facet.name != "lang" for facet in facets_of(query, [_hit("app/a.py")]))


def test_in_a_pattern_not_is_text() -> None:
    query = "NOT lang:go -path:src"
    assert [each.text for each in filters_in(query, as_pattern=True)] == ["lang:go", "-path:src"]
    parsed = parse_query(query, as_pattern=True)
    assert [term.negated for _, term in parsed.filters] == [False, True]
    facets = {each.name: each for each in facets_of(query, HITS[:2], as_pattern=True)}
    [used] = [value for value in facets["lang"].values if value.is_active]
    assert (used.label, used.query) == ("go", "NOT -path:src")


@given(st.text("ab \"\\/:-'", min_size=1, max_size=12).filter(str.strip))
def test_any_value_can_be_written_and_read_again(value: str) -> None:
    query = with_filter("word", "path", value)
    assert [term.value for term in parse_query(query).values("path")] == [value]
    [written] = filters_in(query)
    assert written.value == value
    assert without(query, written) == "word"
