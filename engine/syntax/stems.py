"""The stems of words, as the keyword index has them (the Porter stemmer of SQLite's FTS5)."""

from functools import lru_cache
from itertools import pairwise

_VOWELS = frozenset("aeiou")
_LENGTHS = range(3, 65)  # in bytes, of words that are stemmed
#: What replaces an ending, longest first, if a vowel and a consonant come before it.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "logi": "log", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "ical": "ic", "ness": "", "icate": "ic", "iciti": "ic", "ful": "", "ative": "", "alize": "al",
}  # fmt: skip
#: Endings that are removed, longest first, if that comes before them twice.
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=20_000)
def stem_of(word: str) -> str:
    """Return the stem of a lower-case word; one that ends within a character has surrogates."""
    if word.isascii():
        return _stem_of_letters(word)
    # FTS5 takes each byte for a letter.
    letters = word.encode("utf-8", "surrogateescape").decode("latin-1")
    return _stem_of_letters(letters).encode("latin-1").decode("utf-8", "surrogateescape")


def _stem_of_letters(word: str) -> str:
    if len(word) not in _LENGTHS:
        return word
    word = _past(_singular(word))
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    for endings in (_STEP_2, _STEP_3):
        ending = next((each for each in endings if _ends(word, each)), "")
        before = word.removesuffix(ending)
        if ending and _measure(before) > 0:
            word = before + endings[ending]
    ending = next((each for each in _STEP_4 if _ends(word, each)), "")
    before = word.removesuffix(ending)
    if ending and _measure(before) > 1 and (ending != "ion" or before[-1] in "st"):
        word = before
    if word[-1] == "e":
        before = word[:-1]
        measure = _measure(before)
        if measure > 1 or (measure == 1 and not _is_short(before)):
            word = before
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _ends(word: str, ending: str) -> bool:
    return len(word) > len(ending) and word.endswith(ending)


def _singular(word: str) -> str:
    if word[-1] != "s" or word[-2] == "s":
        return word
    is_long = word[-2] == "e" and (_ends(word, "sses") or _ends(word, "ies"))
    return word[: -2 if is_long else -1]


def _past(word: str) -> str:
    """Return a word without ``ed`` or ``ing``."""
    if _ends(word, "eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((each for each in ("ed", "ing") if _ends(word, each)), "")
    before = word.removesuffix(ending)
    if not ending or not _has_vowel(before):
        return word
    if any(_ends(before, each) for each in ("at", "bl", "iz")):
        return f"{before}e"
    last = before[-1]
    if last not in _VOWELS and last not in "lsz" and before[-2:-1] == last:
        return before[:-1]
    return f"{before}e" if _measure(before) == 1 and _is_short(before) else before


def _has_vowel(text: str) -> bool:
    return any(each in _VOWELS or (each == "y" and at) for at, each in enumerate(text))


def _consonants(text: str) -> list[bool]:
    """Return which letters are consonants; ``y`` is none after a consonant."""
    found: list[bool] = []
    is_consonant = False
    for each in text:
        is_consonant = not (each in _VOWELS or (each == "y" and is_consonant))
        found.append(is_consonant)
    return found


def _measure(text: str) -> int:
    """Return how often a consonant follows a vowel."""
    found = _consonants(text)
    return sum(here and not before for before, here in pairwise(found))


def _is_short(text: str) -> bool:
    """Return whether a text ends with consonant, vowel and consonant, the last not w, x or y."""
    return text[-1:] not in ("w", "x", "y") and _consonants(text)[-3:] == [True, False, True]
