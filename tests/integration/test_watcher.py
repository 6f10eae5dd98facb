"""A watcher over a real folder: what is saved is found, what is gone is not."""

import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import ProjectBusyError
from engine.index_records import IndexOptions
from engine.locks import watch_status_of
from engine.project import Project
from engine.search_records import SearchRequest
from engine.state_records import JobState, WatchState, WatchStatus
from engine.watch.live import _JobSubmitter
from engine.watch.watcher import IndexingPausedError, Watcher
from tests.integration.test_branches import git
from tests.support.git_trees import git_environment
from tests.support.jobs import wait_for
from tests.support.permissions import permissions_hold
from tests.support.trees import SAMPLE, write_tree
from tests.support.watching import Runs, Watching, await_true, watching


@pytest.fixture
def config(tmp_path: Path, config: Config, monkeypatch: pytest.MonkeyPatch) -> Config:
    home = tmp_path / "user"
    (home / ".config/git").mkdir(parents=True)
    for name, value in git_environment(home).items():
        monkeypatch.setenv(name, value)
    return replace(config, watch_debounce=50)


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, SAMPLE)
    return catalog.create(str(tree))


def finds(index: Project, word: str) -> list[str]:
    return sorted(hit.path for hit in index.search(SearchRequest(query=f'"{word}"')).hits)


def await_found(index: Project, word: str, *paths: str) -> None:
    await_true(lambda: finds(index, word) == sorted(paths))


def is_polling(seen: Watching) -> bool:
    return seen.watcher.status.state is WatchState.POLLING


def test_what_changes_is_found(index: Project, tree: Path, config: Config) -> None:
    with watching(index, config) as seen:
        assert index.status().files == len(SAMPLE)
        (tree / "new.py").write_text("uncommon_one = 1\n")
        await_found(index, "uncommon_one", "new.py")
        (tree / "new.py").write_text("uncommon_two = 1\n")
        await_found(index, "uncommon_two", "new.py")
        os.rename(tree / "new.py", tree / "app/moved.py")
        await_found(index, "uncommon_two", "app/moved.py")
        (tree / "app/moved.py").unlink()
        await_found(index, "uncommon_two")
        assert seen.runs.asked[0] is None
        assert None not in seen.runs.asked[1:]
        assert seen.watcher.status.last_event_at


def test_new_folders_are_watched(index: Project, tree: Path, config: Config) -> None:
    with watching(index, config) as seen:
        before = seen.watcher.status.folders
        (tree / "a/b/c").mkdir(parents=True)
        (tree / "a/b/c/deep.py").write_text("uncommon_one = 1\n")
        await_found(index, "uncommon_one", "a/b/c/deep.py")
        await_true(lambda: seen.watcher.status.folders == before + 3)
        (tree / "a/b/c/deep.py").write_text("uncommon_two = 1\n")
        await_found(index, "uncommon_two", "a/b/c/deep.py")
        shutil.rmtree(tree / "a")
        await_found(index, "uncommon_two")
        await_true(lambda: seen.watcher.status.folders == before)
        (tree / "a").mkdir()
        await_true(lambda: seen.watcher.status.folders == before + 1)
        (tree / "a/again.py").write_text("uncommon_three = 1\n")
        await_found(index, "uncommon_three", "a/again.py")


@pytest.mark.parametrize("aside", [None, "elsewhere", "tree/elsewhere"])
def test_a_folder_that_takes_the_place_of_another_is_watched(
    index: Project, tree: Path, tmp_path: Path, config: Config, aside: str | None
) -> None:
    made = tree / "src/gen"
    write_tree(made, {"a.py": "x = 1\n", "deep/b.py": "x = 1\n"})
    with watching(index, replace(config, watch_debounce=1000)):  # both are known at once
        if aside:
            os.rename(made, tmp_path / aside)
            os.rename(tmp_path / aside, made)
        else:
            shutil.rmtree(made)
        write_tree(made, {"a.py": "uncommon_one = 1\n", "deep/b.py": "uncommon_two = 1\n"})
        await_found(index, "uncommon_one", "src/gen/a.py")
        (made / "a.py").write_text("uncommon_three = 1\n")
        await_found(index, "uncommon_three", "src/gen/a.py")
        (made / "deep/b.py").write_text("uncommon_four = 1\n")
        await_found(index, "uncommon_four", "src/gen/deep/b.py")


