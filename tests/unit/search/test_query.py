"""The query language."""

import pytest

from engine.errors import InvalidQueryError
from engine.search.query import (
    MAX_TERMS,
    Case,
    PatternTerm,
    Term,
    is_of_commits,
    parse_query,
)
from engine.search_records import MAX_QUERY_CHARS


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


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("calls:open_session", [("calls", "open_session", False)]),
        ("calls:open_session()", [("calls", "open_session", False)]),
        ("(uses:Store.open)", [("uses", "Store.open", False)]),
        ("-extends:a::B x", [("extends", "a::B", True)]),
        ("imports:./session.js", [("imports", "./session.js", False)]),
        (
            "imports:<stdio.h> imports:@acme/pool",
            [
                ("imports", "<stdio.h>", False),
                ("imports", "@acme/pool", False),
            ],
        ),
        ('calls:"open session"', [("calls", "open session", False)]),
        ("x NOT calls:y", [("calls", "y", True)]),
        ("uses: actions", []),
        ("calls::x imports://x", []),
        ("where is the session opened now calls:open_session", [("calls", "open_session", False)]),
        ("where is the session opened now uses:%s", []),
        ("it uses:x where it should not be", []),
    ],
)
def test_filters_by_use(text: str, filters: list[tuple[str, str, bool]]) -> None:
    found = [(name, term.value, term.negated) for name, term in parse_query(text).filters]
    assert found == filters


@pytest.mark.parametrize(
    ("text", "patterns", "names"),
    [
        ("calls:x return", ["return"], ["x"]),
        (r"uses:\s+actions", [r"uses:\s+actions"], []),
        ("calls:(a|b)", ["calls:(a|b)"], []),
        ("imports:a.*b", ["imports:a.*b"], []),
        ("imports:a.b x", ["x"], ["a.b"]),
        ("calls:empty? x", ["x"], ["empty?"]),
    ],
)
def test_in_a_pattern_a_filter_by_use_has_a_name(
    text: str, patterns: list[str], names: list[str]
) -> None:
    query = parse_query(text, as_pattern=True)
    assert [term.text for term in query.patterns] == patterns
    assert [term.value for _, term in query.filters] == names


@pytest.mark.parametrize(("text", "case"), [("case:yes a", Case.YES), ("a", Case.AUTO)])
def test_case(text: str, case: Case) -> None:
    assert parse_query(text).case is case


def test_quotes_can_be_escaped() -> None:
    assert parse_query(r'"say \"hi\" \\ there"').phrases[0].text == 'say "hi" \\ there'


