"""Names in a query that nothing in an index has, and what they may be misspelt for.

A reader who asks for ``frobnicateWidgets`` gets the most similar code there is, and would otherwise
have to read it to learn that no such name exists.

The keyword index has the words of names and finds places where these are side by side; whether
they are one name there, and not ``new ClientFactory()``, is read from the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from engine.search.lexical import (
    last_name_of,
    looks_like_identifier,
    pieces_of,
    quoted,
    strip_punctuation,
    two_word_splits,
)
from engine.search.query import Query
from engine.store import blobs, fulltext, symbols
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.syntax.terms import words_of

# The line and column that compilers and stack traces append to a path.
_LINES = re.compile(r"(?::\d+)+$")
# What parts names in code: brackets, quotes, commas, operators but for -> and ::.
_BETWEEN_NAMES = re.compile(r"[^\w$.:/\\#>~-]+")
_IN_ONE_NAME = re.compile(r"[\w$-]+")
_SIGNS = re.compile(r"[\W_]+")
_CAMEL = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_ACRONYMS = re.compile(r"[A-Z]+s")  # APIs, URLs
_WITH_NUMBER = re.compile(r"[^\W\d]{2,}\w*\d")
_PREFIXES = frozenset("egiou")  # eBPF, gRPC, iOS, OAuth, uWSGI
_MIN_DISTINCTIVE_CHARS = 4  # of a word without its first letter
_MAX_NAMES = 24  # of a query that are looked up
_MAX_TEXTS = 64  # that are read for one name; if it is in none of more, it counts as there

_TEXTS_AT_ONCE = 8

_MIN_MISSPELT_CHARS = 5
_MIN_FOR_TWO_ERRORS = 8
_ERRORS = 2
_BEGIN_CHARS = 2  # that a misspelt name shares with the right one
_MAX_SIMILAR_TEXTS = 12


def names_in(query: Query) -> tuple[str, ...]:
    """Return the names in a query: words that look like code, or its only word.

    Quoted phrases that are required, and excluded words, are none.
    """
    words = [term.text for term in query.words if not term.negated]
    words += [word for term in query.mentions for word in term.text.split()]
    is_alone = len(words) == 1 and not query.phrases
    names = [name for word in words for name in _names_in(word)]
    if is_alone and not names:
        names = [_stripped(words[0])]
    return tuple(dict.fromkeys(names))[:_MAX_NAMES]


def _names_in(word: str) -> Iterator[str]:
    if "://" in word:
        return
    for piece in _BETWEEN_NAMES.split(word):
        name = _stripped(piece)
        if name and looks_like_code(name):
            yield name


def _stripped(word: str) -> str:
    return _LINES.sub("", strip_punctuation(word)).rstrip(".")


def looks_like_code(name: str) -> bool:
    """Return whether a name cannot be prose: qualified, a path, or of several joined words."""
    if not looks_like_identifier(name):
        return False
    pieces = pieces_of(name)
    if "/" in name or "\\" in name:  # "and/or" is prose
        return "." in name.rpartition("/")[2] or any(map(_is_compound, pieces))
    return len(pieces) > 1 or _is_compound(name)


def _is_compound(name: str) -> bool:
    if _ACRONYMS.fullmatch(name):
        return False
    return (
        "_" in name.strip("_")
        or _CAMEL.search(name) is not None
        or _WITH_NUMBER.match(name) is not None
    )


def is_indexed(handle: Handle, name: str) -> bool:
    """Return whether an indexed text or path, on any branch, has a name.

    However its words are joined: ``reuseSocket`` is ``reuse_socket``, ``SQLite`` is ``sqlite``. The
    parts of a qualified name may be anywhere, or all in one path. Of an absolute path, which
    contains the project's location, only the last name counts.
    """
    if all(_is_written(handle, piece) for piece in pieces_of(name)):
        return True
    place = name.rstrip("/").rpartition("/")[2] if name.startswith("/") else name
    parts = [words for piece in pieces_of(place) if (words := words_of(piece))]
    spellings = [_any_of(_ways(words)) for words in parts]
    return not spellings or fulltext.is_in_paths(handle, " AND ".join(spellings))


def _is_written(handle: Handle, piece: str) -> bool:
    """Return whether a text has a name without qualifiers."""
    words = words_of(piece)
    if not words or (len(words) == 1 and fulltext.is_in_chunks(handle, quoted(words[0]))):
        return True
    found = fulltext.some_chunks(handle, _any_of(_ways(words)), _MAX_TEXTS + 1)
    flat = _flat(piece)
    return len(found) > _MAX_TEXTS or any(
        flat in _flat(each) for text in _texts(handle, found) for each in _IN_ONE_NAME.findall(text)
    )


def _flat(name: str) -> str:
    return _SIGNS.sub("", name).lower()


def _texts(handle: Handle, chunk_ids: Sequence[int]) -> Iterator[str]:
    """Yield the texts of chunks."""
    for at in range(0, len(chunk_ids), _TEXTS_AT_ONCE):
        unpacked: dict[int, bytes] = {}
        for each in blobs.read_chunk_texts(handle, chunk_ids[at : at + _TEXTS_AT_ONCE]):
            if each.blob_id not in unpacked:
                unpacked[each.blob_id] = unpack_text(each.packed)
            text = unpacked[each.blob_id][each.byte_start : each.byte_end]
            yield text.decode("utf-8", "replace")


def _any_of(ways: Iterable[str]) -> str:
    return "(" + " OR ".join(dict.fromkeys(map(quoted, ways))) + ")"


def _ways(words: Sequence[str]) -> list[str]:
    """Return the words as which the index may have a name that is split elsewhere, or not at all.

    It has no single letters: ``OAuth`` is ``auth``, and the words of ``addrV4`` are ``addr 4``.
    """
    first, run = words[0], "".join(words)
    ways = [" ".join(words), run, *two_word_splits(run)]
    if first[0] in _PREFIXES and len(first) >= _MIN_DISTINCTIVE_CHARS:
        ways += [run[1:], *two_word_splits(run[1:]), " ".join([first[1:], *words[1:]])]
    for at in range(len(words) - 1):
        if words[at + 1].isdigit() and len(words[at]) > _BEGIN_CHARS:
            ways += [
                " ".join([*words[:at], part, *words[at + 1 :]])
                for part in (words[at][:-1], words[at][1:])
            ]
    return ways


def similar_name(handle: Handle, name: str) -> str:
    """Return a name of the index that a missing one may be misspelt for, or "".

    It has the same first letters, and differs by a typing error or two: a defined name, or one that
    stands in a text beside the words that are right.
    """
    last = last_name_of(name)
    if len(last) < _MIN_MISSPELT_CHARS:
        return ""
    begin = last[:_BEGIN_CHARS].lower()
    return _nearest(last, symbols.names_like(handle, begin, len(last), _ERRORS)) or _nearest(
        last, _names_beside(handle, words_of(last))
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    from rapidfuzz.distance import OSA  # its import costs more than most queries

    most = _ERRORS if len(name) >= _MIN_FOR_TWO_ERRORS else 1
    flat, begin = _flat(name), name[:_BEGIN_CHARS].lower()
    scored = [
        (distance, each)
        for each in known
        if each[:_BEGIN_CHARS].lower() == begin
        and abs(len(each) - len(name)) <= _ERRORS
        and 0 < (distance := OSA.distance(flat, _flat(each), score_cutoff=most)) <= most
    ]
    return min(scored, default=(0, ""))[1]


def _names_beside(handle: Handle, words: Sequence[str]) -> set[str]:
    """Return names in texts that have all of these words but one, which nothing has."""
    absent = [
        at for at, word in enumerate(words) if not fulltext.is_in_chunks(handle, quoted(word))
    ]
    if len(absent) != 1 or len(words[absent[0]]) < _MIN_DISTINCTIVE_CHARS:
        return set()
    at = absent[0]
    begin = words[at][: _BEGIN_CHARS + (len(words) == 1)]
    before, after = " ".join([*words[:at], begin]), " ".join(words[at + 1 :])
    match = f"{quoted(before)} *" + (f" AND {quoted(after)}" if after else "")
    texts = _texts(handle, fulltext.some_chunks(handle, match, _MAX_SIMILAR_TEXTS))
    return {found for text in texts for found in _IN_ONE_NAME.findall(text)}
