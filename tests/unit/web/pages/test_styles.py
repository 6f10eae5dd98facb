"""What the style sheets ask of a browser each time that a page changes."""

import math
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

_SHEETS = sorted((Path(__file__).resolve().parents[4] / "static").glob("*.css"))
#: Parts that a page has once or twice: what they hold is compared once a change, not once a result.
_ANCHORS = frozenset(
    "html body main .search-page .summary .search-body .file-page .file-head .file-body .file-tree"
    " .file-side .names #project-jobs .of-code".split()
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


_APP = (_SHEETS[0].parent / "app.css").read_text("utf-8")
_PAIR = r"light-dark\(#(\w{6}), #(\w{6})\)"
_PANEL = re.findall(rf"--panel: {_PAIR}", _APP)[0]
_LANGUAGES = {
    name: (light, dark)
    for name, light, dark in re.findall(rf"\.lang([\w-]*) \{{ fill: {_PAIR}", _APP)
}
_OPACITY = 0.9  # of the dots on a map


def _linear(colour: str) -> list[float]:
    """Give the three parts of a colour as light."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    return [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]


def _over(colour: str, page: str) -> str:
    """Give the colour of a dot on a page."""
    pairs = [(int(colour[at : at + 2], 16), int(page[at : at + 2], 16)) for at in (0, 2, 4)]
    return "".join(f"{round(_OPACITY * top + (1 - _OPACITY) * below):02x}" for top, below in pairs)


def _contrast(one: str, other: str) -> float:
    """Give the contrast of two colours as WCAG defines it."""
    lights = sorted(
        sum(
            weight * part
            for weight, part in zip((0.2126, 0.7152, 0.0722), _linear(each), strict=True)
        )
        for each in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _perceived(colour: str) -> tuple[float, float, float]:
    """Give a colour in OKLab, where distances are those that are seen."""
    red, green, blue = _linear(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def test_colours_of_languages_are_seen_in_both_themes_and_told_from_each_other() -> None:
    assert {"", "-c", "-tcl", "-text", "-makefile", "-ignore"} <= _LANGUAGES.keys()
    for theme, page in enumerate(_PANEL):
        shown = {name: pair[theme] for name, pair in _LANGUAGES.items()}
        pale = {name for name, each in shown.items() if _contrast(_over(each, page), page) < 3}
        assert not pale
        alike = [
            (one, other)
            for one, other in combinations(shown, 2)
            if math.dist(_perceived(shown[one]), _perceived(shown[other])) < 0.045
        ]
        assert not alike
