"""Vectors through whole runs: with chunks, after them, taken over, and from model to model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.embedding.static import StaticEmbedder
from engine.errors import Cancelled, InvalidConfigError
from engine.index_records import IndexOptions, Phase, Progress
from engine.indexing.vectors import passages_of
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.store import models, quantization, vectors
from engine.store.blobs import read_pieces
from engine.store.connection import Store
from engine.syntax.analysis import analyse
from tests.support.catalogs import open_catalog
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.git_trees import run_git
from tests.support.onnx_models import write_model
from tests.support.oracle import check_embedded, check_sound, contents
from tests.support.trees import SAMPLE, write_tree

STATIC = StaticEmbedder().identity
MANY = "".join(f"def function_{number}(value):\n" + "    value += 1\n" * 30 for number in range(30))


def database(config: Config, tree: Path) -> Path:
    return config.data_dir / f"{project_id_of(str(tree))}.db"


def with_model(config: Config, model: str) -> Config:
    return replace(config, model=model)


def test_the_built_in_model_embeds_with_the_chunks(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE | {"empty.py": "", "copy.md": SAMPLE["README.md"]})
    told: list[Progress] = []
    index = catalog.create(str(tree))
    report = index.index(on_progress=told.append)
    assert report.embeddings_generated == report.chunks > 0
    assert report.notes == ()
    assert Phase.EMBEDDING not in {progress.phase for progress in told}
    status = index.status()
    assert (status.embeddings, status.model) == (status.chunks, "static")
    assert status.coverage.embedded == 1.0
    check_sound(database(config, tree))
    check_embedded(database(config, tree), STATIC)


def test_a_file_without_a_word_that_the_model_knows_is_indexed(
    config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE | {"blank.py": "\n", "blank.md": " \n\n"})
    settings = with_model(config, f"onnx:{write_model(tmp_path / 'small')}")
    with open_catalog(settings) as catalog:
        index = catalog.create(str(tree))
        index.index()
        assert index.status().coverage.embedded == 1.0
    check_sound(database(config, tree))


def test_vectors_come_and_go_with_chunks_and_files(
    catalog: Catalog, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    index = catalog.create(str(tree))
    index.index()
    (tree / "README.md").unlink()
    (tree / "cmd/server/main.go").rename(tree / "cmd/server/start.go")
    write_tree(tree, {"app/session.py": "def close_all():\n    return None\n"})
    index.index()
    check_sound(database(config, tree))
    check_embedded(database(config, tree), STATIC)
    with open_catalog(replace(config, data_dir=config.data_dir / "fresh")) as other:
        other.create(str(tree)).index()
    fresh = config.data_dir / "fresh" / database(config, tree).name
    assert contents(database(config, tree)) == contents(fresh)
    index.clear()
    assert index.status().embeddings == 0
    assert index.index().embeddings_generated > 0
    check_embedded(database(config, tree), STATIC)


def test_vectors_go_with_their_branch(
    catalog: Catalog, config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q", "-b", "main")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    index = catalog.create(str(tree))
    index.index()
    run_git(tree, tmp_path, "checkout", "-q", "-b", "feature")
    write_tree(tree, {"only.py": "def only_here():\n    return 1\n"})
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "second")
    assert index.index().embeddings_generated == 1
    check_embedded(database(config, tree), STATIC)
    run_git(tree, tmp_path, "checkout", "-q", "main")
    run_git(tree, tmp_path, "branch", "-q", "-D", "feature")
    assert index.index().embeddings_generated == 0
    check_sound(database(config, tree))
    check_embedded(database(config, tree), STATIC)


def test_a_worktree_takes_over_the_vectors_of_its_sibling(
    catalog: Catalog, config: Config, tree: Path, tmp_path: Path
) -> None:
    write_tree(tree, SAMPLE)
    run_git(tree, tmp_path, "init", "-q")
    run_git(tree, tmp_path, "add", "-A")
    run_git(tree, tmp_path, "commit", "-q", "-m", "first")
    other = tmp_path / "other"
    run_git(tree, tmp_path, "worktree", "add", "-q", "-b", "feature", str(other))
    catalog.create(str(tree)).index()
    assert catalog.create(str(other)).index().embeddings_generated == 0
    check_sound(database(config, other))
    check_embedded(database(config, other), STATIC)


def test_words_made_again_are_those_of_parsing(
    catalog: Catalog, config: Config, tree: Path, tmp_path: Path
) -> None:
    here = Path(__file__).resolve().parents[1]
    for file in (*here.parent.glob("engine/**/*.py"), *here.parent.glob("*.md")):
        target = tree / file.relative_to(here.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    write_tree(tree, SAMPLE | {"umlaut.py": 'def größe(maß):\n    """Länge von ß."""\n'})
    catalog.create(str(tree)).index()
    store = Store(database(config, tree), busy_timeout_ms=1000)
    with store.read() as handle:
        ids = [id_ for (id_,) in handle.execute("SELECT id FROM chunks")]
        pieces = read_pieces(handle, ids)
        found = {
            piece.chunk_id: passage
            for piece, passage in zip(pieces, passages_of(handle, pieces), strict=True)
        }
        rows: list[tuple[Any, ...]] = handle.execute(
            """SELECT f.path, b.language, group_concat(c.id) FROM files f
               JOIN blobs b ON b.id = f.blob_id JOIN chunks c ON c.blob_id = b.id
               GROUP BY f.id"""
        ).fetchall()
    assert len(rows) > 100
    for path, language, chunk_ids in rows:
        text = (tree / path.decode()).read_bytes()
        analysis = analyse(text, language, deadline_ms=600_000)
        ids = sorted(map(int, chunk_ids.split(",")))
        for row, chunk_id in zip(analysis.chunks, ids, strict=True):
            assert found[chunk_id].text == text[row.span.byte_start : row.span.byte_end].decode()
            assert found[chunk_id][1:] == row[-3:], path
    store.close()


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture
def opened(config: Config, fakes: Fakes) -> Callable[[str], Catalog]:
    return lambda model: open_catalog(with_model(config, model), open_embedder=fakes)


def fake(fakes: Fakes, name: str) -> FakeEmbedder:
    return fakes.named(f"fake:{name}")


def test_a_slow_backend_follows(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE | {"many.py": MANY, "more.py": MANY + "def more():\n    pass\n"})
    told: list[Progress] = []
    with opened("fake:a") as catalog:
        index = catalog.create(str(tree))
        report = index.index(on_progress=told.append)
        assert index.status().model == "fake:a"
    texts = fake(fakes, "a").passages
    assert len(texts) == len(set(texts)) == report.embeddings_generated < report.chunks
    assert sorted(fake(fakes, "a").paths) == sorted([*SAMPLE, "many.py", "more.py"])
    embedding = [progress for progress in told if progress.phase is Phase.EMBEDDING]
    assert (embedding[0].done, embedding[0].total) == (0, len(texts))
    assert embedding[0].current_path
    assert fake(fakes, "a").is_closed
    check_sound(database(config, tree))
    check_embedded(database(config, tree), "fake:a/16")


def test_what_did_not_change_is_not_embedded_again(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    write_tree(tree, {"many.py": MANY})
    with opened("fake:a") as catalog:
        index = catalog.create(str(tree))
        assert index.index().embeddings_generated > 5
        write_tree(tree, {"many.py": MANY + "def one_more():\n    return 1\n"})
        assert 1 <= index.index().embeddings_generated <= 2
        check_embedded(database(config, tree), "fake:a/16")
        assert index.index(IndexOptions(force=True)).embeddings_generated == 0
    check_sound(database(config, tree))
    check_embedded(database(config, tree), "fake:a/16")


def test_a_backend_that_is_away_leaves_words_and_a_note(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    many = {f"module{number}.py": f"def function_{number}(): pass\n" for number in range(200)}
    write_tree(tree, many)
    embedder = fake(fakes, "a")
    with opened("fake:a") as catalog:
        index = catalog.create(str(tree))
        embedder.fail_after = 6  # one for paths, five for chunks: one batch and a piece
        report = index.index()
        assert (report.files_indexed, report.errors) == (200, ())
        [note] = report.notes
        assert note.startswith("fake:a is away: start it again; all words are searched")
        assert report.embeddings_generated == 64
        coverage = index.search(SearchRequest(query="function", mode=Mode.KEYWORD)).coverage
        assert (coverage.embedded, coverage.complete) == (64 / 200, True)
        assert index.status().embeddings == 64
        check_sound(database(config, tree))
        embedder.fail_after = None
        before = len(embedder.passages)
        report = index.index()
        assert (report.files_indexed, report.embeddings_generated, report.notes) == (0, 136, ())
        assert len(embedder.passages) - before == 136
        assert index.status().coverage.embedded == 1.0
    check_embedded(database(config, tree), "fake:a/16")


def test_embedding_can_be_cancelled_and_goes_on(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    many = {f"module{number}.py": f"def function_{number}(): pass\n" for number in range(200)}
    write_tree(tree, many)
    embedder = fake(fakes, "a")
    with opened("fake:a") as catalog:
        index = catalog.create(str(tree))
        with pytest.raises(Cancelled):
            index.index(cancelled=lambda: len(embedder.passages) >= 100)
        status = index.status()
        assert (status.embeddings, status.coverage.complete) == (64, True)
        assert index.index().embeddings_generated == 136
    check_embedded(database(config, tree), "fake:a/16")


def test_a_switch_of_models_parses_nothing_and_keeps_the_old_vectors_until_then(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    many = {f"module{number}.py": f"def function_{number}(): pass\n" for number in range(200)}
    write_tree(tree, many)
    with opened("static") as catalog:
        catalog.create(str(tree)).index()
    static = contents(database(config, tree))
    embedder = fake(fakes, "a")
    embedder.fail_after = 6
    with opened("fake:a") as catalog:
        index = catalog.create(str(tree))
        report = index.index()
        assert (report.files_indexed, report.files_unchanged) == (0, 200)
        assert len(report.notes) == 1
        assert contents(database(config, tree)) == static
        assert (index.status().model, index.status().coverage.embedded) == ("static", 1.0)
        # What changes meanwhile has vectors of the model that answers.
        write_tree(tree, {"module0.py": "def changed(): pass\n", "new.py": "def new(): pass\n"})
        embedder.fail_after = 0
        index.index()
        assert (index.status().model, index.status().coverage.embedded) == ("static", 1.0)
        embedder.fail_after = None
        report = index.index()
        assert (report.files_indexed, report.embeddings_generated) == (0, 201 - 64 + 1)
        assert index.status().model == "fake:a"
        check_embedded(database(config, tree), "fake:a/16")
    with opened("fake:b/24") as catalog:
        catalog.create(str(tree)).index()
        check_embedded(database(config, tree), "fake:b/24")
    with opened("static") as catalog:
        report = catalog.create(str(tree)).index()
        assert (report.files_indexed, report.embeddings_generated) == (0, 201)
        check_embedded(database(config, tree), STATIC)
    check_sound(database(config, tree))
    with open_catalog(replace(config, data_dir=config.data_dir / "fresh")) as other:
        other.create(str(tree)).index()
    fresh = config.data_dir / "fresh" / database(config, tree).name
    assert contents(database(config, tree)) == contents(fresh)


def test_a_model_that_was_given_up_halfway_goes(
    opened: Callable[[str], Catalog], fakes: Fakes, config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with opened("static") as catalog:
        catalog.create(str(tree)).index()
    fake(fakes, "a").fail_after = 1
    with opened("fake:a") as catalog:
        assert catalog.create(str(tree)).index().notes
    with opened("fake:b") as catalog:
        catalog.create(str(tree)).index()
    check_embedded(database(config, tree), "fake:b/16")


def test_without_a_model_vectors_stay_as_long_as_their_chunks(
    opened: Callable[[str], Catalog], config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with opened("none") as catalog:
        index = catalog.create(str(tree))
        report = index.index()
        assert (report.embeddings_generated, report.notes) == (0, ())
        status = index.status()
        assert (status.embeddings, status.model, status.coverage.embedded) == (0, None, 0.0)
    with opened("static") as catalog:
        report = catalog.create(str(tree)).index()
        assert (report.files_indexed, report.embeddings_generated) == (0, status.chunks)
    check_embedded(database(config, tree), STATIC)
    with opened("none") as catalog:
        (tree / "README.md").unlink()
        write_tree(tree, {"new.py": "def new(): pass\n"})
        index = catalog.create(str(tree))
        assert index.index().embeddings_generated == 0
        status = index.status()
        assert (status.embeddings, status.model) == (status.chunks - 1, "static")
        assert index.why("new.py").facts["embedded"] is False
        assert index.why("app/session.py").facts["embedded"] is True
        check_sound(database(config, tree))


def test_a_setting_that_cannot_be_read_changes_nothing(
    opened: Callable[[str], Catalog], config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with opened("magic") as catalog, pytest.raises(InvalidConfigError):
        catalog.create(str(tree)).index()


def test_vectors_that_bits_cannot_hold_are_refused(
    opened: Callable[[str], Catalog], tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with opened("fake:odd/20") as catalog:
        report = catalog.create(str(tree)).index()
    assert "20 numbers, wanted a multiple of 8" in report.notes[0]


def test_the_model_fits_into_the_smallest_worker(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(replace(config, worker_memory=256 << 20)) as catalog:
        report = catalog.create(str(tree)).index()
    assert (report.files_indexed, report.embeddings_generated) == (len(SAMPLE), report.chunks)
    check_embedded(database(config, tree), STATIC)


def test_an_index_without_vectors_gets_them_and_is_not_parsed_again(
    config: Config, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(with_model(config, "none")) as catalog:
        catalog.create(str(tree)).index()
    handle = apsw.Connection(str(database(config, tree)))
    handle.execute(
        """ALTER TABLE blob_texts DROP COLUMN marks; DROP TABLE map_axes; DROP TABLE blob_names;
           ALTER TABLE project DROP COLUMN model_id; DROP TABLE models;
           ALTER TABLE project DROP COLUMN looked_pages;
           ALTER TABLE project DROP COLUMN looked_chunks;
           DROP TABLE job_events; DROP TABLE job_checkpoints; DROP TABLE jobs;
           DROP TABLE commit_terms; DROP TABLE commit_vectors; DROP TABLE commit_files;
           DROP TABLE commit_paths; DROP TABLE commits; DROP TABLE history;
           DROP TABLE memory_terms; DROP TABLE memory_vectors; DROP TABLE memories;
           ALTER TABLE files DROP COLUMN is_linked;
           ALTER TABLE project DROP COLUMN allow_secret_files;
           PRAGMA user_version = 3"""
    )
    handle.close()
    with open_catalog(config) as catalog:
        report = catalog.create(str(tree)).index()
    assert report.files_unchanged == len(SAMPLE)
    assert report.embeddings_generated > 0
    check_sound(database(config, tree))
    check_embedded(database(config, tree), STATIC)


def test_the_stored_vectors_are_those_of_the_model(config: Config, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()
    store = Store(database(config, tree), busy_timeout_ms=1000)
    with store.read() as handle:
        model = models.read_current_model(handle)
        assert model is not None
        stored = vectors.read_chunk_vectors(handle, model)
        pieces = read_pieces(handle, stored.ids.tolist())
        wanted = StaticEmbedder().embed_passages(passages_of(handle, pieces), lambda: False)
        assert (stored.vectors == quantization.quantized(wanted)).all()
        paths = handle.execute("SELECT CAST(path AS TEXT) FROM files ORDER BY id").fetchall()
        wanted = StaticEmbedder().embed_paths([str(path) for (path,) in paths], lambda: False)
        found = vectors.read_file_vectors(handle, model).vectors
        assert (found == quantization.quantized(wanted)).all()
    store.close()
