"""Find what SQL scripts create: tables with columns, views, routines, types, …; by statements.

A statement counts where ``CREATE`` begins a line. The available grammar knows one dialect and fails
on half of real scripts; a wrong guess here costs one statement.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.syntax.outline import Entry

_KINDS = {
    b"AGGREGATE": "function",
    b"DATABASE": "namespace",
    b"DOMAIN": "type",
    b"EVENT": "function",
    b"FUNCTION": "function",
    b"INDEX": "property",  # of a table
    b"MACRO": "macro",
    b"PACKAGE": "module",
    b"PROC": "function",
    b"PROCEDURE": "function",
    b"SCHEMA": "namespace",
    b"SEQUENCE": "variable",
    b"TABLE": "struct",  # of its columns
    b"TRIGGER": "function",
    b"TYPE": "type",
    b"VIEW": "struct",
}
_ROUTINES = frozenset({"function", "macro", "module"})
_NAME = (
    rb"(?:`[^`\n]+`|'[^'\n]+'|\"[^\"\n]+\"|\[[^\]\n]+\]|[\w$#@\x80-\xff]+|\$?\{\{?[^{}\n]*\}\}?)"
)
_CREATE = re.compile(
    rb"^([ \t]*)(?:/\*!\d*[ \t]*)?CREATE\s+(?:(?!CREATE\b)[A-Z_]+(?:\s*=\s*\S+)?\s+){0,8}?"
    rb"(AGGREGATE|DATABASE|DOMAIN|EVENT(?!\s+TRIGGER)|FUNCTION|INDEX|MACRO|PACKAGE|PROC(?:EDURE)?|"
    rb"SCHEMA|SEQUENCE|TABLE(?!\s+FUNCTION)|TRIGGER|TYPE|VIEW)\s+"
    rb"(?:BODY\s+|CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(?!CREATE\b)"
    rb"(" + _NAME + rb"(?:\s*\.\s*" + _NAME + rb"){0,3})",
    re.MULTILINE | re.IGNORECASE,
)
_ADDED = re.compile(
    rb"^[ \t]*ALTER\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:ONLY\s+)?"
    rb"(" + _NAME + rb"(?:\s*\.\s*" + _NAME + rb"){0,3})\s+ADD\s+(?:COLUMN\s+)?"
    rb"(?:IF\s+NOT\s+EXISTS\s+)?(" + _NAME + rb")\s+[^\n;]*",
    re.MULTILINE | re.IGNORECASE,
)
#: A query with a name, as programs load them from files of queries.
_NAMED = re.compile(rb"^--[ \t]*name[ \t]*:[ \t]*([\w-]+)[^\n]*", re.MULTILINE | re.IGNORECASE)
#: Old code in a comment, but no ``/*!50001 CREATE …*/``, which a server reads.
_COMMENT = re.compile(rb"^[ \t]*/\*(?!!).*?(?:\*/|\Z)", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(
    rb"--[^\n]*|^[ \t]*#[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^'\\]|''|\\.)*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|"
    rb"`[^`]*(?:`|\Z)|\$([A-Za-z_]\w*|)\$.*?(?:\$\1\$|\Z)|[();,]|"
    rb"^[ \t]*(?:GO|/|DELIMITER\b[^\n]*)[ \t]*\r?$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_QUOTED_BODY = re.compile(rb"\$([A-Za-z_]\w*|)\$")
_BEGIN = re.compile(rb"\bBEGIN\b", re.IGNORECASE)
_END = re.compile(rb"^([ \t]*)END\b(?!\s+(?:IF|LOOP|CASE|WHILE|REPEAT|FOR)\b)[^\n]*", re.M | re.I)
_ANY_END = re.compile(rb"\bEND\b[^\n]*", re.IGNORECASE)
_BODY = re.compile(rb"\s(?:AS|IS|BEGIN)\b|\$\w*\$", re.IGNORECASE)
_BEFORE_COLUMNS = re.compile(
    rb"\s*(?:AS\s*(?:OBJECT|TABLE)?|USING\s+\w+|UNDER\s+[\w.]+)?\s*\Z", re.IGNORECASE
)
_BLANK = re.compile(rb"(?:\s+|--[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_COLUMN = re.compile(rb"(" + _NAME + rb")(?:\s+[A-Za-z\"`\[@:_{$]|\s*\Z)")
_CONSTRAINT = re.compile(
    rb"(?:CHECK|CONSTRAINT|EXCLUDE|FOREIGN|FULLTEXT|LIKE|PARTITION|PERIOD|PRIMARY|REFERENCES|"
    rb"SELECT|SPATIAL|UNIQUE|WITH)\b|(?:INDEX|KEY)\s+(?:" + _NAME + rb"\s*)?\(\s*[^\d\s]",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(rb"[ \t]*(?:GO|/|DELIMITER\b[^\n]*)[ \t]*\r?\Z", re.IGNORECASE)
_QUERY = re.compile(rb"(?:\s+|--[^\n]*\n)*\(*(?:SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)
_PART = re.compile(_NAME)
_MOST_BODY_BYTES = 100_000  # of a quoted body: how far its end is looked for
_MOST_LINE_BYTES = 1000  # behind a column, that are looked at for a comment
_MOST_INNER = 200  # statements inside of a routine that are stepped over


class _Start(NamedTuple):
    match: re.Match[bytes]
    kind: str
    indent: int


def entries_of_sql(text: bytes) -> list[Entry]:
    """Return what a script creates, the columns that it adds to tables, and its named queries."""
    comments = [match.span() for match in _COMMENT.finditer(text)] if b"/*" in text else []
    starts = [
        _Start(match, _KINDS[match.group(2).upper()], len(match.group(1)))
        for match in _outside(_CREATE.finditer(text), comments)
    ]
    entries: list[Entry] = []
    position = 0
    for index, start in enumerate(starts):
        if start.match.start() >= position:
            found, position = _statement(text, start, _limit(text, starts, index))
            entries += found
    for match in _outside(_ADDED.finditer(text), comments):
        if not _CONSTRAINT.match(match.group(2)):
            receiver, table = _parts(match.group(1))
            _, name = _parts(match.group(2))
            end = match.end()
            begin = end - len(match.group().lstrip())
            owner = f"{receiver}.{table}" if receiver else table
            entries.append(Entry(begin, end, end, "field", name, owner))
    return entries + _named_queries(text)


def _outside(
    matches: Iterator[re.Match[bytes]], spans: list[tuple[int, int]]
) -> Iterator[re.Match[bytes]]:
    """Yield the matches that begin outside the spans; both are in text order."""
    index = 0
    for match in matches:
        while index < len(spans) and spans[index][1] <= match.start():
            index += 1
        if index == len(spans) or match.start() < spans[index][0]:
            yield match


def _limit(text: bytes, starts: list[_Start], index: int) -> int:
    """Return the latest end of a statement: before the next one that is not indented more."""
    start = starts[index]
    limit = len(text)
    later = starts[index + 1 : index + 1 + _MOST_INNER]
    for other in later:
        if other.indent <= start.indent or start.kind not in _ROUTINES:
            limit = other.match.start()
            break
    else:
        limit = later[-1].match.start() if len(later) == _MOST_INNER else limit
    if start.kind in _ROUTINES:
        opening = _QUOTED_BODY.search(text, start.match.end(), limit)
        if opening is not None:
            mark = opening.group()
            closing = text.find(mark, opening.end(), opening.end() + _MOST_BODY_BYTES)
            if closing >= limit:
                newline = text.find(b"\n", closing)
                limit = newline if newline >= 0 else len(text)
    return limit


def _statement(text: bytes, start: _Start, limit: int) -> tuple[list[Entry], int]:
    """Return the definitions of a statement and its end."""
    match, kind = start.match, start.kind
    receiver, name = _parts(match.group(3))
    begin = match.start() + start.indent
    if kind == "property" and match.group(3).upper() == b"ON":  # an index without a name
        return [], match.end()
    end, columns, opening = _end_and_columns(text, match.end(), limit, has_columns=_has(kind))
    if kind in _ROUTINES:
        end = _end_of_routine(text, start, end, limit)
    body = _BODY.search(text, match.end(), end)
    head_end = body.start() if body is not None and kind not in ("type", "property") else end
    if opening >= 0:
        kind, head_end = "struct", min(head_end, opening)
    elif kind == "type" and re.match(rb"\s+AS\s+ENUM\b", text[match.end() : end], re.IGNORECASE):
        kind = "enum"
    entries = [Entry(begin, end, head_end, kind, name, receiver)]
    entries += [entry for span in columns if (entry := _column(text, span)) is not None]
    return entries, end


def _has(kind: str) -> bool:
    return kind in ("struct", "type")


def _end_and_columns(
    text: bytes, begin: int, limit: int, *, has_columns: bool
) -> tuple[int, list[tuple[int, int]], int]:
    """Scan from the name to the end of a statement.

    Returns:
        The end; the spans between the commas of the list after the name; where this list opens,
        or -1.
    """
    depth, opening, item = 0, -1, -1
    columns: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text, begin, limit):
        mark = token.group()
        if mark == b"(":
            depth += 1
            if has_columns and opening < 0 and depth == 1:
                has_columns = _opens_columns(text, begin, token)
                opening = token.start() if has_columns else -1
                item = token.end() if has_columns else -1
        elif mark in (b")", b","):
            if item >= 0 and depth == 1:
                columns.append((item, token.start()))
                item = token.end() if mark == b"," else -1
            depth = max(0, depth - (mark == b")"))
        elif depth == 0 and mark == b";":
            return token.end(), columns, opening
        elif depth == 0 and _SEPARATOR.match(mark):
            limit = token.start()
            break
    return begin + len(text[begin:limit].rstrip()), columns, opening


def _opens_columns(text: bytes, begin: int, token: re.Match[bytes]) -> bool:
    """Return whether a bracket opens the list of columns, not a query."""
    before = _BEFORE_COLUMNS.match(text, begin, token.start())
    return before is not None and _QUERY.match(text, token.end()) is None


def _end_of_routine(text: bytes, start: _Start, end: int, limit: int) -> int:
    """Return the end of a routine whose body has statements of its own."""
    name_end = start.match.end()
    if _QUOTED_BODY.search(text, name_end, end) is not None:
        return end
    begin = _BEGIN.search(text, name_end, limit)
    if begin is None and start.kind != "module":
        return end
    inside = begin.end() if begin is not None else name_end
    for closing in _END.finditer(text, inside, limit):
        if len(closing.group(1)) <= start.indent:
            return closing.end()
    closings = list(_ANY_END.finditer(text, inside, limit))
    return closings[-1].end() if closings else end


def _column(text: bytes, span: tuple[int, int]) -> Entry | None:
    blank = _BLANK.match(text, *span)
    begin = blank.end() if blank is not None else span[0]
    column = _COLUMN.match(text, begin, span[1])
    if column is None or _CONSTRAINT.match(text, begin, span[1]):
        return None
    end = begin + len(text[begin : span[1]].rstrip())
    line_end = text.find(b"\n", span[1], span[1] + _MOST_LINE_BYTES)
    comment = text[column.end(1) : max(line_end, span[1])].partition(b"--")[2]
    doc = comment.partition(b"\n")[0].decode("utf-8", "replace").strip()
    return Entry(begin, end, end, "field", _parts(column.group(1))[1], "", doc)


def _parts(name: bytes) -> tuple[str, str]:
    """Return the qualifier and the last part of an unquoted name; ``""`` for a template."""
    parts = [part.decode("utf-8", "replace").strip("`'\"[]") for part in _PART.findall(name)]
    last = parts.pop() if parts else ""
    return ".".join(part for part in parts if "{" not in part), "" if "{" in last else last


def _named_queries(text: bytes) -> list[Entry]:
    entries: list[Entry] = []
    for match in _NAMED.finditer(text):
        if entries:
            entries[-1] = _ended(text, entries[-1], match.start())
        name = match.group(1).decode("utf-8", "replace")
        entries.append(Entry(match.start(), len(text), match.end(), "function", name))
    if entries:
        entries[-1] = _ended(text, entries[-1], len(text))
    return entries


def _ended(text: bytes, entry: Entry, end: int) -> Entry:
    return entry._replace(end=entry.start + len(text[entry.start : end].rstrip()))
