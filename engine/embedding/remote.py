"""An embedding server as an embedder: each protocol's requests, batches, and oversized texts.

``http`` sends the requests and retries them.
"""

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.cancellation import CancelToken, never
from engine.config import Config, Secret
from engine.embedding.batches import (
    BadNumbersError,
    BatchSize,
    batches_of,
    padded,
    tokens_in,
    unit_rows,
    valid_utf8,
)
from engine.embedding.embedder import Passage, Vectors
from engine.embedding.http import (
    Clock,
    RetryPolicy,
    Server,
    TextsFailedError,
    TimedOutError,
    TooLargeError,
)
from engine.embedding.model_setting import Backend, ModelChoice, Prompts, prompts_of
from engine.errors import EmbedderUnavailableError

#: How long Ollama keeps a model in memory after a request, so that a query after a pause does not
#: wait for gigabytes to load.
_KEEP_ALIVE = "30m"

_PATHS = {
    Backend.OPENAI: "/embeddings",
    Backend.VOYAGE: "/embeddings",
    Backend.TEI: "/embed",
    Backend.OLLAMA: "/api/embed",
}
_TAKES_BASE64 = ("https://api.openai.com/", "https://api.voyageai.com/")

#: A batch that is refused is halved so many times; at the last but one its texts go singly.
_MAX_SPLITS = 6
#: On so many texts of a call a server may fail and still count as available.
_MAX_FAILED = 8
#: Retries of transient failures; fewer for queries, which users wait for and words answer too.
_RETRIES = 3
_QUERY_RETRIES = 1
#: A server that does not answer a batch for so long counts as unavailable.
_SILENCE_S = 14.0
_PROBE = "parse the configuration file"


class Limits(NamedTuple):
    """The maximum size of a request."""

    items: int
    tokens: int


#: Below the limits of the services and the defaults of the servers; smaller limits are learned
#: from refusals.
LIMITS = {
    Backend.OPENAI: Limits(128, 60_000),
    Backend.VOYAGE: Limits(128, 60_000),
    Backend.TEI: Limits(32, 16_000),
    Backend.OLLAMA: Limits(32, 16_000),
}


def address_of(choice: ModelChoice) -> str:
    """Return the URL to which texts are posted."""
    return choice.url + _PATHS[choice.backend]


def request_of(choice: ModelChoice, texts: Sequence[str], *, is_query: bool) -> dict[str, object]:
    """Return the JSON that requests the vectors of texts.

    Servers that can truncate texts are told to, because they know the tokens exactly. Ollama is
    told not to, because some of its versions truncate far below what the model can read.
    """
    if choice.backend is Backend.TEI:
        return {"inputs": list(texts), "normalize": True, "truncate": True}
    body: dict[str, object] = {"model": choice.model, "input": list(texts)}
    if choice.backend is Backend.OLLAMA:
        return body | {"truncate": False, "keep_alive": _KEEP_ALIVE}
    takes_base64 = choice.url.startswith(_TAKES_BASE64)
    if choice.backend is Backend.VOYAGE:
        body |= {"input_type": "query" if is_query else "document", "truncation": True}
        return body | {"encoding_format": "base64"} if takes_base64 else body
    return body | {"encoding_format": "base64" if takes_base64 else "float"}


def vectors_in(backend: Backend, answer: object) -> list[Any]:
    """Return the vectors of a response, in the order of the texts, unchecked.

    Raises:
        ValueError: The response has no vectors; the text is the end of a sentence.
    """
    if backend is Backend.TEI:
        rows = answer
    elif backend is Backend.OLLAMA:
        rows = answer.get("embeddings") if isinstance(answer, Mapping) else None
    else:
        return _ordered(answer.get("data") if isinstance(answer, Mapping) else None)
    if not isinstance(rows, list):
        raise ValueError("JSON without vectors")
    return rows


