"""The graph of imports as text, and as graphs for Mermaid and Graphviz."""

from collections.abc import Iterator

from engine.humanize import count
from engine.reference_records import ImportCycle, ImportEdge, ImportGraph
from web.calls import dot_text, mermaid_text
from web.terminal import Style, printable
from web.text import closing_text, coverage_text

_NOTHING = "no imports within the project were found"
_MOST_EDGES = 10  # of a cycle, in text


def imports_text(graph: ImportGraph, style: Style) -> str:
    """Return who imports what by source, then the cycles, then other projects' modules."""
    by_source: dict[str, list[ImportEdge]] = {}
    for edge in graph.edges:
        by_source.setdefault(edge.source, []).append(edge)
    blocks = []
    for source, edges in by_source.items():
        width = max(len(f"{edge.imports:,}") for edge in edges)
        rows = (f"  {edge.imports:>{width},}  {printable(edge.target)}" for edge in edges)
        blocks.append("\n".join([style.place(printable(source)), *rows]))
    if not blocks:
        blocks.append(_NOTHING)
    blocks += ["\n".join(_cycle_lines(each, style)) for each in graph.cycles]
    if graph.external:
        named = ", ".join(f"{printable(each.name)} {each.imports:,}" for each in graph.external)
        blocks.append(f"outside of the project: {named}")
    blocks.append(closing_text(graph.notes, list(_totals(graph)), style))
    return "\n\n".join(blocks) + "\n"


def _cycle_lines(cycle: ImportCycle, style: Style) -> Iterator[str]:
    when = ", but not when files are loaded" if cycle.deferred else ""
    members = ", ".join(map(printable, cycle.members))
    yield style.warning(f"cycle of {len(cycle.members)}{when}: {members}")
    for edge in cycle.edges[:_MOST_EDGES]:
        late = ", deferred" if edge.deferred else ""
        yield (
            f"  {printable(edge.source)} → {printable(edge.target)}  {edge.imports:,}, first "
            f"{printable(edge.path)}:{edge.line}{late}"
        )
    if len(cycle.edges) > _MOST_EDGES:
        yield f"  … and {len(cycle.edges) - _MOST_EDGES:,} more"


def _totals(graph: ImportGraph) -> Iterator[str]:
    yield count(graph.imports, "import")
    yield f"{graph.external_imports:,} of other projects"
    if graph.missing:
        yield f"{graph.missing:,} of files that are not indexed"
    yield count(graph.total_cycles, "cycle")
    yield coverage_text(graph.coverage)
    if graph.truncated:
        yield f"{len(graph.edges):,} of {graph.total:,} edges; raise --limit for more"


def _numbered(graph: ImportGraph) -> dict[str, int]:
    names = sorted({name for edge in graph.edges for name in (edge.source, edge.target)})
    return {name: number for number, name in enumerate(names)}


def _in_cycles(graph: ImportGraph) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for cycle in graph.cycles for edge in cycle.edges}


def _comment(graph: ImportGraph) -> str:
    """Say that a graph has no imports, or not all of them."""
    if not graph.edges:
        return _NOTHING
    return f"truncated: {len(graph.edges):,} of {graph.total:,} edges" if graph.truncated else ""


def imports_mermaid(graph: ImportGraph) -> str:
    """Return a flow chart; the imports that make cycles are thick, deferred ones dotted."""
    numbers = _numbered(graph)
    cyclic = _in_cycles(graph)
    lines = ["flowchart LR"]
    if comment := _comment(graph):
        lines.append(f"  %% {comment}")
    lines += [f'  n{number}["{mermaid_text(name)}"]' for name, number in numbers.items()]
    for edge in graph.edges:
        is_thick = (edge.source, edge.target) in cyclic
        arrow = "-.->" if edge.deferred else "==>" if is_thick else "-->"
        lines.append(f"  n{numbers[edge.source]} {arrow}|{edge.imports}| n{numbers[edge.target]}")
    return "\n".join(lines) + "\n"


def imports_dot(graph: ImportGraph) -> str:
    """Return a graph for Graphviz; the imports that make cycles are bold, deferred ones dashed."""
    numbers = _numbered(graph)
    cyclic = _in_cycles(graph)
    lines = ["digraph imports {", "  rankdir=LR;", "  node [shape=box];"]
    if comment := _comment(graph):
        lines.append(f"  // {comment}")
    lines += [f'  n{number} [label="{dot_text(name)}"];' for name, number in numbers.items()]
    for edge in graph.edges:
        is_bold = (edge.source, edge.target) in cyclic
        line = "dashed" if edge.deferred else "bold" if is_bold else "solid"
        ends = f"n{numbers[edge.source]} -> n{numbers[edge.target]}"
        lines.append(f'  {ends} [label="{edge.imports}", style={line}];')
    return "\n".join([*lines, "}"]) + "\n"
