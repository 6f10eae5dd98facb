"""Rank candidates: weigh the features of places and add them up. Pure functions; no database.

All places of a file share its path and its factors, so files are scored, not places; the parts of a
score are computed again for the few places that are shown. Further places of one file are lowered,
so that an answer shows more than one file, the less the better they are.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import add
from typing import NamedTuple

from engine.search.features import (
    NOT_SCORED,
    Breakdown,
    Cosines,
    Evidence,
    Features,
    Part,
    RankedFile,
    features_of,
    share_part,
)
from engine.search.lexical import Lexical, is_compound, qualified_form
from engine.search.symbols import kind_weight
from engine.search.weights import FILE_SHARE, MAX_SHALLOW_DEPTH, MIN_SIMILARITY, Weights
from engine.store.chunks import ChunkFacts, SymbolFacts
from engine.syntax.languages import DOCUMENT_LANGUAGES

# Smaller shares are not worth showing to people.
_MIN_SHOWN_SHARE = 0.1
_NOTHING: Mapping[str, float] = {}
_CALLABLE = frozenset({"function", "method"})


@dataclass(slots=True)
class Candidate:
    """A chunk that may answer."""

    chunk: ChunkFacts
    lexical: float = 0.0  # BM25
    word_scores: Sequence[float] = ()  # BM25 of each word alone
    cosine: float | None = None  # of query and place; None: by words alone
    file_cosine: float | None = None  # of query and path
    symbol: SymbolFacts | None = None  # the requested symbol that it defines
    score: float = 0.0
    breakdown: Breakdown = NOT_SCORED
    spans: Sequence[tuple[int, int]] = ()  # of pattern matches, in bytes of the text
    is_defined: bool = False  # a pattern matches the definition of ``symbol``
    is_outside: bool = False  # what it shows is outside of all definitions
    owner: SymbolFacts | None = None  # that it belongs to, where this is known already


class Ranked(NamedTuple):
    """A place with its score; sorts best first, ties by path and place."""

    negative_score: float
    path: str
    place: int
    run: int  # number of the file
    before: int  # number of better places in the same file
    crowding: float  # factor for these


class Peaks(NamedTuple):
    """What the shares of an answer are shares of."""

    bm25: float  # the best
    similarity: float  # the highest


class Ranking:
    """The scored places of one query.

    Args:
        features: The query and the places, numbered from 0.
        weights: What each feature counts.
        changed: How much past commits speak for files, by path.
    """

    def __init__(
        self,
        features: Features,
        weights: Weights,
        changed: Mapping[str, float] = _NOTHING,
    ) -> None:
        self._changed = changed
        self._features = features
        self._weights = weights
        self._begins, self._ends, self._files = features.begins, features.ends, features.files
        self._definitions = features.evidence.definitions
        self._definition_shares = _definition_shares(features.lexical, weights)
        self._keyword = _keyword_shares(features.evidence.bm25, weights)
        self._contents = self._keyword
        self._meaning: Sequence[float] = ()
        self._file_meaning: Sequence[float] = ()
        self._file_words = _file_words_shares(features, weights)
        self._shallow = _shallow_shares(features, weights)
        similarities: Sequence[float] = ()
        if features.evidence.cosines:
            similarities = _similarities(features.evidence.cosines)
            self._meaning = _meaning_shares(similarities, weights)
            self._file_meaning = _file_meaning_shares(features, similarities, weights)
            self._contents = list(map(add, self._keyword, self._meaning))
        #: What the shares are shares of.
        self.peaks = Peaks(max(features.evidence.bm25, default=0.0), max(similarities, default=0.0))
        self._paths = _path_shares(features, weights)
        self._of_files = self._shares_of_files()
        self._sums, self._maxima = self._sums_and_maxima()
        self._coherence_unit = weights.coherence / (max(self._sums, default=0.0) or 1.0)

    def best(self, number: int) -> list[Ranked]:
        """Return the best places, in order.

        The best place of a file comes before its others, so these are in the files whose best
        places are the best.
        """
        best = sorted(self._best_of_files())[:number]
        least = best[-1][0] if 0 < len(best) == number else 0.0
        inside = [place for _, _, run in best for place in self._rank_file(run, best[0][0], least)]
        return sorted(inside)[:number]

    def breakdown(self, ranked: Ranked) -> Breakdown:
        """Return the parts of a place's score."""
        run, place = ranked.run, ranked.place
        file = self._files[run]
        shares = self._parts_of_content(place)
        if shares and self._coherence_unit and place == self._top_place(run):
            value = self._sums[run] * self._coherence_unit
            is_alone = self._ends[run] - self._begins[run] == 1
            shares.append(Part("file", value) if is_alone else share_part("file", value))
        if file in self._paths:
            shares.append(share_part("path", self._paths[file]))
        if file in self._features.named and self._weights.named:
            shares.append(share_part("named", self._weights.named, "named by the query"))
        if file.path in self._changed:
            value = self._weights.history * self._changed[file.path]
            shares.append(_minor_share("history", value))
        for name, why, of_files in (
            ("file_words", "words of the file", self._file_words),
            ("file_meaning", "meaning of the file", self._file_meaning),
            ("shallow", "near the root", self._shallow),
        ):
            if of_files and of_files[run]:
                shares.append(_minor_share(name, of_files[run], why))
        symbol = self._definitions.get(place)
        if symbol:
            value = self._definition_share(symbol, file)
            shares.append(share_part("definition", value, f"defines {symbol.name}"))
        factors = file.factors(self._features.asks_for_tests)
        if ranked.before:
            crowding = Part("crowding", ranked.crowding, f"place {ranked.before + 1} of its file")
            factors = (*factors, crowding)
        return Breakdown(tuple(shares), factors)

    def _parts_of_content(self, place: int) -> list[Part]:
        """Return the shares of the text of a place: its words and its meaning."""
        shares = []
        keyword, cosines = self._keyword[place], self._features.evidence.cosines
        if keyword:
            shares.append(Part("words", keyword, f"words {keyword / self._weights.words:.2f}"))
        if cosines and self._meaning[place]:
            cosine = cosines.places[place]
            shares.append(Part("meaning", self._meaning[place], f"meaning {cosine:.2f}"))
        return shares

    def _shares_of_files(self) -> list[float]:
        """Return what each file adds to all of its places."""
        shares = list(map(self._paths.get, self._files, repeat(0.0)))
        for of_files in (self._file_words, self._file_meaning, self._shallow):
            if of_files:
                shares = list(map(add, shares, of_files))
        if self._changed:
            known, most = self._changed, self._weights.history
            shares = [
                share + most * known.get(file.path, 0.0)
                for file, share in zip(self._files, shares, strict=True)
            ]
        if self._features.named:
            named, more = self._features.named, self._weights.named
            shares = [
                share + more * (file in named)
                for file, share in zip(self._files, shares, strict=True)
            ]
        return shares

    def _sums_and_maxima(self) -> tuple[list[float], list[float]]:
        """Return the sum and the maximum of the text shares of the places of each file."""
        contents = self._contents
        sums, tops = [], []
        for begin, end in zip(self._begins, self._ends, strict=True):
            if end - begin == 1:
                sums.append(contents[begin])
                tops.append(contents[begin])
            else:
                inside = contents[begin:end]
                sums.append(sum(inside))
                tops.append(max(inside))
        return sums, tops

    def _top_place(self, run: int) -> int:
        """Return the place of a file with the largest text share, the first of several."""
        return self._contents.index(self._maxima[run], self._begins[run])

    def _best_of_files(self) -> list[tuple[float, str, int]]:
        """Return the negative score of the best place of each file, with the path."""
        asks_for_tests, unit = self._features.asks_for_tests, self._coherence_unit
        best = [
            (-(top + together * unit + share) * file.factor(asks_for_tests), file.path, run)
            for run, (file, top, together, share) in enumerate(
                zip(self._files, self._maxima, self._sums, self._of_files, strict=True)
            )
        ]
        for run in {bisect_right(self._begins, place) - 1 for place in self._definitions}:
            best[run] = (self._rank_file(run)[0].negative_score, self._files[run].path, run)
        return best

    def _rank_file(self, run: int, best: float = 0.0, least: float = 0.0) -> list[Ranked]:
        """Score the places of one file, best first, each further one lowered.

        Args:
            run: The file.
            best: Negative score of the best place of all; the nearer, the less is lowered.
            least: Negative score; worse places are left out.
        """
        file, top = self._files[run], self._top_place(run)
        factor = file.factor(self._features.asks_for_tests)
        coherence = self._sums[run] * self._coherence_unit
        of_file = self._of_files[run]
        scored = []
        for place in range(self._begins[run], self._ends[run]):
            score = self._contents[place]
            if place == top:
                score += coherence
            score += of_file
            if place in self._definitions:
                score += self._definition_share(self._definitions[place], file)
            scored.append((-score * factor, place))
        scored.sort()
        ranked: list[Ranked] = []
        further = 1.0
        for before, (negative, place) in enumerate(scored):
            crowding = further
            if before and best:
                crowding = max(further, self._weights.least_crowding * (negative / best) ** 2)
            if negative * crowding > least:
                break
            ranked.append(Ranked(negative * crowding, file.path, place, run, before, crowding))
            further *= self._weights.crowding
        return ranked

    def _definition_share(self, symbol: SymbolFacts, file: RankedFile) -> float:
        """Return what defining a name of the query adds."""
        names, weights = self._features.lexical.names, self._weights
        shares = self._definition_shares
        share = shares.get(symbol.name) or shares.get(f"~{symbol.name.lower()}", 0.0)
        typed = names.get(symbol.name, symbol.name)
        if not f".{symbol.qualified_name}".endswith(f".{qualified_form(typed)}"):
            share *= weights.other_qualifier
        if symbol.kind == "constructor":
            share *= weights.constructor
        else:
            share *= kind_weight(symbol.kind)
            if symbol.kind in _CALLABLE and symbol.line_start == symbol.line_end:
                share *= weights.prototype
        if _plain_name(file.stem) == _plain_name(symbol.name):
            is_whole = file.stem == file.path.rpartition("/")[2].rpartition(".")[0]
            share *= weights.same_stem if is_whole else weights.stem_begins
        return share


