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
        ("- -- --flag -x -10 a->b -> -=", ["-", "--", "--flag", "-x", "-10", "a->b", "->", "-="]),
        ('find "open', ["find", '"open']),
        ('lang: x sym:"" path:', ["lang:", "x", 'sym:""', "path:"]),
        ("route:list closure", ["route:list", "closure"]),
        ("w" * 300, ["w" * 256]),
        ("@app.route #123 \U0001f600 <b>", ["@app.route", "#123", "\U0001f600", "<b>"]),
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
        ("x -case:yes", 2, "cannot be negated"),
        ("x -branch:main", 2, "cannot be negated"),
        ("case:maybe", 5, "expected yes, no or auto"),
        ("a" * (MAX_QUERY_CHARS + 1), MAX_QUERY_CHARS, "characters"),
        ("path:a " * (MAX_TERMS + 1), MAX_TERMS * 7 + 5, "filters"),
    ],
)
def test_errors_name_the_position(text: str, position: int, part: str) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        parse_query(text)
    assert caught.value.position == position
    assert part in caught.value.message
    assert caught.value.as_json()["error"] == "validation_error"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("foo bar:baz", "'bar:' is not a filter, so it was searched for as text"),
        ("foo lnag:go", "did you mean 'lang'"),
        ("ab " * (MAX_TERMS + 1), f"only the first {MAX_TERMS} words count"),
        ('"' + "long " * 60 + '"', "is searched as words"),
    ],
)
def test_notes_say_what_was_read_as_text(text: str, note: str) -> None:
    query = parse_query(text)
    assert note in query.notes[0]
    assert 0 < len(query.words) <= MAX_TERMS
    assert (query.filters, query.phrases) == ((), ())


def test_in_a_sentence_quotes_rank_and_a_minus_is_text() -> None:
    query = parse_query('We now handle -trimpath arguments "--arg=VALUE"')
    assert [(term.text, term.negated) for term in query.words] == [
        ("We", False),
        ("now", False),
        ("handle", False),
        ("trimpath", False),
        ("arguments", False),
    ]
    assert [term.text for term in query.mentions] == ["--arg=VALUE"]
    assert query.phrases == ()
    assert query.notes == ('in a sentence, "--arg=VALUE" ranks but is not required',)


def test_notes_quote_little_and_say_nothing_of_empty_quotes() -> None:
    query = parse_query(f'it fails to say "" and "{"long words " * 20}" there')
    assert len(query.mentions) == len(query.notes) == 1
    assert len(query.notes[0]) < 120


def test_filters_and_patterns_surround_a_sentence() -> None:
    query = parse_query("lang:go where does path:rules /a+/ decide what this -path:tests /b+/")
    assert [(name, term.value, term.negated) for name, term in query.filters] == [
        ("lang", "go", False),
        ("path", "tests", True),
    ]
    assert [term.text for term in query.patterns] == ["b+"]
    assert [term.text for term in query.words] == [
        *("where", "does", "path:rules", "/a+/", "decide", "what", "this")
    ]
    assert [note.split()[3] for note in query.notes] == ["path:rules", "/a+/"]


@pytest.mark.parametrize(
    "text",
    ['lang:go parse "exact words" -tests', 'retry "connection reset by peer"', '"a b c d e"'],
)
def test_a_short_query_requires_its_phrases(text: str) -> None:
    query = parse_query(text)
    assert len(query.phrases) == 1
    assert (query.mentions, query.notes) == ((), ())


def test_not_and_brackets_are_operators() -> None:
    query = parse_query('(lang:go OR lang:rust) retry NOT test NOT "a b"')
    assert [term.value for term in query.values("lang")] == ["go", "rust"]
    assert [(term.text, term.negated) for term in query.words] == [
        ("OR", False),
        ("retry", False),
        ("test", True),
    ]
    assert [(term.text, term.negated) for term in query.phrases] == [("a b", True)]
    assert [term.text for term in parse_query("NOT a").words] == ["NOT", "a"]


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
