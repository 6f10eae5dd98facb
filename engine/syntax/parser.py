"""Parse a text into symbols with tree-sitter, under a deadline.

Four properties of py-tree-sitter 0.26 shape this module:

* ``parse(bytes)`` ignores ``progress_callback`` and holds the GIL until it ends (5 s for 1 MB of
  ``"a"a``), so the text is passed by a read callable. The callback stops the parse by returning
  true.
* The memory returned by a read callable is never freed, so it always returns the same object: a
  window over the text (a worker kept every text it had parsed, 400 MB of a large tree).
* A tree made that way has no text: ``Node.text`` and query predicates (``#eq?``) read freed memory
  and kill the process. Queries here have no predicates; names are sliced from the text.
* ``QueryCursor.matches(…, progress_callback)`` kills the process too, so a running query cannot be
  stopped; ``preprocess`` rejects the trees on which it would not end.

The tree is never walked recursively or turned into text: deep nesting would overflow the stack.

Macro calls that hold items (``cfg_net! { pub struct … }``) get a parse of their own. A grammar
reads the input of a macro as loose tokens, but most Rust macros between items only put conditions
or attributes on the items they are given, which are written as anywhere else. The text between the
braces is parsed in place, and counts when all of it is items. Calls elsewhere (``vec! {}`` in a
function) are never looked at.
"""

import functools
import importlib
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from tree_sitter import (
    Language as TreeSitterLanguage,
)
from tree_sitter import (
    Node,
    Parser,
    Query,
    QueryCursor,
    Range,
)

from engine.records import Symbol
from engine.syntax.captures import Matches
from engine.syntax.conditions import without_splits
from engine.syntax.headings import HEADING_LANGUAGES, headings_of
from engine.syntax.keys import KEY_LANGUAGES, keys_of
from engine.syntax.keys import MAX_BYTES as MAX_KEY_FILE_BYTES
from engine.syntax.language_table import Grammar, Language
from engine.syntax.languages import LANGUAGES, QUERIES
from engine.syntax.notebooks import cell_symbols, is_notebook
from engine.syntax.outline import SCANNED_LANGUAGES, scanner_of, symbols_of_entries
from engine.syntax.preprocess import (
    Deadline,
    DeadlineReached,
    has_long_chains,
    is_beyond_deadlines,
    is_query_bounded,
    is_too_deep,
    is_too_deep_for_tokens,
    without_macros,
    without_snags,
    without_specifiers,
)
from engine.syntax.records import Parsed
from engine.syntax.references import marks_of
from engine.syntax.symbols import symbols_of

#: The languages with macros that hold items.
MACRO_LANGUAGES = frozenset({"rust"})
#: Macros in macros are read down to this depth; each level reads its bytes once more.
MAX_MACRO_DEPTH = 4
#: A text with more of them is generated or hostile.
MAX_MACROS = 5000

_CALL = re.compile(rb"!\s*\{")
_ITEM_WORD = re.compile(
    rb"\b(?:const|enum|fn|impl|macro_rules|mod|static|struct|trait|type|union)\b"
)
_MACRO = "macro_invocation"
_HOLDERS = frozenset({"foreign_mod_item", "impl_item", "mod_item", "trait_item"})
_DEFINITIONS = frozenset(
    {
        "const_item",
        "enum_item",
        "foreign_mod_item",
        "function_item",
        "function_signature_item",
        "impl_item",
        "macro_definition",
        "mod_item",
        "static_item",
        "struct_item",
        "trait_item",
        "type_item",
        "union_item",
    }
)
#: Other nodes between items.
_COMPANIONS = frozenset(
    {
        "attribute_item",
        "block_comment",
        "empty_statement",
        "extern_crate_declaration",
        "inner_attribute_item",
        "line_comment",
        "use_declaration",
    }
)

#: A query holds at most this many unfinished matches. The files of 29 repositories give the same
#: matches with 32 for definitions and 32 for references; the cost on nested calls grows with the
#: limit (250,000 of them take 2 s with 64).
_MATCH_LIMIT = 128

#: The scanner of bash calls ``isalpha`` with whole code points, which reads past the table of the C
#: library and kills the process on some characters beyond U+FFFF. They are replaced by letters.
_TO_ASCII = bytes(range(128)) + b"x" * 128


_WINDOW_BYTES = 64 << 10

#: Severity of the results of notebook cells; a cell without a grammar counts as fine.
_WORST_FIRST = ("timeout", "too_deep", "errors", "ok")

#: A file with more top-level statements is data; matching each would take longer than the parse.
_MAX_TOP_NODES = 50_000

