"""The names that are used nowhere in the code of a branch: each text is read once.

A name is used where it stands in code outside of the definitions of this name. Comments and
literals are no code. A literal without blanks, such as ``"pkg.module:name"``, a template in a
literal and a file of settings can still mean a definition: such names are told apart.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from engine.cancellation import CancelToken
from engine.errors import Cancelled
from engine.references.sources import offsets_of
from engine.store import references
from engine.store.compression import unpack_marks, unpack_text
from engine.store.connection import Handle
from engine.store.references import ExtentRow, TextRow
from engine.syntax.languages import LANGUAGES
from engine.syntax.references import texts_of

_BATCH = 200  # files
_MOST_SECONDS = 60
_MOST_BYTES = 4 << 30  # of text
_MOST_LITERAL_BYTES = 200
_TOKEN = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_SIGNS = "$@?!=:'"  # around a name in some languages
_QUOTES = b"\"'`"
#: What a literal looks like that begins or ends the names of a family of functions.
_AFFIX = re.compile(rb"[A-Za-z]\w+_|_[A-Za-z]\w+")
_TEMPLATE = re.compile(rb"<%|\{\{")
#: A call in a literal that holds code.
_CALL = re.compile(rb"\.([A-Za-z_\x80-\xff][\w\x80-\xff]*)\(")
#: Prose and pages: the first name nothing, the others call what scripts define.
_PAGES = frozenset({"html"})


class UnusedNames(NamedTuple):
    """The names that no code of a branch uses, and what else can mean them."""

    names: frozenset[str]  # of symbols whose token stands in no code but their own definitions
    named_in: dict[bytes, str]  # of tokens in literals and settings: the first file
    affixes: dict[bytes, str]  # literals with which names may begin or end, likewise
    is_whole: bool  # all texts were read in time


def token_of(name: str) -> bytes | None:
    """Return a name as it is found in texts; None for operators and the like."""
    token = name.strip(_SIGNS).encode("utf-8", "replace")
    return token if _TOKEN.fullmatch(token) else None


def read_unused_names(handle: Handle, branch_id: int, cancelled: CancelToken) -> UnusedNames:
    """Read all texts of a branch.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        cancelled: Polled every few files.

    Raises:
        Cancelled: ``cancelled`` returned true.
    """
    reading = _Reading(references.count_symbol_names(handle, branch_id))
    ends_at = time.monotonic() + _MOST_SECONDS
    texts = references.iterate_texts(handle, branch_id)
    while rows := list(islice(texts, _BATCH)):
        if cancelled():
            raise Cancelled("looking for unused definitions was stopped")
        if time.monotonic() > ends_at or reading.size_bytes > _MOST_BYTES:
            return reading.result(is_whole=False)
        extents = references.read_extents(handle, [row.blob_id for row in rows])
        for row in rows:
            reading.read(row, extents.get(row.blob_id, ()))
    return reading.result(is_whole=True)


class _Reading:
    """What is known after some of the texts."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._names: dict[str, bytes] = {}
        self._numbers: Counter[bytes] = Counter()
        for name, number in names:
            if token := token_of(name):
                self._names[name] = token
                self._numbers[token] += number
        self._unused = set(self._numbers)
        self._named_in: dict[bytes, str] = {}
        self._affixes: dict[bytes, str] = {}
        self.size_bytes = 0

    def result(self, *, is_whole: bool) -> UnusedNames:
        """Return what is known."""
        names = frozenset(name for name, token in self._names.items() if token in self._unused)
        named = {token: path for token, path in self._named_in.items() if token in self._unused}
        return UnusedNames(names, named, self._affixes, is_whole)

    def read(self, row: TextRow, extents: Sequence[ExtentRow]) -> None:
        """Read a text."""
        language = LANGUAGES.get(row.language)
        family = language.family if language else "document"
        is_page = row.language in _PAGES or row.path.endswith(".mdx")
        if family == "document" and not is_page:
            return
        text = unpack_text(row.packed_text)
        self.size_bytes += len(text)
        if family == "data" and not is_page:
            self._name(_TOKEN.findall(text), row.path)
            return
        stretches: list[tuple[int, int]] = []
        if row.packed_marks is not None:
            stretches = texts_of(unpack_marks(row.packed_marks))
            self._read_literals(text, stretches, row)
        self._use(without(text, stretches), extents)

    def _use(self, code: bytes, extents: Sequence[ExtentRow]) -> None:
        """Strike out the names that stand in a text outside of their definitions."""
        tokens = _TOKEN.findall(code)
        found = self._unused.intersection(tokens)
        own: dict[bytes, list[tuple[int, int]]] = {}
        for _, name, start, end in extents:
            token = token_of(name)
            if token in found:
                own.setdefault(token, []).append((start, end))
        self._unused -= found - own.keys()
        counts = Counter(filter(own.__contains__, tokens))
        for token, spans in own.items():
            # Each stretch has the name once, in its head. A function that calls itself is not used
            # by that, but one of several with the name may call another.
            if counts[token] <= len(spans):
                continue
            if self._numbers[token] > 1 or any(
                not any(start <= offset < end for start, end in spans)
                for offset in offsets_of(token, code)
            ):
                self._unused.discard(token)

    def _read_literals(
        self, text: bytes, stretches: Sequence[tuple[int, int]], row: TextRow
    ) -> None:
        """Note the names in literals without blanks, and what is called in others."""
        markers = LANGUAGES[row.language].comments
        starts = (*markers.line, *(opening for opening, _ in markers.block))
        pieces: list[bytes] = []
        for start, end in stretches:
            if not text.startswith(starts, start):
                pieces += _CALL.findall(text, start, end)
            if end - start > _MOST_LITERAL_BYTES:
                if _TEMPLATE.search(text, start, end):
                    pieces.append(text[start:end])
                continue
            piece = text[start:end].strip(_QUOTES)
            if piece.startswith(starts) or len(piece.split(None, 1)) != 1:
                continue
            pieces.append(piece)
            if _AFFIX.fullmatch(piece):
                self._affixes.setdefault(piece, row.path)
        self._name(_TOKEN.findall(b" ".join(pieces)), row.path)

    def _name(self, tokens: Iterable[bytes], path: str) -> None:
        for token in self._unused.intersection(tokens):
            self._named_in.setdefault(token, path)


def without(text: bytes, stretches: Sequence[tuple[int, int]]) -> bytes:
    """Return a text with blanks in place of some stretches."""
    pieces: list[bytes] = []
    last = 0
    for start, end in stretches:
        pieces += (text[last:start], b" " * (end - start))
        last = end
    return b"".join((*pieces, text[last:])) if pieces else text
