"""Find the headings of Markdown, reStructuredText, PDF and Word documents, by their lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.records import Symbol

#: The languages that have headings.
HEADING_LANGUAGES = frozenset({"docx", "markdown", "pdf", "restructuredtext"})
#: Those whose text ``source.documents`` makes: a line that begins with # is a heading.
_EXTRACTED = frozenset({"docx", "pdf"})

_MAX_TITLE = 200  # characters
_MAX_LINE_BYTES = 1000  # of a heading; a longer line is cut before its markup is looked at

_MARKDOWN = re.compile(
    rb"^ {0,3}(?:(#{1,6})(?:[ \t]+([^\n]*))?|(```+|~~~+)([^\n]*)|(=+|-+)[ \t]*)\r?$", re.MULTILINE
)
_MARKED = re.compile(rb"^(#{1,6}) ([^\n]+)$", re.MULTILINE)
_FRONT_MATTER = re.compile(rb"---[ \t]*\r?\n(?:.*?\n)??---[ \t]*\r?(?:\n|$)", re.DOTALL)
#: A line that is not a heading despite an underline of dashes or equals signs.
_NO_TITLE = re.compile(rb"\s*(?:$|[#>|=-]|[*+][ \t]|\d+[.)][ \t]|    |\t)")
_RST_LINE = re.compile(rb"^([=\-`:.'\"~^_*+#<>])\1{2,}[ \t]*\r?$", re.MULTILINE)
_MARKUP = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])|<[^<>]*>|[`*]+|\{#[^{}]*\}\s*$")
_CLOSING_MARKS = re.compile(r"\s+#+\s*$")


class _Heading(NamedTuple):
    start: int
    level: int  # 1 is the highest
    title: str
    line: bytes  # as it stands in the text


def headings_of(text: bytes, language: str) -> list[Symbol]:
    """Return the headings of a document as symbols of the kind ``section``.

    A section continues to the next heading of the same or a higher level and is qualified by the
    headings around it.

    Args:
        text: The whole document.
        language: One of ``HEADING_LANGUAGES``.
    """
    if language in _EXTRACTED:
        found = _extracted(text)
    else:
        found = _markdown(text) if language == "markdown" else _restructured_text(text)
    return _nested(text, [heading for heading in found if heading.title])


def _markdown(text: bytes) -> Iterator[_Heading]:
    """Find ATX and setext headings outside fenced code and front matter."""
    front_matter = _FRONT_MATTER.match(text)
    fence = b""
    last_end = front_matter.end() if front_matter is not None else 0
    for match in _MARKDOWN.finditer(text, last_end):
        marks, title, opening, information, underline = match.groups()
        if opening:
            if not fence:
                fence = opening
            elif opening.startswith(fence) and not information.strip():
                fence = b""
        elif fence:
            continue
        elif marks:
            yield _Heading(match.start(), len(marks), _plain(title or b""), match.group())
        elif underline:
            end = match.start() - 1
            start = text.rfind(b"\n", last_end, max(end, last_end)) + 1 or last_end
            line = text[start : max(end, start)]
            if not _NO_TITLE.match(line):
                yield _Heading(start, 1 if underline[0] == 61 else 2, _plain(line), line)
        last_end = match.end()


def _extracted(text: bytes) -> Iterator[_Heading]:
    for match in _MARKED.finditer(text):
        title = " ".join(match[2][:_MAX_LINE_BYTES].decode("utf-8", "replace").split())
        yield _Heading(match.start(), len(match[1]), title[:_MAX_TITLE], match.group())


def _restructured_text(text: bytes) -> Iterator[_Heading]:
    """Find underlined titles; levels follow the order in which their styles appear."""
    levels: dict[tuple[bytes, bool], int] = {}
    for match in _RST_LINE.finditer(text):
        end = match.start() - 1
        if end <= 0:
            continue
        start = text.rfind(b"\n", 0, end) + 1
        line = text[start:end].rstrip()
        underline = match.group().rstrip()
        title = line.strip()
        if not title or len(title.decode("utf-8", "replace")) > len(underline) + 2:
            continue
        over_start = text.rfind(b"\n", 0, max(start - 1, 0)) + 1
        has_overline = start > 0 and text[over_start : start - 1].rstrip() == underline
        if (line != title and not has_overline) or _RST_LINE.match(title):
            continue
        style = (match.group(1), has_overline)
        level = levels.setdefault(style, len(levels) + 1)
        yield _Heading(over_start if has_overline else start, level, _plain(title), title)


def _plain(title: bytes) -> str:
    """Remove links, code marks and closing number signs from a title."""
    decoded = _CLOSING_MARKS.sub("", title[:_MAX_LINE_BYTES].decode("utf-8", "replace"))
    return " ".join(_MARKUP.sub(r"\1", decoded).split())[:_MAX_TITLE].rstrip()


def _nested(text: bytes, headings: list[_Heading]) -> list[Symbol]:
    ends = [len(text)] * len(headings)
    open_headings: list[int] = []
    parents = []
    for index, heading in enumerate(headings):
        while open_headings and headings[open_headings[-1]].level >= heading.level:
            ends[open_headings.pop()] = heading.start
        parents.append(open_headings[-1] if open_headings else -1)
        open_headings.append(index)
    symbols: list[Symbol] = []
    line, counted = 1, 0
    for index, heading in enumerate(headings):
        line += text.count(b"\n", counted, heading.start)
        counted = heading.start
        end = heading.start + len(text[heading.start : ends[index]].rstrip())
        parent = parents[index]
        outer = f"{symbols[parent].qualified_name}." if parent >= 0 else ""
        symbols.append(
            Symbol(
                name=heading.title,
                qualified_name=outer + heading.title,
                kind="section",
                signature=heading.line[:_MAX_LINE_BYTES].decode("utf-8", "replace").strip()[:300],
                doc="",
                byte_start=heading.start,
                byte_end=end,
                line_start=line,
                line_end=line + text.count(b"\n", heading.start, end),
                parent=parent,
                exported=True,
            )
        )
    return symbols