def _minor_share(name: str, value: float, why: str = "") -> Part:
    """Return a share that has words for people only if it is not small."""
    return share_part(name, value, why) if value >= _MIN_SHOWN_SHARE else Part(name, value)


def rank(
    candidates: list[Candidate],
    lexical: Lexical,
    weights: Weights,
    *,
    shown: int | None = None,
    changed: Mapping[str, float] = _NOTHING,
) -> Peaks:
    """Score the candidates in place and sort them, best first; ties by path and line.

    Args:
        candidates: Chunks with keyword scores, cosines and the symbols asked for.
        lexical: The words of the query.
        weights: What each feature counts.
        shown: How many of the best get their breakdown; None for all.
        changed: How much past commits speak for files, by path.
    """
    candidates.sort(key=by_path_and_line)
    ranking = Ranking(candidate_features(candidates, lexical), weights, changed)
    best = ranking.best(len(candidates))
    candidates[:] = [candidates[ranked.place] for ranked in best]
    for number, (ranked, candidate) in enumerate(zip(best, candidates, strict=True)):
        candidate.score = -ranked.negative_score
        if shown is None or number < shown:
            candidate.breakdown = ranking.breakdown(ranked)
    return ranking.peaks


def candidate_features(ordered: Sequence[Candidate], lexical: Lexical) -> Features:
    """Return the features of candidates, which are ordered by path and line."""
    by_version: dict[tuple[str, int], RankedFile] = {}
    folders: dict[str, tuple[str, ...]] = {}
    for chunk in [candidate.chunk for candidate in ordered]:
        if (chunk.path, chunk.blob_id) not in by_version:
            by_version[chunk.path, chunk.blob_id] = RankedFile(
                chunk.path,
                is_generated=bool(chunk.is_generated),
                is_document=chunk.language in DOCUMENT_LANGUAGES,
                folders=folders,
            )
    has_cosines = any(candidate.cosine is not None for candidate in ordered)
    evidence = Evidence(
        [by_version[candidate.chunk.path, candidate.chunk.blob_id] for candidate in ordered],
        [candidate.lexical for candidate in ordered],
        list(zip(*[candidate.word_scores for candidate in ordered], strict=True)),
        {place: each.symbol for place, each in enumerate(ordered) if each.symbol},
        Cosines(
            [candidate.cosine or 0.0 for candidate in ordered],
            [candidate.file_cosine or 0.0 for candidate in ordered],
        )
        if has_cosines
        else None,
    )
    return features_of(lexical, evidence)


