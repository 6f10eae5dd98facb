"""What a process keeps of a branch is that of one state of the index."""

from pathlib import Path

from engine.references.kept import Kept
from engine.references.sources import Contents
from engine.store.references import SourceRow
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree


def test_what_is_kept_goes_when_the_index_changes(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "def f_one(): pass\nf_one()\n"})
    contents = Contents(SourceRow("a.py", 1, "python", b"", None), b"x = 1\n", [])
    kept = Kept()
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        with project._store.read() as handle:
            before = kept.branch(handle, 1)
            before.texts.put(1, contents, contents.size_bytes)
            assert before.names(handle).texts_with("f_one")
            assert kept.branch(handle, 1) is before
            assert kept.branch(handle, 1).texts.get(1) is contents
            assert kept.branch(handle, 2).texts.get(1) is contents  # the texts of all branches
        size = kept.size_bytes
        assert size >= contents.size_bytes
        (root / "b.py").write_text("f_one()\n")
        project.index()
        with project._store.read() as handle:
            after = kept.branch(handle, 1)
        assert after is not before
        assert after.texts.get(1) is None
        assert kept.size_bytes < size
        kept.evict()
        assert kept.size_bytes == 0
