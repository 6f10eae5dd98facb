"""What the style sheets ask of a browser each time that a page changes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_SHEETS = sorted((Path(__file__).resolve().parents[4] / "static").glob("*.css"))
#: Parts that a page has once: what they hold is compared once a change, not once a result.
_ANCHORS = frozenset(
    "html body main .search-page .summary .search-body .file-page .file-head .file-body .file-tree"
    " .file-side .names #project-jobs".split()
)


def _selectors(sheet: str) -> Iterator[str]:
    """Give each selector of a sheet, those within ``@media`` too."""
    text = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    for prelude in re.findall(r"([^{};]+)\{", text):
        if not prelude.strip().startswith("@"):
            yield from _split(prelude, ",")


def _split(text: str, separators: str) -> list[str]:
    """Split a text where no bracket is open."""
    parts, depth = [""], 0
    for char in text.strip():
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char in separators:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _wrong(sheet: str) -> list[str]:
    """Give the selectors that ask with ``:has()`` of anything but an anchor."""
    return [
        selector
        for selector in _selectors(sheet)
        for compound in _split(selector, " >+~\n")
        if ":has(" in compound and _first(compound) not in _ANCHORS
    ]


def _first(compound: str) -> str:
    """Give the type, class or ID that a compound selector begins with, or nothing."""
    found = re.match(r"[.#]?[\w-]+", compound)
    return found[0] if found else ""


@pytest.mark.parametrize("sheet", _SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_asks_what_a_result_holds(sheet: Path) -> None:
    """With ``:has()`` on parts of results a browser styled each element several times an answer."""
    assert not _wrong(sheet.read_text("utf-8"))


@pytest.mark.parametrize(
    "selector",
    [
        ".found > :has(.by)",
        ".hit:is(.a):has(.by)",
        ".hit:not(.passage):has(.by)",
        ".hit[data-hit]:has(.by)",
        ".search-page .hit:not(:has(.by, .where)) > header",
        ".summary, .hit:has(.by)",
        ":is(.job-progress, .job-row, .job):has(.chip.blocked) progress",
        "@media (max-width: 40rem) { .hit:has(.by)",
    ],
)
def test_a_rule_that_asks_of_each_result_is_found(selector: str) -> None:
    assert len(_wrong(f"/* a */ .x {{ y: z }}\n{selector} {{ y: z }}")) == 1


def test_a_rule_that_asks_of_a_page_is_none_of_them() -> None:
    asked = ".search-page:not(:has([data-hit])) .hit, html:has(.a):not(:has(.b > .c)) { y: z }"
    assert not _wrong(asked)
