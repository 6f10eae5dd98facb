"""Three projects indexed at once by one process: each as if it had been alone."""

import random
import threading
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import Cancelled
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

_SIZES = (250, 120, 15)  # files of each project


def write_projects(folder: Path) -> list[Path]:
    """Write three trees of Python files that have some files in common."""
    roots = []
    for project, size in enumerate(_SIZES):
        root = folder / f"project{project}"
        numbers = random.Random(project)
        write_tree(
            root,
            {
                f"p{n % 5}/m{n}.py": "".join(
                    f"def part_{n if n % 3 else 0}_{part}(value):\n    return value + {part}\n\n\n"
                    for part in range(numbers.randrange(1, 40))
                )
                for n in range(size)
            },
        )
        roots.append(root)
    return roots


def run_all(catalog: Catalog, roots: list[Path]) -> dict[str, int]:
    """Index all of them at once; the number of files indexed of each."""
    done: dict[str, int] = {}
    errors: list[BaseException] = []

    def run(root: Path) -> None:
        try:
            done[root.name] = catalog.create(str(root)).index().files_indexed
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    return done


def test_three_runs_at_once_give_what_each_gives_alone(tmp_path: Path) -> None:
    roots = write_projects(tmp_path)
    together = load_config(tmp_path / "together", workers=2, batch_bytes=65536)
    alone = load_config(tmp_path / "alone", workers=1)
    with open_catalog(together) as catalog:
        done = run_all(catalog, roots)
        assert done == {root.name: size for root, size in zip(roots, _SIZES, strict=True)}
        for root in roots:
            assert catalog.open(str(root)).search(SearchRequest(query="part_0_0")).hits
        for root in roots[:2]:
            (root / "p1" / "m1.py").write_text("def changed(): pass\n")
        assert run_all(catalog, roots) == {"project0": 1, "project1": 1, "project2": 0}
    with open_catalog(alone) as catalog:
        for root in roots:
            catalog.create(str(root)).index()
    for root in roots:
        name = f"{project_id_of(str(root))}.db"
        check_sound(together.data_dir / name)
        assert contents(together.data_dir / name) == contents(alone.data_dir / name)


def test_a_run_that_is_cancelled_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:hang.py")
    roots = write_projects(tmp_path)
    (roots[2] / "hang.py").write_text("x = 1\n")
    others_done = threading.Event()
    ended: list[BaseException] = []
    config = load_config(tmp_path / "home", workers=2, parse_timeout=600_000)
    with open_catalog(config) as catalog:

        def hang() -> None:
            try:
                catalog.create(str(roots[2])).index(cancelled=others_done.is_set)
            except BaseException as error:
                ended.append(error)

        thread = threading.Thread(target=hang)
        thread.start()
        done = run_all(catalog, roots[:2])
        others_done.set()
        thread.join()
    assert done == {"project0": _SIZES[0], "project1": _SIZES[1]}
    assert [type(error) for error in ended] == [Cancelled]
    monkeypatch.delenv("CAIRN_FAULT")
    with open_catalog(load_config(tmp_path / "home", workers=1)) as catalog:
        catalog.create(str(roots[2])).index()
        catalog.create(str(tmp_path / "project0")).index()
    with open_catalog(load_config(tmp_path / "fresh", workers=1)) as catalog:
        for root in roots:
            catalog.create(str(root)).index()
    for root in roots:
        name = f"{project_id_of(str(root))}.db"
        check_sound(tmp_path / "home" / name)
        assert contents(tmp_path / "home" / name) == contents(tmp_path / "fresh" / name)
