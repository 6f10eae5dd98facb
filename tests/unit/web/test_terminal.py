"""What may reach a terminal, and with which colours."""

import io

import pytest

from web.terminal import Style, printable, printable_block, shortened, style_for, width_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/naïve.py", "src/naïve.py"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("caf\udce9", "caf\ufffd"),
        ("na\udcc3\udcafve\udcff", "naïve\ufffd"),
        ("cut\udce2\udc82", "cut\ufffd"),
        ("\ud800", "\\ud800"),
        ("a\u202egnp.py", "a\\u202egnp.py"),
        ("a\u2028b", "a\\u2028b"),
    ],
)
def test_nothing_in_a_line_can_command_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_block_keeps_line_ends_and_tabs_and_nothing_else() -> None:
    assert printable_block("caf\udce9") == "caf\ufffd"
    assert printable_block("a\r\n\tb\n\x1b]0;title\x07\rc") == "a\n\tb\n\\x1b]0;title\\x07\\rc"


class _Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "environment", "color"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # no-color.org: only when it is not empty
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    terminal: bool, environment: dict[str, str], color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert style_for(_Stream(terminal=terminal)).color is color


def test_a_plain_style_changes_nothing() -> None:
    assert Style().bold("x") == "x"
    assert Style(color=True).bold("x") == "\x1b[1mx\x1b[0m"


@pytest.mark.parametrize(
    ("text", "width", "start", "end"),
    [
        ("src/app.py", 10, "src/app.py", "src/app.py"),
        ("src/app.py", 7, "src/ap…", "…app.py"),
        ("src/app.py", 1, "…", "…"),
        ("深い/場所", 5, "深い…", "…場所"),
        ("e\u0301te\u0301", 3, "e\u0301te\u0301", "e\u0301te\u0301"),
    ],
)
def test_a_text_is_cut_by_its_width(text: str, width: int, start: str, end: str) -> None:
    assert shortened(text, width) == start
    assert shortened(text, width, keep="end") == end
    assert width_of(start) <= width
    assert width_of(end) <= width
