"""The hostile corpus: what repositories, questions and machines can do to the program.

One registry for every test that has to stand it. The cases of trees are all made in one tree; a
case that a machine cannot make, such as a device node without privileges, is told apart and never
counts as passed.
"""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.hostile import (
    content,
    depth,
    ignore_rules,
    links,
    names,
    secrets,
    sizes,
    special,
)
from tests.support.hostile.case import Case, NotBuiltError, Place, draw_for
from tests.support.hostile.queries import CASES as QUERY_CASES
from tests.support.hostile.queries import QueryCase

__all__ = ["QUERY_CASES", "TREE_CASES", "Case", "Corpus", "QueryCase", "hostile_corpus"]

TREE_CASES: tuple[Case, ...] = (
    *links.CASES,
    *special.CASES,
    *sizes.CASES,
    *depth.CASES,
    *names.CASES,
    *content.CASES,
    *ignore_rules.CASES,
    *secrets.CASES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The tree of all cases.

    Attributes:
        root: The folder that holds it.
        entrance: A link to it.
        built: The cases that are in it.
        not_built: Why the others are not, by the path that they would have.
        forbidden: Texts of which nothing may be stored or said.
    """

    root: Path
    entrance: Path
    built: tuple[Case, ...]
    not_built: dict[str, str]
    forbidden: tuple[str, ...]

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """Let the cases go on that change while they are read."""
        is_over = threading.Event()

        def disturb() -> None:
            while not is_over.wait(0.0005):
                for case in self.built:
                    if case.meanwhile is not None:
                        case.meanwhile(self.root / case.path)

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


@contextmanager
def hostile_corpus(
    parent: Path, cases: tuple[Case, ...] = TREE_CASES, *, is_full: bool = False
) -> Iterator[Corpus]:
    """Make the tree, and delete it again.

    Args:
        parent: Where: it gets the tree, a link to it, and what lies outside of it.
        cases: What to put into it.
        is_full: With the full numbers of files, which take a while.
    """
    root = parent / "tree"
    entrance = parent / "entrance"
    outside = parent / "outside"
    root.mkdir()
    outside.mkdir()
    entrance.symlink_to(root)
    built: list[Case] = []
    not_built: dict[str, str] = {}
    forbidden: list[str] = []
    with ExitStack() as undo:
        undo.callback(_delete, parent)
        for case in cases:
            place = Place(
                folder=root / case.path,
                root=root,
                entrance=entrance,
                outside=outside,
                is_full=is_full,
                draw=draw_for(case),
                undo=undo,
                forbidden=forbidden,
            )
            try:
                case.build(place)
            except NotBuiltError as error:
                not_built[case.path] = str(error)
                shutil.rmtree(place.folder, ignore_errors=True)
            else:
                built.append(case)
        yield Corpus(
            root=root,
            entrance=entrance,
            built=tuple(built),
            not_built=not_built,
            forbidden=tuple(forbidden),
        )


def _delete(parent: Path) -> None:
    """Delete folders that are too deep for ``shutil.rmtree``."""
    for name in ("entrance", "tree", "tree-other", "outside"):
        subprocess.run(["rm", "-rf", "--", parent / name], check=True)
