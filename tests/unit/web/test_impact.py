"""What a change affects, in words and as compact JSON."""

from dataclasses import replace

from engine.records import Coverage
from engine.reference_records import (
    Certainty,
    Change,
    ChangedDefinition,
    Dependent,
    ImpactAnswer,
    ImpactRequest,
    Use,
)
from web.budget import Shown, whole_of
from web.impact import (
    compact_impact,
    files_to_run,
    impact_markdown,
    impact_mermaid,
    impact_text,
    impact_totals,
    nothing_affected,
)
from web.terminal import Style


def _dependent(name: str, path: str = "a.py", **other: object) -> Dependent:
    known: dict[str, object] = {
        "line": 2,
        "depth": 1,
        "certainty": Certainty.EXACT,
        "use": Use.CALL,
        "via": "f",
        "via_path": "a.py",
        "lines": (3,),
        "is_test": False,
    }
    return Dependent(name=name, path=path, **{**known, **other})  # type: ignore[arg-type]


def _answer(
    *dependents: Dependent, tests: tuple[Dependent, ...] = (), changed: int = 1
) -> ImpactAnswer:
    definitions = (
        ChangedDefinition(
            name=f"f{number}", path="a.py", line=number + 1, kind="function", change=Change.DELETED
        )
        for number in range(changed)
    )
    return ImpactAnswer(
        definitions=tuple(definitions),
        dependents=dependents,
        tests=tests,
        test_files=(),
        total=len(dependents) + len(tests),
        total_tests=len(tests),
        files=1,
        depths={},
        certainties={"exact": 1},
        truncated=False,
        coverage=Coverage.of(files=1, found=1, embedded=1.0, complete=True),
    )


def _text(answer: ImpactAnswer) -> str:
    return impact_text(answer, whole_of(answer), Style())


def test_reasons_say_what_is_done_with_what() -> None:
    reasons = {
        _dependent("g"): "calls f on line 3",
        _dependent("g", lines=(3, 5)): "calls f on lines 3, 5",
        _dependent("g", lines=tuple(range(1, 9))): "calls f on lines 1, 2, 3, 4, …",
        _dependent("B.m", use=Use.INHERIT, via="A.m"): "overrides A.m on line 3",
        _dependent("B", use=Use.INHERIT, via="A"): "extends A on line 3",
        _dependent("g", via="A.__init__"): "constructs A on line 3",
        _dependent("B", use=Use.INHERIT, via="A.__init__"): "extends A on line 3",
        _dependent("B.__init__", via="A.__init__"): "calls A.__init__ on line 3",
        _dependent("g", use=Use.TYPE): "has the type f on line 3",
        _dependent("g", certainty=Certainty.NAME): "perhaps calls f on line 3",
    }
    for dependent, reason in reasons.items():
        assert _text(_answer(dependent)).endswith(f"  {reason}")


def test_long_answers_are_summed_up() -> None:
    tests = [_dependent(f"t{number}", "test_a.py", is_test=True) for number in range(12)]
    tests.append(_dependent("deep", "test_a.py", is_test=True, depth=4))
    text = _text(_answer(tests=tuple(tests), changed=25))
    assert "\nand 5 more\n" in text
    assert text.endswith("  test_a.py  depth 1  exact  t0:2, t1:2, t2:2, and 10 more")
    answer = _answer(tests=tuple(tests))
    [file] = compact_impact(answer, whole_of(answer))["tests"]
    assert (file["symbols"], file["more"]) == (["t0", "t1", "t2"], 10)
    few = _answer(tests=tuple(tests[:3]))
    assert "more" not in compact_impact(few, whole_of(few))["tests"][0]


def test_a_part_of_an_answer_has_dependents_and_tests() -> None:
    dependents = [_dependent(f"g{number}") for number in range(6)]
    tests = [_dependent(f"t{n}", "test_a.py", is_test=True, depth=3) for n in range(6)]
    answer = _answer(*dependents, tests=tuple(tests))
    content = compact_impact(answer, Shown(1, 4))
    assert [each["symbol"] for each in content["dependents"]] == ["g0", "g1"]
    assert content["tests"][0]["symbols"] == ["t0", "t1"]
    assert len(compact_impact(_answer(*dependents), Shown(1, 4))["dependents"]) == 4


def test_a_budget_keeps_what_is_sure_and_near() -> None:
    guess = _dependent("guess", certainty=Certainty.NAME)
    test = _dependent("test_g", "test_a.py", is_test=True, depth=2)
    answer = _answer(_dependent("g"), guess, tests=(test,))
    cut = compact_impact(answer, Shown(1, 2))
    assert [each["symbol"] for each in cut["dependents"]] == ["g"]
    assert cut["tests"] == [
        {"path": "test_a.py", "depth": 2, "certainty": "exact", "symbols": ["test_g"]}
    ]
    assert cut["truncated"] is True
    assert compact_impact(answer, whole_of(answer))["truncated"] is False
    brief = compact_impact(answer, Shown(1, 3, is_brief=True))
    assert brief["dependents"][0] == {
        "path": "a.py", "line": 2, "symbol": "g", "depth": 1, "certainty": "exact",
    }  # fmt: skip


def test_a_changed_test_is_to_be_run_as_long_as_its_change_is_shown() -> None:
    test = _dependent("test_g", "test_a.py", is_test=True)
    changed = [
        ChangedDefinition(name="test_h", path=path, line=1, kind="function", change=change)
        for path, change in (("test_b.py", Change.MODIFIED), ("test_c.py", Change.ADDED))
    ]
    files = ("test_b.py", "test_c.py", "test_a.py")
    answer = replace(_answer(tests=(test,)), definitions=tuple(changed), test_files=files)
    assert files_to_run(answer, whole_of(answer)) == files
    assert files_to_run(answer, Shown(2, 1, is_brief=True)) == files
    assert files_to_run(answer, Shown(2, 0)) == files[:2]
    assert files_to_run(answer, Shown(1, 1)) == ("test_b.py", "test_a.py")
    assert _text(answer).split("tests\n")[1].splitlines() == [
        "  test_b.py  changed",
        "  test_c.py  changed",
        "  test_a.py  depth 1  exact  test_g:2",
    ]
    assert "- `test_b.py` changed\n" in impact_markdown(answer, whole_of(answer))[-1]
    alone = replace(_answer(), test_files=("test_b.py",), total=1)
    assert nothing_affected(alone, ImpactRequest(changed=True), "") == ""


def test_what_was_not_found_is_said() -> None:
    named, changed = ImpactRequest(name="f"), ImpactRequest(changed=True)
    assert nothing_affected(_answer(changed=0), changed, "") == (
        "nothing differs from the last commit"
    )
    assert nothing_affected(_answer(changed=0), named, "no f") == "no f"
    assert nothing_affected(_answer(), named, "") == "nothing was found that depends on it"
    assert nothing_affected(_answer(_dependent("g")), named, "") == (
        "no test was found to reach it"
    )
    assert impact_totals(_answer(_dependent("g"))) == "1 dependent, in 1 file: 1 exact"


def test_names_are_escaped_in_graphs() -> None:
    chart = impact_mermaid(_answer(_dependent('g"<script>')), nothing="")
    assert "<script>" not in chart
    assert chart.startswith("flowchart LR\n  n0[")