#: What follows a parameter of a C function in the old style: others, and the body.
_OLD_PARAMETERS = re.compile(rb"(?:[\w\s*,\[\]]++;)*+\s*+\{")
_LONGEST_PARAMETERS = 400
_LONGEST_INDENTATION = 200


def item_macros(text: bytes, root: Node, deadline: Deadline) -> list[Range]:
    """Return the text between the braces of the macros that may hold items.

    Considers the items of a tree and the members of its modules, traits and ``impl`` blocks.

    Args:
        text: The whole text.
        root: The root of a tree over the text or a part of it.
        deadline: When to stop.

    Raises:
        DeadlineReached: The deadline has passed.
    """
    found: list[Range] = []
    if _CALL.search(text, root.start_byte, root.end_byte) is None:
        return found
    pending = [root]
    while pending:
        if deadline.has_passed():
            raise DeadlineReached
        for child in _children(pending.pop()):
            macro = _macro_of(child)
            if macro is not None:
                body = _body_of(text, macro)
                if body is not None:
                    found.append(body)
            elif child.type in _HOLDERS:
                members = child.child_by_field_name("body")
                if members is not None:
                    pending.append(members)
    return found


def holds_items_only(root: Node) -> bool:
    """Return whether a tree without errors holds only items and macros that may hold items."""
    has_some = False
    for child in _children(root):
        if child.type in _DEFINITIONS or _macro_of(child) is not None:
            has_some = True
        elif child.type not in _COMPANIONS:
            return False
    return has_some


def _children(node: Node) -> Iterator[Node]:
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child is not None:
            yield child
        more = cursor.goto_next_sibling()


def _macro_of(node: Node) -> Node | None:
    """Return the macro call that a statement consists of, with or without a semicolon, or None."""
    if node.type == _MACRO:
        return node
    if node.type == "expression_statement":
        first = node.child(0)
        return first if first is not None and first.type == _MACRO else None
    return None


def _body_of(text: bytes, macro: Node) -> Range | None:
    """Return the text between the braces of a call, or nothing if it cannot be items."""
    tokens = macro.child(macro.child_count - 1)
    if tokens is None or tokens.type != "token_tree" or tokens.child_count < 3:
        return None
    first, last = tokens.child(0), tokens.child(tokens.child_count - 1)
    if first is None or last is None or first.type != "{" or last.type != "}":
        return None
    start, end = first.end_byte, last.start_byte
    if _ITEM_WORD.search(text, start, end) is None:
        return None
    return Range(first.end_point, last.start_point, start, end)


class _Loaded(NamedTuple):
    language: TreeSitterLanguage
    query: Query  # of definitions and of references
    first_reference: int  # the first pattern of these
    top_query: Query | None  # patterns that begin at the root; None without any
    definitions: str  # the source of their patterns alone


class _Found(NamedTuple):
    """What a query finds."""

    matches: Matches  # of definitions
    references: Mapping[str, list[Node]] | None  # captures; None without patterns
    lost_some: bool  # more unfinished matches than the limit


@functools.cache
def _loaded(grammar: Grammar) -> _Loaded:
    module = importlib.import_module(grammar.module)
    language = TreeSitterLanguage(getattr(module, grammar.function)())
    sources = dict.fromkeys((".scm", ".top.scm", ".references.scm"), "")
    for name in grammar.queries:
        for suffix in sources:
            file = QUERIES / (name + suffix)
            if file.is_file():
                sources[suffix] += file.read_text("utf-8")
    definitions, top, references = sources.values()
    query = Query(language, definitions + references)
    starts = map(query.start_byte_for_pattern, range(query.pattern_count))
    first_reference = sum(start < len(definitions.encode()) for start in starts)
    top_query = Query(language, top) if top else None  # an empty one takes up to 20 ms
    return _Loaded(language, query, first_reference, top_query, definitions)


def load_grammar(language: str) -> None:
    """Load the grammar of a language, if it has one, before it is needed."""
    grammar = LANGUAGES[language].grammar
    if grammar is not None:
        with suppress(Exception):  # a parse that needs it says so
            _loaded(grammar)


@functools.cache
def _without_references(loaded: _Loaded) -> _Loaded:
    query = Query(loaded.language, loaded.definitions)
    return loaded._replace(query=query, first_reference=query.pattern_count)