def _keyword_shares(bm25: Sequence[float], weights: Weights) -> list[float]:
    """Return what the words of places add."""
    best = max(bm25, default=0.0) or 1.0
    words, power = weights.words, weights.words_power
    return [words * (score / best) ** power for score in bm25]


def _file_words_shares(features: Features, weights: Weights) -> list[float]:
    """Return what each file adds for the words that its places have together."""
    columns = features.evidence.word_scores
    if not weights.file_words or not columns:
        return []
    together: Sequence[float] = [0.0] * len(features.begins)
    for column in columns:
        best = list(map(column.__getitem__, features.begins))
        if len(features.begins) < len(column):
            runs = zip(features.begins, features.ends, best, strict=True)
            best = [
                first if end - begin == 1 else max(column[begin:end]) for begin, end, first in runs
            ]
        together = list(map(add, together, best))
    return _shares_of(together, weights.file_words)


def _shallow_shares(features: Features, weights: Weights) -> list[float]:
    """Return what each file adds for being near the root."""
    if not weights.shallow:
        return []
    return [weights.shallow * max(0, MAX_SHALLOW_DEPTH - file.depth) for file in features.files]


def _similarities(cosines: Cosines) -> list[float]:
    """Return the similarity of places, by their text and the path of their file."""
    return [
        cosine + FILE_SHARE * of_file
        for cosine, of_file in zip(cosines.places, cosines.files, strict=True)
    ]


