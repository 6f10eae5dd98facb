"""Words of a query: FTS5 expressions, and exact phrases.

The keyword index finds phrases by their words, ignoring case and punctuation; then the texts are
checked.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from engine.record_class import record
from engine.search.query import Case, Query, Term
from engine.search_records import Mode
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
#: Words of queries that say nothing about code. They count only if there are no others.
STOP_WORDS = frozenset(_STOP_TEXT.split())

# Identifiers also need an inner capital, an underscore, a capital first letter, or a digit.
_IDENTIFIER = re.compile(r"^[A-Za-z_$][\w$]*$")
_QUALIFIER = re.compile(r"::|->|[.\\#/]")
_PREFIX_CHARS = 2
_MIN_SPLIT_CHARS = 5  # of a word that may be two
_MAX_SPLIT_CHARS = 32  # of a name; each split costs 20 µs
_MIN_WORD_CHARS = 2
_PARTICLES = frozenset({"in", "on", "out", "over", "up"})
#: Modes that also find what is similar to a name.
MODES_WITH_WORDS = frozenset({Mode.HYBRID, Mode.MEANING, Mode.KEYWORD})
# A file in a message or a stack trace: below folders, or with a line. It is looked for only where a
# name begins, as each place of a long token would take the time of its rest.
_PLACE = re.compile(
    r"(?<![\w@.+~/\\-])"
    r"(?P<path>(?:[\w@.+~-]*[/\\])*\.{0,3}[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,9})"
    r"(?=(?P<line>:\d|\(\d|\W{1,3}line \d)?)"
)
_MAX_PLACES = 16
_PUNCTUATION = "()[]{}<>,;:?!'\"`&*@="


@record
class Lexical:
    """Frozen record of a query, prepared for the keyword index and for ranking."""

    chunk_match: str  # FTS5 expression over chunk_terms; "" without words
    path_match: str  # over file_paths
    alternatives: tuple[str, ...]  # quoted words and phrases that chunk_match joins by OR
    path_words: tuple[str, ...]  # quoted words that path_match joins by OR
    words: tuple[str, ...]  # distinct words that count, in order
    names: dict[str, str]  # requested symbol names → as typed, with their qualifiers
    is_symbol_query: bool  # the whole query is one identifier or qualified name
    files: tuple[tuple[str, ...], ...]  # named with folders or a line: folders, and the name


def lexical_of(query: Query, *, with_common: bool = False) -> Lexical:
    """Prepare the words and phrases of a query.

    Args:
        query: The query.
        with_common: Whether words that say nothing about code count beside others.
    """
    tokens = [strip_punctuation(term.text) for term in query.words if not term.negated]
    tokens = [token for token in tokens if token]
    all_words: list[str] = []
    runs: list[str] = []  # words of one name, joined by spaces
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
    for term in query.mentions:
        parts = words_of(term.text)
        all_words += parts
        if len(parts) > 1:
            runs.append(" ".join(parts))
    words = tuple(dict.fromkeys(all_words)) if with_common else _counted(all_words)
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
        files=named_files(query.text) if len(tokens) > 1 and "." in query.text else (),
    )


def named_files(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the files that a text names with folders or with a line, each split at slashes."""
    found = (
        tuple(part for part in re.split(r"[/\\]", place["path"]) if part not in ("", ".", ".."))
        for place in _PLACE.finditer(text)
        if place["line"] or "/" in place["path"] or "\\" in place["path"]
    )
    return tuple(islice(dict.fromkeys(found), _MAX_PLACES))


def _counted(words: Iterable[str]) -> tuple[str, ...]:
    """Return the different words without those that say nothing, unless there are no others."""
    different = dict.fromkeys(words)
    return tuple(word for word in different if word not in STOP_WORDS) or tuple(different)


def with_spellings(lexical: Lexical, spellings: Iterable[str], query: Query) -> Lexical:
    """Return the prepared words with other spellings added.

    Args:
        lexical: Of the query.
        spellings: Quoted words and phrases.
        query: The query.
    """
    alternatives = tuple(dict.fromkeys([*lexical.alternatives, *spellings]))
    if len(alternatives) == len(lexical.alternatives):
        return lexical
    match = _match_of(alternatives, query)
    return replace(lexical, alternatives=alternatives, chunk_match=match)


def strip_punctuation(token: str) -> str:
    """Return a word of a query without the punctuation around it."""
    return token.strip(_PUNCTUATION)


def pieces_of(token: str) -> list[str]:
    """Return the parts of a qualified name: ``Sinatra``, ``Base``."""
    return [piece for piece in _QUALIFIER.split(token) if piece]


