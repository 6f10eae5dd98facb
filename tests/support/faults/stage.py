"""A tree, a data directory in a known state, and operations on them that can be done again."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.catalog import Catalog
from engine.config import Config, load_config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from tests.support.embedders import Fakes
from tests.support.faults.inline import InlinePool
from tests.support.git_trees import run_git
from tests.support.old_index import make_first_version
from tests.support.oracle import contents
from tests.support.trees import write_tree

_BATCH_BYTES = 65_536
_BUSY_MS = 500
_MANY = 260
_DOCUMENT = "# Sessions\n\nHow users open them.\n"
_FORCED = IndexOptions(force=True)
_CLEAN = IndexOptions(force_clean=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A folder with a tree, and the data directories of its indexes.

    Args:
        folder: Of the test's own.
        model: What the settings name at first.
        busy_ms: How long a lock is waited for; where threads run beside one another, a writer may
            stand still for longer than by default.
    """

    folder: Path
    model: str = "fake:a"
    busy_ms: int = _BUSY_MS

    @property
    def tree(self) -> Path:
        """The folder that is indexed."""
        return self.folder / "tree"

    @property
    def home(self) -> Path:
        """The data directory that operations work in."""
        return self.folder / "home"

    @property
    def prepared(self) -> Path:
        """The data directory as it is before an operation."""
        return self.folder / "prepared"

    @property
    def database(self) -> Path:
        """The database of the tree, in the data directory that operations work in."""
        return self.home / f"{project_id_of(str(self.tree))}.db"

    def config(self, home: Path, model: str | None = None) -> Config:
        """Give the settings: small batches make many transactions, and a lock is soon given up."""
        return load_config(
            home,
            workers=1,
            batch_bytes=_BATCH_BYTES,
            busy_timeout=self.busy_ms,
            model=model or self.model,
        )

    @contextmanager
    def catalog(self, home: Path | None = None, model: str | None = None) -> Iterator[Catalog]:
        """Open the projects of a data directory, parsing in this process."""
        with Catalog(self.config(home or self.home, model), open_embedder=Fakes()) as catalog:
            catalog._indexes._pool = InlinePool()
            yield catalog

    def restore(self) -> None:
        """Bring the data directory back to what was prepared."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.prepared, self.home)

    def fresh_contents(self, model: str | None = None) -> dict[str, object]:
        """Give what an index holds that is made from nothing."""
        home = self.folder / "fresh"
        shutil.rmtree(home, ignore_errors=True)
        with self.catalog(home, model) as catalog:
            catalog.create(str(self.tree)).index()
        return contents(home / self.database.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that is done to an index, and can be done again when it failed.

    Args:
        name: What it is.
        prepare: Brings tree and ``stage.prepared`` to the state before.
        act: Does it, with an open catalog.
        model: That the settings name then.
        is_kept: Whether there is an index afterwards.
        is_filled: Whether it equals a fresh index afterwards; else it holds nothing.
    """

    name: str
    prepare: Callable[[Stage], None]
    act: Callable[[Stage, Catalog], None]
    model: str = "fake:a"
    is_kept: bool = True
    is_filled: bool = True


def source(number: int, version: int = 0) -> str:
    """Give the text of a small module, some of them alike but for a word."""
    return "".join(
        f"def session_{number}_{part}(value):\n"
        f'    """Open session {part} of user {version}."""\n'
        f"    return value * {number // 2 + part + version}\n\n"
        for part in range(2 + number % 5)
    )


def write_small_tree(stage: Stage, files: int = 12) -> None:
    """Write a tree with files and texts that appear twice, and something that is skipped."""
    modules = {f"package{n % 3}/module{n}.py": source(n) for n in range(files)}
    write_tree(
        stage.tree,
        {
            **modules,
            "copy/of_module1.py": source(1),
            "README.md": _DOCUMENT,
            "copy/README.txt": _DOCUMENT,
            "picture.png": b"\x89PNG\x00\x01",
        },
    )


def prepare_nothing(stage: Stage) -> None:
    """A tree, and no index yet."""
    write_small_tree(stage)
    stage.prepared.mkdir()


def prepare_index(stage: Stage) -> None:
    """A tree and its index."""
    write_small_tree(stage)
    with stage.catalog(stage.prepared) as catalog:
        catalog.create(str(stage.tree)).index()


def prepare_changes(stage: Stage) -> None:
    """An index, and a tree in which files were edited, added, moved and deleted since."""
    prepare_index(stage)
    tree = stage.tree
    write_tree(tree, {f"package{n % 3}/module{n}.py": source(n, 1) for n in (0, 3, 4)})
    write_tree(tree, {"package1/added.py": source(77)})
    (tree / "package2/module2.py").unlink()
    (tree / "package2/module5.py").rename(tree / "moved.py")
    (tree / "README.md").unlink()


def prepare_worktree(stage: Stage) -> None:
    """A repository with its index, whose second worktree is the tree and has none."""
    first = Stage(folder=stage.folder / "first")
    write_small_tree(first)
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "first")):
        run_git(first.tree, stage.folder, *arguments)
    run_git(first.tree, stage.folder, "worktree", "add", "-q", "-b", "other", str(stage.tree))
    write_tree(stage.tree, {"package1/added.py": source(77)})
    with stage.catalog(stage.prepared) as catalog:
        catalog.create(str(first.tree)).index()


def prepare_holes(stage: Stage) -> None:
    """An index whose vectors lie in blocks that will be mostly empty when the tree is indexed."""
    write_tree(stage.tree, {f"module{n}.py": source(n) for n in range(_MANY)})
    with stage.catalog(stage.prepared) as catalog:
        catalog.create(str(stage.tree)).index()
    for number in range(_MANY):
        if number % 5:
            (stage.tree / f"module{number}.py").unlink()


def prepare_old_index(stage: Stage) -> None:
    """A tree and the index that the first version of the schema made of another."""
    write_small_tree(stage)
    make_first_version(stage.prepared / stage.database.name, stage.tree)


def _index(stage: Stage, catalog: Catalog) -> None:
    catalog.create(str(stage.tree)).index()


def _force(stage: Stage, catalog: Catalog) -> None:
    catalog.create(str(stage.tree)).index(_FORCED)


def _rebuild(stage: Stage, catalog: Catalog) -> None:
    catalog.create(str(stage.tree)).index(_CLEAN)


def _clear(stage: Stage, catalog: Catalog) -> None:
    catalog.create(str(stage.tree)).clear()


def _forget(stage: Stage, catalog: Catalog) -> None:
    if stage.database.exists():
        catalog.forget(str(stage.tree))


OPERATIONS = (
    Operation(name="first index", prepare=prepare_nothing, act=_index),
    Operation(name="changes", prepare=prepare_changes, act=_index),
    Operation(name="forced", prepare=prepare_index, act=_force),
    Operation(name="rebuild", prepare=prepare_changes, act=_rebuild),
    Operation(name="model switch", prepare=prepare_index, act=_index, model="fake:b/24"),
    Operation(name="built-in model", prepare=prepare_changes, act=_index, model="static"),
    Operation(name="clear", prepare=prepare_index, act=_clear, is_filled=False),
    Operation(name="forget", prepare=prepare_index, act=_forget, is_kept=False),
    Operation(name="worktree", prepare=prepare_worktree, act=_index),
    Operation(name="migration", prepare=prepare_old_index, act=_index),
    Operation(name="holes", prepare=prepare_holes, act=_index),
)