def _ordered(data: object) -> list[Any]:
    """Return the vectors of ``data`` sorted by ``index``, if they have one."""
    if not isinstance(data, list) or not all(isinstance(item, Mapping) for item in data):
        raise ValueError("JSON without vectors")
    places = [item.get("index") for item in data]
    if any(place is not None for place in places):
        if sorted(map(str, places)) != sorted(map(str, range(len(data)))):
            raise ValueError("vectors whose numbers do not count the passages")
        data = sorted(data, key=lambda item: int(item["index"]))
    return [_numbers(item.get("embedding")) for item in data]


def _numbers(embedding: object) -> object:
    """Return a vector, decoded from base64 (32-bit little-endian floats) if necessary."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    except (binascii.Error, ValueError) as error:
        raise ValueError("a vector whose base64 cannot be read") from error


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class RemoteEmbedder:
    """A server; see ``embedder.Embedder``.

    Opening it sends nothing. The dimension is learned from the first answer: before that,
    ``dimension`` and ``identity`` cost a request.

    Args:
        choice: The server and the model.
        key: The key for the server, may be empty.
        config: The settings, for the timeouts.
        clock: The sources of time.
    """

    def __init__(
        self, choice: ModelChoice, key: Secret, config: Config, clock: Clock | None = None
    ) -> None:
        self._choice = choice
        self._clock = clock or Clock()
        self._server = Server(choice.url, key, self._clock)
        self._address = address_of(choice)
        self._request_s = config.embedding_timeout / 1000
        self._query_s = config.query_timeout / 1000
        limits = LIMITS[choice.backend]
        self._size = BatchSize(limits.items, limits.tokens)
        self._longest_bytes = 0  # of a text that was accepted
        self._is_cutting = False  # whether a text was refused, and its beginning accepted
        self._too_long = 0  # texts that were refused for their length
        self._failed = 0  # texts of a call on which the server failed
        self._numbers: int | None = None  # in a vector as the server gives it
        self._reported_model: str | None = None  # as reported by a TEI server
        self._reported_by = 0  # on which of its connections

    @property
    def name(self) -> str:
        """Its name, as in the setting ``model``."""
        return self._choice.name

    @property
    def dimension(self) -> int:
        """Numbers in a vector, padded as the store requires.

        Raises:
            EmbedderUnavailableError: The server is unreachable or answers nonsense.
        """
        self._learn_dimension(self._policy(self._request_s))
        assert self._numbers is not None
        return padded(self._numbers)

    @property
    def identity(self) -> str:
        """Backend, model, URL and dimension.

        Raises:
            EmbedderUnavailableError: The server is unreachable or answers nonsense.
        """
        policy = self._policy(self._request_s)
        prompt = self._prompts(policy).passage
        parts = [self._choice.backend.value, self._model(policy), self._choice.url]
        return "/".join([*parts, str(self.dimension), *([f"prompt {prompt!r}"] if prompt else [])])

    def prepare(self, cancelled: CancelToken) -> None:
        """Ask the server for its model, if it has chosen it, and for the dimension."""
        self._model(self._policy(self._request_s, cancelled))
        self._learn_dimension(self._policy(self._request_s, cancelled))

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed chunks by their text.

        Blank ones become rows of zeros, and the few that the server refuses or fails on although it
        answers another text.
        """
        return self._embed([passage.text for passage in passages], cancelled)

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> Vectors:
        """Embed paths as they are."""
        return self._embed(paths, cancelled)

    def embed_query(self, text: str) -> Sequence[float]:
        """Embed a query, within ``query_timeout``."""
        policy = self._policy(self._query_s)
        requested = self._prompts(policy).query + valid_utf8(text if text.strip() else _PROBE)
        try:
            rows = self._request([requested], policy, is_query=True)
        except TooLargeError as refusal:
            rows = self._embed_shortened(requested, policy, refusal, is_query=True)
        row: list[float] = rows[0].tolist()
        return row

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _embed(self, texts: Sequence[str], cancelled: CancelToken) -> Vectors:
        policy = self._renewed(RetryPolicy(self._request_s, 0.0, cancelled, _RETRIES))
        self._failed = 0
        prompt = self._prompts(policy).passage
        non_blank = [index for index, text in enumerate(texts) if text.strip()]
        requested = [self._cut(prompt + valid_utf8(texts[index])) for index in non_blank]
        found: list[tuple[list[int], Vectors]] = []
        for batch in batches_of(requested, self._size):
            batch_texts = [self._cut(requested[index]) for index in batch]
            started_s = self._clock.elapsed_s()
            rows = self._embed_batch(batch_texts, self._renewed(policy))
            self._size.record_success(len(batch), self._clock.elapsed_s() - started_s)
            found.append(([non_blank[index] for index in batch], rows))
        self._learn_dimension(policy)  # if all texts are blank, no request was sent
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for indexes, rows in found:
            vectors[indexes] = rows
        return vectors

    def _embed_batch(
        self,
        texts: Sequence[str],
        policy: RetryPolicy,
        refusals: int = 0,
        *,
        is_second: bool = False,
    ) -> Vectors:
        """Embed passages in one request, or in smaller ones if that is too much for the server.

        Args:
            texts: The passages, not blank.
            policy: Deadlines and retries.
            refusals: How many requests with these texts were refused.
            is_second: Whether a request with these texts has timed out.
        """
        try:
            return self._request(texts, policy)
        except TooLargeError as refusal:
            policy = self._renewed(policy)
            if len(texts) == 1:
                return self._embed_shortened(texts[0], policy, refusal)
            known = self._too_long
            rows = self._embed_in_parts(texts, policy, refusals + 1, is_second=is_second)
            if self._too_long == known:  # so the batch was too large, not a text
                self._size.record_refusal(len(texts), len(texts) * max(map(tokens_in, texts)))
            return rows
        except TextsFailedError as failure:
            policy = self._renewed(policy)
            if len(texts) == 1:
                return self._embed_failed(texts[0], policy, failure)
            self._embed_probe(policy, failure)
            return self._embed_in_parts(texts, policy, refusals, is_second=is_second)
        except TimedOutError:
            if is_second:
                raise
            self._size.record_success(len(texts), math.inf)
            return self._embed_in_parts(texts, policy, refusals, is_second=True)

    def _embed_in_parts(
        self, texts: Sequence[str], policy: RetryPolicy, refusals: int, *, is_second: bool
    ) -> Vectors:
        half = 1 if refusals + 1 >= _MAX_SPLITS else -(-len(texts) // 2)
        parts = []
        start = 0
        while start < len(texts):
            end = start + min(half, self._size.items)  # the first part may have changed it
            parts.append(self._embed_batch(texts[start:end], policy, refusals, is_second=is_second))
            start = end
            policy = self._renewed(policy)
        return np.concatenate(parts)

    def _embed_failed(self, text: str, policy: RetryPolicy, failure: TextsFailedError) -> Vectors:
        """Embed a text on which the server failed once more, if it answers another in between.

        Returns zeros if it fails again.

        Raises:
            TextsFailedError: It answers no other text, or has failed on too many of this call.
        """
        probe = self._embed_probe(policy, failure)
        try:
            return self._request([text], policy._replace(retries=0))
        except TextsFailedError:
            self._failed += 1
            if self._failed > _MAX_FAILED:
                raise failure from None
            return np.zeros_like(probe)

    def _embed_probe(self, policy: RetryPolicy, failure: TextsFailedError) -> Vectors:
        """Embed a text that any server can; raise the failure on others if it does not answer."""
        try:
            return self._request([_PROBE], policy._replace(retries=0))
        except EmbedderUnavailableError:
            raise failure from None

    def _embed_shortened(
        self, text: str, policy: RetryPolicy, refusal: TooLargeError, *, is_query: bool = False
    ) -> Vectors:
        """Embed the beginning of a text that is too long: the name of a definition stands there.

        A passage that is refused at any length gets zeros, provided that the server answers at all.
        """
        self._too_long += 1
        for _ in range(_MAX_SPLITS - 1):
            text = text[: len(text) // 2]
            if not text.strip():
                break
            try:
                rows = self._request([text], policy, is_query=is_query)
            except TooLargeError:
                continue
            except TextsFailedError as failure:
                if is_query:
                    raise
                return self._embed_failed(text, self._renewed(policy), failure)
            self._is_cutting = True
            return rows
        if is_query:
            raise refusal
        return np.zeros_like(self._request([_PROBE], policy))

    def _request(
        self, texts: Sequence[str], policy: RetryPolicy, *, is_query: bool = False
    ) -> Vectors:
        """Send one request, with retries, and return checked unit rows."""
        body = request_of(self._choice, texts, is_query=is_query)
        answer = self._server.post(self._address, body, count=len(texts), policy=policy)
        try:
            given = vectors_in(self._choice.backend, answer)
            rows = unit_rows(given, count=len(texts), dimension=self._numbers)
        except BadNumbersError as error:
            what = f"answers with {error}"
            raise self._server.unavailable(what, error=TextsFailedError) from error
        except ValueError as error:
            raise self._server.unavailable(f"answers with {error}") from error
        if self._numbers is None:
            self._numbers = len(given[0])
        self._longest_bytes = max(self._longest_bytes, *map(_bytes_in, texts))
        self._model(policy)  # the answer is that of a new connection if the old one was closed
        return rows

    def _cut(self, text: str) -> str:
        """Cut a text to the longest one that was accepted, once one was refused for its length.

        Denser ones, with more tokens in as many bytes, are refused and shortened one by one.
        """
        if not self._is_cutting or len(text) * 4 <= self._longest_bytes:
            return text
        return text.encode("utf-8", "replace")[: self._longest_bytes].decode("utf-8", "ignore")

    def _renewed(self, policy: RetryPolicy) -> RetryPolicy:
        """Return the policy with a deadline for a batch that starts now."""
        whole_s = max(_SILENCE_S, 2 * policy.request_s)
        return policy._replace(ends_at_s=self._clock.elapsed_s() + whole_s)

    def _learn_dimension(self, policy: RetryPolicy) -> None:
        if self._numbers is None:
            self._request([_PROBE], policy)

    def _policy(self, whole_s: float, cancelled: CancelToken = never) -> RetryPolicy:
        return RetryPolicy(whole_s, self._clock.elapsed_s() + whole_s, cancelled, _QUERY_RETRIES)

    def _prompts(self, policy: RetryPolicy) -> Prompts:
        """Return the prompts of the model; Voyage adds them itself."""
        if self._choice.backend is Backend.VOYAGE:
            return Prompts()
        return prompts_of(self._model(policy))

    def _model(self, policy: RetryPolicy) -> str:
        """Return the model's name; a TEI server is asked for it once on each connection.

        Raises:
            EmbedderUnavailableError: The server is unreachable, or was started with another model.
        """
        if self._choice.backend is not Backend.TEI:
            return self._choice.model
        known = self._reported_model
        if known is not None and self._reported_by == self._server.connections:
            return known
        info = self._server.get_info(f"{self._choice.url}/info", policy)
        about = info if isinstance(info, Mapping) else {}
        parts = [about.get("model_id"), about.get("model_sha")]
        reported = "@".join(valid_utf8(part) for part in parts if isinstance(part, str))
        if known not in (None, reported):
            raise self._server.unavailable(
                f"has the model {reported or 'without a name'} now, no more {known}",
                "cairn index makes the vectors anew",
            )
        self._reported_model = reported
        self._reported_by = self._server.connections
        return reported
