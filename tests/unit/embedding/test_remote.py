"""Servers of embeddings that behave: four protocols, batches, caps that are learned."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config import Config, Secret
from engine.embedding.embedder import Passage
from engine.embedding.http import Clock, RequestFailedError, Transport
from engine.embedding.model_setting import parse_model_setting
from engine.embedding.remote import RemoteEmbedder
from tests.support.embedding_server import (
    FakeTime,
    Handler,
    Received,
    Stub,
    embedding_server,
    status,
    vector_of,
)

PROTOCOLS = ("openai:m@{}", "voyage:voyage-code-3@{}", "ollama:m@{}", "tei:@{}")


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that behaves."""
    with embedding_server() as stub:
        yield stub


@pytest.fixture
def remote(config: Config) -> Iterator[Callable[..., RemoteEmbedder]]:
    """Opens embedders by setting and stub; closes them."""
    opened: list[RemoteEmbedder] = []

    def opens(setting: str, stub: Stub, key: str = "") -> RemoteEmbedder:
        fake = FakeTime()
        clock = Clock(fake.elapsed_s, fake.wall_s, fake.sleep)
        opened.append(
            RemoteEmbedder(
                parse_model_setting(setting.format(stub.url)), Secret(key), config, clock
            )
        )
        return opened[-1]

    yield opens
    for each in opened:
        each.close()


def passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(text, "", "", "") for text in texts]


def never() -> bool:
    return False


def unit(text: str) -> NDArray[np.float64]:
    vector: NDArray[np.float64] = np.array(vector_of(text))
    return vector / float(np.linalg.norm(vector))


@pytest.mark.parametrize("setting", PROTOCOLS)
def test_each_protocol_gives_unit_vectors_in_order(
    setting: str, stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    texts = [f"def f{number}(): {'x ' * number}" for number in range(50)]
    embedder = remote(setting, stub)
    vectors = embedder.embed_passages(passages(texts), never)
    assert vectors.shape == (50, 16)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, unit(text), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_query("where"), unit("where"), atol=1e-6)
    assert embedder.dimension == 16
    assert len(embedder.embed_paths(["a/b.py", "c.go"], never)) == 2
    assert embedder.embed_passages([], never).shape == (0, 16)


def test_what_is_sent(stub: Stub, remote: Callable[..., RemoteEmbedder]) -> None:
    for setting in PROTOCOLS:
        embedder = remote(setting, stub, key="k-1")
        embedder.embed_query("where")
        embedder.embed_passages(passages(["code"]), never)
    sent = [(each.path, each.body) for each in stub.requests if each.method == "POST"]
    assert sent[0] == (
        "/v1/embeddings",
        {"model": "m", "input": ["where"], "encoding_format": "float"},
    )
    assert [body["input_type"] for path, body in sent[2:4]] == ["query", "document"]
    assert sent[4] == (
        "/api/embed",
        {"model": "m", "input": ["where"], "truncate": False, "keep_alive": "30m"},
    )
    assert sent[6] == ("/embed", {"inputs": ["where"], "normalize": True, "truncate": True})
    assert {each.headers["authorization"] for each in stub.requests} == {"Bearer k-1"}


def test_base64_is_read_as_numbers_are(stub: Stub, remote: Callable[..., RemoteEmbedder]) -> None:
    from engine.embedding.remote import request_of, vectors_in

    choice = parse_model_setting("openai:text-embedding-3-small")
    body = request_of(choice, ["x"], is_query=False)
    assert body["encoding_format"] == "base64"
    answer = {"data": [{"embedding": "AACAPwAAAEA="}]}
    assert [list(row) for row in vectors_in(choice.backend, answer)] == [[1.0, 2.0]]


