"""Guard parsers and queries against pathological input, and blank text that grammars misread.

Guards: a deadline stops most parses, but neither a single step of one nor a query. The limits here
were measured; the worker process limits the damage of a text that passes them.

Rewrites keep the length and the lines of the text. Each of these constructs costs a definition or
the rest of a file, and none affects what the file defines.

C and C++: ``class EXPORTED Name``, ``EXTERN int name(…)``, ``A_CONSTEXPR Name(…)`` and lines like
``BEGIN_NAMESPACE`` or ``PUBLIC_IN_TESTS:`` are valid once the preprocessor has run, and wreck a
parse before it has: a class is read as a function, or everything to the end of the file as one
error. By convention such macros are in upper case. The patterns begin with a literal, which makes
the search three times faster.

Kotlin:

* ``annotation class Name`` after an annotation is read as an infix call.
* ``context(name: Type)`` before a function is not supported.
* A line that begins with a name such as ``in1`` continues the previous line with the operator
  ``in``.

C#: a ``#if`` between the name of a type and its body is read as the name.
"""

import re
import time
from collections.abc import Callable

from tree_sitter import Node

#: Below this depth of the tree a query takes seconds for each ten thousand levels: its depths are
#: 16-bit numbers.
_MAX_TREE_DEPTH = 30_000
#: Below this depth the patterns of references in the tokens of macros take half a millisecond for
#: each token: they look for what follows it, level by level.
_MAX_TOKEN_DEPTH = 1_000

#: A query step scans the later siblings of a node inside an ERROR node up to the next named one.
#: 0.7 ns each: 3e8 of them are 0.2 s. Below _SMALL_BYTES that cannot be reached.
_MAX_SIBLING_STEPS = 300_000_000
_SMALL_BYTES = 20_000

#: Whether ``a<`` opens type arguments is open until it is closed, and parsers keep both readings of
#: each. Java: 4,000 in a row take 0.2 s and 240 MB, 20,000 take 15 s and 4.5 GB. TypeScript:
#: 400,000 take 2.6 s and 1 GB. So many at most may be open at the end of a text.
_MOST_OPEN_ANGLES = {
    "cpp": 20_000,
    "csharp": 3_000,
    "java": 3_000,
    "kotlin": 20_000,
    "swift": 20_000,
    "tsx": 20_000,
    "typescript": 20_000,
}
#: The scanner of Swift reads a run of ``#`` again from each of them: 16,000 take 0.75 s.
_SWIFT_MARKS = b"#" * 4000
#: The scanner of OCaml recurses for each comment in a comment: 500,000 kill the process.
_MOST_NESTED_COMMENTS = 10_000
_COMMENT_MARK = re.compile(rb"\(\*|\*\)")

#: Nodes of OCaml whose children look flat but form a chain as deep as their number: a
#: query climbs it from each of them. 2.6 ns a step; 2e8 of them are 0.5 s.
_CHAINED = frozenset(
    {"or_pattern", "sequence_expression", "tuple_expression", "tuple_pattern", "tuple_type"}
)
_CHAINED_LANGUAGES = frozenset({"ocaml", "ocaml-interface"})
_MAX_CHAIN_STEPS = 200_000_000
_LONG_CHAIN = 1000

_IN_CLASS_HEAD = tuple(
    re.compile(
        keyword + rb"[ \t]+([A-Z][A-Z0-9_]{2,}(?:\([^()\n]*\))?)[ \t\n]+"
        rb"(?=[A-Za-z_]\w*\s*(?:final\b|[:{;<]))"
    )
    for keyword in (b"class", b"struct")
)
_AT_LINE_START = re.compile(
    rb"\n[ \t]*(?:(?:static|inline|virtual|constexpr|explicit|extern|friend|"
    rb"template[ \t]*<[^\n>]*>)[ \t]+)*"
    rb"([A-Z][A-Z0-9_]{3,}(?:\([^()\n]*\))?:?)"
    rb"(?:[ \t]*(?=\r?\n)|[ \t]+(?=template[ \t]*<|"
    rb"[A-Za-z_~][\w:]*(?:<[^\n>]*>)?(?:[ \t]+|[ \t]*[*&]+[ \t]*)[A-Za-z_~(]))"
)
#: Macros whose name is that of a specifier, whatever follows.
_SPECIFIERS = (b"CONSTEXPR", b"CONSTEVAL", b"EXPLICIT", b"INLINE", b"NODISCARD")
_SPECIFIER = re.compile(
    rb"(?:"
    + rb"|".join(_SPECIFIERS)
    + rb")[A-Z0-9_]{0,40}(?:\([^()\n]{0,200}\))?(?=[ \t]+[A-Za-z_~])"
)
_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_MOST_BEFORE = 200  # bytes examined before a macro on its line
#: The content of a condition is irrelevant here, and can be unreadable: __has_include(<header>).
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if[ \t]+((?:[^\\\n]|\\\r?\n|\\)*)")

