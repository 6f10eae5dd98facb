"""A new process finds our code and nothing else first."""

import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.processes import import_paths


def test_the_folder_of_the_package_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "relative", *sys.path])
    first, *others = import_paths()
    assert Path(first) == Path(engine.__path__[0]).parent
    assert all(Path(place).is_absolute() for place in others)


def test_a_process_with_nothing_else_imports_it(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("raise SystemExit('a stranger')\n")
    code = f"import sys; sys.path[:0] = {import_paths()!r}; import engine.errors"
    subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, check=True)