@pytest.mark.parametrize(
    ("text", "position", "part"),
    [
        ("x -case:yes", 2, "cannot be negated"),
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
        ("type:nope x", "'type:' takes commit, not nope, so it was searched for as text"),
        ("foo lines:3", "'lines:' filters commits (type:commit), so it was searched for as text"),
        ("foo lnag:go", "did you mean 'lang'"),
        ("foo callers:bar", "did you mean 'calls'"),
        ("foo refs:bar", "did you mean 'uses'"),
        (" ".join(map(str, range(MAX_TERMS + 1))), "only the first 48 and the last 16 words count"),
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
    assert query.notes == ('"--arg=VALUE" ranks but is not required',)


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
        ("retry", False),
        ("test", True),
    ]
    assert [(term.text, term.negated) for term in query.phrases] == [("a b", True)]
    assert [term.text for term in parse_query("NOT a").words] == ["NOT", "a"]


@pytest.mark.parametrize(
    ("text", "wanted", "excluded"),
    [
        ("foo OR bar", ["foo", "bar"], []),
        ("foo AND bar", ["foo", "bar"], []),
        ("(foo OR bar) baz", ["(foo", "bar)", "baz"], []),
        ("foo NOT test", ["foo"], ["test"]),
        ("foo NOT (a OR b) baz", ["foo", "baz"], ["(a", "b)"]),
        ("foo -(a OR b) baz", ["foo", "baz"], ["(a", "b)"]),
        ("foo -(a) baz", ["foo", "baz"], ["(a)"]),
        ('foo -("a b" OR mock)', ["foo"], ["mock)"]),
        ("-(a OR b)", ["(a", "b)"], []),
        (
            "retry the connection pool now NOT test",
            ["retry", "the", "connection", "pool", "now", "NOT", "test"],
            [],
        ),
        (
            "retry connection pool timeout NOT test",
            ["retry", "connection", "pool", "timeout"],
            ["test"],
        ),
        ("FILE NOT FOUND", ["FILE", "NOT", "FOUND"], []),
        ("FILE NOT FOUND lang:go", ["FILE", "NOT", "FOUND"], []),
        ("NULL AND VOID -path:docs/", ["NULL", "AND", "VOID"], []),
        ("MAX_SIZE NOT path:docs/ lang:go", ["MAX_SIZE"], []),
        ('foo NOT ("a b" OR mock)', ["foo"], ["mock)"]),
        ("foo NOT (lang:go OR mock) bar", ["foo", "bar"], ["mock)"]),
        ("please do this OR that now", ["please", "do", "this", "OR", "that", "now"], []),
        ("-trimpath", ["trimpath"], []),
        ("-whatever=23", ["-whatever=23"], []),
    ],
)
def test_operators_of_code_search(text: str, wanted: list[str], excluded: list[str]) -> None:
    words = parse_query(text).words
    assert [term.text for term in words if not term.negated] == wanted
    assert [term.text for term in words if term.negated] == excluded


def test_not_excludes_all_in_brackets() -> None:
    query = parse_query('foo NOT ("a b" OR "c d" OR mock) "e f"')
    assert [(term.text, term.negated) for term in query.phrases] == [
        ("a b", True),
        ("c d", True),
        ("e f", False),
    ]
    query = parse_query("foo NOT (lang:go OR calls:f() OR lang:rust) lang:c path:x(1)")
    assert [(each.value, each.negated) for _, each in query.filters] == [
        ("go", True),
        ("f", True),
        ("rust", True),
        ("c", False),
        ("x(1)", False),
    ]


@pytest.mark.parametrize(
    ("text", "filters", "words"),
    [
        ("NOT path:doc command", ["-path:doc"], ["command"]),
        ("NOT (path:doc OR is:test) command", ["-path:doc", "-is:test"], ["command"]),
        ("NOT path:doc COMMAND", ["-path:doc"], ["COMMAND"]),
        ("command AND NOT path:doc", ["-path:doc"], ["command"]),
        ("lang:go -(path:doc OR is:test)", ["lang:go", "-path:doc", "-is:test"], []),
        ("lang:go NOT (path:doc OR is:test)", ["lang:go", "-path:doc", "-is:test"], []),
        ("lang:go OR lang:yaml", ["lang:go", "lang:yaml"], []),
        ("sym:a OR sym:b COMMAND", ["sym:a", "sym:b"], ["COMMAND"]),
        ("lang:go AND path:doc", ["lang:go", "path:doc"], []),
        ("VOID lang:go OR", ["lang:go"], ["VOID", "OR"]),
        (
            "how does the root command run NOT path:doc",
            ["-path:doc"],
            ["how", "does", "the", "root", "command", "run"],
        ),
        (
            "NOT (path:doc OR is:test) how does the root command run",
            ["-path:doc", "-is:test"],
            ["OR", "how", "does", "the", "root", "command", "run"],
        ),
        (
            "how does the root command run NOT lang:klingon",
            [],
            ["how", "does", "the", "root", "command", "run", "NOT", "lang:klingon"],
        ),
    ],
)
def test_operators_beside_filters_are_operators(
    text: str, filters: list[str], words: list[str]
) -> None:
    query = parse_query(text)
    read = [f"{'-' * each.negated}{name}:{each.value}" for name, each in query.filters]
    assert read == filters
    assert [term.text for term in query.words if not term.negated] == words


def test_not_at_the_beginning_excludes_phrases_and_patterns() -> None:
    query = parse_query('NOT "a b" open')
    assert [(term.text, term.negated) for term in query.phrases] == [("a b", True)]
    (pattern,) = parse_query("NOT /a+/ open").patterns
    assert pattern.negated


@pytest.mark.parametrize(
    ("text", "is_noted"),
    [
        ("command path:/doc OR path:/site", True),
        ("uses:a OR uses:b", True),
        ("retry OR path:doc", True),
        ("lang:go OR path:doc", True),
        ("-lang:go OR -lang:yaml", True),
        ("NOT path:a OR NOT path:b", True),
        ("lang:go OR lang:yaml OR lang:c", False),
        ("sym:a OR sym:b", False),
        ("path:a AND path:b", False),
        ("lang:go NOT (path:a OR path:b)", False),
        ("foo -(mock OR path:b) bar", False),
    ],
)
def test_a_note_tells_of_filters_that_or_does_not_join(text: str, is_noted: bool) -> None:
    notes = parse_query(text).notes
    assert [note.partition(",")[0] for note in notes] == (
        ["OR does not join these filters"] * is_noted
    )


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("type:commit when did the retries become so slow", True),
        ("when did the retries become so slow type:commits", True),
        ("retry type:commit pool", True),
        ("how does the filter type:commit work here", False),
        ('the filter "type:commit"', False),
        ("retry -type:commit", False),
        ("retry NOT type:commit", False),
        ("retry subtype:commit", False),
        ("x" * MAX_QUERY_CHARS + " type:commit", False),
    ],
)
def test_a_query_is_about_commits_if_the_filter_counts(text: str, is_asked: bool) -> None:
    assert is_of_commits(text) is is_asked


