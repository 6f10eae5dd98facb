"""Calls of macros that stand where items do, and hold items: ``cfg_net! { pub struct … }``.

A grammar knows nothing of what a macro makes of its input and reads it as loose tokens. Most macros
of Rust that stand between items only put conditions or attributes on the items that they are given,
which are then written as anywhere else. So what stands between the braces is read as a text of its
own, in its place, and counts when all of it is items.

Calls elsewhere (``vec! {}`` in a function) are never looked at.
"""

import re
import time
from collections.abc import Iterator

from tree_sitter import Node, Range

from engine.syntax.preprocess import DeadlineReached

#: The languages that have such macros.
MACRO_LANGUAGES = frozenset({"rust"})
#: Macros in macros are read down to this depth; each level reads its bytes once more.
MAX_MACRO_DEPTH = 4
#: A text with more of them was made by a program, or to do harm.
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
#: What else stands between items.
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


def item_macros(text: bytes, root: Node, deadline: float) -> list[Range]:
    """Give what stands between the braces of the macros that may hold items.

    Those of the items of a tree, and of the members of its modules, traits and ``impl`` blocks.

    Args:
        text: The whole text.
        root: Of a tree over the text, or over a part of it.
        deadline: On the monotonic clock.

    Raises:
        DeadlineReached: Time is up.
    """
    found: list[Range] = []
    if _CALL.search(text, root.start_byte, root.end_byte) is None:
        return found
    pending = [root]
    while pending:
        if time.monotonic() > deadline:
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
    """Say whether a tree without errors has items, or macros that may hold some, and no others."""
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
    """Give the call of a macro that a statement is, with or without its semicolon."""
    if node.type == _MACRO:
        return node
    if node.type == "expression_statement":
        first = node.child(0)
        return first if first is not None and first.type == _MACRO else None
    return None


def _body_of(text: bytes, macro: Node) -> Range | None:
    """Give what stands between the braces of a call; nothing when it cannot be items."""
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
