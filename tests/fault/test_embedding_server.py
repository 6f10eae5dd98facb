"""A server of embeddings in every kind of trouble: it ends right or with a clear error, in time."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate

import numpy as np
import pytest

from engine.cancellation import CancelToken
from engine.config import Config, Secret, load_config
from engine.embedding.embedder import Passage
from engine.embedding.http import Clock
from engine.embedding.model_setting import parse_model_setting
from engine.embedding.remote import RemoteEmbedder
from engine.errors import Cancelled, EmbedderUnavailableError
from tests.support.embedding_server import (
    FakeTime,
    Handler,
    Received,
    Stub,
    Trick,
    break_off,
    drip,
    drip_head,
    embedding_server,
    free_port,
    half_json,
    hang,
    if_any_has,
    raw,
    rows,
    status,
)
from tests.support.jobs import until
from tests.support.patience import patience

KEY = "sk-test-0123456789"
Opens = Callable[..., RemoteEmbedder]
CODE = [Passage("def parse(): pass", "", "", "")]


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that behaves until it is told not to."""
    with embedding_server() as stub:
        yield stub


@pytest.fixture
def hasty(config: Config) -> Config:
    """Settings under which a server that hangs is given up soon."""
    return load_config(config.data_dir, embedding_timeout=200, query_timeout=200)


@pytest.fixture
def remote() -> Iterator[Callable[..., RemoteEmbedder]]:
    """Opens embedders by URL; closes them."""
    opened: list[RemoteEmbedder] = []

    def opens(url: str, config: Config, fake: FakeTime | None = None) -> RemoteEmbedder:
        clock = Clock(fake.elapsed_s, fake.wall_s, fake.sleep) if fake else None
        opened.append(
            RemoteEmbedder(parse_model_setting(f"openai:m@{url}"), Secret(KEY), config, clock)
        )
        return opened[-1]

    yield opens
    for each in opened:
        each.close()


def never() -> bool:
    return False


def embed(embedder: RemoteEmbedder) -> np.ndarray:
    return embedder.embed_passages(CODE, never)


def about_code(stub: Stub) -> list[Received]:
    """The requests that came for the code, and not to see whether the server answers at all."""
    return [each for each in stub.requests if each.texts == [CODE[0].text]]


PASSING = {
    "429": status(429, "slow down"),
    "500": status(500, "oops"),
    "502": status(502),
    "503": status(503, "loading"),
    "424": status(424, "inference failed"),
    "408": status(408),
    "529": status(529),
    "half JSON": half_json,
    "broken off": break_off,
}
FINAL = {
    "401": (status(401, f"bad key {KEY}"), "answers 401: bad key …"),
    "403": (status(403, "no"), "answers 403: no"),
    "404": (status(404, "no model m"), "answers 404: no model m"),
    "418": (status(418), "answers 418"),
    "redirect": (status(307, location="http://evil.example/v1?k=1"), "points elsewhere"),
    "redirect without a place": (status(302), "points elsewhere"),
    "redirect to half an address": (status(307, location="http://[bad"), "points elsewhere"),
    "redirect to a bracket": (status(307, location="//["), "points elsewhere"),
    "redirect to no host": (status(307, location="http://a]b/"), "points elsewhere"),
    "a page": (raw(b"<html>hello</html>", content_type="text/html"), "text/html, not with JSON"),
    "no vectors": (raw(b'{"object": "list"}'), "JSON without vectors"),
    "a list": (raw(b"[1, 2]"), "JSON without vectors"),
    "a number": (raw(b"7"), "JSON without vectors"),
    "fewer vectors": (rows(lambda rows: rows[:-1]), "0 vectors for 1 passages"),
    "more vectors": (rows(lambda rows: rows * 2), "2 vectors for 1 passages"),
    "NaN": (rows(lambda rows: [[float("nan")] * 16]), "not finite"),
    "infinity": (rows(lambda rows: [[float("inf")] * 16]), "not finite"),
    "huge numbers": (rows(lambda rows: [[1e200] * 16]), "too large"),
    "zeros": (rows(lambda rows: [[0.0] * 16]), "length 0"),
    "null": (rows(lambda rows: [None]), "something other than rows"),
    "ragged": (rows(lambda rows: [[1.0, [2.0]]]), "unequal length"),
    "no numbers": (rows(lambda rows: [[]]), "vectors of 0 numbers"),
    "words": (rows(lambda rows: [["a", "b"]]), "no numbers at all"),
    "base64": (raw(b'{"data": [{"embedding": "%%"}]}'), "base64"),
    "wrong index": (raw(b'{"data": [{"index": 5, "embedding": [1.0]}]}'), "do not count"),
}


