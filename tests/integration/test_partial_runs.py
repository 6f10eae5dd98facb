"""Runs over some paths: what they touch, what they leave alone, and when they become whole."""

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled, InvalidPathError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from engine.state_records import JobOrigin, JobState
from engine.store import project
from engine.store.connection import Store
from tests.integration.test_branches import git
from tests.support.catalogs import open_catalog
from tests.support.embedders import Fakes
from tests.support.oracle import check_embedded, check_sound
from tests.support.trees import SAMPLE, settle, write_tree

UNDECODABLE = bytes(random.Random(3).choices(range(0x80, 0x100), k=4000))


def over(index: Project, *paths: str) -> tuple[int, int]:
    """Run over paths and give how many files were indexed and how many looked at in vain."""
    report = index.index(IndexOptions(only=paths))
    return report.files_indexed, report.files_unchanged


def paths_with(index: Project, word: str) -> list[str]:
    return sorted(hit.path for hit in index.search(SearchRequest(query=f'"{word}"')).hits)


def changes(index: Project, config: Config) -> int | None:
    store = Store(config.data_dir / f"{index.project_id}.db", busy_timeout_ms=1000)
    with store.read() as handle:
        number = project.count_changes(handle)
    store.close()
    return number


def test_only_what_is_named_is_looked_at(index: Project, tree: Path, config: Config) -> None:
    for name in ("app/session.py", "app/http/router.py", "README.md"):
        (tree / name).write_text(f"uncommon = '{name}'\n")
    (tree / "cmd/server/main.go").unlink()
    assert over(index, "app/session.py") == (1, 0)
    assert paths_with(index, "uncommon") == ["app/session.py"]
    assert over(index, "app", str(tree / "cmd/server/main.go")) == (1, 1)
    assert paths_with(index, "uncommon") == ["app/http/router.py", "app/session.py"]
    status = index.status()
    assert (status.files, status.coverage.indexed, status.coverage.complete) == (4, 1.0, True)
    check_sound(config.data_dir / f"{index.project_id}.db")


def test_a_path_outside_is_refused_and_nothing_is_read(index: Project, tree: Path) -> None:
    (tree / "README.md").write_text("uncommon\n")
    for path in ("..", "../other", "/etc/passwd", "a/../../b", "a\0b"):
        with pytest.raises(InvalidPathError):
            over(index, "README.md", path)
    assert paths_with(index, "uncommon") == []


@pytest.mark.parametrize("path", ["", ".", "app/.."])
def test_the_root_is_the_whole(index: Project, tree: Path, path: str) -> None:
    (tree / "README.md").write_text("uncommon\n")
    assert over(index, path) == (1, len(SAMPLE) - 1)


def test_a_run_with_nothing_to_do_writes_nothing(
    index: Project, tree: Path, config: Config
) -> None:
    settle(tree)
    index.index()
    before = changes(index, config)
    assert over(index, "app", "nothing/here", "app/session.py.swp") == (0, 2)
    assert changes(index, config) == before


def test_what_is_ignored_stays_out(index: Project, tree: Path) -> None:
    write_tree(tree, {".gitignore": "made/\n", "made/a.py": "uncommon = 1\n"})
    over(index, ".gitignore")
    assert over(index, "made/a.py") == (0, 0)
    assert index.status().skips == {"ignored": 1}
    (tree / ".gitignore").write_text("")
    assert over(index, "made/a.py") == (1, 0)
    assert index.status().skips == {}


def test_an_incomplete_branch_stays_incomplete(index: Project, tree: Path) -> None:
    (tree / "new.py").write_text("uncommon = 1\n")
    with pytest.raises(Cancelled):
        index.index(cancelled=lambda: not index.status().coverage.complete)
    assert not index.status().coverage.complete
    over(index, "new.py")
    assert not index.status().coverage.complete
    index.index()
    assert index.status().coverage.complete


