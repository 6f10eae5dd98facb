"""Analyse a text for the index: symbols, chunks and their words.

A pure function of bytes, run in worker processes; the writer stores the result as it is.
"""

from bisect import bisect_left
from collections.abc import Sequence
from hashlib import blake2b, sha256

from engine.records import ChunkSpan, Symbol, tokens_of
from engine.store.compression import pack_hashes, pack_marks, pack_text
from engine.syntax.chunker import chunks_of
from engine.syntax.parser import parse
from engine.syntax.records import Analysis, ChunkRow, Parsed
from engine.syntax.references import names_of
from engine.syntax.terms import name_terms_of, terms_of

_ONE_LINERS = frozenset({"constant", "field", "macro", "property", "variable"})
_NOT_PARSED = Parsed([], "failed")


def analyse(text: bytes, language: str, *, deadline_ms: int) -> Analysis:
    """Parse, chunk and split a valid UTF-8 text.

    Never fails on any text: text that the parser cannot read is chunked by lines, and
    ``parse_result`` says so.

    Args:
        text: Valid UTF-8.
        language: A name of ``languages.LANGUAGES``.
        deadline_ms: As for ``parse``; 0 skips parsing, with the result ``failed``.
    """
    return analysis_of(text, language, parsed_text(text, language, deadline_ms=deadline_ms))


def parsed_text(text: bytes, language: str, *, deadline_ms: int) -> Parsed:
    """Do the first part of ``analyse``, with the same arguments: parse."""
    return parse(text, language, deadline_ms=deadline_ms) if deadline_ms else _NOT_PARSED


def analysis_of(text: bytes, language: str, parsed: Parsed) -> Analysis:
    """Do the second part of ``analyse``: chunk and split a text that is parsed."""
    names = names_of(parsed.marks, text, language) if parsed.marks else ()
    spans = chunks_of(text, parsed.symbols, language, parsed.comment_starts)
    return Analysis(
        packed_text=pack_text(text),
        text_hash=sha256(text).digest(),
        size_bytes=len(text),
        line_count=text.count(b"\n") + (not text.endswith(b"\n")) if text else 0,
        token_count=tokens_of(len(text)),
        parse_result=parsed.result,
        symbols=parsed.symbols,
        chunks=_rows_of(text, parsed.symbols, spans),
        packed_marks=None if parsed.marks is None else pack_marks(parsed.marks),
        packed_names=pack_hashes(names) if names else None,
    )


def _rows_of(text: bytes, symbols: list[Symbol], spans: list[ChunkSpan]) -> list[ChunkRow]:
    """Return the rows of the chunks with their words; symbols and spans are in text order."""
    rows: list[ChunkRow] = []
    starts = [symbol.byte_start for symbol in symbols]
    last = 0
    for span in spans:
        piece = text[span.byte_start : span.byte_end]
        first, last = last, bisect_left(starts, span.byte_end, last)
        owner = symbols[span.symbol].qualified_name if span.symbol >= 0 else ""
        rows.append(
            ChunkRow(
                span,
                first,
                last - first,
                blake2b(piece, digest_size=16).digest(),
                *words_of_chunk(piece, symbols[first:last], owner),
            )
        )
    return rows


def words_of_chunk(piece: bytes, own: Sequence[Symbol], owner: str) -> tuple[str, str, str]:
    """Return the words of a chunk as stored: of its names, its signatures and its text.

    Args:
        piece: Its text.
        own: The symbols that start in the chunk, in text order.
        owner: Qualified name of the symbol that it belongs to; empty for none.
    """
    names = ""
    signatures = ""
    if own:
        names = " ".join([name_terms_of(symbol.name) for symbol in own])
        signatures = " ".join(map(_described, own))
    if owner:
        # The containers' names: a method is found by its class, the rest of a long
        # function by its name.
        signatures += " " + owner
    return names, terms_of(signatures) if signatures else "", terms_of(piece.decode())


def _described(symbol: Symbol) -> str:
    """Return the words that describe a definition besides its name.

    The signature of a variable or a macro on one line is the line itself, whose words are in the
    body already; a header may have nothing else.
    """
    if symbol.line_start == symbol.line_end and symbol.kind in _ONE_LINERS:
        return symbol.doc
    return f"{symbol.signature} {symbol.doc}"
