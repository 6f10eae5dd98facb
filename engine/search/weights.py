"""Every number of ranking: weights, factors, thresholds, and how many candidates each way finds.

A score is a sum of shares times a product of factors. A share is relative to the best of the
answer: the best keyword score adds ``words``, the place most similar in meaning ``meaning``, a path
that holds every word of the query ``path``, and so on. Factors then lower what is rarely meant.
``merge`` makes the scores of several projects comparable.

Limits that only bound the time or memory of a search stand where they are used.

The numbers were chosen one at a time: those of words, paths and definitions on 29 repositories in
18 languages, those of meaning on these and 32 others, those of ``PROSE_BY_BOTH`` on half of the 29
and on descriptions of changes in 31 further ones, and checked on the other halves.
``tests/benchmark/README.md`` says what each part is worth.
"""

from typing import NamedTuple

from engine.search.lexical import Lexical
from engine.search_records import Mode

#: The similarity of a place to a query is the cosine of the two, plus this much of the cosine of
#: the query and the path of the file.
FILE_SHARE = 0.4
#: Beside words, less similar places are not found by meaning. In a share of meaning, the best
#: similarity counts as no less than this.
MIN_SIMILARITY = 0.3
#: In mode ``meaning``, any positive similarity will do.
ANY_SIMILARITY = 1e-6
#: Of memories searched without files. Among files it is ``MIN_SIMILARITY / (1 + FILE_SHARE)``; here
#: it is lower, since memories are few and a sentence says little. With the built-in model, 10
#: sentences of notes had cosines of 0.06 to 0.57 with queries that meant them in other words, and
#: up to 0.15 with other queries.
MIN_MEMORY_SIMILARITY = 0.15

#: Commits that speak for the files they changed, the best by words, and how many files one may
#: have changed.
MAX_COMMITS = 30
MAX_CHANGED_FILES = 50

#: Places that each way of finding contributes at most, best first.
MAX_BY_WORDS = 200
MAX_BY_WORDS_WITH_MEANING = 110
MAX_BY_MEANING = 60
MAX_BY_PATH = 12
MAX_BY_DEFINITION = 100
#: Where the database compares vectors, chunks are also taken from the files with the most similar
#: paths: this many files, and of each large one this many chunks.
MAX_SIMILAR_PATHS = 20
MAX_CHUNKS_PER_SIMILAR_PATH = 50
#: A word or name in more chunks is written as the code base writes it: no other spelling is tried.
MAX_CHUNKS_TO_RESPELL = 50
#: Nearest chunks that are ranked as related code.
MAX_RELATED = 200
#: Symbols read for a name before ranking, and similar names that are looked up.
MAX_SYMBOL_ROWS = 400
MAX_FUZZY_NAMES = 100

#: Factors of what users rarely look for, by path, content or language.
TEST_FACTOR = 0.3
#: Of tests when the query has a word such as "test" or "mock": more often it asks for what is
#: tested, or for what makes the mock.
ASKED_TEST_FACTOR = 0.6
EXAMPLE_FACTOR = 0.3
VENDORED_FACTOR = 0.3
GENERATED_FACTOR = 0.5
REEXPORT_FACTOR = 0.5
STUB_FACTOR = 0.7
DOCUMENT_FACTOR = 0.3
#: Of places that filters by use list, by how certain the use is.
USE_FACTORS = {"exact": 1.0, "likely": 0.9, "name": 0.6}
#: Folders below which a file gets nothing for being near the root.
MAX_SHALLOW_DEPTH = 6
#: Shorter words of a query are not looked for in paths.
MIN_PATH_WORD_CHARS = 3

#: What defining a name counts by the kind of symbol: a name is a class more often than a variable.
KIND_WEIGHTS = {
    "class": 1.0,
    "struct": 1.0,
    "interface": 1.0,
    "trait": 1.0,
    "enum": 1.0,
    "type": 0.97,
    "module": 0.95,
    "namespace": 0.93,
    "function": 0.97,
    "method": 0.93,
    "macro": 0.93,
    "constructor": 0.9,
    "constant": 0.9,
    "property": 0.88,
    "field": 0.85,
    "variable": 0.85,
    "section": 0.6,
}
OTHER_KIND_WEIGHT = 0.8

#: Symbols by name: what a name counts that is the same, that begins with the text (with the share
#: of its length that the text is), and that is similar (times its similarity).
EXACT_LIKENESS = 1.0
PREFIX_LIKENESS = 0.7
PREFIX_LENGTH_LIKENESS = 0.2
FUZZY_LIKENESS = 0.7
#: Of 100; below, names differ by more than a typing error.
MIN_FUZZY_LIKENESS = 72.0
NAME_CASE_FACTOR = 0.9
NOT_EXPORTED_FACTOR = 0.95

