"""The cycles of a graph are the sets of nodes that reach each other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.references.components import cycles_of
from tests.support.budget import examples

_NODE = st.sampled_from("abcdefghij")
_EDGES = st.lists(st.tuples(_NODE, _NODE), max_size=25)


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return what is reached from a node by one step and more."""
    found: set[str] = set()
    level = set(graph.get(start, ()))
    while level:
        found |= level
        level = {other for node in level for other in graph.get(node, ())} - found
    return found


@settings(max_examples=examples(300))
@given(_EDGES)
def test_cycles_are_what_reaches_each_other(edges: list[tuple[str, str]]) -> None:
    graph: dict[str, set[str]] = {}
    for source, target in edges:
        graph.setdefault(source, set()).add(target)
    nodes = {*graph, *(other for others in graph.values() for other in others)}
    reached = {node: _reached(graph, node) for node in nodes}
    naive = {
        frozenset({node, *(other for other in reached[node] if node in reached[other])})
        for node in nodes
    }
    found = cycles_of(graph)
    assert {frozenset(each) for each in found} == {each for each in naive if len(each) > 1}
    assert [len(each) for each in found] == sorted(map(len, found), reverse=True)
    assert all(each == sorted(set(each)) for each in found)


def test_a_long_path_needs_no_stack() -> None:
    size = 50_000
    graph = {f"{number:05}": {f"{(number + 1) % size:05}"} for number in range(size)}
    [cycle] = cycles_of(graph)
    assert len(cycle) == size
