"""Rewrite what the grammars of Kotlin and C# misread; the text keeps its length and lines.

Each of these costs a definition or the rest of a file, and none matters to what the file defines.

Kotlin:

* ``annotation class Name`` after an annotation is read as an infix call.
* ``context(name: Type)`` before a function is not known.
* A line that begins with a name such as ``in1`` continues the line before it with the operator
  ``in``.

C#: a ``#if`` between the name of a type and its body is taken for the name.
"""

import re
from collections.abc import Callable

_ANNOTATION = b"annotation class "
_CONTEXT = re.compile(rb"^[ \t]*context\([^()\n]*\)(?=[ \t]*\r?\n)", re.MULTILINE)
_LIKE_IN = re.compile(rb"in[0-9_]")
_LINE_LIKE_IN = re.compile(rb"(\n[ \t]*)in(?=[0-9_])")

#: Between a head and its ``{``: only conditions, and what begins with a colon or a comma.
_CONDITIONS = re.compile(rb"#if[^\n]*(?:\n[ \t]*(?:#[^\n]*|[:,][^\n;{}]*)){1,12}(?=\n[ \t]*\{)")
_CONDITION = re.compile(rb"#[^\n]*")


def without_snags(text: bytes, language: str) -> bytes:
    """Put blanks or a name that the grammar can read in their place."""
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
    return _CONDITIONS.sub(lambda match: _CONDITION.sub(_blank, match.group()), text)


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())


_REWRITES: dict[str, Callable[[bytes], bytes]] = {"csharp": _csharp, "kotlin": _kotlin}
