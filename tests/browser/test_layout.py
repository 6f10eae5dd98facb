"""Nothing on the main pages is cut off, covered or out of reach, from a phone to a wide window.

The last window is one of 1440 pixels at 200 % zoom. axe-core, which also tells targets that are too
small, looks at the same pages in ``test_accessibility``.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import visiting
from tests.support.pages import project_ids, site
from tests.support.server import Server
from tests.support.trees import SAMPLE, write_tree

_LONG = "_".join(["extremely", "verbose", "enterprise", "singleton", "factory", "visitor"])
_CLASS = "".join(word.title() for word in _LONG.split("_")) * 2
_PROJECT = f"a-project-whose-name-is-long-{'x' * 60}"
_DEEP = "/".join(["deeply-nested-folder"] * 8)
_RTL = "\u05de\u05e7\u05d5\u05e8"
_MODULE = f"""class {_CLASS}:
    def {_LONG}(self, {_LONG}_other: int) -> int:
        return self.{_LONG}({_LONG}_other)


def open_session() -> int:
    return {_CLASS}().{_LONG}({", ".join(["1"] * 60)})
"""
_FILES: dict[str, str | bytes] = {
    **SAMPLE,
    f"{_DEEP}/{_LONG}.py": _MODULE,
    f"{_RTL}/{_RTL}.py": f"def open_session_too():\n    return '{_RTL}'\n",
    f"{_LONG * 2}.rst": "Notes\n=====\n",
    ".github/notes.md": f"# {_RTL}\n\n{_RTL} `code`\n",
}
_PAGES = (
    "/",
    "/search?q=open+session",
    "/search?q=open+session&project={project}",
    "/search?q=nothing+lang:rust",
    "/search?q=case:bar",
    "/research?q=open+session",
    "/p/{project}",
    "/p/{project}/map",
    "/p/{project}/doctor",
    "/p/{project}/symbols",
    "/p/{project}/memories",
    "/p/{project}/tree",
    "/p/{project}/f/app/session.py?lines=3-5",
    f"/p/{{project}}/f/{_DEEP}/{_LONG}.py?name=2:9",
    f"/p/{{project}}/f/{_RTL}/{_RTL}.py",
    "/p/{project}/f/.github/notes.md",
    f"/p/{{project}}/symbol/{_DEEP}/{_LONG}.py?name={_CLASS}.{_LONG}&line=2",
    "/p/{project}/f/missing.py",
    "/jobs",
    "/jobs/{job}",
    "/status",
    "/settings",
    "/connect",
    "/find?q=session",
    "/folders",
    "/nowhere",
)
_WINDOWS = {
    "1440": (1440, 900, 1),
    "1024": (1024, 768, 1),
    "390": (390, 844, 1),
    "800": (800, 900, 1),
    "200%": (720, 450, 2),
}

# What a reader would see to be wrong, as one line each. Text may only be cut off where an ellipsis
# says so, and only parts that hold code, tables and tabs scroll sideways.
_FAULTS = """() => {
  const faults = [];
  const named = (e) =>
    `${e.tagName.toLowerCase()}.${e.className}: ${e.textContent.trim().slice(0, 40)}`;
  const isShown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !e.closest(".unseen, .skip, svg, dialog:not([open])")
    && getComputedStyle(e).clipPath === "none";
  const over = document.documentElement.scrollWidth - innerWidth;
  if (over > 0) faults.push(`the page scrolls sideways by ${over}`);
  const shown = [...document.querySelectorAll("body *")].filter(isShown);
  for (const e of shown) {
    const style = getComputedStyle(e);
    const isWider = e.clientWidth && e.scrollWidth > e.clientWidth + 2;
    const isTold = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    if (["hidden", "clip"].includes(style.overflowX) && isWider && !isTold)
      faults.push(`cut off: ${named(e)}`);
    if (["auto", "scroll"].includes(style.overflowX) && isWider
        && !e.matches(".code, pre, .tabs, .table, .table-scroll, .rendered, .commit-text"))
      faults.push(`scrolls sideways: ${named(e)}`);
    if (e.matches("button, .button, .chip") && e.scrollWidth > e.clientWidth + 1)
      faults.push(`text outside of its button: ${named(e)}`);
  }
  // Code scrolls below the row that shows more of it; a head folds its group, and a name opens its
  // row, wherever they are clicked except on the links that lie on them.
  const isBelow = (e) =>
    e.matches(".line a, .group > summary, .symbol-name a, .name-qualified");
  // A bar that stays in view, and what is open above the page, may be on others.
  const layerOf = (e) => e.closest(".top, .matches, .names, .file-head");
  const controls = shown
    .filter((e) => e.matches("a[href], button, input, select, summary, label[for]") && !isBelow(e))
    .map((e) => [e, [...e.getClientRects()].filter((r) => r.width > 1 && r.height > 1)]);
  controls.forEach(([a, parts], at) => {
    for (const [b, others] of controls.slice(at + 1)) {
      if (a.contains(b) || b.contains(a) || layerOf(a) !== layerOf(b)) continue;
      const isOn = parts.some((one) => others.some((two) =>
        Math.min(one.right, two.right) - Math.max(one.left, two.left) > 2
        && Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 4));
      if (isOn) faults.push(`${named(a)} is on ${named(b)}`);
    }
  });
  for (const row of document.querySelectorAll(".around-row")) {
    const code = row.previousElementSibling.getBoundingClientRect();
    const { top, bottom } = row.getBoundingClientRect();
    if (top < code.bottom - 1 && bottom > code.top + 1) faults.push(`on code: ${named(row)}`);
  }
  for (const cell of document.querySelectorAll(".entries :is(th, .about)")) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const lines = new Set([...range.getClientRects()].map((part) => part.top));
    if (isShown(cell) && !/\\s/.test(cell.textContent.trim()) && lines.size > 1)
      faults.push(`a word is broken: ${named(cell)}`);
  }
  // Whatever lies on a control takes its clicks.
  for (const [e, [part]] of controls) {
    if (!part) continue;
    const [x, y] = [part.left + part.width / 2, part.top + part.height / 2];
    const top = document.elementFromPoint(x, y); // null outside of the window
    if (top && !e.contains(top) && !top.contains(e) && !layerOf(top))
      faults.push(`${named(e)} is covered by ${named(top)}`);
  }
  return [...new Set(faults)];
}"""

# The bars in the way of an element that an address leads to.
_COVERED = """async (id) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const target = document.getElementById(id).getBoundingClientRect();
  if (target.top < 0 || target.top > innerHeight) return ["the target is out of view"];
  const bars = [...document.querySelectorAll("body *")].filter((e) =>
    ["sticky", "fixed"].includes(getComputedStyle(e).position) && e.checkVisibility()
    && !e.contains(document.getElementById(id)));
  return bars.map((e) => [e.className, e.getBoundingClientRect()])
    .filter(([, bar]) => bar.top <= 1 && bar.width > innerWidth / 2 && bar.bottom > target.top + 1)
    .map(([name]) => name);
}"""
_ANCHORS = (
    ("/p/{project}", ("folders-title", "map", "doctor", "forget")),
    ("/p/{project}/f/app/session.py", ("L9",)),
    ("/p/{project}/f/app/session.py?q=session&mode=keyword", ("L9",)),
    ("/settings", ("setting-model_threads",)),
    ("/", ("index",)),
)


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a project whose every name is long, and of an ordinary one."""
    home = tmp_path_factory.mktemp("layout")
    trees = [write_tree(home / _PROJECT, _FILES), write_tree(home / "sample", SAMPLE)]
    with site(home, *trees) as server:
        yield server


def _goto(page: Page, address: str, known: dict[str, str]) -> None:
    page.goto(address.format(**known))
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("window", _WINDOWS)
def test_nothing_is_cut_off_covered_or_out_of_reach(
    browser: Browser, long_names: Server, window: str
) -> None:
    width, height, scale = _WINDOWS[window]
    with long_names.client() as client:
        job = client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]
        known = {"project": project_ids(client)[_PROJECT], "job": job}
    size = {"width": width, "height": height}
    with visiting(browser, long_names.url, viewport=size, device_scale_factor=scale) as page:
        seen = {}
        for address in _PAGES:
            _goto(page, address, known)
            seen[address] = page.evaluate(_FAULTS)
        for address, anchors in _ANCHORS:
            _goto(page, address, known)
            for anchor in anchors:
                page.evaluate(
                    "id => { scrollTo(0, 0); location.hash = ''; location.hash = id; }", anchor
                )
                expect(page.locator(f"#{anchor} .map-place")).to_have_count(0)  # it has come
                seen[f"{address}#{anchor}"] = page.evaluate(_COVERED, anchor)
    found = [f"{each}: {fault}" for each, faults in seen.items() for fault in faults]
    assert not found, "\n".join(found)