_ANNOTATION = b"annotation class "
_CONTEXT = re.compile(rb"^[ \t]*context\([^()\n]*\)(?=[ \t]*\r?\n)", re.MULTILINE)
_LIKE_IN = re.compile(rb"in[0-9_]")
_LINE_LIKE_IN = re.compile(rb"(\n[ \t]*)in(?=[0-9_])")

#: Between a head and its ``{``: only conditions, and lines that begin with a colon or a comma.
_CONDITIONS = re.compile(rb"#if[^\n]*(?:\n[ \t]*(?:#[^\n]*|[:,][^\n;{}]*)){1,12}(?=\n[ \t]*\{)")
_CONDITION_LINE = re.compile(rb"#[^\n]*")


class DeadlineReached(Exception):  # noqa: N818 - a signal, not an error
    """The deadline has passed."""


class Deadline:
    """A limit on the CPU time that this thread spends on a text, from now on.

    A worker has a low priority: what it spends does not depend on what else the machine does.
    """

    def __init__(self, milliseconds: int) -> None:
        self._cpu_s = time.thread_time() + milliseconds / 1000
        #: Until then it cannot have passed; this clock is cheaper to read.
        self.earliest_s = time.monotonic() + milliseconds / 1000

    def has_passed(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self.earliest_s and time.thread_time() > self._cpu_s

    def left_ms(self) -> int:
        """Return how much is left, negative once it has passed."""
        return int((self._cpu_s - time.thread_time()) * 1000)


def is_beyond_deadlines(text: bytes, language: str) -> bool:
    """Return whether a single step of a parser, which nothing can stop, would not end on a text."""
    most = _MOST_OPEN_ANGLES.get(language)
    if most is not None and len(text) > most:
        shifts = text.count(b"<<")  # do not open anything
        if text.count(b"<") - 2 * shifts - text.count(b">") > most:
            return True
    if language in _CHAINED_LANGUAGES:
        return _has_deep_comments(text)
    return language == "swift" and _SWIFT_MARKS in text


def _has_deep_comments(text: bytes) -> bool:
    """Return whether OCaml comments are nested too deep for the stack of the scanner."""
    if text.count(b"(*") <= _MOST_NESTED_COMMENTS:
        return False
    depth = 0
    for mark in _COMMENT_MARK.finditer(text):
        depth += 1 if mark.group() == b"(*" else -1
        if depth > _MOST_NESTED_COMMENTS:
            return True
        depth = max(depth, 0)
    return False


def is_too_deep(root: Node, deadline: Deadline) -> bool:
    """Return whether a tree is too deep for a query."""
    return _is_deeper(root, _MAX_TREE_DEPTH, deadline)


def is_too_deep_for_tokens(root: Node, deadline: Deadline) -> bool:
    """Return whether a tree is too deep for patterns of the tokens of macros."""
    return _is_deeper(root, _MAX_TOKEN_DEPTH, deadline)


def _is_deeper(root: Node, limit: int, deadline: Deadline) -> bool:
    """Return whether a tree is deeper than a limit.

    Looks only at nodes that hold enough others to reach the limit, which in ordinary texts
    are a few at the top.
    """
    if root.descendant_count < limit:
        return False
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > limit:
            return True
        if deadline.has_passed():
            raise DeadlineReached
        needed = limit - depth
        cursor = node.walk()
        more = cursor.goto_first_child()
        while more:
            child = cursor.node
            if child is not None and child.descendant_count >= needed:
                pending.append((child, depth + 1))
            more = cursor.goto_next_sibling()
    return False


def has_long_chains(root: Node, language: str, deadline: Deadline) -> bool:
    """Return whether a query over a tree would climb hidden chains of nodes for too long."""
    if language not in _CHAINED_LANGUAGES:
        return False
    steps = 0
    pending = [root]
    while pending:
        node = pending.pop()
        if deadline.has_passed():
            raise DeadlineReached
        if node.type in _CHAINED:
            steps += node.child_count**2
            if steps > _MAX_CHAIN_STEPS:
                return True
        cursor = node.walk()
        more = cursor.goto_first_child()
        while more:
            child = cursor.node
            if child is not None and child.descendant_count >= _LONG_CHAIN:
                pending.append(child)
            more = cursor.goto_next_sibling()
    return False


def is_query_bounded(root: Node, deadline: Deadline) -> bool:
    """Return whether a query over a tree with errors ends in acceptable time.

    Unreadable text lies flat in an ERROR node, and a query scans for each of its children the
    later ones up to the next named one. 900 kB of brackets or dashes take minutes.
    """
    if root.end_byte < _SMALL_BYTES:
        return True
    steps = 0
    pending = [root]
    while pending:
        node = pending.pop()
        if deadline.has_passed():
            raise DeadlineReached
        if node.is_error and node.child_count > node.named_child_count:
            steps += _sibling_steps(node, deadline)
            if steps > _MAX_SIBLING_STEPS:
                return False
        cursor = node.walk()
        more = cursor.goto_first_child()
        while more:
            child = cursor.node
            if child is not None and child.has_error and child.end_byte - child.start_byte > 1000:
                pending.append(child)
            more = cursor.goto_next_sibling()
    return True


def _sibling_steps(node: Node, deadline: Deadline) -> int:
    """Count the steps of a query over the children of a node: squares of the unnamed runs."""
    if node.child_count < 1000:
        return node.child_count**2
    steps = run = seen = 0
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        child = cursor.node
        if child is not None and child.is_named:
            steps += run * run // 2
            run = 0
        else:
            run += 1
        seen += 1
        if seen % 10_000 == 0 and deadline.has_passed():
            raise DeadlineReached
        more = cursor.goto_next_sibling()
    return steps + run * run // 2


def without_macros(text: bytes) -> bytes:
    """Blank the macros in places where the grammar allows none."""
    for pattern in _IN_CLASS_HEAD:
        text = pattern.sub(_blanked, text)
    text = _AT_LINE_START.sub(_blanked, text)
    if b"(<" in text or b"\\\n" in text:
        text = _CONDITION.sub(_made_true, text)
    return text


def _blanked(match: re.Match[bytes]) -> bytes:
    whole = match.group()
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return whole[:start] + b" " * (end - start) + whole[end:]


def _made_true(match: re.Match[bytes]) -> bytes:
    condition = match.group(1)
    if b"\n" in condition or b"(<" in condition:
        head = match.group()[: -len(condition)]
        return head + b"1" + re.sub(rb"[^\n]", b" ", condition[1:])
    return match.group()


def without_specifiers(text: bytes) -> bytes:
    """Blank the macros whose names say that they are C++ specifiers."""
    if not any(word in text for word in _SPECIFIERS):
        return text
    kept = bytearray(text)
    for match in _SPECIFIER.finditer(text):
        near = max(0, match.start() - _MOST_BEFORE)
        line = max(near, text.rfind(b"\n", near, match.start()) + 1)
        before = text[line : match.start()]
        if before.lstrip().startswith(b"#"):
            continue
        start = match.start() - (len(before) - len(before.rstrip(_NAME_BYTES)))
        kept[start : match.end()] = b" " * (match.end() - start)
    return bytes(kept)


def without_snags(text: bytes, language: str) -> bytes:
    """Replace constructs that the grammar misreads by blanks or a readable name."""
    rewrite = _REWRITES.get(language)
    return text if rewrite is None else rewrite(text)


def _kotlin(text: bytes) -> bytes:
    if _ANNOTATION in text:
        text = text.replace(_ANNOTATION, b"           class ")
    if b"context(" in text:
        text = _CONTEXT.sub(_blank, text)
    if _LIKE_IN.search(text):
        text = _LINE_LIKE_IN.sub(rb"\1xx", text)
    return text


def _csharp(text: bytes) -> bytes:
    return _CONDITIONS.sub(lambda match: _CONDITION_LINE.sub(_blank, match.group()), text)


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())


_REWRITES: dict[str, Callable[[bytes], bytes]] = {"csharp": _csharp, "kotlin": _kotlin}