def test_identity_says_model_place_and_dimension(
    stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    embedder = remote("openai:m@{}", stub)
    assert embedder.identity == f"openai/m/{stub.url}/v1/16"
    assert len(stub.requests) == 1
    stub.model = "org/model"
    assert remote("tei:@{}", stub).identity == f"tei/org/model@abc/{stub.url}/16"
    stub.model = "half a pair: \ud83d"
    assert remote("tei:@{}", stub).identity == f"tei/half a pair: ?@abc/{stub.url}/16"
    stub.model = None
    assert remote("tei:@{}", stub).identity == f"tei//{stub.url}/16"


def test_families_get_their_prompts(stub: Stub, remote: Callable[..., RemoteEmbedder]) -> None:
    embedder = remote("ollama:nomic-embed-text:latest@{}", stub)
    embedder.embed_query("where")
    embedder.embed_passages(passages(["code"]), never)
    assert stub.requests[0].texts == ["search_query: where"]
    assert stub.requests[1].texts == ["search_document: code"]
    assert "search_document" in embedder.identity


def test_dimensions_that_are_no_multiple_of_8_are_padded(
    remote: Callable[..., RemoteEmbedder],
) -> None:
    with embedding_server(dimension=13) as stub:
        embedder = remote("openai:m@{}", stub)
        [vector] = embedder.embed_passages(passages(["code"]), never)
        assert embedder.dimension == 16
        assert not vector[13:].any()
        np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_blank_passages_are_not_sent(stub: Stub, remote: Callable[..., RemoteEmbedder]) -> None:
    vectors = remote("openai:m@{}", stub).embed_passages(passages(["", "x", " \n"]), never)
    assert list(np.linalg.norm(vectors, axis=1).round(5)) == [0, 1, 0]
    assert [each.texts for each in stub.requests] == [["x"]]


def test_names_that_are_no_utf8_are_sent_all_the_same(
    stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    embedder = remote("openai:m@{}", stub)
    assert embedder.embed_paths(["caf\udce9.py"], never).shape == (1, 16)
    embedder.embed_query("\ud800 é")
    assert [each.texts for each in stub.requests] == [["caf?.py"], ["? é"]]


def test_batches_grow_while_answers_are_quick(
    stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    remote("openai:m@{}", stub).embed_passages(passages(["x"] * 500), never)
    assert stub.sizes == [8, 16, 32, 64, 128, 128, 124]


def test_requests_come_one_after_the_other(
    stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    """Each request finds the one before answered."""
    under_way = most = 0

    def slowly(handler: Handler, received: Received) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.01)
        under_way -= 1
        handler.answer(200, handler.vectors(received))

    stub.tricks.extend([slowly] * 7)
    remote("openai:m@{}", stub).embed_passages(passages(["x"] * 500), never)
    assert (most, len(stub.requests)) == (1, 7)


def test_a_batch_holds_a_bounded_number_of_tokens(
    stub: Stub, remote: Callable[..., RemoteEmbedder]
) -> None:
    texts = ["word " * 600] * 40  # 1,000 tokens each, 16,000 a batch
    remote("ollama:m@{}", stub).embed_passages(passages(texts), never)
    assert stub.sizes == [8, 16, 16]


@pytest.mark.parametrize("refusal", [413, 400, 422])
@pytest.mark.parametrize("most_items", [1, 3, 5, 10])
def test_a_cap_of_items_is_found_and_kept(
    refusal: int, most_items: int, remote: Callable[..., RemoteEmbedder]
) -> None:
    with embedding_server(most_items=most_items, refusal=refusal) as stub:
        embedder = remote("openai:m@{}", stub)
        texts = [f"text {number}" for number in range(64)]
        vectors = embedder.embed_passages(passages(texts), never)
        for text, vector in zip(texts, vectors, strict=True):
            np.testing.assert_allclose(vector, unit(text), atol=1e-6)
        refused = [size for size in stub.sizes if size > most_items]
        assert len(refused) <= 5
        before = len(stub.requests)
        embedder.embed_passages(passages(texts), never)
        assert all(size <= most_items for size in stub.sizes[before:])


def test_a_cap_of_tokens_is_found(remote: Callable[..., RemoteEmbedder]) -> None:
    with embedding_server(most_bytes=1536) as stub:
        texts = [f"{number:03} " + "x" * 300 for number in range(64)]
        vectors = remote("openai:m@{}", stub).embed_passages(passages(texts), never)
        for text, vector in zip(texts, vectors, strict=True):
            np.testing.assert_allclose(vector, unit(text), atol=1e-6)
        assert len([size for size in stub.sizes if size * 304 > 1536]) <= 3


def test_one_passage_that_is_too_long_is_cut_and_blocks_nothing(
    remote: Callable[..., RemoteEmbedder],
) -> None:
    with embedding_server(longest=512) as stub:
        texts = [f"short {number}" for number in range(20)]
        texts.insert(7, "long " * 400)
        embedder = remote("openai:m@{}", stub)
        vectors = embedder.embed_passages(passages(texts), never)
        np.testing.assert_allclose(vectors[7], unit(texts[7][:500]), atol=1e-6)
        np.testing.assert_allclose(vectors[8], unit("short 7"), atol=1e-6)
        before = len(stub.requests)
        embedder.embed_passages(passages(["long " * 400] * 8), never)
        assert len(stub.requests) == before + 1  # the limit is known: cut before they are sent


def test_a_dense_text_shortens_no_other(remote: Callable[..., RemoteEmbedder]) -> None:
    """A server takes 512 tokens: of dense text fewer bytes than of words."""

    def take(handler: Handler, received: Received) -> None:
        if any(len(text) + 7 * text.count("漢") > 512 for text in received.texts):
            handler.answer(413, {"error": {"message": "too long"}})
        else:
            handler.answer(200, handler.vectors(received))

    def check(texts: Sequence[str]) -> None:
        """Each text was embedded: words up to the longest text that the server has taken."""
        vectors = embedder.embed_passages(passages(texts), never)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)))
        for text, vector in zip(texts, vectors, strict=True):
            if "漢" not in text:
                np.testing.assert_allclose(vector, unit(text[:504]), atol=1e-6)

    with embedding_server(longest=0) as stub:
        stub.always = take
        embedder = remote("openai:m@{}", stub)
        check([f"{number:03} " + "w" * 500 for number in range(5)] + ["漢" * 300])
        check(["w" * 1000])
        check(["漢" * 120])
        stub.requests.clear()
        check(["w" * 1000])
        check([f"{number:03} " + "w" * 1000 for number in range(8)])
        assert len(stub.requests) == 2


