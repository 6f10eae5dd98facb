"""SIGKILL at any moment of a model switch: each answer comes from one model, and it completes."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.config import load_config
from engine.indexing.vectors import passages_of
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.store import models, quantization, vector_rows, vectors
from engine.store.blobs import read_pieces
from engine.store.connection import Store
from tests.support.catalogs import open_catalog
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.oracle import check_embedded, check_sound, contents
from tests.support.patience import patience

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[4])
from pathlib import Path
from engine.catalog import Catalog
from engine.config import load_config
from tests.support.embedders import FakeEmbedder, Fakes
fakes = Fakes(FakeEmbedder("a", delay_s=0.01), FakeEmbedder("b", 24, delay_s=0.01))
config = load_config(Path(sys.argv[1]), workers=1, batch_bytes=65536, model=sys.argv[3])
with Catalog(config, open_embedder=fakes) as catalog:
    catalog.create(sys.argv[2]).index()
"""
_IDENTITIES = {"fake:a": "fake:a/16", "fake:b": "fake:b/24"}
_EMBEDDERS = {"fake:a/16": FakeEmbedder("a"), "fake:b/24": FakeEmbedder("b", 24)}
_FILES = 400
_LOOKED_AT = 20


def generate(root: Path, seed: int) -> None:
    """Write a tree of Python files, some of them alike; another seed changes a part of it."""
    for number in range(_FILES):
        random_ = random.Random(f"{number} {seed if number % 10 == 0 else 0}")
        body = "".join(
            f"def function_{number // 2}_{part}(value):\n"
            f"    return value * {random_.randrange(5)}\n\n"
            for part in range(random_.randrange(1, 30))
        )
        (root / f"module{number}.py").write_text(body)


def start(home: Path, root: Path, model: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(home), str(root), model, os.getcwd()]
    )


class Asker:
    """Asks all the time, as a search in another process does, and keeps what was wrong.

    Args:
        home: The data directory.
        root: The project.
        is_whole: Whether nothing ever lacks a vector of the model that answers.
    """

    def __init__(self, home: Path, root: Path, *, is_whole: bool) -> None:
        self._home = home
        self._root = root
        self._is_whole = is_whole
        self._random = random.Random(3)
        self._stop = threading.Event()
        self.models_met: set[str] = set()
        self.answers = 0
        self.errors: list[BaseException] = []

    @contextmanager
    def asking(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        config = load_config(self._home, busy_timeout=int(patience(5000)))
        store = Store(
            self._home / f"{project_id_of(str(self._root))}.db", busy_timeout_ms=config.busy_timeout
        )
        try:
            with open_catalog(config, open_embedder=Fakes()) as catalog:
                index = catalog.open(str(self._root))
                while not self._stop.is_set():
                    self._ask(store)
                    answer = index.search(SearchRequest(query="function value", mode=Mode.KEYWORD))
                    assert answer.hits
                    if self._is_whole:
                        assert answer.coverage.embedded == 1.0
                    self.answers += 1
                    time.sleep(0.005)
        except BaseException as error:
            self.errors.append(error)
        finally:
            store.close()

    def _ask(self, store: Store) -> None:
        """Read vectors as a search does; they are all of the model that the index names."""
        with store.read() as handle:
            model = models.read_current_model(handle)
            assert model is not None
            embedder = _EMBEDDERS[model.identity]
            stored = vectors.read_chunk_vectors(handle, model)
            assert stored.vectors.shape == (len(stored.ids), embedder.dimension)
            if self._is_whole:
                assert not models.lacks_vectors(handle, model)
            ids = self._random.sample(stored.ids.tolist(), _LOOKED_AT)
            pieces = read_pieces(handle, ids)
            asked = passages_of(handle, pieces)
            rows = dict(vector_rows.read_rows(handle, model.chunk_table, ids))
        wanted = embedder.embed_passages(asked, lambda: False)
        found = [vector_rows.numbers_of(rows[id_]) for id_ in sorted(ids)]
        assert found == quantization.quantized(wanted).tolist()
        self.models_met.add(model.identity)


def switch_often(tmp_path: Path, kills: int, *, is_whole: bool) -> str:
    """Kill as many runs that switch between two models; give what was seen, in words."""
    root, home, fresh = tmp_path / "tree", tmp_path / "home", tmp_path / "fresh"
    root.mkdir()
    generate(root, 0)
    database = home / f"{project_id_of(str(root))}.db"
    assert start(home, root, "fake:a").wait() == 0
    check_embedded(database, _IDENTITIES["fake:a"])
    started = time.monotonic()
    assert start(home, root, "fake:b").wait() == 0
    whole_s = within_s = time.monotonic() - started
    random_ = random.Random(5)
    asker = Asker(home, root, is_whole=is_whole)
    killed = tries = 0
    wanted = "fake:a"
    with asker.asking():
        while killed < kills and not asker.errors:
            tries += 1
            process = start(home, root, wanted)
            time.sleep(random_.uniform(0.2 * within_s, within_s))
            was_running = process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += was_running
            # The run that was measured may have stood still for a while.
            within_s = whole_s if was_running else within_s * 0.7
            check_sound(database)
            if not was_running or random_.random() < 0.2:
                wanted = "fake:b" if wanted == "fake:a" else "fake:a"
            if not is_whole:
                generate(root, tries)
        assert start(home, root, wanted).wait() == 0
    if asker.errors:
        raise asker.errors[0]
    check_sound(database)
    check_embedded(database, _IDENTITIES[wanted])
    assert start(fresh, root, wanted).wait() == 0
    assert contents(database) == contents(fresh / database.name)
    assert asker.models_met <= set(_EMBEDDERS)
    return f"{killed} kills in {tries} runs, {asker.answers} answers of {asker.models_met}"


@pytest.mark.parametrize("is_whole", [True, False])
def test_some_kills(tmp_path: Path, is_whole: bool) -> None:
    switch_often(tmp_path, 4, is_whole=is_whole)


@pytest.mark.soak
@pytest.mark.parametrize("is_whole", [True, False])
def test_fifty_kills(tmp_path: Path, is_whole: bool) -> None:
    print(switch_often(tmp_path, 50, is_whole=is_whole) + ": none mixed, all checks clean")
