"""Headings of documents."""

from tests.support.symbol_rows import rows_of


def _headings(source: str, language: str = "markdown") -> list[tuple[str, int, int, int]]:
    return [(row[1], row[2], row[3], row[5]) for row in rows_of(source, language)]


def test_levels_and_spans() -> None:
    source = """
# Guide *one* #

Text.

## Install `x`
Text.
### [Deep](https://example.org)
## Use
# Reference
"""
    assert _headings(source) == [
        ("Guide one", 1, 8, -1),
        ("Guide one.Install x", 5, 7, 0),
        ("Guide one.Install x.Deep", 7, 7, 1),
        ("Guide one.Use", 8, 8, 0),
        ("Reference", 9, 9, -1),
    ]


def test_underlined_headings() -> None:
    source = """
Title
=====

Part
----
- item
---
> quote
---

| a |
---
"""
    assert _headings(source) == [("Title", 1, 12, -1), ("Title.Part", 4, 12, 0)]


def test_code_and_front_matter_hold_no_headings() -> None:
    source = """
---
title: Page
---
# Real
```sh
# comment
````
~~~
```
# not here
~~~
#hashtag
    # indented code
## After
"""
    assert [row[0] for row in _headings(source)] == ["Real", "Real.After"]


def test_a_section_is_exported_and_shows_its_line() -> None:
    assert rows_of("\n##  Two  words\n", "markdown") == [
        ("section", "Two words", 1, 1, True, -1, "##  Two  words", "")
    ]


def test_windows_line_breaks() -> None:
    assert _headings("\n# One\r\ntext\r\n\r\nTwo\r\n---\r\n") == [
        ("One", 1, 5, -1),
        ("One.Two", 4, 5, 0),
    ]


def test_restructured_text_levels_go_by_appearance() -> None:
    source = """
=====
Title
=====

Part
----

Code::

    Literal
    -------

Small part
~~~~~~~~~~

Other
-----

Far too short
---

=====  =====
Table  Table
=====  =====
"""
    assert _headings(source, "restructuredtext") == [
        ("Title", 1, 24, -1),
        ("Title.Part", 5, 14, 0),
        ("Title.Part.Small part", 13, 14, 1),
        ("Title.Other", 16, 24, 0),
    ]


def test_documents_without_headings() -> None:
    for source in ("", "\n", "text\n", "---\n", "===\n", "#\n", "```\n# a\n"):
        assert _headings("\n" + source) == []
        assert _headings("\n" + source, "restructuredtext") == []
