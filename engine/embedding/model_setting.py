"""The setting ``model``: which backend, which model, where; and the prompts of model families.

Its grammar::

    static                   the model that is built in
    none                     nothing: words, names and patterns only
    onnx:NAME                a model that fastembed knows, downloaded by ``cairn model pull NAME``
    onnx:FOLDER              a local model; FOLDER begins with /, ./, ../ or ~
    openai:NAME[@URL]        OpenAI, or any server with its API, such as vLLM and LM Studio
    voyage:NAME[@URL]        Voyage AI
    ollama:NAME[@URL]        Ollama, by default the one on this machine
    tei:@URL                 Text Embeddings Inference, whose server has chosen the model

A URL begins with http:// or https://. Without a path, ``openai`` and ``voyage`` add /v1.

Families of models were trained with prompts in front of questions and passages. A model that is not
known gets none: most models still answer without them, only worse.
"""

from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from engine.errors import InvalidConfigError

_FOR_PASSAGES = "Represent this sentence for searching relevant passages: "
_FOR_CODE = "Instruct: Given a question, retrieve the source code that answers it\nQuery: "

_FOLDER_STARTS = ("/", "./", "../", "~")
_SCHEMES = ("http://", "https://")


class Prompts(NamedTuple):
    """The prefixes of queries and of passages."""

    query: str = ""
    passage: str = ""


#: A part of a model's name in lower case, and its prompts; the first match counts.
_FAMILIES: tuple[tuple[str, Prompts], ...] = (
    ("bge-small-en", Prompts(_FOR_PASSAGES)),
    ("bge-base-en", Prompts(_FOR_PASSAGES)),
    ("bge-large-en", Prompts(_FOR_PASSAGES)),
    ("bge-small-zh", Prompts("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001
    ("arctic-embed", Prompts(_FOR_PASSAGES)),
    ("mxbai-embed", Prompts(_FOR_PASSAGES)),
    ("e5-", Prompts("query: ", "passage: ")),
    ("nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    ("embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    ("qwen3-embedding", Prompts(_FOR_CODE)),
)
_NONE = Prompts()


def prompts_of(model: str) -> Prompts:
    """Return the prompts of a model by its name, empty if none are known."""
    name = model.lower()
    return next((prompts for part, prompts in _FAMILIES if part in name), _NONE)


class Backend(StrEnum):
    """A kind of embedder."""

    STATIC = "static"
    NONE = "none"
    ONNX = "onnx"
    OPENAI = "openai"
    TEI = "tei"
    OLLAMA = "ollama"
    VOYAGE = "voyage"


#: How each form is written, for help and errors.
FORMS = {
    Backend.STATIC: "static",
    Backend.NONE: "none",
    Backend.ONNX: "onnx:NAME or onnx:/FOLDER",
    Backend.OPENAI: "openai:NAME or openai:NAME@URL",
    Backend.VOYAGE: "voyage:NAME",
    Backend.OLLAMA: "ollama:NAME or ollama:NAME@URL",
    Backend.TEI: "tei:@URL",
}
_DEFAULT_URLS = {
    Backend.OPENAI: "https://api.openai.com/v1",
    Backend.OLLAMA: "http://127.0.0.1:11434",
    Backend.VOYAGE: "https://api.voyageai.com/v1",
}
_VERSIONED = frozenset({Backend.OPENAI, Backend.VOYAGE})


class ModelChoice(NamedTuple):
    """The model that the setting names."""

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

    @property
    def is_folder(self) -> bool:
        """Whether the model is a folder of this machine."""
        return self.backend is Backend.ONNX and self.model.startswith(_FOLDER_STARTS)


def parse_model_setting(setting: str) -> ModelChoice:
    """Read the setting.

    Raises:
        InvalidConfigError: It names no backend, or lacks a model or a server.
    """
    kind, colon, rest = setting.strip().partition(":")
    backend = _backend_of(kind, setting)
    if backend in (Backend.STATIC, Backend.NONE):
        if colon:
            raise _invalid(setting, f"{kind} takes no name", backend)
        return ModelChoice(backend)
    if backend is Backend.ONNX:
        if not rest:
            raise _invalid(setting, "a model or a folder is missing", backend)
        return ModelChoice(backend, rest)
    name, url = _name_and_url(rest)
    if not name and backend is not Backend.TEI:
        raise _invalid(setting, "a model is missing", backend)
    if name and backend is Backend.TEI:
        raise _invalid(setting, "the server has chosen the model: the URL follows an @", backend)
    url = url or _DEFAULT_URLS.get(backend, "")
    return ModelChoice(backend, name, _checked_url(setting, backend, url))


def _backend_of(kind: str, setting: str) -> Backend:
    try:
        return Backend(kind)
    except ValueError as error:
        hint = "one of " + "; ".join(FORMS.values())
        if "/" in setting and "@" not in setting and "://" not in setting:
            hint = f"a model of fastembed is written onnx:{setting.strip()}"
        raise InvalidConfigError(
            f"model is {redacted_setting(setting)!r}, which names no backend",
            hint=hint,
            field="model",
        ) from error


def _name_and_url(rest: str) -> tuple[str, str]:
    name, _, url = rest.partition("@")
    return name, url


def _checked_url(setting: str, backend: Backend, url: str) -> str:
    if not url:
        raise _invalid(setting, "the server's URL is missing", backend)
    if not url.startswith(_SCHEMES):
        raise _invalid(setting, "the server's URL begins with http:// or https://", backend)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _invalid(setting, "the server's URL cannot be read", backend) from error
    if not host or any(character.isspace() for character in url):
        raise _invalid(setting, "the server's URL cannot be read", backend)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidConfigError(
            f"model is {redacted_setting(setting)!r}: a URL here has no user, password, ? or #",
            hint="put the key into the environment as CAIRN_EMBEDDING_KEY",
            field="model",
        )
    url = url.rstrip("/")
    if backend in _VERSIONED and not parts.path.strip("/"):
        url += "/v1"
    return url


def _invalid(setting: str, what: str, backend: Backend) -> InvalidConfigError:
    return InvalidConfigError(
        f"model is {redacted_setting(setting)!r}: {what}",
        hint=f"write it as {FORMS[backend]}",
        field="model",
    )


def redacted_setting(setting: str) -> str:
    """Return the setting without what may be a key or a password in its URL."""
    before, scheme, rest = setting.partition("://")
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    return f"{before}{scheme}{authority}{slash}{path.partition('?')[0]}"
