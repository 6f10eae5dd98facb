"""Ranking rules that know code. Pure functions over candidates; no database.

A score is a sum of shares of what is best possible: the best keyword score counts 1, a path that
holds every word of the question ``PATH_SHARE``, and so on; then factors lower what is rarely
meant. So the answers of several projects can be merged by score. All places of a file share its
path and its factors, so files are gone through, not places; the parts of a score are put together
again for the few places that are shown.

The numbers were chosen on 29 repositories in 18 languages, one at a time, each kept where its
neighbours do as well: overall quality changes by less than 0.005 when any of them is varied by a
third. ``tests/benchmark/README.md`` has the table.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.search.breakdown import NOT_SCORED, Breakdown, Part, raised
from engine.search.lexical import Lexical, is_compound, qualified_form
from engine.search.pathwords import LEAST_CHARS, PathVocabulary, RankedFile, words_held
from engine.store.chunks import ChunkFacts, SymbolFacts

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

_CALLABLE = frozenset({"function", "method"})
_TEST_WORDS = ("test", "mock", "spec", "bench", "fixture")


@dataclass(slots=True)
class Candidate:
    """A chunk on its way into the answer."""

    chunk: ChunkFacts
    lexical: float = 0.0  # BM25
    symbol: SymbolFacts | None = None  # what it defines of the names asked for
    score: float = 0.0
    breakdown: Breakdown = NOT_SCORED
    spans: Sequence[tuple[int, int]] = ()  # bytes of the text that patterns match
    is_defined: bool = False  # a pattern matches where ``symbol`` is defined


class Ranked(NamedTuple):
    """A place with its score; the least one is the best, ties by path and place."""

    negative_score: float
    path: str
    place: int
    run: int  # which file
    better: int  # places of the same file before it


class Ranking:
    """The places that may answer one question, scored. A place is a number from 0 on.

    Args:
        lexical: The question.
        scores: The BM25 score of each place, 0 for one found by its path or definition only.
        files: The file of each place; those of a file in a row, by line.
        definitions: The symbols asked for that places define.
        vocabulary: The words of the paths of these files, or of more.
    """

    def __init__(
        self,
        lexical: Lexical,
        scores: Sequence[float],
        files: Sequence[RankedFile],
        definitions: Mapping[int, SymbolFacts],
        vocabulary: PathVocabulary,
    ) -> None:
        self._lexical = lexical
        self._definitions = definitions
        self._definition_shares = _definition_shares(lexical)
        self._asks_for_tests = any(word.startswith(_TEST_WORDS) for word in lexical.words)
        best = max(scores, default=0.0) or 1.0
        self._keyword = [(score / best) ** KEYWORD_POWER for score in scores]
        self._begins, self._ends, self._files = _runs_of(files)
        self._paths = path_shares(lexical, self._files, vocabulary)
        self._sums, self._tops = self._sums_and_tops()
        self._coherence_unit = COHERENCE_SHARE / (max(self._sums, default=0.0) or 1.0)

    def best(self, number: int) -> list[Ranked]:
        """Give the best places, in order.

        The best place of a file comes before its others, so these are in the files whose best
        places are the best.
        """
        best = sorted(self._best_of_files())[:number]
        least = best[-1][0] if 0 < len(best) == number else 0.0
        inside = [place for _, _, run in best for place in self._inside(run, least)]
        return sorted(inside)[:number]

    def breakdown(self, ranked: Ranked) -> Breakdown:
        """Give the parts of a place's score."""
        run, place = ranked.run, ranked.place
        file, keyword = self._files[run], self._keyword[place]
        shares = []
        if keyword:
            shares.append(Part("words", keyword, f"words {keyword:.2f}"))
            if place == self._top(run):
                value = self._sums[run] * self._coherence_unit
                is_alone = self._ends[run] - self._begins[run] == 1
                shares.append(Part("file", value) if is_alone else raised("file", value))
        if file in self._paths:
            shares.append(raised("path", self._paths[file]))
        symbol = self._definitions.get(place)
        if symbol:
            value = self._definition_share(symbol, file)
            shares.append(raised("definition", value, f"defines {symbol.name}"))
        factors = file.factors(self._asks_for_tests)
        if ranked.better:
            crowding = Part(
                "crowding", CROWDING**ranked.better, f"place {ranked.better + 1} of its file"
            )
            factors = (*factors, crowding)
        return Breakdown(tuple(shares), factors)

    def _sums_and_tops(self) -> tuple[list[float], list[float]]:
        """Give the sum and the largest of the keyword shares of each file."""
        keyword = self._keyword
        sums, tops = [], []
        for begin, end in zip(self._begins, self._ends, strict=True):
            if end - begin == 1:
                sums.append(keyword[begin])
                tops.append(keyword[begin])
            else:
                inside = keyword[begin:end]
                sums.append(sum(inside))
                tops.append(max(inside))
        return sums, tops

    def _top(self, run: int) -> int:
        """Give the place of a file that has the most of the words, the first of several."""
        return self._keyword.index(self._tops[run], self._begins[run])

    def _best_of_files(self) -> list[tuple[float, str, int]]:
        """Give the negative score of the best place of each file, with the path."""
        paths, asks_for_tests, unit = self._paths, self._asks_for_tests, self._coherence_unit
        best = [
            (
                -(top + together * unit + paths.get(file, 0.0)) * file.factor(asks_for_tests),
                file.path,
                run,
            )
            for run, (file, top, together) in enumerate(
                zip(self._files, self._tops, self._sums, strict=True)
            )
        ]
        for run in {bisect_right(self._begins, place) - 1 for place in self._definitions}:
            best[run] = (self._inside(run)[0].negative_score, self._files[run].path, run)
        return best

    def _inside(self, run: int, least: float = 0.0) -> list[Ranked]:
        """Score the places of one file, best first, each further one lowered by the crowd.

        Args:
            run: The file.
            least: Negative score; worse places are left out.
        """
        file, top = self._files[run], self._top(run)
        factor = file.factor(self._asks_for_tests)
        coherence = self._sums[run] * self._coherence_unit
        path_share = self._paths.get(file, 0.0)
        scored = []
        for place in range(self._begins[run], self._ends[run]):
            score = self._keyword[place]
            if place == top:
                score += coherence
            score += path_share
            if place in self._definitions:
                score += self._definition_share(self._definitions[place], file)
            scored.append((-score * factor, place))
        scored.sort()
        ranked = []
        lowered = 1.0
        for better, (negative, place) in enumerate(scored):
            if negative * lowered > least:
                break
            ranked.append(Ranked(negative * lowered, file.path, place, run, better))
            lowered *= CROWDING
        return ranked

    def _definition_share(self, symbol: SymbolFacts, file: RankedFile) -> float:
        """Give what defining a name of the question adds."""
        names = self._lexical.names
        shares = self._definition_shares
        share = shares.get(symbol.name) or shares.get(f"~{symbol.name.lower()}", 0.0)
        typed = names.get(symbol.name, symbol.name)
        if not f".{symbol.qualified_name}".endswith(f".{qualified_form(typed)}"):
            share *= OTHER_QUALIFIER_FACTOR
        if symbol.kind == "constructor":
            share *= CONSTRUCTOR_FACTOR
        elif symbol.kind in _CALLABLE and symbol.line_start == symbol.line_end:
            share *= PROTOTYPE_FACTOR
        if _bare(file.stem) == _bare(symbol.name):
            share *= SAME_STEM_FACTOR
        return share


