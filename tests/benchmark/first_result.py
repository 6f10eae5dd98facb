"""Count what it takes from opening the page to reading the right lines, by keyboard alone.

    python tests/benchmark/first_result.py FOLDER [--json]

FOLDER holds the repositories flask, express, ripgrep, cobra and gson. They are indexed and served,
and twenty questions are typed into the home page, which searches all of them. A press is a key:
each character of the question, then Enter, then what follows until the right lines are in the
window: ``j`` from result to result, whose file is previewed beside them, ``o`` to open the last one
of a file, and ``n`` from passage to passage in it. Questions and lines were chosen before the first
run. What takes more than twelve presses after the question is a dead end. Prints a table, or JSON.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import Page

from tests.support.browser import browsing, visiting
from tests.support.command import Command
from tests.support.server import serving

MAX_PRESSES = 12  # after the question
_PASSAGES = 4
_PROJECTS = ("flask", "express", "ripgrep", "cobra", "gson")
#: Question, file, and a text in the lines that answer it.
QUESTIONS = (
    ("open the session from a cookie", "src/flask/sessions.py", "def open_session("),
    ("blueprint name already registered", "src/flask/sansio/blueprints.py", "is already regist"),
    ("sort keys when dumping json", "src/flask/json/provider.py", "sort_keys = True"),
    ("TEMPLATES_AUTO_RELOAD", "src/flask/sansio/app.py", '["TEMPLATES_AUTO_RELOAD"]'),
    ("send a file with options", "lib/response.js", "res.sendFile = function"),
    ("trust proxy setting", "lib/utils.js", "exports.compileTrust"),
    ("weak etag", "lib/utils.js", "exports.wetag"),
    ("redirect to url with status", "lib/response.js", "res.redirect = function"),
    ("parse a line of a gitignore file", "crates/ignore/src/gitignore.rs", "pub fn add_line("),
    ("max columns preview flag", "crates/core/flags/defs.rs", "struct MaxColumnsPreview"),
    ("BinaryDetection", "crates/searcher/src/searcher/mod.rs", "pub struct BinaryDetection"),
    ("walk directories in parallel", "crates/ignore/src/walk.rs", "pub struct WalkParallel"),
    ("validate required flags", "command.go", ") ValidateRequiredFlags("),
    ("suggest similar command names", "command.go", ") SuggestionsFor("),
    ("write bash completion to a file", "bash_completions.go", ") GenBashCompletionFile("),
    ("mutually exclusive flags", "flag_groups.go", ") MarkFlagsMutuallyExclusive("),
    ("setLenient", "gson/src/main/java/com/google/gson/stream/JsonReader.java", "void setLenient("),
    (
        "adapter for enum constants",
        "gson/src/main/java/com/google/gson/internal/bind/EnumTypeAdapter.java",
        "class EnumTypeAdapter",
    ),
    (
        "exclude fields without the Expose annotation",
        "gson/src/main/java/com/google/gson/GsonBuilder.java",
        "GsonBuilder excludeFieldsWithoutExposeAnnotation(",
    ),
    (
        "parse ISO 8601 date",
        "gson/src/main/java/com/google/gson/internal/bind/util/ISO8601Utils.java",
        "public static Date parse(",
    ),
)

# Whether a line with the text is in the window: among the results, in the preview, or in the file.
_IS_READ = """([path, text]) => {
  const isShown = (line) => {
    const box = line.getBoundingClientRect();
    if (!box.height || box.top < 0 || box.bottom > innerHeight) return false;
    const frame = line.closest(".code").getBoundingClientRect();
    return box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  };
  const isOfFile = (line) => {
    const hit = line.closest("[data-hit]");
    if (hit) return hit.dataset.place.startsWith(path + ":");
    const head = line.closest("#preview")?.querySelector(".preview-head a");
    if (head) return head.textContent.trim().endsWith(path);
    return decodeURIComponent(location.pathname).endsWith("/f/" + path);
  };
  return [...document.querySelectorAll(".line")].some(
    (line) => line.textContent.includes(text) && isOfFile(line) && isShown(line));
}"""


_NEXT_PLACE = """() => {
  const hits = [...document.querySelectorAll("[data-hit]")];
  return hits[hits.indexOf(document.activeElement.closest("[data-hit]")) + 1]?.dataset.place;
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one question took."""

    question: str
    typed: int  # characters
    after: int | None  # presses after them, Enter included; None: a dead end
    where: str  # results, with the preview beside them, or file


def main() -> None:
    """Ask all questions, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    roots = [(arguments.folder / name).resolve(strict=True) for name in _PROJECTS]
    with tempfile.TemporaryDirectory(prefix="cairn-first-") as folder:
        command = Command(home=Path(folder) / "data", folder=Path(folder))
        for root in roots:
            ended = command("index", str(root))
            assert ended.code == 0, ended.err
        with (
            serving(command, "--no-watch") as server,
            browsing() as browser,
            visiting(browser, server.url, viewport={"width": 1440, "height": 900}) as page,
        ):
            readings = [_read(page, *each) for each in QUESTIONS]
    if arguments.json:
        print(json.dumps([asdict(each) for each in readings], indent=1))
    else:
        print(_table(readings))


def _next_is_of(page: Page, path: str) -> bool:
    """Return whether the result after the focused one is of the file too, as its head says."""
    after = page.evaluate(_NEXT_PLACE)
    return isinstance(after, str) and after.startswith(f"{path}:")


def _read(page: Page, question: str, path: str, text: str) -> Reading:
    """Ask a question, and go on until the right lines can be read."""
    page.goto("/")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?**")
    presses = 1
    if _is_read(page, path, text):
        return _reading(page, question, presses)
    place = f'[data-hit][data-place^="{path}:"]'
    while presses < MAX_PRESSES - _PASSAGES:
        page.keyboard.press("j")
        presses += 1
        if _is_read(page, path, text):
            return _reading(page, question, presses)
        if page.locator(f"{place}:focus").count() and not _next_is_of(page, path):
            break
    else:
        return Reading(question=question, typed=len(question), after=None, where="")
    page.keyboard.press("o")
    page.wait_for_url("**/f/**")
    presses += 1
    for _ in range(_PASSAGES):
        if _is_read(page, path, text):
            return _reading(page, question, presses)
        page.keyboard.press("n")
        presses += 1
    return Reading(question=question, typed=len(question), after=None, where="")


def _is_read(page: Page, path: str, text: str) -> bool:
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)  # the preview follows the focus after a moment
    return bool(page.evaluate(_IS_READ, [path, text]))


def _reading(page: Page, question: str, presses: int) -> Reading:
    where = "results" if "/search" in page.url else "file"
    return Reading(question=question, typed=len(question), after=presses, where=where)


def _table(readings: list[Reading]) -> str:
    rows = [
        f"| {each.question} | {each.typed} | {each.after or 'dead end'} | {each.where} |"
        for each in readings
    ]
    found = [each.after for each in readings if each.after]
    typed = median(each.typed for each in readings)
    rows.append(
        f"| {len(found)} of {len(readings)} found | median {typed:g} |"
        f" median {median(found):g}, most {max(found)} | |"
    )
    head = "| question | typed | then pressed | read in |\n|---|---|---|---|\n"
    return head + "\n".join(rows)


if __name__ == "__main__":
    main()
