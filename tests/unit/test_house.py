"""The rules of the house that no linter knows: sizes, names, dependencies and the lock file."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engine.syntax.languages import grammar_packages

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
        for path in _modules("engine", "web", "tests", "tools")
    }
    assert len(lines) > 50
    assert {name: number for name, number in lines.items() if number > MOST_LINES} == {}


def test_no_module_is_an_attic() -> None:
    attic = re.compile(r"(^|_)(utils?|helpers?|common|misc)$")
    assert [
        _name(path) for path in _modules("engine", "web", "tools") if attic.search(path.stem)
    ] == []


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
