"""Questions to an embedding server: how long they wait, and that they know which model answers."""

from collections.abc import Iterator

import pytest

from engine.config import Config, load_config
from engine.embedding.load import PAUSE_S, QueryEmbedder, open_embedder
from engine.errors import EmbedderUnavailableError, UnavailableError
from tests.support.embedding_server import Stub, embedding_server, hang


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that behaves until it is told not to."""
    with embedding_server(model="org/one") as stub:
        yield stub


@pytest.fixture
def clock() -> Clock:
    """The clock of the questions."""
    return Clock()


@pytest.fixture(params=["openai:m@{}", "tei:@{}"])
def setting(request: pytest.FixtureRequest) -> str:
    """The settings of models whose server says which it has, and whose does not."""
    return str(request.param)


def settings_of(setting: str, stub: Stub, config: Config, query_ms: int = 30_000) -> Config:
    model = setting.format(stub.url)
    return load_config(
        config.data_dir, model=model, embedding_timeout=30_000, query_timeout=query_ms
    )


def identity_of(settings: Config) -> str:
    embedder = open_embedder(settings)
    assert embedder
    try:
        return embedder.identity
    finally:
        embedder.close()


def test_a_first_question_costs_one_request(setting: str, stub: Stub, config: Config) -> None:
    settings = settings_of(setting, stub, config)
    identity = identity_of(settings)
    stub.requests.clear()
    questions = QueryEmbedder(settings, open_embedder)
    questions.embed("where", identity)
    questions.close()
    assert [each.texts for each in stub.requests if each.method == "POST"] == [["where"]]
    assert [each.path for each in stub.requests if each.method == "GET"] in ([], ["/info"])


@pytest.mark.parametrize("is_info", [False, True])
def test_a_first_question_waits_as_long_as_a_question_may(
    setting: str, stub: Stub, config: Config, *, is_info: bool
) -> None:
    settings = settings_of(setting, stub, config, query_ms=300)
    identity = identity_of(settings)
    stub.always = hang
    stub.at_info = hang if is_info else None
    questions = QueryEmbedder(settings, open_embedder)
    with pytest.raises(EmbedderUnavailableError, match=r"no answer within 0\."):
        questions.embed("where", identity)
    questions.close()


def test_a_server_that_was_started_with_another_model_is_known_by_it(
    stub: Stub, config: Config, clock: Clock
) -> None:
    """The vectors of an index are compared with those of its own model alone."""
    settings = settings_of("tei:@{}", stub, config)
    one = identity_of(settings)
    questions = QueryEmbedder(settings, open_embedder, now=clock)
    questions.embed("where", one)
    stub.model = "org/two"
    stub.restart()
    with pytest.raises(EmbedderUnavailableError, match=r"org/two@abc.*org/one@abc"):
        questions.embed("which", one)
    clock.now += PAUSE_S
    with pytest.raises(UnavailableError, match="not of the model"):
        questions.embed("which", one)
    assert questions.embed("which", identity_of(settings))  # once the index has its vectors
    questions.close()


def test_an_index_of_a_new_model_is_searched_by_a_process_that_asked_the_old_one(
    stub: Stub, config: Config, clock: Clock
) -> None:
    settings = settings_of("tei:@{}", stub, config)
    questions = QueryEmbedder(settings, open_embedder, now=clock)
    questions.embed("where", identity_of(settings))
    stub.model = "org/two"
    stub.restart()
    two = identity_of(settings)
    clock.now += PAUSE_S
    assert questions.embed("where", two)
    questions.close()


def test_vectors_of_another_length_are_understood_after_a_while(
    stub: Stub, config: Config, clock: Clock
) -> None:
    settings = settings_of("openai:m@{}", stub, config)
    questions = QueryEmbedder(settings, open_embedder, now=clock)
    questions.embed("where", identity_of(settings))
    stub.dimension = 24
    longer = identity_of(settings)
    clock.now += PAUSE_S
    assert len(questions.embed("which", longer)) == 24
    stub.dimension = 32
    with pytest.raises(EmbedderUnavailableError, match="vectors of 32 numbers, wanted 24"):
        questions.embed("what", longer)
    clock.now += PAUSE_S
    assert len(questions.embed("what", identity_of(settings))) == 32
    questions.close()


def test_another_model_is_not_looked_for_at_each_question(
    stub: Stub, config: Config, clock: Clock
) -> None:
    settings = settings_of("openai:m@{}", stub, config)
    questions = QueryEmbedder(settings, open_embedder, now=clock)
    for number in range(5):
        with pytest.raises(UnavailableError, match="not of the model"):
            questions.embed(f"where {number}", "openai/other")
    assert len(stub.requests) == 1
    clock.now += PAUSE_S
    for number in range(5):
        with pytest.raises(UnavailableError, match="not of the model"):
            questions.embed(f"where {number}", "openai/other")
    assert len(stub.requests) == 2
    questions.close()
