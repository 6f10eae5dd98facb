"""What a run would find, against what it then does."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config, load_config
from engine.errors import Cancelled, InvalidInputError, InvalidPathError
from engine.records import IndexOptions
from engine.roots import project_id_of
from engine.scheduler.estimate import Survey, survey, survey_of_paths
from engine.store.connection import Store
from tests.support.git_trees import run_git
from tests.support.trees import SAMPLE, write_tree

SIZE_BYTES = sum(len(text) for text in SAMPLE.values())


@pytest.fixture
def sample(tree: Path, catalog: Catalog) -> Path:
    """A tree with a file of every outcome, whose project is made but not indexed."""
    write_tree(tree, SAMPLE)
    write_tree(tree, {"a.xyz": "?", "Cargo.lock": "", "noise.py": b"\0\1\2" * 99, ".env": "KEY=1"})
    catalog.create(str(tree))
    return tree


@pytest.fixture
def store(sample: Path, config: Config) -> Iterator[Store]:
    file = config.data_dir / f"{project_id_of(str(sample))}.db"
    opened = Store(file, busy_timeout_ms=1000)
    yield opened
    opened.close()


def looked_at(store: Store, root: Path, options: IndexOptions | None = None) -> Survey:
    found = survey(store, str(root), options or IndexOptions(), "static", budget_s=60)
    assert found.walk_s is not None
    return found._replace(walk_s=None)


def clock_that_stops_after(calls: int) -> Callable[[], float]:
    """Give a clock by which a budget of a second is used up after so many looks at it."""
    times = iter([0.0] * (calls + 1))
    return lambda: next(times, 9.0)


def cut(store: Store, root: Path, calls: int, options: IndexOptions | None = None) -> Survey:
    clock = clock_that_stops_after(calls)
    found = survey(store, str(root), options or IndexOptions(), "none", budget_s=1, clock=clock)
    return found._replace(walk_s=None)


def test_a_first_run_reads_what_has_a_language(store: Store, sample: Path) -> None:
    found = looked_at(store, sample)
    assert found == Survey(
        files=len(SAMPLE) + 4,
        changed_files=len(SAMPLE) + 1,
        changed_bytes=SIZE_BYTES + 3 * 99,
    )


def test_a_run_without_a_change_reads_nothing(store: Store, sample: Path, catalog: Catalog) -> None:
    index = catalog.create(str(sample))
    index.index()
    assert looked_at(store, sample) == Survey(len(SAMPLE) + 4, 0, 0)
    (sample / "app/session.py").write_text("changed = True\n")
    (sample / "new.py").write_text("new = True\n")
    (sample / "README.md").unlink()
    assert looked_at(store, sample) == Survey(len(SAMPLE) + 4, 2, 26)
    forced = looked_at(store, sample, IndexOptions(force=True))
    assert (forced.changed_files, forced.known_files) == (len(SAMPLE) + 1, 0)
    assert forced.is_rebuild


def test_files_too_young_to_be_trusted_are_read_but_known(
    store: Store, sample: Path, catalog: Catalog
) -> None:
    now_ns = time.time_ns() // 1_000_000 * 1_000_000  # as of a file system without finer times
    for path in sample.rglob("*.go"):
        os.utime(path, ns=(now_ns + 10**10, now_ns + 10**10))
    catalog.create(str(sample)).index()
    found = looked_at(store, sample)
    assert (found.changed_files, found.known_files) == (0, 1)
    assert found.known_bytes == len(SAMPLE["cmd/server/main.go"])


def test_the_options_of_the_call_set_the_scope(store: Store, sample: Path) -> None:
    only_go = looked_at(store, sample, IndexOptions(include_patterns=("*.go",)))
    assert only_go.changed_files == 1
    with pytest.raises(InvalidInputError):
        looked_at(store, sample, IndexOptions(max_file_size=-1))
    with pytest.raises(InvalidPathError):
        survey(store, str(sample / "gone"), IndexOptions(), "none")


def test_contents_of_another_branch_are_known(
    store: Store, sample: Path, catalog: Catalog, tmp_path: Path
) -> None:
    run_git(sample, tmp_path, "init", "-q")
    index = catalog.create(str(sample))
    index.index()
    run_git(sample, tmp_path, "symbolic-ref", "HEAD", "refs/heads/topic")
    (sample / "new.py").write_text("new = True\n")
    found = looked_at(store, sample)
    assert (found.changed_files, found.changed_bytes) == (1, 11)
    assert (found.known_files, found.known_bytes) == (len(SAMPLE), SIZE_BYTES)
    report = index.index()
    assert (report.files_indexed, report.cache_hit_rate) == (6, 5 / 6)


def test_chunks_without_vectors_are_counted(
    store: Store, sample: Path, catalog: Catalog, tmp_path: Path
) -> None:
    chunks = catalog.create(str(sample)).index().chunks
    assert survey(store, str(sample), IndexOptions(), "static").chunks_lacking == 0
    for setting in ("onnx:some", "ollama:some"):
        assert survey(store, str(sample), IndexOptions(), setting).chunks_lacking == chunks
    for setting in ("none", "no such setting"):
        assert survey(store, str(sample), IndexOptions(), setting).chunks_lacking == 0


def deep_tree(root: Path, folders: int, files: int) -> None:
    for folder in range(folders):
        write_tree(root, {f"f{folder:03}/m{n}.py": f"x = {folder}{n:04}\n" for n in range(files)})


def test_what_was_seen_stands_for_the_folders_that_were_not(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 50, 20)
    catalog.create(str(tree))
    file = config.data_dir / f"{project_id_of(str(tree))}.db"
    store = Store(file, busy_timeout_ms=1000)
    for calls in (11, 21, 41):
        found = cut(store, tree, calls)
        assert not found.is_exact
        assert found.files == pytest.approx(1000, rel=0.15)
        assert found.changed_files == found.files
        assert found.changed_bytes == pytest.approx(10 * found.files, rel=0.1)
    store.close()


def test_the_part_that_was_walked_tells_how_long_all_would_take(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 50, 20)
    catalog.create(str(tree))
    store = Store(config.data_dir / f"{project_id_of(str(tree))}.db", busy_timeout_ms=1000)
    ticks = iter(range(1000))
    found = survey(
        store,
        str(tree),
        IndexOptions(),
        "none",
        budget_s=30,
        clock=lambda: float(next(ticks)),  # a second for each look at it: one a folder
    )
    store.close()
    assert not found.is_exact
    assert found.walk_s == pytest.approx(51, rel=0.1)


def test_git_knows_how_many_files_were_not_seen(
    config: Config, catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    deep_tree(tree, 10, 2)
    deep_tree(tree / "z", 10, 40)  # folders are not equal here
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", ".")
    catalog.create(str(tree))
    store = Store(config.data_dir / f"{project_id_of(str(tree))}.db", busy_timeout_ms=1000)
    found = cut(store, tree, 6)
    assert (found.files, found.is_exact) == (420, False)
    assert found.changed_files == pytest.approx(420, rel=0.1)  # .git is a skip
    store.close()


def test_the_last_run_knows_how_many_files_were_not_seen(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 10, 2)
    deep_tree(tree / "z", 10, 40)
    write_tree(tree, {f"z/{n}.xyz": "" for n in range(30)})
    index = catalog.create(str(tree))
    index.index()
    store = Store(config.data_dir / f"{project_id_of(str(tree))}.db", busy_timeout_ms=1000)
    assert cut(store, tree, 6) == Survey(450, 0, 0, is_exact=False)
    assert cut(store, tree, 0) == Survey(450, 0, 0, is_exact=False)  # not one folder was listed
    assert cut(store, tree, 6, IndexOptions(force=True)).changed_files == 450
    store.close()


def test_a_run_that_was_cut_off_left_the_rest_to_be_done(tree: Path, tmp_path: Path) -> None:
    text = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(40))
    write_tree(tree, {f"p{n // 10:02}/m{n}.py": f"{text}\n\nN = {n}\n" for n in range(400)})
    config = load_config(tmp_path / "home", workers=1, batch_bytes=65536, queue_bytes=1 << 20)
    with Catalog(config) as catalog:
        index = catalog.create(str(tree))
        done = [0]
        with pytest.raises(Cancelled):
            index.index(
                on_progress=lambda progress: done.append(progress.done),
                cancelled=lambda: done[-1] >= 100,
            )
        left = 400 - index.status().files
    assert 0 < left < 400
    store = Store(config.data_dir / f"{project_id_of(str(tree))}.db", busy_timeout_ms=1000)
    found = cut(store, tree, 3)  # only folders that are done were seen
    assert (found.files, found.changed_files) == (400, left)
    store.close()


def test_a_huge_folder_that_was_not_listed_is_taken_for_a_large_tree(
    store: Store, sample: Path
) -> None:
    write_tree(sample, {f"m{n}.py": "" for n in range(1100)})
    found = cut(store, sample, 0)
    assert not found.is_exact
    assert found.changed_bytes > 100_000_000


def test_named_paths_are_all_that_is_looked_at(sample: Path) -> None:
    found = survey_of_paths(str(sample), ["README.md", "gone.py", "app", "\0"])
    assert (found.files, found.changed_files, found.is_exact) == (4, 2, False)
    assert survey_of_paths(str(sample), ["README.md"]) == Survey(
        1, 1, len(SAMPLE["README.md"]), is_exact=True
    )