def parse(text: bytes, language: str, *, deadline_ms: int) -> Parsed:
    """Find the definitions of a text. Never fails, whatever the text.

    Args:
        text: Valid UTF-8.
        language: A name of ``languages.LANGUAGES``.
        deadline_ms: After so much CPU time the parse stops, without symbols.

    Returns:
        The symbols and the result: ``ok``; ``errors`` (the text does not fit the grammar; its
        readable parts are there); ``too_deep`` (definitions nested deeper than the limit are left
        out, those in macros beyond their limits, and what needs more unfinished matches than a
        query holds); ``timeout`` and ``no_grammar`` (no symbols).
    """
    entry = LANGUAGES[language]
    if language == "jupyter":
        return _parse_notebook(text, deadline_ms)
    if entry.grammar is None:
        return _read_by_lines(text, entry)
    if is_beyond_deadlines(text, language):
        return Parsed([], "too_deep")
    loaded = _loaded(entry.grammar)
    deadline = Deadline(deadline_ms)
    try:
        root = _root_of(_readable(text, language, deadline), loaded.language, deadline)
        if is_too_deep(root, deadline) or has_long_chains(root, language, deadline):
            return Parsed([], "too_deep")
        has_error = root.has_error
        if has_error and not is_query_bounded(root, deadline):
            return Parsed([], "errors")
        if language in MACRO_LANGUAGES and is_too_deep_for_tokens(root, deadline):
            loaded = _without_references(loaded)
        matches, references, lost_some = _matches_of(root, loaded, text, deadline)
        if language in MACRO_LANGUAGES:
            lost_some |= _add_macros(matches, text, root, loaded, deadline)
        marks = _marks_of(references, text, deadline)
    except DeadlineReached:
        return Parsed([], "timeout")
    found = symbols_of(text, matches, entry)
    result = "errors" if has_error else "ok"
    lost_some = lost_some or found.lost_some
    return Parsed(found.symbols, "too_deep" if lost_some else result, found.comment_starts, marks)


def _read_by_lines(text: bytes, entry: Language) -> Parsed:
    """Find the definitions of a text in a language without a usable grammar."""
    language = entry.name
    if language in HEADING_LANGUAGES:
        return Parsed(headings_of(text, language), "ok")
    if language in KEY_LANGUAGES and len(text) <= MAX_KEY_FILE_BYTES:
        return Parsed(keys_of(text, language, entry.comments), "ok")
    if language in SCANNED_LANGUAGES:
        entries = scanner_of(language)(text)
        symbols, lost_some = symbols_of_entries(text, entries, entry.comments)
        return Parsed(symbols, "too_deep" if lost_some else "ok")
    return Parsed([], "no_grammar")


def _parse_notebook(text: bytes, deadline_ms: int) -> Parsed:
    """Parse each cell separately, so that broken ones affect no other; the worst result counts."""
    if not is_notebook(text):
        return Parsed([], "errors")
    results = {"ok"}
    deadline = Deadline(deadline_ms)

    def parse_cell(body: bytes, language: str) -> list[Symbol]:
        left_ms = deadline.left_ms()
        if left_ms <= 0:
            results.add("timeout")
            return []
        parsed = parse(body, language, deadline_ms=left_ms)
        results.add(parsed.result)
        return parsed.symbols

    symbols = cell_symbols(text, parse_cell)
    return Parsed(symbols, next(result for result in _WORST_FIRST if result in results))


def _readable(text: bytes, language: str, deadline: Deadline) -> bytes:
    """Return the text in a form that the grammar can read; lengths and lines are unchanged."""
    if language == "c":
        return without_splits(without_macros(text), language, deadline)
    if language == "cpp":
        return without_splits(without_specifiers(without_macros(text)), language, deadline)
    if language == "bash":
        return text if text.isascii() else text.translate(_TO_ASCII)
    return without_snags(text, language)


def _matches_of(root: Node, loaded: _Loaded, text: bytes, deadline: Deadline) -> _Found:
    """Match the patterns of definitions and of references.

    Both are found in one pass: visiting the nodes is two thirds of the time of a query.

    A pattern that begins at the root would stay open over the whole file and slow down each step
    of the query (TypeScript: 9 instead of 30 MB/s). A query of its own that may begin at the root
    only leaves everything below unvisited. It is asked again at each node that it captures as
    ``@top``. Its patterns are numbered after the others.
    """
    matches: Matches = []
    references: defaultdict[str, list[Node]] = defaultdict(list)
    lost_some = False
    count, first = loaded.query.pattern_count, loaded.first_reference
    if count:
        cursor = QueryCursor(loaded.query, match_limit=_MATCH_LIMIT)
        for match in cursor.matches(root):
            pattern, captures = match
            if pattern < first:
                matches.append(match)
            else:
                for name, nodes in captures.items():
                    references[name] += nodes
        lost_some = cursor.did_exceed_match_limit
    pending = [root] if loaded.top_query is not None and _top_count(root) <= _MAX_TOP_NODES else []
    accepts = _Acceptance(text)
    while pending and loaded.top_query is not None:
        if deadline.has_passed():
            raise DeadlineReached
        cursor = QueryCursor(loaded.top_query, match_limit=_MATCH_LIMIT)
        cursor.set_max_start_depth(0)
        top = pending.pop()
        accepts.is_broken = top.has_error and top.type != "declaration_list"
        for pattern, captures in cursor.matches(top):
            if "top" in captures:
                pending += captures["top"]
            elif accepts(captures):
                matches.append((count + pattern, captures))
        lost_some |= cursor.did_exceed_match_limit
    return _Found(matches, references if first < count else None, lost_some)


