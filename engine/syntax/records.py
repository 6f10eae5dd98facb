"""The records that the analysis of a text makes, for code that stores them without the parsers."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from engine.records import ChunkSpan, Symbol

_NO_COMMENTS: Mapping[int, int] = MappingProxyType({})


class Parsed(NamedTuple):
    """The definitions of a text."""

    symbols: list[Symbol]  # sorted by byte_start, then longer first
    result: str  # "ok", "errors", "timeout", "too_deep" or "no_grammar"
    comment_starts: Mapping[int, int] = _NO_COMMENTS  # see symbols.Found
    marks: Sequence[int] | None = None  # see references.marks_of; None: not looked for


class ChunkRow(NamedTuple):
    """A chunk as it is stored, with its words for the keyword index."""

    span: ChunkSpan
    first_symbol: int  # index of the first symbol that starts in it
    symbol_count: int  # how many start in it
    hash: bytes  # 16 bytes, BLAKE2b of the text
    name_terms: str
    signature_terms: str
    body_terms: str


class Analysis(NamedTuple):
    """The data that the index stores for a text.

    What came from a worker has plain tuples of the same fields as symbols, chunks and their spans.
    """

    packed_text: bytes  # by store.compression.pack_text
    text_hash: bytes  # SHA-256 of the stored text
    size_bytes: int  # of the stored text
    line_count: int
    token_count: int
    parse_result: str
    symbols: list[Symbol]
    chunks: list[ChunkRow]
    packed_marks: bytes | None  # by store.compression.pack_marks; None without references
    packed_names: bytes | None  # by store.compression.pack_hashes; None if it refers to none
