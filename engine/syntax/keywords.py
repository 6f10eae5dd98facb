"""The keywords of a language, as its grammar knows them."""

import functools
import importlib

from tree_sitter import Language as TreeSitterLanguage

from engine.syntax.languages import LANGUAGES


@functools.cache
def keywords_of(language: str) -> frozenset[str]:
    """Return the words of a language's syntax; some of them can be names in other places."""
    entry = LANGUAGES.get(language)
    if entry is None or entry.grammar is None:
        return frozenset()
    module = importlib.import_module(entry.grammar.module)
    read = TreeSitterLanguage(getattr(module, entry.grammar.function)())
    kinds = range(read.node_kind_count)
    words = (
        read.node_kind_for_id(kind)
        for kind in kinds
        if read.node_kind_is_visible(kind) and not read.node_kind_is_named(kind)
    )
    return frozenset(word for word in words if word and word.isidentifier())
