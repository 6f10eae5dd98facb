"""A file as its readers want it: previews, images, matches, an outline, a bar that stays."""

import base64
import json
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import wait_until
from tests.support.pages import indexed, project_ids
from tests.support.server import Server
from tests.support.trees import write_tree

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_README = """# Reading

A [guide](docs/guide.md#L3), [below](#usage), ![a dot](dot.png), ![far](https://example.org/x.png)
and <script>document.title = "ran"</script><b onclick="document.title = 'ran'">bold</b>,
<a href="javascript:document.title='ran'">bad</a>.

## Usage

```python
def shown():
    return 1
```
"""
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    '<script>document.title = "ran"</script><rect width="40" height="40"/></svg>\n'
)

_IS_UNCOVERED = """head => {
  const place = head.getBoundingClientRect();
  return head.contains(document.elementFromPoint(place.x + 9, place.y + 9));
}"""


@pytest.fixture(scope="module")
def reading(server: Server, home: Path) -> Iterator[str]:
    """The address of a project with files that have previews."""
    cells = [
        {"cell_type": "markdown", "source": ["# Cells\n"], "metadata": {}},
        {"cell_type": "code", "source": ["import os\n"], "metadata": {}, "outputs": []},
    ]
    notebook = {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    dense = "".join(
        f"def dense_{n}(word):\n    word = word + word\n    return word\n\n\n" for n in range(40)
    )
    long = f"class {'Ledger' * 14}:\n" + "".join(
        f"    def enter_ledger_{n}(self):\n" + f"        self.step_{n}()\n" * 60 + "\n"
        for n in range(3)
    )
    told = "".join(f"// Told says {n}.\n//\n" for n in range(1, 101)).removesuffix("//\n")
    tree = write_tree(
        home / "reading",
        {
            "README.md": _README,
            "docs/guide.md": "# Guide\n\n- one\n- two\n",
            "docs/wide.md": "# Wide\n\n" + "| a_name_of_a_column " * 9 + "|\n" + "|-" * 9 + "|\n",
            "dot.png": _PNG,
            "icon.svg": _SVG,
            "people.csv": 'name,said\nAnn,"a, b"\n<b>Bob</b>,c\n',
            "wide.csv": "department,introduction,responsibility,qualification\na,b b b b b b,c,d\n",
            "cells.ipynb": json.dumps(notebook),
            "dense.py": dense,
            "long_1.py": long,
            "long_2.py": long.replace("step", "work"),
            "told.go": "package told\n\n" + told + "func Told() {}\n",
            "late.php": "<?php\n"
            + "\n" * 60
            + "function late_greeting($name) {\n    return 1;\n}\n",
            os.fsdecode(b"caf\xe9.py"): "def latin_coffee():\n    return 1\n",
        },
    )
    with server.client() as client, indexed(client, tree) as project_id:
        yield f"/p/{project_id}"


def test_markdown_is_rendered_clean_and_its_source_is_a_click_away(
    page: Page, reading: str
) -> None:
    page.goto(f"{reading}/f/README.md")
    shown = page.get_by_role("article", name="Preview")
    expect(shown.get_by_role("heading", name="Reading")).to_be_visible()
    expect(shown.locator("pre .k").first).to_have_text("def")
    expect(shown.locator("script, [onclick], a[href^=javascript]")).to_have_count(0)
    assert shown.get_by_alt_text("a dot").evaluate("(image) => image.naturalWidth") == 1
    assert shown.get_by_alt_text("far").get_attribute("src") is None
    expect(page).to_have_title(re.compile("README.md"))
    shown.get_by_role("link", name="below").click()
    expect(page).to_have_url(re.compile("#L7$"))
    page.get_by_role("link", name="Source").click()
    expect(page.locator(".file-code .line").first).to_contain_text("# Reading")
    page.get_by_role("link", name="Preview").click()
    page.get_by_role("article", name="Preview").get_by_role("link", name="guide").click()
    page.wait_for_url("**/docs/guide.md?view=source#L3")  # a line is in the source
    expect(page.locator(".line.picked")).to_contain_text("- one")


def test_tables_and_notebooks_are_shown_as_such(page: Page, reading: str) -> None:
    page.goto(f"{reading}/f/people.csv")
    expect(page.get_by_role("columnheader")).to_have_text(["name", "said"])
    expect(page.get_by_role("cell")).to_have_text(["Ann", "a, b", "<b>Bob</b>", "c"])
    page.goto(f"{reading}/f/cells.ipynb")
    expect(page.locator(".cell").first.get_by_role("heading", name="Cells")).to_be_visible()
    expect(page.locator(".cell-code .kn").first).to_have_text("import")


def test_images_are_shown_and_cannot_run(page: Page, reading: str) -> None:
    for name in ("dot.png", "icon.svg"):
        page.goto(f"{reading}/f/{name}")
        picture = page.locator(f"main img[alt='{name}']")
        expect(picture).to_be_visible()
        assert picture.evaluate("(image) => image.complete && image.naturalWidth > 0")
    answer = page.request.get(f"{reading}/image/icon.svg")
    policies = [
        each["value"]
        for each in answer.headers_array
        if each["name"].lower() == "content-security-policy"
    ]
    assert any(each.startswith("sandbox; default-src 'none'") for each in policies)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert page.request.get(f"{reading}/image/dense.py").status == 404


def test_keys_step_through_places_not_through_words(page: Page, reading: str) -> None:
    page.goto(f"{reading}/f/dense.py?q=word&mode=keyword")
    stops = (page.locator("[data-stops]").get_attribute("data-stops") or "").split()
    assert len(stops) == 40
    expect(page.locator(".matches")).to_contain_text("place 1 of 40, 120 matching lines")
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(f"#L{stops[1]}$"))


