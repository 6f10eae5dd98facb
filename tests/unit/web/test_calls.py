"""Graphs of calls show names as they are, whatever characters these have."""

from dataclasses import replace

from engine.records import Coverage
from engine.reference_records import CallAnswer, CallEdge, Certainty, Direction
from engine.search_records import SymbolHit
from web.budget import Shown
from web.calls import calls_text, dot, graph_nodes, mermaid
from web.terminal import Style

_HIT = SymbolHit(
    project="/p", path='a "b".py', name="run", qualified_name="run", kind="function", signature="",
    doc="", language="python", line_start=1, line_end=2, exported=True, score=1.0,
)  # fmt: skip
_EDGE = CallEdge(
    name='op<"\\>[x]#`\n', path="b.py", line=3, depth=1, certainty=Certainty.LIKELY, via="run",
    via_path='a "b".py', call_path="b.py", call_lines=(4, 9), is_test=False,
)  # fmt: skip
_ANSWER = CallAnswer(
    name="run",
    direction=Direction.CALLERS,
    definitions=(_HIT,),
    edges=(_EDGE, replace(_EDGE, name="c.py", path="c.py", line=1, certainty=Certainty.NAME)),
    total=2,
    certainties={"likely": 1, "name": 1},
    truncated=False,
    coverage=Coverage.of(files=3, found=3, embedded=1.0, complete=True),
)


def test_a_flow_chart_escapes_names() -> None:
    assert mermaid(_ANSWER, nothing="").splitlines() == [
        "flowchart LR",
        '  n0["run<br/>a #34;b#34;.py:1"]',
        '  n1["op#60;#34;#92;#62;#91;x#93;#35;#96;#92;n<br/>b.py:3"]',
        '  n2["outside of functions<br/>c.py:1"]',
        "  n1 -.-> n0",
        "  n2 -.->|by name| n0",
    ]


def test_a_graph_escapes_names() -> None:
    callees = replace(_ANSWER, direction=Direction.CALLEES)
    assert dot(callees, nothing="").splitlines()[3:] == [
        '  n0 [label="run\\na \\"b\\".py:1"];',
        '  n1 [label="op<\\"\\\\>[x]#`\\\\n\\nb.py:3"];',
        '  n2 [label="outside of functions\\nc.py:1"];',
        "  n0 -> n1 [style=dashed];",
        "  n0 -> n2 [style=dotted];",
        "}",
    ]


def test_a_function_stands_below_the_one_by_which_it_was_reached() -> None:
    deeper = replace(_EDGE, name="far", path="d.py", depth=2, via="c.py", via_path="c.py")
    other = replace(_EDGE, name="near", path="e.py", via="not shown")
    answer = replace(_ANSWER, edges=(*_ANSWER.edges, other, deeper))
    assert calls_text(answer, Shown(1, 4), Style()).splitlines() == [
        'a "b".py:1  run',
        '  b.py:3  op<"\\>[x]#`\\n  likely  calls it on lines 4, 9',
        "  c.py:1  outside of functions  name  calls it on lines 4, 9",
        "    d.py:3  far  likely  calls it on lines 4, 9",
        "not shown",
        "  e.py:3  near  likely  calls it on lines 4, 9",
    ]
    assert calls_text(answer, Shown(0, 1, is_brief=True), Style()).splitlines()[0] == "run"


def test_definitions_of_one_name_are_told_apart_by_their_files() -> None:
    start = [("run", "a.py", 1), ("run", "a.py", 5), ("run", "b.py", 2)]
    edge = replace(_EDGE, name="far", path="d.py", via="run", via_path="b.py")
    assert [(node.name, node.places, node.parent) for node in graph_nodes(start, [edge])] == [
        ("run", ("a.py:1", "a.py:5"), None),
        ("run", ("b.py:2",), None),
        ("far", ("d.py:3",), 1),
    ]
    start = [("run", "a.h", 1), ("run", "a.c", 5)]
    edge = replace(edge, via_path="a.c")
    assert [(node.places, node.parent) for node in graph_nodes(start, [edge])] == [
        (("a.h:1", "a.c:5"), None),
        (("d.py:3",), 0),
    ]
