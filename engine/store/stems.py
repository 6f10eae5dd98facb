"""The stems of words, as the keyword index has them: by FTS5's own Porter stemmer."""

from functools import cache

import apsw


def stem_of(word: str) -> str:
    """Return the stem of a lower-case word of letters and digits."""
    try:
        tokens = _tokenizer()(
            word.encode(),
            apsw.FTS5_TOKENIZE_QUERY,
            None,
            include_offsets=False,
            include_colocated=False,
        )
    except UnicodeError:  # FTS5 takes each byte for a letter, so a stem can end within a character
        return word
    stems = [str(each) for each in tokens]
    return stems[0] if len(stems) == 1 else word


@cache
def _tokenizer() -> apsw.FTS5Tokenizer:
    return apsw.Connection(":memory:").fts5_tokenizer("porter", ["ascii"])
