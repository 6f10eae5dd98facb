"""Every number of ranking, in one place.

A score is a sum of shares of what is best possible: the best keyword score of the answer counts
``words``, the place nearest in meaning ``meaning``, a path that holds every word of the question
``path``, and so on; then factors lower what is rarely meant (``pathrules``). So the answers of
several projects can be merged by score.

The numbers were chosen one at a time: those of words, paths and definitions on 29 repositories in
18 languages, those of meaning on these and 32 others. ``tests/benchmark/README.md`` says what each
part is worth.
"""

from typing import NamedTuple

from engine.records import Mode
from engine.search.lexical import Lexical

#: A place is as near to a question as the cosine of the two, and this much of the cosine of the
#: question and the path of its file.
FILE_SHARE = 0.4
#: What is less near than this is not found by its meaning beside words. The share of the nearest
#: place is that of its nearness in this much, when it is less.
LEAST_NEARNESS = 0.3
NO_NEARNESS = 1e-6
#: Places that each way of finding brings in at most, best first.
MOST_BY_WORDS = 200
MOST_BY_WORDS_BESIDE_MEANING = 110
MOST_BY_MEANING = 60
MOST_BY_PATH = 12
MOST_BY_DEFINITION = 100


class Weights(NamedTuple):
    """The numbers that make a score of features."""

    #: The most that the words and the meaning of a place add.
    words: float = 1.0
    meaning: float = 0.0
    #: The most that the words add that the places of a file have together, however far apart, and
    #: that being near in many places adds, to all places of that file.
    file_words: float = 0.0
    file_meaning: float = 0.0
    #: Each counts by a power of its share of the best: below 1 the tail still counts, above 1 the
    #: best stand out.
    words_power: float = 0.75
    meaning_power: float = 2.0
    file_meaning_power: float = 4.0
    #: The most that the words of a path add.
    path: float = 2.0
    path_power: float = 0.75
    #: A word found in a folder counts so much of one found in the file's name.
    folder: float = 0.5
    #: The most that the places of a file together add to the best of them.
    coherence: float = 0.6
    #: What defining the name asked for adds, when the name is the whole question …
    definition: float = 3.0
    #: … when a compound name (``SessionStore``) stands among other words …
    mention: float = 1.0
    #: … and when that name is a single word that may be one of prose (``Session``, ``JSON``).
    word_definition: float = 0.3
    #: A definition in a file of the same name is the one that is meant.
    same_stem: float = 1.5
    #: … and one whose name goes on (``Mapper.Async.cs``) has a part of it.
    stem_begins: float = 1.3
    other_case: float = 0.5
    other_qualifier: float = 0.6
    #: A function on one line is a prototype more often than a definition …
    prototype: float = 0.8
    #: … and a constructor has the name of the class that is meant.
    constructor: float = 0.8
    #: Each further place of a file counts so much of the one before, lest a file crowds the ten.
    crowding: float = 0.3


#: Without vectors.
BY_WORDS = Weights()
#: In mode ``meaning``, where neither words nor names count.
BY_MEANING = Weights(words=0.0, meaning=1.0, meaning_power=1.0, path=0.0, coherence=0.0)
#: In mode ``hybrid``, when the whole question is a name: its words and its definition find it …
NAME_BY_BOTH = Weights(meaning=0.3, coherence=0.6)
#: … and any other question, in which meaning counts more than words.
PROSE_BY_BOTH = Weights(
    words=1.6, meaning=2.0, coherence=0.1, file_words=0.8, file_meaning=0.9, path=1.6
)


def weights_of(lexical: Lexical, mode: Mode, *, has_meaning: bool) -> Weights:
    """Give the weights for a question.

    Args:
        lexical: Its words.
        mode: How to search.
        has_meaning: There are vectors, and the question has one.
    """
    if not has_meaning:
        return BY_WORDS
    if mode is Mode.MEANING:
        return BY_MEANING
    return NAME_BY_BOTH if lexical.is_symbol_query else PROSE_BY_BOTH