def test_a_root_that_takes_the_place_of_another_is_watched(
    index: Project, tree: Path, config: Config
) -> None:
    with watching(index, config):
        shutil.rmtree(tree)
        write_tree(tree, {"a.py": "uncommon_one = 1\n"})
        await_found(index, "uncommon_one", "a.py")
        (tree / "b.py").write_text("uncommon_two = 1\n")
        await_found(index, "uncommon_two", "b.py")


def test_a_repository_that_takes_the_place_of_another_is_watched(
    index: Project, tree: Path, config: Config
) -> None:
    git(tree, "init", "-q", "-b", "main")
    with watching(index, replace(config, watch_debounce=1000)):
        shutil.rmtree(tree / ".git")
        git(tree, "init", "-q", "-b", "second")
        (tree / "new.py").write_text("uncommon = 1\n")
        await_found(index, "uncommon", "new.py")
        (tree / ".git/info").mkdir(exist_ok=True)
        (tree / ".git/info/exclude").write_text("new.py\n")
        await_found(index, "uncommon")


def test_a_folder_of_rules_that_is_made_later_is_watched(
    index: Project, tree: Path, tmp_path: Path, config: Config
) -> None:
    write_tree(tree, {"sub/a.py": "uncommon_a = 1\n"})
    shutil.rmtree(tmp_path / "user/.config")
    with watching(index, config):
        for _ in range(2):
            (tmp_path / "user/.config/git").mkdir(parents=True)
            (tmp_path / "user/.config/git/ignore").write_text("sub/\n")
            await_found(index, "uncommon_a")
            (tmp_path / "user/.config/git/ignore").write_text("")
            await_found(index, "uncommon_a", "sub/a.py")
            shutil.rmtree(tmp_path / "user/.config/git")
            shutil.rmtree(tmp_path / "user/.config")


def test_a_folder_moved_in_is_found_and_one_moved_out_is_gone(
    index: Project, tree: Path, tmp_path: Path, config: Config
) -> None:
    write_tree(tmp_path / "aside", {f"f{n}.py": f"uncommon_{n} = 1\n" for n in range(50)})
    with watching(index, config):
        os.rename(tmp_path / "aside", tree / "aside")
        await_true(lambda: index.status().files == len(SAMPLE) + 50)
        os.rename(tree / "aside", tmp_path / "aside")
        await_true(lambda: index.status().files == len(SAMPLE))


def test_what_is_ignored_is_neither_watched_nor_run_for(
    index: Project, tree: Path, config: Config
) -> None:
    write_tree(tree, {".gitignore": "*.log\nmade/\n", "made/deep/a.py": "", "x.log": ""})
    (tree / "node_modules/p/q").mkdir(parents=True)
    with watching(index, config) as seen:
        assert seen.watcher.status.folders == 6 + 1  # of git's ignore file
        for number in range(5):
            (tree / "x.log").write_text(f"{number}")
            (tree / "made/deep/a.py").write_text(f"{number}")
            (tree / f".a.py.swp{number}").write_text("")
            (tree / f".a.py.swp{number}").unlink()
            await_true(lambda: len(seen.told) > 0)
            seen.told.clear()
        assert seen.runs.asked == [None]


def test_rules_that_change_hold_at_once(
    index: Project, tree: Path, tmp_path: Path, config: Config
) -> None:
    write_tree(tree, {"sub/a.py": "uncommon_a = 1\n", "sub/b.py": "uncommon_b = 1\n"})
    git(tree, "init", "-q", "-b", "main")
    with watching(index, config):
        assert finds(index, "uncommon_a")
        (tree / "sub/.gitignore").write_text("a.py\n")
        await_found(index, "uncommon_a")
        (tree / "sub/.gitignore").unlink()
        await_found(index, "uncommon_a", "sub/a.py")
        (tree / ".git/info").mkdir(exist_ok=True)
        (tree / ".git/info/exclude").write_text("b.py\n")
        await_found(index, "uncommon_b")
        (tree / ".git/info/exclude").write_text("")
        await_found(index, "uncommon_b", "sub/b.py")
        (tmp_path / "user/.config/git/ignore").write_text("sub/\n")
        await_found(index, "uncommon_b")


