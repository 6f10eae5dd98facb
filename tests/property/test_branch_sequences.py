"""Any sequence of commits, branches, rewrites and runs leaves what fresh runs would make."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.config import load_config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.integration.test_branches import git
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents
from tests.support.trees import write_tree

Files = dict[str, str]

# One language: the same text in two is two contents.
_PATHS = st.sampled_from(["a.py", "b.py", "lib/a.py", "lib/c.py"])
_TEXTS = st.sampled_from(
    [
        "def one():\n    return wanted + 1\n",
        "def two():\n    return wanted + 2\n",
        "wanted = 3\n",
        "# Title\n\nwanted text\n",
    ]
)
_BRANCHES = st.sampled_from(["main", "first", "second/part"])


def _last_line(text: str) -> str:
    """Return what tells a text from the others: a pattern's hit may begin after its heading."""
    return text.strip().splitlines()[-1].strip()


class Branches(RuleBasedStateMachine):
    """Changes a repository, indexes now and then, and compares with fresh runs over checkouts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "tree"
        self.catalog = open_catalog(load_config(self.folder / "home", workers=1))
        self.trees: dict[str, Files] = {"main": {"a.py": "wanted = 1\n"}}
        self.indexed: dict[str, Files] = {}
        self.here = "main"
        self.is_checked = True
        write_tree(self.root, self.trees["main"])
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "0")
        self.index = self.catalog.create(str(self.root))

    def _commit(self, *more: str) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "x", *more)

    @rule(path=_PATHS, text=_TEXTS, is_rewritten=st.booleans())
    def write(self, path: str, text: str, is_rewritten: bool) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)
        self._commit(*(["--amend"] if is_rewritten else []))
        self.trees[self.here] = {**self.trees[self.here], path: text}

    @rule(path=_PATHS)
    def remove(self, path: str) -> None:
        files = dict(self.trees[self.here])
        if files.pop(path, None) is not None:
            (self.root / path).unlink()
            self._commit()
            self.trees[self.here] = files

    @rule(source=_PATHS, destination=_PATHS)
    def move(self, source: str, destination: str) -> None:
        files = dict(self.trees[self.here])
        if source in files and source != destination:
            files[destination] = files.pop(source)
            (self.root / destination).parent.mkdir(exist_ok=True)
            (self.root / source).rename(self.root / destination)
            self._commit()
            self.trees[self.here] = files

    @rule(name=_BRANCHES)
    def check_out(self, name: str) -> None:
        if name not in self.trees:
            self.trees[name] = self.trees[self.here]
            git(self.root, "checkout", "-q", "-b", name)
        else:
            git(self.root, "checkout", "-q", name)
        self.here = name

    @rule(onto=_BRANCHES)
    def put_on(self, onto: str) -> None:
        """Rewrite the branch: its files as one commit on another branch."""
        if onto in self.trees:
            git(self.root, "reset", "-q", "--soft", onto)
            self._commit()

    @rule(name=_BRANCHES)
    def delete(self, name: str) -> None:
        if name in self.trees and name != self.here:
            git(self.root, "branch", "-q", "-D", name)
            del self.trees[name]

    @rule()
    def pack(self) -> None:
        git(self.root, "gc", "-q")

    @rule()
    def run(self) -> None:
        self.index.index()
        self._note(self.here)

    @rule(name=_BRANCHES)
    def run_over(self, name: str) -> None:
        if name in self.trees:
            self.index.index(IndexOptions(branch=name))
            self._note(name)

    def _note(self, name: str) -> None:
        self.indexed[name] = self.trees[name]
        self.indexed = {each: self.indexed[each] for each in self.indexed if each in self.trees}
        self.is_checked = False

    @invariant()
    def holds_what_fresh_runs_hold(self) -> None:
        if self.is_checked:
            return
        self.is_checked = True
        database = self.folder / "home" / f"{project_id_of(str(self.root))}.db"
        check_sound(database)
        root = self.folder / "other"
        with open_catalog(load_config(self.folder / "fresh", workers=1)) as fresh:
            root.mkdir()
            git(root, "init", "-q", "-b", "start")
            git(root, "commit", "-q", "--allow-empty", "-m", "0")
            index = fresh.create(str(root))
            for name, files in self.indexed.items():
                git(root, "checkout", "-q", "-b", name, "start")
                write_tree(root, files)
                git(root, "add", "-A")
                git(root, "commit", "-q", "--allow-empty", "-m", "x")
                index.index()
            made = self.folder / "fresh" / f"{project_id_of(str(root))}.db"
            found, expected = contents(database), contents(made)
        for each in (found, expected):
            skips = each["skips"]
            assert isinstance(skips, list)
            each["skips"] = [row for row in skips if row[0] != b".git"]  # only on the disk
        shutil.rmtree(root)
        shutil.rmtree(self.folder / "fresh")
        assert found == expected

    @invariant()
    def searches_tell_where_each_place_stands(self) -> None:
        if len(self.indexed) < 2 or any(name not in self.trees for name in self.indexed):
            return
        for mode in (Mode.KEYWORD, Mode.REGEX):
            request = SearchRequest(query="wanted branch:*", mode=mode, limit=100)
            answer = self.index.search(request)
            found = {_last_line(hit.snippet): frozenset(hit.branches) for hit in answer.hits}
            assert len(found) == len(answer.hits) == answer.total
            texts = {text for files in self.indexed.values() for text in files.values()}
            assert found == {
                _last_line(text): frozenset(
                    name for name, files in self.indexed.items() if text in files.values()
                )
                for text in texts
            }
        for one in self.indexed:
            for other in self.indexed.keys() - {one}:
                request = SearchRequest(query=f"branch:{one} -branch:{other}", limit=100)
                differs = {hit.snippet.strip() for hit in self.index.search(request).hits}
                theirs = self.indexed[other].values()
                assert differs == {
                    text.strip() for text in self.indexed[one].values() if text not in theirs
                }

    def teardown(self) -> None:
        self.catalog.close()
        shutil.rmtree(self.folder)


Branches.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=15)
TestBranches = Branches.TestCase
