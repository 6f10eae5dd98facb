"""A job in a database that can be read but not written: whoever waits for it is told why."""

from pathlib import Path

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.jobs import catalog_in, until
from tests.support.trees import SAMPLE, write_tree


def test_who_waits_for_a_job_that_cannot_start_is_told(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree)
    with catalog_in(command.home) as catalog:
        catalog.jobs.submit(str(tree))  # and nobody has run it yet
    # What SQLite shares between processes: with a folder in its place it only reads.
    in_the_way = command.home / f"{project_id_of(str(tree))}.db-shm"
    in_the_way.mkdir()
    told = command("index", "--quiet")
    assert told.code == 5, told
    assert f"is in the place of its shared memory file ({in_the_way})" in told.err
    assert "move that away" in told.err
    until(lambda: in_the_way.name in command("jobs", "run").err)  # after one in the background
    in_the_way.rmdir()
    assert command("jobs", "run").code == 0
    assert command("search", "open session").code == 0