@pytest.mark.parametrize("trick", PASSING.values(), ids=PASSING)
def test_what_passes_is_tried_again(
    trick: Trick, stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    stub.tricks = [trick, trick, trick]
    assert embed(remote(stub.url, config, fake)).shape == (1, 16)
    assert len(stub.requests) == 4
    assert 1.75 <= fake.slept_s <= 3.5  # 0.5 + 1 + 2, each by half to whole


@pytest.mark.parametrize("trick", PASSING.values(), ids=PASSING)
def test_what_does_not_pass_ends_after_three_retries(
    trick: Trick, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = trick
    with pytest.raises(EmbedderUnavailableError, match=r"tried 4 times") as raised:
        embed(remote(stub.url, config, FakeTime()))
    assert len(about_code(stub)) == 4
    assert stub.url in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(("trick", "says"), FINAL.values(), ids=FINAL)
def test_what_is_wrong_for_good_is_said_at_once(
    trick: Trick, says: str, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = trick
    with pytest.raises(EmbedderUnavailableError) as raised:
        embed(remote(stub.url, config, FakeTime()))
    assert says in raised.value.message
    assert len(about_code(stub)) == 1


@pytest.mark.parametrize(
    ("url", "variable", "value", "says"),
    [
        ("http://server.invalid", "ALL_PROXY", "socks5://127.0.0.1:1", "socksio"),
        ("http://server.invalid", "HTTP_PROXY", "gopher://127.0.0.1:1", "scheme"),
        ("https://server.invalid", "SSL_CERT_FILE", "/nowhere/ca.pem", "No such file"),
    ],
)
def test_an_environment_that_cannot_be_used_is_said(
    url: str,
    variable: str,
    value: str,
    says: str,
    config: Config,
    remote: Opens,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for scheme in ("ALL", "HTTP", "HTTPS", "NO"):
        for name in (f"{scheme}_PROXY", f"{scheme}_PROXY".lower()):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    fake = FakeTime()
    embedder = remote(url, config, fake)
    with pytest.raises(EmbedderUnavailableError, match=f"cannot be reached: .*{says}") as raised:
        embed(embedder)
    assert variable in raised.value.hint
    assert fake.slept_s == 0
    with pytest.raises(EmbedderUnavailableError, match="cannot be reached"):
        embedder.embed_query("where")


def test_half_a_character_in_an_error_can_be_stored(
    stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = status(401, "half a pair: \ud83d")
    with pytest.raises(EmbedderUnavailableError, match=r"401: half a pair: \?$"):
        embed(remote(stub.url, config, FakeTime()))


def lengths(vectors: np.ndarray) -> list[float]:
    return [float(each) for each in np.linalg.norm(vectors, axis=1).round(5)]


FAILURES = {
    "424": status(424, "inference failed"),
    "500": status(500, "failed to encode response: json: unsupported value: NaN"),
    "NaN": rows(lambda rows: [[float("nan")] * 16 for _ in rows]),
    "null": rows(lambda rows: [[None] * 16 for _ in rows]),
    "huge numbers": rows(lambda rows: [[1e200] * 16 for _ in rows]),
    "zeros": rows(lambda rows: [[0.0] * 16 for _ in rows]),
}


@pytest.mark.parametrize("trick", FAILURES.values(), ids=FAILURES)
def test_a_text_on_which_the_server_fails_costs_the_others_nothing(
    trick: Trick, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = if_any_has("bad", trick)
    embedder = remote(stub.url, config, FakeTime())
    texts = [Passage("bad" if n in (3, 17) else f"text {n}", "", "", "") for n in range(20)]
    wanted = [0.0 if n in (3, 17) else 1.0 for n in range(20)]
    assert lengths(embedder.embed_passages(texts, never)) == wanted
    assert lengths(embedder.embed_passages(texts[3:4], never)) == [0.0]


@pytest.mark.parametrize("trick", FAILURES.values(), ids=FAILURES)
def test_a_server_that_fails_on_most_texts_is_unavailable(
    trick: Trick, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = if_any_has("bad", trick)
    embedder = remote(stub.url, config, FakeTime())
    with pytest.raises(EmbedderUnavailableError, match="the embedding server"):
        embedder.embed_passages([Passage("bad", "", "", "")] * 20, never)
    some = [Passage("bad", "", "", "")] * 8
    for _ in range(2):
        assert lengths(embedder.embed_passages(some, never)) == [0.0] * 8


def test_a_long_text_on_whose_beginning_the_server_fails(
    stub: Stub, config: Config, remote: Opens
) -> None:
    def answer(handler: Handler, received: Received) -> None:
        is_long = max(map(len, received.texts)) > 512
        trick = status(413) if is_long else if_any_has("bad", status(500))
        trick(handler, received)

    stub.always = answer
    texts = [Passage("bad " * 400, "", "", ""), *CODE]
    assert lengths(remote(stub.url, config, FakeTime()).embed_passages(texts, never)) == [0, 1]


def test_a_server_that_recovers_just_after_the_last_retry_embeds_all(
    stub: Stub, config: Config, remote: Opens
) -> None:
    stub.tricks = [status(500, "loading")] * 4
    assert lengths(embed(remote(stub.url, config, FakeTime()))) == [1.0]


def test_a_refused_connection(config: Config, remote: Opens) -> None:
    fake = FakeTime()
    with pytest.raises(EmbedderUnavailableError, match="cannot be reached") as raised:
        embed(remote(f"http://127.0.0.1:{free_port()}", config, fake))
    assert raised.value.hint == "check that the server is running"
    assert fake.slept_s <= 3.5


@pytest.mark.parametrize("trick", [hang, drip, drip_head])
def test_a_server_without_an_end_is_given_up(
    trick: Trick, stub: Stub, hasty: Config, remote: Opens
) -> None:
    def is_tried_once_more() -> bool:
        stub.tricks = [trick]
        return _answers(embedder)

    stub.always = trick
    before = threading.active_count()
    embedder = remote(stub.url, hasty)
    with pytest.raises(EmbedderUnavailableError, match=r"no answer within 0\.2 s"):
        embed(embedder)
    assert len(stub.requests) <= 2  # those that arrive before they are given up
    with pytest.raises(EmbedderUnavailableError, match="no answer within"):
        embedder.embed_query("where")
    assert len(stub.requests) <= 3
    stub.always = None
    until(is_tried_once_more)
    stub.ended.set()
    until(lambda: threading.active_count() <= before + 1)


def test_a_server_that_is_too_slow_for_a_batch_gets_smaller_ones(
    stub: Stub, config: Config, remote: Opens
) -> None:
    def slow(handler, received) -> None:  # type: ignore[no-untyped-def]
        if len(received.texts) > 4:
            hang(handler, received)
        else:
            handler.answer(200, handler.vectors(received))

    stub.always = slow
    patient = load_config(config.data_dir, embedding_timeout=int(patience(1000)))
    assert remote(stub.url, patient).embed_passages(CODE * 8, never).shape == (8, 16)
    assert stub.sizes == [8, 4, 4]


def test_retry_after_in_seconds(stub: Stub, config: Config, remote: Opens) -> None:
    fake = FakeTime()
    stub.tricks = [status(429, retry_after="7"), status(503, retry_after="2.5")]
    embed(remote(stub.url, config, fake))
    assert fake.slept_s == pytest.approx(9.5)


def test_retry_after_as_a_date(stub: Stub, config: Config, remote: Opens) -> None:
    fake = FakeTime()
    stub.tricks = [status(429, retry_after=formatdate(fake.wall_s() + 12, usegmt=True))]
    embed(remote(stub.url, config, fake))
    assert fake.slept_s == pytest.approx(12, abs=1)


@pytest.mark.parametrize("text", ["soon", "-5", "1e9", "", "Fri, 99 Foo 2099 00:00:00 GMT"])
def test_retry_after_that_means_nothing(
    text: str, stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    stub.tricks = [status(429, retry_after=text)]
    embed(remote(stub.url, config, fake))
    assert fake.slept_s <= 0.5


def test_a_rest_that_is_too_long_is_not_waited_for(
    stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    stub.always = status(429, "quota", retry_after="3600")
    with pytest.raises(EmbedderUnavailableError, match="429: quota") as raised:
        embed(remote(stub.url, config, fake))
    assert raised.value.details["retry_after_s"] == 3600
    assert (len(stub.requests), fake.slept_s) == (1, 0)


@pytest.mark.parametrize("wanted_s", ["", "4", "10", "13", "20", "59"])
def test_nobody_waits_longer_than_fifteen_seconds_for_a_batch(
    wanted_s: str, stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    stub.always = status(503, "loading", retry_after=wanted_s)
    with pytest.raises(EmbedderUnavailableError, match="503: loading"):
        embed(remote(stub.url, config, fake))
    assert fake.slept_s <= 15
    assert len(stub.requests) <= 4


def test_each_answer_gives_a_server_its_whole_time_again(
    stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    slow = status(503, retry_after="10")
    stub.most_items = 4
    stub.tricks = [
        status(413),
        slow,
        lambda handler, got: handler.answer(200, handler.vectors(got)),
        slow,
    ]
    assert remote(stub.url, config, fake).embed_passages(CODE * 8, never).shape == (8, 16)
    assert fake.slept_s == pytest.approx(20)


def test_a_question_waits_no_longer_than_its_time(
    stub: Stub, config: Config, remote: Opens
) -> None:
    fake = FakeTime()
    patient = load_config(config.data_dir, query_timeout=12_000)
    stub.always = status(503)
    with pytest.raises(EmbedderUnavailableError):
        remote(stub.url, patient, fake).embed_query("where")
    assert (len(stub.requests), fake.slept_s <= 0.5) == (2, True)
    stub.always = status(429, retry_after="13")
    with pytest.raises(EmbedderUnavailableError):
        remote(stub.url, patient, fake).embed_query("where")
    assert (len(stub.requests), fake.slept_s <= 0.5) == (3, True)


def test_an_answer_without_bounds_is_not_read(stub: Stub, config: Config, remote: Opens) -> None:
    stub.always = raw(b"[" + b"1," * 1_000_000)
    with pytest.raises(EmbedderUnavailableError, match=r"larger than 1,\d+,\d+ bytes"):
        embed(remote(stub.url, config, FakeTime()))


def test_a_dimension_that_changes_is_refused(stub: Stub, config: Config, remote: Opens) -> None:
    embedder = remote(stub.url, config, FakeTime())
    embed(embedder)
    stub.dimension = 24
    with pytest.raises(EmbedderUnavailableError, match="vectors of 24 numbers, wanted 16"):
        embed(embedder)


@pytest.mark.parametrize("code", [400, 413])
def test_a_server_that_refuses_everything_is_said_to(
    code: int, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = status(code, "no such parameter")
    with pytest.raises(EmbedderUnavailableError, match=f"{code}: no such parameter"):
        remote(stub.url, config, FakeTime()).embed_passages(
            [Passage("word " * 500, "", "", "")] * 32, never
        )
    assert len(stub.requests) <= 10


def test_a_redirect_takes_no_key_anywhere(stub: Stub, config: Config, remote: Opens) -> None:
    with embedding_server() as other:
        stub.always = status(308, location=f"{other.url}/v1/embeddings")
        with pytest.raises(EmbedderUnavailableError) as raised:
            embed(remote(stub.url, config, FakeTime()))
        assert other.requests == []
        assert other.url in raised.value.hint


def _cancel_after(seconds: float) -> CancelToken:
    ends_at_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= ends_at_s


@pytest.mark.parametrize("trick", [hang, drip, drip_head])
def test_cancel_does_not_wait_for_the_server(
    trick: Trick, stub: Stub, config: Config, remote: Opens
) -> None:
    stub.always = trick
    with pytest.raises(Cancelled):
        remote(stub.url, config).embed_passages(CODE, _cancel_after(0.1))
    assert len(stub.requests) <= 1


def test_cancel_ends_a_wait(stub: Stub, config: Config, remote: Opens) -> None:
    stub.always = status(429, retry_after="13")
    fake = FakeTime()
    with pytest.raises(Cancelled):
        remote(stub.url, config, fake).embed_passages(CODE, lambda: fake.slept_s > 0.6)
    assert fake.slept_s <= 1


def test_a_cancelled_call_asks_nothing(stub: Stub, config: Config, remote: Opens) -> None:
    with pytest.raises(Cancelled):
        remote(stub.url, config).embed_passages(CODE, lambda: True)
    assert stub.requests == []


def test_no_key_is_ever_shown(
    stub: Stub,
    config: Config,
    remote: Opens,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = []
    tricks = [*PASSING.values(), *(trick for trick, _ in FINAL.values())]
    tricks += [status(400, f"what is {KEY}?"), status(500, f"{'x' * 195}{KEY}")]
    for trick in tricks:
        stub.always = trick
        embedder = remote(stub.url, config, FakeTime())
        with pytest.raises(EmbedderUnavailableError) as raised:
            embed(embedder)
        causes = [raised.value, raised.value.__cause__, raised.value.__context__]
        shown += [
            str(raised.value.as_json()),
            *map(repr, causes),
            repr(embedder),
            repr(vars(embedder)),
        ]
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"
    out, err = capfd.readouterr()
    everything = "\n".join([*shown, caplog.text, out, err])
    assert "sk-test" not in everything


def _answers(embedder: RemoteEmbedder) -> bool:
    try:
        return embed(embedder).shape == (1, 16)
    except EmbedderUnavailableError:  # 200 ms can be too short for a machine that is busy
        return False
