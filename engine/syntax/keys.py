"""Find the keys of JSON, YAML and TOML as symbols, line by line, without a grammar.

Measured against the grammars: YAML's kills the process on ``- - - …`` and on 700 nested keys,
templates (``{{ … }}``) break it, and each takes as long as all other work on such a file.

Only keys on a line of their own count. A key belongs to the nearest key above it with less
indentation, as formatters write it; keys in arrays, below plain values and in objects on one line
are left out. Linear in the size, whatever the text.

A key with a mapping or object is a ``section``, down to the third level, and so is each TOML table;
a top-level key with another value is a ``property``. Some shapes have better names: an entry of
``scripts`` is a property, a Kubernetes object a section called ``Deployment.shop``, an OpenAPI
operation ``GET /users``; the items of a top-level list (Ansible) and of a TOML array of tables are
called by their ``name``.
"""

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from engine.records import Symbol
from engine.syntax.comments import comment_start, doc_of
from engine.syntax.language_table import CommentStyle

_MAX_DEPTH = 3
_ANY_INDENT = 99

#: Keys whose entries count with plain values too.
_COMMANDS = frozenset({"scripts", "tasks"})
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options", "trace"})

_JSON_START = re.compile(rb"\s*[{/]")
_JSON_LINE = re.compile(
    rb"""^([ \t]{0,12})(?: "((?:[^"\\\n]|\\.){1,200}+)"[ \t]*:[ \t]*([^\n]*) | ([}\]]) )""",
    re.MULTILINE | re.VERBOSE,
)
_YAML_DOCUMENT = re.compile(rb"^---(?=[ \t\r\n]|\Z)[^\n]*\n?", re.MULTILINE)
_YAML_LINE = re.compile(
    rb"""^([ ]{0,12})(?:
      (-)(?=[ \t\r\n])[ \t]*(?:name[ \t]*:[ \t]+([^\n]*))?
    | (?: "([^"\\\n]{1,200}+)" | '([^'\n]{1,200}+)' | ([^\s"'\#&*!|>%@`\[\]{},?:<-][^:\n]{0,200}+) )
      [ \t]*:(?=[ \t\r\n]|\Z)[ \t]*([^\n]*) )""",
    re.MULTILINE | re.VERBOSE,
)
#: The rest of the line of a key with a mapping: a comment, an anchor, a tag.
_YAML_NO_VALUE = re.compile(rb"(?:[&!][^\s#]*+[ \t]*+)*+(?:#.*)?\r?\Z")
_YAML_PLAIN = re.compile(rb"""[ \t]*(?:"([^"\\]*)"|'([^']*)'|([^"'#&*!|>%@`\[\]{}][^#]*))""")
_TOML_LINE = re.compile(
    rb"""^(\[\[?)[ \t]*([^\]\n\#]{1,300}+)\]\]?[ \t]*(?:\#[^\n]*)?\r?$
    | ^((?:"[^"\n]{1,100}+"|'[^'\n]{1,100}+'|[\w.-]{1,100}+){1,5}+)
      [ \t]*=[ \t]*(?:"([^"\\\n]*)")?""",
    re.MULTILINE | re.VERBOSE,
)
_TOML_PART = re.compile(rb"""[ \t]*(?:"([^"]*)"|'([^']*)'|([^."']+))[ \t]*(?:\.|\Z)""")
_TOML_TEXT = re.compile(rb"\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)

#: Larger files are data: their keys are ignored.
MAX_BYTES = 256 * 1024
#: More symbols come from data: the deepest level is dropped until there are fewer.
MAX_KEYS = 200

_MAX_LINE_BYTES = 1000
_MAX_SIGNATURE = 300  # characters
_MAX_NAME = 200  # characters
_MOST_COMMENT_LINES = 50


class Key:
    """A key and its span of the text."""

    __slots__ = ("depth", "end", "is_kept", "is_section", "name", "parent", "prefix", "start")

    def __init__(
        self, start: int, name: str, depth: int = 1, parent: "Key | None" = None, prefix: str = ""
    ) -> None:
        self.start = start
        self.end = start
        self.name = name
        self.depth = depth  # 1 at the top
        self.parent = parent
        self.prefix = parent.qualified_name if parent is not None and not prefix else prefix
        self.is_section = False  # it has a mapping
        self.is_kept = depth == 1

    @property
    def qualified_name(self) -> str:
        """The name, prefixed with those of the enclosing keys."""
        return f"{self.prefix}.{self.name}" if self.prefix else self.name


class _Chain:
    """The open keys, by indentation."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.limit = _ANY_INDENT  # deeper indentation does not count
        self._open: list[tuple[int, Key]] = []

    @property
    def is_at_top(self) -> bool:
        """Whether no key is open."""
        return not self._open

    def leave(self, indent: int, end: int) -> None:
        """Close the keys at an indentation or deeper."""
        opened = self._open
        while opened and opened[-1][0] >= indent:
            opened.pop()[1].end = end
            self.limit = _ANY_INDENT

    def close(self) -> None:
        """Ignore the lines below the last key: it has no mapping."""
        self.limit = self._open[-1][0] if self._open else 0

    def enter(self, indent: int, start: int, written: bytes) -> Key | None:
        """Open a key below the last one, or return None at the maximum depth."""
        opened = self._open
        depth = len(opened) + 1
        parent = opened[-1][1] if opened else None
        if parent is not None:
            parent.is_section = True
            if depth > _MAX_DEPTH:
                self.close()
                return None
        key = Key(start, written.decode("utf-8", "replace"), depth, parent)
        opened.append((indent, key))
        self.keys.append(key)
        if parent is not None:
            _name_known_shape(key, parent)
        return key


def _name_known_shape(key: Key, parent: Key) -> None:
    above = parent.parent
    if above is None:
        key.is_kept = parent.name in _COMMANDS
    elif key.name in _METHODS and above.name == "paths":  # OpenAPI
        key.name = f"{key.name.upper()} {parent.name}"


def json_keys(text: bytes) -> list[Key]:
    """Return the keys of a JSON object, with comments allowed."""
    if _JSON_START.match(text) is None:
        return []
    chain = _Chain()
    for match in _JSON_LINE.finditer(text):
        indent = match.end(1) - match.start()
        if indent > chain.limit:
            continue
        written, value, closing = match.group(2, 3, 4)
        if closing is not None:
            chain.leave(indent + 1, match.start())
            chain.leave(indent, match.end())
            continue
        chain.leave(indent, match.start())
        key = chain.enter(indent, match.end(1), written)
        if key is None:
            continue
        value = value.rstrip(b", \t\r")
        key.is_section = not value or (value[:1] == b"{" and value[-1:] != b"}")
        if value[:1] == b"[" and value[-1:] != b"]":
            chain.close()
        elif not key.is_section:  # all on this line
            chain.leave(indent, match.start(3) + len(value))
    chain.leave(0, len(text))
    return chain.keys


def yaml_keys(text: bytes) -> list[Key]:
    """Return the keys of each document of a YAML stream."""
    starts = [0, *(match.end() for match in _YAML_DOCUMENT.finditer(text))]
    ends = [*(match.start() for match in _YAML_DOCUMENT.finditer(text)), len(text)]
    keys: list[Key] = []
    for start, end in zip(starts, ends, strict=True):
        keys += _document_keys(text, start, end)
    return keys


def _document_keys(text: bytes, start: int, end: int) -> list[Key]:
    chain = _Chain()
    items: list[Key] = []  # of a list at the top
    named: dict[str, str] = {}
    for match in _YAML_LINE.finditer(text, start, end):
        indent = match.end(1) - match.start()
        if indent > chain.limit:
            continue
        dash, item, *written, value = match.group(2, 3, 4, 5, 6, 7)
        if dash is not None:
            chain.leave(indent + 1, match.start())
            chain.close()
            if chain.is_at_top and not indent:
                items.append(Key(match.start(), _plain(item)))
            continue
        chain.leave(indent, match.start())
        key = chain.enter(indent, match.end(1), (written[0] or written[1] or written[2]).rstrip())
        if key is None:
            continue
        if value and _YAML_NO_VALUE.match(value) is None:
            chain.close()
        path = key.name if key.parent is None else f"{key.parent.name}.{key.name}"
        if path in {"kind", "apiVersion", "metadata.name"}:
            named.setdefault(path, _plain(value))
    chain.leave(0, end)
    if items:
        return chain.keys + _ended(items, end)
    if len(named) == 3 and all(named.values()):
        return _kubernetes(chain.keys, named, end)
    return chain.keys


def _ended(items: list[Key], end: int) -> list[Key]:
    """End each item of a list where the next one begins, and return the named ones."""
    for item, following in pairwise(items):
        item.end = following.start
    items[-1].end = end
    for item in items:
        item.is_section = True
    return [item for item in items if item.name]


def _kubernetes(keys: list[Key], named: dict[str, str], end: int) -> list[Key]:
    """Return the sections of a Kubernetes object below a section with its name."""
    whole = Key(keys[0].start, named["metadata.name"], prefix=named["kind"])
    whole.end = end
    whole.is_section = True
    inner = [key for key in keys if key.depth == 1 and key.is_section]
    for key in inner:
        key.parent, key.depth, key.prefix = whole, 2, whole.qualified_name
    return [whole, *inner]


def _plain(value: bytes | None) -> str:
    """Return a plain YAML value without quotes and comment; empty for other values."""
    match = _YAML_PLAIN.match(value[:300]) if value else None
    if match is None:
        return ""
    found = match[1] or match[2] or match[3] or b""
    return found.decode("utf-8", "replace").strip()


def toml_keys(text: bytes) -> list[Key]:
    """Return the tables of a TOML document, the keys before the first, and those of scripts."""
    if b'"""' in text or b"'''" in text:
        text = _TOML_TEXT.sub(lambda match: match.group().replace(b"\n", b" "), text)
    keys: list[Key] = []
    tables: list[tuple[list[str], Key]] = []  # from the outermost to the current one
    last: Key | None = None  # a key with a plain value, which ends where the next item begins
    is_array = False
    for match in _TOML_LINE.finditer(text):
        bracket, header, written, value = match.groups()
        if last is not None:
            last.end, last = match.start(), None
        if header is not None:
            _enter_table(keys, tables, match.start(), _parts(header))
            is_array = bracket == b"[["
        elif is_array and tables and written == b"name" and value:
            table = tables[-1][1]
            table.prefix, table.name = table.qualified_name, value.decode("utf-8", "replace")
        elif not tables or tables[-1][0][-1] in _COMMANDS:
            last = _plain_key(match.start(), _parts(written), tables)
            keys.append(last)
    for key in [*(key for _, key in tables), *([last] if last is not None else [])]:
        key.end = len(text)
    return keys


def _plain_key(start: int, parts: list[str], tables: list[tuple[list[str], Key]]) -> Key:
    if not tables:
        return Key(start, ".".join(parts))
    table = tables[-1][1]
    key = Key(start, ".".join(parts), table.depth + 1, table)
    key.is_kept = True
    return key


def _enter_table(
    keys: list[Key], tables: list[tuple[list[str], Key]], start: int, parts: list[str]
) -> None:
    """Close the tables that a header ends, and open its own below the tables it names."""
    while tables and (len(parts) <= len(tables[-1][0]) or not _begins(parts, tables[-1][0])):
        tables.pop()[1].end = start
    if not parts:
        return
    parent = tables[-1][1] if tables else None
    key = Key(start, parts[-1], len(parts), parent, ".".join(parts[:-1]))
    key.is_section = True
    tables.append((parts, key))
    keys.append(key)


def _begins(parts: list[str], first: list[str]) -> bool:
    return parts[: len(first)] == first


def _parts(written: bytes) -> list[str]:
    """Split a dotted TOML key; empty if malformed."""
    parts: list[str] = []
    at = 0
    while at < len(written):
        match = _TOML_PART.match(written, at)
        if match is None:
            return []
        part = match[1] or match[2] or (match[3] or b"").strip()
        parts.append(part.decode("utf-8", "replace"))
        at = match.end()
    return parts if all(parts) else []


#: The reader of each language.
READERS: dict[str, Callable[[bytes], list[Key]]] = {
    "json": json_keys,
    "toml": toml_keys,
    "yaml": yaml_keys,
}


#: The languages that have keys.
KEY_LANGUAGES = frozenset(READERS)


def keys_of(text: bytes, language: str, comments: CommentStyle) -> list[Symbol]:
    """Return the keys of a data file as symbols of the kinds ``section`` and ``property``.

    Linear in the size. Any other text results in few keys or none, never an error.

    Args:
        text: The whole text, at most ``MAX_BYTES``.
        language: One of ``KEY_LANGUAGES``.
        comments: Of the language, for the docs of keys.

    Returns:
        Symbols in text order, nested by their spans.
    """
    keys = _chosen(READERS[language](text))
    symbols: list[Symbol] = []
    places: dict[int, int] = {}  # id of a key: its symbol
    line, counted = 1, 0
    for key in keys:
        start = key.start
        line += text.count(b"\n", counted, start)
        counted = start
        end = _end_of(text, start, key.end, comments)
        line_end = text.find(b"\n", start, start + _MAX_LINE_BYTES)
        first = text[start : line_end if line_end >= 0 else start + _MAX_LINE_BYTES]
        top = comment_start(text, start, comments)
        places[id(key)] = len(symbols)
        symbols.append(
            Symbol(
                name=key.name[:_MAX_NAME],
                qualified_name=key.qualified_name[: 3 * _MAX_NAME],
                kind="section" if key.is_section else "property",
                signature=first.decode("utf-8", "replace").strip()[:_MAX_SIGNATURE],
                doc=doc_of(text[top:start], comments) if top < start else "",
                byte_start=start,
                byte_end=end,
                line_start=line,
                line_end=line + text.count(b"\n", start, end),
                parent=_place_of(key.parent, places),
                exported=True,
            )
        )
    return symbols


def _place_of(key: Key | None, places: dict[int, int]) -> int:
    """Return the symbol of a key or of its nearest enclosing key with one, or -1."""
    while key is not None and id(key) not in places:
        key = key.parent
    return places[id(key)] if key is not None else -1


def _chosen(found: list[Key]) -> list[Key]:
    """Return the keys worth a symbol, without the deepest levels if there are too many."""
    keys = [
        key for key in found if (key.is_section or key.is_kept) and any(map(str.isalnum, key.name))
    ]
    if len(keys) <= MAX_KEYS:
        return keys
    total, most = 0, 0
    for depth, count in sorted(Counter(key.depth for key in keys).items()):
        total += count
        if total > MAX_KEYS:
            break
        most = depth
    return [key for key in keys if key.depth <= most]


def _end_of(text: bytes, start: int, end: int, comments: CommentStyle) -> int:
    """Return the end of a key before blank lines and the comment of the next key."""
    end = start + len(text[start:end].rstrip())
    for _ in range(_MOST_COMMENT_LINES):
        line_start = text.rfind(b"\n", start, end) + 1
        if not line_start or not text[line_start:end].lstrip().startswith(comments.line):
            break
        end = start + len(text[start:line_start].rstrip())
    return end
