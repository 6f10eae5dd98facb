"""A browser for each module, and one served project for all tests of a process.

Playwright keeps an event loop running as long as it lives, which tests of other modules must not
find.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser import browsing, need_chromium, visiting
from tests.support.pages import sample_files, site
from tests.support.server import Server
from tests.support.trees import write_tree


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home folder of the server, with the project ``sample`` in it."""
    folder = tmp_path_factory.mktemp("browser")
    write_tree(folder / "sample", sample_files())
    return folder


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[Server]:
    """A server of that project."""
    need_chromium()
    with site(home, home / "sample") as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A tab of a wide window."""
    permissions = ["clipboard-read", "clipboard-write"]
    viewport = {"width": 1440, "height": 900}
    with visiting(browser, server.url, viewport=viewport, permissions=permissions) as page:
        yield page
