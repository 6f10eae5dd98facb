"""Uses of names as text and as compact JSON, as much of them as a budget has room for.

Places come first, the most certain ones before the others. What an answer calls definitions is not
repeated among its uses.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.humanize import count
from engine.reference_records import CallAnswer, Reference, ReferenceAnswer, Use
from engine.search_records import SymbolHit
from web.budget import Shown
from web.markdown import code_of, section
from web.schemas import as_json
from web.terminal import Style, printable, shortened

_CODE_COLUMNS = 120  # of a line of code, or of a signature
_BRIEF_COLUMNS = 60
_OF_A_DEFINITION = ("path", "line_start", "line_end", "kind", "qualified_name", "signature")
_OF_A_BRIEF_DEFINITION = ("path", "line_start", "qualified_name")


def uses_of(answer: ReferenceAnswer, use: Use | None) -> Sequence[Reference]:
    """Return the uses of a name, without the definitions that the answer names anyway.

    Args:
        answer: The answer.
        use: The only use that was asked for.
    """
    if use is Use.DEFINITION:
        return answer.references
    named = {f"{hit.path}:{hit.line_start}" for hit in answer.definitions}
    return [
        each
        for each in answer.references
        if each.use is not Use.DEFINITION or each.target_place not in named
    ]


def definition_line(hit: SymbolHit, *, is_brief: bool = False) -> str:
    """Describe a definition in one line: its place, and its signature."""
    return f"{printable(hit.path)}:{hit.line_start} {printable(_about(hit, is_brief=is_brief))}"


def _about(hit: SymbolHit, *, is_brief: bool) -> str:
    """Return the signature of a definition with its scope, or else its kind and name."""
    about = hit.signature or f"{hit.kind} {hit.qualified_name}"
    if hit.signature and hit.qualified_name != hit.name:
        about = f"{hit.qualified_name}: {hit.signature}"
    return shortened(about, _BRIEF_COLUMNS if is_brief else _CODE_COLUMNS)


def references_text(
    answer: ReferenceAnswer, shown: Shown, style: Style, *, use: Use | None = None
) -> str:
    """Return definitions, a line each, then uses by file; without a line end, empty for nothing.

    Args:
        answer: The answer.
        shown: How much of it.
        style: Colours or none.
        use: The only use that was asked for.
    """
    blocks = []
    if shown.definitions:
        named = (
            definition_line(hit, is_brief=shown.is_brief)
            for hit in answer.definitions[: shown.definitions]
        )
        blocks.append("\n".join(_styled(line, style) for line in named))
    found = uses_of(answer, use)[: shown.items]
    if shown.is_brief:
        places = (f"{printable(e.path)}:{e.line} {e.use.value} {e.certainty.value}" for e in found)
        blocks += ["\n".join(places)] if found else []
        return "\n".join(blocks)
    several = len(answer.definitions) > 1
    by_file: dict[str, list[Reference]] = {}
    for each in found:
        by_file.setdefault(each.path, []).append(each)
    for path, uses in by_file.items():
        blocks.append("\n".join([style.place(printable(path)), *_rows(uses, style, several)]))
    return "\n\n".join(blocks)


def references_markdown(
    answer: ReferenceAnswer, shown: Shown, *, use: Use | None = None
) -> list[str]:
    """Return definitions, then uses by file, as blocks of Markdown.

    Args:
        answer: The answer.
        shown: How much of it.
        use: The only use that was asked for.
    """
    blocks = [f"## Uses of {code_of(answer.name)}", *definitions_markdown(answer, shown)]
    found = uses_of(answer, use)[: shown.items]
    if shown.is_brief:
        places = [f"- {code_of(f'{e.path}:{e.line}')} {e.use.value}, {e.certainty}" for e in found]
        return [*blocks, *(["\n".join(places)] if places else [])]
    several = len(answer.definitions) > 1
    by_file: dict[str, list[Reference]] = {}
    for each in found:
        by_file.setdefault(each.path, []).append(each)
    blocks += [
        section(code_of(path), (_use_markdown(each, several) for each in uses))
        for path, uses in by_file.items()
    ]
    return blocks


def definitions_markdown(answer: ReferenceAnswer | CallAnswer, shown: Shown) -> list[str]:
    """Return the definitions that are shown as a list of Markdown, if there are any."""
    lines = []
    for hit in answer.definitions[: shown.definitions]:
        about = _about(hit, is_brief=shown.is_brief)
        lines.append(f"- {code_of(f'{hit.path}:{hit.line_start}')} {code_of(about)}")
    return ["\n".join(lines)] if lines else []


def _use_markdown(each: Reference, several: bool) -> str:
    parts = [f"{each.line}:{each.column} {each.use.value}", each.certainty.value]
    parts += [f"in {code_of(each.symbol)}"] if each.symbol else []
    target = _target_of(each, several)
    parts += [f"of {code_of(target)}"] if target else []
    return f"{', '.join(parts)}: {code_of(shortened(each.text, _CODE_COLUMNS))}"


def _styled(line: str, style: Style) -> str:
    place, _, about = line.partition(" ")
    return f"{style.place(place)}  {about}"


def _rows(uses: Sequence[Reference], style: Style, several: bool) -> Iterator[str]:
    """Yield the uses in one file in columns: place, use, certainty, definition around it, code."""
    rows = [(f"{each.line}:{each.column}", each.use.value, each.certainty.value) for each in uses]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for each, row in zip(uses, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        around = f"{style.bold(printable(each.symbol))} " if each.symbol else ""
        target = _target_of(each, several)
        meant = f"→ {printable(target)} " if target else ""
        code = shortened(printable(each.text), _CODE_COLUMNS)
        yield f"  {'  '.join(cells)}  {around}{meant}{style.dim(f'| {code}')}".rstrip()


def _target_of(each: Reference, several: bool) -> str | None:
    """Return the definition that a use means, where there are several."""
    return each.target if several and each.use is not Use.DEFINITION else None


def totals_text(answer: ReferenceAnswer, use: Use | None = None, *, is_brief: bool = False) -> str:
    """Count what was found: by use, and by certainty."""
    uses = {name: many for name, many in answer.uses.items() if use is None or name == use.value}
    defined = uses.pop(Use.DEFINITION.value, 0)
    total = count(answer.total - defined, "reference")
    if defined:
        total = f"{total} and {count(defined, 'definition')}"
    if is_brief or not answer.total:
        return total
    return f"{total}: {'; '.join(filter(None, map(counts_text, (uses, answer.certainties))))}"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return numbers with what they count: ``3 call, 1 import``; the largest first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{many:,} {name}" for name, many in ordered)


def compact_references(
    answer: ReferenceAnswer, shown: Shown, use: Use | None = None
) -> dict[str, Any]:
    """Return an answer as JSON for a budget: what is known and worth its bytes.

    Args:
        answer: The answer.
        shown: How much of it.
        use: The only use that was asked for.
    """
    several = len(answer.definitions) > 1
    found = uses_of(answer, use)
    is_cut = answer.truncated or shown.items < len(found)
    counted = {} if shown.is_brief else {"uses": answer.uses, "certainties": answer.certainties}
    return {
        "definitions": compact_definitions(answer.definitions, shown),
        "references": [
            _compact_reference(each, several, is_brief=shown.is_brief)
            for each in found[: shown.items]
        ],
        "total": answer.total,
        **counted,
        "truncated": is_cut or shown.definitions < len(answer.definitions),
    }


def compact_definitions(hits: Sequence[SymbolHit], shown: Shown) -> list[dict[str, Any]]:
    """Return the definitions that are shown, each with what is worth its bytes."""
    names = _OF_A_BRIEF_DEFINITION if shown.is_brief else _OF_A_DEFINITION
    wholes = [as_json(hit) for hit in hits[: shown.definitions]]
    return [{name: whole[name] for name in names if whole[name] != ""} for whole in wholes]


def _compact_reference(each: Reference, several: bool, *, is_brief: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "path": each.path,
        "line": each.line,
        "use": each.use,
        "certainty": each.certainty,
    }
    if not is_brief:
        more = {
            "symbol": each.symbol,
            "target": _target_of(each, several),
            "text": shortened(each.text, _CODE_COLUMNS),
        }
        shape |= {name: value for name, value in more.items() if value is not None}
    return shape
