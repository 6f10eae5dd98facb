"""Tags choose as the plainest reading of them does, in lists and in searches."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.config import load_config
from engine.memory_records import MAX_LISTED, Checkpoint, NewMemory
from engine.project import Project
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FREE = ("a", "b", "A", "é", "python", ".py", ".md", "text of two words", "%", "*", '"', "1")
_ASKED = (
    *_FREE,
    "indexed",
    "repository",
    "markdown",
    "go",
    ".go",
    ".gitignore",
    "nobody",
    "_",
    ".test.py",
    ".",
    "/x",
)
_FILES = {
    "one.py": "def session_word(): pass\n",
    "two.py": "# session word\n",
    "three.md": "# session word\n",
    "four.go": "package session // word\n",
    "Makefile": "session: word\n\techo session word\n",
    "deep/.gitignore": "session word\n",
    "deep/five.test.py": "session = 'word'\n",
}


@dataclass(frozen=True)
class Stage:
    """A project with files and memories of many tags, none of which changes any more."""

    index: Project
    everything: list[Checkpoint]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("tags")
    write_tree(folder / "tree", _FILES)
    with open_catalog(load_config(folder / "home", workers=1)) as catalog:
        index = catalog.create(str(folder / "tree"))
        index.index()
        for number in range(40):
            tags = tuple(tag for at, tag in enumerate(_FREE) if (number * 2654435761 >> at) & 1)
            index.checkpoints.save(NewMemory(summary=f"session word {number}", tags=tags))
        yield Stage(index, list(index.checkpoints.list(limit=MAX_LISTED).checkpoints))
    shutil.rmtree(folder)


def passes(checkpoint: Checkpoint, asked: list[str]) -> bool:
    return all(
        (tag[1:] not in checkpoint.tags) if tag.startswith("!") else (tag in checkpoint.tags)
        for tag in asked
    )


def test_the_stage_has_all_of_it(stage: Stage) -> None:
    assert len(stage.everything) == 40 + len(_FILES)
    assert {tag for each in stage.everything for tag in each.tags} >= {
        *_FREE,
        "indexed",
        "repository",
        ".go",
        ".gitignore",
        "makefile",
    }


_TAGS = st.lists(st.sampled_from([*_ASKED, *(f"!{tag}" for tag in _ASKED)]), max_size=4)


@settings(max_examples=examples(200))
@given(asked=_TAGS)
@example(asked=["!.py"])
@example(asked=["!python", "indexed"])
@example(asked=["!indexed"])
def test_tags_choose_what_they_say(stage: Stage, asked: list[str]) -> None:
    wanted = [each for each in stage.everything if passes(each, asked)]
    page = stage.index.checkpoints.list(tags=asked, limit=MAX_LISTED)
    assert list(page.checkpoints) == wanted
    assert page.total == len(wanted)
    found = stage.index.checkpoints.search("session word", tags=asked, limit=100)
    assert {each.id for each in found} == {each.id for each in wanted}
