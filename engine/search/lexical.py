"""Words of a question → FTS5 expressions and what ranking needs to know of the words.

Names of a question that nothing in an index has: all that is found is then near them at best.

Somebody who asks for ``frobnicateWidgets`` gets the nearest code there is, and would otherwise have
to read it to learn that there is no such thing.

Exact phrases: what the keyword index found by words is checked against the text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.records import Mode
from engine.search.query import Case, Query, Term
from engine.store import fulltext
from engine.store.connection import Handle
from engine.syntax.terms import words_of

_STOP_TEXT = (
    "a about all an and any are as at be been being between both but by can code could did do "
    "does doing done each find for from get give gets given gives had handled handles "
    "handling has have how i if implementation implemented in into is it its itself like "
    "logic made make makes me my no not of on one onto or our out over per show so some such "
    "than that the their them then there these they this those through to under up us use "
    "used uses using via was we were what when where whether which while who whose why will "
    "with within without work works would you your"
)
#: Words of questions that say nothing of code. They count only when nothing else is asked.
STOP_WORDS = frozenset(_STOP_TEXT.split())

# An identifier by its look: an inner capital, an underscore, a capital first letter, or a digit.
_IDENTIFIER = re.compile(r"^[A-Za-z_$][\w$]*$")
_QUALIFIER = re.compile(r"::|->|[.\\#/]")
_PREFIX_CHARS = 3
_LEAST_PARTED = 5  # letters of a word that may be two
_MOST_PARTED = 32  # letters of a name; each way to part it costs 20 µs
_SHORTEST_WORD = 2
_PARTICLES = frozenset({"in", "on", "out", "over", "up"})
_EDGES = "()[]{}<>,;:?!'\"`&*@="


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """A question, prepared for the keyword index and for ranking."""

    chunk_match: str  # FTS5 expression over chunk_terms; "" when no word is left
    path_match: str  # over file_paths
    alternatives: tuple[str, ...]  # quoted words and phrases that chunk_match joins by OR
    path_words: tuple[str, ...]  # quoted words that path_match joins by OR
    words: tuple[str, ...]  # distinct words that count, in order
    names: dict[str, str]  # names of symbols asked for → as typed, with their qualifiers
    is_symbol_query: bool  # the whole question is one identifier or qualified name


def lexical_of(query: Query) -> Lexical:
    """Prepare the words and phrases of a query."""
    tokens = [bare(term.text) for term in query.words if not term.negated]
    tokens = [token for token in tokens if token]
    all_words: list[str] = []
    runs: list[str] = []  # of words that make one name
    names: dict[str, str] = {}
    for token in tokens:
        parts = words_of(token)
        all_words += parts
        if not token.isalpha() or not token.islower():
            pieces = pieces_of(token)
            if len(pieces) > 1:
                parts = [word for piece in pieces for word in words_of(piece)]
            if looks_like_identifier(token):
                names[last_name_of(token)] = token
        if len(parts) > 1:
            runs.append(" ".join(parts))
    for term in query.phrases:
        if not term.negated:
            all_words += words_of(term.text)
    words = tuple(dict.fromkeys(word for word in all_words if word not in STOP_WORDS))
    words = words or tuple(dict.fromkeys(all_words))
    path_words = [quoted(word) for word in words]
    alternatives = dict.fromkeys([*path_words, *map(quoted, runs)])
    return Lexical(
        chunk_match=_match_of(alternatives, query),
        path_match=" OR ".join(path_words),
        alternatives=tuple(alternatives),
        path_words=tuple(path_words),
        words=words,
        names=names,
        is_symbol_query=len(tokens) == len(names) == 1 and not query.phrases,
    )


def with_spellings(lexical: Lexical, spellings: Iterable[str], query: Query) -> Lexical:
    """Give the prepared words of a query, of which some may be written in other ways, too.

    Args:
        lexical: Of that query.
        spellings: Quoted words and phrases.
        query: The query.
    """
    alternatives = tuple(dict.fromkeys([*lexical.alternatives, *spellings]))
    if len(alternatives) == len(lexical.alternatives):
        return lexical
    match = _match_of(alternatives, query)
    return replace(lexical, alternatives=alternatives, chunk_match=match)


def bare(token: str) -> str:
    """Give a word of a question without the marks around it."""
    return token.strip(_EDGES)


def pieces_of(token: str) -> list[str]:
    """Give the names that a qualified one is made of: ``Sinatra``, ``Base``."""
    return [piece for piece in _QUALIFIER.split(token) if piece]


def looks_like_identifier(token: str) -> bool:
    """Say whether a token is a name of code rather than a word of prose."""
    pieces = pieces_of(token)
    if not pieces or not all(_IDENTIFIER.match(piece) for piece in pieces):
        return False
    if len(pieces) > 1:
        return True
    name = pieces[0]
    return (
        "_" in name
        or name[0].isupper()
        or any(character.isupper() for character in name[1:])
        or (any(character.isdigit() for character in name) and not name.isdigit())
    )


def is_compound(token: str) -> bool:
    """Say whether an identifier cannot be a word of prose: two words run together, or qualified."""
    return len(words_of(token)) > 1 and (not token.isupper() or "_" in token)


def last_name_of(token: str) -> str:
    """Give the name at the end of a qualified one: ``Base`` of ``Sinatra::Base``."""
    pieces = pieces_of(token)
    return pieces[-1] if pieces else token


def qualified_form(token: str) -> str:
    """Join the names of a qualified one by dots, as the index does: ``Sinatra::Base``."""
    return ".".join(pieces_of(token))


def _match_of(alternatives: Iterable[str], query: Query) -> str:
    """Join words, and add what must be there (phrases) and what must not (negations)."""
    match = " OR ".join(alternatives)
    required = [_phrase(term) for term in query.phrases if not term.negated]
    required = [phrase for phrase in required if phrase]
    if required:
        # A phrase alone is required; the other words only rank.
        both = " AND ".join(required)
        match = f"({both}) AND ({match} OR {both})" if match else both
    if match and (refused := refused_match(query)):
        match = f"({match}) NOT ({refused})"
    return match


def refused_match(query: Query) -> str:
    """Give the FTS5 expression of what must not be there, in any spelling; "" when nothing is."""
    refused = [words_of(term.text) for term in query.words if term.negated]
    phrases = [quoted(" ".join(words)) for words in refused if words]
    ways = [each for phrase in phrases for each in (phrase, *other_ways(phrase))]
    return " OR ".join(dict.fromkeys(ways))


def partings_of(run: str) -> list[str]:
    """Give all ways to part a run of letters into two words, as text with a space."""
    if len(run) > _MOST_PARTED:
        return []
    cuts = range(_SHORTEST_WORD, len(run) - _SHORTEST_WORD + 1)
    return [f"{run[:at]} {run[at:]}" for at in cuts]


def other_ways(alternative: str) -> list[str]:
    """Give the ways in which code may part the same name: ``"github"`` for ``"git hub"``.

    Args:
        alternative: A quoted word, or the words of a name as a quoted phrase.
    """
    text = alternative.strip('"')
    if " " in text:
        return [quoted(text.replace(" ", ""))]
    if len(text) < _LEAST_PARTED or not (text.isascii() and text.isalpha()):
        return []
    return [quoted(way) for way in partings_of(text) if not _is_prose(*way.split(" "))]


def _is_prose(first: str, second: str) -> bool:
    """Tell "to day" and "instance of" from names such as "set up" and "time out"."""
    return first in STOP_WORDS or (second in STOP_WORDS and second not in _PARTICLES)


def _phrase(term: Term) -> str:
    """Match the words of a quoted phrase; its last one may go on: the text decides later."""
    words = words_of(term.text)
    if not words:
        return ""
    goes_on = term.text[-1:].isalnum() and len(words[-1]) >= _PREFIX_CHARS
    return quoted(" ".join(words)) + (" *" if goes_on else "")


def quoted(text: str) -> str:
    """Give words as FTS5 reads them: a string, which matches them side by side."""
    return '"' + text.replace('"', '""') + '"'


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


def holds_phrases(text: str, query: Query) -> bool:
    """Say whether a text holds every quoted phrase, and none of the negated ones.

    ``case:auto`` compares exactly when the phrase has an upper-case letter. Runs of white space
    count as one space, so that a phrase is found across a line break.
    """
    spaced = " ".join(text.split())
    folded = spaced.lower()
    for phrase in query.phrases:
        wanted = " ".join(phrase.text.split())
        exact = query.case is Case.YES or (query.case is Case.AUTO and wanted != wanted.lower())
        is_there = wanted in spaced if exact else wanted.lower() in folded
        if is_there == phrase.negated:
            return False
    return True
