"""Find training pairs in a repository: a plausible question and the chunk that answers it.

All pairs come from the code itself: a comment and what it describes, a commit's subject and the
lines it changed, a name and its definition, a heading and the text below it. The words of the
question are removed from the answer, so that a model has to learn which words belong together.

The pairs of one repository are stored as compact arrays in a file of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from engine.records import Symbol
from engine.syntax.analysis import analyse
from engine.syntax.languages import DOCUMENT_LANGUAGES
from engine.syntax.records import ChunkRow
from engine.syntax.terms import name_terms_of, terms_of
from tools.training.corpora import (
    Commit,
    Lines,
    Mirror,
    SourceFile,
    distinctive_lines,
    is_copy,
)

_DEADLINE_MS: Final = 4000


class Place(NamedTuple):
    """The place of an answer."""

    folders: str  # words of the path's folders
    stem: str  # words of its name
    file: int  # number within the repository


class Answer(NamedTuple):
    """The content of a chunk, as words joined by spaces."""

    name_terms: str
    signature_terms: str
    body_terms: str


class Piece(NamedTuple):
    """A chunk with its sources."""

    place: Place
    row: ChunkRow
    text: bytes
    own: list[Symbol]  # those that start in it
    whole: Symbol | None  # the symbol that the chunk stands for

    @property
    def is_definition(self) -> bool:
        """Return whether the symbol that the chunk stands for starts in it."""
        return self.whole is not None and self.whole in self.own

    def answer(
        self,
        *,
        text: bytes | None = None,
        names: str | None = None,
        signatures: str | None = None,
    ) -> Answer:
        """Return the chunk's words, with those of the given texts instead of its own."""
        row = self.row
        return Answer(
            row.name_terms if names is None else names,
            row.signature_terms if signatures is None else terms_of(signatures),
            row.body_terms if text is None else terms_of(text.decode("utf-8", "replace")),
        )

    def answer_without(self, name: str, signatures: str) -> Answer:
        """Return the chunk's words with a name removed from all its texts."""
        others = [name_terms_of(each.name) for each in self.own if each.name != name]
        return self.answer(
            text=self.text.replace(name.encode(), b" "),
            names=" ".join(others),
            signatures=signatures.replace(name, " "),
        )


def place_of(path: str, file: int) -> Place:
    """Split a path into its words; the extension is left out."""
    folders, _, name = path.rpartition("/")
    return Place(terms_of(folders), terms_of(name.partition(".")[0] or name), file)


def pieces_of(source: SourceFile, file: int, excluded: Lines) -> Iterator[Piece]:
    """Cut a file into chunks, without copies of held-out repositories."""
    analysis = analyse(source.text, source.language, deadline_ms=_DEADLINE_MS)
    lines = distinctive_lines(source.text)
    place = place_of(source.path, file)
    for row in analysis.chunks:
        span = row.span
        if is_copy(lines[span.line_start - 1 : span.line_end], excluded):
            continue
        own = analysis.symbols[row.first_symbol : row.first_symbol + row.symbol_count]
        whole = analysis.symbols[span.symbol] if span.symbol >= 0 else None
        yield Piece(place, row, source.text[span.byte_start : span.byte_end], own, whole)


MAX_QUERY_WORDS: Final = 48
_LEAST_BODY_WORDS: Final = 8
_HUNKS_A_COMMIT: Final = 2
_MOST_HUNK_BYTES: Final = 1500
_COMMENTS_A_CHUNK: Final = 2
_LEAST_COMMENT_WORDS: Final = 4
_PIECES_A_HEAD: Final = 3
_MOST_HEAD_BYTES: Final = 3000
_PATHS_A_FILE: Final = 8

