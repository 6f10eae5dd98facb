"""A server of embeddings as an embedder: batches, what is too large or too long, and checks.

The requests of each protocol are in ``protocols``, waiting and asking again in ``server``.

What servers of embeddings want to be asked, and where the vectors are in their answers.
"""

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.config import Config, Secret
from engine.embedding.batches import (
    BatchSize,
    batches_of,
    padded,
    readable,
    tokens_in,
    unit_rows,
)
from engine.embedding.embedder import Backend, Choice, Passage, Prompts, Vectors, prompts_of
from engine.embedding.http import Clock, Patience, Server, TimedOutError, TooLargeError

#: How long Ollama keeps a model in memory after the last request, so that a question after a pause
#: does not wait for gigabytes to load.
_KEEP_ALIVE = "30m"


class Limits(NamedTuple):
    """What a request holds at most."""

    items: int
    tokens: int


#: Below what the services allow, and what the servers allow unless told otherwise; what a server
#: refuses all the same is learned.
LIMITS = {
    Backend.OPENAI: Limits(128, 60_000),
    Backend.VOYAGE: Limits(128, 60_000),
    Backend.TEI: Limits(32, 16_000),
    Backend.OLLAMA: Limits(32, 16_000),
}
_PATHS = {
    Backend.OPENAI: "/embeddings",
    Backend.VOYAGE: "/embeddings",
    Backend.TEI: "/embed",
    Backend.OLLAMA: "/api/embed",
}
_TAKES_BASE64 = ("https://api.openai.com/", "https://api.voyageai.com/")


def address_of(choice: Choice) -> str:
    """Give the URL that texts are posted to."""
    return choice.url + _PATHS[choice.backend]


def request_of(choice: Choice, texts: Sequence[str], *, is_query: bool) -> dict[str, object]:
    """Give the JSON that asks for the vectors of texts.

    Where a server can cut what is too long by itself it is told to: it knows the tokens exactly.
    Ollama is told not to, because some of its versions cut far below what the model can read.
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
    """Give the vectors of an answer, in the order of the texts, not checked yet.

    Raises:
        ValueError: The answer has no vectors; the text says so, as the end of a sentence.
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
    """Put the vectors of ``data`` into the order of ``index``, where all of them have one."""
    if not isinstance(data, list) or not all(isinstance(item, Mapping) for item in data):
        raise ValueError("JSON without vectors")
    places = [item.get("index") for item in data]
    if any(place is not None for place in places):
        if sorted(map(str, places)) != sorted(map(str, range(len(data)))):
            raise ValueError("vectors whose numbers do not count the passages")
        data = sorted(data, key=lambda item: int(item["index"]))
    return [_numbers(item.get("embedding")) for item in data]


def _numbers(embedding: object) -> object:
    """Give the numbers of a vector; base64 holds them as 32-bit little-endian floats."""
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    except (binascii.Error, ValueError) as error:
        raise ValueError("a vector whose base64 cannot be read") from error


#: Refusals of one batch, halved each time; at the last but one its texts go singly.
_MOST_TRIES = 6
#: After what may pass. Somebody waits for a question, and words answer it too.
_RETRIES = 3
_QUERY_RETRIES = 1
#: A server that leaves a batch without an answer for so long is away, also if it asks for more.
_SILENCE_S = 14.0
_PROBE = "parse the configuration file"


def _never() -> bool:
    return False


