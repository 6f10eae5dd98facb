"""Heads of files and hits keep what names them, however narrow the window and long the rest."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import need_chromium, visiting
from tests.support.command import Command
from tests.support.git_history import GitTree
from tests.support.jobs import catalog_in
from tests.support.server import Server, serving

_BRANCHES = ("release/2.3", "feature/sessions-in-redis", "fix/cookie-rotation", "next")
_PATH = f"{'/'.join(['middleware'] * 12)}/abstract_store.py"
_KEPT_PATH = f"{'/'.join(['middleware'] * 12)}/store_that_is_on_all_branches.py"
_PADDING = "".join(
    f"def filler_{n}(value):\n    total = value + {n}\n    return total * {n}\n\n\n"
    for n in range(30)
)
_HELD = (
    "class SessionInterface:\n    def open_session(self):\n        return self.held\n\n\n"
    f"{_PADDING}def reopen(open_session):\n    return open_session()\n"
)
# What of the heads is cut off, of what must not be.
_CUT = """() => {
  const widthOf = (e) => {
    const text = document.createRange();
    text.selectNodeContents(e);
    return text.getBoundingClientRect().width;
  };
  const isCut = (e) => widthOf(e) > e.getBoundingClientRect().width;
  const group = document.querySelector(".group:has(.branches)");
  const names = [...group.querySelectorAll(".group-path :is(.dim, .dim > span, strong)")];
  const facts = [...document.querySelectorAll(".hit-facts")];
  return [
    ...names.filter(isCut),
    ...facts.filter((e) => e.scrollWidth > e.clientWidth + 1),
    ...facts.map((e) => e.querySelector("[data-open]")).filter((e) => e.clientWidth < 40),
  ].map((e) => `${e.className} of ${e.clientWidth} pixels: ${e.textContent}`);
}"""


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of two projects; in one, parts of a file are on four branches, others on one."""
    need_chromium()
    folder = tmp_path_factory.mktemp("heads")
    tree = GitTree(folder / "kept", folder, "-b", "main")
    kept = {_KEPT_PATH: "def never_changed():\n    return 1\n"}
    tree.commit("Begin", {_PATH: _HELD.replace("held", "older"), **kept})
    other = GitTree(folder / "other", folder)
    other.commit("Begin", {"session.py": "def open_session():\n    return 1\n"})
    with catalog_in(folder / "home") as catalog:
        catalog.create(str(other.root)).index()
        project = catalog.create(str(tree.root))
        project.index()
        for branch in _BRANCHES:
            tree.git("checkout", "-q", "-b", branch)
            text = _HELD.replace("reopen", "open_again") if branch == "next" else _HELD
            tree.commit("Hold sessions", {_PATH: text}, "--author=Ada Example <a@example.org>")
            project.index()
        project.read_history()
    with serving(Command(home=folder / "home", folder=tree.root), "--no-watch") as server:
        yield server


@pytest.mark.parametrize("width", [390, 641, 720, 800, 960, 1000, 1200, 1440])
def test_names_are_whole_beside_long_folders_and_many_branches(
    browser: Browser, branches: Server, width: int
) -> None:
    with visiting(browser, branches.url, viewport={"width": width, "height": 900}) as page:
        page.goto("/search?q=open_session+branch:*&mode=keyword")
        expect(page.locator(".hit .branches").first.locator(".chip")).to_have_count(4)
        expect(page.locator(".group-path", has_text=_PATH).first).to_have_text(f"kept / {_PATH}")
        assert page.evaluate(_CUT) == []


@pytest.mark.parametrize("width", [641, 1000, 1440])
def test_names_are_whole_beside_the_branches_of_a_file(
    browser: Browser, branches: Server, width: int
) -> None:
    two = "+".join(f"branch:{branch}" for branch in _BRANCHES[:2])
    with visiting(browser, branches.url, viewport={"width": width, "height": 900}) as page:
        page.goto(f"/search?q=never_changed+{two}&mode=keyword")
        chips = page.locator(".group > summary .branches .chip")
        expect(chips).to_have_count(2)
        assert page.evaluate(_CUT) == []
        page.goto("/search?q=never_changed+branch:*&mode=keyword")
        expect(chips).to_have_text([*reversed(_BRANCHES), "main"])
        assert page.evaluate(_CUT) == []


@pytest.mark.parametrize("width", [800, 1199])
def test_authors_and_lines_are_shown_where_no_preview_is(
    browser: Browser, branches: Server, width: int
) -> None:
    with visiting(browser, branches.url, viewport={"width": width, "height": 900}) as page:
        page.goto("/search?q=open_session&mode=keyword")
        expect(page.locator("#preview")).to_be_hidden()
        hit = page.locator(".hit", has_text="Ada Example").first
        expect(hit.locator(".by")).to_be_visible()
        expect(hit.locator(".where")).to_be_visible()