def test_a_branch_switch_is_one_whole_run(index: Project, tree: Path, config: Config) -> None:
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "first")
    git(tree, "checkout", "-q", "-b", "feature")
    write_tree(tree, {f"f{n}.py": f"uncommon_{n} = 1\n" for n in range(100)})
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "second")
    git(tree, "checkout", "-q", "main")
    with watching(index, config) as seen:
        git(tree, "checkout", "-q", "feature")
        await_true(lambda: index.status().files == len(SAMPLE) + 100)
        assert index.status().branch == "feature"
        git(tree, "checkout", "-q", "main")
        await_true(lambda: index.status().files == len(SAMPLE))
        assert 2 <= seen.runs.asked.count(None) <= 5


def test_what_a_link_shows_changes_with_what_it_leads_to(
    index: Project, tree: Path, config: Config
) -> None:
    (tree / "linked").symlink_to("app")
    (tree / "one.py").symlink_to("app/session.py")
    (tree / "broken.py").symlink_to("app/missing.py")
    with watching(index, config):
        (tree / "app/session.py").write_text("uncommon = 1\n")
        shown = ("app/session.py", "linked/session.py", "one.py")
        await_true(lambda: all(index.why(path).fresh for path in shown))
        (tree / "app/missing.py").write_text("uncommon = 2\n")
        shown = ("app/missing.py", "linked/missing.py", "broken.py")
        await_true(lambda: all(index.why(path).outcome == "indexed" for path in shown))
        shutil.rmtree(tree / "app")
        await_true(lambda: index.status().files == len(SAMPLE) - 2)


def test_a_link_stays_fresh_when_it_leads_through_others_or_to_what_is_ignored(
    index: Project, tree: Path, config: Config
) -> None:
    write_tree(tree, {".gitignore": "made/\n", "made/deep/it.py": "x = 1\n"})
    (tree / "made.py").symlink_to("made/deep/it.py")
    (tree / "now").symlink_to("app")
    (tree / "middle.py").symlink_to("now/session.py")
    (tree / "far.py").symlink_to("middle.py")
    with watching(index, config):
        (tree / "made/deep/it.py").write_text("uncommon_one = 1\n")
        await_found(index, "uncommon_one", "made.py")
        shutil.rmtree(tree / "made")
        await_found(index, "uncommon_one")
        (tree / "middle.py").unlink()
        (tree / "middle.py").symlink_to("README.md")
        await_true(lambda: all(index.why(path).fresh for path in ("middle.py", "far.py")))
        (tree / "new").mkdir()
        (tree / "new/session.py").write_text("uncommon_two = 1\n")
        (tree / "middle.py").unlink()
        (tree / "middle.py").symlink_to("now/session.py")
        await_true(lambda: all(index.why(path).fresh for path in ("middle.py", "far.py")))
        (tree / "now").unlink()
        (tree / "now").symlink_to("new")
        await_true(lambda: all(index.why(path).fresh for path in ("middle.py", "far.py")))
        assert index.why("far.py").facts["lines"] == 1


def test_all_names_of_a_file_change_with_one(index: Project, tree: Path, config: Config) -> None:
    os.link(tree / "app/session.py", tree / "other.py")
    with watching(index, config):
        (tree / "other.py").write_text("uncommon = 1\n")
        await_true(lambda: all(index.why(path).fresh for path in ("other.py", "app/session.py")))
        assert index.why("app/session.py").facts["lines"] == 1


def test_what_fails_is_tried_again(index: Project, tree: Path, config: Config) -> None:
    with watching(index, config) as seen:
        seen.runs.fails = 1
        (tree / "new.py").write_text("uncommon = 1\n")
        await_true(lambda: "retrying" in seen.watcher.status.reason)
        assert seen.watcher.status.pending == 1
        await_found(index, "uncommon", "new.py")
        await_true(lambda: seen.watcher.status.pending == 0)
        assert seen.watcher.status.reason == ""


