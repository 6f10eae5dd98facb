"""Runs over the paths that were edited leave the index as a run over everything would."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from engine.config import load_config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents

_NAMES = st.sampled_from(
    [
        "a.py",
        "b.py",
        ".env",
        "lib/a.py",
        "lib/b.go",
        "lib/deep/c.md",
        "lib/deep/deeper/d.py",
        "lib/pyvenv.cfg",
        "library.py",
        "vendor/v.py",
        "build/x.py",
        "x.log",
        "d.bin",
        "links/one",
        "links/two",
        "links/z.py",
    ]
)
_TEXTS = st.sampled_from(
    [
        "def one(): pass\n",
        "def two(): pass\n\nclass Three: pass\n",
        "package main\n",
        "",
        "\0binary",
    ]
)
_FOLDERS = st.sampled_from(["lib", "lib/deep", "links", "build", "lib/deep/deeper"])
_RULES = st.sampled_from(["*.log\n", "deep/\n", "!deep/\n", "", "*.py\n!a.py\n", "/a.py\n"])
_TARGETS = st.sampled_from(["../lib", "../lib/deep", "../a.py", "../nothing", "../lib/a.py", ".."])


class Edits(RuleBasedStateMachine):
    """Edits a tree, runs over what was edited now and then, and compares with a whole run."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "tree"
        self.root.mkdir()
        (self.root / "kept.md").write_text("kept\n")  # a folder left with nothing is refused
        self.catalog = open_catalog(load_config(self.folder / "home", workers=1))
        self.fresh = open_catalog(load_config(self.folder / "fresh", workers=1))
        self.index = self.catalog.create(str(self.root))
        self.index.index()
        self.edited: set[str] = set()

    def touch(self, name: str) -> None:
        """Note an edit: a path stands for all below it, and a rule file for what it rules."""
        self.edited.add(name)

    @rule(name=_NAMES, text=_TEXTS)
    def write(self, name: str, text: str) -> None:
        file = self.root / name
        if file.is_symlink() or not file.is_dir():
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink(missing_ok=True)
                file.write_text(text)
            except (FileExistsError, NotADirectoryError):
                return
            self.touch(name)

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        file = self.root / name
        if os.path.lexists(file) and (file.is_symlink() or not file.is_dir()):
            file.unlink()
            self.touch(name)

    @rule(folder=_FOLDERS)
    def delete_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)
        self.touch(folder)

    @rule(folder=_FOLDERS, name=st.sampled_from(["moved", "lib/moved", "build"]))
    def move_folder(self, folder: str, name: str) -> None:
        source, target = self.root / folder, self.root / name
        if (
            source.is_dir()
            and target.parent.is_dir()
            and not os.path.lexists(target)
            and not target.is_relative_to(source)
        ):
            source.rename(target)
            self.touch(folder)
            self.touch(name)

    @rule(name=st.sampled_from(["links/one", "links/two", "aside"]), leads_to=_TARGETS)
    def link(self, name: str, leads_to: str) -> None:
        place = self.root / name
        if place.parent.is_dir() and not (place.is_dir() and not place.is_symlink()):
            place.unlink(missing_ok=True)
            place.symlink_to(leads_to.removeprefix("../") if name == "aside" else leads_to)
            self.touch(name)

    @rule(folder=st.sampled_from(["", "lib/"]), rules=_RULES)
    def ignore(self, folder: str, rules: str) -> None:
        if (self.root / folder).is_dir():
            (self.root / folder / ".gitignore").write_text(rules)
            self.touch(folder.rstrip("/"))

    @rule(one_by_one=st.booleans())
    def run(self, one_by_one: bool) -> None:
        # What is seen through a link changes with what it leads to.
        edited = self.edited | {
            os.path.relpath(os.path.join(folder, name), self.root)
            for folder, folders, names in os.walk(self.root)
            for name in (*folders, *names)
            if os.path.islink(os.path.join(folder, name))
        }
        batches = [(path,) for path in sorted(edited)] if one_by_one else [tuple(edited)]
        for batch in batches:
            if batch:
                self.index.index(IndexOptions(only=batch))
        self.edited.clear()
        self.compare()

    def compare(self) -> None:
        name = f"{project_id_of(str(self.root))}.db"
        check_sound(self.folder / "home" / name)
        self.fresh.create(str(self.root)).index()
        assert contents(self.folder / "home" / name) == contents(self.folder / "fresh" / name)
        coverage = self.fresh.create(str(self.root)).status().coverage
        assert self.index.status().coverage == coverage
        self.fresh.forget(str(self.root))

    def teardown(self) -> None:
        self.catalog.close()
        self.fresh.close()
        shutil.rmtree(self.folder)


Edits.TestCase.settings = settings(max_examples=examples(15), stateful_step_count=15)
TestEdits = Edits.TestCase
