"""The model of a process: opened when it is needed, once, and left alone while it is away."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from engine.config import Config
from engine.embedding.embedder import Embedder, Passage
from engine.embedding.load import PAUSE_S, QueryEmbedder
from engine.errors import EmbedderUnavailableError, UnavailableError
from tests.support.embedders import FakeEmbedder, HeldEmbedder
from tests.support.patience import patience


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(config: Config) -> Config:
    return replace(config, model="fake:a")


def test_a_question_is_embedded_once(settings: Config) -> None:
    fake = FakeEmbedder()
    opened: list[str] = []

    def opens(config: Config) -> Embedder:
        opened.append(config.model)
        return fake

    questions = QueryEmbedder(settings, opens)
    assert opened == []
    vectors = []

    def ask() -> None:
        vectors.append([*questions.embed("open a session", fake.identity)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == ["fake:a"]
    assert fake.requests == 1
    assert vectors == [fake.vector_of("open a session").tolist()] * 8
    questions.close()
    assert fake.is_closed


def test_few_questions_are_kept(settings: Config) -> None:
    fake = FakeEmbedder()
    questions = QueryEmbedder(settings, lambda _: fake)
    for number in range(3000):
        questions.embed(f"question {number}", fake.identity)
    questions.embed("question 2999", fake.identity)
    assert fake.requests == 3000
    questions.embed("question 0", fake.identity)
    assert fake.requests == 3001


def test_a_model_that_is_away_is_asked_again_after_a_while(settings: Config) -> None:
    fake, clock = FakeEmbedder(fail_after=0), Clock()
    questions = QueryEmbedder(settings, lambda _: fake, now=clock)
    depths = []
    for _ in range(3):
        with pytest.raises(EmbedderUnavailableError) as raised:
            questions.embed("open", fake.identity)
        depths.append(len(raised.traceback))
    assert fake.requests == 1
    assert depths[1] == depths[2]  # what the questions before came by is forgotten
    clock.now += PAUSE_S
    fake.fail_after = None
    assert np.any(questions.embed("open", fake.identity))


def test_no_model_and_another_model_are_told(settings: Config) -> None:
    with pytest.raises(UnavailableError, match="model is none"):
        QueryEmbedder(settings, lambda _: None).embed("open", "fake:a/16")
    with pytest.raises(UnavailableError, match="not of the model fake:a"):
        QueryEmbedder(settings, lambda _: FakeEmbedder()).embed("open", "fake:b/16")


def test_a_known_question_waits_for_nothing_that_is_embedded(settings: Config) -> None:
    held = HeldEmbedder()
    questions = QueryEmbedder(settings, lambda _: held)
    asked = questions.embed("open", held.identity)
    note = Passage("a note that is held back", "", "", "")
    embedding = threading.Thread(
        target=questions.embed_passages, args=([note], held.identity, lambda: False)
    )
    embedding.start()
    held.is_holding.wait()
    again: list[object] = []
    asking = threading.Thread(target=lambda: again.append(questions.embed("open", held.identity)))
    asking.start()
    asking.join(timeout=patience(5.0))
    held.is_free.set()
    assert again == [asked]
    embedding.join()
    asking.join()
