"""Results that one comes back to, or whose files have changed since."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import index_folder, indexed, sample_files
from tests.support.server import Server
from tests.support.trees import write_tree


def _place(page: Page) -> str | None:
    place: str | None = page.evaluate("document.activeElement.dataset.place")
    return place


def _open(page: Page, presses: int) -> str:
    for _ in range(presses):
        page.keyboard.press("j")
    place = _place(page)
    assert place
    page.keyboard.press("Enter")
    page.wait_for_url("**/f/**")
    return place


@pytest.mark.parametrize("way", ["back", "results"])
def test_the_opened_hit_is_selected_when_one_comes_back(page: Page, way: str) -> None:
    page.goto("/search?q=numbered")
    place = _open(page, 6)
    if way == "back":
        page.go_back(wait_until="commit")
    else:
        page.get_by_role("link", name="← Results").click()
    page.wait_for_url("**/search?q=numbered**")
    selected = page.locator(f"[data-hit][data-place='{place}']").first
    expect(selected).to_be_focused()
    expect(selected).to_have_class("hit previewed")
    expect(page.locator(".preview-head a")).to_have_text(place.partition(":")[0])
    page.keyboard.press("j")
    assert _place(page) not in (
        None,
        place,
        page.locator("[data-hit]").first.get_attribute("data-place"),
    )
    page.goto("/search?q=numbered")  # anew
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").first).to_be_focused()


def test_a_search_that_minds_case_is_another_one(page: Page) -> None:
    page.goto("/search?q=numbered")
    _open(page, 2)
    page.goto("/search?q=numbered&case=yes")
    place = _open(page, 6)
    page.get_by_role("link", name="← Results").click()
    page.wait_for_url("**/search?q=numbered&case=yes")
    expect(page.locator(f"[data-hit][data-place='{place}']").first).to_be_focused()


def test_loading_again_or_a_tab_of_its_own_moves_no_focus(page: Page) -> None:
    page.goto("/search?q=numbered")
    _open(page, 6)
    back = page.get_by_role("link", name="← Results")
    with page.context.expect_page() as elsewhere:
        back.click(modifiers=["Control"])
    elsewhere.value.wait_for_url("**/search?**")  # Chromium may never close one on its way
    elsewhere.value.close()
    page.goto("/search?q=numbered")  # anew
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").first).to_be_focused()
    _open(page, 5)
    page.go_back(wait_until="commit")
    expect(page.locator("[data-hit]:focus")).to_have_count(1)
    page.reload()
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").first).to_be_focused()


def test_a_hit_of_a_later_page_is_found_again(page: Page) -> None:
    page.goto("/search?q=numbered&mode=keyword")
    hits = page.locator("[data-hit]")
    before = hits.count()
    page.get_by_role("link", name="More results").click()
    expect(hits.nth(before)).to_be_attached()
    later = hits.nth(before).locator("[data-open]")
    opened = later.get_attribute("href")
    later.click()
    page.wait_for_url("**/f/**")
    page.get_by_role("link", name="← Results").click()
    page.wait_for_url("**/search?**pages=2**")
    expect(page.locator("[data-hit]:focus [data-open]")).to_have_attribute("href", opened or "")


def test_lines_of_another_content_are_not_added(page: Page, server: Server, home: Path) -> None:
    text = str(sample_files()["app/long.py"]).replace("numbered", "counted")
    tree = write_tree(home / "moving", {"long.py": text})
    with server.client() as client, indexed(client, tree):
        page.goto("/search?q=counted_3+project:moving")
        hit = page.locator("[data-hit]", has=page.get_by_text("counted_3", exact=True)).first
        lines = hit.locator(".line")
        before = lines.all_text_contents()
        write_tree(tree, {"long.py": f"import os\n\n\n{text}"})
        index_folder(client, tree)
        hit.locator(".around.below").click()
        expect(hit).to_contain_text("long.py has changed since this page was loaded")
        assert lines.all_text_contents() == before
        expect(hit.get_by_role("link", name="Reload")).to_be_focused()
        page.locator("[data-hit]").nth(1).hover()
        pane = page.locator("#preview-body")
        expect(pane).to_contain_text("long.py has changed since this page was loaded")
        expect(pane.locator(".line")).to_have_count(0)
        hit.get_by_role("link", name="Reload").click()
        page.wait_for_url("**/search?q=counted_3+project:moving")
        expect(pane.locator(".line").first).to_be_visible()
        hit.locator(".around.below").click()
        expect(lines.nth(len(before))).to_be_attached()


def test_more_results_are_gone_through_by_keys_and_counted(page: Page) -> None:
    page.goto("/search?q=numbered&mode=keyword")
    hits = page.locator("[data-hit]")
    before = hits.count()
    expect(page.locator("#summary")).to_contain_text(f"Showing {before} of")
    page.get_by_role("link", name="More results").press("Enter")
    expect(hits.nth(before)).to_be_focused()
    expect(page.locator("#summary")).to_contain_text(f"Showing {hits.count()} of")
    page.keyboard.press("k")
    expect(hits.nth(before - 1)).to_be_focused()


def test_a_file_opened_from_the_preview_keeps_the_query(page: Page) -> None:
    page.goto("/search?q=numbered&mode=keyword")
    page.keyboard.press("j")
    opened = page.locator("[data-hit]:focus [data-open]").get_attribute("href")
    expect(page.locator(".preview-head a")).to_have_attribute("href", opened or "")
    page.locator(".preview-head a").click()
    page.wait_for_url("**/f/**?q=numbered&mode=keyword**")
    expect(page.get_by_role("link", name="← Results")).to_be_visible()
