"""What a hostile case is: how it is made, and which outcomes are right for its paths."""

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from engine.records import SkipReason
from tests.support.canaries import Draw, drawing

#: The outcome of a file that is in the index.
INDEXED = "indexed"


class NotBuiltError(Exception):
    """This machine cannot make the case; the message says why."""


@dataclass(slots=True, kw_only=True)
class Place:
    """Where a case is made.

    Attributes:
        folder: The case's own folder beneath the root.
        root: The root of the corpus.
        entrance: A link to the root; the corpus is indexed through it.
        outside: A folder beside the root of which nothing may be found.
        is_full: Whether the case has its full size, or one that leaves a test run short.
        draw: Characters that are the same in every run.
        undo: What has to be called before the corpus can be deleted.
        forbidden: Texts that may be nowhere in what the program stores or says.
    """

    folder: Path
    root: Path
    entrance: Path
    outside: Path
    is_full: bool
    draw: Draw
    undo: ExitStack
    forbidden: list[str] = field(default_factory=list)

    def write(self, name: str, data: bytes | str) -> Path:
        """Write a file of the case; its folders are made as needed."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def forbid(self, text: str) -> str:
        """Remember a text that may be found nowhere, and give it back."""
        self.forbidden.append(text)
        return text

    def lure(self, name: str) -> Path:
        """Write a file outside the root that holds a text of its own; it may be found nowhere."""
        path = self.outside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = self.forbid("lure" + self.draw("bcdfghjklmnpqrstvwxz", 24))
        path.write_text(f"def {text}():\n    return '{text}'\n")
        return path


Build = Callable[[Place], None]
#: Something that is done over and over by another thread while the corpus is indexed.
Meanwhile = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A hostile thing in a tree.

    Attributes:
        class_: The class that it belongs to, such as ``links``.
        name: Its name, one of a kind in the class.
        build: Makes it; raises NotBuiltError where that cannot be done.
        expect: The outcomes that are right, by path below the case's folder. A path in a skipped
            folder has the outcome of the folder.
        meanwhile: Goes on in another thread while the tree is indexed; gets the case's folder.
    """

    class_: str
    name: str
    build: Build
    expect: Mapping[str, frozenset[str]]
    meanwhile: Meanwhile | None = None

    @property
    def path(self) -> str:
        """Where the case lies below the root."""
        return f"{self.class_}/{self.name.replace(' ', '_')}"


def one_of(*outcomes: SkipReason | str) -> frozenset[str]:
    """Give the outcomes that are right, as they are stored."""
    return frozenset(str(outcome) for outcome in outcomes)


IS_INDEXED = one_of(INDEXED)


def file_case(
    class_: str, name: str, file: str, data: bytes | str, *outcomes: SkipReason | str
) -> Case:
    """Give the case of one file; without outcomes it has to be indexed."""

    def build(place: Place) -> None:
        place.write(file, data)

    return Case(
        class_=class_, name=name, build=build, expect={file: one_of(*(outcomes or (INDEXED,)))}
    )


def draw_for(case: Case) -> Draw:
    """Give the source of characters of a case, the same in every run."""
    return drawing(random.Random(case.path).getrandbits(32))
