"""A death in the midst of an upgrade leaves the old shape or the new one, and never one between.

And an older program that meets a newer file says so, everywhere, and leaves it as it is.
"""

from pathlib import Path

import apsw

from engine.roots import project_id_of
from engine.store.migrate import newest
from tests.support import damage
from tests.support.command import Command
from tests.support.faults.deaths import Deaths
from tests.support.faults.stage import OPERATIONS, Stage
from tests.support.oracle import check_sound, version_of
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree


def _all_of(file: Path) -> list[object]:
    """Give the shape of a database, and the rows of what is no search index."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found: list[object] = list(
            handle.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")
        )
        tables = ("project", "blobs", "files", "chunks", "blob_texts", "branches")
        found += [handle.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
        return found
    finally:
        handle.close()


def test_a_death_at_each_step_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    [upgrade] = [operation for operation in OPERATIONS if operation.name == "migration"]
    stage = Stage(folder=tmp_path)
    upgrade.prepare(stage)
    stage.restore()
    old = _all_of(stage.database)
    assert version_of(stage.database) == 1
    places = ["migration backed up@1"]
    places += [f"migration stepped@{number}" for number in range(1, newest())]
    with Deaths() as deaths:
        for place in places:
            stage.restore()
            assert deaths.dies(stage, upgrade, place), place
            assert version_of(stage.database) == 1
            assert _all_of(stage.database) == old
        stage.restore()
        assert not deaths.dies(stage, upgrade, f"migration stepped@{newest()}")
    assert version_of(stage.database) == newest()
    check_sound(stage.database)
    assert _all_of(stage.database.with_suffix(".v1.db")) == old
    print(f"{len(places)} deaths in an upgrade of {newest() - 1} steps: 0 between")


def test_a_newer_file_is_refused_in_plain_words_by_every_face(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree, variables={"CAIRN_WORKERS": "1"})
    assert command("index", "--quiet").code == 0
    file = command.home / f"{project_id_of(str(tree))}.db"
    damage.run(file, f"PRAGMA user_version = {newest() + 1}")
    before = file.read_bytes()
    for arguments in (("search", "session"), ("index",)):
        ended = command(*arguments)
        assert ended.code == 6, ended
        assert f"schema version {newest() + 1}" in ended.err + ended.out
        assert "update codecairn" in ended.err + ended.out
        assert "Traceback" not in ended.err
    with serving(command) as server, server.client() as client:
        project = project_id_of(str(tree))
        for method, path, body in (
            ("POST", "/api/v1/search", {"query": "session", "projects": [project]}),
            ("POST", "/api/v1/projects", {"path": str(tree)}),
            ("GET", f"/api/v1/projects/{project}", None),
        ):
            answer = client.request(method, path, json=body)
            assert (answer.status_code, answer.json()["error"]) == (500, "newer_index")
            assert "update codecairn" in answer.json()["details"]["hint"]
        assert client.get("/health").status_code == 200
    assert file.read_bytes() == before
    assert not (command.home / "logs" / "cairn.log").exists()
