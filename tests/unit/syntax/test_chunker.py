"""Where chunks begin and end, and what they stand for."""

import time

import pytest

from engine.records import ChunkSpan, Symbol
from engine.syntax.chunker import MAX_BYTES, MIN_BYTES, TARGET_BYTES, chunks_of
from engine.syntax.parser import parse


def _chunks(text: bytes, language: str) -> tuple[list[ChunkSpan], list[Symbol]]:
    symbols = parse(text, language, deadline_ms=600_000).symbols
    spans = chunks_of(text, symbols, language)
    assert b"".join(text[span.byte_start : span.byte_end] for span in spans) == text
    return spans, symbols


def _first_lines(text: bytes, language: str = "python") -> list[tuple[bytes, str]]:
    """Give the first line of each chunk and the symbol it stands for."""
    spans, symbols = _chunks(text, language)
    return [
        (
            text[span.byte_start : span.byte_end].split(b"\n", 1)[0],
            symbols[span.symbol].qualified_name if span.symbol >= 0 else "",
        )
        for span in spans
    ]


def _function(name: str, size: int, indent: str = "") -> bytes:
    """Write a function of about that many bytes."""
    line = f"{indent}    value = compute(value)\n"
    return f"{indent}def {name}(value):\n{line * (size // len(line))}".encode()


def test_an_empty_text_has_no_chunks() -> None:
    assert chunks_of(b"", [], "python") == []


def test_a_small_text_is_one_chunk() -> None:
    assert chunks_of(b"x", [], "text") == [ChunkSpan(0, 1, 1, 1, -1)]
    assert chunks_of(b"\n", [], "text") == [ChunkSpan(0, 1, 1, 1, -1)]
    assert chunks_of(b"a\n\nb", [], "python") == [ChunkSpan(0, 4, 1, 3, -1)]


def test_functions_that_fit_are_chunks_with_the_comment_before_them() -> None:
    text = (
        _function("one", 600)
        + b"\n\n# About two.\n# More.\n@decorated\n"
        + _function("two", 2500)
        + b"\n\n"
        + _function("three", 600)
    )
    assert _first_lines(text) == [
        (b"def one(value):", "one"),
        (b"# About two.", "two"),
        (b"def three(value):", "three"),
    ]


def test_small_neighbours_are_joined_up_to_the_target() -> None:
    small = [_function(f"f{number}", 150) for number in range(20)]
    spans, symbols = _chunks(b"".join(small), "python")
    sizes = [span.byte_end - span.byte_start for span in spans]
    assert all(size <= TARGET_BYTES for size in sizes)
    assert all(size >= TARGET_BYTES - 2 * MIN_BYTES for size in sizes[:-1])
    assert symbols[spans[0].symbol].name == "f0"


def test_a_small_class_is_one_chunk_and_a_big_one_is_cut() -> None:
    small = b"class Small:\n" + b"".join(_function(f"m{n}", 200, "    ") for n in range(3))
    big = b"class Big:\n    '''Doc.'''\n\n" + b"".join(
        _function(f"m{n}", 900, "    ") + b"\n" for n in range(3)
    )
    assert _first_lines(small + b"\n\n" + big) == [
        (b"class Small:", "Small"),
        (b"class Big:", "Big.m0"),
        (b"    def m1(value):", "Big.m1"),
        (b"    def m2(value):", "Big.m2"),
    ]


def test_tiny_members_stand_for_their_class() -> None:
    text = b"class Big:\n" + b"".join(_function(f"m{n}", 150, "    ") for n in range(30))
    names = [name for _, name in _first_lines(text)]
    assert len(names) > 2
    assert set(names) == {"Big"}


def test_a_namespace_is_never_a_chunk_of_its_own() -> None:
    text = b"namespace a {\n\n" + b"int f() {\n" + b"  call();\n" * 60 + b"}\n\n}\n"
    assert _first_lines(text, "cpp") == [(b"namespace a {", "a.f")]