def test_the_bar_stays_and_the_outline_follows(page: Page, reading: str) -> None:
    page.goto(f"{reading}/f/dense.py")
    page.mouse.wheel(0, 1500)
    expect(page.locator(".file-bar")).to_be_in_viewport()
    current = page.locator(".outline [aria-current]")
    expect(current).not_to_have_text("dense_0")
    expect(current).to_be_in_viewport()
    page.get_by_role("button", name="Copy path", exact=True).click()
    expect(page.locator("#told")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == "dense.py"
    assert page.locator("#L1").evaluate("(line) => line.getBoundingClientRect().height") == 20
    page.emulate_media(media="print")
    expect(page.locator(".file-side")).to_be_hidden()


def test_a_snippet_of_php_is_coloured_and_odd_names_open(page: Page, reading: str) -> None:
    page.goto(f"/search?q=late_greeting&mode=symbol&project={reading[3:]}")
    expect(page.locator("[data-hit] .k, [data-hit] .kd").first).to_have_text("function")
    page.goto(f"/search?q=latin_coffee&mode=symbol&project={reading[3:]}")
    page.locator("[data-open]").first.click()
    expect(page.locator(".file-code")).to_contain_text("latin_coffee")


def test_five_hits_fit_into_a_window(page: Page, server: Server) -> None:
    page.goto("/search?q=numbered")
    expect(page.locator("#preview-body .line").first).to_be_visible()
    bottoms = page.locator("[data-hit]").evaluate_all(
        "(hits) => hits.map((hit) => hit.getBoundingClientRect().bottom)"
    )
    assert len([each for each in bottoms if 0 < each <= 900]) >= 5


def test_five_hits_with_more_lines_and_long_names_fit_into_a_window(
    page: Page, reading: str
) -> None:
    page.goto(f"/search?q=enter_ledger&mode=keyword&project={reading[3:]}")
    expect(page.locator("#preview-body .line").first).to_be_visible()
    more = page.locator(".at-first .around.below")
    expect(more.nth(4)).to_have_accessible_name(re.compile(r"\d+ more lines"))
    bottoms = page.locator("[data-hit]").evaluate_all(
        "(hits) => hits.map((hit) => hit.getBoundingClientRect().bottom)"
    )
    assert len([each for each in bottoms if 0 < each <= 900]) >= 5
    within, name = page.locator(".hit .symbol").first.locator("span").all()
    is_cut = "(part) => part.scrollWidth > part.clientWidth"
    assert within.evaluate(is_cut)
    assert not name.evaluate(is_cut)
    more.first.click()
    row = page.locator(".hit").first.locator(".around-row")
    expect(row).to_contain_text("less")
    assert row.evaluate("(row) => row.getBoundingClientRect().top") >= page.locator(
        ".hit .code"
    ).first.evaluate("(code) => code.getBoundingClientRect().bottom")


def test_going_back_keeps_more_results(page: Page) -> None:
    page.goto("/search?q=numbered")
    page.get_by_role("link", name="More results").click()
    expect(page.locator("[data-hit]").nth(30)).to_be_attached()
    page.wait_for_url("**pages=2**")
    many = page.locator("[data-hit]").count()
    page.locator(".open-file").last.click()
    page.wait_for_url("**/f/**")
    page.go_back()
    page.wait_for_url("**pages=2**")
    expect(page.locator("[data-hit]")).to_have_count(many)


def test_a_part_of_a_name_names_a_project(page: Page, server: Server, reading: str) -> None:
    with server.client() as client:
        assert "reading" in project_ids(client)
    page.goto("/search?q=word+repo:readi")
    expect(page.locator(".group-path").first).to_contain_text("dense.py")


def test_relative_times_go_on(page: Page, reading: str) -> None:
    page.clock.install()
    page.goto(f"{reading}/f/dense.py")
    shown = page.locator("time[data-since]").first
    expect(page.locator(".htmx-request")).to_have_count(0)  # a request would time out
    page.clock.fast_forward("10:00")
    expect(shown).to_have_text(re.compile(r"^[1-9]\d min ago$"))


def test_the_bar_stays_in_a_window_of_a_tablet(page: Page, reading: str) -> None:
    page.set_viewport_size({"width": 1024, "height": 900})
    page.goto(f"{reading}/f/dense.py#L120")
    expect(page.get_by_role("button", name="Copy path", exact=True)).to_be_in_viewport()
    expect(page.locator("#L120")).to_be_in_viewport()


def test_words_of_a_table_stay_whole_in_a_narrow_window(page: Page, reading: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{reading}/f/wide.csv")
    expect(page.get_by_role("columnheader")).to_have_count(4)
    heights = page.locator("th, td").evaluate_all("cells => cells.map(each => each.offsetHeight)")
    assert len(set(heights)) == 1, heights
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_wide_table_of_a_document_is_scrolled_by_keys(page: Page, reading: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{reading}/f/docs/wide.md")
    table = page.locator(".rendered table")
    table.focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: table.evaluate("each => each.scrollLeft") > 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_marks_are_as_yellow_in_the_lines_of_the_address(page: Page, reading: str) -> None:
    page.goto(f"{reading}/f/dense.py?q=word&mode=keyword&lines=1-3")
    backgrounds = "marks => [...new Set(marks.map(each => getComputedStyle(each).backgroundColor))]"
    picked = page.locator(".line.picked mark")
    expect(picked.first).to_be_visible()
    others = page.locator(".line:not(.picked) mark").evaluate_all(backgrounds)
    assert picked.evaluate_all(backgrounds) == others
    assert len(others) == 1


@pytest.mark.parametrize("width", [1040, 1280, 1440])
def test_the_tree_and_the_outline_stay_beside_the_code(
    page: Page, reading: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{reading}/f/dense.py#L150")
    for name in ("Files of the project", "Symbols of the file"):
        head = page.get_by_role("navigation", name=name).locator(".panel-head")
        expect(head).to_be_in_viewport(ratio=1)
        wait_until(page, partial(head.evaluate, _IS_UNCOVERED))
    expect(page.locator(".outline [aria-current]")).to_be_in_viewport()


@pytest.mark.parametrize(("width", "query"), [(1300, ""), (1440, "?q=word&mode=keyword")])
def test_the_panel_of_a_name_stays_below_the_bar(
    page: Page, reading: str, width: int, query: str
) -> None:
    page.set_viewport_size({"width": width, "height": 600})
    page.goto(f"{reading}/f/dense.py{query}#L100")
    page.locator("#L101 code a").first.click()
    for part in ("h2", "[data-close-name]"):
        shown = page.locator(f"#names .name-head {part}")
        expect(shown).to_be_in_viewport(ratio=1)
        wait_until(page, partial(shown.evaluate, _IS_UNCOVERED))
    expect(page.locator("#names")).to_be_in_viewport(ratio=1)


def test_names_that_keys_lead_to_stay_below_the_bar(page: Page, reading: str) -> None:
    page.goto(f"{reading}/f/dense.py?q=word&mode=keyword#L150")
    page.locator("#L151 code a").first.focus()
    name = page.locator("code a:focus")
    for _ in range(40):
        page.keyboard.press("ArrowUp")
        wait_until(page, partial(name.evaluate, _IS_UNCOVERED))
    assert int((name.get_attribute("href") or "").rpartition("#L")[2]) < 110


def test_long_documentation_of_a_symbol_is_folded_after_a_paragraph(
    page: Page, reading: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{reading}/symbol/told.go?name=Told&line=202")
    doc = page.locator("p.symbol-doc")
    expect(doc).to_contain_text("Told says 12.")
    assert doc.evaluate("doc => doc.scrollHeight <= doc.clientHeight")
    expect(page.get_by_text("Told says 60.")).to_be_hidden()
    page.get_by_text("Rest of the documentation").click()
    expect(page.get_by_text("Told says 60.")).to_be_visible()
