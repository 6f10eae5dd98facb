"""Split identifiers into words for the keyword index, the queries and the built-in model.

``getHTTPResponse``, ``get_http_response`` and ``get http response`` all become the words
``get http response``. A whole identifier is found as the phrase of its words, so it needs no
term of its own in the body of a chunk, which keeps the index small.
"""

import re
import sys
from collections.abc import Iterator

# One alternation, most frequent case first (measured: 31 MB/s a core, against 14 MB/s for
# splitting with look-arounds). Single letters carry no meaning and a fifth of the index. A word
# never extends beyond letters and digits, so each run of them can be split alone.
_ASCII_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|[A-Z][a-z]|[0-9]+")
# Latin letters with marks join the adjacent words; a run of any other script is one word.
_WORD = re.compile(
    r"[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ÿ]{2,}|[A-ZÀ-ÖØ-Þ]{2,}(?![a-zß-öø-ÿ])|[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]"
    r"|[0-9]+|[^\W\x00-\xff]+"
)

_SEPARATED = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_MOST_KNOWN = 50_000  # runs; a 30 MB tree has 90,000 different ones
_MOST_KNOWN_BYTES = 40  # of a run; longer ones are data and do not come again


class _WordCache(dict[bytes, str]):
    """Cache of the words of runs of ASCII letters and digits.

    Code repeats its identifiers: nearly all runs are cached, which makes splitting twice as fast.
    """

    def __missing__(self, run: bytes) -> str:
        words = " ".join(_ASCII_WORD.findall(run.decode("ascii"))).lower()
        if len(run) <= _MOST_KNOWN_BYTES:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[run] = words
        return words


_known_words = _WordCache().__getitem__


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words, in order, single letters left out."""
    pattern = _ASCII_WORD if text.isascii() else _WORD
    return [word.lower() for word in pattern.findall(text)]


def word_spans(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """Yield where the words of a part of a text are; the part should begin between words."""
    return (match.span() for match in _WORD.finditer(text, start, end))


def terms_of(text: str) -> str:
    """Return the words of a text joined by single spaces, as stored in the keyword index."""
    if text.isascii():
        return " ".join(
            filter(None, map(_known_words, text.encode().translate(_SEPARATED).split()))
        )
    return " ".join(_WORD.findall(text)).lower()


def path_terms_of(path: str) -> tuple[str, str]:
    """Split a path into the words of its folders and of its name (the extension included)."""
    folders, _, name = path.rpartition("/")
    return terms_of(folders), terms_of(name)


def name_terms_of(name: str) -> str:
    """Return the words of an identifier and, if there are several, all of them joined into one.

    The joined form lets ``getuserbyid`` typed without case or underscores find ``getUserById``.
    ``SCREAMING_SNAKE`` has none: nobody types it so, and headers have millions of them.
    """
    words = terms_of(name)
    if " " not in words or name.isupper():
        return words
    return f"{words} {words.replace(' ', '')}"
