"""Turn definitions into symbols: nesting, kinds, docs, visibility.

Visibility is whether a definition can be used outside its file by the rules of its language.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from engine.records import Symbol
from engine.syntax.captures import (
    BLOCK,
    FILE_SCOPE,
    ONE_LINE_KINDS,
    SCOPE,
    WORD_KINDS,
    Collector,
    Definition,
    Matches,
    plain_name,
    signature_of,
)
from engine.syntax.comments import comment_start, doc_behind, doc_of, docstring_at
from engine.syntax.language_table import Language

_MEMBERS_ARE_PUBLIC = frozenset({"interface", "trait"})

_HOLDS_MEMBERS = frozenset({"class", "interface", "variable", "constant", "scope"})

#: Rules that do not use the words before the name.
WORDLESS_RULES = frozenset({"always", "no_underscore", "capital", "listed", "julia"})

#: Definitions nested deeper are left out: names would grow with the square of the depth.
MAX_DEPTH = 64
_MAX_QUALIFIED_CHARS = 1000  # as each symbol of a file has the names of all around it
_MAX_HEAD_BYTES = 600  # of the text before the name that is searched for modifiers

_HOLDS_METHODS = frozenset(
    {"class", "struct", "interface", "trait", "enum", "type", "instance", SCOPE}
)
_CALLABLES = frozenset({"function", "method", "constructor", "macro"})
_CONSTANT_WORDS = frozenset({"const", "constexpr", "final"})
_CONSTRUCTORS = {
    "python": "__init__",
    "javascript": "constructor",
    "typescript": "constructor",
    "tsx": "constructor",
    "php": "__construct",
    "ruby": "initialize",
    "scala": "this",
}
#: Here a receiver is a table or the type that is extended: ``function M.name``, ``fun Type.name``.
_FREE_RECEIVERS = frozenset({"lua", "kotlin", "julia"})
#: Here a receiver is not a name of the file.
_FOREIGN_RECEIVERS = frozenset({"hcl"})
#: Here a method with the name of its class is a constructor.
_NAMED_AS_CLASS = frozenset({"cpp", "java", "csharp", "julia"})
#: Here a macro is visible everywhere, wherever it stands.
_FLAT_MACROS = frozenset({"c", "cpp"})
#: Here a function without a body that stands in another one is declared, not defined.
_HAS_PROTOTYPES = frozenset({"c", "cpp", "typescript", "tsx"})
_DOCSTRINGS = frozenset({"python", "elixir"})
_SCOPES = frozenset({SCOPE, FILE_SCOPE, BLOCK})
_RUNS = _CALLABLES | {BLOCK}
#: Here macros and conditions of the preprocessor make statements look like functions.
_HAS_CONDITIONS = frozenset({"c", "cpp", "csharp"})
_STATEMENTS = frozenset({"catch", "for", "foreach", "if", "lock", "switch", "using", "while"})
_DOCS_BEHIND = frozenset({"ocaml", "ocaml-interface"})
_STRUCT_WORDS = frozenset(word.decode() for word in WORD_KINDS["struct_keyword"])

_DOC_ATTRIBUTE = re.compile(rb"@(?:type)?doc\s+(?:~[sS])?")
_MODULE_DOC = re.compile(rb"do\s+@moduledoc\s+(?:~[sS])?")
_XML_REFERENCE = re.compile(r"<[a-z]+ (?:cref|name)=\"(?:\w:)?([^\"\n]+)\" ?/>")
_XML_TAG = re.compile(r"</?[a-z][^<>\n]*>")
_NO_WORDS: frozenset[str] = frozenset()


class Facts(NamedTuple):
    """The facts that a visibility rule may use."""

    name: str
    kind: str
    words: frozenset[str]  # that stand before the name in the definition: modifiers, mainly
    parent_kind: str  # "" at top level
    parent_exported: bool  # true at top level
    receiver: str  # container that does not enclose it, with dots; "" without
    is_wrapped_export: bool  # the definition stands in an export statement
    listed: frozenset[str]  # names that the file exports by a list
    has_list: bool  # the file has such a list


Rule = Callable[[Facts], bool]


def _always(_: Facts) -> bool:
    return True


def _no_underscore(facts: Facts) -> bool:
    name = facts.name
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _capital(facts: Facts) -> bool:
    return facts.name[:1].isupper()


def _pub(facts: Facts) -> bool:
    if facts.words & {"pub", "pub(crate)", "pub(super)", "export"}:
        return True
    if facts.parent_kind in _MEMBERS_ARE_PUBLIC:
        return facts.parent_exported
    return facts.parent_kind == "instance" or facts.kind == "macro"


def _public(facts: Facts) -> bool:
    if facts.words & {"public", "protected"}:
        return True
    if facts.parent_kind in _MEMBERS_ARE_PUBLIC:
        return facts.parent_exported and "private" not in facts.words
    return facts.kind == "namespace"


def _not_private(facts: Facts) -> bool:
    return facts.parent_exported and not facts.words & {"private", "protected", "internal"}


def _open(facts: Facts) -> bool:
    if facts.words & {"public", "open"}:
        return True
    return facts.parent_kind in _MEMBERS_ARE_PUBLIC and facts.parent_exported


def _export(facts: Facts) -> bool:
    if facts.parent_kind in _HOLDS_MEMBERS:
        return (
            facts.parent_exported
            and not facts.name.startswith("#")
            and not facts.words & {"private", "protected"}
        )
    owner = facts.receiver.partition(".")[0] or facts.name
    return facts.is_wrapped_export or "export" in facts.words or owner in facts.listed


def _not_static(facts: Facts) -> bool:
    return facts.parent_kind in {"class", "struct"} or "static" not in facts.words


def _not_local(facts: Facts) -> bool:
    return "local" not in facts.words


def _listed(facts: Facts) -> bool:
    if not facts.has_list or facts.kind == "instance":
        return True
    return facts.name in facts.listed or (facts.parent_kind != "" and facts.parent_exported)


def _elixir(facts: Facts) -> bool:
    return not facts.words & {"defp", "defmacrop", "defguardp"}


def _ruby(facts: Facts) -> bool:
    return not facts.words & {"private", "protected", "private_class_method"}


def _ocaml(facts: Facts) -> bool:
    return not facts.name.startswith("_") and "private" not in facts.words


def _julia(facts: Facts) -> bool:
    if facts.kind == "module" or facts.receiver:
        return True
    if facts.parent_kind == "struct":
        return facts.parent_exported
    return facts.name in facts.listed if facts.has_list else not facts.name.startswith("_")


RULES: dict[str, Rule] = {
    "always": _always,
    "no_underscore": _no_underscore,
    "capital": _capital,
    "pub": _pub,
    "public": _public,
    "not_private": _not_private,
    "open": _open,
    "export": _export,
    "not_static": _not_static,
    "not_local": _not_local,
    "listed": _listed,
    "elixir": _elixir,
    "ruby": _ruby,
    "ocaml": _ocaml,
    "julia": _julia,
}


class _Container(NamedTuple):
    """An open container during the pass over the definitions in text order."""

    end: int
    span: tuple[int, int]
    body_start: int
    symbol: int  # its index; for a scope that of the symbol around it
    pending_parent: str  # name of the type that a scope belongs to
    qualified_name: str
    kind: str
    is_exported: bool


_TOP = _Container(1 << 62, (-1, -1), -1, -1, "", "", "", True)


class SymbolTree(NamedTuple):
    """The symbols of a text."""

    symbols: list[Symbol]  # by byte_start, then longer first
    comment_starts: dict[
        int, int
    ]  # by byte_start: where the comment before it begins, if looked at
    lost_some: bool  # some were nested too deep


def symbols_of(text: bytes, matches: Matches, language: Language) -> SymbolTree:
    """Make the symbols of a text."""
    return _Builder(text, language, matches).build()


class _Builder:
    def __init__(self, text: bytes, language: Language, matches: Matches) -> None:
        grammar = language.grammar
        assert grammar is not None
        self._text = text
        self._entry = language
        self._language = language.name
        self._comments = language.comments
        self._captured = Collector(text).collect(matches)
        self._rule = RULES[grammar.visibility_rule]
        self._needs_words = grammar.visibility_rule not in WORDLESS_RULES
        self._merges = grammar.merges_clauses
        self._constructor = _CONSTRUCTORS.get(language.name, "")
        self._next_visibility = 0
        self._held: dict[tuple[int, int], str] = {}  # span of a container: word that applies there
        self._symbols: list[Symbol] = []
        self._comment_starts: dict[int, int] = {}
        self._pending: list[tuple[int, str]] = []  # symbol and the name of its parent
        self._types: dict[str, int] = {}
        #: The latest symbol of a name in a container, by the container's span and the receiver.
        self._last: dict[tuple[tuple[int, int], str, str], int] = {}

    def build(self) -> SymbolTree:
        """Build the symbols in text order with the stack of open containers."""
        is_too_deep = False
        stack = [_TOP]
        has_visibility = bool(self._captured.visibility)
        for definition in self._captured.definitions:
            start, end = definition.start, definition.end
            if has_visibility:
                self._note_visibility(stack, start)
            if definition.kind == FILE_SCOPE and len(stack) > 1 and stack[1].kind == FILE_SCOPE:
                del stack[1:]  # a namespace lasts up to the next one
            top = stack[-1]
            while top.end <= start or top.end < end or top.span == (start, end):
                stack.pop()
                top = stack[-1]
            if len(stack) > MAX_DEPTH:
                is_too_deep = True
                continue
            name, receiver = plain_name(definition)
            if definition.kind in _SCOPES:
                stack.append(_scope(definition, name, top))
            elif name:
                container = self._enter(definition, name, receiver, top)
                if container is not None:
                    stack.append(container)
        self._resolve_parents()
        return SymbolTree(self._symbols, self._comment_starts, is_too_deep)

    def _note_visibility(self, stack: list[_Container], before: int) -> None:
        """Apply the words like ``private`` up to an offset to the containers they stand in."""
        words = self._captured.visibility
        while self._next_visibility < len(words) and words[self._next_visibility][0] < before:
            offset, word = words[self._next_visibility]
            self._next_visibility += 1
            while stack[-1].end <= offset:
                stack.pop()
            self._held[stack[-1].span] = word

    def _enter(
        self, definition: Definition, name: str, receiver: str, around: _Container
    ) -> _Container | None:
        """Add the symbol of a definition and return it as a container for the next ones."""
        words = self._words(definition, around) if self._needs_words else _NO_WORDS
        kind = self._kind(definition, (name, receiver), around, words)
        if kind == "struct" and name in _STRUCT_WORDS:  # the module itself is the struct
            outer, _, name = around.qualified_name.rpartition(".")
            around = around._replace(qualified_name=outer)
        if (
            not kind
            or _is_named_twice(definition, name, around)
            or self._is_repeated(definition, (name, receiver), kind, around)
        ):
            return None
        is_flat = kind == "macro" and self._language in _FLAT_MACROS
        qualified = joined_name("" if is_flat else around.qualified_name, receiver, name)
        is_exported = self._rule(
            Facts(
                name,
                kind,
                words,
                around.kind,
                around.is_exported,
                receiver,
                definition.is_exported,
                self._captured.listed,
                self._captured.has_list,
            )
        )
        index = len(self._symbols)
        start, line_start, doc = self._doc(definition)
        self._symbols.append(
            Symbol(
                name,
                qualified,
                kind,
                signature_of(self._text, definition, self._entry),
                doc,
                start,
                definition.end,
                line_start,
                definition.line_end,
                around.symbol,
                is_exported,
            )
        )
        self._remember(index, receiver, around)
        if kind == "type":
            return None
        span = (definition.start, definition.end)
        body = definition.body_start
        return _Container(definition.end, span, body, index, "", qualified, kind, is_exported)

    def _remember(self, index: int, receiver: str, around: _Container) -> None:
        """Register a symbol for lookups by name."""
        symbol = self._symbols[index]
        self._last[around.span, receiver, symbol.name] = index
        owner = receiver.rpartition(".")[2] or around.pending_parent
        if owner and self._language not in _FOREIGN_RECEIVERS:
            self._pending.append((index, owner))
        if symbol.kind not in _CALLABLES:
            self._types.setdefault(symbol.name, index)

    def _kind(
        self,
        definition: Definition,
        names: tuple[str, str],
        around: _Container,
        words: frozenset[str],
    ) -> str:
        """Return the kind of a definition in its place, or empty if it does not count there."""
        kind = definition.kind
        name, receiver = names
        if name in _STATEMENTS and self._language in _HAS_CONDITIONS:
            return ""
        if kind == "function":
            if around.kind in _HOLDS_METHODS or (
                receiver and self._language not in _FREE_RECEIVERS
            ):
                return self._method_kind(name, receiver, around)
            return "" if self._is_none(definition, name, around) else kind
        if kind == "method":
            return self._method_kind(name, receiver, around)
        if kind == "variable":
            if "extern" in words and not self._has_value(definition):
                return ""
            is_constant = (len(name) > 1 and name.isupper()) or words & _CONSTANT_WORDS
            return "constant" if is_constant else kind
        return "constant" if kind == "property" and "const" in words else kind

    def _is_none(self, definition: Definition, name: str, around: _Container) -> bool:
        """Return whether a function in a function is only a declaration or a macro call."""
        if around.kind not in _RUNS:
            return False
        if definition.body_start < 0 and self._language in _HAS_PROTOTYPES:
            return True
        return name.isupper() and self._language in _HAS_CONDITIONS

    def _has_value(self, definition: Definition) -> bool:
        return self._text.find(b"=", definition.name_start, definition.end) >= 0

    def _method_kind(self, name: str, receiver: str, around: _Container) -> str:
        if name == self._constructor:
            return "constructor"
        if self._language == "ruby" and not (around.kind or receiver):
            return "function"
        owner = (receiver or around.qualified_name).rpartition(".")[2]
        return "constructor" if self._language in _NAMED_AS_CLASS and owner == name else "method"

    def _is_repeated(
        self, definition: Definition, names: tuple[str, str], kind: str, around: _Container
    ) -> bool:
        """Return whether a definition is only a reassignment or a further clause of a symbol."""
        name, receiver = names
        last = self._last.get((around.span, receiver, name))
        if last is None:
            return False
        earlier = self._symbols[last]
        if earlier.kind == "type" and definition.end <= earlier.byte_end:
            # typedef struct Name {…} Name;
            self._symbols[last] = earlier._replace(kind=kind)
            return True
        if kind in ONE_LINE_KINDS:
            if self._language == "ocaml" or earlier.kind != kind:
                return False
            # of two declarations of C, the one with the value counts as well
            has_value = self._language in _HAS_PROTOTYPES and self._has_value(definition)
            return not has_value or b"=" in self._text[earlier.byte_start : earlier.byte_end]
        if not self._merges or earlier.kind != kind:
            return False
        if last != len(self._symbols) - 1:
            return self._language == "haskell"  # its type was declared together with others
        self._symbols[last] = earlier._replace(
            byte_end=definition.end, line_end=definition.line_end
        )
        return True

    def _words(self, definition: Definition, around: _Container) -> frozenset[str]:
        begin = max(definition.start, definition.name_start - _MAX_HEAD_BYTES)
        head = self._text[begin : definition.name_start]
        words = frozenset(head.decode("utf-8", "replace").split()) if head else _NO_WORDS
        held = self._held.get(around.span)
        return words | {held} if held is not None else words

    def _doc(self, definition: Definition) -> tuple[int, int, str]:
        """Return the start, first line and doc of a definition including its attributes."""
        start, line_start, doc = definition.start, definition.line_start, ""
        text = self._text
        if self._captured.attributes:
            start, line_start, doc = self._with_attributes(definition)
        if not doc and definition.body_start >= 0 and self._language in _DOCSTRINGS:
            body = definition.body_start
            written = _MODULE_DOC.match(text, body)
            doc = docstring_at(text, written.end() if written is not None else body)
        if not doc:
            top = self._comment_starts[start] = comment_start(text, start, self._comments)
            if top < start:
                doc = doc_of(text[top:start], self._comments)
                if doc and self._language == "csharp":
                    doc = _XML_TAG.sub("", _XML_REFERENCE.sub(r"\1", doc)).strip()
        if not doc and self._language in _DOCS_BEHIND:
            doc = doc_behind(text, definition.end, self._comments)
        return start, line_start, doc

    def _with_attributes(self, definition: Definition) -> tuple[int, int, str]:
        start, line_start, doc = definition.start, definition.line_start, ""
        attributes, text = self._captured.attributes, self._text
        while True:
            end = start
            while end > 0 and text[end - 1] in b" \t\r\n":
                end -= 1
            span = attributes.get(end)
            if span is None:
                return start, line_start, doc
            start, line_start = span.start, span.line_start
            written = _DOC_ATTRIBUTE.match(text, start)
            if written is not None:
                doc = docstring_at(text, written.end())

    def _resolve_parents(self) -> None:
        """Set the named type as the parent of members of ``impl`` blocks and of receivers."""
        symbols, types = self._symbols, self._types
        for index, owner in self._pending:
            parent = types.get(owner, -1)
            if parent >= 0 and parent != index:
                symbols[index] = symbols[index]._replace(parent=parent)


def joined_name(*names: str) -> str:
    """Join names, the outermost first, by dots; of very long ones the inner ones."""
    joined = ".".join(filter(None, names))
    if len(joined) <= _MAX_QUALIFIED_CHARS:
        return joined
    return joined[joined.find(".", -_MAX_QUALIFIED_CHARS) + 1 :]


def _is_named_twice(definition: Definition, name: str, around: _Container) -> bool:
    """Return whether the enclosing definition shares name and body: ``f = function f() {}``."""
    return (
        definition.body_start == around.body_start >= 0
        and around.qualified_name.rpartition(".")[2] == name
    )


def _scope(definition: Definition, name: str, around: _Container) -> _Container:
    """Open a container that is not a symbol."""
    return _Container(
        definition.end,
        (definition.start, definition.end),
        definition.body_start,
        around.symbol,
        name.rpartition(".")[2],
        joined_name(around.qualified_name, name),
        "instance" if definition.is_exported else definition.kind,
        True,
    )
