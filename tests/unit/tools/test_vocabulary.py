"""The rows of a model, and pairs over them."""

from pathlib import Path

import numpy as np

from engine.embedding.static_weights import Splitter
from tools.training.batches import BagShape, Sampler, corpus_of, distinct
from tools.training.pairs import (
    Answer,
    Bags,
    Kind,
    Pair,
    Place,
    Shard,
    load_shard,
    save_shard,
    shard_of,
)
from tools.training.vocabulary import expanded, known_rows, rows_of, vocabulary_of


def _pair(query: str, body: str, file: int = 0, name: str = "tree") -> Pair:
    return Pair(Kind.DOC, query, Answer(name, "def tree", body), Place("src", "tree", file))


def _shards() -> list[Shard]:
    one = [_pair("grow tree", "leaf leaf branch", 0), _pair("cut tree", "saw branch", 0)]
    two = [_pair("plant tree", "leaf soil zyxzyx 12345", 3), _pair("grow tree", "rain zyxzyx", 4)]
    return [shard_of(one), shard_of(two)]


def test_words_of_several_repositories_have_rows() -> None:
    words, pieces = vocabulary_of(_shards(), max_words=100, max_pieces=300)
    assert set(words) == {"tree", "grow", "leaf", "def", "src"}
    assert "soil" not in words
    assert {"a", "z", "0"} <= set(pieces)
    assert "zyx" in pieces
    assert not set(words) & set(pieces)
    assert vocabulary_of(_shards(), max_words=2, max_pieces=40)[0] == words[:2]


def test_words_become_rows_and_keep_their_counts() -> None:
    splitter = Splitter(known_rows(["leaf", "tree"], ["br", "anch"]))
    rows, offsets = rows_of(["branch", "leaf", "9999"], splitter)
    assert rows.tolist() == [2, 3, 0]
    assert offsets.tolist() == [0, 2, 3, 3]
    shard = shard_of([_pair("leaf", "branch leaf leaf leaf leaf")])
    words = expanded(shard.answers, *rows_of(shard.vocabulary, splitter))
    found = dict(zip(words.words.tolist(), (words.codes % 64).tolist(), strict=True))
    assert found == {1: 1, 2: 1, 3: 1, 0: 4}  # of "def" there is no piece


def test_a_shard_comes_back_as_it_was(tmp_path: Path) -> None:
    shard = _shards()[1]
    save_shard(shard, tmp_path / "one.npz")
    again = load_shard(tmp_path / "one.npz")
    assert again.vocabulary == shard.vocabulary
    assert again.size == shard.size == 2
    for name in Bags._fields:
        kept, made = getattr(again.answers, name), getattr(shard.answers, name)
        assert np.array_equal(kept, made)
    save_shard(shard_of([]), tmp_path / "none.npz")
    assert load_shard(tmp_path / "none.npz").size == 0


def test_batches_mask_pieces_of_one_file_and_equal_questions() -> None:
    shards = _shards()
    words, pieces = vocabulary_of(shards, max_words=100, max_pieces=60)
    splitter = Splitter(known_rows(words, pieces))
    corpus = corpus_of(shards, splitter)
    shape = BagShape(word_drop=0, field_drop=0, path_drop=0)
    count = len(words) + len(pieces)
    sampler = Sampler(corpus, count, shape, splitter, np.random.default_rng(1))
    batch = sampler.batch(np.arange(4))
    expected = np.zeros((4, 4), bool)
    expected[0, 1] = expected[1, 0] = True  # one file
    expected[0, 3] = expected[3, 0] = True  # one question
    assert (batch.masked == expected).all()
    leaf = words.index("leaf")
    assert batch.answers[0, leaf] == np.float32(2**shape.count_power)
    tree = words.index("tree")
    assert batch.answers[0, tree] == shape.field_factors[0] + shape.field_factors[1]
    assert batch.paths[0, tree] == shape.path_factors[1]
    drawn = list(sampler.batches())
    assert sum(len(each.masked) for each in drawn) == 4


def test_what_asks_the_same_of_the_same_file_counts_once() -> None:
    pairs = [_pair("grow tree", "leaf", 1), _pair("grow tree", "leaf", 2), _pair("cut", "leaf", 1)]
    shard = shard_of([*pairs, _pair("grow tree", "branch", 1)])
    corpus = corpus_of([shard, shard], Splitter(known_rows(["tree", "leaf"], ["x"])))
    assert distinct(corpus).tolist() == [0, 1, 2, 4, 5, 6]
