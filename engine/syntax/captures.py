"""Turn query matches into definitions and containers, with plain names and signatures.

The captures of ``queries/*.scm``:

* ``@definition.<kind>`` is a whole definition, with ``@name``, which continues to the end of
  ``@until`` (Haskell ``instance Class Type``); ``@body`` ends the signature. Without ``@name``,
  both are the fields of these names; the body is that field of ``@holder``, if there is one;
  ``@receiver`` names a container that is not around it (``func (r *Type) …``);
  ``@from`` is a word before the node with which the definition begins (OCaml ``let``);
  for the kinds in ``WORD_KINDS``, the text of ``@keyword`` determines the kind (Elixir, Ruby).
* ``@scope`` with ``@name``: a container that is no definition itself (Rust ``impl``);
  ``@scope.instance`` is one whose members are public; ``@scope.file`` lasts to the next one or to
  the end of the file; ``@scope.block``, without a name, holds statements.
* ``@wrapper`` around ``@inner``: the definition inside takes the span of the wrapper;
  ``@wrapper.export`` makes it visible too.
* ``@attribute``: stands before its definition and is part of the definition's span.
* ``@exported``: a name that the file exports; ``@exported.list``: the file has an export list;
  ``@exported.commonjs`` with ``@target``: a name assigned to ``module.exports``.
* ``@top``, in patterns of the root level: their other patterns apply to what is in it as well;
  ``@plain``: a definition that counts only where all of it is readable and neither a line of a
  macro nor a parameter in the old style; ``@ended``: one that counts if its last node is a ``;``.
* ``@visibility``: a word (Ruby ``private``) that applies to the rest of its container.

When two patterns capture the same name node, the first pattern of the query wins.

What is below a wildcard, ``(_ …)``, or alone below a field costs nothing when a query is compiled;
below a named node, tree-sitter follows each way in which the grammar can make that node. So a node
is named only where its fields and tokens, such as the ``"="`` of an assignment, do not tell it
(C++: 80 instead of 214 ms, TypeScript: 35 instead of 125). Mind that a wildcard at the root is not
looked at itself, so ``!field`` does nothing there; that of two fields in ``[]`` only one may be
found; that a field alone, without a node around it, is also found in broken text; that a token may
have another spelling (Haskell ``∷``); and that a field may hold nodes of other kinds (Swift
``~Copyable`` where types are inherited).
"""

import re
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from tree_sitter import Node

from engine.syntax.language_table import CommentStyle, Language

Matches = list[tuple[int, dict[str, list[Node]]]]

#: What words define in languages whose definitions are calls, by the end of the capture's name.
WORD_KINDS: dict[str, dict[bytes, str]] = {
    "keyword": {
        b"defmodule": "module",
        b"defprotocol": "interface",
        b"defimpl": "instance",
        b"def": "function",
        b"defp": "function",
        b"defdelegate": "function",
        b"defguard": "function",
        b"defguardp": "function",
        b"defmacro": "macro",
        b"defmacrop": "macro",
    },
    "call_keyword": {
        b"define_method": "method",
        b"alias_method": "method",
        b"scope": "method",
    },
    "class_keyword": {b"class": "class"},
    "struct_keyword": {b"defstruct": "struct", b"defexception": "struct"},
    "attribute_keyword": {
        b"type": "type",
        b"typep": "type",
        b"opaque": "type",
        b"callback": "function",
        b"macrocallback": "macro",
    },
    "accessor": {
        b"attr_accessor": "property",
        b"attr_reader": "property",
        b"attr_writer": "property",
        b"cattr_accessor": "property",
        b"mattr_accessor": "property",
        b"class_attribute": "property",
    },
    "macro_keyword": {b"@enum": "enum"},
    "declaration_keyword": {
        b"class": "class",
        b"actor": "class",
        b"struct": "struct",
        b"enum": "enum",
    },
    "block": {b"variable": "variable", b"output": "property", b"module": "module"},
    "local": {b"locals": "variable"},
}
#: How references name a Terraform block: by its own word, except for these. Blocks whose word tells
#: no kind are instances of it.
_BLOCK_PREFIXES = {b"resource": "", b"variable": "var", b"locals": "local"}
_BLOCKS = frozenset({"block", "local"})
_ELIXIR_ATTRIBUTES = (b"@doc", b"@spec", b"@impl", b"@deprecated", b"@since", b"@typedoc")
_VISIBILITY_WORDS = frozenset({b"private", b"protected", b"public", b"module_function"})