def test_a_failure_of_another_file_still_counts(index: Project, tree: Path) -> None:
    (tree / "odd.py").write_bytes(UNDECODABLE)
    assert index.index().files_failed == 1
    before = index.status().coverage
    (tree / "README.md").write_text("uncommon\n")
    over(index, "README.md")
    assert index.status().coverage == before


def test_another_branch_makes_it_whole(index: Project, tree: Path) -> None:
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    index.index()
    git(tree, "checkout", "-q", "-b", "feature")
    (tree / "README.md").write_text("uncommon\n")
    assert over(index, "README.md") == (len(SAMPLE), 0)
    git(tree, "commit", "-q", "-a", "-m", "second")
    assert over(index, "app/session.py") == (0, 1)
    git(tree, "checkout", "-q", "main")
    assert over(index, "app/session.py")[1] > 1
    assert index.status().coverage.complete


def test_another_scope_or_force_makes_it_whole(index: Project) -> None:
    excluding = IndexOptions(only=("README.md",), exclude_patterns=("tests/**",))
    assert index.index(excluding).files_unchanged == len(SAMPLE) - 1
    assert index.status().files == len(SAMPLE) - 1
    assert index.index(IndexOptions(only=("README.md",), force=True)).files_indexed > 1


def test_the_first_of_several_links_is_entered(index: Project, tree: Path, config: Config) -> None:
    (tree / "links").mkdir()
    (tree / "links/b").symlink_to("../app")
    over(index, "links/b")
    assert index.why("links/b/session.py").outcome == "indexed"
    (tree / "links/a").symlink_to("../app")
    over(index, "links/a")
    assert index.why("links/b").reason == "symlink_repeated"
    assert index.why("links/a/session.py").outcome == "indexed"
    (tree / "links/a").unlink()
    over(index, "links/a")
    assert index.why("links/b/session.py").outcome == "indexed"
    assert index.status().files == len(SAMPLE) + 2
    (tree / "links/b").unlink()
    (tree / "links/a").symlink_to("../app/http")
    (tree / "links/c").symlink_to("../app")
    index.index()
    over(index, "links/c/http/router.py")
    assert index.why("links/a/router.py").outcome == "indexed"
    assert index.why("links/c/http").reason == "symlink_repeated"
    check_sound(config.data_dir / f"{index.project_id}.db")


def test_vectors_of_a_model_that_follows_come_with_it(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    fakes = Fakes()
    with open_catalog(replace(config, model="fake:a/16"), open_embedder=fakes) as catalog:
        index = catalog.create(str(tree))
        index.index()
        asked = len(fakes.named("fake:a/16").passages)
        text = SAMPLE["app/session.py"].replace("default_store", "usual_store")
        (tree / "app/session.py").write_text(text)
        (tree / "app/new.py").write_text("def added() -> None:\n    pass\n")
        report = index.index(IndexOptions(only=("app",)))
        assert report.files_indexed == 2
        assert 0 < report.embeddings_generated <= report.chunks
        assert len(fakes.named("fake:a/16").passages) - asked == report.embeddings_generated
        file = config.data_dir / f"{project_id_of(str(tree))}.db"
        check_embedded(file, "fake:a/16")
        check_sound(file)


def test_a_name_that_is_not_utf8_can_be_named(index: Project, tree: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tree / name).write_text("uncommon = 1\n")
    assert over(index, name) == (1, 0)
    (tree / name).unlink()
    over(index, name)
    assert paths_with(index, "uncommon") == []


def test_a_job_over_a_name_that_is_not_utf8(index: Project, catalog: Catalog, tree: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tree / name).write_text("uncommon = 1\n")
    jobs = catalog.jobs
    submitted = jobs.submit(str(tree), IndexOptions(only=(name,)), origin=JobOrigin.WATCH)
    job = jobs.follow(submitted.job_id)
    assert (job.status, job.files_done) == (JobState.COMPLETED, 1)
    assert jobs.submit(str(tree), IndexOptions(only=(name,))).duplicate is False
    created = jobs.events(submitted.job_id)[0]
    assert json.loads(json.dumps(created.context))["parameters"]["only"] == [name]
    assert len(paths_with(index, "uncommon")) == 1
