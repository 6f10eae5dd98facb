"""Find and read the comment that stands directly before a definition.

Works on lines of the text, never on the tree: the parser and the chunker see the same comment, and
the cost depends only on the lines looked at.
"""

import re

from engine.syntax.language_table import CommentStyle

#: Maximum length of a doc text in characters.
DOC_LIMIT = 1000
_MOST_LINES = 200  # a longer run of comment lines is a licence or a listing, not a doc
_MOST_INDENT_BYTES = 1000  # a comment further right stands behind other text
_MOST_BLOCK_BYTES = 16_384  # how far back the opening of a block comment is searched for
_LEADING_MARKS = re.compile(
    r"^[ \t]*(?:[/*#;%!]+(?:[ \t]*$)?|--+[ \t]?[|^]?(?:-*[ \t]*$)?|'+)", re.MULTILINE
)

#: OCaml's docs may follow the definition: on the same line, or alone on the next one.
_DOC_BEHIND = re.compile(
    rb"[ \t;]*(\(\*\*(?![*/]).*?\*\))|"
    rb"[ \t]*\r?\n[ \t]*(\(\*\*(?![*/]).*?\*\))[ \t]*(?=\r?\n[ \t]*\r?\n|\s*end\b|\s*\Z)",
    re.DOTALL,
)

_STRING_PREFIX = re.compile(rb"[rRuUbB]{0,2}(\"\"\"|'''|\"|')")


def comment_start(text: bytes, start: int, style: CommentStyle) -> int:
    """Return the start of the comment directly before a definition.

    A ``/**`` block may have one blank line after it.

    Returns:
        The byte offset of the first comment line's start, or of the line of ``start`` when no
        comment ends on the line before it. ``start`` itself if other text precedes it.
    """
    line_start = text.rfind(b"\n", max(0, start - _MOST_INDENT_BYTES), start) + 1
    if line_start == 0 and start >= _MOST_INDENT_BYTES:
        return start
    if line_start != start and text[line_start:start].strip():
        return start
    top = line_start
    for _ in range(_MOST_LINES):
        if top == 0:
            break
        before = text.rfind(b"\n", 0, top - 1) + 1
        line = text[before : top - 1].strip()
        if line:
            above = _comment_line_start(text, before, top, line, style)
        elif top == line_start and before and style.closings:
            return _doc_block_before(text, before, top, style)
        else:
            break
        if above == top:
            break
        top = above
    return top


def _comment_line_start(
    text: bytes, before: int, top: int, line: bytes, style: CommentStyle
) -> int:
    """Return the start of the comment on or ending in the line before ``top``, or ``top``."""
    if style.line and line.startswith(style.line):
        return top if before == 0 and line.startswith(b"#!") else before
    if style.closings and line.endswith(style.closings):
        opening = _block_start(text, before, top - 1, style.block)
        return opening if opening >= 0 else top
    return top


def _doc_block_before(text: bytes, end: int, top: int, style: CommentStyle) -> int:
    """Return the line start of the ``/**`` block that ends before ``end``, or ``top``."""
    before = text.rfind(b"\n", 0, end - 1) + 1
    if not text[before : end - 1].rstrip().endswith(style.closings):
        return top
    found = _block_start(text, before, end - 1, style.block)
    return found if found >= 0 and text[found:end].lstrip().startswith(b"/**") else top


def _block_start(
    text: bytes, before: int, end: int, blocks: tuple[tuple[bytes, bytes], ...]
) -> int:
    """Return the line start of the block comment that ends between two offsets, or -1."""
    last = text[max(before, end - _MOST_INDENT_BYTES) : end].rstrip()
    for opening, closing in blocks:
        if not last.endswith(closing):
            continue
        found = text.rfind(opening, max(0, end - _MOST_BLOCK_BYTES), end)
        if opening == closing:
            found = text.rfind(opening, max(0, end - _MOST_BLOCK_BYTES), found)
        if found < 0:
            continue
        top = text.rfind(b"\n", 0, found) + 1
        # Code before the opening means that the comment trails another statement.
        if text[top:found].strip() or text.find(closing, found + len(opening), before) >= 0:
            continue
        return top
    return -1


def doc_of(comment: bytes, style: CommentStyle) -> str:
    """Return the text of a comment: no markers, stripped lines, up to ``DOC_LIMIT`` characters."""
    text = comment[: 4 * DOC_LIMIT].decode("utf-8", "replace").rstrip()
    for opening, closing in style.block:
        if opening in comment:
            text = text.removesuffix(closing.decode())
            if not opening.startswith((b"/", b"#")):
                mark = opening.decode()
                text = text.replace(mark + " |", "").replace(mark, "")
            break
    text = _LEADING_MARKS.sub("", text)
    return "\n".join(map(str.strip, text.split("\n"))).strip()[:DOC_LIMIT].rstrip()


def doc_behind(text: bytes, end: int, style: CommentStyle) -> str:
    """Return the ``(** … *)`` after the definition that it documents, or an empty string."""
    found = _DOC_BEHIND.match(text, end, end + 4 * DOC_LIMIT)
    return doc_of(found.group(1) or found.group(2), style) if found is not None else ""


def docstring_at(text: bytes, start: int) -> str:
    """Return the string literal at the start of a body, or an empty string."""
    opening = _STRING_PREFIX.match(text, start)
    if opening is None:
        return ""
    quote = opening.group(1)
    end = text.find(quote, opening.end(), opening.end() + 4 * DOC_LIMIT)
    if end < 0:
        if len(quote) == 1:
            return ""
        end = opening.end() + 4 * DOC_LIMIT
    content = text[opening.end() : end].decode("utf-8", "replace")
    return "\n".join(line.strip() for line in content.strip().split("\n"))[:DOC_LIMIT].rstrip()