def _meaning_shares(similarities: Sequence[float], weights: Weights) -> list[float]:
    """Return what the similarity of places adds."""
    return _powers(similarities, weights.meaning, weights.meaning_power)


def _file_meaning_shares(
    features: Features, similarities: Sequence[float], weights: Weights
) -> list[float]:
    """Return what each file adds for the similarity of all its places."""
    if not weights.file_meaning:
        return []
    powers = _powers(similarities, 1.0, weights.file_meaning_power)
    together = [
        sum(powers[begin:end]) for begin, end in zip(features.begins, features.ends, strict=True)
    ]
    return _shares_of(together, weights.file_meaning)


def _shares_of(values: Sequence[float], weight: float) -> list[float]:
    """Scale values so that the largest becomes ``weight``."""
    unit = weight / (max(values, default=0.0) or 1.0)
    return [unit * value for value in values]


def _powers(similarities: Sequence[float], weight: float, power: float) -> list[float]:
    """Scale similarities by the best, raise them to a power, and weigh them; negative become 0."""
    best = max(max(similarities, default=0.0), MIN_SIMILARITY)
    return [weight * (each / best) ** power if each > 0 else 0.0 for each in similarities]


def _path_shares(features: Features, weights: Weights) -> dict[RankedFile, float]:
    """Return what the words of their paths add to files; files without any are left out."""
    most, folder, power = features.max_path_words, weights.folder, weights.path_power
    if not weights.path:
        return {}
    return {
        file: weights.path * ((in_name + folder * in_folders) / most) ** power
        for file, (in_name, in_folders) in features.path_words.items()
    }


def _definition_shares(lexical: Lexical, weights: Weights) -> dict[str, float]:
    """Return what defining each name adds; keys ``~name``, in lower case, are for any case."""
    shares = {}
    for name, typed in lexical.names.items():
        if lexical.is_symbol_query:
            shares[name] = weights.definition
        else:
            shares[name] = weights.mention if is_compound(typed) else weights.word_definition
    folded = {f"~{name.lower()}": share * weights.other_case for name, share in shares.items()}
    return shares | folded


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def by_path_and_line(candidate: Candidate) -> tuple[str, int, int]:
    """Return the key that orders candidates as ``candidate_features`` wants them."""
    chunk = candidate.chunk  # of a path, branches can have several blobs
    return (chunk.path, chunk.blob_id, chunk.line_start)


def sort_diversified(candidates: list[Candidate], worth_of: Callable[[int], float]) -> None:
    """Sort, best first, ties by path and line, after lowering further places of each file.

    Args:
        candidates: With their breakdowns, in any order.
        worth_of: Returns the factor of a place by the number of places of its file before it.
    """
    candidates.sort(key=_order)
    taken: dict[str, int] = defaultdict(int)
    for candidate in candidates:
        path, breakdown = candidate.chunk.path, candidate.breakdown
        value = worth_of(taken[path])
        taken[path] += 1
        if value < 1:
            crowding = Part("crowding", value, f"place {taken[path]} of its file")
            candidate.breakdown = breakdown._replace(factors=(*breakdown.factors, crowding))
            candidate.score = candidate.breakdown.score
    candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, str, int]:
    return (-candidate.score, candidate.chunk.path, candidate.chunk.line_start)
