"""Whatever comes, changes and goes between pages, what stays is given once."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from engine.config import load_config
from engine.memory_records import NewMemory
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree


class Pages(RuleBasedStateMachine):
    """Reads one list to its end while others write."""

    @initialize(files=st.integers(0, 5), memories=st.integers(0, 8))
    def begin(self, files: int, memories: int) -> None:
        self.folder = TemporaryDirectory()
        root = Path(self.folder.name) / "tree"
        root.mkdir()
        write_tree(root, {f"f{number}.md": f"text {number}\n" for number in range(files)})
        self.catalog = open_catalog(
            load_config(Path(self.folder.name) / "home", workers=1, model="none")
        )
        self.index = self.catalog.create(str(root))
        self.index.index()
        self.root = root
        self.memories: list[str] = []
        for _ in range(memories):
            self.save()
        listed = self.index.checkpoints.list(limit=1000)
        self.there_from_the_start = {each.id for each in listed.checkpoints}
        self.order = [each.id for each in listed.checkpoints]
        assert listed.total == len(self.order) == files + memories
        self.gone: set[str] = set()
        self.given: list[str] = []
        self.cursor: str | None = None
        self.is_done = False

    @rule()
    def save(self) -> None:
        saved = self.index.checkpoints.save(NewMemory(summary=f"note {len(self.memories)}"))
        self.memories.append(saved.id)

    @precondition(lambda self: self.memories)
    @rule(at=st.integers(0, 99))
    def update(self, at: int) -> None:
        self.index.checkpoints.update(
            self.memories[at % len(self.memories)], NewMemory(summary="changed")
        )

    @precondition(lambda self: self.memories)
    @rule(at=st.integers(0, 99))
    def delete(self, at: int) -> None:
        id_ = self.memories.pop(at % len(self.memories))
        self.index.checkpoints.delete(id_)
        self.gone.add(id_)

    @rule(number=st.integers(0, 9))
    def index_again(self, number: int) -> None:
        (self.root / f"f{number}.md").write_text(f"changed {number}\n")
        self.index.index()

    @precondition(lambda self: not self.is_done)
    @rule(limit=st.integers(1, 4))
    def read_a_page(self, limit: int) -> None:
        page = self.index.checkpoints.list(limit=limit, cursor=self.cursor)
        assert len(page.checkpoints) <= limit
        self.given += [each.id for each in page.checkpoints]
        self.cursor = page.next_cursor
        self.is_done = self.cursor is None

    @invariant()
    def nothing_is_given_twice(self) -> None:
        assert len(self.given) == len(set(self.given))

    def teardown(self) -> None:
        while not self.is_done:
            self.read_a_page(3)
        self.nothing_is_given_twice()
        stayed = [id_ for id_ in self.order if id_ not in self.gone]
        assert [id_ for id_ in self.given if id_ in set(stayed)] == stayed
        self.catalog.close()
        self.folder.cleanup()


TestPages = Pages.TestCase
TestPages.settings = settings(
    max_examples=examples(15),
    stateful_step_count=15,
    suppress_health_check=[HealthCheck.too_slow],
)
