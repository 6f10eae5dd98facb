"""What a job is expected to take, against what it then does."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config, load_config
from engine.errors import Cancelled, InvalidInputError, InvalidPathError
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.scheduler.estimate import Rates, Work, count_work, estimate
from engine.store.connection import Store
from tests.support.catalogs import open_catalog
from tests.support.git_trees import run_git
from tests.support.trees import SAMPLE, settle, write_tree

SIZE_BYTES = sum(len(text) for text in SAMPLE.values())
ENTRIES = len(SAMPLE) + 4
FORCE, CLEAN = IndexOptions(force=True), IndexOptions(force_clean=True)
MB = 1_000_000
USUAL = Rates(4.4e6, {})


@pytest.fixture
def sample(tree: Path, catalog: Catalog) -> Path:
    """A tree with a file of every outcome, whose project is made but not indexed."""
    write_tree(tree, SAMPLE)
    write_tree(tree, {"a.png": "?", "Cargo.lock": "", "noise.py": b"\0\1\2" * 99, ".env": "KEY=1"})
    settle(tree)
    catalog.create(str(tree))
    return tree


@pytest.fixture
def store(sample: Path, config: Config) -> Iterator[Store]:
    opened = store_of(config, sample)
    yield opened
    opened.close()


def store_of(config: Config, root: Path) -> Store:
    return Store(config.data_dir / f"{project_id_of(str(root))}.db", busy_timeout_ms=1000)


def _config(model: str) -> Config:
    return load_config(Path("/nowhere"), model=model)


def counted(
    store: Store, root: Path, options: IndexOptions | None = None, model: str = "static"
) -> Work:
    found = count_work(store, str(root), options or IndexOptions(), _config(model), budget_s=60)
    assert found.walk_s > 0
    return found._replace(walk_s=0, is_rebuild=False, old_bytes=0)


def clock_that_stops_after(calls: int) -> Callable[[], float]:
    """Give a clock by which a budget of a second is used up after so many looks at it."""
    times = iter([0.0] * (calls + 1))
    return lambda: next(times, 9.0)


def cut(store: Store, root: Path, calls: int, options: IndexOptions | None = None) -> Work:
    clock = clock_that_stops_after(calls)
    found = count_work(
        store, str(root), options or IndexOptions(), _config("none"), budget_s=1, clock=clock
    )
    assert not found.is_exact
    return found._replace(walk_s=0, is_rebuild=False, old_bytes=0)


def seconds(work: Work, model: str = "static") -> float:
    return estimate(work, USUAL, model).seconds


# What a run would parse.


def test_a_first_run_parses_what_may_be_text(store: Store, sample: Path) -> None:
    size = SIZE_BYTES + 3 * 99
    assert counted(store, sample) == Work(ENTRIES, len(SAMPLE) + 1, size, size)


def test_a_run_without_a_change_parses_nothing(
    store: Store, sample: Path, catalog: Catalog
) -> None:
    catalog.create(str(sample)).index()
    assert counted(store, sample) == Work(ENTRIES)
    (sample / "app/session.py").write_text("changed = True\n")
    (sample / "new.py").write_text("new = True\n")
    (sample / "README.md").unlink()
    assert counted(store, sample) == Work(ENTRIES, 2, 26, 26)


@pytest.mark.parametrize("options", [FORCE, CLEAN, replace(FORCE, only=("README.md",))])
def test_what_is_parsed_again_counts(
    options: IndexOptions, store: Store, sample: Path, catalog: Catalog
) -> None:
    index = catalog.create(str(sample))
    index.index()
    found = counted(store, sample, options)
    assert (found.parse_files, found.read_weight) == (len(SAMPLE) + 1, 0)
    assert found.parse_bytes == SIZE_BYTES + 3 * 99
    assert index.index(options).files_indexed == len(SAMPLE)


def test_what_is_parsed_again_keeps_its_vectors_unless_the_index_is_emptied(
    store: Store, sample: Path, catalog: Catalog
) -> None:
    chunks = catalog.create(str(sample)).index().chunks
    (sample / "app/session.py").write_text("changed = True\n")
    again = counted(store, sample, FORCE, "static")
    assert (again.fresh_bytes, again.chunks_lacking) == (15 + 3 * 99, 0)  # noise.py is no text
    other = counted(store, sample, FORCE, "onnx:some")
    assert other.chunks_lacking == chunks
    anew = counted(store, sample, CLEAN, "onnx:some")
    assert (anew.fresh_bytes, anew.chunks_lacking) == (anew.parse_bytes, 0)


def test_an_emptied_index_is_filled_like_a_new_one(
    store: Store, sample: Path, catalog: Catalog
) -> None:
    new = counted(store, sample)
    index = catalog.create(str(sample))
    index.index()
    index.clear()
    assert counted(store, sample) == new
    # However slow the machine is just now, a small tree is not taken for a large one.
    for calls in (0, 1):
        assert cut(store, sample, calls).parse_bytes < 20 * new.parse_bytes
    assert counted(store, sample, CLEAN) == new


def test_files_too_young_to_be_trusted_are_read_and_not_parsed(
    store: Store, sample: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.indexing.scan._RACY_COARSE_NS", 3600 * 10**9)
    now_ns = time.time_ns() // 1_000_000 * 1_000_000  # as of a file system without finer times
    for path in sample.rglob("*.go"):
        os.utime(path, ns=(now_ns + 10**10, now_ns + 10**10))
    catalog.create(str(sample)).index()
    found = counted(store, sample)
    assert (found.parse_files, found.read_weight) == (0, len(SAMPLE["cmd/server/main.go"]) + 2000)


def test_the_options_of_the_call_set_the_scope(store: Store, sample: Path) -> None:
    only_go = counted(store, sample, IndexOptions(include_patterns=("*.go",)))
    assert only_go.parse_files == 1
    with pytest.raises(InvalidInputError):
        counted(store, sample, IndexOptions(max_file_size=-1))
    with pytest.raises(InvalidPathError):
        counted(store, sample / "gone")


def test_a_run_over_some_paths_counts_what_is_below_them(
    store: Store, sample: Path, catalog: Catalog
) -> None:
    some = IndexOptions(only=("app", "README.md", "gone.py"))
    whole = counted(store, sample)
    assert counted(store, sample, some) == whole  # all of it was never indexed
    catalog.create(str(sample)).index()
    assert counted(store, sample, some).parse_files == 0
    for name in ("app/session.py", "app/new.py", "README.md", "aside.py"):
        (sample / name).write_text("changed = True\n")
    found = counted(store, sample, some)
    assert (found.parse_files, found.parse_bytes) == (3, 45)
    assert counted(store, sample, replace(some, include_patterns=("*.go",))).files > found.files


def test_contents_of_another_branch_are_read_and_not_parsed(
    store: Store, sample: Path, catalog: Catalog, tmp_path: Path
) -> None:
    run_git(sample, tmp_path, "init", "-q")
    index = catalog.create(str(sample))
    index.index()
    run_git(sample, tmp_path, "symbolic-ref", "HEAD", "refs/heads/topic")
    (sample / "new.py").write_text("new = True\n")
    found = counted(store, sample)
    assert (found.parse_files, found.parse_bytes) == (1, 11)
    assert found.read_weight == SIZE_BYTES + 2000 * len(SAMPLE)
    report = index.index()
    assert (report.files_indexed, report.cache_hit_rate) == (6, 5 / 6)


def test_a_worktree_of_an_indexed_repository_is_read_and_not_parsed(
    sample: Path, config: Config, catalog: Catalog, tmp_path: Path
) -> None:
    run_git(sample, tmp_path, "init", "-q")
    run_git(sample, tmp_path, "add", ".")
    run_git(sample, tmp_path, "commit", "-qm", "all")
    catalog.create(str(sample)).index()
    sibling = tmp_path / "sibling"
    run_git(sample, tmp_path, "worktree", "add", "-q", str(sibling))
    index = catalog.create(str(sibling))
    store = store_of(config, sibling)
    found = counted(store, sibling)
    assert found.read_weight >= SIZE_BYTES + 2000 * len(SAMPLE)
    assert found.parse_files == found.chunks_lacking == 0
    assert counted(store, sibling, FORCE).parse_bytes >= SIZE_BYTES
    store.close()
    assert index.index().cache_hit_rate == 1


def test_chunks_without_vectors_are_counted(store: Store, sample: Path, catalog: Catalog) -> None:
    chunks = catalog.create(str(sample)).index().chunks
    assert counted(store, sample).chunks_lacking == 0
    for setting in ("onnx:some", "ollama:some"):
        assert counted(store, sample, model=setting).chunks_lacking == chunks
    for setting in ("none", "no such setting"):
        assert counted(store, sample, model=setting).chunks_lacking == 0


# What a walk that was cut stands for.


def deep_tree(root: Path, folders: int, files: int) -> None:
    for folder in range(folders):
        write_tree(root, {f"f{folder:03}/m{n}.py": f"x = {folder}{n:04}\n" for n in range(files)})


def test_what_was_seen_stands_for_the_folders_that_were_not(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 50, 20)
    catalog.create(str(tree))
    store = store_of(config, tree)
    for calls in (11, 21, 41):
        found = cut(store, tree, calls)
        assert found.files == pytest.approx(1000, rel=0.15)
        assert found.parse_files == found.files
        assert found.parse_bytes == found.fresh_bytes == pytest.approx(10 * found.files, rel=0.1)
    store.close()


def test_the_part_that_was_walked_tells_how_long_all_would_take(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 50, 20)
    catalog.create(str(tree))
    store = store_of(config, tree)
    ticks = iter(range(1000))
    found = count_work(
        store,
        str(tree),
        IndexOptions(),
        _config("none"),
        budget_s=20,
        clock=lambda: float(next(ticks)),  # a second for each look at it: one a folder
    )
    store.close()
    assert not found.is_exact
    assert found.walk_s == pytest.approx(51, rel=0.15)


def test_git_knows_how_many_files_were_not_seen(
    config: Config, catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    deep_tree(tree, 10, 2)
    deep_tree(tree / "z", 10, 40)  # folders are not equal here
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", ".")
    catalog.create(str(tree))
    store = store_of(config, tree)
    found = cut(store, tree, 6)
    assert found.files == 420
    assert found.parse_files == pytest.approx(420, rel=0.1)  # .git is a skip
    store.close()


def test_the_last_run_knows_how_many_files_were_not_seen(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 10, 2)
    deep_tree(tree / "z", 10, 40)
    write_tree(tree, {f"z/{n}.xyz": "" for n in range(30)})
    settle(tree)
    catalog.create(str(tree)).index()
    store = store_of(config, tree)
    assert cut(store, tree, 6) == Work(450, is_exact=False)
    assert cut(store, tree, 0) == Work(450, is_exact=False)  # not one folder was listed
    for options in (FORCE, CLEAN):
        assert cut(store, tree, 6, options).parse_files == 450
    store.close()


def test_a_run_that_was_cut_off_left_the_rest_to_be_done(tree: Path, tmp_path: Path) -> None:
    text = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(40))
    write_tree(tree, {f"p{n // 10:02}/m{n}.py": f"{text}\n\nN = {n}\n" for n in range(400)})
    config = load_config(tmp_path / "home", workers=1, batch_bytes=65536, queue_bytes=1 << 20)
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        done = [0]
        with pytest.raises(Cancelled):
            index.index(
                on_progress=lambda progress: done.append(progress.done),
                cancelled=lambda: done[-1] >= 100,
            )
        left = 400 - index.status().files
    assert 0 < left < 400
    store = store_of(config, tree)
    assert counted(store, tree).parse_files == left
    found = cut(store, tree, 3)  # only folders that are done were seen
    assert (found.files, found.parse_files) == (400, left)
    store.close()


def test_a_tree_of_which_nothing_was_seen_is_not_taken_for_a_large_one(
    config: Config, catalog: Catalog, tree: Path
) -> None:
    deep_tree(tree, 5, 5)
    catalog.create(str(tree))
    store = store_of(config, tree)
    assert seconds(cut(store, tree, 0)) < 5
    store.close()


def test_a_huge_folder_counts_though_its_files_were_not_told(store: Store, sample: Path) -> None:
    write_tree(sample, {f"m{n}.py": "" for n in range(3000)})
    found = cut(store, sample, 0)
    assert found.parse_files == pytest.approx(3000, rel=0.05)


# What so much work takes.


def test_a_run_without_a_change_takes_its_walk() -> None:
    assert seconds(Work(266_000, walk_s=8.0)) == pytest.approx(8.15)


def test_a_first_run_takes_its_bytes_and_files() -> None:
    # 0.15 s to start, 0.1 s to walk, 0.35 s for workers; 26 MB of source and 8 MB for files.
    first = Work(8_000, 4_000, 26 * MB, 26 * MB, walk_s=0.1)
    assert seconds(first) == pytest.approx(0.6 + 34 / 4.4)


def test_contents_that_are_stored_are_only_read() -> None:
    stored = Work(8_000, read_weight=40 * MB, walk_s=0.1)
    assert seconds(stored) == pytest.approx(0.25 + 40 / 40)


def test_slower_models_take_their_time_afterwards() -> None:
    source = Work(100, 100, 115 * MB // 10, 115 * MB // 10)
    assert seconds(source, "onnx:some") == pytest.approx(seconds(source) + 10_000 / 30)
    assert seconds(source, "none") == seconds(source)
    again = source._replace(fresh_bytes=0)
    assert seconds(again, "onnx:some") == seconds(again)
    lacking = Work(chunks_lacking=5_000)
    assert seconds(lacking, "tei:@http://127.0.0.1:1") == pytest.approx(25.15)
    assert seconds(lacking) == pytest.approx(0.65)


def test_the_room_that_an_index_needs() -> None:
    def room(work: Work, model: str = "static") -> int:
        return estimate(work, USUAL, model).needed_bytes

    large = Work(9, 9, 1000 * MB)
    assert room(Work(9_000)) == 1 << 20
    assert 30 * MB < room(Work(9, 9, 10 * MB)) < 40 * MB
    assert 1700 * MB < room(large) < 1800 * MB
    assert room(large, "onnx:x") > room(large)
    # A rebuilding leaves the old index in its place, and at last needs the new one twice; the
    # file of the old one, too, grows to its size.
    rebuilt = large._replace(is_rebuild=True, old_bytes=2000 * MB)
    assert 3400 * MB < room(rebuilt) < 3500 * MB
    assert 4400 * MB < room(rebuilt._replace(old_bytes=700 * MB)) < 4500 * MB


def test_a_rebuilding_counts_what_is_there(sample: Path, store: Store) -> None:
    rebuilt = count_work(
        store, str(sample), IndexOptions(force_clean=True), _config("static"), budget_s=60
    )
    assert rebuilt.old_bytes == store.size_bytes() > 0


def test_putting_a_rebuilt_index_in_its_place_takes_time() -> None:
    new = Work(100, 100, 1000 * MB, 1000 * MB)
    assert seconds(new._replace(is_rebuild=True)) == pytest.approx(seconds(new) + 17, rel=0.1)
