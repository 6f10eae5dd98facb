"""Comments before definitions."""

import pytest

from engine.syntax.comments import comment_start, doc_of, docstring_at
from engine.syntax.languages import LANGUAGES


@pytest.mark.parametrize(
    ("language", "before", "doc"),
    [
        ("python", "# One.\n# Two.\n", "One.\nTwo."),
        ("python", "x = 1  # no\n", ""),
        ("python", "# apart\n\n", ""),
        ("python", "# -*- One -*-\n#\n# Two.\n", "-*- One -*-\n\nTwo."),
        ("go", "// One.\n//\n// Two.\n", "One.\n\nTwo."),
        ("rust", "/// One.\n//! Two.\n", "One.\nTwo."),
        ("c", "/* One.\n * Two.\n */\n", "One.\nTwo."),
        ("c", "int a; /* no */\n", ""),
        ("c", "/* no */ int a; /* no */\n", ""),
        ("c", "/****************\n * One.\n ****************/\n", "One."),
        ("javascript", "/** One.\n * @param a */\n\n", "One.\n@param a"),
        ("javascript", "/* apart */\n\n", ""),
        ("lua", "--- One.\n-- Two.\n", "One.\nTwo."),
        ("haskell", "-- | One.\n-- Two.\n", "One.\nTwo."),
        ("haskell", "{- | One. -}\n", "One."),
        ("html", "<!-- One. -->\n", "One."),
        ("elixir", "# Änderung\r\n# 日本\r\n", "Änderung\n日本"),
        ("text", "# no\n", ""),
    ],
)
def test_the_comment_before_a_definition(language: str, before: str, doc: str) -> None:
    style = LANGUAGES[language].comments
    for lead in ("", "other line\n"):
        text = (lead + before + "  definition").encode()
        start = len(text) - len(b"definition")
        top = comment_start(text, start, style)
        assert top == (len(lead) if doc else start - 2)
        assert doc_of(text[top:start], style) == doc


def test_a_definition_behind_other_text_has_no_comment() -> None:
    text = b"// no\nfirst; second"
    assert comment_start(text, 13, LANGUAGES["go"].comments) == 13
    far = b"// no\n" + b" " * 5000 + b"x"
    assert comment_start(far, len(far) - 1, LANGUAGES["go"].comments) == len(far) - 1


def test_a_shebang_line_is_no_comment() -> None:
    style = LANGUAGES["python"].comments
    assert comment_start(b"#!/bin/sh\n# One.\nx", 17, style) == 10
    assert comment_start(b"\n#!/bin/sh\nx", 11, style) == 1


@pytest.mark.parametrize(
    ("body", "doc"),
    [
        ('"""One.\n\n    Two.\n    """', "One.\n\nTwo."),
        ("'One.'", "One."),
        ('r"""\\d"""', "\\d"),
        ("f'no'", ""),
        ("'never closed", ""),
        ('"""never closed', "never closed"),
        ("return 1", ""),
        ("", ""),
    ],
)
def test_docstrings(body: str, doc: str) -> None:
    assert docstring_at(b"  " + body.encode(), 2) == doc


def test_docs_have_a_limit() -> None:
    style = LANGUAGES["go"].comments
    assert 990 < len(doc_of(b"// word\n" * 10_000, style)) <= 1000
    assert len(docstring_at(b'"' * 3 + b"word " * 10_000 + b'"' * 3, 0)) <= 1000
