"""The graph of imports as text, as Markdown, and as graphs for Mermaid and Graphviz."""

from collections.abc import Callable, Iterator

from engine.humanize import count
from engine.reference_records import ImportCycle, ImportEdge, ImportGraph
from web.budget import Shown
from web.calls import dot_text, mermaid_text
from web.markdown import code_of, section
from web.terminal import Style, printable

_NOTHING = "no imports within the project were found"
_MOST_EDGES = 10  # of a cycle, in text


def imports_text(graph: ImportGraph, shown: Shown, style: Style) -> list[str]:
    """Return who imports what by source, then the cycles, then other projects' modules.

    Args:
        graph: The answer.
        shown: How much of it: how many cycles, and how many imports.
        style: Colours or none.
    """
    blocks = []
    for source, edges in _by_source(graph, shown).items():
        width = max(len(f"{edge.imports:,}") for edge in edges)
        rows = (f"  {edge.imports:>{width},}  {printable(edge.target)}" for edge in edges)
        blocks.append("\n".join([style.place(printable(source)), *rows]))
    if not graph.edges:
        blocks.append(_NOTHING)
    for cycle in graph.cycles[: shown.definitions]:
        title = style.warning(f"{_cycle_title(cycle)}: {', '.join(map(printable, cycle.members))}")
        lines = () if shown.is_brief else _cycle_lines(cycle, printable)
        blocks.append("\n".join([title, *(f"  {line}" for line in lines)]))
    if graph.external and not shown.is_brief:
        named = ", ".join(f"{printable(each.name)} {each.imports:,}" for each in graph.external)
        blocks.append(f"outside of the project: {named}")
    return blocks


def imports_markdown(graph: ImportGraph, shown: Shown) -> list[str]:
    """Return the same as ``imports_text`` as blocks of Markdown."""
    blocks = ["## Imports"]
    for source, edges in _by_source(graph, shown).items():
        rows = (f"{code_of(edge.target)} {edge.imports:,}" for edge in edges)
        blocks.append(section(code_of(source), rows))
    if not graph.edges:
        blocks.append(_NOTHING)
    for cycle in graph.cycles[: shown.definitions]:
        title = f"{_cycle_title(cycle).capitalize()}: {', '.join(map(code_of, cycle.members))}"
        blocks.append(section(title, () if shown.is_brief else _cycle_lines(cycle, code_of)))
    if graph.external and not shown.is_brief:
        rows = (f"{code_of(each.name)} {each.imports:,}" for each in graph.external)
        blocks.append(section("Outside of the project", rows))
    return blocks


def _by_source(graph: ImportGraph, shown: Shown) -> dict[str, list[ImportEdge]]:
    found: dict[str, list[ImportEdge]] = {}
    for edge in graph.edges[: shown.items]:
        found.setdefault(edge.source, []).append(edge)
    return found


def _cycle_title(cycle: ImportCycle) -> str:
    when = ", but not when files are loaded" if cycle.deferred else ""
    return f"cycle of {len(cycle.members)}{when}"


def _cycle_lines(cycle: ImportCycle, name: Callable[[str], str]) -> Iterator[str]:
    """Yield the imports of a cycle, a line each.

    Args:
        cycle: The cycle.
        name: Returns a path or place as it is shown.
    """
    for edge in cycle.edges[:_MOST_EDGES]:
        late = ", deferred" if edge.deferred else ""
        place = name(f"{edge.path}:{edge.line}")
        yield f"{name(edge.source)} → {name(edge.target)}  {edge.imports:,}, first {place}{late}"
    if len(cycle.edges) > _MOST_EDGES:
        yield f"… and {len(cycle.edges) - _MOST_EDGES:,} more"


def imports_totals(graph: ImportGraph) -> str:
    """Count the statements and the cycles."""
    totals = [count(graph.imports, "import"), f"{graph.external_imports:,} of other projects"]
    if graph.missing:
        totals.append(f"{graph.missing:,} of files that are not indexed")
    return ", ".join([*totals, count(graph.total_cycles, "cycle")])


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
