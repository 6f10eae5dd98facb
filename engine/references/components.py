"""Cycles of a graph: its strongly connected components."""

from collections.abc import Collection, Iterator, Mapping


def cycles_of(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Return the sets of nodes that all reach each other, of two and more, each sorted.

    Tarjan's algorithm, without recursion: paths through imports can be long.

    Args:
        graph: The neighbours of each node; those that are no keys have none.
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    cycles: list[list[str]] = []

    def enter(node: str) -> tuple[str, Iterator[str]]:
        order[node] = lowest[node] = len(order)
        waiting.append(node)
        is_waiting.add(node)
        return node, iter(sorted(graph.get(node, ())))

    for start in sorted(graph):
        path = [enter(start)] if start not in order else []
        while path:
            node, following = path[-1]
            for other in following:
                if other not in order:
                    path.append(enter(other))
                    break
                if other in is_waiting:
                    lowest[node] = min(lowest[node], order[other])
            else:
                path.pop()
                if path:
                    outer = path[-1][0]
                    lowest[outer] = min(lowest[outer], lowest[node])
                if lowest[node] == order[node]:
                    component = _cut(waiting, node)
                    is_waiting.difference_update(component)
                    if len(component) > 1:
                        cycles.append(sorted(component))
    return sorted(cycles, key=lambda each: (-len(each), each))


def _cut(waiting: list[str], node: str) -> list[str]:
    """Remove and return what was entered from a node on."""
    component = [waiting.pop()]
    while component[-1] != node:
        component.append(waiting.pop())
    return component