#: Patterns alone: what a match counts, and what it counts more where something is defined.
PATTERN_MATCH_SHARE = 0.5
PATTERN_DEFINITION_SHARE = 0.5
#: This many places of each file count in full, as many after them by this factor, and so on.
PATTERN_PLACES_PER_FILE = 3
PATTERN_CROWDING = 0.5

#: Related code: other places of the same file are already known to the reader …
SAME_FILE_FACTOR = 0.5
#: … and the same text elsewhere says nothing new.
COPY_FACTOR = 0.5


#: Several projects: shares of words and of meaning count by these powers of how good the best of a
#: project is, relative to the best of all. Chosen on 489 queries asked of 29 projects at once.
MERGED_WORDS_POWER = 2.0
MERGED_MEANING_POWER = 4.0


class Weights(NamedTuple):
    """The numbers that turn features into a score."""

    #: The most that the words and the meaning of a place add.
    words: float = 1.0
    meaning: float = 0.0
    #: The most that is added to all places of a file by the words that they have together, however
    #: far apart, and by their similarity in many places.
    file_words: float = 0.0
    file_meaning: float = 0.0
    #: What is added to all places of a file for each folder that it is nearer to the root than
    #: ``MAX_SHALLOW_DEPTH``: what many change is rarely deep.
    shallow: float = 0.0
    #: Exponents of the shares of the best: below 1 the tail still counts, above 1 the best stand
    #: out.
    words_power: float = 0.75
    meaning_power: float = 2.0
    file_meaning_power: float = 4.0
    #: The most that the words of a path add.
    path: float = 2.0
    path_power: float = 0.75
    #: The most that commits which answer the query add to all places of a file that they changed.
    history: float = 0.0
    #: What a word in a folder's name counts, relative to one in the file's name.
    folder: float = 0.5
    #: What a file adds that the query names with its folders or a line, as stack traces do.
    named: float = 3.0
    #: The most that the places of a file together add to the best of them.
    coherence: float = 0.6
    #: What defining the requested name adds when the name is the whole query …
    definition: float = 3.0
    #: … when a compound name (``SessionStore``) stands among other words …
    mention: float = 1.0
    #: … and when that name is a single word that may be prose (``Session``, ``JSON``).
    word_definition: float = 0.3
    #: A definition in a file of the same name is probably the wanted one.
    same_stem: float = 1.5
    #: A file whose name continues after it (``Mapper.Async.cs``) has a part of the definition.
    stem_begins: float = 1.3
    other_case: float = 0.5
    other_qualifier: float = 0.6
    #: A function on one line is more often a prototype than a definition.
    prototype: float = 0.8
    #: A constructor has the name of the class, which is probably the wanted one.
    constructor: float = 0.8
    #: Each further place of a file counts this much of the one before, so that no file fills the
    #: first page …
    crowding: float = 0.3
    #: … but no less than this much times the square of its own share of the best score: what
    #: answers nearly as well as the best is not passed by what hardly does.
    least_crowding: float = 0.5


#: Without vectors.
WORD_WEIGHTS = Weights()
#: In mode ``meaning``, where neither words nor names count.
MEANING_WEIGHTS = Weights(
    words=0.0, meaning=1.0, meaning_power=1.0, path=0.0, named=0.0, coherence=0.0
)
#: In mode ``hybrid`` when the whole query is a name: its words and its definition find it.
NAME_BY_BOTH = Weights(meaning=0.3, coherence=0.6)
#: In mode ``hybrid`` for any other query: meaning counts more than words.
PROSE_BY_BOTH = Weights(
    words=2.0,
    meaning=1.4,
    coherence=0.1,
    file_words=1.1,
    file_meaning=1.4,
    shallow=0.12,
    meaning_power=2.6,
    file_meaning_power=3.4,
    path=1.6,
    folder=0.75,
    word_definition=0.37,
    history=0.5,
)


def weights_of(lexical: Lexical, mode: Mode, *, has_meaning: bool) -> Weights:
    """Return the weights for a query.

    Args:
        lexical: Its words.
        mode: The search mode.
        has_meaning: Whether the query has a vector and the index has vectors to compare it with.
    """
    if not has_meaning:
        return WORD_WEIGHTS
    if mode is Mode.MEANING:
        return MEANING_WEIGHTS
    return NAME_BY_BOTH if lexical.is_symbol_query else PROSE_BY_BOTH
