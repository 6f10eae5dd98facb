"""The rules of the house that no linter knows: sizes, names, dependencies and the lock file."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engine.syntax.languages import grammar_packages

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
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


def test_the_environment_is_used_in_six_places() -> None:
    readers = {
        _name(path)
        for path in _modules("engine", "web")
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text("utf-8"))
    }
    # Settings; NO_COLOR and TERM, which are the terminal's; OTEL_…, which are OpenTelemetry's;
    # faults that only tests ask for; and what is set for libraries, OPENBLAS_NUM_THREADS for numpy
    # and ORT_DISABLE_TELEMETRY for onnxruntime.
    assert readers <= {
        "engine/config.py",
        "web/terminal.py",
        "engine/observing/tracing.py",
        "engine/faults.py",
        "web/cli/main.py",
        "engine/embedding/__init__.py",
    }


def _imported(path: Path) -> Iterator[str]:
    """Yield the modules, and the names of modules, that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_import_is_a_declared_dependency() -> None:
    lines = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    distributions = metadata.packages_distributions()
    standard = sys.stdlib_module_names | {"compression"}  # the last one from Python 3.14 on
    undeclared = {
        f"{_name(path)}: {module}"
        for path in _modules("engine", "web")
        for module in {name.partition(".")[0] for name in _imported(path)}
        if module not in standard
        and module not in ("engine", "web")
        and not {canonicalize_name(name) for name in distributions.get(module, [])} & declared
    }
    assert undeclared == set()


def test_no_private_part_of_a_library_is_used() -> None:
    private = re.compile(r"\._(?!_)")
    assert [
        f"{_name(path)}: {name}"
        for path in _modules("engine", "web", "tools")
        for name in _imported(path)
        if private.search(name)
    ] == []


def test_every_grammar_is_a_declared_dependency() -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert len(grammar_packages()) > 10
    assert set(grammar_packages()) - declared == set()


def _locked(file: str) -> dict[str, set[str]]:
    lock = (ROOT / file).read_text("utf-8")
    locked: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE):
        locked.setdefault(canonicalize_name(name), set()).add(version)
    return locked


def _unmet(wanted: list[str], locked: dict[str, set[str]]) -> list[str]:
    return [
        str(each)
        for each in map(Requirement, wanted)
        if not (versions := locked.get(canonicalize_name(each.name)))
        or not all(map(each.specifier.contains, versions))
    ]


def test_the_lock_files_satisfy_what_is_declared() -> None:
    run_time = [*PROJECT["dependencies"], *GROUPS["build"]]
    assert _unmet(run_time, _locked("requirements.lock")) == []
    dev = [each for each in GROUPS["dev"] if isinstance(each, str)]
    assert _unmet(dev, _locked("requirements-dev.lock")) == []


def test_running_installs_no_tool_of_development_and_both_locks_agree() -> None:
    run_time, dev = _locked("requirements.lock"), _locked("requirements-dev.lock")
    assert (
        run_time.keys() & {"mypy", "playwright", "pytest", "ruff", "schemathesis", "scipy"} == set()
    )
    assert {name for name in run_time.keys() & dev if run_time[name] != dev[name]} == set()


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_file_has_hashes_and_names_no_place(file: str) -> None:
    lock = (ROOT / file).read_text("utf-8")
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


@pytest.mark.parametrize(
    "line", ["search f --json --project TREE", "jobs list", "doctor TREE", "index TREE --json"]
)
def test_what_draws_no_bar_does_not_import_rich(tmp_path: Path, line: str) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "app.py").write_text("def f():\n    return 1\n")
    code = (
        "import sys; from web.cli.main import run; from engine import Catalog, load_config;"
        "catalog = Catalog(load_config()); catalog.create(sys.argv[1]).index(); catalog.close();"
        "code = run(sys.argv[2:]); print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    tree = str(tmp_path / "tree")
    ended = subprocess.run(
        [sys.executable, "-c", code, tree, *line.replace("TREE", tree).split()],
        cwd=ROOT,
        env={**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "CAIRN_WORKERS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    code_, *modules = ended.stderr.splitlines()[-1].split()
    assert code_ == "0"
    assert "click" in modules
    assert "rich" not in modules