def test_a_note_says_that_the_filter_of_commits_is_text() -> None:
    (note,) = parse_query("how does the filter type:commit work here").notes
    assert note.startswith("type:commit is text within a sentence")


def test_phrases_joined_by_or_are_alternatives() -> None:
    both = parse_query('("a b" OR "c d") "e f"').phrases
    assert [term.text for term in both] == ["a b", "c d", "e f"]
    assert both[0].choice == both[1].choice != both[2].choice == 0
    query = parse_query('"a b" OR retry')
    assert ([term.text for term in query.mentions], query.phrases) == (["a b"], ())
    assert "in a pattern write /a|b/" in parse_query("/a/ OR /b/").notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("closure kind:Deployment is not read here", 6),
        ("parsing of a file fails with lang:klingon", 7),
        ("lang:%s is not a known language", 6),
        ("case:maybe should we compare it exactly", 6),
        ("static files are served below /static/", 6),
        ("/* frees the list */", 5),
        ("/api/v1 is gone so redirect to /api/v2/ again", 8),
        ("test' / w'ith\\\" / <script>", 5),
        ("first line\nwith kind:nonsense\nin three", 6),
    ],
)
def test_what_is_no_filter_or_pattern_in_a_sentence_is_text(text: str, words: int) -> None:
    query = parse_query(text)
    assert (query.filters, query.patterns, query.phrases) == ((), (), ())
    assert len(query.words) == words


def test_quoted_texts_of_code_are_not_required() -> None:
    query = parse_query('{"name": "click", "version": "8.0"}')
    assert query.phrases == ()
    assert [term.text for term in query.mentions] == ["click", "version", "8.0"]
    trace = parse_query('File "a/b.py", line 3, in run says "not so" again')
    assert [term.text for term in trace.mentions] == ["a/b.py", "not so"]
    assert trace.notes == ('"not so" ranks but is not required',)
    many = parse_query('"a b" ' * (MAX_TERMS + 1))
    assert (many.phrases, len(many.mentions)) == ((), MAX_TERMS)


def test_of_a_long_text_the_first_and_the_last_words_count() -> None:
    lines = [f'File "a/module{number}.py", line {number}, in run' for number in range(90)]
    query = parse_query("Traceback:\n" + "\n".join(lines) + "\nValueError: it is broken")
    assert len(query.words) == MAX_TERMS
    assert [term.text for term in query.words[-4:]] == ["ValueError:", "it", "is", "broken"]
    assert len(query.notes) <= 4


def test_notes_on_a_pasted_text_are_few() -> None:
    query = parse_query(" ".join(f"{letter}a:b" for letter in "abcdefghijk"))
    assert len(query.notes) == 4
    assert query.notes[3] == "so were 8 more pieces of the query"


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
