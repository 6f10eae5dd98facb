"""Names of a question that nothing in an index has: all that is found is then near them at best.

Somebody who asks for ``frobnicateWidgets`` gets the nearest code there is, and would otherwise have
to read it to learn that there is no such thing.
"""

import re
from collections.abc import Sequence

from engine.records import Mode
from engine.search.lexical import bare, looks_like_identifier, partings_of, pieces_of, quoted
from engine.search.query import Query
from engine.store import fulltext
from engine.store.connection import Handle
from engine.syntax.terms import words_of

#: Modes that give what is near beside what was named.
BY_WORDS = frozenset({Mode.HYBRID, Mode.MEANING, Mode.KEYWORD})
# What compilers and stack traces put behind a path: the line, and the column.
_LINES = re.compile(r"(?::\d+)+$")
_LEAST_CERTAIN = 4  # letters; of a shorter word too little is left without one
_PREFIXES = frozenset("egiou")  # eBPF, gRPC, iOS, OAuth, uWSGI


def missing_from(handle: Handle, query: Query) -> tuple[str, ...]:
    """Give what a question names and no indexed text or path has, of any branch, in order.

    Names are words that look like code, or a word that is asked alone: that one of the words of a
    sentence is nowhere says little. A name has its parts side by side, whatever joins them; it
    may stand there as one word, or as two that are parted elsewhere: ``SQLite`` is ``sqlite``. Of
    a qualified name each is somewhere, or all of it in one path; of a path that begins at ``/``,
    which says where the project is, the last name.

    Args:
        handle: A read transaction.
        query: The question; what is quoted or refused is not looked at.
    """
    words = [_name_in(term.text) for term in query.words if not term.negated]
    if len(words) == 1 and not query.phrases:
        names = words
    else:
        names = [word for at, word in enumerate(words) if _is_name(word, is_first=at == 0)]
    return tuple(name for name in dict.fromkeys(names) if not _is_held(handle, name))


def _name_in(word: str) -> str:
    return _LINES.sub("", bare(word)).rstrip(".")


def _is_name(word: str, *, is_first: bool) -> bool:
    """Say whether a word looks like code; a capital at the beginning of a sentence says nothing."""
    is_prose = is_first and word[:1].isupper() and word[1:].islower()
    return looks_like_identifier(word) and not is_prose


def _is_held(handle: Handle, name: str) -> bool:
    if all(_is_in_text(handle, words) for words in _parts_of(name)):
        return True
    place = name.rstrip("/").rpartition("/")[2] if name.startswith("/") else name
    spellings = [f"({_as_written(words)} OR {_otherwise(words)})" for words in _parts_of(place)]
    return not spellings or fulltext.is_in_paths(handle, " AND ".join(spellings))


def _parts_of(name: str) -> list[list[str]]:
    return [words for piece in pieces_of(name) if (words := words_of(piece))]


def _is_in_text(handle: Handle, words: Sequence[str]) -> bool:
    if any(fulltext.is_in_chunks(handle, way(words)) for way in (_as_written, _otherwise)):
        return True
    # A letter between a name and a number is no word of its own: nothing is certain of "addrv4".
    letters = [word for word in words if word.isalpha() and len(word) >= _LEAST_CERTAIN]
    if not letters or len(letters) == len(words):
        return False
    runs = [run for word in letters for run in (word, word[:-1])]
    return fulltext.is_in_chunks(handle, " OR ".join(_otherwise([run]) for run in runs))


def _as_written(words: Sequence[str]) -> str:
    return quoted(" ".join(words))


def _otherwise(words: Sequence[str]) -> str:
    """Match a name that is parted into two words in another way, or not at all.

    Of a letter that stands alone no word is kept: ``OAuth`` is ``auth`` in the index.
    """
    first, run = words[0], "".join(words)
    ways = [run, *partings_of(run)]
    if first[0] in _PREFIXES and len(first) >= _LEAST_CERTAIN:
        ways += [run[1:], *partings_of(run[1:]), " ".join([first[1:], *words[1:]])]
    return " OR ".join(map(quoted, dict.fromkeys(ways)))
