"""What the definitions of one file refer to."""

from engine.reference_records import Relations
from engine.references.lookup import Lookup
from engine.references.sources import Source
from engine.syntax.references import Role, name_pattern

_MOST_NAMES = 2000  # of a file, that are looked up


def relations_of(source: Source, lookup: Lookup) -> list[Relations]:
    """Return the names that the definitions of a file refer to, in text order.

    Only names that the project defines are told, each once and in text order. What a nested
    definition refers to is told of it alone. A definition that refers to none is left out.

    Args:
        source: The file.
        lookup: Knows the names of the project.
    """
    found: dict[int, dict[Role, dict[str, None]]] = {}
    known: dict[str, bool] = {}
    name_at = name_pattern(source.language).match
    for reference in source.marks.within(0, len(source.text)):
        around = source.enclosing(reference.offset)
        match = name_at(source.text, reference.offset)
        if around is None or match is None:
            continue
        name = match.group().decode("utf-8", "replace")
        if name not in known:
            known[name] = len(known) < _MOST_NAMES and bool(lookup.definitions(name))
        if known[name] and name != around.name:
            roles = found.setdefault(around.id, {})
            roles.setdefault(reference.role, {})[name] = None
    return [
        Relations(
            symbol=span.qualified_name,
            line=span.line_start,
            calls=tuple(found[span.id].get(Role.CALL, ())),
            extends=tuple(found[span.id].get(Role.INHERIT, ())),
            types=tuple(found[span.id].get(Role.TYPE, ())),
        )
        for span in source.spans
        if span.id in found
    ]