class Remote:
    """A server; see ``embedder.Embedder``.

    Opening it asks nothing. The dimension is learned from the first answer: asked before that,
    ``dimension`` and ``identity`` cost a request.

    Args:
        choice: Which server, and which of its models.
        key: For the server, may be empty.
        config: Says how long it may take.
        clock: Where time comes from.
    """

    def __init__(
        self, choice: Choice, key: Secret, config: Config, clock: Clock | None = None
    ) -> None:
        self._choice = choice
        self._clock = clock or Clock()
        self._server = Server(choice.url, key, self._clock)
        self._address = address_of(choice)
        self._request_s = config.embedding_timeout / 1000
        self._query_s = config.query_timeout / 1000
        limits = LIMITS[choice.backend]
        self._size = BatchSize(limits.items, limits.tokens)
        self._longest_bytes: int | None = None  # of a text, once a longer one was refused
        self._too_long = 0  # texts that were refused for their length
        self._numbers: int | None = None  # in a vector as the server gives it
        self._served: str | None = None  # what a TEI server says it runs

    @property
    def name(self) -> str:
        """What people call it."""
        return self._choice.name

    @property
    def dimension(self) -> int:
        """Numbers in a vector, padded to what the store keeps.

        Raises:
            EmbedderUnavailableError: The server is away or answers nonsense.
        """
        self._learn_dimension(self._patience(self._request_s))
        assert self._numbers is not None
        return padded(self._numbers)

    @property
    def identity(self) -> str:
        """Backend, model, where it is, and dimension.

        Raises:
            EmbedderUnavailableError: The server is away or answers nonsense.
        """
        patience = self._patience(self._request_s)
        prompt = self._prompts(patience).passage
        parts = [self._choice.backend.value, self._model(patience), self._choice.url]
        return "/".join([*parts, str(self.dimension), *([f"prompt {prompt!r}"] if prompt else [])])

    def prepare(self, stop: Callable[[], bool]) -> None:
        """Ask the server which model it runs, if it chose that, and for a vector to count."""
        self._model(self._patience(self._request_s, stop))
        self._learn_dimension(self._patience(self._request_s, stop))

    def embed_passages(self, passages: Sequence[Passage], stop: Callable[[], bool]) -> Vectors:
        """Embed chunks by their text; blank ones become rows of zeros."""
        return self._embed([passage.text for passage in passages], stop)

    def embed_paths(self, paths: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        """Embed paths as they are."""
        return self._embed(paths, stop)

    def embed_query(self, text: str) -> Vectors:
        """Embed a question, within ``query_timeout``."""
        patience = self._patience(self._query_s)
        asked = self._prompts(patience).query + readable(text if text.strip() else _PROBE)
        try:
            rows = self._asked([asked], patience, is_query=True)
        except TooLargeError as refusal:
            rows = self._shortened(asked, patience, refusal, is_query=True)
        row: Vectors = rows[0]
        return row

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _embed(self, texts: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        patience = self._renewed(Patience(self._request_s, 0.0, stop, _RETRIES))
        prompt = self._prompts(patience).passage
        wanted = [index for index, text in enumerate(texts) if text.strip()]
        asked = [self._cut(prompt + readable(texts[index])) for index in wanted]
        found: list[tuple[list[int], Vectors]] = []
        for batch in batches_of(asked, self._size):
            batch_texts = [self._cut(asked[index]) for index in batch]
            started_s = self._clock.elapsed_s()
            rows = self._embed_batch(batch_texts, self._renewed(patience))
            self._size.answered(len(batch), self._clock.elapsed_s() - started_s)
            found.append(([wanted[index] for index in batch], rows))
        self._learn_dimension(patience)  # nothing was asked if all texts are blank
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for indexes, rows in found:
            vectors[indexes] = rows
        return vectors

    def _embed_batch(
        self,
        texts: Sequence[str],
        patience: Patience,
        refusals: int = 0,
        *,
        is_second: bool = False,
    ) -> Vectors:
        """Embed passages in one request, or in smaller ones when that is too much for the server.

        Args:
            texts: Not blank.
            patience: How long to wait.
            refusals: How many requests with these texts were refused already.
            is_second: One of them was not answered in time already.
        """
        try:
            return self._asked(texts, patience)
        except TooLargeError as refusal:
            patience = self._renewed(patience)
            if len(texts) == 1:
                return self._shortened(texts[0], patience, refusal)
            known = self._too_long
            rows = self._in_parts(texts, patience, refusals + 1, is_second=is_second)
            if self._too_long == known:  # so there were too many
                self._size.refused(len(texts), len(texts) * max(map(tokens_in, texts)))
            return rows
        except TimedOutError:
            if is_second:
                raise
            self._size.answered(len(texts), math.inf)
            return self._in_parts(texts, patience, refusals, is_second=True)

    def _in_parts(
        self, texts: Sequence[str], patience: Patience, refusals: int, *, is_second: bool
    ) -> Vectors:
        half = 1 if refusals + 1 >= _MOST_TRIES else -(-len(texts) // 2)
        parts = []
        start = 0
        while start < len(texts):
            end = start + min(half, self._size.items)  # the first part may have taught how many
            parts.append(
                self._embed_batch(texts[start:end], patience, refusals, is_second=is_second)
            )
            start = end
            patience = self._renewed(patience)
        return np.concatenate(parts)

    def _shortened(
        self, text: str, patience: Patience, refusal: TooLargeError, *, is_query: bool = False
    ) -> Vectors:
        """Embed the beginning of a text that is too long: a definition's name stands there.

        A passage that is refused at any length is a row of zeros, unless nothing is answered.
        """
        self._too_long += 1
        for _ in range(_MOST_TRIES - 1):
            text = text[: len(text) // 2]
            if not text.strip():
                break
            try:
                rows = self._asked([text], patience, is_query=is_query)
            except TooLargeError:
                continue
            self._longest_bytes = len(text.encode("utf-8", "replace"))
            return rows
        if is_query:
            raise refusal
        return np.zeros_like(self._asked([_PROBE], patience))

    def _asked(
        self, texts: Sequence[str], patience: Patience, *, is_query: bool = False
    ) -> Vectors:
        """Send one request, tried again where that can help; checked unit rows."""
        body = request_of(self._choice, texts, is_query=is_query)
        answer = self._server.post(self._address, body, count=len(texts), patience=patience)
        try:
            given = vectors_in(self._choice.backend, answer)
            rows = unit_rows(given, count=len(texts), dimension=self._numbers)
        except ValueError as error:
            raise self._server.unavailable(f"answers with {error}") from error
        if self._numbers is None:
            self._numbers = len(given[0])
        return rows

    def _cut(self, text: str) -> str:
        if self._longest_bytes is None or len(text) * 4 <= self._longest_bytes:
            return text
        return text.encode("utf-8", "replace")[: self._longest_bytes].decode("utf-8", "ignore")

    def _renewed(self, patience: Patience) -> Patience:
        """Give the patience for a batch from now on, as when the server has just answered."""
        whole_s = max(_SILENCE_S, 2 * patience.request_s)
        return patience._replace(ends_at_s=self._clock.elapsed_s() + whole_s)

    def _learn_dimension(self, patience: Patience) -> None:
        if self._numbers is None:
            self._asked([_PROBE], patience)

    def _patience(self, whole_s: float, stop: Callable[[], bool] = _never) -> Patience:
        return Patience(whole_s, self._clock.elapsed_s() + whole_s, stop, _QUERY_RETRIES)

    def _prompts(self, patience: Patience) -> Prompts:
        """Give what the model wants before a text; Voyage puts it there itself."""
        if self._choice.backend is Backend.VOYAGE:
            return Prompts()
        return prompts_of(self._model(patience))

    def _model(self, patience: Patience) -> str:
        """Give the model's name; a TEI server is asked once which it runs, empty when it hides it.

        Raises:
            EmbedderUnavailableError: The server is away.
        """
        if self._choice.backend is not Backend.TEI:
            return self._choice.model
        if self._served is None:
            said = self._server.look_up(f"{self._choice.url}/info", patience)
            about = said if isinstance(said, Mapping) else {}
            parts = [about.get("model_id"), about.get("model_sha")]
            self._served = "@".join(part for part in parts if isinstance(part, str))
        return self._served