MAX_NAME_BYTES = 400  # longer "names" come from misread text
_MOST_TRIMMED_BYTES = 4096  # blanks and line breaks at the end of a definition

_ASSIGNED = frozenset({"variable", "constant"})
#: A name for a definition in another file is not a definition; one of ``import.meta.env.KEY`` is.
_IMPORT = re.compile(rb"\s*=\s*(?:await\s+)?(?:require|@import|import)\b(?!\s*\.)")
#: ``TEST(suite, name)`` defines suite.name.
_TEST_MACROS = frozenset({"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
_TWO_NAMES = re.compile(rb"\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_COMMONJS = ("module.exports", "exports")

#: Kinds of containers that are not symbols.
SCOPE = "scope"
FILE_SCOPE = "file_scope"
BLOCK = "block"
_SCOPE_KINDS = {"file": FILE_SCOPE, "block": BLOCK}

MAX_SIGNATURE = 300  # characters

#: Definitions whose signature is their line, not the text up to a body.
ONE_LINE_KINDS = frozenset({"variable", "constant", "property", "field"})

_WHOLE_NAMES = frozenset({SCOPE, FILE_SCOPE, "namespace", "module"})  # a.b stays one name
_BLANKS = " \t\r\n"
_QUOTES = ('"', "'", "`")
_HAS_WORD = re.compile(r"\w")
_SEPARATORS = re.compile(r"::|\\|->|[.:](?!:)")
_MODULE_OBJECT = re.compile(r"^(?:module\.exports|exports|this|self)(?:\.|$)|\.prototype\b")
_OPERATOR = re.compile(r"\b(operator(?:\(\)|[^\w(]+|\s*[^(]*))(?:\(.*)?$", re.DOTALL)
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>")

_ANNOTATION_STARTS = {
    "csharp": "[",
    "java": "@",
    "kotlin": "@",
    "php": "#",
    "scala": "@",
    "swift": "@",
    "tsx": "@",
    "typescript": "@",
}
_ARGUMENTS = r"\([^()]*\)"
for _ in range(4):  # calls in calls
    _ARGUMENTS = rf"\([^()]*(?:{_ARGUMENTS}[^()]*)*\)"
_LEADING_ANNOTATIONS = re.compile(
    r"^(?:(?:@(?!interface\b)[\w.:]+(?: ?" + _ARGUMENTS + r")?|"
    r"#?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])\s*)+"
)
_BLOCK_COMMENT = re.compile(rb"/\*.*?(?:\*/|$)", re.DOTALL)
#: To the end of the line; the marker stands alone, so that "#{" and "://" do not count.
_LINE_COMMENTS = {
    b"#": re.compile(rb"(?:^|(?<=\s))#+(?=\s|!|$)[^\n]*", re.MULTILINE),
    b"//": re.compile(rb"(?:^|(?<=\s))//+(?=\s|!|$)[^\n]*", re.MULTILINE),
    b"--": re.compile(rb"(?:^|(?<=\s))--+(?=\s|$)[^\n]*", re.MULTILINE),
}

_TAILS = ("=>", "->", " do", " where")
_TAIL_CHARACTERS = " {;=:,\\"
_ENDS = frozenset({"ruby", "lua", "elixir", "julia"})
_END = re.compile(r";?\s*\bend$")


class Span(NamedTuple):
    """A stretch of the text."""

    start: int
    end: int
    line_start: int
    line_end: int


class Definition(NamedTuple):
    """A definition or, with the kind ``scope``, a container that is not a definition."""

    start: int  # of the span: with decorators, export, template<>
    end: int
    line_start: int
    line_end: int
    name_start: int
    kind: str
    name: str
    inner_start: int  # where the signature begins
    body_start: int  # -1 without a body
    receiver: str
    is_exported: bool  # by a wrapper; of a scope: its members are public


class Captures(NamedTuple):
    """The captures of a text, before nesting."""

    definitions: list[Definition]  # with scopes; sorted by start, then longer first
    attributes: dict[int, Span]  # by end
    listed: frozenset[str]
    has_list: bool
    visibility: list[tuple[int, str]]  # offset and word, in text order


class Collector:
    """Collector that sorts the matches by role in one pass."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._found: dict[int, tuple[int, Definition]] = {}  # by name_start, with pattern
        self._scopes: list[Definition] = []
        self._wrappers: dict[tuple[int, int], tuple[Span, bool]] = {}
        self._attributes: dict[int, Span] = {}
        self._listed: set[str] = set()
        self._has_list = False
        self._visibility: list[tuple[int, str]] = []
        self._roles: dict[int, tuple[_Handler, str, str]] = {}  # by pattern

    def collect(self, matches: Matches) -> Captures:
        """Sort the matches of the whole text."""
        roles = self._roles
        for pattern, captures in matches:
            role = roles.get(pattern)
            if role is None:
                role = roles[pattern] = self._role_of(captures)
            handler, key, detail = role
            handler(self, pattern, captures[key][0], detail, captures)
        definitions = [self._wrapped(definition) for _, definition in self._found.values()]
        definitions += self._scopes
        definitions.sort(key=_text_order)
        return Captures(
            definitions,
            self._attributes,
            frozenset(self._listed),
            self._has_list,
            sorted(self._visibility),
        )

    def _role_of(self, captures: dict[str, list[Node]]) -> "tuple[_Handler, str, str]":
        """Return the role of a pattern, determined by one of its captures."""
        for key in sorted(captures):  # "attribute" before "definition": one capture names the role
            role, _, detail = key.partition(".")
            if role in self._HANDLERS:
                return self._HANDLERS[role], key, detail
        raise ValueError(f"pattern without a role: {sorted(captures)}")

    def _slice(self, node: Node) -> str:
        start = node.start_byte
        end = min(node.end_byte, start + MAX_NAME_BYTES)
        return self._text[start:end].decode("utf-8", "replace")

    def _bytes(self, node: Node) -> bytes:
        return self._text[node.start_byte : node.end_byte]

    def _span(self, node: Node) -> Span:
        """Return the span of a node without line breaks and blanks at its end."""
        start, end = node.start_byte, node.end_byte
        line_end = node.end_point[0] + 1
        text = self._text
        if end > start and text[end - 1] in b"\n\r\t ":
            near = max(start, end - _MOST_TRIMMED_BYTES)
            trimmed = len(text[near:end].rstrip()) + near
            line_end -= text.count(b"\n", trimmed, end)
            end = trimmed
        return Span(start, end, node.start_point[0] + 1, line_end)

    def _on_definition(
        self, pattern: int, node: Node, kind: str, captures: dict[str, list[Node]]
    ) -> None:
        names = captures.get("name")
        if names is not None:
            name: Node | None = names[0]
            bodies = captures.get("body")
            body = bodies[0] if bodies else None
        else:
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if "holder" in captures:
            body = captures["holder"][0].child_by_field_name("body")
        if name is None:
            return
        name_start, name_end = name.start_byte, name.end_byte
        known = self._found.get(name_start)
        if name_end - name_start > MAX_NAME_BYTES or (known is not None and known[0] <= pattern):
            return
        receivers = captures.get("receiver")
        receiver = self._slice(receivers[0]) if receivers is not None else ""
        if kind in WORD_KINDS:
            word = self._bytes(captures["keyword"][0])
            if kind in _BLOCKS:
                prefix = _BLOCK_PREFIXES.get(word, word.decode("utf-8", "replace"))
                receiver = f"{prefix}.{receiver}"
            kind = WORD_KINDS[kind].get(word, "instance" if kind == "block" else "")
            if not kind:
                return
        elif kind in _ASSIGNED and _IMPORT.match(self._text, name_end):
            return
        span = self._span(node)
        if "from" in captures:
            first = captures["from"][0]
            span = span._replace(start=first.start_byte, line_start=first.start_point[0] + 1)
        self._found[name_start] = (
            pattern,
            Definition(
                *span,
                name_start,
                kind,
                self._name(name, captures),
                span.start,
                body.start_byte if body is not None else -1,
                receiver,
                receiver.startswith(_COMMONJS),
            ),
        )

    def _name(self, name: Node, captures: dict[str, list[Node]]) -> str:
        text = self._slice(name)
        if "until" in captures:
            start, end = name.start_byte, captures["until"][0].end_byte
            return self._text[start : min(end, start + MAX_NAME_BYTES)].decode("utf-8", "replace")
        if text in _TEST_MACROS:
            arguments = _TWO_NAMES.match(self._text, name.end_byte)
            if arguments is not None:
                return b"::".join(arguments.groups()).decode()
        return text

    def _on_scope(
        self, _pattern: int, node: Node, detail: str, captures: dict[str, list[Node]]
    ) -> None:
        span = self._span(node)
        end = len(self._text) if detail == "file" else span.end
        names = captures.get("name")
        self._scopes.append(
            Definition(
                span.start,
                end,
                span.line_start,
                span.line_end,
                names[0].start_byte if names else span.start,
                _SCOPE_KINDS.get(detail, SCOPE),
                self._slice(names[0]) if names else "",
                span.start,
                -1,
                "",
                detail == "instance",
            )
        )

    def _on_wrapper(
        self, _pattern: int, node: Node, detail: str, captures: dict[str, list[Node]]
    ) -> None:
        for inner in captures["inner"]:
            key = (inner.start_byte, inner.end_byte)
            self._wrappers[key] = (self._span(node), detail == "export")

    def _on_attribute(
        self, _pattern: int, node: Node, detail: str, _captures: dict[str, list[Node]]
    ) -> None:
        if detail == "elixir" and not self._text.startswith(_ELIXIR_ATTRIBUTES, node.start_byte):
            return
        span = self._span(node)
        self._attributes[span.end] = span

    def _on_exported(
        self, _pattern: int, node: Node, detail: str, captures: dict[str, list[Node]]
    ) -> None:
        if detail == "commonjs":
            target = captures["target"][0]
            if not self._slice(target).startswith(_COMMONJS):
                return
        self._has_list = True
        if detail != "list":
            self._listed.add(self._slice(node))

    def _on_visibility(
        self, _pattern: int, node: Node, _detail: str, _captures: dict[str, list[Node]]
    ) -> None:
        word = self._bytes(node)
        if word in _VISIBILITY_WORDS:
            self._visibility.append((node.start_byte, word.decode()))

    def _wrapped(self, definition: Definition) -> Definition:
        """Widen a definition to the wrappers around it."""
        wrapper = self._wrappers.get((definition.start, definition.end))
        while wrapper is not None:
            span, is_exported = wrapper
            definition = definition._replace(
                start=span.start,
                end=span.end,
                line_start=span.line_start,
                line_end=span.line_end,
                is_exported=is_exported or definition.is_exported,
            )
            found = self._wrappers.get((span.start, span.end))
            wrapper = found if found is not wrapper else None
        return definition

    #: Plain functions: bound methods stored in a collector would form a cycle, and the cycle
    #: collector is off during parsing.
    _HANDLERS: ClassVar[dict[str, "_Handler"]] = {
        "definition": _on_definition,
        "scope": _on_scope,
        "wrapper": _on_wrapper,
        "attribute": _on_attribute,
        "exported": _on_exported,
        "visibility": _on_visibility,
    }


_Handler = Callable[[Collector, int, Node, str, dict[str, list[Node]]], None]


def _text_order(definition: Definition) -> tuple[int, int, int]:
    return definition.start, -definition.end, definition.name_start


def plain_name(definition: Definition) -> tuple[str, str]:
    """Return the name of a definition and its receiver, with dots and without type arguments.

    ``a::b<T>::c`` is ``c`` with the receiver ``a.b``; operators keep their signs.
    """
    name, receiver = definition.name, definition.receiver
    if definition.kind == SCOPE:
        name = _MODULE_OBJECT.sub("", name)
    if definition.kind == "instance" and " " in name:
        return " ".join(name.split()), ""
    if not name.isidentifier() and _HAS_WORD.search(name):
        name, receiver = _split_name(name, receiver, is_whole=definition.kind in _WHOLE_NAMES)
    if receiver:
        receiver = _without_type_arguments(_MODULE_OBJECT.sub("", receiver))
        receiver = ".".join(filter(None, map(str.strip, _SEPARATORS.split(receiver))))
    return name, receiver


def _split_name(name: str, receiver: str, *, is_whole: bool) -> tuple[str, str]:
    name = name.strip(_BLANKS)
    if name.startswith("["):
        name = name.strip("[]" + _BLANKS)
    if name.startswith(_QUOTES):
        name = name.strip("".join(_QUOTES))
    name = _without_type_arguments(name)
    operator = _OPERATOR.search(name)
    if operator is not None:
        receiver = name[: operator.start()] or receiver
        name = operator.group(1)
    else:
        parts = list(filter(None, map(str.strip, _SEPARATORS.split(name))))
        if is_whole:
            name = ".".join(parts)
        elif parts:
            name = parts.pop()
            receiver = ".".join(parts) or receiver
    return " ".join(name.split()), receiver


def _without_type_arguments(name: str) -> str:
    while "<" in name:
        shorter = _TYPE_ARGUMENTS.sub("", name)
        if shorter == name:
            break
        name = shorter
    return name


def signature_of(text: bytes, definition: Definition, language: Language) -> str:
    """Return the definition up to its body as one line, without annotations and comments."""
    begin, end = definition.inner_start, definition.body_start
    if end < begin:
        end = definition.end
        if definition.kind in ONE_LINE_KINDS:
            newline = text.find(b"\n", definition.name_start, end)
            end = newline if newline >= 0 else end
    if end > begin + 4 * MAX_SIGNATURE:
        end = begin + 4 * MAX_SIGNATURE
    raw = without_comments(text[begin:end], language.comments)
    signature = " ".join(raw.decode("utf-8", "replace").split())
    mark = _ANNOTATION_STARTS.get(language.name)
    if mark is not None and signature.startswith(mark) and begin < definition.name_start:
        signature = _LEADING_ANNOTATIONS.sub("", signature, count=1)
    if definition.body_start < 0 and language.name in _ENDS:
        signature = _END.sub("", signature)
    signature = signature.rstrip(_TAIL_CHARACTERS)
    while signature.endswith(_TAILS):
        signature = signature[:-2] if signature[-1] == ">" else signature.rpartition(" ")[0]
        signature = signature.rstrip(_TAIL_CHARACTERS)
    if 0 <= definition.body_start < definition.name_start:  # typedef struct {…} name;
        signature += " " + definition.name
    if len(signature) > MAX_SIGNATURE:
        signature = signature[:MAX_SIGNATURE].rstrip()
    return signature


def without_comments(raw: bytes, style: CommentStyle) -> bytes:
    """Remove comments from the head of a definition, as far as their markers are plain."""
    if b"/*" in raw and b"*/" in style.closings:
        raw = _BLOCK_COMMENT.sub(b"", raw)
    for mark in style.line:
        if mark in raw and mark in _LINE_COMMENTS:
            raw = _LINE_COMMENTS[mark].sub(b"", raw)
    return raw
