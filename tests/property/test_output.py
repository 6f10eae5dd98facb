"""Whatever a repository holds, what is printed of it stays text, JSON or Markdown."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from engine.records import Coverage
from engine.search_records import Hit, Mode, SearchAnswer
from web.answers import search_markdown
from web.schemas import as_json, json_line
from web.terminal import printable, printable_block

_CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))}
_ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    "`#\n\r\x1b\x9b~ a\udce9\udcc3\udcaf"
)


def _answer(path: str, symbol: str, snippet: str) -> SearchAnswer:
    hit = Hit(
        project="/repo",
        path=path,
        line_start=1,
        line_end=9,
        language="go",
        symbol=symbol,
        kind="function",
        signature=symbol,
        score=1.0,
        why=(),
        fresh=True,
        snippet=snippet,
    )
    return SearchAnswer(
        query=symbol,
        mode=Mode.HYBRID,
        took_ms=1.0,
        total=1,
        truncated=False,
        coverage=Coverage.of(files=1, found=1, embedded=0.0, complete=True),
        hits=(hit,),
    )


@given(_ANY_TEXT)
def test_text_never_commands_a_terminal(text: str) -> None:
    line, block = printable(text), printable_block(text)
    assert not _CONTROLS & set(line)
    assert not (_CONTROLS - {"\n", "\t"}) & set(block)
    (line + block).encode("utf-8")


@given(_ANY_TEXT)
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    plain = "".join(character for character in text if " " <= character <= "~")
    assert printable(plain) == printable_block(plain) == plain


@given(_ANY_TEXT, _ANY_TEXT, st.sampled_from(["utf-8", "ascii"]))
def test_json_is_one_valid_line_that_gives_valid_text_back(
    path: str, snippet: str, encoding: str
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    line = json_line(as_json(_answer(path, "name", snippet)), stream)
    assert not (_CONTROLS - {"\n"}) & set(line)
    assert line.count("\n") == 1
    line.encode(encoding)
    hit = json.loads(line)["hits"][0]
    if snippet.isprintable() and snippet.isascii():
        assert hit["snippet"] == snippet
    hit["path"].encode("utf-8")


@given(_ANY_TEXT, _ANY_TEXT, _ANY_TEXT)
def test_nothing_in_a_repository_makes_markdown_of_its_own(
    path: str, symbol: str, snippet: str
) -> None:
    lines = search_markdown(_answer(path, symbol or "f", snippet)).split("\n")
    fences = [
        number
        for number, line in enumerate(lines)
        if line.strip("`") in ("", "go") and "```" in line
    ]
    opening = next((number for number in fences if lines[number].endswith("go")), None)
    outside = lines
    if opening is not None:
        fence = lines[opening].removesuffix("go")
        closing = lines.index(fence, opening + 1)
        assert all(fence not in line for line in lines[opening + 1 : closing])
        outside = lines[:opening] + lines[closing + 1 :]
    assert [line.split()[0] for line in outside if line.startswith("#")] == ["##", "###"]
    assert sum(line.startswith("**") for line in outside) == 2
