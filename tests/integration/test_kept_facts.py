"""What a process keeps of files and their contents, where the index is damaged or shrinks."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import is_
from pathlib import Path

from engine.browse_records import SymbolListRequest
from engine.config import load_config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import SearchRequest
from engine.store.filters import BranchSet
from engine.store.models import read_current_model
from engine.store.project import count_changes
from tests.support import damage
from tests.support.catalogs import open_catalog
from tests.support.notebooks import cell, notebook
from tests.support.trees import write_tree

_TREE = {f"part{number}.py": f"def one{number}():\n    return {number}\n" for number in range(12)}


@contextmanager
def opened(home: Path, tree: Path, **settings: int) -> Iterator[Project]:
    with open_catalog(load_config(home, workers=1, **settings)) as catalog:
        yield catalog.create(str(tree))


def told(index: Project) -> tuple[object, ...]:
    browse = index.browse
    return (
        index.status().files,
        browse.symbols(SymbolListRequest()),
        browse.languages(),
        browse.overview.folder(),
        len(browse.overview.meaning_map().points),
    )


def test_a_file_without_its_blob_is_left_out(tmp_path: Path, tree: Path) -> None:
    home = tmp_path / "home"
    write_tree(tree, _TREE)
    with opened(home, tree) as index:
        index.index()
        file = home / f"{index.project_id}.db"
    for number in (12, 5):  # the last one, and one between others
        damage.run(file, f"DELETE FROM blobs WHERE id = {number}")
        with opened(home, tree) as index, opened(home, tree) as other:
            index.warm_pages()
            assert told(index) == told(other)
            assert index.browse.symbols(SymbolListRequest()).total == index.status().symbols
            first, *more = (
                index.search(SearchRequest(query="return one", tests=False, limit=20))
                for _ in range(3)  # the second one caches the branch
            )
            assert first.hits
            assert all(each.hits == first.hits for each in more)


def test_what_a_parse_has_kept_in_time_is_not_taken_for_what_the_next_one_keeps(
    tmp_path: Path, tree: Path
) -> None:
    home = tmp_path / "home"
    code = "".join(f"def many_{number}(a):\n    return a\n\n\n" for number in range(300))
    write_tree(tree, {"sales.ipynb": notebook([cell("code", code)] * 36)})
    with opened(home, tree, parse_timeout=50) as index:
        index.index()
        index.warm_pages()
        before = index.status().symbols
        with opened(home, tree, parse_timeout=150) as other:
            other.index(IndexOptions(force_clean=True))
            after = other.status().symbols
        assert before < after
        assert index.status().symbols == after
        assert index.browse.symbols(SymbolListRequest()).total == after


def test_a_change_of_something_else_leaves_what_is_kept_of_files(
    tmp_path: Path, tree: Path
) -> None:
    def kept(index: Project) -> tuple[object, ...]:
        with index._store.read() as handle:
            files = index.browse._kept.of(handle, 1)
            facts = index._searcher.known_facts(handle)
        return files, facts, index.browse.overview.folder()

    write_tree(tree, _TREE)
    with opened(tmp_path / "home", tree) as index:
        index.index()
        index.warm_pages()
        before, seen = kept(index), told(index)
        with index._store.write():
            pass
        assert all(map(is_, kept(index), before))
        assert told(index) == seen
        recent = index.browse.folders.recent(most=3)
        write_tree(tree, {"part3.py": "def three():\n    return [3]\n", "more.txt": "three\n"})
        index.index()
        assert not any(map(is_, kept(index), before))
        assert index.browse.folders.recent(most=3) != recent
        with opened(tmp_path / "home", tree) as other:
            assert told(index) == told(other)
            shown = [each.browse.folders.entries("", limit=50) for each in (index, other)]
            assert shown[0] == shown[1]
        write_tree(tree, {"part3.py": _TREE["part3.py"]})
        (tree / "part4.py").unlink()
        index.index()
        with opened(tmp_path / "home", tree) as other:
            assert told(index) == told(other)


def test_what_the_map_keeps_is_counted_without_the_facts(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, _TREE)
    with opened(tmp_path / "home", tree) as index:
        index.index()
        index.warm_pages()
        assert len(index.browse.overview.meaning_map().points) == len(_TREE)
        with index._store.read() as handle:
            model = read_current_model(handle)
        assert model
        assert index.browse.overview.size_bytes == len(_TREE) * (4 * model.dimension + 16)


def test_what_paths_tell_is_kept_once(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, _TREE)
    request = SearchRequest(query="one", tests=False)
    known = []
    with opened(tmp_path / "home", tree) as index:
        for number in (1, 2):
            write_tree(tree, {f"more{number}.py": "def one():\n    return 0\n"})
            index.index()
            for _ in range(2):  # the second one caches the branch
                index.search(request)
            state = index._searcher._cache._state
            assert state
            [branch_index] = state.cached_branch_indexes
            assert branch_index.traits
            assert state.told_paths is branch_index.told_paths
            known.append(state.told_paths)
            assert state.told_paths.size_bytes == 200 * (len(_TREE) + number)
    assert known[0] is known[1]


def test_caches_are_measured_while_branches_come_and_go(tmp_path: Path, tree: Path) -> None:
    write_tree(tree, _TREE)
    interval_s = sys.getswitchinterval()
    with opened(tmp_path / "home", tree) as index:
        index.index()
        index.search(SearchRequest(query="one"))
        cache = index._searcher._cache
        with index._store.read() as handle, ThreadPoolExecutor(1) as pool:
            state = cache.state(handle)
            [branch] = state.branches
            sets = [BranchSet((branch.id,), refused) for refused in ((), (2,), (3,))] * 60

            def come_and_go() -> None:
                for each in sets:
                    state.branch_index(handle, each)

            sys.setswitchinterval(1e-6)
            try:
                coming = pool.submit(come_and_go)
                while not coming.done():
                    assert cache.size_bytes >= 0
                coming.result()
            finally:
                sys.setswitchinterval(interval_s)
            assert len(state.cached_branch_indexes) == 2


def test_an_index_that_was_put_aside_has_no_state_in_common_with_the_new_one(
    tmp_path: Path, tree: Path
) -> None:
    write_tree(tree, _TREE)
    with opened(tmp_path / "home", tree) as index:
        index.index()
        for _ in range(20):
            with index._store.write():
                pass
        with index._store.read() as handle:
            before = count_changes(handle)
        assert before
        damage.run(tmp_path / "home" / f"{index.project_id}.db", "DROP INDEX files_by_blob")
        index.index(IndexOptions(force_clean=True))
        assert list((tmp_path / "home").glob("*.damaged-*"))
        with index._store.read() as handle:
            assert (count_changes(handle) or 0) > before
