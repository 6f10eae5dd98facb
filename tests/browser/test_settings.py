"""Settings: filtered, changed and refused by keys alone, and without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_accessibility import AXE, WINDOWS, check_page
from tests.support.browser import need_chromium, visiting, visiting_themed
from tests.support.pages import site
from tests.support.server import Server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own, whose settings tests may change."""
    need_chromium()
    with site(tmp_path_factory.mktemp("settings")) as server:
        yield server


def test_a_setting_is_found_and_changed_by_keys(browser: Browser, served: Server) -> None:
    with visiting(browser, served.url) as page:
        page.goto("/jobs")
        page.keyboard.press("Control+k")
        page.keyboard.type("preferences")
        expect(page.locator("#palette-found")).to_have_attribute("data-of", "preferences")
        page.keyboard.press("Enter")
        page.wait_for_url("**/settings")
        page.get_by_label("Filter the settings").focus()
        page.keyboard.type("retention")
        expect(page.locator("[data-setting]:visible")).to_have_count(1)
        page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type("0")
        page.keyboard.press("Enter")
        problem = page.get_by_role("alert")
        expect(problem).to_contain_text("job_retention is 0, wanted a whole number of days")
        box = page.get_by_label("job_retention in days")
        expect(box).to_be_focused()
        box.press("Control+a")
        page.keyboard.type("30")
        page.keyboard.press("Enter")
        said = page.get_by_text("Restart the server to use it here.")
        expect(said).to_be_visible()
        page.get_by_role("button", name="Use the default of job_retention").press("Enter")
        expect(page.get_by_text("was removed from config.toml")).to_be_visible()
        page.wait_for_load_state()
        page.get_by_label("Filter the settings").fill("zz no such thing")
        expect(page.get_by_text("No setting matches.")).to_be_visible()


def test_without_scripts_a_setting_is_changed(browser: Browser, served: Server) -> None:
    with visiting(browser, served.url, java_script_enabled=False) as page:
        page.goto("/status")
        page.get_by_role("link", name="Change settings").click()
        page.get_by_label("editor").select_option("zed")
        page.get_by_role("button", name="Save editor").click()
        expect(page.get_by_text("editor is zed in config.toml")).to_be_visible()


@pytest.mark.skipif(not AXE.exists(), reason="NO AXE-CORE: npm ci --prefix tests/browser")
@pytest.mark.parametrize(("theme", "width"), WINDOWS)
def test_it_has_no_barrier(browser: Browser, served: Server, theme: str, width: int) -> None:
    with visiting_themed(browser, served.url, theme, width) as page:
        page.goto("/settings")
        page.get_by_label("job_retention in days").fill("0")
        page.get_by_role("button", name="Save job_retention").click()
        page.get_by_role("alert").wait_for()
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "refused")
        page.get_by_label("job_retention in days").fill("9")
        page.get_by_role("button", name="Save job_retention").click()
        page.get_by_text("Restart the server to use it here.").wait_for()
        page.evaluate(AXE.read_text("utf-8"))
        check_page(page, "changed")
