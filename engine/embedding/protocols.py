"""What servers of embeddings want to be asked, and where the vectors are in their answers."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.embedding.choice import Backend, Choice

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
