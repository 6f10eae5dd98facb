"""What holds for every language: outcomes, deadlines, hostile texts, limits."""

import gc
import signal
import threading
import time
import tracemalloc

import pytest

from engine.syntax.languages import KINDS, LANGUAGES
from engine.syntax.outline import SCANNED_LANGUAGES
from engine.syntax.parser import parse
from engine.syntax.symbols import MAX_DEPTH

PARSED = sorted(
    name
    for name, language in LANGUAGES.items()
    if language.grammar is not None or name in SCANNED_LANGUAGES
)


def test_outcomes() -> None:
    assert parse(b"x = 1\n", "python", deadline_ms=600_000).result == "ok"
    assert parse(b"def f(:\n", "python", deadline_ms=600_000).result == "errors"
    assert parse(b"a: 1\n", "text", deadline_ms=600_000)[:2] == ([], "no_grammar")
    assert parse(b"# a\n", "markdown", deadline_ms=600_000).result == "ok"
    assert parse(b"a: 1\n", "yaml", deadline_ms=600_000).result == "ok"


def test_an_unknown_language_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError):
        parse(b"", "klingon", deadline_ms=600_000)


@pytest.mark.parametrize("language", PARSED)
def test_an_empty_text_defines_nothing(language: str) -> None:
    assert parse(b"", language, deadline_ms=600_000).symbols == []


@pytest.mark.parametrize("language", PARSED)
def test_the_text_need_not_end_with_a_line_break(language: str) -> None:
    for text in (b"a", b"{", b"\r", b"\xc3\xa9", b"// x", b"# x", b'"', b"\x00"):
        assert parse(text, language, deadline_ms=600_000).result in {"ok", "errors"}


def test_what_can_be_read_of_a_broken_text_is_there() -> None:
    text = b"def before(): pass\n\n)))((\n\ndef after(): pass\n"
    parsed = parse(text, "python", deadline_ms=600_000)
    assert parsed.result == "errors"
    assert [symbol.name for symbol in parsed.symbols] == ["before", "after"]


HOSTILE = {
    "quotes": b'"a' * 100_000,
    "open brackets": b"[" * 200_000,
    "brackets": b"[" * 50_000 + b"]" * 50_000,
    "blocks": b"if(a){" * 50_000 + b"}" * 50_000,
    "tags": b"<a " * 100_000,
    "dashes": b"-" * 200_000,
    "templates": b"`${" * 100_000,
    "words": b"def " * 50_000,
    "type arguments": b"a<" * 100_000,
    "number signs": b"#" * 200_000,
    "comments": b"/*" * 100_000,
    "one line": b"function f(){};" * 10_000,
    "bytes": bytes(range(1, 128)) * 2000,
    "commas": b"let x = " + b"a," * 100_000,
    "nested comments": b"(*" * 500_000,
    "one token": b"a" * 1_000_000,
    "references": b"a[*]" * 50_000,
    "statements": b"CREATE FUNCTION f() AS $a$ BEGIN\n" * 6000,
    "quotes in tags": b"<a id='" * 30_000,
    "here-documents": b"".join(b"RUN <<A%d\n" % number for number in range(20_000)),
    "conditions": b"ifdef A\nX = $(" * 14_000,
    "selectors": b".a," * 30_000 + b".a {" * 30_000,
}


@pytest.mark.parametrize(
    ("language", "name"),
    [
        *((language, name) for language in ("javascript", "python") for name in sorted(HOSTILE)),
        ("c", "open brackets"),
        ("elixir", "words"),
        ("haskell", "comments"),
        ("java", "type arguments"),
        ("ocaml", "commas"),
        ("ocaml", "nested comments"),
        ("julia", "quotes"),
        ("hcl", "references"),
        ("sql", "statements"),
        ("sql", "quotes"),
        ("html", "quotes in tags"),
        ("html", "tags"),
        ("dockerfile", "here-documents"),
        ("makefile", "conditions"),
        ("css", "selectors"),
        *(
            (language, "one token")
            for language in ("hcl", "julia", "ocaml", *sorted(SCANNED_LANGUAGES))
        ),
        ("ruby", "blocks"),
        ("swift", "number signs"),
        ("typescript", "type arguments"),
    ],
)
def test_hostile_texts_end_in_time(language: str, name: str) -> None:
    started = time.thread_time()
    parsed = parse(HOSTILE[name], language, deadline_ms=100)
    assert time.thread_time() - started < 5
    assert parsed.result in {"ok", "errors", "timeout", "too_deep"}


def test_a_text_that_takes_too_long_has_no_symbols() -> None:
    text = b"def f(): pass\n" + b'"a' * 500_000
    assert parse(text, "javascript", deadline_ms=50)[:2] == ([], "timeout")


def test_a_parse_that_waits_for_a_processor_is_not_late() -> None:
    text = b"".join(b"def f%d(a):\n    return g(a)\n\n\n" % each for each in range(2000))
    assert parse(text, "python", deadline_ms=60_000).result == "ok"  # loads what it needs
    waits = []

    def wait(_signal: int, _frame: object) -> None:
        waits.append(1)
        time.sleep(1.0)

    before = signal.signal(signal.SIGVTALRM, wait)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)  # of CPU time
    try:
        parsed = parse(text, "python", deadline_ms=900)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert (waits, parsed.result, len(parsed.symbols)) == ([1], "ok", 2000)
    assert parsed.marks is not None