def test_the_root_may_go_and_come_back(index: Project, tree: Path, config: Config) -> None:
    with watching(index, config) as seen:
        shutil.rmtree(tree)
        status = seen.await_state(WatchState.WAITING)
        assert "cannot be read" in status.reason
        assert index.status().files == len(SAMPLE)
        write_tree(tree, {"back.py": "uncommon = 1\n"})
        seen.await_state(WatchState.WATCHING)
        await_found(index, "uncommon", "back.py")
        assert index.status().files == 1
        os.rename(tree, tree.with_name("other"))
        write_tree(tree, SAMPLE)  # another folder of the same name, before anybody looks
        await_true(lambda: index.status().files == len(SAMPLE))


def test_what_was_all_deleted_on_purpose_is_forgotten_by_a_rebuild(
    index: Project, tree: Path, config: Config
) -> None:
    with watching(index, config) as seen:
        for place in tree.iterdir():
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        seen.await_state(WatchState.WAITING)
        index.index(IndexOptions(force_clean=True))
        seen.await_state(WatchState.WATCHING)
        (tree / "new.py").write_text("uncommon = 1\n")
        await_found(index, "uncommon", "new.py")


def test_what_cannot_be_read_for_a_while_stays(index: Project, tree: Path, config: Config) -> None:
    (tree / "app/session.py").write_text("uncommon = 1\n")
    with permissions_hold(), watching(index, config) as seen:
        try:
            (tree / "app").chmod(0)
            await_true(lambda: "unreadable" in index.status().skips)
            assert index.status().files == len(SAMPLE)
            (tree / "README.md").chmod(0)
            await_true(lambda: index.status().skips["unreadable"] == 2)
            assert finds(index, "uncommon") == ["app/session.py"]
            tree.chmod(0)
            seen.await_state(WatchState.WAITING)
            assert index.status().files == len(SAMPLE)
        finally:
            for place in (tree, tree / "app", tree / "README.md"):
                place.chmod(0o755)
        seen.await_state(WatchState.WATCHING)
        await_true(lambda: "unreadable" not in index.status().skips)
        (tree / "app/session.py").write_text("uncommon_two = 1\n")
        await_found(index, "uncommon_two", "app/session.py")


def test_a_name_that_is_not_utf8_does_not_end_it(
    index: Project, tree: Path, config: Config
) -> None:
    with watching(index, config) as seen:
        (tree / os.fsdecode(b"caf\xe9.py")).write_text("uncommon = 1\n")
        await_true(lambda: index.status().files == len(SAMPLE) + 1)
        (tree / "after.py").write_text("uncommon_after = 1\n")
        await_found(index, "uncommon_after", "after.py")
        assert seen.watcher.status.state is WatchState.WATCHING


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\xe9/tree"])
def test_a_path_that_is_not_utf8_is_polled(
    catalog: Catalog, tmp_path: Path, config: Config, name: bytes
) -> None:
    tree = write_tree(tmp_path / os.fsdecode(name), SAMPLE)
    index = catalog.create(str(tree))
    with watching(index, config) as seen:
        status = seen.await_state(WatchState.POLLING)
        assert status.reason == "the folder's path is not UTF-8, so it cannot be watched"
        (tree / "app/session.py").write_text("uncommon = 1\n")
        await_found(index, "uncommon", "app/session.py")


def test_often_failing_it_polls(index: Project, tree: Path, config: Config) -> None:
    name = tree / os.fsdecode(b"caf\xe9.py")
    with watching(index, config) as seen:
        for number in range(200):
            if is_polling(seen):
                break
            name.write_text(f"uncommon_{number} = 1\n")
            word = f"uncommon_{number}"
            await_true(lambda word=word: is_polling(seen) or finds(index, word) != [])  # type: ignore[misc]
        status = seen.await_state(WatchState.POLLING)
        assert "keeps failing" in status.reason
        assert status.poll_interval_ms == 2000
        (tree / "after.py").write_text("uncommon_after = 1\n")
        await_found(index, "uncommon_after", "after.py")


