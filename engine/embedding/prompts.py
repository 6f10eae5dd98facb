"""What families of models want in front of a text: they were trained with it.

Without it most of them still answer, only worse, so an unknown model gets none.
"""

from typing import NamedTuple


class Prompts(NamedTuple):
    """What stands in front of questions and of passages."""

    query: str = ""
    passage: str = ""


_FOR_PASSAGES = "Represent this sentence for searching relevant passages: "
_FOR_CODE = "Instruct: Given a question, retrieve the source code that answers it\nQuery: "

#: A part of a model's name in lower case, and its prompts; the first that fits counts.
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
    """Give the prompts of a model by its name, empty when none are known."""
    name = model.lower()
    return next((prompts for part, prompts in _FAMILIES if part in name), _NONE)