_CALLABLES: Final = frozenset({"function", "method", "constructor", "macro"})
_CLASSES: Final = frozenset(
    {"class", "struct", "interface", "trait", "enum", "module", "instance", "type"}
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*[@:\\-]")
_LINE_COMMENT: Final = re.compile(
    rb"^[ \t]*(?://+|#+|--+|;+)[ \t]+[^\n]{8,200}\n"
    rb"(?:[ \t]*(?://+|#+|--+|;+)[ \t]+[^\n]{4,200}\n){0,3}",
    re.MULTILINE,
)
_HEAD_COMMENT: Final = re.compile(
    rb"\A\s*(?:#![^\n]*\n\s*)?(?:(?:[ \t]*(?://+!?|#+|--+|;+)[^\n]*\n\s*)+"
    rb"|/\*.{20,3000}?\*/|\"\"\".{10,3000}?\"\"\"|\{-.{20,3000}?-\})",
    re.DOTALL,
)
_MARKER: Final = re.compile(
    r"^[ \t]*(?://+!?|#+!?|--+|;+|/\*+!?|\*+/?|\"\"\"|\{-\|?)[ \t]?", re.MULTILINE
)
_LEGAL: Final = re.compile(
    r"copyright|licen[cs]e|all rights|eslint|noqa|pragma|todo|fixme|author|coding[:=]",
    re.IGNORECASE,
)
_CODE_LIKE: Final = re.compile(r"[;{}=]\s*$|\w\(.*\)")
_COMMIT_PREFIX: Final = re.compile(
    r"^(?:\[[^\]]{1,30}\]\s*)*(?:[\w./-]{2,24}(?:\([^)]{1,40}\))?!?:\s+)?", re.ASCII
)
_COMMIT_SUFFIX: Final = re.compile(r"\s*\((?:#|GH-|[A-Z]+-)\d+\)|\s*#\d+|\s*\[[^\]]{1,30}\]\s*$")
_DULL_COMMIT: Final = re.compile(
    r"^(?:merge|bump|release|revert|version|prepare|update (?:changelog|readme|dependenc|depend)"
    r"|changelog|typo|fix typo|fmt|format|lint|rubocop|wip|v?\d)|bump |dependabot|renovate",
    re.IGNORECASE,
)
_QUOTED_NAME: Final = re.compile(r"`+([A-Za-z_][\w.:#]*?)(?:\(\))?`+")
_PROSE_LINE: Final = re.compile(r"[^\n]*`[A-Za-z_][^\n]*")


class Kind(IntEnum):
    """The origin of a pair."""

    DOC = 0
    COMMENT = 1
    COMMIT = 2
    NAME = 3
    CLASS = 4
    PATH = 5
    HEADING = 6
    MENTION = 7
    MODULE = 8
    WINDOW = 9


#: The maximum number of pairs of a kind from one repository.
CAPS: Final[dict[Kind, int]] = {
    Kind.DOC: 4000,
    Kind.COMMENT: 2000,
    Kind.COMMIT: 2500,
    Kind.NAME: 2000,
    Kind.CLASS: 1500,
    Kind.PATH: 1500,
    Kind.HEADING: 1000,
    Kind.MENTION: 1500,
    Kind.MODULE: 1500,
    Kind.WINDOW: 400,
}
#: Kinds whose questions may be a single word.
_SHORT: Final = frozenset({Kind.NAME, Kind.CLASS, Kind.PATH})


class Pair(NamedTuple):
    """A question, as words joined by spaces, and its answer.

    The place has no path words if the question consists of them.
    """

    kind: Kind
    query: str
    answer: Answer
    place: Place


class _Collector:
    """Collector of pairs up to the limits, without duplicates."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self._left = dict(CAPS)
        self._seen: set[tuple[Kind, str, int]] = set()

    def add(self, kind: Kind, query: str, answer: Answer, place: Place) -> None:
        """Add a pair if its question is meaningful and its answer long enough."""
        words = query.split()
        if len(words) < (1 if kind in _SHORT else 3) or self._left[kind] <= 0:
            return
        if answer.body_terms.count(" ") < _LEAST_BODY_WORDS - 1:
            return
        key = (kind, query, hash(answer))
        if key in self._seen:
            return
        self._seen.add(key)
        self._left[kind] -= 1
        self.pairs.append(Pair(kind, " ".join(words[:MAX_QUERY_WORDS]), answer, place))


def pairs_of(mirror: Mirror, excluded: Lines) -> list[Pair]:
    """Return the pairs of one repository.

    Args:
        mirror: The repository.
        excluded: Sorted hashes of held-out lines, from ``corpora.excluded_lines``.
    """
    collector = _Collector()
    files: dict[str, int] = {}
    named: dict[str, Piece | None] = {}
    prose: list[Piece] = []
    for source in mirror.files():
        pieces = list(pieces_of(source, files.setdefault(source.path, len(files)), excluded))
        if source.language in DOCUMENT_LANGUAGES:
            prose += pieces
            _add_headings(collector, pieces)
            continue
        _add_file(collector, pieces)
        for piece in pieces:
            if piece.whole is not None and len(piece.whole.name) > 4:
                name = piece.whole.name
                named[name] = None if name in named else piece
    _add_mentions(collector, prose, named)
    for commit in mirror.commits():
        _add_commit(collector, commit, files, excluded)
    return collector.pairs


def subject_of(written: str) -> str:
    """Return a commit's subject without tags and numbers, or empty if it is meaningless."""
    if _DULL_COMMIT.search(written):
        return ""
    plain = _COMMIT_SUFFIX.sub("", _COMMIT_PREFIX.sub("", written))
    return "" if _DULL_COMMIT.search(plain) else plain


def first_sentence(text: str) -> str:
    """Return the first sentence of a comment."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def _add_file(collector: _Collector, pieces: list[Piece]) -> None:
    """Add the pairs of one file of code."""
    for at, piece in enumerate(pieces):
        for symbol in piece.own:
            _add_doc(collector, piece, symbol)
        _add_comments(collector, piece)
        _add_name(collector, piece)
        if at % 2 == 0:
            _add_class(collector, piece)
    _add_paths(collector, pieces[: _PATHS_A_FILE * 3 : 3])
    if len(pieces) > 1:
        _add_head(collector, pieces)
        _add_window(collector, pieces)


def _add_doc(collector: _Collector, piece: Piece, symbol: Symbol) -> None:
    """Pair the comment of a definition with the definition."""
    if len(symbol.doc) < 12 or _LEGAL.search(symbol.doc[:200]):
        return
    text = piece.text
    for line in symbol.doc.splitlines():
        bare = line.strip().encode()
        if len(bare) > 3:
            text = text.replace(bare, b" ")
    others = [each.signature if each is symbol else _described(each) for each in piece.own]
    if piece.whole is not None:
        others.append(piece.whole.qualified_name)
    # The hash of the place decides whether a question is a sentence or all of the comment.
    said = symbol.doc if piece.row.hash[0] % 3 == 0 else first_sentence(symbol.doc)
    answer = piece.answer(text=text, signatures=" ".join(others))
    collector.add(Kind.DOC, terms_of(said), answer, piece.place)


def _add_comments(collector: _Collector, piece: Piece) -> None:
    """Pair comments between the lines with the code around them."""
    found = 0
    for comment in _LINE_COMMENT.finditer(piece.text):
        said = _MARKER.sub("", comment[0].decode("utf-8", "replace")).strip()
        start = said[:30].split("\n")[0]
        if _CODE_LIKE.search(said) or any(start in each.doc for each in piece.own):
            continue
        query = terms_of(first_sentence(said))
        if query.count(" ") < _LEAST_COMMENT_WORDS - 1 or _LEGAL.search(said):
            continue
        answer = piece.answer(text=piece.text.replace(comment[0], b" "))
        collector.add(Kind.COMMENT, query, answer, piece.place)
        found += 1
        if found == _COMMENTS_A_CHUNK:
            return


def _add_name(collector: _Collector, piece: Piece) -> None:
    """Pair the words of a function's name with its body."""
    symbol = piece.whole
    if symbol is None or symbol.kind not in _CALLABLES or not piece.is_definition:
        return
    words = terms_of(symbol.name)
    if " " in words:
        container = symbol.qualified_name[: -len(symbol.name)]
        answer = piece.answer_without(symbol.name, f"{container} {symbol.doc}")
        collector.add(Kind.NAME, words, answer, piece.place)


def _add_class(collector: _Collector, piece: Piece) -> None:
    """Pair the words of a type's name with one of its members, or with the type."""
    if piece.whole is None:
        return
    name = _class_of(piece.whole)
    words = terms_of(name)
    if words:
        signatures = " ".join(map(_described, piece.own))
        collector.add(Kind.CLASS, words, piece.answer_without(name, signatures), piece.place)


def _add_paths(collector: _Collector, pieces: list[Piece]) -> None:
    """Pair the words of a path with the content of its file."""
    for piece in pieces:
        folders, stem, file = piece.place
        near = " ".join(folders.split()[-2:])
        query = stem if piece.row.hash[1] % 2 else f"{near} {stem}"
        collector.add(Kind.PATH, query, piece.answer(), Place("", "", file))


def _add_head(collector: _Collector, pieces: list[Piece]) -> None:
    """Pair the comment at the head of a file with other pieces of it."""
    head = _HEAD_COMMENT.match(pieces[0].text[:_MOST_HEAD_BYTES])
    if head is None:
        return
    said = _MARKER.sub("", head[0].decode("utf-8", "replace"))
    paragraphs = [each for each in re.split(r"\n\s*\n", said) if not _LEGAL.search(each)]
    if not paragraphs:
        return
    query = terms_of(first_sentence(paragraphs[0]))
    start = 1 + pieces[0].row.hash[2] % (len(pieces) - 1)
    for piece in pieces[start::2][:_PIECES_A_HEAD]:
        collector.add(Kind.MODULE, query, piece.answer(), piece.place)


def _add_window(collector: _Collector, pieces: list[Piece]) -> None:
    """Pair the rarest words of one piece of a file with another piece."""
    number = pieces[0].row.hash[3] % (len(pieces) - 1)
    words = Counter(pieces[number].row.body_terms.split())
    rare = sorted((word for word in words if len(word) > 3), key=lambda word: (words[word], word))
    other = pieces[number + 1]
    collector.add(Kind.WINDOW, " ".join(rare[:12]), other.answer(), other.place)


def _add_headings(collector: _Collector, pieces: list[Piece]) -> None:
    """Pair a heading with the text below it."""
    for piece in pieces:
        section = piece.whole
        if section is None or section.kind != "section" or not piece.is_definition:
            continue
        query = terms_of(section.name)
        if _LEGAL.search(query):
            continue
        above = section.qualified_name[: -len(section.name)]
        names = " ".join(name_terms_of(each.name) for each in piece.own if each is not section)
        text = piece.text.replace(section.name.encode(), b" ")
        answer = piece.answer(text=text, names=names, signatures=above)
        collector.add(Kind.HEADING, query, answer, piece.place)


def _add_mentions(
    collector: _Collector, prose: list[Piece], named: dict[str, Piece | None]
) -> None:
    """Pair lines of the documents that name a definition with the definition."""
    for page in prose:
        for line in _PROSE_LINE.finditer(page.text.decode("utf-8", "replace")):
            said = line.group()
            for quoted in _QUOTED_NAME.finditer(said):
                name = re.split(r"[.:#]+", quoted[1].rstrip(".:#"))[-1]
                piece = named.get(name)
                if piece is None:
                    continue
                # Half of the questions do not contain the name.
                around = said if piece.row.hash[4] % 2 else said.replace(quoted[0], " ")
                collector.add(Kind.MENTION, terms_of(around[:400]), piece.answer(), piece.place)
                break


def _add_commit(
    collector: _Collector, commit: Commit, files: dict[str, int], excluded: Lines
) -> None:
    """Pair a commit's subject with the places it changed most."""
    query = terms_of(subject_of(commit.subject))
    if query.count(" ") < 2:
        return
    for hunk in sorted(commit.hunks, key=lambda hunk: -hunk.changed)[:_HUNKS_A_COMMIT]:
        text = hunk.text[:_MOST_HUNK_BYTES]
        if is_copy(distinctive_lines(text), excluded):
            continue
        context, body = (each.decode("utf-8", "replace") for each in (hunk.context, text))
        place = place_of(hunk.path, files.setdefault(hunk.path, len(files)))
        collector.add(Kind.COMMIT, query, Answer("", terms_of(context), terms_of(body)), place)


def _class_of(symbol: Symbol) -> str:
    """Return the name of the type that a symbol is or belongs to, or an empty string."""
    if symbol.kind in _CLASSES:
        return symbol.name
    containers = symbol.qualified_name.split(".")
    return containers[-2] if len(containers) > 1 else ""


def _described(symbol: Symbol) -> str:
    return f"{symbol.signature} {symbol.doc}"


#: A word of an answer carries the field it stands in and how often: ``field * 64 + count``.
FIELD_CODES: Final = 64
NAME, SIGNATURE, BODY = 0, 1, 2
FOLDERS, STEM = 0, 1
MAX_WORDS: Final = {NAME: 24, SIGNATURE: 60, BODY: 130}  # maximum of distinct words of a field

Ints = NDArray[np.int32]
Codes = NDArray[np.uint8]


class Bags(NamedTuple):
    """Concatenated bags of words: bag i is ``offsets[i]:offsets[i + 1]``."""

    words: NDArray[np.integer]
    codes: Codes
    offsets: NDArray[np.int64]


class Shard(NamedTuple):
    """The pairs of a repository over its own list of words."""

    vocabulary: list[str]
    kinds: Codes
    files: Ints
    query_hashes: NDArray[np.uint32]
    queries: Bags
    answers: Bags
    paths: Bags

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.kinds)