def rank(
    candidates: list[Candidate],
    lexical: Lexical,
    documents: frozenset[str],
    *,
    shown: int | None = None,
) -> None:
    """Score the candidates in place and sort them, best first; ties by path and line.

    Args:
        candidates: Chunks with their keyword scores and the symbols asked for.
        lexical: The question.
        documents: Languages that are prose or data rather than code.
        shown: How many of the best get their breakdown; without, all.
    """
    ordered = sorted(candidates, key=_by_path_and_line)
    by_path: dict[str, RankedFile] = {}
    folders: dict[str, tuple[str, ...]] = {}
    for chunk in [candidate.chunk for candidate in ordered]:
        if chunk.path not in by_path:
            by_path[chunk.path] = RankedFile(
                chunk.path,
                is_generated=bool(chunk.is_generated),
                is_document=chunk.language in documents,
                folders=folders,
            )
    ranking = Ranking(
        lexical,
        [candidate.lexical for candidate in ordered],
        [by_path[candidate.chunk.path] for candidate in ordered],
        {place: each.symbol for place, each in enumerate(ordered) if each.symbol},
        PathVocabulary(by_path.values()),
    )
    best = ranking.best(len(ordered))
    candidates[:] = [ordered[ranked.place] for ranked in best]
    for number, (ranked, candidate) in enumerate(zip(best, candidates, strict=True)):
        candidate.score = -ranked.negative_score
        if shown is None or number < shown:
            candidate.breakdown = ranking.breakdown(ranked)


def path_shares(
    lexical: Lexical, files: Iterable[RankedFile], vocabulary: PathVocabulary
) -> dict[RankedFile, float]:
    """Give what the words of their paths add to files; files without any are left out."""
    words = [word for word in lexical.words if len(word) >= LEAST_CHARS]
    held = words_held(files, vocabulary.akin(words))
    return {
        file: PATH_SHARE * ((in_stem + FOLDER_SHARE * in_folders) / len(words)) ** PATH_POWER
        for file, (in_stem, in_folders) in held.items()
    }


def _runs_of(files: Sequence[RankedFile]) -> tuple[list[int], list[int], list[RankedFile]]:
    """Give where the places of each file begin and end, and the files."""
    begins: list[int] = []
    last = None
    for place, file in enumerate(files):
        if file is not last:
            begins.append(place)
            last = file
    ends = [*begins[1:], len(files)] if begins else []
    return begins, ends, [files[begin] for begin in begins]


def _definition_shares(lexical: Lexical) -> dict[str, float]:
    """Give what defining each name adds; with ``~`` before it, one in lower case, in any case."""
    shares = {}
    for name, typed in lexical.names.items():
        if lexical.is_symbol_query:
            shares[name] = DEFINITION_SHARE
        else:
            shares[name] = MENTION_SHARE if is_compound(typed) else WORD_SHARE
    folded = {f"~{name.lower()}": share * OTHER_CASE_FACTOR for name, share in shares.items()}
    return shares | folded


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _by_path_and_line(candidate: Candidate) -> tuple[str, int]:
    return (candidate.chunk.path, candidate.chunk.line_start)