def test_other_processes_see_how_it_goes(index: Project, tree: Path, config: Config) -> None:
    file = config.data_dir / f"{index.project_id}.db"
    with watching(index, config) as seen:
        await_true(lambda: watch_status_of(file) == seen.watcher.status)
        other = Watching(index, config)
        with pytest.raises(ProjectBusyError, match=f"process {os.getpid()}"):
            other.watcher.start()
        with pytest.raises(ProjectBusyError):
            other.watcher.run()
    assert watch_status_of(file) is None
    assert seen.told[-1].state is WatchState.STOPPED


def test_a_forgotten_project_is_watched_no_more(
    index: Project, catalog: Catalog, tree: Path, config: Config
) -> None:
    with watching(index, config) as seen:
        Project.delete(config.data_dir / f"{index.project_id}.db")
        assert "removed" in seen.await_state(WatchState.STOPPED).reason
        (tree / "new.py").write_text("uncommon = 1\n")
    assert not (config.data_dir / f"{index.project_id}.db").exists()


def test_it_leaves_no_thread_and_can_start_again(
    index: Project, tree: Path, config: Config
) -> None:
    before = set(os.listdir("/proc/self/task"))
    with watching(index, config) as seen:
        assert len(threading.enumerate()) > 1
    names = [thread.name for thread in threading.enumerate()]
    assert "watcher" not in names
    await_true(lambda: len(set(os.listdir("/proc/self/task")) - before) <= 2)  # parser, pool
    (tree / "new.py").write_text("uncommon = 1\n")
    seen.watcher.start()
    await_found(index, "uncommon", "new.py")
    seen.watcher.stop()


def test_the_scope_of_the_project_is_followed(index: Project, tree: Path, config: Config) -> None:
    index.index(IndexOptions(exclude_patterns=("*.md",)))
    with watching(index, config):
        (tree / "NEWS.md").write_text("uncommon\n")
        (tree / "new.py").write_text("uncommon = 1\n")
        await_found(index, "uncommon", "new.py")


def test_a_name_that_is_gone_again_tells_of_the_others(
    index: Project, tree: Path, config: Config
) -> None:
    with watching(index, replace(config, watch_debounce=1500)) as seen:
        await_true(lambda: seen.watcher.status.pending == 0)
        other = tree / "cmd/other.py"
        os.link(tree / "app/session.py", other)
        with other.open("a") as file:
            file.write("\nquasar = 1\n")
        await_true(lambda: seen.watcher.status.pending > 0)
        other.unlink()
        await_true(lambda: finds(index, "quasar") == ["app/session.py"])


def test_what_somebody_cancels_is_not_begun_anew(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    runs = _JobSubmitter(catalog.jobs, index.root, lambda _job: None, is_asked=True)
    job_id = catalog.jobs.submit(index.root).job_id
    catalog.jobs.cancel(job_id)
    with pytest.raises(IndexingPausedError, match="resumes when you index again"):
        runs(None, lambda: False)
    assert runs(("app/session.py",), lambda: False)  # what is saved goes on
    with pytest.raises(IndexingPausedError):
        runs(None, lambda: False)
    again = catalog.jobs.retry(job_id)
    catalog.jobs.run_here()
    wait_for(catalog, again.job_id, JobState.COMPLETED)
    assert index.status().coverage.complete
    assert runs(None, lambda: False)


def test_what_was_cancelled_stays_so_until_it_is_asked_for(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    catalog.jobs.cancel(catalog.jobs.submit(index.root).job_id)
    time.sleep(0.002)  # of the clock's smallest step
    restarted = _JobSubmitter(catalog.jobs, index.root, lambda _job: None, is_asked=False)
    with pytest.raises(IndexingPausedError):
        restarted(None, lambda: False)
    asked = _JobSubmitter(catalog.jobs, index.root, lambda _job: None, is_asked=True)
    assert asked(None, lambda: False)
    assert index.status().coverage.complete


def test_what_nobody_foresaw_at_the_start_is_raised_there(index: Project, config: Config) -> None:
    def tell(_: WatchStatus) -> None:
        raise RuntimeError("nobody foresaw this")

    watcher = Watcher(index.for_watcher(), Runs(index), config, on_change=tell)
    with pytest.raises(RuntimeError, match="foresaw"):
        watcher.start()
