"""The rules of the house that no linter knows: sizes, names, and documents that stay true."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import engine
from engine import errors
from engine.config import SETTINGS
from engine.syntax.languages import grammar_packages
from web.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MOST_LINES = 700


def _modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lines = {
        _name(path): len(path.read_text("utf-8").splitlines())
        for path in _modules("engine", "web", "tests")
    }
    assert len(lines) > 50
    assert {name: number for name, number in lines.items() if number > MOST_LINES} == {}


def test_no_module_is_an_attic() -> None:
    attic = re.compile(r"(^|_)(utils?|helpers?|common|misc)$")
    assert [_name(path) for path in _modules("engine", "web") if attic.search(path.stem)] == []


def test_no_source_file_is_named_for_a_fragment_of_a_room() -> None:
    """Most modules are worth a file: at most a few are shorter than 40 lines."""
    short = [
        _name(path)
        for path in _modules("engine", "web")
        if path.name != "__init__.py" and len(path.read_text("utf-8").splitlines()) < 40
    ]
    assert len(short) <= 6, short


def test_the_environment_is_read_in_four_places() -> None:
    readers = {
        _name(path)
        for path in _modules("engine", "web")
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text("utf-8"))
    }
    # Settings; NO_COLOR and TERM, which are the terminal's; OTEL_…, which are OpenTelemetry's; and
    # faults that only tests ask for.
    assert readers <= {
        "engine/config.py",
        "web/terminal.py",
        "engine/observing/tracing.py",
        "engine/faults.py",
    }


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_every_import_is_a_declared_dependency() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    distributions = metadata.packages_distributions()
    standard = sys.stdlib_module_names | {"compression"}  # the last one from Python 3.14 on
    undeclared = {
        f"{_name(path)}: {module}"
        for path in _modules("engine", "web")
        for module in _imported(path)
        if module not in standard
        and module not in ("engine", "web")
        and not {canonicalize_name(name) for name in distributions.get(module, [])} & declared
    }
    assert undeclared == set()


def test_every_grammar_is_a_declared_dependency() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert len(grammar_packages()) > 10
    assert set(grammar_packages()) - declared == set()


def _locked() -> dict[str, str]:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    return {
        canonicalize_name(name): version
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE)
    }


def test_the_lock_file_satisfies_what_is_declared() -> None:
    locked = _locked()
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    unmet = [
        str(each)
        for each in map(Requirement, wanted)
        if not each.specifier.contains(locked.get(canonicalize_name(each.name), "0"))
    ]
    assert unmet == []


def test_the_lock_file_has_hashes_and_names_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"https?:|file:|@ |--index|--find-links|--extra-index", lock)
    assert "/" not in re.sub(r"# via.*", "", lock)
    for entry in re.split(r"\n(?=[a-z])", lock.strip()):
        assert "--hash=sha256:" in entry


def test_every_setting_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for setting in SETTINGS:
        row = f"| `{setting.name}` | {setting.default} | {setting.unit} | {setting.help} |"
        assert row in readme


def test_every_error_code_and_exit_code_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    kinds = [errors.EngineError]
    for kind in kinds:  # grows while it is walked
        kinds.extend(kind.__subclasses__())
    assert len(kinds) > 10
    for code in {kind.code for kind in kinds} | {"interrupted"}:
        assert f"`{code}`" in readme
    for exit_code in (0, 1, 2, 3, 4, 5, 6, 130):
        assert re.search(rf"^\| {exit_code} \| ", readme, re.MULTILINE)


def test_every_subcommand_and_make_target_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for name in COMMANDS:
        assert re.search(rf"`cairn {name}\b|, `{name}`", readme)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("start", "test", "check", "fix", "bench", "soak", "help"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_folder_and_module_of_the_map_exists() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    listing = readme.partition("## Map")[2].split("```")[1]
    folder = ""
    named = 0
    for line in filter(None, listing.strip().splitlines()):
        if not line.startswith(" "):
            folder = line.split()[0].rstrip("/")
            assert (ROOT / folder).is_dir()
        for name in re.findall(r"(?:^|\s)([a-z_]+(?:\.py|/))(?=\s)", line):
            if not line.startswith(name):
                named += 1
                assert (ROOT / folder / name).exists(), f"{folder}/{name}"
    assert named > 20


def test_every_room_and_every_module_beside_them_is_on_the_map() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    drawn = readme.partition("## Map")[2].split("```")[1]
    rooms = [f"{path.parent.name}/" for path in _modules("engine", "web") if _is_room(path)]
    modules = [
        path.name
        for folder in ("engine", "web")
        for path in sorted((ROOT / folder).glob("*.py"))
        if path.name != "__init__.py"
    ]
    assert len(rooms) > 15
    assert [name for name in (*rooms, *modules) if not re.search(rf"\b{name}", drawn)] == []
    map_of_engine = engine.__doc__ or ""
    inner = [path.parent.name for path in _modules("engine") if _is_room(path)]
    assert [name for name in inner if f"``{name}``" not in map_of_engine] == []


def _is_room(path: Path) -> bool:
    return path.name == "__init__.py" and len(path.relative_to(ROOT).parts) == 3


def test_the_changelog_says_what_is_released() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(released == PROJECT["version"] for released in headings[1:2])


def test_the_help_of_the_command_imports_next_to_nothing() -> None:
    code = (
        "import sys; from web.cli.main import run; code = run(['--help']);"
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    code_, *modules = ended.stderr.split()
    assert code_ == "0"
    assert "click" in modules
    heavy = ("rich", "numpy", "apsw", "tree_sitter", "platformdirs", "pathspec", "engine")
    assert [name for name in modules if name.partition(".")[0] in heavy] == []


def test_the_public_names_of_the_engine_are_those_of_the_readme() -> None:
    exported = engine.__all__
    assert exported == sorted(set(exported), key=lambda name: (name.islower(), name))
    for name in exported:
        assert getattr(engine, name).__name__ == name
    readme = (ROOT / "README.md").read_text("utf-8")
    public = readme.partition("## Python")[2].partition("\n## ")[0]
    assert [name for name in exported if f"`{name}`" not in public] == []


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
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