def test_a_long_body_is_cut_at_blank_lines() -> None:
    paragraph = b"    value = compute(value)\n" * 10 + b"\n"
    text = b"def long(value):\n" + paragraph * 20
    spans, _ = _chunks(text, "python")
    assert len(spans) > 3
    for span in spans[1:]:
        assert text[: span.byte_start].endswith(b"\n\n")
        assert span.symbol == 0
    sizes = [span.byte_end - span.byte_start for span in spans]
    assert max(sizes) <= MAX_BYTES
    assert min(sizes) >= TARGET_BYTES // 2


def test_without_blank_lines_the_lowest_indentation_is_cut() -> None:
    block = b"    if value:\n" + b"        value = compute(value)\n" * 12
    spans, _ = _chunks(text := b"def long(value):\n" + block * 20, "python")
    for span in spans[1:]:
        assert text[span.byte_start :].startswith(b"    if value:")


def test_closing_brackets_stay_with_what_they_close() -> None:
    method = b"    void method() {\n" + b"        call();\n" * 50 + b"    }\n"
    text = b"class Big {\n" + method * 3 + b"}\n\n" + b"class Next {\n" + method + b"}\n"
    spans, _ = _chunks(text, "java")
    assert text[: spans[3].byte_start].endswith(b"}\n}\n\n")
    assert text[spans[3].byte_start :].startswith(b"class Next {")


def test_sections_of_documents() -> None:
    section = b"words and words and words\n" * 20
    text = b"# Guide\n\n" + b"".join(b"## Part %d\n\n%s\n" % (n, section) for n in range(4))
    assert _first_lines(text, "markdown") == [
        (b"# Guide", "Guide.Part 0"),
        (b"## Part 1", "Guide.Part 1"),
        (b"## Part 2", "Guide.Part 2"),
        (b"## Part 3", "Guide.Part 3"),
    ]


def test_text_without_symbols_is_cut_into_paragraphs() -> None:
    text = (b"key: value\n" * 30 + b"\n") * 20
    spans, _ = _chunks(text, "yaml")
    assert all(span.symbol == -1 for span in spans)
    assert all(text[: span.byte_start].endswith(b"\n\n") for span in spans[1:])


def test_a_line_that_is_too_long_is_cut_between_characters() -> None:
    text = "日".encode() * 3000
    spans, _ = _chunks(text, "text")
    assert [span.line_start for span in spans] == [1] * len(spans)
    for span in spans:
        text[span.byte_start : span.byte_end].decode()
        assert span.byte_end - span.byte_start <= MAX_BYTES
    assert len(spans) <= 9000 // (MAX_BYTES - 3) + 2


def test_only_line_feeds_count_as_line_breaks() -> None:
    text = b"a\r\nb\rc\r\nlast"
    assert chunks_of(text, [], "text") == [ChunkSpan(0, len(text), 1, 3, -1)]
    lines = b"word word word word\r\n" * 500
    spans, _ = _chunks(lines, "text")
    for span in spans:
        assert lines[: span.byte_start].count(b"\n") + 1 == span.line_start
        assert lines[: span.byte_end - 1].count(b"\n") + 1 == span.line_end


def test_several_definitions_on_one_line() -> None:
    body = b"  work();\n" * 100
    text = b"function a(){} function b() {\n" + body + b"}; function c() {\n" + body + b"}\n"
    # b goes on behind the line of a, and c behind that of b; both lines stay whole.
    assert _first_lines(text, "javascript") == [
        (b"function a(){} function b() {", "b"),
        (b"  work();", "c"),
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (b"x\n" * 1_000_000, "text"),
        (b"\n" * 1_000_000, "text"),
        (b" " * 1_000_000, "text"),
        (b"x" * 2_000_000, "json"),
        (b"def f(): pass\n" * 50_000, "python"),
        (b"function f(){};" * 50_000, "javascript"),
        (b"# a\n" * 50_000, "markdown"),
    ],
)
def test_large_texts_take_linear_time(text: bytes, language: str) -> None:
    symbols = parse(text, language, deadline_ms=600_000).symbols
    started = time.thread_time()
    spans = chunks_of(text, symbols, language)
    assert time.thread_time() - started < 3
    assert spans[-1].byte_end == len(text)
    assert all(span.byte_end - span.byte_start <= MAX_BYTES for span in spans)