def looks_like_identifier(token: str) -> bool:
    """Return whether a token is a name of code rather than a word of prose."""
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
    """Return whether an identifier cannot be prose: several words joined, or qualified."""
    return len(words_of(token)) > 1 and (not token.isupper() or "_" in token)


def last_name_of(token: str) -> str:
    """Return the last part of a qualified name: ``Base`` of ``Sinatra::Base``."""
    pieces = pieces_of(token)
    return pieces[-1] if pieces else token


def qualified_form(token: str) -> str:
    """Join the parts of a qualified name by dots, as the index does: ``Sinatra.Base``."""
    return ".".join(pieces_of(token))


def _match_of(alternatives: Iterable[str], query: Query) -> str:
    """Join words by OR, and add what is required (phrases) and excluded (negations)."""
    match = " OR ".join(alternatives)
    required = [
        phrase if len(choices) == 1 else f"({phrase})"
        for choices in required_phrases(query)
        if (phrase := " OR ".join(filter(None, map(_phrase, choices))))
    ]
    if required:
        # A phrase alone is required; the other words only rank.
        both = " AND ".join(required)
        match = f"({both}) AND ({match} OR {both})" if match else both
    if match and (excluded := excluded_match(query)):
        match = f"({match}) NOT ({excluded})"
    return match


def required_phrases(query: Query) -> list[list[Term]]:
    """Return the quoted phrases that a place must contain, one of each list."""
    groups: dict[int, list[Term]] = {}
    for term in query.phrases:
        if not term.negated:
            groups.setdefault(term.choice or -term.position - 1, []).append(term)
    return list(groups.values())


def excluded_match(query: Query, *, with_phrases: bool = False) -> str:
    """Return the FTS5 expression of the excluded words, in any spelling; "" without any.

    Args:
        query: The query.
        with_phrases: Whether excluded phrases count, by their words; else the text must be asked.
    """
    excluded = [words_of(term.text) for term in query.words if term.negated]
    phrases = [quoted(" ".join(words)) for words in excluded if words]
    ways = [each for phrase in phrases for each in (phrase, *alternative_spellings(phrase))]
    if with_phrases:
        ways += filter(None, (_phrase(term) for term in query.phrases if term.negated))
    return " OR ".join(dict.fromkeys(ways))


def two_word_splits(run: str) -> list[str]:
    """Return all ways to split a run of letters into two words, as text with a space."""
    if len(run) > _MAX_SPLIT_CHARS:
        return []
    cuts = range(_MIN_WORD_CHARS, len(run) - _MIN_WORD_CHARS + 1)
    return [f"{run[:at]} {run[at:]}" for at in cuts]


def alternative_spellings(alternative: str) -> list[str]:
    """Return the ways in which code may split the same name: ``"github"`` for ``"git hub"``.

    Args:
        alternative: A quoted word, or the words of a name as a quoted phrase.
    """
    text = alternative.strip('"')
    if " " in text:
        return [quoted(text.replace(" ", ""))]
    if len(text) < _MIN_SPLIT_CHARS or not (text.isascii() and text.isalpha()):
        return []
    return [quoted(way) for way in two_word_splits(text) if not _is_prose(*way.split(" "))]


def _is_prose(first: str, second: str) -> bool:
    """Tell "to day" and "instance of" from names like "set up" and "time out"."""
    return first in STOP_WORDS or (second in STOP_WORDS and second not in _PARTICLES)


def _phrase(term: Term) -> str:
    """Match the words of a quoted phrase; the last one may be a prefix: the text decides later."""
    words = words_of(term.text)
    if not words:
        return ""
    goes_on = term.text[-1:].isalnum() and len(words[-1]) >= _PREFIX_CHARS
    return quoted(" ".join(words)) + (" *" if goes_on else "")


def quoted(text: str) -> str:
    """Return text as an FTS5 string, which matches its words side by side."""
    return '"' + text.replace('"', '""') + '"'


def holds_phrases(text: str, query: Query) -> bool:
    """Return whether a text contains every quoted phrase, and none of the negated ones.

    ``case:auto`` compares exactly when the phrase has an upper-case letter. Runs of white space
    count as one space, so that a phrase is found across a line break.
    """
    spaced = " ".join(text.split())
    folded = spaced.lower()

    def is_there(phrase: Term) -> bool:
        wanted = " ".join(phrase.text.split())
        exact = query.case is Case.YES or (query.case is Case.AUTO and wanted != wanted.lower())
        return wanted in spaced if exact else wanted.lower() in folded

    return all(any(map(is_there, choices)) for choices in required_phrases(query)) and not any(
        phrase.negated and is_there(phrase) for phrase in query.phrases
    )
