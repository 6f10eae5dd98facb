"""Rewrite what the Kotlin grammar misreads; the text keeps its length and lines.

Each of these costs the rest of a file, and none matters to what the file defines:

* ``annotation class Name`` after an annotation is read as an infix call.
* ``context(name: Type)`` before a function is not known.
* A line that begins with a name such as ``in1`` continues the line before it with the operator
  ``in``.
"""

import re

_ANNOTATION = b"annotation class "
_CONTEXT = re.compile(rb"^[ \t]*context\([^()\n]*\)(?=[ \t]*\r?\n)", re.MULTILINE)
_LIKE_IN = re.compile(rb"in[0-9_]")
_LINE_LIKE_IN = re.compile(rb"(\n[ \t]*)in(?=[0-9_])")


def without_snags(text: bytes) -> bytes:
    """Put blanks or a name that the grammar can read in their place."""
    if _ANNOTATION in text:
        text = text.replace(_ANNOTATION, b"           class ")
    if b"context(" in text:
        text = _CONTEXT.sub(lambda match: b" " * len(match.group()), text)
    if _LIKE_IN.search(text):
        text = _LINE_LIKE_IN.sub(rb"\1xx", text)
    return text
