"""Highlighting keeps the text, and marks are at the requested places."""

from collections.abc import Iterator
from itertools import count, groupby, repeat
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.word_marks import words_in
from web.pages import highlighting
from web.pages.highlighting import Line, lines_of, rows_of


def _text(lines: list[Line]) -> str:
    return "\n".join("".join(piece.text for piece in line.pieces) for line in lines)


def _marked(lines: list[Line]) -> str:
    pieces = [piece for line in lines for piece in line.pieces]
    return "|".join(piece.text for piece in pieces if piece.is_marked)


def test_code_has_colours_and_numbers() -> None:
    lines = lines_of("def f():\n    return 'x'  # y\n", "python", first_line=7)
    assert [line.number for line in lines] == [7, 8]
    assert [(piece.css, piece.text) for piece in lines[0].pieces] == [
        ("k", "def"),
        ("", " "),
        ("nf", "f"),
        ("", "():"),
    ]
    assert ("c1", "# y") in [(piece.css, piece.text) for piece in lines[1].pieces]


@pytest.mark.parametrize("language", ["python", "go", "nothing-known", "text", "markdown", ""])
def test_nothing_is_lost(language: str) -> None:
    text = 'a = """b\n\n  c"""\nd\t= 1\n'
    assert _text(lines_of(text, language)) == text.removesuffix("\n")


@given(
    st.text("ab \n\"'#/*(){}\\", max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=4),
    st.sampled_from(["python", "c", "text"]),
)
def test_marks_cut_pieces_and_lose_nothing(
    text: str, spans: list[tuple[int, int]], language: str
) -> None:
    inside = [(low, min(high, len(text))) for low, high in spans if low < min(high, len(text))]
    lines = lines_of(text, language, marks=inside)
    assert _text(lines) == text.removesuffix("\n")
    wanted = {place for low, high in inside for place in range(low, high) if text[place] != "\n"}
    assert len(_marked(lines).replace("|", "")) == len(wanted)


def test_what_could_deceive_is_shown_as_an_escape() -> None:
    shown = _text(lines_of("a\u202e b\x1b[31m\x00", "python"))
    assert shown == "a\\u202e b\\x1b[31m\\x00"


def test_what_is_large_or_long_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    long = f"x = '{'a' * 2000}'"
    assert [piece.css for piece in lines_of(long, "python")[0].pieces] == [""]
    monkeypatch.setattr(highlighting, "MAX_CHARS", 10)
    assert [piece.css for piece in lines_of("def function(): pass", "python")[0].pieces] == [""]


def test_waiting_for_a_busy_processor_takes_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f():\n    return 'x'\n" * 2000

    def tokens(worked: Iterator[int]) -> list[highlighting.Token]:
        passed: Iterator[int] = count(step=10)  # seconds between two looks at a clock
        clocks = {"monotonic": passed, "perf_counter": passed, "time": passed}
        clocks["thread_time"] = worked
        fakes = SimpleNamespace(**{name: each.__next__ for name, each in clocks.items()})
        monkeypatch.setattr(highlighting, "time", fakes)
        return list(highlighting._tokens(text, "python"))

    coloured = tokens(repeat(0))
    assert coloured[-2].text == "'"  # before the end of the line
    assert coloured[-2].css
    assert [each.text for each in tokens(count(step=10))] == [text]


def test_words_are_found_in_parts_of_names() -> None:
    text = "openSession(open_session) Session"
    assert [text[low:high] for low, high in words_in(text, ["open session", "session"])] == [
        "openSession",
        "open_session",
        "Session",
    ]
    assert words_in(text, ["x", ""]) == []


def test_texts_are_found_as_they_are_written() -> None:
    assert words_in("a Session", ["session"], as_written=True) == []
    text = "def save(a): (def Save()) def  save("
    assert words_in(text, ["def save(", " "], as_written=True) == [(0, 9)]


def test_words_in_a_row_are_found_with_anything_between_them() -> None:
    text = "open_session(open  -- session) open(session openSession"
    assert [text[low:high] for low, high in words_in(text, ["open session"])] == [
        "open_session",
        "open  -- session",
        "open(session",
        "openSession",
    ]
    assert words_in(text, ["(open -- session"]) == words_in(text, ["open session"])
    assert words_in(text, ["- -", "_ (", "x" * 5000]) == []


