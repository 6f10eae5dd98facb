"""README.md, CHANGELOG.md and the pages in docs/: short, up to date, and true."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import engine
from engine import errors
from engine.config import SETTINGS
from engine.embedding.model_setting import Backend
from engine.telemetry.metrics import Measure
from tools.generate_docs import PARTS
from web.cli.main import COMMANDS, cairn
from web.errors import OUTCOMES, REFUSALS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
_VARIABLE = re.compile(r"[A-Z_]+=\S+")
_TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)


def _page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_generated_parts_of_the_pages_are_up_to_date() -> None:
    """In a fresh process: a model that another test has registered would be listed too."""
    checked = subprocess.run(
        [sys.executable, "-m", "tools.generate_docs", "--check"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert checked.returncode == 0, f"run make docs: {checked.stdout}{checked.stderr}"


def test_each_generated_part_stands_in_a_page() -> None:
    text = "".join(path.read_text("utf-8") for path in PAGES)
    assert sorted(re.findall(r"<!-- generated: ([a-z-]+) -->", text)) == sorted(PARTS)


@pytest.mark.parametrize(("name", "most"), [("README.md", 900), ("CHANGELOG.md", 400)])
def test_a_page_is_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text("utf-8").split()) <= most


def test_the_glossary_is_short() -> None:
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", _page("glossary.md"), re.MULTILINE)[1:]
    assert "project" in terms
    assert len(terms) == len(set(terms)) <= 25


def test_the_changelog_says_what_is_released() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(released == VERSION for released in headings[1:2])


def _anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page, as Git forges make them."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    links = _LINK.findall(_FENCED.sub("", path.read_text("utf-8")))
    broken = []
    for target in links:
        file, _, anchor = target.partition("#")
        if re.match(r"https?:", target):
            continue
        found = (path.parent / file).resolve() if file else path
        if not found.is_file() or (anchor and anchor not in _anchors(found.read_text("utf-8"))):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = _LINK.findall((ROOT / "README.md").read_text("utf-8"))
    assert {_name(path) for path in DOCS.glob("*.md")} - set(linked) == set()


def _shown_commands(path: Path) -> Iterator[list[str]]:
    """Yield the words of each command line that a page shows as something to type."""
    for language, text in _FENCED.findall(path.read_text("utf-8")):
        if language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    yield words[1:] if _VARIABLE.fullmatch(words[0]) else words


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_commands_that_a_page_shows_can_be_typed(path: Path) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    for program, *arguments in _shown_commands(path):
        if program == "make":
            assert arguments[0] in targets
        elif program == "cairn":
            _check(cairn, arguments)
        else:
            assert program == "curl"


def _check(group: click.Group, arguments: list[str]) -> None:
    """Read a command line as click does, without carrying it out."""
    # A command keeps the help option of the first context that asks: it must be the real one.
    context = click.Context(group, info_name="cairn", **group.context_settings)
    command: click.Command = group
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments[0])
        assert found is not None, arguments
        command, arguments = found, arguments[1:]
    command.make_context("cairn", list(arguments), parent=context)


def test_the_readme_shows_both_make_commands_and_five_others() -> None:
    shown = list(_shown_commands(ROOT / "README.md"))
    assert [words[1] for words in shown if words[0] == "make"] == ["start", "test"]
    first = [words[1] for words in shown if words[0] == "cairn"]
    assert len(set(first) & set(COMMANDS)) >= 5


def test_every_command_has_its_help_on_the_page_of_the_command_line() -> None:
    page = _page("command-line.md")
    assert [name for name in COMMANDS if f"### cairn {name}\n" not in page] == []


def _commands_with_json(group: click.Group, before: str = "") -> Iterator[str]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from _commands_with_json(command, f"{before}{name} ")
            elif command and any(each.name == "as_json" for each in command.params):
                yield before + name


def test_the_json_of_every_command_is_on_the_page_of_the_command_line() -> None:
    table = _page("command-line.md").partition("| command | prints |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    named = re.findall("`([^`]+)`", " ".join(commands for commands, _ in rows))
    assert [name for name in _commands_with_json(cairn) if name not in named] == []
    records = re.findall(r"(?:^|[ (;])([A-Z][a-z]+[A-Z]\w+)", "\n".join(shown for _, shown in rows))
    page = _page("command-line.md")
    assert [name for name in records if f"\n| `{name}` | " not in page] == []


def test_every_setting_is_on_the_page_of_operations() -> None:
    page = _page("operations.md")
    assert [each.name for each in SETTINGS if f"\n| `{each.name}` | " not in page] == []


def test_every_metric_is_on_the_page_of_operations() -> None:
    page = _page("operations.md")
    names = [measure.shown_name for measure in Measure]
    assert [name for name in names if f"\n| `{name}` | " not in page] == []


def test_every_promise_has_tests_that_exist() -> None:
    table = _page("operations.md").partition("## What is promised")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if re.match(r"\| \d+ \| ", line)]
    assert [int(row[0].strip("| ")) for row in rows] == list(range(1, 43))
    for _, promise, tests, trials, _ in rows:
        named, longer = (re.findall(r"`(tests/[^`]+)::(\w+)`", cell) for cell in (tests, trials))
        assert named, promise
        for file, function in [*named, *longer]:
            text = (ROOT / file).read_text("utf-8")
            assert f"\ndef {function}(" in text, (promise, file, function)
        for file, function in longer:
            before = (ROOT / file).read_text("utf-8").partition(f"\ndef {function}(")[0]
            assert "soak" in before.rpartition("\n\n\n")[2], (promise, function)


def test_every_form_of_a_model_is_on_the_page_of_models() -> None:
    page = _page("models.md")
    assert [each for each in Backend if not re.search(rf"^\| `{each}\b", page, re.MULTILINE)] == []


def test_every_error_code_and_exit_code_is_documented() -> None:
    command_line, http = _page("command-line.md"), _page("http-api.md")
    kinds = [errors.EngineError]
    for kind in kinds:  # grows while it is walked
        kinds.extend(kind.__subclasses__())
    codes = {kind.code for kind in kinds}
    assert codes == set(OUTCOMES)
    assert [code for code in codes | {"interrupted"} if f"`{code}`" not in command_line] == []
    assert [code for code in codes | set(REFUSALS) if f"`{code}`" not in http] == []
    for outcome in OUTCOMES.values():
        assert re.search(rf"^\| {outcome.exit_code} \| ", command_line, re.MULTILINE)
        assert re.search(rf"^\|.*\b{outcome.http_status}\b.* \| ", http, re.MULTILINE)
    for exit_code in (0, 130):
        assert re.search(rf"^\| {exit_code} \| ", command_line, re.MULTILINE)


def test_the_public_names_of_the_engine_are_those_of_the_page_of_python() -> None:
    exported = engine.__all__
    assert exported == sorted(set(exported), key=lambda name: (name.islower(), name))
    for name in exported:
        assert getattr(engine, name).__name__ == name
    page = _page("python.md")
    assert [name for name in exported if f"`{name}`" not in page] == []


def test_the_example_of_the_page_of_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = re.findall(r"```python\n(.*?)```", _page("python.md"), re.DOTALL)
    (tmp_path / "app.py").write_text("def parse_config(text):\n    return text\n")
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    ended = subprocess.run(
        [sys.executable, "-c", example.replace("/home/me/src/app", str(tmp_path))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "app.py:1 parse_config\n"


def _paths_of_the_map() -> set[str]:
    named = re.findall(r"`([^`\s]+)`", _FENCED.sub("", _page("architecture.md")))
    top = {path.name for path in ROOT.iterdir() if path.is_dir()}
    return {each for each in named if "/" in each and each.partition("/")[0] in top}


def test_every_path_that_the_page_of_architecture_names_exists() -> None:
    named = _paths_of_the_map()
    assert len(named) > 40
    assert sorted(each for each in named if not (ROOT / each).exists()) == []


def test_every_folder_of_code_is_on_the_page_of_architecture() -> None:
    packages = {
        f"{_name(path.parent)}/"
        for folder in ("engine", "web")
        for path in ROOT.glob(f"{folder}/**/__init__.py")
    }
    assert len(packages) > 15
    assert sorted(packages - _paths_of_the_map()) == []


def test_every_room_is_in_the_map_of_the_engine() -> None:
    rooms = [path.parent.name for path in ROOT.glob("engine/*/__init__.py")]
    known = engine.__doc__ or ""
    assert [name for name in rooms if f"``{name}``" not in known] == []


def test_every_target_of_make_that_the_page_of_architecture_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = re.findall(r"`make ([a-z-]+)`", _page("architecture.md"))
    assert {"test", "check", "fix", "docs", "bench", "soak", "help"} <= set(named)
    assert [each for each in named if not re.search(rf"^{each}:", makefile, re.MULTILINE)] == []


def test_settings_that_a_page_names_in_capitals_exist() -> None:
    environment = {"CAIRN_HOME", "CAIRN_TOKEN", "CAIRN_EMBEDDING_KEY"}
    known = {f"CAIRN_{each.name.upper()}" for each in SETTINGS} | environment
    for path in PAGES:
        for name in re.findall(r"\bCAIRN_[A-Z_]+", path.read_text("utf-8")):
            assert name in known, _name(path)
