"""Symbols as rows that a table of a test can hold."""

from textwrap import dedent

from engine.syntax.parser import parse

#: kind, qualified name, first and last line, exported, index of the parent, signature, doc
Row = tuple[str, str, int, int, bool, int, str, str]


def rows_of(source: str, language: str, *, result: str = "ok") -> list[Row]:
    """Parse a source, which may be indented as a whole, and give its symbols.

    Args:
        source: Begins with a line break that does not count.
        language: As the parser names it.
        result: What the parser has to say of it.
    """
    text = dedent(source).removeprefix("\n").encode()
    parsed = parse(text, language, deadline_ms=600_000)
    assert parsed.result == result
    starts = [symbol.byte_start for symbol in parsed.symbols]
    assert starts == sorted(starts)
    rows: list[Row] = []
    for symbol in parsed.symbols:
        assert text[symbol.byte_start : symbol.byte_end].strip()
        assert symbol.line_start == text.count(b"\n", 0, symbol.byte_start) + 1
        assert symbol.line_end == text.count(b"\n", 0, symbol.byte_end - 1) + 1
        rows.append(
            (
                symbol.kind,
                symbol.qualified_name,
                symbol.line_start,
                symbol.line_end,
                symbol.exported,
                symbol.parent,
                symbol.signature,
                symbol.doc,
            )
        )
    return rows