def test_the_500_of_some_servers_for_long_texts_is_understood(
    remote: Callable[..., RemoteEmbedder],
) -> None:
    with embedding_server(longest=512) as stub:
        stub.tricks = [status(500, "input is too large to process")]
        [vector] = remote("openai:m@{}", stub).embed_passages(passages(["long " * 150]), never)
        np.testing.assert_allclose(vector, unit(("long " * 150)[:375]), atol=1e-6)


def test_a_passage_refused_at_any_length_is_a_row_of_zeros(
    remote: Callable[..., RemoteEmbedder],
) -> None:
    with embedding_server() as stub:

        def refuse_bad(handler, received) -> None:  # type: ignore[no-untyped-def]
            if any("bad" in text for text in received.texts):
                handler.answer(400, {"error": "I do not like it"})
            else:
                handler.answer(200, handler.vectors(received))

        stub.always = refuse_bad
        embedder = remote("openai:m@{}", stub)
        vectors = embedder.embed_passages(passages(["good", "bad " * 2000, "fine"]), never)
        assert list(np.linalg.norm(vectors, axis=1).round(5)) == [1, 0, 1]
        [vector] = embedder.embed_passages(passages(["word " * 100]), never)
        np.testing.assert_allclose(vector, unit("word " * 100), atol=1e-6)


def test_the_connection_is_kept(stub: Stub, remote: Callable[..., RemoteEmbedder]) -> None:
    ports: set[int] = set()

    def note(handler, received) -> None:  # type: ignore[no-untyped-def]
        ports.add(handler.client_address[1])
        handler.answer(200, handler.vectors(received))

    stub.always = note
    embedder = remote("openai:m@{}", stub)
    for _ in range(5):
        embedder.embed_query("where")
    assert len(ports) == 1


def test_what_nobody_foresaw_about_a_request_is_its_reason(stub: Stub) -> None:
    transport = Transport(stub.url, Secret(""))
    body = {"input": "half of a pair: \ud800"}
    with pytest.raises(RequestFailedError, match="UnicodeEncodeError"):
        transport.send(("POST", stub.url, body), within_s=5, max_bytes=99, cancelled=never)
    transport.close()
