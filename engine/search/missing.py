"""Names of a question that nothing in an index has: all that is found is then near them at best.

Somebody who asks for ``frobnicateWidgets`` gets the nearest code there is, and would otherwise have
to read it to learn that there is no such thing.
"""

from engine.records import Mode
from engine.search.lexical import bare, looks_like_identifier, pieces_of, quoted
from engine.search.query import Query
from engine.store import fulltext
from engine.store.connection import Handle
from engine.syntax.terms import words_of

#: Modes that give what is near beside what was named.
BY_WORDS = frozenset({Mode.HYBRID, Mode.MEANING, Mode.KEYWORD})


def missing_from(handle: Handle, query: Query) -> tuple[str, ...]:
    """Give what a question names and no indexed text or path has, of any branch, in order.

    Names are words that look like code, or a word that is asked alone: that one of the words of a
    sentence is nowhere says little. A name has its parts side by side, whatever joins them; of a
    qualified one each name is somewhere, or all of it in one path.

    Args:
        handle: A read transaction.
        query: The question; what is quoted or refused is not looked at.
    """
    words = [bare(term.text) for term in query.words if not term.negated]
    if len(words) == 1 and not query.phrases:
        names = words
    else:
        names = [word for at, word in enumerate(words) if _is_name(word, is_first=at == 0)]
    return tuple(name for name in dict.fromkeys(names) if not _is_held(handle, name))


def _is_name(word: str, *, is_first: bool) -> bool:
    """Say whether a word looks like code; a capital at the beginning of a sentence says nothing."""
    is_prose = is_first and word[:1].isupper() and word[1:].islower()
    return looks_like_identifier(word) and not is_prose


def _is_held(handle: Handle, name: str) -> bool:
    parts = [words for piece in pieces_of(name) if (words := words_of(piece))]
    if all(fulltext.is_in_chunks(handle, quoted(" ".join(words))) for words in parts):
        return True
    return fulltext.is_in_paths(
        handle, " AND ".join(quoted(word) for words in parts for word in words)
    )
