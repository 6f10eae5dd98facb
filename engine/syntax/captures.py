"""Query matches → definitions and containers as they stand in the text.

The captures of ``queries/*.scm``:

* ``@definition.<kind>`` the whole of a definition, with ``@name``, which goes on to the end of
  ``@until`` (Haskell ``instance Class Type``); ``@body`` ends the signature. Without ``@name``
  both are the fields of these names;
  ``@receiver`` names a container that is not around it (``func (r *Type) …``);
  ``@from`` is a word before the node with which the definition begins (OCaml ``let``).
  the kinds of ``WORD_KINDS`` say that the text of ``@keyword`` tells the kind (Elixir, Ruby).
* ``@scope`` with ``@name``: a container that is no definition itself (Rust ``impl``);
  ``@scope.instance`` is one whose members are public; ``@scope.file`` lasts to the end of the file;
  ``@scope.block``, without a name, holds statements.
* ``@wrapper`` around ``@inner``: the definition inside takes the span of the wrapper;
  ``@wrapper.export`` makes it visible too.
* ``@attribute``: stands before the definition that it belongs to and counts to its span.
* ``@exported``: a name that the file exports; ``@exported.list``: there is a list of them;
  ``@exported.commonjs`` with ``@target``: one that is assigned to ``module.exports``.
* ``@visibility``: a word (Ruby ``private``) that holds for the rest of its container.

When two patterns give one name node, the pattern that stands first in the query wins.
"""

import re
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from tree_sitter import Node

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
    "block": {b"variable": "variable", b"output": "property", b"module": "module"},
    "local": {b"locals": "variable"},
}
#: How others refer to a block of Terraform: by its own word, but for these. Blocks whose word tells
#: no kind are instances of it.
_BLOCK_PREFIXES = {b"resource": "", b"variable": "var", b"locals": "local"}
_BLOCKS = frozenset({"block", "local"})
_ELIXIR_ATTRIBUTES = (b"@doc", b"@spec", b"@impl", b"@deprecated", b"@since", b"@typedoc")
_VISIBILITY_WORDS = frozenset({b"private", b"protected", b"public", b"module_function"})

MAX_NAME_BYTES = 400  # longer "names" come from misread text
_MOST_TRIMMED_BYTES = 4096  # blanks and line breaks at the end of a definition

_ASSIGNED = frozenset({"variable", "constant"})
#: A name for what another file defines is no definition.
_IMPORT = re.compile(rb"\s*=\s*(?:await\s+)?(?:require|@import|import)\b")
#: ``TEST(suite, name)`` defines suite.name.
_TEST_MACROS = frozenset({"TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
_TWO_NAMES = re.compile(rb"\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_COMMONJS = ("module.exports", "exports")

#: Kinds of containers that are no symbols.
SCOPE = "scope"
FILE_SCOPE = "file_scope"
BLOCK = "block"
_SCOPE_KINDS = {"file": FILE_SCOPE, "block": BLOCK}


class Span(NamedTuple):
    """A stretch of the text."""

    start: int
    end: int
    line_start: int
    line_end: int


class Definition(NamedTuple):
    """A definition or, with the kind ``scope``, a container that is no definition."""

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


class Captured(NamedTuple):
    """What the matches of a text say, before nesting."""

    definitions: list[Definition]  # with scopes; sorted by start, then longer first
    attributes: dict[int, Span]  # by end
    listed: frozenset[str]
    has_list: bool
    visibility: list[tuple[int, str]]  # offset and word, in text order


class Collector:
    """Goes through the matches once and sorts them by what they are."""

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

    def collect(self, matches: Matches) -> Captured:
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
        return Captured(
            definitions,
            self._attributes,
            frozenset(self._listed),
            self._has_list,
            sorted(self._visibility),
        )

    def _role_of(self, captures: dict[str, list[Node]]) -> "tuple[_Handler, str, str]":
        """Find the capture that says what a pattern is for."""
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
        """Give the span of a node without line breaks and blanks at its end."""
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

    #: Plain functions: bound ones kept by a collector would be a cycle, and nothing looks for
    #: cycles while files are parsed.
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