def test_another_thread_runs_while_a_text_is_parsed() -> None:
    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        parse(b'"a' * 500_000, "javascript", deadline_ms=500)
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 2  # one before and one after would prove nothing


def test_a_definition_that_is_lost_because_too_many_are_unfinished_is_told() -> None:
    depth = 64
    text = b"struct a { int f(); " * depth + b"};" * depth
    parsed = parse(text, "cpp", deadline_ms=600_000)
    assert (parsed.result == "too_deep") == (len(parsed.symbols) < 2 * depth)


def test_definitions_nested_too_deep_are_left_out() -> None:
    text = b"".join(b" " * depth + b"def f%d():\n" % depth for depth in range(100)) + b" " * 100
    parsed = parse(text + b"pass\n", "python", deadline_ms=600_000)
    assert parsed.result == "too_deep"
    assert [symbol.name for symbol in parsed.symbols] == [f"f{n}" for n in range(MAX_DEPTH)]
    assert parsed.symbols[-1].qualified_name.count(".") == MAX_DEPTH - 1


def test_qualified_names_of_long_names_are_short() -> None:
    """Each of 60 names of 200 letters would have those of all around it: 1.5 times this file."""
    names = [f"f{n}_{'x' * 200}" for n in range(MAX_DEPTH - 4)]
    lines = [f"{' ' * n}def {name}():" for n, name in enumerate(names)]
    parsed = parse(
        "\n".join([*lines, " " * len(lines) + "pass\n"]).encode(), "python", deadline_ms=600_000
    )
    assert [symbol.name for symbol in parsed.symbols] == names
    assert max(len(symbol.qualified_name) for symbol in parsed.symbols) <= 1000
    assert parsed.symbols[-1].qualified_name == ".".join(names[-4:])


def test_many_definitions() -> None:
    parsed = parse(b"function f(){}\n" * 50_000, "javascript", deadline_ms=600_000)
    assert parsed.result == "ok"
    assert len(parsed.symbols) == 50_000
    assert parsed.symbols[-1].line_start == 50_000


def test_signatures_docs_and_names_have_limits() -> None:
    arguments = b", ".join(b"argument_%d" % number for number in range(500))
    text = b"# " + b"doc " * 1000 + b"\ndef f(" + arguments + b"): pass\n"
    (symbol,) = parse(text, "python", deadline_ms=600_000).symbols
    assert len(symbol.signature) == 300
    assert symbol.signature.startswith("def f(argument_0, argument_1,")
    assert len(symbol.doc) <= 1000
    assert symbol.doc.startswith("doc doc")
    assert parse(b"def " + b"f" * 1000 + b"(): pass\n", "python", deadline_ms=600_000).symbols == []


def test_every_kind_is_in_the_vocabulary() -> None:
    text = b"class A:\n    def __init__(self): pass\n    def b(self): pass\nCC = 1\ndd = 2\n"
    kinds = [symbol.kind for symbol in parse(text, "python", deadline_ms=600_000).symbols]
    assert kinds == ["class", "constructor", "method", "constant", "variable"]
    assert set(kinds) <= KINDS


def test_text_that_is_not_ascii_keeps_its_byte_offsets() -> None:
    text = "# é — 日本\ndef größe(): pass\n".encode()
    (symbol,) = parse(text, "python", deadline_ms=600_000).symbols
    assert symbol.name == "größe"
    assert symbol.doc == "é — 日本"
    assert text[symbol.byte_start : symbol.byte_end] == "def größe(): pass".encode()


def test_windows_line_breaks() -> None:
    text = b"# Says it.\r\n# Twice.\r\nclass A:\r\n    def f(\r\n        self):\r\n        pass\r\n"
    symbols = parse(text, "python", deadline_ms=600_000).symbols
    assert [(item.line_start, item.line_end, item.doc) for item in symbols] == [
        (3, 6, "Says it.\nTwice."),
        (4, 6, ""),
    ]
    assert symbols[1].signature == "def f( self)"


def test_shell_with_characters_beyond_the_basic_plane() -> None:
    # The scanner of this grammar looks such characters up outside of its table.
    for character in ("\U000fac38", "\U0001f680", "\U0010ffff", "é"):
        text = f"{{{character}\ngo() {{ echo {character}; }}\n".encode()
        for _ in range(5):
            symbols = parse(text, "bash", deadline_ms=600_000).symbols
            assert [(symbol.name, symbol.line_start) for symbol in symbols] == [("go", 2)]


def test_nothing_of_a_text_is_kept() -> None:
    """The binding never frees what a read callable gives it."""
    texts = [b"x = 1\n" * 12_000 + b"# %d\n" % number for number in range(3)]
    parse(texts[0], "python", deadline_ms=600_000)
    tracemalloc.start()
    try:
        for text in texts:
            parse(bytes(bytearray(text)), "python", deadline_ms=600_000)
        gc.collect()
        cached_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert cached_bytes < len(texts[0])


def test_a_text_larger_than_the_window_is_read_whole() -> None:
    text = b"".join(b"def f%05d():\n    pass\n\n" % number for number in range(8000))
    symbols = parse(text, "python", deadline_ms=600_000).symbols
    assert [symbol.name for symbol in symbols] == [f"f{number:05}" for number in range(8000)]
