"""What is found and stored of a history, and what a run from nothing would store."""

import shutil
from dataclasses import replace
from pathlib import Path

import apsw

from engine.config import Config
from engine.history_records import HistoryAnswer, HistoryRequest
from engine.project import Project
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.git_history import GitTree
from tests.support.oracle import check_sound


def find(project: Project, query: str = "", **options: object) -> HistoryAnswer:
    """Ask a project about its commits."""
    return project.history.search(HistoryRequest(query=query, **options))  # type: ignore[arg-type]


def subjects(project: Project, query: str = "", **options: object) -> list[str]:
    """Give the subjects of the commits that are found, best first."""
    return [hit.subject for hit in find(project, query, **options).commits]


def raw_bytes(config: Config) -> bytes:
    """Give the bytes of all databases in the data directory."""
    return b"".join(file.read_bytes() for file in config.data_dir.glob("*.db*"))


def stored(config: Config, root: Path) -> dict[str, object]:
    """Give all that is stored of a history, without ids and times of reading."""
    handle = apsw.Connection(str(config.data_dir / f"{project_id_of(str(root))}.db"))
    try:
        return {
            "commits": handle.execute(
                """SELECT hex(name), hex(parents), author, email, committed_at_s, subject, body,
                     file_count, is_here, is_partial, is_cut FROM commits ORDER BY name"""
            ).fetchall(),
            "files": handle.execute(
                """SELECT hex(c.name), f.change, p.path, o.path, f.added, f.removed
                   FROM commit_files f JOIN commits c ON c.id = f.commit_id
                   JOIN commit_paths p ON p.id = f.path_id
                   LEFT JOIN commit_paths o ON o.id = f.old_path_id ORDER BY 1, 3"""
            ).fetchall(),
            "paths": handle.execute("SELECT path FROM commit_paths ORDER BY path").fetchall(),
            "vectors": handle.execute(
                """SELECT hex(c.name), v.model, v.vector FROM commit_vectors v
                   JOIN commits c ON c.id = v.commit_id ORDER BY 1"""
            ).fetchall(),
            "state": handle.execute(
                "SELECT hex(head), made_by, model, is_complete, note FROM history"
            ).fetchall(),
        }
    finally:
        handle.close()


def check_fresh(config: Config, git: GitTree) -> None:
    """Fail unless what is stored is what a run from nothing stores."""
    home = config.data_dir.with_name("fresh")
    shutil.rmtree(home, ignore_errors=True)
    fresh = replace(config, data_dir=home)
    with open_catalog(fresh) as catalog:
        project = catalog.create(str(git.root))
        project.index()
        project.read_history()
    assert stored(config, git.root) == stored(fresh, git.root)
    check_sound(config.data_dir / f"{project_id_of(str(git.root))}.db")
