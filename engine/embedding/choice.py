"""The setting ``model`` → which backend, which model, where.

``static`` is built in; ``none`` does without meaning; ``onnx:NAME`` runs a model that fastembed
knows, or one in a folder; ``openai:NAME@URL``, ``tei:@URL``, ``ollama:NAME@URL`` and
``voyage:NAME`` ask a server.
"""

from enum import StrEnum
from typing import NamedTuple

from engine.errors import InvalidConfigError

_DEFAULT_URLS = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
    "voyage": "https://api.voyageai.com/v1",
}


class Backend(StrEnum):
    """A kind of embedder."""

    STATIC = "static"
    NONE = "none"
    ONNX = "onnx"
    OPENAI = "openai"
    TEI = "tei"
    OLLAMA = "ollama"
    VOYAGE = "voyage"


#: Backends that are a server to ask.
REMOTE = frozenset({Backend.OPENAI, Backend.TEI, Backend.OLLAMA, Backend.VOYAGE})


class Choice(NamedTuple):
    """A model that somebody chose."""

    backend: Backend
    model: str = ""  # a name or, for onnx, also a folder
    url: str = ""  # of a server, without a slash at the end

    @property
    def name(self) -> str:
        """The choice as the setting writes it."""
        text = self.backend.value
        if self.model or self.url:
            text += f":{self.model}"
        return f"{text}@{self.url}" if self.url else text


def choice_of(setting: str) -> Choice:
    """Read the setting.

    Raises:
        InvalidConfigError: It names no backend, or lacks a model or a server.
    """
    kind, _, rest = setting.strip().partition(":")
    try:
        backend = Backend(kind)
    except ValueError as error:
        known = ", ".join(each.value for each in Backend)
        raise InvalidConfigError(
            f"model is {setting!r}, wanted one of {known}",
            hint="static is built in; onnx:NAME, openai:NAME@URL and others are in the README",
            field="model",
        ) from error
    if backend in (Backend.STATIC, Backend.NONE):
        if rest:
            raise InvalidConfigError(f"{kind} takes no name, got {rest!r}", field="model")
        return Choice(backend)
    if backend is Backend.ONNX:
        return Choice(backend, _given(rest, "a model or a folder", setting))
    name, _, url = rest.rpartition("@") if "@" in rest else (rest, "", "")
    url = (url or _DEFAULT_URLS.get(kind, "")).rstrip("/")
    if backend is not Backend.TEI:
        _given(name, "a model", setting)
    if not url.startswith(("http://", "https://")):
        raise InvalidConfigError(
            f"model is {setting!r}: the server's URL is missing",
            hint=f"for example {kind}:{name}@http://127.0.0.1:8080",
            field="model",
        )
    return Choice(backend, name, url)


def _given(text: str, what: str, setting: str) -> str:
    if not text:
        raise InvalidConfigError(f"model is {setting!r}: {what} is missing", field="model")
    return text
