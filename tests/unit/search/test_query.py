"""The query language."""

import pytest

from engine.errors import InvalidQueryError
from engine.records import MAX_QUERY_CHARS
from engine.search.query import (
    MAX_TERMS,
    Case,
    PatternTerm,
    Term,
    parse_query,
)


def test_reads_every_kind_of_term() -> None:
    query = parse_query('open -close "exact phrase" /a+b/ lang:go -path:vendor/ kind:function')
    assert query.words == (Term("open", 0, False), Term("close", 5, True))
    assert query.phrases == (Term("exact phrase", 12, False),)
    assert query.patterns == (PatternTerm("a+b", 27, False, places=((0, 28),)),)
    assert [term.value for term in query.values("lang")] == ["go"]
    (path,) = query.values("path")
    assert (path.value, path.negated) == ("vendor/", True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("std::vector<int>", ["std::vector<int>"]),
        ("http://localhost:80", ["http://localhost:80"]),
        ("public: default:", ["public:", "default:"]),
        ("C++ a-b [0] who's", ["C++", "a-b", "[0]", "who's"]),
        ("- --", ["-", "-"]),
        ("/usr/bin/env", ["/usr/bin/env"]),
        ("a\x00b \ud800", ["a", "b"]),
        ("", []),
    ],
)
def test_code_is_words(text: str, words: list[str]) -> None:
    assert [term.text for term in parse_query(text).words] == words


def test_values_may_be_quoted() -> None:
    query = parse_query('path:"my folder/" sym:"a b"')
    assert [term.value for _, term in query.filters] == ["my folder/", "a b"]


def test_long_names_of_filters_are_the_same_filters() -> None:
    query = parse_query("language:go symbol:Foo")
    assert [name for name, _ in query.filters] == ["lang", "sym"]


@pytest.mark.parametrize(("text", "case"), [("case:yes a", Case.YES), ("a", Case.AUTO)])
def test_case(text: str, case: Case) -> None:
    assert parse_query(text).case is case


def test_quotes_can_be_escaped() -> None:
    assert parse_query(r'"say \"hi\" \\ there"').phrases[0].text == 'say "hi" \\ there'


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("foo bar:baz", 4, "unknown filter 'bar'"),
        ("foo lnag:go", 4, "unknown filter 'lnag', did you mean 'lang'"),
        ('find "open', 5, "not closed"),
        ("lang:", 5, "no value"),
        ("x lang: y", 7, "no value"),
        ("x -case:yes", 2, "cannot be negated"),
        ("x -branch:main", 2, "cannot be negated"),
        ("case:maybe", 5, "expected yes, no or auto"),
        ("w" * 300, 0, "300 characters"),
        ("a" * (MAX_QUERY_CHARS + 1), MAX_QUERY_CHARS, "characters"),
        ("ab " * (MAX_TERMS + 1), MAX_TERMS * 3, "words"),
    ],
)
def test_errors_name_the_position(text: str, position: int, part: str) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        parse_query(text)
    assert caught.value.position == position
    assert part in caught.value.message
    assert caught.value.as_json()["error"] == "validation_error"


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("/a b/ x", ["a b"]),
        (r"/a\/b/", [r"a\/b"]),
        (r"/a\\/ b", [r"a\\"]),
        ("-/x/ /y/", ["x", "y"]),
        ("/usr/bin/env", []),
        ("a // b /", []),
        ("/usr/lib/", ["usr/lib"]),
    ],
)
def test_slashes_make_a_pattern_before_white_space_only(text: str, patterns: list[str]) -> None:
    assert [term.text for term in parse_query(text).patterns] == patterns


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (r"foo\(bar, baz\) lang:go", r"foo\(bar, baz\)"),
        ("lang:go a  b path:src c", "a  b c"),
        ('import "fmt"', 'import "fmt"'),
        ('a "b', 'a "b'),
        ("unknown:x std::y http://z", "unknown:x std::y http://z"),
        (r"case: \d", r"case: \d"),
        ("-x - y", "-x - y"),
        ("a\\ ", "a\\ "),
        ("/usr/bin/env", "/usr/bin/env"),
    ],
)
def test_the_rest_of_a_query_can_be_one_pattern(text: str, pattern: str) -> None:
    query = parse_query(text, as_pattern=True)
    assert [(term.text, term.is_literal) for term in query.patterns] == [(pattern, False)]
    assert query.words == query.phrases == ()


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("def ", "def "),
        (" +$", " +$"),
        ("  a\t", "  a\t"),
        ("a lang:go", "a"),
        ("a  lang:go", "a "),
        ("lang:go a", "a"),
        ("lang:go  a ", " a "),
        ("lang:go  a  -/b/", " a "),
        (" a  lang:go b ", " a  b "),
        ("a \r\n", "a "),
        ("lang:go\n a", " a"),
    ],
)
def test_blanks_at_the_ends_of_a_pattern_count_but_for_one_beside_a_filter(
    text: str, pattern: str
) -> None:
    query = parse_query(text, as_pattern=True)
    [read] = [term for term in query.patterns if not term.negated]
    assert read.text == pattern
    for offset, character in enumerate(read.text):
        assert character in (text[read.position_of(offset)], " ")


@pytest.mark.parametrize("text", ["", "  ", " lang:go  ", "\t\n "])
def test_blanks_alone_are_no_pattern(text: str) -> None:
    assert parse_query(text, as_pattern=True).patterns == ()


@pytest.mark.parametrize("text", ['  "a" ', " /a/  "])
def test_blanks_around_a_term_are_none_of_it(text: str) -> None:
    [read] = parse_query(text, as_pattern=True).patterns
    assert read.text == "a"


def test_quoted_terms_alone_are_literals() -> None:
    query = parse_query(r'"a[0]" lang:go "say \"hi\"" -"no" -/n?o/', as_pattern=True)
    assert [(term.text, term.negated, term.is_literal) for term in query.patterns] == [
        ("no", True, True),
        ("n?o", True, False),
        ("a[0]", False, True),
        ('say "hi"', False, True),
    ]


def test_characters_of_a_pattern_have_their_positions() -> None:
    (slashed,) = parse_query("word -/abc/").patterns
    assert [slashed.position_of(offset) for offset in (0, 2)] == [7, 9]
    (rest,) = parse_query("ab lang:go cd", as_pattern=True).patterns
    assert [(rest.text[at], rest.position_of(at)) for at in (0, 1, 3, 4)] == [
        ("a", 0),
        ("b", 1),
        ("c", 11),
        ("d", 12),
    ]


@pytest.mark.parametrize(
    ("text", "position"),
    [("/a\0/", 2), ("x /a\ud800/", 4), ('/a/ -"b" "\0"', 10), ("a lang:go b\0c", 11)],
)
def test_a_pattern_with_a_character_that_no_text_holds_is_refused(text: str, position: int) -> None:
    with pytest.raises(InvalidQueryError, match="no text contains") as caught:
        parse_query(text, as_pattern=True)
    assert caught.value.position == position
