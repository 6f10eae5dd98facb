"""An index that any landed version has filled is kept and brought up to date by this one."""

import io
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from engine.config import load_config
from engine.errors import IndexCorruptError
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.store.migrate import newest
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience

ROOT = Path(__file__).resolve().parents[2]
_MIGRATIONS = "engine/store/migrations"
_REAL = ("engine/search", "engine/store", "web/cli", "docs", "README.md")  # what is indexed
_TIMEOUT_S = patience(300)


class Landed(NamedTuple):
    """The last commit whose newest migration is this one."""

    migration: str
    commit: str


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, timeout=patience(60)
    ).stdout


def _landed() -> Iterator[Landed]:
    """Yield each shape that the history of this commit has had, without the present one."""
    log = _git("log", "--reverse", "--diff-filter=A", "--format=C%H", "--name-only", "--",
               _MIGRATIONS).decode().split()  # fmt: skip
    added: dict[str, str] = {}
    commit = ""
    for word in log:
        if word.startswith("C"):
            commit = word[1:]
        elif word.endswith(".sql"):
            added[commit] = Path(word).stem  # of several that came together the last
    for (_, migration), following in zip(added.items(), list(added)[1:], strict=False):
        yield Landed(migration, _git("rev-list", "-1", f"{following}^1").decode().strip())


def _unpack(commit: str, to: Path, *paths: str) -> Path:
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, *paths))) as archive:
        archive.extractall(to, filter="data")
    return to


def _index_as(source: Path, home: Path, tree: Path) -> str:
    """Index with the program of a folder; what it said if it failed."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    module, _, function = project["scripts"]["cairn"].partition(":")
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    environment = {"PATH": os.environ["PATH"], "CAIRN_HOME": str(home), "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, "index", str(tree)],
        cwd=source,
        env={**environment, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return "" if ended.returncode == 0 else f"exit code {ended.returncode}: {ended.stderr[-400:]}"


def _answers(home: Path, tree: Path) -> list[tuple[str, int]]:
    """Ask an index in three ways; the places that it names."""
    asked = (("upgrade a schema", Mode.HYBRID), ("open", Mode.KEYWORD), ("Store", Mode.SYMBOL))
    with open_catalog(load_config(home, workers=1)) as catalog:
        project = catalog.open(str(tree))
        return [
            (hit.path, hit.line_start)
            for query, mode in asked
            for hit in project.search(SearchRequest(query=query, mode=mode)).hits
        ]


def _bring_up_to_date(home: Path, tree: Path) -> str:
    """Open, check and index with the present program; whether all was kept, or repaired first."""
    how = "kept"
    with open_catalog(load_config(home, workers=1)) as catalog:
        project = catalog.open(str(tree))
        assert project.search(SearchRequest(query="Store", mode=Mode.KEYWORD)) is not None
        try:
            project.index()
        except IndexCorruptError:  # a shape that was replaced soon after it had landed
            how = "repaired"
    with open_catalog(load_config(home, workers=1)) as catalog:
        doctor = catalog.doctor(str(tree))
        if how == "repaired" or not doctor.verify().ok:
            assert any("--repair" in each for each in doctor.verify().warnings)
            assert doctor.repair().ok
            catalog.open(str(tree)).index()
            how = "repaired"
        found = doctor.verify()
        assert found.ok, found.findings
    return how


def _facts(file: Path) -> tuple[int, int, int]:
    """Give the version of a database, and how many files and jobs it has."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        version = int(handle.pragma("user_version"))
        tables = {name for (name,) in handle.execute("SELECT name FROM sqlite_master")}
        files, jobs = (
            int(handle.execute(f"SELECT count(*) FROM {table}").get) if table in tables else 0
            for table in ("files", "jobs")
        )
        return version, files, jobs
    finally:
        handle.close()


@pytest.mark.soak
def test_each_schema_that_was_ever_landed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("there is no history here")
    tree = _unpack("HEAD", tmp_path / "tree", *_REAL)
    fresh = tmp_path / "fresh"
    assert _index_as(ROOT, fresh, tree) == ""
    name = f"{project_id_of(str(tree))}.db"
    wanted, answers = contents(fresh / name), _answers(fresh, tree)
    assert len(answers) > 20
    told, upgraded = [], 0
    for landed in _landed():
        source = _unpack(landed.commit, tmp_path / landed.migration)
        home = tmp_path / f"home-{landed.migration}"
        failed = _index_as(source, home, tree)
        if failed:  # by what it needed then, which is no longer installed
            told.append(f"{landed.migration} ({landed.commit[:7]}): does not run today: {failed}")
            continue
        version, files, jobs = _facts(home / name)
        assert version < newest()
        assert files > 50
        how = _bring_up_to_date(home, tree)
        assert _facts(home / name) == (newest(), files, jobs), landed
        assert how == "repaired" or (home / f"{Path(name).stem}.v{version}.db").exists()
        check_sound(home / name)
        assert contents(home / name) == wanted, landed
        assert _answers(home, tree) == answers, landed
        told.append(f"{landed.migration} ({landed.commit[:7]}): {files} files, {jobs} jobs {how}")
        upgraded += 1
    with capsys.disabled():
        print("", *told, f"{upgraded} of {len(told)} upgraded to version {newest()}", sep="\n")
    assert upgraded > 6
