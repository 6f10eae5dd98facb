"""Keys of JSON, YAML and TOML as symbols; by lines, without a grammar.

Measured against the grammars: that of YAML kills the process on ``- - - …`` and on 700 nested keys,
templates (``{{ … }}``) break it, and each takes as long as all else that is done to such a file.

A key with a mapping or object is a ``section``, down to the third level, and so is each TOML table;
at the top a key with another value is a ``property``. Some shapes have better names: an entry of
``scripts`` is a property, a Kubernetes object a section such as ``Deployment.shop``, an OpenAPI
operation ``GET /users``; the items of a list at the top (Ansible) and of a TOML array of tables go
by their ``name``.
"""

from collections import Counter

from engine.records import Symbol
from engine.syntax.comments import comment_start, doc_of
from engine.syntax.key_lines import READERS, Key
from engine.syntax.language_table import CommentStyle

#: The languages that have keys.
KEY_LANGUAGES = frozenset(READERS)
#: Larger files are data: their keys are not looked at.
MAX_BYTES = 256 * 1024
#: More symbols than these come from data: the deepest level goes until there are fewer.
MAX_KEYS = 200

_MAX_LINE_BYTES = 1000
_MAX_SIGNATURE = 300  # characters
_MAX_NAME = 200  # characters
_MOST_COMMENT_LINES = 50


def keys_of(text: bytes, language: str, comments: CommentStyle) -> list[Symbol]:
    """Give the keys of a data file as symbols of the kinds ``section`` and ``property``.

    Linear in the size. What is no such file gives few keys or none, never an error.

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
    """Give the symbol of a key or of the nearest one around it that has one; -1 for none."""
    while key is not None and id(key) not in places:
        key = key.parent
    return places[id(key)] if key is not None else -1


def _chosen(found: list[Key]) -> list[Key]:
    """Leave out what is not worth a symbol, and the deepest levels when there are too many."""
    keys = [
        key
        for key in found
        if (key.is_section or key.is_wanted) and any(map(str.isalnum, key.name))
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
    """Take blank lines and the comment of what follows from the end of a key."""
    end = start + len(text[start:end].rstrip())
    for _ in range(_MOST_COMMENT_LINES):
        line_start = text.rfind(b"\n", start, end) + 1
        if not line_start or not text[line_start:end].lstrip().startswith(comments.line):
            break
        end = start + len(text[start:line_start].rstrip())
    return end
