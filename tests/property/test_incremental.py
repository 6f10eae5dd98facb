"""An index that followed any sequence of edits equals one made afresh."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

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
        "lib/a.py",
        "lib/b.go",
        "lib/deep/c.md",
        "vendor/v.py",
        "x.log",
        "d.bin",
        "lib/n.ipynb",
        "c.yaml",
    ]
)
_TEXTS = st.sampled_from(
    [
        "def one(): pass\n",
        "def two(): pass\n\nclass Three:\n    def four(self): pass\n",
        "package main\n\nfunc Five() {}\n",
        "# Title\n\ntext\n\n## More\n",
        "",
        "\0binary",
        "x = 1",
        "# SPDX-License-Identifier: MIT\na:\n  b: 1\n",
        '{"cells": [{"cell_type": "code", "source": "def six(): pass"}]}\n',
    ]
)
_RULES = st.sampled_from(["*.log\n", "lib/\n", "!lib/\n", "", "*.py\n!a.py\n"])


class Edits(RuleBasedStateMachine):
    """Edits a tree, indexes now and then, and compares with a fresh index at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "tree"
        self.root.mkdir()
        (self.root / "kept.md").write_text("An emptied folder is refused.\n")
        self.catalog = open_catalog(load_config(self.folder / "home", workers=1))
        self.fresh = open_catalog(load_config(self.folder / "fresh", workers=1))
        self.index = self.catalog.create(str(self.root))
        self.is_current = False

    @rule(name=_NAMES, text=_TEXTS)
    def write(self, name: str, text: str) -> None:
        file = self.root / name
        if not file.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.is_current = False

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        self.is_current = False

    @rule(source=_NAMES, destination=_NAMES)
    def rename(self, source: str, destination: str) -> None:
        if (self.root / source).exists():
            (self.root / destination).parent.mkdir(parents=True, exist_ok=True)
            (self.root / source).rename(self.root / destination)
        self.is_current = False

    @rule()
    def delete_folder(self) -> None:
        shutil.rmtree(self.root / "lib", ignore_errors=True)
        self.is_current = False

    @rule(rules=_RULES)
    def ignore(self, rules: str) -> None:
        (self.root / ".gitignore").write_text(rules)
        self.is_current = False

    @rule(force=st.booleans())
    def run(self, force: bool) -> None:
        self.index.index(IndexOptions(force=force))
        self.is_current = True

    @invariant()
    def equals_a_fresh_index(self) -> None:
        if not self.is_current:
            return
        name = f"{project_id_of(str(self.root))}.db"
        check_sound(self.folder / "home" / name)
        self.fresh.create(str(self.root)).index()
        assert contents(self.folder / "home" / name) == contents(self.folder / "fresh" / name)
        self.fresh.forget(str(self.root))

    def teardown(self) -> None:
        self.catalog.close()
        self.fresh.close()
        shutil.rmtree(self.folder)


Edits.TestCase.settings = settings(max_examples=examples(12), stateful_step_count=15)
TestEdits = Edits.TestCase