class _Builder:
    """Collector of bags."""

    def __init__(self, ids: dict[str, int]) -> None:
        self._ids = ids
        self._words: list[int] = []
        self._codes: list[int] = []
        self._offsets = [0]

    def add(self, fields: Sequence[tuple[int, str, int]]) -> None:
        """Add a bag.

        Args:
            fields: The number of a field, its words, and how many different ones are taken.
        """
        ids = self._ids
        for field, text, most in fields:
            for word, count in list(Counter(text.split()).items())[:most]:
                self._words.append(ids.setdefault(word, len(ids)))
                self._codes.append(field * FIELD_CODES + min(count, FIELD_CODES - 1))
        self._offsets.append(len(self._words))

    def bags(self) -> Bags:
        """Return what was collected."""
        return Bags(
            np.array(self._words, np.int32),
            np.array(self._codes, np.uint8),
            np.array(self._offsets, np.int64),
        )


def shard_of(pairs: Sequence[Pair]) -> Shard:
    """Count the words of pairs."""
    ids: dict[str, int] = {}
    queries, answers, paths = _Builder(ids), _Builder(ids), _Builder(ids)
    for pair in pairs:
        queries.add([(0, pair.query, 1 << 10)])
        answers.add(
            [
                (NAME, pair.answer.name_terms, MAX_WORDS[NAME]),
                (SIGNATURE, pair.answer.signature_terms, MAX_WORDS[SIGNATURE]),
                (BODY, pair.answer.body_terms, MAX_WORDS[BODY]),
            ]
        )
        paths.add([(FOLDERS, pair.place.folders, 1 << 10), (STEM, pair.place.stem, 1 << 10)])
    return Shard(
        list(ids),
        np.array([pair.kind for pair in pairs], np.uint8),
        np.array([pair.place.file for pair in pairs], np.int32),
        np.array([crc32(pair.query.encode()) for pair in pairs], np.uint32),
        queries.bags(),
        answers.bags(),
        paths.bags(),
    )


def save_shard(shard: Shard, file: Path) -> None:
    """Write a shard atomically."""
    blob = "\n".join(shard.vocabulary).encode("utf-8", "surrogatepass")
    part = file.with_suffix(".part.npz")
    np.savez(
        part,
        vocabulary=np.frombuffer(blob, np.uint8),
        kinds=shard.kinds,
        files=shard.files,
        query_hashes=shard.query_hashes,
        **{
            f"{name}_{field}": array
            for name in ("queries", "answers", "paths")
            for field, array in getattr(shard, name)._asdict().items()
        },
    )
    part.rename(file)


def load_shard(file: Path) -> Shard:
    """Read a shard written by ``save_shard``."""
    with np.load(file) as data:
        blob = data["vocabulary"].tobytes().decode("utf-8", "surrogatepass")
        bags = [
            Bags(*(data[f"{name}_{field}"] for field in Bags._fields))
            for name in ("queries", "answers", "paths")
        ]
        return Shard(
            blob.split("\n") if blob else [],
            data["kinds"],
            data["files"],
            data["query_hashes"],
            *bags,
        )
