"""Which type names which as its base: the places in a text, and the types that stand there.

Most languages name their bases in the head of a type, whose symbol is around the place. An ``impl``
block of Rust and an extension of Swift stand outside of their type, and a class without a name has
no symbol at all.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.reference_records import Certainty, Use
from engine.references.candidates import CALLABLES
from engine.references.lookup import Lookup, row_of
from engine.references.resolve import Resolver
from engine.references.sources import Occurrence, Source
from engine.store.references import SpanRow
from engine.store.symbols import SymbolRow
from engine.syntax.references import Role, name_pattern

#: Kinds of symbols that can have a base, or be one.
TYPES = frozenset(
    {"class", "struct", "interface", "trait", "enum", "type", "module", "instance", "constant"}
)
#: Here a type stands outside of the block that names its base.
HAS_BLOCKS = frozenset({"rust", "swift"})
_WINDOW_BYTES = 600
_MOST_NAME_CHARS = 80

_IMPL = re.compile(rb"\bimpl\b[^{};]*$")
_IMPL_FOR = re.compile(rb"[^{};]*?\bfor\s+([^{};]+?)\s*(?:\bwhere\b|[{;]|$)")
_RUST_TYPE = re.compile(rb"(?:(?:&|\*|'\w+|mut|const|dyn)\s*)*((?:\w+::)*)(\w+)")
_EXTENSION = re.compile(rb"\bextension\s+(?:\w+\.)*(\w+)[^{}]*$")
_NEW_WITH_BODY = re.compile(
    rb"\w+\s*(?:<[^;{}()]*>)?\s*\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\)\s*\{"
)
_AFTER_NEW = re.compile(rb"\bnew\s+(?:\w+\.)*$")
#: What stands before a base on its line where a mark does not say that it is one.
_BEFORE = {
    "ruby": re.compile(
        rb"(?:^|;)\s*(?:include|extend|prepend)\s[\w\s:,]*$|\bClass\.new\(?\s*(?:\w*::)*$"
    ),
    "scala": re.compile(rb"\bgiven\s+(?:\w+\s*:\s*)?$"),
    "haskell": re.compile(rb"^class\s"),
}
#: Languages in which a base can be a name without a mark.
UNMARKED = frozenset(_BEFORE)


class Subtype(NamedTuple):
    """What names a base: a type of the project, or what stands in its place."""

    name: str
    line: int
    row: SymbolRow | None  # None: a class without a name, or a type of another project


def is_base(source: Source, occurrence: Occurrence) -> bool:
    """Return whether a name is named there as a base."""
    offset, use = occurrence
    if use is Use.INHERIT:
        return True
    text = source.text
    if source.language == "java":
        before = text[max(0, offset - _WINDOW_BYTES) : offset]
        return (
            use is Use.CALL
            and _AFTER_NEW.search(before) is not None
            and _NEW_WITH_BODY.match(text, offset, offset + _WINDOW_BYTES) is not None
        )
    pattern = _BEFORE.get(source.language)
    if pattern is None or use not in (Use.TYPE, Use.USE):
        return False
    start = max(text.rfind(b"\n", 0, offset) + 1, offset - _WINDOW_BYTES)
    if pattern.search(text[start:offset]) is None:
        return False
    end = text.find(b"\n", offset)
    return source.language != "haskell" or b"=>" in text[offset : end if end >= 0 else len(text)]


def bases_in(source: Source, start: int, end: int) -> Iterator[Occurrence]:
    """Yield the places in a stretch of a text that name a base."""
    has_more = source.language in _BEFORE or source.language == "java"
    for reference in source.marks.within(start, end):
        if reference.role is Role.INHERIT or has_more:
            occurrence = Occurrence(reference.offset, Use(reference.role.value))
            if is_base(source, occurrence):
                yield occurrence


def name_there(source: Source, offset: int) -> str:
    """Return the name that begins at an offset."""
    found = name_pattern(source.language).match(source.text, offset)
    return found.group().decode("utf-8", "replace") if found else ""


def subtype_of(lookup: Lookup, source: Source, occurrence: Occurrence) -> Subtype | None:
    """Return what names the base at a place; None if it cannot be told."""
    offset = occurrence.offset
    before = source.text[max(0, offset - _WINDOW_BYTES) : offset]
    if source.language == "rust" and _IMPL.search(before):
        found = _IMPL_FOR.match(source.text, offset, offset + _WINDOW_BYTES)
        return _named(lookup, source, offset, found, _RUST_TYPE) if found else None
    if source.language == "swift" and (found := _EXTENSION.search(before)):
        return _resolved(lookup, source, offset, found[1], offset - len(before) + found.start(1))
    line = source.line_of(offset)
    around = source.enclosing(offset)
    if around is None:
        return _without_symbol(source, line, source.path)
    if occurrence.use is Use.CALL or not _is_own(source, around, offset):
        return Subtype(f"{around.qualified_name} (anonymous)", line, None)
    return Subtype(around.qualified_name, around.line_start, row_of(around, source))


def _is_own(source: Source, around: SpanRow, offset: int) -> bool:
    """Return whether a base is that of the symbol around it, not of a class without a name."""
    if around.kind in CALLABLES:
        return False
    if source.language not in {"java", "kotlin", "javascript", "typescript", "tsx", "php"}:
        return True
    head = source.text[around.byte_start : offset]
    if source.language == "php" and re.search(rb"\buse\s[\w\s\\,]*$", head):
        return True
    return head.count(b"{") <= head.count(b"}") and b"=>" not in head.rpartition(b"}")[2]


def _named(
    lookup: Lookup,
    source: Source,
    offset: int,
    found: "re.Match[bytes]",
    pattern: "re.Pattern[bytes]",
) -> Subtype:
    """Return the type of an ``impl`` block."""
    written = found[1]
    name = pattern.match(written)
    if name is None or name[2] == b"":
        return _foreign(source, offset, written)
    return _resolved(lookup, source, offset, name[2], found.start(1) + name.start(2), written)


def _resolved(
    lookup: Lookup, source: Source, offset: int, name: bytes, at: int, written: bytes = b""
) -> Subtype:
    """Return the type that a name at a place means; as it is written if it is not of the project.

    Args:
        lookup: For definitions.
        source: The file.
        offset: Of the base.
        name: Of the type.
        at: The offset of this name.
        written: The name with what belongs to it.
    """
    said = name.decode("utf-8", "replace")
    definitions = [each for each in lookup.definitions(said) if each.kind in TYPES]
    resolver = Resolver(source, said, definitions, list(source.occurrences(said)))
    resolution = resolver.of(Occurrence(at, Use.TYPE))
    if resolution.certainty is Certainty.NAME or not resolution.targets:
        return _foreign(source, offset, written or name)
    row = resolution.targets[0]
    return Subtype(row.qualified_name, row.line_start, row)


def _foreign(source: Source, offset: int, written: bytes) -> Subtype:
    said = " ".join(written.decode("utf-8", "replace").split())[:_MOST_NAME_CHARS]
    return Subtype(said, source.line_of(offset), None)


def _without_symbol(source: Source, line: int, path: str) -> Subtype:
    if source.language == "haskell":  # a standing deriving clause
        said = source.text.split(b"\n", line)[line - 1].rpartition(b"instance ")[2]
        return Subtype(said.decode("utf-8", "replace").strip()[:_MOST_NAME_CHARS], line, None)
    return Subtype(path, line, None)
