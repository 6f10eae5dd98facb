"""What memories outlive, with what they go, and that no project sees another's."""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.config import Config, changed_config
from engine.embedding.embedder import Passage, Vectors
from engine.embedding.load import open_embedder
from engine.errors import Cancelled, NotFoundError
from engine.index_records import IndexOptions
from engine.memory_records import MemoryChange, NewMemory
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from engine.store.migrate import newest, steps
from tests.support.catalogs import open_catalog
from tests.support.command import ROOT
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.git_trees import run_git
from tests.support.old_index import make_first_version
from tests.support.oracle import check_sound
from tests.support.traces import traces_of
from tests.support.trees import SAMPLE, write_tree

_CANARIES = ("quincebrwtplkmgvxzhdfj", "medlarkhtzpwqnvbcxrls", "sorbustlmwqzkvnprhgdf")


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def canary_note(canary: str) -> NewMemory:
    return NewMemory(
        summary=f"summary {canary}",
        description=f"description {canary}",
        context={"note": canary},
        tags=(canary,),
    )


def ids_found(index: Project, query: str, *tags: str) -> list[str]:
    return [each.id for each in index.checkpoints.search(query, tags=tags)]


def test_a_memory_outlives_its_index(catalog: Catalog, config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    saved = index.checkpoints.save(canary_note(_CANARIES[0]))
    index.index(IndexOptions(force=True))
    assert index.checkpoints.get(saved.id) == saved
    (tree / "app/session.py").unlink()
    index.index()
    index.clear()
    assert index.checkpoints.list().checkpoints == (saved,)
    assert ids_found(index, _CANARIES[0]) == [saved.id]
    index.index()
    assert ids_found(index, _CANARIES[0], "!indexed") == [saved.id]
    check_sound(database(config, tree))


def test_a_refused_request_deletes_no_memory(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    saved = index.checkpoints.save(canary_note(_CANARIES[0]))
    with pytest.raises(NotFoundError):
        catalog.jobs.submit(str(tree), IndexOptions(branch="nowhere"))
    assert index.checkpoints.get(saved.id) == saved


def test_a_memory_changes_nothing_that_a_process_keeps(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    with index._store.read() as handle:
        before = handle.execute("SELECT changes FROM project").get
    index.checkpoints.delete(index.checkpoints.save(canary_note(_CANARIES[0])).id)
    with index._store.read() as handle:
        assert handle.execute("SELECT changes FROM project").get == before
    assert index.search(SearchRequest(query="open session")).hits


def test_a_forgotten_project_leaves_no_memory(catalog: Catalog, config: Config, tree: Path) -> None:
    index = catalog.create(str(tree))
    index.checkpoints.save(canary_note(_CANARIES[0]))
    assert traces_of(_CANARIES[:1], config.data_dir) != []
    catalog.forget(str(tree))
    assert traces_of(_CANARIES[:1], config.data_dir) == []
    assert catalog.create(str(tree)).checkpoints.list().total == 0


def test_a_deleted_or_changed_memory_leaves_no_byte(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        for number in range(30):
            index.checkpoints.save(NewMemory(summary=f"note {number}", description="word " * 300))
        gone = index.checkpoints.save(canary_note(_CANARIES[0]))
        changed = index.checkpoints.save(canary_note(_CANARIES[1]))
        index.checkpoints.delete(gone.id)
        assert traces_of(_CANARIES[:1], config.data_dir) == []  # at once, not when it is closed
        index.checkpoints.update(changed.id, canary_note(_CANARIES[2]))
        assert traces_of(_CANARIES[:2], config.data_dir) == []
    assert traces_of(_CANARIES[2:], config.data_dir) != []
    assert traces_of(_CANARIES[:2], config.data_dir) == []
    check_sound(database(config, tree))


def test_a_memory_is_deleted_while_somebody_reads(config: Config, tree: Path) -> None:
    """What the reader may still need leaves the disk with the next one that is deleted."""
    with open_catalog(changed_config(config, {"busy_timeout": 50})) as catalog:
        index = catalog.create(str(tree))
        gone, later = (index.checkpoints.save(canary_note(each)) for each in _CANARIES[:2])
        with index._store.read() as handle:
            handle.execute("SELECT count(*) FROM memories").fetchall()
            index.checkpoints.delete(gone.id)
        assert index.checkpoints.list().checkpoints == (later,)
        index.checkpoints.delete(later.id)
        assert traces_of(_CANARIES[:2], config.data_dir) == []


def test_secrets_are_not_saved(config: Config, tree: Path) -> None:
    secret = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        saved = index.checkpoints.save(
            NewMemory(
                summary=f"token {secret}",
                description=f"use {secret} here",
                context={"header": f"Bearer {secret}"},
                tags=(secret,),
            )
        )
        index.checkpoints.update(saved.id, NewMemory(summary="again", description=secret))
    assert secret not in json.dumps([saved.summary, saved.description, dict(saved.context)])
    assert traces_of([secret], config.data_dir) == []


def test_no_project_sees_the_memories_of_another(
    catalog: Catalog, config: Config, tmp_path: Path
) -> None:
    saved = {}
    for number, canary in enumerate(_CANARIES):
        root = tmp_path / f"project{number}"
        write_tree(root, {"same.py": "def shared_by_all():\n    return 1\n"})
        index = catalog.create(str(root))
        index.index()
        saved[canary] = index, index.checkpoints.save(canary_note(canary)).id
    for canary, (index, id_) in saved.items():
        listed = index.checkpoints.list(tags=("!indexed",)).checkpoints
        assert [each.id for each in listed] == [id_]
        for other in _CANARIES:
            found = index.checkpoints.search(f"summary description {other}")
            texts = " ".join(str(each) for each in found)
            assert [each in texts for each in _CANARIES] == [each == canary for each in _CANARIES]
    traces = traces_of(_CANARIES, config.data_dir)
    files = {canary: {line for line in traces if line.startswith(canary)} for canary in _CANARIES}
    for canary, (index, _) in saved.items():
        assert files[canary]
        assert all(index.project_id in line for line in files[canary])


def test_a_new_worktree_takes_no_memories_over(
    catalog: Catalog, config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    index.checkpoints.save(canary_note(_CANARIES[0]))
    other = tmp_path / "other"
    run_git(tree, tmp_path, "worktree", "add", "-q", "-b", "feature", str(other))
    worktree = catalog.create(str(other))
    report = worktree.index()
    assert report.cache_hit_rate == 1  # its contents did come from the sibling
    assert worktree.checkpoints.list(tags=("!indexed",)).total == 0
    catalog.close()
    place = database(config, other).name
    assert [line for line in traces_of(_CANARIES[:1], config.data_dir) if place in line] == []
    check_sound(database(config, other))


def test_an_older_index_gets_memories(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    file = database(config, tree)
    make_first_version(file, tree)
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        saved = index.checkpoints.save(canary_note(_CANARIES[0]))
        index.index()
        assert ids_found(index, _CANARIES[0], "!indexed") == [saved.id]
        assert index.checkpoints.list().total == len(SAMPLE) + 1
    check_sound(file)


def test_an_index_of_the_version_before_keeps_its_files(config: Config, tree: Path) -> None:
    """Made by the steps before those of memories, as the program of then made it."""
    write_tree(tree, SAMPLE)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    file = database(config, tree)
    handle = apsw.Connection(str(file))
    history = (
        "commit_terms",
        "commit_vectors",
        "commit_files",
        "commit_paths",
        "commits",
        "history",
    )
    memories = ("map_axes", "memory_terms", "memory_vectors", "memories", "blob_names")
    for table in (*history, *memories):
        handle.execute(f"DROP TABLE {table}")
    handle.execute("ALTER TABLE blob_texts DROP COLUMN marks")
    handle.execute("DROP INDEX symbols_by_name")
    handle.execute("CREATE INDEX symbols_by_name ON symbols (folded_name)")
    handle.execute("ALTER TABLE files DROP COLUMN is_linked")
    handle.execute("ALTER TABLE project DROP COLUMN allow_secret_files")
    before = next(n for n, sql in enumerate(steps()) if "CREATE TABLE memories" in sql)
    handle.pragma("user_version", before)
    handle.close()
    assert before == newest() - 10, "later steps have to be undone here too"
    with open_catalog(config) as catalog:
        index = catalog.open(str(tree))
        assert index.checkpoints.list().total == len(SAMPLE)
        saved = index.checkpoints.save(canary_note(_CANARIES[0]))
        assert index.index().files_indexed == 0
        assert ids_found(index, _CANARIES[0], "!indexed") == [saved.id]
    check_sound(file)


_SAVES = """
import sys
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
from engine.memory_records import NewMemory
with Catalog(load_config(Path(sys.argv[1]), workers=1)) as catalog:
    checkpoints = catalog.open(sys.argv[2]).checkpoints
    for number in range(40):
        print(checkpoints.save(NewMemory(summary=f"{sys.argv[3]} {number}")).id, flush=True)
"""


def test_processes_and_threads_save_at_once(catalog: Catalog, config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    others = [
        subprocess.Popen(
            [sys.executable, "-c", _SAVES, str(config.data_dir), str(tree), name],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    here: list[str] = []

    def save(name: str) -> None:
        here.extend(index.checkpoints.save(NewMemory(summary=f"{name} {n}")).id for n in range(20))

    threads = [threading.Thread(target=save, args=(name,)) for name in ("third", "fourth")]
    for thread in threads:
        thread.start()
    index.index()
    for thread in threads:
        thread.join()
    told = [line for other in others for line in other.communicate()[0].split()]
    assert [other.returncode for other in others] == [0, 0]
    page = index.checkpoints.list(tags=("!indexed",), limit=200)
    assert {each.id for each in page.checkpoints} == {*told, *here}
    assert (page.total, len(told), len(here)) == (120, 80, 40)
    assert len(ids_found(index, "first 7", "!indexed")) > 0
    check_sound(database(config, tree))


def models_of(file: Path) -> set[object]:
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {model for (model,) in handle.execute("SELECT DISTINCT model FROM memory_vectors")}
    finally:
        handle.close()


def test_vectors_of_two_models_are_never_compared(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    fakes = Fakes()
    note = NewMemory(summary="owls nest", description="in the belfry")
    file = database(config, tree)
    for model, identity in (("fake:a/16", "fake:a/16"), ("fake:b/24", "fake:b/24")):
        with open_catalog(changed_config(config, {"model": model}), open_embedder=fakes) as catalog:
            index = catalog.create(str(tree))
            index.index()
            if not index.checkpoints.list(tags=("!indexed",)).total:
                for _ in range(150):
                    index.checkpoints.save(note)
            assert len(ids_found(index, "owls nest", "!indexed")) == 10
            assert models_of(file) == {identity}
    assert fakes.named("fake:b/24").passages.count("owls nest\n\nin the belfry") == 150


@pytest.mark.parametrize("requests", [0, 1])
def test_words_answer_while_the_model_is_away(config: Config, tree: Path, requests: int) -> None:
    fakes = Fakes(FakeEmbedder("a", fail_after=requests))
    settings = changed_config(config, {"model": "fake:a"})
    with open_catalog(settings, open_embedder=fakes) as catalog:
        index = catalog.create(str(tree))
        saved = index.checkpoints.save(NewMemory(summary="owls nest in the belfry"))
        assert ids_found(index, "belfry") == [saved.id]
    assert models_of(database(config, tree)) <= {"fake:a/16"}
    with open_catalog(settings, open_embedder=Fakes()) as catalog:
        index = catalog.open(str(tree))
        assert ids_found(index, "belfry") == [saved.id]
    assert models_of(database(config, tree)) == {"fake:a/16"}


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("model", ["bge-small", "onnx:bge-smal"])
def test_words_answer_while_the_setting_names_no_model(
    config: Config, tree: Path, model: str, is_indexed: bool
) -> None:
    if is_indexed:
        write_tree(tree, SAMPLE)
        with open_catalog(config) as catalog:
            catalog.create(str(tree)).index()
    settings = changed_config(config, {"model": model})
    with open_catalog(settings, open_embedder=open_embedder) as catalog:
        index = catalog.create(str(tree))
        saved = index.checkpoints.save(NewMemory(summary="owls nest in the belfry"))
        changed = index.checkpoints.change(saved.id, MemoryChange(summary="owls in the belfry"))
        assert index.checkpoints.list(tags=("!indexed",)).checkpoints == (changed,)
        assert ids_found(index, "belfry", "!indexed") == [saved.id]
        assert catalog.search_memories([str(tree)], "belfry").memories[0].id == saved.id
    assert unembedded(database(config, tree)) == 1


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_slow_model_holds_no_save_up(
    config: Config, tree: Path, monkeypatch: pytest.MonkeyPatch, is_indexed: bool
) -> None:
    """Time is up at once here: what would be embedded is left for another search."""

    class Slow(FakeEmbedder):
        def prepare(self, cancelled: CancelToken) -> None:
            if cancelled():
                raise Cancelled("embedding was stopped")

    settings = changed_config(config, {"model": "fake:a"})
    with open_catalog(settings, open_embedder=Fakes(Slow())) as catalog:
        index = catalog.create(str(tree))
        if is_indexed:
            write_tree(tree, SAMPLE)
            index.index()
        monkeypatch.setattr("engine.memories.vectors._PATIENCE_S", -1.0)
        saved = index.checkpoints.save(NewMemory(summary="owls nest in the belfry"))
        assert models_of(database(config, tree)) == set()
        assert saved.id in ids_found(index, "belfry", "!indexed")
        assert catalog.search_memories([str(tree)], "belfry").memories[0].id == saved.id
        changed = index.checkpoints.change(saved.id, MemoryChange(summary="owls in the belfry"))
        assert index.checkpoints.list(tags=("!indexed",)).checkpoints == (changed,)
        monkeypatch.undo()
        assert ids_found(index, "belfry", "!indexed") == [saved.id]
        assert models_of(database(config, tree)) == {"fake:a/16"}


def unembedded(file: Path) -> int:
    """Count the memories without a vector."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        lacking = handle.execute(
            "SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory_id FROM memory_vectors)"
        )
        return int(str(lacking.get))
    finally:
        handle.close()


def test_each_search_makes_some_vectors_of_memories_however_slow_the_model_is(
    config: Config, tree: Path
) -> None:
    """Time is up for whoever wants more than three vectors in a request."""

    class Slow(FakeEmbedder):
        def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
            if len(passages) > 3:
                raise Cancelled("embedding was stopped")
            return super().embed_passages(passages, cancelled)

    file = database(config, tree)
    without = changed_config(config, {"model": "none"})
    with open_catalog(without) as catalog:
        index = catalog.create(str(tree))
        for number in range(8):
            index.checkpoints.save(NewMemory(summary=f"owls nest in belfry {number}"))
    settings = changed_config(config, {"model": "fake:a"})
    with open_catalog(settings, open_embedder=Fakes(Slow())) as catalog:
        index = catalog.open(str(tree))
        lacking = [8]
        while lacking[-1] and len(lacking) < 10:
            assert ids_found(index, "belfry")
            lacking.append(unembedded(file))
    assert lacking[-1] == 0


def test_without_a_model_words_answer(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(changed_config(config, {"model": "none"})) as catalog:
        index = catalog.create(str(tree))
        index.index()
        saved = index.checkpoints.save(NewMemory(summary="open session owls"))
        found = index.checkpoints.search("open session owls")
        assert found[0].id == saved.id
        assert len(found) > 1
    assert models_of(database(config, tree)) == set()
