"""A source file → the chunks that can answer, with what they are made of."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from engine.embedding.training.corpora import Lines, SourceFile, distinctive_lines, is_copy
from engine.records import Symbol
from engine.syntax.analysis import ChunkRow, analyse
from engine.syntax.terms import name_terms_of, terms_of

_DEADLINE_MS: Final = 4000


class Place(NamedTuple):
    """Where an answer stands."""

    folders: str  # words of the path's folders
    stem: str  # words of its name
    file: int  # number within the repository


class Answer(NamedTuple):
    """What a chunk says, as words joined by spaces."""

    name_terms: str
    signature_terms: str
    body_terms: str


class Piece(NamedTuple):
    """A chunk with what it was made of."""

    place: Place
    row: ChunkRow
    text: bytes
    own: list[Symbol]  # those that start in it
    whole: Symbol | None  # the symbol that the chunk stands for

    @property
    def is_definition(self) -> bool:
        """Say whether the symbol that the chunk stands for starts in it."""
        return self.whole is not None and self.whole in self.own

    def answer(
        self,
        *,
        text: bytes | None = None,
        names: str | None = None,
        signatures: str | None = None,
    ) -> Answer:
        """Give the chunk's words, with those of the texts given in the place of its own."""
        row = self.row
        return Answer(
            row.name_terms if names is None else names,
            row.signature_terms if signatures is None else terms_of(signatures),
            row.body_terms if text is None else terms_of(text.decode("utf-8", "replace")),
        )

    def answer_without(self, name: str, signatures: str) -> Answer:
        """Give the chunk's words with a name taken out of all its texts."""
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
    """Cut a file into chunks; those that are copies of what must not be seen are left out."""
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
