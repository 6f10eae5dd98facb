"""Callers and callees as a tree, as compact JSON, and as graphs for Mermaid and Graphviz."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from engine.humanize import count
from engine.reference_records import CallAnswer, CallEdge, Certainty, Dependent, Direction
from web.budget import Shown
from web.markdown import code_of
from web.references import compact_definitions, counts_text
from web.terminal import Style, printable

_OF_CALLS = frozenset({Direction.CALLERS, Direction.CALLEES})
_MOST_LINES = 5  # of the methods of an interface
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|d\.[cm]?ts|pyi|mli)$")
_OUTSIDE = "outside of functions"
_SPECIAL = re.compile(r"[^\w ./:-]")  # to Mermaid, within quotes
_ARROWS = {Certainty.EXACT: "-->", Certainty.LIKELY: "-.->", Certainty.NAME: "-.->|by name|"}
_LINES = {Certainty.EXACT: "solid", Certainty.LIKELY: "dashed", Certainty.NAME: "dotted"}


class Node(NamedTuple):
    """A definition of a graph: one that was asked for, or one that was reached."""

    name: str
    places: tuple[str, ...]
    parent: int | None  # its number in the list of nodes
    edge: CallEdge | Dependent | None


def _nodes_of(answer: CallAnswer, shown: Shown) -> list[Node]:
    """Return the functions of an answer, each after the one by which it was reached."""
    asked = (
        (hit.qualified_name, hit.path, hit.line_start)
        for hit in answer.definitions[: shown.definitions]
    )
    return graph_nodes(asked, answer.edges[: shown.items])


def graph_nodes(
    start: Iterable[tuple[str, str, int]], edges: Iterable[CallEdge | Dependent]
) -> list[Node]:
    """Return the nodes of a graph, each after the one by which it was reached.

    Overloads in one file are one node, and so are a definition and its declaration in a header.

    Args:
        start: The names, paths and lines of the definitions that were asked for.
        edges: What was reached from these, by depth.
    """
    started = list(start)
    declared = {name for name, path, _ in started if _HEADER.search(path)}
    places: dict[tuple[str, str], list[str]] = {}
    for name, path, line in started:
        key = (name, "" if name in declared else path)
        places.setdefault(key, []).append(f"{path}:{line}")
    nodes = [Node(name, tuple(found), None, None) for (name, _), found in places.items()]
    asked = {key: number for number, key in enumerate(places)}
    reached: dict[tuple[int, str, str], int] = {}
    for edge in edges:
        key = (edge.via, "" if edge.via in declared else edge.via_path)
        parent = reached.get((edge.depth - 1, edge.via, edge.via_path), asked.get(key))
        if parent is None:  # a definition that is not shown
            parent = asked[key] = len(nodes)
            nodes.append(Node(edge.via, (), None, None))
        reached[edge.depth, edge.name, edge.path] = len(nodes)
        nodes.append(Node(edge.name, (f"{edge.path}:{edge.line}",), parent, edge))
    return nodes


def calls_text(answer: CallAnswer, shown: Shown, style: Style) -> str:
    """Return the functions as a tree, without a line end; empty for nothing.

    Args:
        answer: The answer.
        shown: How much of it.
        style: Colours or none.
    """
    nodes = _nodes_of(answer, shown)
    return "\n".join(
        "  " * depth + _line(node, answer.direction, style, is_brief=shown.is_brief)
        for depth, node in _tree(nodes)
    )


def calls_markdown(answer: CallAnswer, shown: Shown) -> list[str]:
    """Return the functions as a nested list of Markdown, under a heading.

    Args:
        answer: The answer.
        shown: How much of it.
    """
    title = f"## {answer.direction.value.capitalize()} of {code_of(answer.name)}"
    lines = [
        f"{'  ' * depth}- {_node_markdown(node, answer.direction, is_brief=shown.is_brief)}"
        for depth, node in _tree(_nodes_of(answer, shown))
    ]
    return [title, *(["\n".join(lines)] if lines else [])]


def _node_markdown(node: Node, direction: Direction, *, is_brief: bool) -> str:
    place = [code_of(", ".join(node.places))] if node.places else []
    if node.edge is None:
        return " ".join([*place, code_of(node.name)])
    name = _OUTSIDE if node.edge.name == node.edge.path else code_of(node.edge.name)
    told = "" if is_brief else _lines_text(node.edge, direction)
    return " ".join([*place, name, ", ".join(filter(None, [node.edge.certainty.value, told]))])


def _tree(nodes: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """Yield the nodes, each below its parent, with how deep it stands."""
    children: dict[int | None, list[int]] = {}
    for number, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(number)
    waiting = [(0, number) for number in reversed(children.get(None, ()))]
    while waiting:
        depth, number = waiting.pop()
        yield depth, nodes[number]
        waiting += [(depth + 1, each) for each in reversed(children.get(number, ()))]


def _line(node: Node, direction: Direction, style: Style, *, is_brief: bool) -> str:
    place = style.place(printable(", ".join(node.places)))
    if node.edge is None:
        return "  ".join(filter(None, [place, style.bold(printable(node.name))]))
    parts = [place, style.bold(printable(_name_of(node.edge))), node.edge.certainty.value]
    told = "" if is_brief else _lines_text(node.edge, direction)
    parts += [style.dim(told)] if told else []
    return "  ".join(parts)


def _lines_text(edge: CallEdge | Dependent, direction: Direction) -> str:
    """Say where an edge stands in the text; nothing if it is where the definition is."""
    if not isinstance(edge, CallEdge):
        return ""
    word = "line" if len(edge.call_lines) == 1 else "lines"
    if direction in _OF_CALLS:
        return f"calls it on {word} {', '.join(map(str, edge.call_lines))}"
    more = ", …" if len(edge.call_lines) > _MOST_LINES else ""
    lines = ", ".join(map(str, edge.call_lines[:_MOST_LINES])) + more
    if edge.call_path == edge.path:
        return "" if edge.call_lines == (edge.line,) else f"in {word} {lines}"
    return f"by {printable(edge.call_path)}:{lines.replace(' ', '')}"


def _name_of(edge: CallEdge | Dependent) -> str:
    return _OUTSIDE if edge.name == edge.path else edge.name


def calls_totals(answer: CallAnswer, *, is_brief: bool = False) -> str:
    """Count the functions that were found, by certainty."""
    total = count(answer.total, answer.direction.value.removesuffix("s"))
    if is_brief or not answer.certainties:
        return total
    return f"{total}: {counts_text(answer.certainties)}"


def compact_calls(answer: CallAnswer, shown: Shown) -> dict[str, Any]:
    """Return an answer as JSON for a budget: what is known and worth its bytes."""
    is_deep = any(edge.depth > 1 for edge in answer.edges)
    is_cut = shown.items < len(answer.edges) or shown.definitions < len(answer.definitions)
    return {
        "definitions": compact_definitions(answer.definitions, shown),
        "references": [
            _compact_edge(
                edge, has_way=is_deep or len(answer.definitions) > 1, is_brief=shown.is_brief
            )
            for edge in answer.edges[: shown.items]
        ],
        "total": answer.total,
        **({} if shown.is_brief else {"certainties": answer.certainties}),
        "truncated": answer.truncated or is_cut,
    }


def _compact_edge(edge: CallEdge, *, has_way: bool, is_brief: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "path": edge.path,
        "line": edge.line,
        **({} if edge.name == edge.path else {"symbol": edge.name}),
        "certainty": edge.certainty,
    }
    if has_way and not is_brief:
        shape |= {"depth": edge.depth, "via": edge.via}
    return shape if is_brief else {**shape, "call_lines": edge.call_lines}


def mermaid(answer: CallAnswer, *, nothing: str) -> str:
    """Return a flow chart from callers to callees; names are escaped.

    Args:
        answer: The answer.
        nothing: The comment if there is no function.
    """
    nodes = _nodes_of(answer, _all_of(answer))
    return mermaid_of(nodes, answer.direction, nothing=nothing, cut=_cut_of(answer))


def mermaid_of(nodes: Sequence[Node], direction: Direction, *, nothing: str, cut: str = "") -> str:
    """Return a flow chart of nodes.

    Args:
        nodes: As ``graph_nodes`` returns them.
        direction: Whether what was reached uses what was asked for, or the other way round.
        nothing: The comment if there is no node.
        cut: The comment if nodes are left out.
    """
    lines = ["flowchart LR"]
    if comment := cut if nodes else nothing:
        lines.append(f"  %% {printable(comment)}")
    for number, node in enumerate(nodes):
        label = "<br/>".join(map(mermaid_text, _label_of(node)))
        lines.append(f'  n{number}["{label}"]')
    for start, end, edge in _arrows(nodes, direction):
        lines.append(f"  n{start} {_ARROWS[edge.certainty]} n{end}")
    return "\n".join(lines) + "\n"


def mermaid_text(text: str) -> str:
    """Return a text for a label of Mermaid, escaped."""
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", printable(text))


def dot(answer: CallAnswer, *, nothing: str) -> str:
    """Return a graph for Graphviz from callers to callees; names are escaped.

    Args:
        answer: The answer.
        nothing: The comment if there is no function.
    """
    nodes = _nodes_of(answer, _all_of(answer))
    return dot_of(nodes, answer.direction, nothing=nothing, cut=_cut_of(answer))


def dot_of(nodes: Sequence[Node], direction: Direction, *, nothing: str, cut: str = "") -> str:
    """Return a graph of nodes for Graphviz; the arguments are those of ``mermaid_of``."""
    lines = ["digraph calls {", "  rankdir=LR;", "  node [shape=box];"]
    if comment := cut if nodes else nothing:
        lines.append(f"  // {printable(comment)}")
    for number, node in enumerate(nodes):
        label = "\\n".join(map(dot_text, _label_of(node)))
        lines.append(f'  n{number} [label="{label}"];')
    for start, end, edge in _arrows(nodes, direction):
        lines.append(f"  n{start} -> n{end} [style={_LINES[edge.certainty]}];")
    return "\n".join([*lines, "}"]) + "\n"


def dot_text(text: str) -> str:
    """Return a text for a label of Graphviz, escaped."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _label_of(node: Node) -> list[str]:
    """Return the lines of a node: its name, then where it is."""
    name = _name_of(node.edge) if node.edge else node.name
    return [name, *node.places]


def _arrows(
    nodes: Sequence[Node], direction: Direction
) -> Iterator[tuple[int, int, CallEdge | Dependent]]:
    """Yield the edges: the number of the caller or subtype, and that of the callee or base."""
    for number, node in enumerate(nodes):
        if node.parent is not None and node.edge is not None:
            ends = (number, node.parent)
            is_up = direction in (Direction.CALLERS, Direction.IMPLEMENTATIONS)
            caller, callee = ends if is_up else reversed(ends)
            yield caller, callee, node.edge


def _cut_of(answer: CallAnswer) -> str:
    """Say how much of an answer a graph has, if it is not all."""
    total = count(answer.total, answer.direction.value.removesuffix("s"))
    return f"truncated: {len(answer.edges):,} of {total}" if answer.truncated else ""


def _all_of(answer: CallAnswer) -> Shown:
    return Shown(len(answer.definitions), len(answer.edges))