class _Acceptance:
    """Decides whether a match counts where its pattern alone cannot tell."""

    def __init__(self, text: bytes) -> None:
        #: Whether the place has unreadable parts, as the beginning of a ``struct``.
        self.is_broken = False
        self._text = text
        self._is_ended: dict[int, bool] = {}  # by node: its last child is found by counting
        self._is_plain: dict[int, bool] = {}

    def __call__(self, captures: Mapping[str, Sequence[Node]]) -> bool:
        for name, known, asks in (
            ("ended", self._is_ended, _is_ended),
            ("plain", self._is_plain, self._asks_plain),
        ):
            if name in captures:
                node = captures[name][0]
                if node.id not in known:
                    known[node.id] = asks(node)
                if not known[node.id]:
                    return False
        return True

    def _asks_plain(self, node: Node) -> bool:
        if node.has_error:
            return False
        text, start, end = self._text, node.start_byte, node.end_byte
        line = text.rfind(b"\n", max(0, start - _LONGEST_INDENTATION), start)
        if line > 0 and text[max(0, line - 2) : line].rstrip(b"\r").endswith(b"\\"):
            return False  # of a macro
        if self.is_broken and text[max(line, 0) : start].isspace() and line + 1 < start:
            return False  # a field or local
        return not _OLD_PARAMETERS.match(text, end, end + _LONGEST_PARAMETERS)


def _is_ended(node: Node) -> bool:
    last = node.child(node.child_count - 1)
    return last is not None and last.type == ";"


def _marks_of(
    references: Mapping[str, list[Node]] | None, text: bytes, deadline: Deadline
) -> Sequence[int] | None:
    """Return the marks of references, or None when there is no time left for them."""
    if references is None or deadline.has_passed():
        return None
    return marks_of(references, text)


def _add_macros(
    matches: Matches, text: bytes, root: Node, loaded: _Loaded, deadline: Deadline
) -> bool:
    """Add the definitions in macros, level by level, and return whether some were left out.

    The other definitions of the text are kept when time runs out.
    """
    count = 0
    lost_some = False
    loaded = _without_references(loaded)
    try:
        level = item_macros(text, root, deadline)
        for _ in range(MAX_MACRO_DEPTH):
            inner: list[Range] = []
            for body in level:
                if count == MAX_MACROS or deadline.has_passed():
                    return True
                count += 1
                tree = _root_of(text, loaded.language, deadline, body)
                if tree.has_error or not holds_items_only(tree) or is_too_deep(tree, deadline):
                    continue
                found, _, lost = _matches_of(tree, loaded, text, deadline)
                matches += found
                lost_some |= lost
                inner += item_macros(text, tree, deadline)
            level = inner
    except DeadlineReached:
        return True
    return lost_some or bool(level)


def _top_count(root: Node) -> int:
    """Count the top-level statements; some grammars put them into a node of their own."""
    count = root.child_count
    if count <= 4:
        return max((child.child_count for child in root.children), default=0)
    return count


class _Window(threading.local):
    """The part of the text that the parser reads; each thread has its own."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_WINDOW_BYTES))


_window = _Window()


def _root_of(
    text: bytes, language: TreeSitterLanguage, deadline: Deadline, part: Range | None = None
) -> Node:
    """Parse a text or a part of it; nodes have the positions of the whole text."""
    view = _window.view
    monotonic, earliest_s = time.monotonic, deadline.earliest_s
    end = len(text) if part is None else part.end_byte

    def read(offset: int, _point: object) -> memoryview:
        piece = text[offset : min(offset + _WINDOW_BYTES, end)]
        size = len(piece)
        view[:size] = piece
        return view[:size]

    try:
        # A parser is made anew each time (0.3 µs): it keeps the state of a stopped parse, and two
        # threads must not share it.
        parser = Parser(language)
        if part is not None:
            parser.included_ranges = [part]
        tree = parser.parse(
            read,
            progress_callback=lambda _offset, _has_error: (
                monotonic() > earliest_s and deadline.has_passed()
            ),
        )
    except ValueError as error:  # "Parsing failed": the callback stopped it
        raise DeadlineReached from error
    return tree.root_node
