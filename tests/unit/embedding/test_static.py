"""The built-in model: words → vectors of length 1."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.cancellation import never
from engine.embedding import static, static_model
from engine.embedding.static import StaticEmbedder, load_static
from engine.embedding.static_model import StaticModel
from engine.embedding.static_weights import (
    _LOOKED_UP,
    _MODEL_FILE,
    Header,
    Splitter,
    Weights,
    load_weights,
)
from engine.errors import EmbedderUnavailableError
from tools.training.train import exported

WORDS = ["session", "cookie", "store", "tree", "leaf", "client", "er", "s", "x"]
VECTORS = [
    [1, 0, 0, 0], [0.9, 0.1, 0, 0], [0.7, 0, 0.3, 0], [0, 1, 0, 0], [0, 0.9, 0.1, 0],
    [0, 0, 1, 0], [0, 0, 0, 0.5], [0, 0, 0, 0.2], [0, 0, 0.1, 0.1],
]  # fmt: skip
HEADER = Header("tiny", 0, 0, 0, 0.5, (3.0, 1.0, 1.0), (1.0, 2.0), 0.4, 0.5)


def file_of(header: Header = HEADER) -> bytes:
    return exported(header, WORDS, np.array(VECTORS, np.float32))


@pytest.fixture
def weights() -> Weights:
    return Weights(file_of())


@pytest.fixture
def model(weights: Weights) -> StaticModel:
    return StaticModel(weights)


def test_vectors_have_length_one_and_near_meanings_lie_near(
    model: StaticModel, weights: Weights
) -> None:
    chunks = model.embed_chunks(
        [("session", "", "store cookie"), ("tree", "", "leaf leaf"), ("", "client", "")]
    )
    assert chunks.dtype == np.float32
    assert np.allclose(np.linalg.norm(chunks, axis=1), 1, atol=1e-5)
    question = weights.embed_query("How is a Cookie stored?")
    assert len(question) == model.dimension
    assert np.linalg.norm(question) == pytest.approx(1)
    assert int(np.argmax(chunks @ question)) == 0


def test_a_text_without_words_is_all_zeros(model: StaticModel, weights: Weights) -> None:
    chunks = model.embed_chunks([("", "", ""), ("", "", "123456"), ("tree", "", "")])
    assert chunks.any(axis=1).tolist() == [False, False, True]
    assert weights.embed_query("?") == [0.0] * 4
    assert not model.embed_paths([("", "")]).any()
    assert model.embed_chunks([]).shape == (0, 4)


def test_an_unknown_word_is_made_of_its_pieces(weights: Weights) -> None:
    assert Splitter({"client": 0, "s": 1, "er": 2}).rows("clients") == [0, 1]
    assert Splitter({"client": 0}).rows("1234567") == []
    rows = {"cli": 0, "client": 1, "se": 2, "sess": 3, "i": 4, "on": 5, "io": 6, "x": 7}
    assert Splitter(rows).rows("clientsessionclicx") == [1, 3, 6, 0, 7]
    assert Splitter(rows).rows("seionи") == [2, 6]
    plural = weights.embed_query("clients")
    known = weights.embed_query("client")
    assert 0.9 < float(np.dot(plural, known)) < 1


def test_a_word_is_the_same_looked_up_in_the_file_or_in_a_dictionary(weights: Weights) -> None:
    words = [*WORDS, "clients", "sessions", "?", "ses", "tre", "\ud800"]
    first = [weights.embed_query(word) for word in words]
    for _ in range(_LOOKED_UP):
        weights.embed_query("tree")
    assert "rows" in vars(weights)
    assert [weights.embed_query(word) for word in words] == first


def test_names_count_more_than_bodies(model: StaticModel, weights: Weights) -> None:
    by_name, by_body = model.embed_chunks([("tree", "", "session"), ("session", "", "tree")])
    assert by_name @ weights.embed_query("tree") > by_body @ weights.embed_query("tree")


def test_repeated_words_count_more(model: StaticModel, weights: Weights) -> None:
    once, often = model.embed_chunks([("", "", "tree session"), ("", "", "tree tree tree session")])
    assert often @ weights.embed_query("tree") > once @ weights.embed_query("tree")


def test_equal_input_gives_equal_vectors(model: StaticModel) -> None:
    rows = [("session", "client", f"store{number} tree sessions") for number in range(50)]
    first = model.embed_chunks(rows)
    assert (first == StaticModel(Weights(file_of())).embed_chunks(rows)).all()
    assert (first[::-1] == model.embed_chunks(rows[::-1])).all()


def test_a_vector_does_not_depend_on_what_is_embedded_with_it(model: StaticModel) -> None:
    rows = [
        ("client " * (number % 3), "session trees", f"store{'s' * number} tree " * number)
        for number in range(100)
    ]
    together = model.embed_chunks(rows)
    alone = np.concatenate([model.embed_chunks([row]) for row in reversed(rows)])[::-1]
    assert (together == alone).all()
    paths = [(f"client tree{number}", "session" * (number % 2)) for number in range(100)]
    together = model.embed_paths(paths)
    alone = np.concatenate([model.embed_paths([path]) for path in reversed(paths)])[::-1]
    assert (together == alone).all()


def test_made_words_are_forgotten_without_a_trace(
    model: StaticModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("", "", f"tree{'s' * number}x client") for number in range(1, 60)]
    expected = model.embed_chunks(rows)
    monkeypatch.setattr(static_model, "_MAX_MADE", 12)
    monkeypatch.setattr(static_model, "_TEXTS_AT_ONCE", 4)
    small = StaticModel(Weights(file_of()))
    assert (small.embed_chunks(rows) == expected).all()
    assert len(small._ids) <= len(WORDS) + 12 + 4


def test_threads_do_not_mix_words(model: StaticModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("", "", f"client{'s' * number}x tree") for number in range(1, 60)]
    expected = model.embed_chunks(rows)
    monkeypatch.setattr(static_model, "_MAX_MADE", 12)
    monkeypatch.setattr(static_model, "_TEXTS_AT_ONCE", 4)
    small = StaticModel(Weights(file_of()))
    wrong: list[int] = []

    def embed() -> None:
        wrong.extend(1 for _ in range(10) if (small.embed_chunks(rows) != expected).any())

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_identity_tells_weights_apart(weights: Weights) -> None:
    other = Weights(file_of(HEADER._replace(path_share=0.5)))
    name, dimension, digest = weights.identity.split("/")
    assert (name, dimension, len(digest)) == ("tiny", "4", 8)
    assert other.identity != weights.identity


def test_damaged_weights_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "static.bin"
    damaged.write_bytes(file_of()[:-1])
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)  # a hole, which takes no space
    load_weights.cache_clear()
    for place in (damaged, *(tmp_path / name for name in ("nowhere", "pipe", "huge"))):
        monkeypatch.setattr("engine.embedding.static_weights._MODEL_FILE", str(place))
        with pytest.raises(EmbedderUnavailableError, match="the built-in model cannot be read"):
            StaticEmbedder()


def test_weights_that_have_changed_are_not_indexed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StaticEmbedder().prepare(never)
    data = bytearray(Path(_MODEL_FILE).read_bytes())
    data[-1] ^= 1
    changed = tmp_path / "static.bin"
    changed.write_bytes(data)
    monkeypatch.setattr("engine.embedding.static_weights._MODEL_FILE", str(changed))
    load_weights.cache_clear()
    try:
        with pytest.raises(EmbedderUnavailableError, match="are damaged"):
            StaticEmbedder().prepare(never)
    finally:
        load_weights.cache_clear()


@pytest.mark.parametrize("data", [b"", b"cairn-static 9\n{}", file_of()[:-1], file_of() + b"x"])
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="weights file"):
        Weights(data)


def test_the_model_that_comes_with_the_program_knows_code() -> None:
    model = load_static()
    assert model is load_static()
    weights = load_weights()
    assert weights.identity == Weights(Path(_MODEL_FILE).read_bytes()).identity
    chunks = model.embed_chunks(
        [
            ("retry request retryrequest", "retry when the connection drops", "sleep backoff"),
            ("parse header", "split a header line", "line split colon strip"),
            ("render template", "fill in a page", "context html escape"),
        ]
    )
    for question, best in (
        ("how are failed connections tried again", 0),
        ("reading http fields", 1),
        ("making web pages", 2),
    ):
        assert int((chunks @ weights.embed_query(question)).argmax()) == best
    folder = os.path.dirname(static.__file__)
    size = sum(entry.stat().st_size for entry in os.scandir(os.path.join(folder, "model")))
    assert size < 16 << 20
