"""Ranking rules that know code. Pure functions over candidates; no database.

A score is a sum of shares of what is best possible: the best keyword score counts 1, a path that
holds every word of the question ``PATH_SHARE``, and so on; then factors lower what is rarely
meant. So the answers of several projects can be merged by score.

The numbers were chosen on 29 repositories in 18 languages, one at a time, each kept where its
neighbours do as well: overall quality changes by less than 0.005 when any of them is varied by a
third. ``tests/benchmark/README.md`` has the table.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from engine.search.lexical import Lexical, is_compound, qualified_form
from engine.search.pathrules import path_factor
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.syntax.terms import words_of

#: Keyword scores count by this power of their share of the best, so that the tail still counts.
KEYWORD_POWER = 0.75
#: The most that the words of a path add.
PATH_SHARE = 2.0
PATH_POWER = 0.75
#: A word found in a folder counts so much of one found in the file's name.
FOLDER_SHARE = 0.5
#: The most that matching in many places of a file adds, to the best place of that file.
COHERENCE_SHARE = 0.6
#: What defining the name asked for adds, when the name is the whole question …
DEFINITION_SHARE = 3.0
#: … when a compound name (``SessionStore``) stands among other words …
MENTION_SHARE = 1.0
#: … and when that name is a single word that may be one of prose (``Session``, ``JSON``).
WORD_SHARE = 0.3
#: A definition in a file of the same name is the one that is meant.
SAME_STEM_FACTOR = 1.5
OTHER_CASE_FACTOR = 0.5
OTHER_QUALIFIER_FACTOR = 0.6
#: A function on one line is a prototype more often than a definition …
PROTOTYPE_FACTOR = 0.8
#: … and a constructor has the name of the class that is meant.
CONSTRUCTOR_FACTOR = 0.8
#: Each further place of a file counts so much of the one before, so that no file crowds the ten.
CROWDING = 0.3
DOCUMENT_FACTOR = 0.5

_AKIN_CHARS = 3
_CALLABLE = frozenset({"function", "method"})
_TEST_WORDS = ("test", "mock", "spec", "bench", "fixture")


@dataclass(slots=True)
class Candidate:
    """A chunk on its way into the answer."""

    chunk: ChunkFacts
    lexical: float = 0.0  # BM25
    symbol: SymbolFacts | None = None  # what it defines of the names asked for
    score: float = 0.0
    why: list[str] = field(default_factory=list)


def rank(candidates: list[Candidate], lexical: Lexical, documents: frozenset[str]) -> None:
    """Score the candidates in place and sort them, best first; ties by path and line.

    Args:
        candidates: Chunks with their keyword scores and the symbols asked for.
        lexical: The question.
        documents: Languages that are prose or data rather than code.
    """
    best = max((candidate.lexical for candidate in candidates), default=0.0) or 1.0
    for candidate in candidates:
        candidate.score = (candidate.lexical / best) ** KEYWORD_POWER
        if candidate.lexical:
            candidate.why.append(f"words {candidate.score:.2f}")
    _add_coherence(candidates)
    _add_paths(candidates, lexical)
    _add_definitions(candidates, lexical)
    asks_for_tests = any(word.startswith(_TEST_WORDS) for word in lexical.words)
    for candidate in candidates:
        _apply_factors(candidate, documents, asks_for_tests=asks_for_tests)
    _spread(candidates)


def _add_coherence(candidates: list[Candidate]) -> None:
    """Raise the best chunk of files that match in several places."""
    sums: dict[str, float] = defaultdict(float)
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        path = candidate.chunk.path
        sums[path] += candidate.score
        if path not in best or candidate.score > best[path].score:
            best[path] = candidate
    most = max(sums.values(), default=0.0)
    if not most:
        return
    for path, candidate in best.items():
        share = COHERENCE_SHARE * sums[path] / most
        candidate.score += share
        if sums[path] > candidate.lexical:
            candidate.why.append(f"file +{share:.2f}")


def _add_paths(candidates: list[Candidate], lexical: Lexical) -> None:
    """Raise chunks of files whose name or folders hold words of the question."""
    words = [word for word in lexical.words if len(word) >= _AKIN_CHARS]
    if not words:
        return
    shares: dict[str, float] = {}
    akin: dict[str, frozenset[str]] = {}
    for candidate in candidates:
        path = candidate.chunk.path
        share = shares.get(path)
        if share is None:
            share = shares[path] = PATH_SHARE * _path_share(path, words, akin) ** PATH_POWER
        if share:
            candidate.score += share
            candidate.why.append(f"path +{share:.2f}")


def _path_share(path: str, words: list[str], akin: dict[str, frozenset[str]]) -> float:
    """Give the share of the words that a path holds; ``akin`` remembers what each part matches."""
    folders, _, name = path.rpartition("/")
    stem = name.partition(".")[0] or name
    in_stem = _words_in(stem, words, akin)
    in_folders = _words_in(folders, words, akin)
    return (len(in_stem) + FOLDER_SHARE * len(in_folders - in_stem)) / len(words)


def _words_in(text: str, words: list[str], akin: dict[str, frozenset[str]]) -> set[str]:
    found: set[str] = set()
    for part in words_of(text):
        matches = akin.get(part)
        if matches is None:
            matches = akin[part] = frozenset(word for word in words if _are_akin(word, part))
        found |= matches
    return found


def _are_akin(word: str, part: str) -> bool:
    """Say whether one word begins with the other: route, router, routes."""
    shorter, longer = (word, part) if len(word) <= len(part) else (part, word)
    return len(shorter) >= _AKIN_CHARS and longer.startswith(shorter)


def _add_definitions(candidates: list[Candidate], lexical: Lexical) -> None:
    """Raise chunks that define a name of the question."""
    shares = {}
    for name, typed in lexical.names.items():
        if lexical.is_symbol_query:
            shares[name] = DEFINITION_SHARE
        else:
            shares[name] = MENTION_SHARE if is_compound(typed) else WORD_SHARE
    folded = {name.lower(): share * OTHER_CASE_FACTOR for name, share in shares.items()}
    for candidate in candidates:
        symbol = candidate.symbol
        if symbol is None:
            continue
        share = shares.get(symbol.name) or folded.get(symbol.name.lower(), 0.0)
        typed = lexical.names.get(symbol.name, symbol.name)
        if not f".{symbol.qualified_name}".endswith(f".{qualified_form(typed)}"):
            share *= OTHER_QUALIFIER_FACTOR
        if symbol.kind == "constructor":
            share *= CONSTRUCTOR_FACTOR
        elif symbol.kind in _CALLABLE and symbol.line_start == symbol.line_end:
            share *= PROTOTYPE_FACTOR
        stem = candidate.chunk.path.rpartition("/")[2].partition(".")[0]
        if _bare(stem) == _bare(symbol.name):
            share *= SAME_STEM_FACTOR
        candidate.score += share
        candidate.why.append(f"defines {symbol.name} +{share:.2f}")


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _apply_factors(
    candidate: Candidate, documents: frozenset[str], *, asks_for_tests: bool
) -> None:
    chunk = candidate.chunk
    factor, reasons = path_factor(
        chunk.path, is_generated=bool(chunk.is_generated), asks_for_tests=asks_for_tests
    )
    candidate.score *= factor
    candidate.why.extend(reasons)
    if chunk.language in documents:
        candidate.score *= DOCUMENT_FACTOR
        candidate.why.append(f"document ×{DOCUMENT_FACTOR:g}")


def _spread(candidates: list[Candidate]) -> None:
    """Sort, and lower each further place of a file."""
    candidates.sort(key=_order)
    taken: dict[str, int] = defaultdict(int)
    for candidate in candidates:
        path = candidate.chunk.path
        if taken[path]:
            candidate.score *= CROWDING ** taken[path]
            candidate.why.append(f"place {taken[path] + 1} of its file")
        taken[path] += 1
    candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, str, int]:
    return (-candidate.score, candidate.chunk.path, candidate.chunk.line_start)