@pytest.mark.parametrize(
    "asked", ["_ _ _ _ _ b", "- - - - - -x", "a _ _ _ _ b", "_a _ _ _a _ b", "a a a a a a a b"]
)
def test_no_question_takes_long_in_any_text(asked: str) -> None:
    for text in ("_" * 50_000, "a" + "_" * 50_000, "a_" * 25_000, "- " * 25_000):
        assert words_in(text, [asked]) == []


def _linked(text: str, language: str, *names: str) -> str:
    """Return the linked names with their places: ``1:5 name``."""
    lines = lines_of(text, language, names=frozenset(names))
    assert _text(lines) == text.removesuffix("\n").replace("\r", "")
    return " ".join(
        f"{line.number}:{column} {''.join(piece.text for piece in pieces)}"
        for line in lines
        for column, pieces in groupby(line.pieces, lambda piece: piece.name)
        if column
    )


def test_names_in_code_are_linked_and_those_in_comments_and_strings_are_not() -> None:
    text = "def open(a):\n    return open(b) + 'open'  # open\n"
    assert _linked(text, "python", "open", "b") == "1:5 open 2:12 open 2:17 b"
    assert _linked(text, "python") == ""
    assert _linked("open", "text", "open") == ""


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("from shop.orders import Order", "python", "1:6 shop 1:11 orders 1:25 Order"),
        ("@orders.check\ndef f(): pass", "python", "1:2 orders 1:9 check"),
        ("x = check? && check", "ruby", "1:5 check 1:15 check"),
        ("é = Order()", "python", "1:5 Order"),
        ("<shop>x</shop>", "html", ""),
        ("new Order(); o.check()", "javascript", "1:5 Order 1:16 check"),
    ],
)
def test_parts_of_tokens_are_linked_at_their_columns(text: str, language: str, found: str) -> None:
    assert _linked(text, language, "shop", "orders", "Order", "check") == found


def test_a_name_with_a_mark_in_it_is_one_link() -> None:
    [line] = lines_of("a = open_session(b)", "python", names={"open_session"}, marks=[(4, 8)])
    linked = [piece for piece in line.pieces if piece.name]
    assert [(piece.name, piece.text, piece.is_marked) for piece in linked] == [
        (5, "open", True),
        (5, "_session", False),
    ]


def test_names_next_to_each_other_are_links_of_their_own() -> None:
    assert _linked("a.b;a\r\nb", "javascript", "a", "b").endswith("1:5 a 2:1 b")


def test_a_line_as_html_has_its_names_as_links_and_nothing_of_it_is_markup() -> None:
    text = '    self.open(a) < "<b>" # &'
    [line] = lines_of(text, "python", first_line=7, marks=[(5, 12)], names={"open"})
    number = (
        '<div class="line"><a class="n" href="/p/1/f/a&#34;b.py#L7" tabindex="-1"'
        ' aria-label="Line 7" data-n="7"></a><code>'
    )
    shown = number + (
        "    "
        '<span class="bp">s</span><mark class="bp">elf</mark><mark>.</mark>'
        '<a href="/p/1/f/a&#34;b.py?name=7:10#L7" tabindex="-1">'
        "<mark>ope</mark>n</a>(a) &lt; "
        '<span class="s2">&#34;&lt;b&gt;&#34;</span> <span class="c1"># &amp;</span>'
        "</code></div>\n"
    )
    assert rows_of([line], '/p/1/f/a"b.py') == shown
    lines = [*lines_of("", "python", first_line=6), line, *lines_of("open", "text", first_line=8)]
    before, between, after = rows_of(lines, '/p/1/f/a"b.py', range(6, 7)).partition(shown)
    assert between
    assert before.startswith('<div class="line picked"><a class="n"')
    assert before.endswith('data-n="6"></a><code></code></div>\n')
    assert after.endswith('data-n="8"></a><code>open</code></div>\n')
