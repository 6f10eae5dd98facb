"""What is shipped: the wheel holds every file that the program reads, and works from it alone."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


_RENDER = """
from web.pages.rendering import address_of, folder_of
from web.pages.rendering import Pages, PageRequest
page_request = PageRequest(theme="", here="/", is_fragment=False)
shown = dict(status=401, title="t", message="m", hint="", is_open=False)
facts = shown | dict(place="/", fields=(), is_refused=False)
assert address_of("app.css").encode() in Pages().html("error.html", page_request, facts)
print(folder_of("templates"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [
            *pip,
            "wheel",
            "-q",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            ROOT,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return next(folder.glob("codecairn-*.whl"))


def test_the_wheel_holds_all_that_the_program_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("engine", "web")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if "training" not in path.parts  # what makes the weights is not installed with them
    }
    assert wanted - names == set()
    for suffix, folder in (
        (".sql", "engine/store/migrations/"),
        (".scm", "engine/syntax/queries/"),
    ):
        assert any(name.startswith(folder) and name.endswith(suffix) for name in names)
    for folder in ("templates", "static"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
        assert len(files) > 5
        assert {f"web/{path.relative_to(ROOT).as_posix()}" for path in files} - names == set()
    assert not [name for name in names if name.startswith(("tests/", "engine/embedding/training/"))]


def test_the_description_of_the_wheel_links_to_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()
    assert "Description-Content-Type: text/markdown" in told
    assert "# CodeCairn" in told
    assert re.findall(r"\]\((?!https?:)", told) == []


def test_the_wheel_works_away_from_its_source(wheel: Path, tmp_path: Path) -> None:
    site, repository = tmp_path / "site", tmp_path / "repository"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    repository.mkdir()
    (repository / "app.py").write_text("def refresh_session(token):\n    return token\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "CAIRN_HOME": str(tmp_path / "home"),
    }

    def cairn(*arguments: str) -> str:
        code = (
            "import sys, engine.records, web.cli.main;"
            f"assert engine.records.__file__.startswith({str(site)!r});"
            "sys.exit(web.cli.main.run(sys.argv[1:]))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert "Usage: cairn" in cairn("--help")
    assert '"files_indexed": 1' in cairn("index", "--json")
    assert "app.py:1-2" in cairn("search", "refresh session")
    rendered = subprocess.run(
        [sys.executable, "-c", _RENDER],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{site}/web/templates" in rendered.stdout
